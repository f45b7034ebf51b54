#include "planner/semantics/attention.h"

#include "planner/semantics/autocast.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/softmax.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

bool LastIsDense(const Tensor& t, bool ignore_single) {
  return t->strides[t->dim() - 1] == 1 || (ignore_single && t->lengths[t->dim() - 1] == 1);
}

int64_t Length(const Tensor& t, int axis) { return t->lengths[axis]; }

// check_batch_size_and_num_heads_dense: groups of query heads may share a key head where the kernel knows it.
bool HeadsFit(const AttentionCall& call, bool knows_groups) {
  const Tensor &q = call.query, &k = call.key, &v = call.value;
  if (Length(q, 0) != Length(k, 0) || Length(q, 0) != Length(v, 0)) return false;
  if (Length(q, 1) == Length(k, 1) && Length(q, 1) == Length(v, 1)) return true;
  return knows_groups && Length(k, 1) > 0 && Length(v, 1) > 0 && Length(q, 1) % Length(k, 1) == 0 &&
         Length(q, 1) % Length(v, 1) == 0;
}

bool IsCommon(const AttentionCall& call) {
  const Tensor &q = call.query, &k = call.key, &v = call.value;
  if (q->dim() != 4 || k->dim() != 4 || v->dim() != 4) return false;
  if (q->dtype != k->dtype || q->dtype != v->dtype) return false;
  return Length(q, 2) > 0 && Length(k, 2) > 0;
}

bool CanUseFlash(const Eager& e, const AttentionCall& call) {
  const Tensor &q = call.query, &k = call.key, &v = call.value;
  const Capability card = e.spec().capability;
  if (!IsCommon(call) || call.mask || card < Capability{8, 0} || !IsHalf(q->dtype)) return false;
  const int64_t width = Length(q, 3);
  if (Length(k, 3) != width || Length(v, 3) != width || width > 256) return false;
  // Backward of wide heads does not fit consumer cards (check_requires_grad_and_head_dim_gt192_constraints).
  const bool small = (card >= Capability{8, 6} && card <= Capability{8, 9}) || card.major == 12;
  const bool trains = e.grad_mode && (q->tracked() || k->tracked() || v->tracked());
  if (trains && small && width > 192 && (call.dropout > 0 || width <= 224)) return false;
  if (call.causal && Length(q, 2) != Length(k, 2)) return false;
  return HeadsFit(call, true) && LastIsDense(q, true) && LastIsDense(k, true) && LastIsDense(v, true);
}

bool CanUseEfficient(const Eager& e, const AttentionCall& call) {
  const Tensor &q = call.query, &k = call.key, &v = call.value;
  const Capability card = e.spec().capability;
  if (!IsCommon(call) || card < Capability{5, 0}) return false;
  const bool ampere = card >= Capability{8, 0};
  if (q->dtype != DType::kFloat32 && q->dtype != DType::kFloat16 && !(ampere && q->dtype == DType::kBFloat16)) {
    return false;
  }
  // minimum_gemm_alignment: tensor cores read 16 bytes at once.
  const bool tensor_cores = ampere || (card.major == 7 && IsHalf(q->dtype));
  const int64_t alignment = tensor_cores ? (IsHalf(q->dtype) ? 8 : 4) : 1;
  if (Length(q, 3) != Length(k, 3) || Length(q, 3) % alignment != 0 || Length(v, 3) % alignment != 0) return false;
  if (!LastIsDense(q, false) || !LastIsDense(k, false) || !LastIsDense(v, false)) return false;
  if (call.mask && !LastIsDense(call.mask, false)) return false;
  constexpr Framework kGroupedEfficient{2, 15};  // not in 2.10 (measured); truth/pytorch.csv: llama_160m falls in 2.15
  return HeadsFit(call, e.spec().framework >= kGroupedEfficient);
}

}  // namespace

AttentionKernel ChooseAttention(const Eager& e, const AttentionCall& call) {
  const Attention wanted = e.spec().attention;
  const bool any = wanted == Attention::kAuto;
  if ((any || wanted == Attention::kFlash) && CanUseFlash(e, call)) return AttentionKernel::kFlash;
  if ((any || wanted == Attention::kEfficient) && CanUseEfficient(e, call)) return AttentionKernel::kEfficient;
  return AttentionKernel::kMath;
}

Tensor AdditiveMask(Eager& e, const Tensor& mask, DType type) {
  if (!mask || mask->dtype != DType::kBool) return mask;
  const Tensor masked = e.Empty(Shape(), type);  // -inf and 0 as tensors without axes
  const Tensor zero = e.Empty(Shape(), type);
  return e.EmptyIterator({&mask}, type);
}

Tensor PadLast(Eager& e, const Tensor& t, int64_t by) {
  OpScope scope(e, "aten::constant_pad_nd");
  Shape sizes = t->sizes;
  sizes[t->dim() - 1] = sizes[t->dim() - 1] + Dim(by);
  Tensor out = e.Empty(sizes, t->dtype);
  if (GradNode* node = e.Record("ConstantPadNdBackward0", {t}, {out})) {
    node->Backward([from = t->sizes](GradContext& g) { g.Set(0, g.e.Empty(from, g.grad()->dtype)); });
  }
  return out;
}

Tensor ScaledDotProductAttention(Eager& e, const AttentionCall& given) {
  OpScope scope(e, "aten::scaled_dot_product_attention");
  const AttentionKernel kernel = ChooseAttention(e, given);
  AttentionCall call = given;
  call.mask = AdditiveMask(e, given.mask, given.query->dtype);
  switch (kernel) {
    case AttentionKernel::kFlash:
      return FlashAttention(e, call);
    case AttentionKernel::kEfficient:
      return EfficientAttention(e, std::move(call));
    case AttentionKernel::kMath:
      break;
  }
  return MathAttention(e, call);
}

namespace {

// softmax(x, dtype=...): "half" in mixed precision, "float" of a model in halves.
std::optional<DType> TypeAskedOf(Call& c) {
  const Attributes& given = c.layer.attributes;
  if (!given.Has("type")) return std::nullopt;
  return given.Text("type", "") == "float" ? DType::kFloat32 : LowerType(c.e);
}

}  // namespace

std::vector<OpRule> AttentionRules() {
  const auto attention = [](Call& c) {
    AttentionCall call{c.In(0), c.In(1), c.In(2), c.In(3)};
    call.dropout = c.e.spec().mode == Mode::kTrain ? c.Real("dropout_p", 0) : 0;
    call.causal = c.Int("is_causal") != 0;
    c.Return(ScaledDotProductAttention(c.e, call));
  };
  return {
      {"scaled_dot_product_attention", attention, Cast::kLower},
      {"softmax",
       [](Call& c) {
         const std::optional<DType> type = TypeAskedOf(c);
         c.Return(type ? Softmax(c.e, c.In(0), *type) : Softmax(c.e, c.In(0)));
       }},
      {"_softmax", [](Call& c) { c.Return(Softmax(c.e, c.In(0))); }},
      {"log_softmax",
       [](Call& c) {
         const std::optional<DType> type = TypeAskedOf(c);
         c.Return(type ? LogSoftmax(c.e, c.In(0), *type) : LogSoftmax(c.e, c.In(0)));
       }},
      {"_log_softmax", [](Call& c) { c.Return(LogSoftmax(c.e, c.In(0))); }},
  };
}

}  // namespace vramplan::eager
