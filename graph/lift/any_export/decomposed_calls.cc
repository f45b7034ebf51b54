#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/lift/any_export/decomposed.h"

namespace vramplan {
namespace {

using Found = std::optional<Layer>;

const Shape& ShapeOfValue(const Uses& uses, ValueId id) { return uses.layers()[id].shape; }

// The table of an index by constants that the export computed; invalid otherwise.
ValueId IndexedBy(const Uses& uses, const Layer* index) {
  if (index == nullptr || index->op != "index" || index->inputs.size() < 2) return {};
  for (size_t i = 1; i < index->inputs.size(); ++i) {
    if (Uses::In(index, i).valid() && !uses.IsStored(Uses::In(index, i))) return {};
  }
  return Uses::In(index, 0);
}

// The mean of an index of x by windows; where they differ, a sum of selects of it, divided.
Found WindowsMean(const Uses& uses, const Layer& root) {
  if (!FromDynamo(root) || root.outputs.empty()) return std::nullopt;
  const bool divides = root.op == "div" && uses.IsStored(Uses::In(&root, 1));
  if (!divides && root.op != "mean") return std::nullopt;
  const ValueId windows_of = Uses::In(&root, 0);
  const Layer* last =
      uses.MakerOf(divides ? uses.Behind({"add", "select", "masked_fill", "where"}, windows_of) : windows_of);
  const ValueId x = IndexedBy(uses, last);
  if (!x.valid() || !uses.layers()[x].shape.rank()) return std::nullopt;
  const int axes = ShapeOfValue(uses, x).rank() - 2;
  const Shape &windows = ShapeOfValue(uses, last->outputs[0]), &out = ShapeOfValue(uses, root.outputs[0]);
  if (axes < 1 || axes > 3 || windows.rank() != 2 + 2 * axes || out.rank() != 2 + axes) return std::nullopt;
  if (!Runs("read", "decomposed_calls WindowsMean")) return std::nullopt;
  return CallInPlaceOf(root, Ranked("adaptive_avg_pool", axes), {x});
}

// Windows along `dim`: slices of one tensor, one step from each other.
Found Unfold(const Uses& uses, const Layer& cat) {
  if (cat.op != "cat" || FromDynamo(cat) || cat.inputs.size() < 2) return std::nullopt;
  const int64_t dim = cat.attributes.Int("dim", 0);
  ValueId x;
  int64_t first = 0, step = 0;
  for (size_t i = 0; i < cat.inputs.size(); ++i) {
    const Layer* maker = uses.Operand(uses.Operand(&cat, i, "unsqueeze"), 0, "transpose");
    if (maker == nullptr) maker = uses.Operand(uses.Operand(&cat, i, "unsqueeze"), 0, "permute");
    if (maker == nullptr) return std::nullopt;
    const Layer* slice = uses.Operand(maker, 0, "slice");
    if (slice == nullptr || slice->attributes.Int("dim", -1) != dim) return std::nullopt;
    const int64_t start = slice->attributes.Int("start", 0);
    if (i == 0) first = start;
    if (i == 1) step = start - first;
    if (i == 0) x = Uses::In(slice, 0);
    if (Uses::In(slice, 0) != x || start != first + step * static_cast<int64_t>(i)) return std::nullopt;
  }
  const Shape &from = ShapeOfValue(uses, x), &to = ShapeOfValue(uses, cat.outputs[0]);
  if (first != 0 || step < 1 || to.rank() != from.rank() + 1) return std::nullopt;
  if (!Runs("read", "decomposed_calls Unfold")) return std::nullopt;
  Found found = CallInPlaceOf(cat, "unfold", {x});
  found->attributes.Set("dimension", dim);
  found->attributes.Set("step", step);
  return found;
}

// x.flip(dims): slices with a step of -1.
Found Flip(const Uses& uses, const Layer& root) {
  if (root.op != "slice" || FromDynamo(root) || root.attributes.Int("step", 1) >= 0) return std::nullopt;
  ValueId x = Uses::In(&root, 0);
  for (const Layer* inner = uses.MakerOf(x); inner != nullptr && inner->op == "slice"; inner = uses.MakerOf(x)) {
    if (inner->attributes.Int("step", 1) >= 0) break;
    x = Uses::In(inner, 0);
  }
  if (!Runs("read", "decomposed_calls Flip")) return std::nullopt;
  return CallInPlaceOf(root, "flip", {x});
}

// A join of one on one axis, then on the next: a pad of two axes by nothing.
bool PadsNothing(const Uses& uses, const Layer& cat) {
  const Layer* before = cat.inputs.size() == 1 ? uses.MakerOf(cat.inputs[0]) : nullptr;
  return before != nullptr && before->op == "cat" && before->inputs.size() <= 3 &&
         before->attributes.Int("dim", 0) + 1 == cat.attributes.Int("dim", 0);
}

// Rows of a pad: a slice from the other end, the tensor, a slice from its beginning; one join an axis
// (torchscript_exporter/symbolic_opset9.py, _pad_circular, 2.10), also where a side gets no rows.
Found CircularPad(const Uses& uses, const Layer& cat) {
  if (cat.op != "cat" || FromDynamo(cat) || cat.inputs.size() > 3) return std::nullopt;
  if (cat.inputs.size() < 2 && !PadsNothing(uses, cat)) return std::nullopt;
  const Layer* level = &cat;
  std::map<int64_t, std::pair<int64_t, int64_t>> pads;  // by axis
  ValueId x;
  while (level != nullptr && level->op == "cat" && level->inputs.size() <= 3) {
    const int64_t dim = level->attributes.Int("dim", 0);
    ValueId inner;
    for (const ValueId part : level->inputs) {
      const Layer* slice = uses.MakerOf(part);
      if (slice != nullptr && slice->op == "slice" && slice->attributes.Int("dim", -1) == dim) continue;
      if (inner.valid()) return std::nullopt;
      inner = part;
    }
    if (!inner.valid() || pads.contains(dim)) break;
    std::pair<int64_t, int64_t> rims;
    bool before = true, circular = true;
    for (const ValueId part : level->inputs) {
      if (part == inner) {
        before = false;
        continue;
      }
      const Layer* slice = uses.MakerOf(part);
      const Dim width = ShapeOfValue(uses, part)[static_cast<int>(dim)];
      const int64_t start = slice->attributes.Int("start", 0);
      circular =
          circular && Uses::In(slice, 0) == inner && width.IsConstant() && (before ? start == -width.c0() : start == 0);
      (before ? rims.first : rims.second) = width.c0();
    }
    if (!circular) break;
    pads[dim] = rims;
    x = inner;
    level = uses.MakerOf(inner);
  }
  if (pads.empty()) return std::nullopt;
  const int rank = ShapeOfValue(uses, x).rank();
  std::vector<int64_t> list;
  for (int axis = rank - 1; axis >= std::min<int>(rank - 1, static_cast<int>(pads.begin()->first)); --axis) {
    const auto found = pads.find(axis);
    list.push_back(found == pads.end() ? 0 : found->second.first);
    list.push_back(found == pads.end() ? 0 : found->second.second);
  }
  if (!Runs("read", "decomposed_calls CircularPad")) return std::nullopt;
  Found found = CallInPlaceOf(cat, "pad", {x});
  found->attributes.Set("pad", list);
  found->attributes.Set("mode", std::string("circular"));
  return found;
}

// sum(|a[:, :, None] - b[:, None]| ** p) ** (1 / (p + 1e-6)). Nobody writes the exponent so by hand.
bool IsPowerOfCdist(const DecomposedMatch& found, Layer* call) {
  constexpr double kEpsilon = 1e-6;
  const double p = found.match.Number("p");
  if (p <= 0 || std::abs(found.match.Number("q") * (p + kEpsilon) - 1) > kEpsilon / 10) return false;
  call->attributes.Set("p", p);
  return true;
}

bool IsLinearResize(const DecomposedMatch& found, Layer*) {
  return found.uses.IsStored(found["w"]) && IndexedBy(found.uses, found.MakerOf("low")).valid() &&
         IndexedBy(found.uses, found.MakerOf("high")).valid();
}

bool IsNearestExact(const DecomposedMatch& found, Layer* call) {
  const Layer* index = found.MakerOf("index");
  if (index->attributes.Int("unchecked", 0) == 0 || !IndexedBy(found.uses, index).valid()) return false;
  const Shape &from = found.At("x").shape, &to = found.At("index").shape;
  call->op = Ranked(call->op, from.rank() - 2);
  return from.rank() == to.rank() && from.rank() >= 3 && from[0] == to[0] && from[1] == to[1];
}

bool IsAffineGrid(const DecomposedMatch& found, Layer* call) {
  const Shape &base = found.At("base").shape, &grid = found.At("grid").shape;
  if (!found.uses.IsStored(found["base"]) || base.rank() != 3 || !base[2].Is(1) || !base[1].Is(grid.rank() - 1))
    return false;
  const Layer* sample = found.uses.OnlyReaderOf(found["grid"]);
  if (sample != nullptr && sample->attributes.Int("align_corners", 0) != 0)
    call->attributes.Set("align_corners", int64_t{1});
  return true;
}

bool IsMaxUnpool(const DecomposedMatch& found, Layer* call) {
  call->op = Ranked(call->op, found.At("x").shape.rank() - 2);
  return found.MakerOf("put")->inputs.size() == 3;
}

// One number for each sample and channel (aten/src/ATen/native/Dropout.cpp, make_feature_noise).
bool IsFeatureDropout(const DecomposedMatch& found, Layer*) {
  const Shape &x = found.At("x").shape, &noise = found.At("noise").shape;
  if (x.rank() < 3 || noise.rank() != x.rank() || noise[0] != x[0] || noise[1] != x[1]) return false;
  return std::all_of(noise.begin() + 2, noise.end(), [](const Dim& length) { return length.Is(1); });
}

bool IsAlphaDropout(const DecomposedMatch& found, Layer* call) {
  if (found.At("noise").shape != found.At("x").shape) call->op = "feature_" + call->op;
  return true;
}

// The call has the axes of what is called `name`.
bool ReducesAs(const DecomposedMatch& found, std::string_view name, Layer* call) {
  call->attributes.Set("dim", found.MakerOf(name)->attributes.Ints("dim"));
  call->attributes.Set("keepdim", found.MakerOf(name)->attributes.Int("keepdim", 0));
  return true;
}

}  // namespace

// The rows of what any exporter takes apart. `var` is mean(d * d) of d = x - mean(x), with or without Bessel's
// correction (symbolic_opset9.py, _var_mean).
const DecomposedTable& DecomposedCalls() {
  const std::string var = "m=mean(mul(d=sub(x, mean(x)), d))";
  const FinishCall as_mean = [](const DecomposedMatch& found, Layer* call) { return ReducesAs(found, "m", call); };
  const auto ts = Exporter::kTorchScript, dynamo = Exporter::kDynamo;
  static const DecomposedTable table({
      {"add(low=index(x), mul(sub(high=index(x), low), w))", "upsample_linear1d(x)", dynamo, IsLinearResize},
      {"index=index(x)", "_upsample_nearest_exact(x)", Exporter::kAny, IsNearestExact},
      {"grid=reshape(sum(mul(base, unsqueeze(transpose(theta)))))", "affine_grid(theta)", dynamo, IsAffineGrid},
      {"reshape(put=index_put(~zeros(), ~add(places, mul(~arange())), ~x))", "max_unpool(x, places)", dynamo,
       IsMaxUnpool},
      {"mul(x, !div(!noise=bernoulli(), #))", "feature_dropout(x)", dynamo, IsFeatureDropout},
      {"add(mul(x, mul(noise=bernoulli())), add(mul(add(noise))))", "alpha_dropout(x)", dynamo, IsAlphaDropout},
      {"where(aten::isposinf(), _, where(aten::isneginf(), _, where(isnan(x), _, x)))", "nan_to_num(x)", dynamo},
      {"masked_fill(masked_fill(masked_fill(x, isnan(x)), bitwise_and(isinf())), bitwise_and(isinf()))",
       "nan_to_num(x)", ts},
      {"sqrt(clamp|maximum(matmul(l=cat(mul(a), _, ones()), transpose(r=cat(b, _, sum(pow(b)))))))", "cdist(a, b)",
       Exporter::kAny,
       [](const DecomposedMatch& found, Layer*) {
         return found.MakerOf("l")->inputs.size() == 3 && found.MakerOf("r")->inputs.size() == 3;
       }},
      {"pow(sum(pow(sub(unsqueeze(a), unsqueeze(b)), #p)), #q)", "cdist(a, b)", ts, IsPowerOfCdist},
      {"columns=reshape(transpose(c=index(r=index(pad(x)))))", "im2col(x)", ts,
       [](const DecomposedMatch& found, Layer*) {
         return found.MakerOf("c")->attributes.Int("dim", 0) == 4 &&
                found.MakerOf("r")->attributes.Int("dim", 0) == 2 && found.At("c").shape.rank() == 6 &&
                found.At("columns").shape.rank() == 3;
       }},
      // F.linear(x, w, torch.cat([q_bias, k_bias, v_bias])): the exporter puts a bias first (torch/onnx/
      // symbolic_opset9.py 2.10, linear), and people put their sums' shift last.
      {"sum=add(b, !product=linear(x, w))", "linear(x, w, b)", ts,
       [](const DecomposedMatch& found, Layer*) {
         const Layer &sum = *found.MakerOf("sum"), &product = *found.MakerOf("product");
         const bool biased = product.inputs.size() > 2 && product.inputs[2].valid();
         const Shape& x = found.At("x").shape;
         const bool is_known = x.rank() > 0 && x.FromEnd(1).known();  // not behind an operator that nobody knows
         return is_known && !biased && found.At("b").shape.rank() == 1 && sum.inputs[0] == found["b"];
       }},
      {"log(add(x, 1))", "log1p(x)", ts},
      {"log(div(x, rsub(x)))", "logit(x)", ts,
       [](const DecomposedMatch& found, Layer* call) {  // bounded by two conditions, or by a clamp
         for (const Layer* bound = found.MakerOf("x"); bound != nullptr; bound = found.uses.MakerOf(call->inputs[0])) {
           if (!IsOneOf(bound->op, {"where", "masked_fill", "clamp"})) break;
           call->inputs[0] = Uses::In(bound, bound->op == "where" ? 1 : 0);
         }
         return call->inputs[0].valid();
       }},
      {"log(!sigmoid(x))", "log_sigmoid(x)", ts},
      {"gt(sum=sum(to(flags)), -)", "any(flags)", ts,
       [](const DecomposedMatch& found, Layer* call) {
         return found.At("flags").type == DType::kBool && ReducesAs(found, "sum", call);
       }},
      {"where(bitwise_or(gt(x), lt(x)), x, -)", "hardshrink(x)", ts},
      {"add(where(gt(x), sub(x)), where(lt(x), add(x)))", "softshrink(x)", ts},
      {"prelu(x, bernoulli())", "rrelu(x)", ts},
      {var, "var(x)", ts, as_mean},
      {"mul(" + var + ")", "var(x)", ts, as_mean},
      {"div(mul(" + var + "))", "var(x)", ts, as_mean},
      {"sqrt((" + var + " | mul(" + var + ") | div(mul(" + var + "))))", "std(x)", ts, as_mean},
      {"div(sum=sum(mul(x, y)), maximum(sqrt(mul(sum(mul(x, x)), sum(mul(y, y))))))", "cosine_similarity(x, y)", ts,
       [](const DecomposedMatch& found, Layer* call) {
         const std::vector<int64_t> dims = found.MakerOf("sum")->attributes.Ints("dim");
         if (dims.size() == 1) call->attributes.Set("dim", dims[0]);
         return dims.size() == 1 && found.At("x").shape.rank() == found.At("y").shape.rank();
       }},
      // Without running statistics it is given those of the batch, as nodes.
      {"norm=batch_norm(x, _, _, mean(), var)", "batch_norm(x)", ts,
       [](const DecomposedMatch& found, Layer* call) {
         const Layer& norm = *found.MakerOf("norm");
         *call = CallInPlaceOf(norm, norm.op, {norm.inputs.begin(), norm.inputs.begin() + 3}, norm.attributes);
         call->attributes.Set("training", int64_t{1});
         return true;
       }},
      // The average over channels, a pooling of x * x with a depth of channels; or the condition whose branches squeeze
      // it, where nobody chose one (graph/shapes/branches.h): how many channels it takes is not seen then, 5 as the
      // class has it.
      {"div(x, pow(add(mul(~onnx::If()))))", "local_response_norm(x)", ts},
      {"div(x, pow(add(mul(~pool=avg_pool*(~mul(x, x))))))", "local_response_norm(x)", ts,
       [](const DecomposedMatch& found, Layer* call) {
         const std::vector<int64_t> kernel = found.MakerOf("pool")->attributes.Ints("kernel_size");
         if (!kernel.empty()) call->attributes.Set("size", kernel.front());
         return true;
       }},
      {"mul(!a=split(x), !sigmoid(!b=split(x)))", "glu(x)", ts,
       [](const DecomposedMatch& found, Layer* call) {
         const Layer& split = *found.MakerOf("a");
         call->attributes.Set("dim", split.attributes.Int("dim", -1));
         call->evidence = Evidence::kPattern;
         return split.outputs == std::vector{found["a"], found["b"]} && split.module == call->module;
       }},
      {"sum=add(!l=mul(!matmul(a, b), #), !mul(c, #))", "baddbmm(c, a, b)", ts,
       [](const DecomposedMatch& found, Layer* call) {
         call->evidence = Evidence::kPattern;
         return found.MakerOf("sum")->inputs[0] == found["l"] && found.At("a").shape.rank() == 3 &&
                found.At("b").shape.rank() == 3;
       }},
      // scatter_reduce without its target begins with the least (or greatest) of what it reduces.
      {"last=scatter_reduce(!scatter_reduce(into, i, (~add(_, ~amin|amax|min|max(x)) | ~amin|amax|min|max(x))), i, x)",
       "scatter_reduce(into, i, x)", Exporter::kAny,
       [](const DecomposedMatch& found, Layer* call) {
         call->attributes = found.MakerOf("last")->attributes;
         call->attributes.Set("include_self", int64_t{0});
         call->attributes.Set("inplace", int64_t{1});
         return true;
       }},
  });
  return table;
}

namespace {

// Where the maximum was is counted along the whole image, as PyTorch does, by taking off a pool of windows of one
// (symbolic_opset9.py, _max_pool): the pool itself gave these places.
void GatherPlaces(const Uses& uses, std::map<size_t, Layer>* calls, std::set<size_t>* gone) {
  for (const Layer& sub : uses.layers().layers) {
    if (sub.op != "sub" || FromDynamo(sub)) continue;
    const Layer *pool = uses.MakerOf(Uses::In(&sub, 0)),
                *ones = uses.MakerOf(uses.Behind({"slice"}, Uses::In(&sub, 1)));
    const bool pools = pool != nullptr && ones != nullptr && pool->op.starts_with("max_pool") &&
                       ones->op.find("max_pool") != std::string::npos && Uses::In(pool, 0) == Uses::In(ones, 0);
    if (!pools || pool->outputs.size() != 2 || pool->outputs[1] != Uses::In(&sub, 0)) continue;
    Layer call = *pool;
    call.outputs[1] = sub.outputs[0];
    calls->emplace(uses.PlaceOf(pool), std::move(call));
    gone->insert(uses.PlaceOf(&sub));
  }
}

// Of a reduction without places, whether it was max(dim)[0] rather than amax(dim), which keeps more: where the axis
// stays, as in CBAM (max_out, _ = torch.max(x, dim=1, keepdim=True)); over the points of PointNet (x = self.bn3(...); x
// = torch.max(x, 2)[0], models/pointnet_utils.py); over the neighbours of points, one axis of an activated map
// (torch.max(new_points, 2)[0], yanx27's models/pointnet2_utils.py; x.max(dim=-1)[0], WangYueFt/dgcnn's model.py).
bool HadPlaces(const Uses& uses, const Layer& layer, int64_t dim) {
  if (!Runs("read", "decomposed_calls HadPlaces")) return false;
  if (layer.attributes.Int("keepdim", 1) != 0) return true;
  const int rank = uses.layers()[Uses::In(&layer, 0)].shape.rank();
  const Layer* maker = uses.MakerOf(Uses::In(&layer, 0));
  if (maker == nullptr) return false;
  return rank == 4 ? IsOneOf(maker->op, {"batch_norm", "relu", "leaky_relu", "gelu", "silu"})
                   : rank == 3 && dim == 2 && maker->op == "batch_norm";
}

// max(dim) is two nodes, of which that of the places goes when nobody reads them (symbolic_helper.py, _max_helper).
void GatherMaxima(const Uses& uses, std::map<size_t, Layer>* calls, std::set<size_t>* gone) {
  std::map<std::pair<ValueId, int64_t>, const Layer*> places;  // by operand and axis
  for (const Layer& layer : uses.layers().layers) {
    const std::vector<int64_t> dims = layer.attributes.Ints("dim");
    if ((layer.op == "argmax" || layer.op == "argmin") && dims.size() == 1 && !FromDynamo(layer))
      places.emplace(std::pair(Uses::In(&layer, 0), layer.op == "argmax" ? dims[0] : ~dims[0]), &layer);
  }
  for (const Layer& layer : uses.layers().layers) {
    const std::vector<int64_t> dims = layer.attributes.Ints("dim");
    if ((layer.op != "amax" && layer.op != "amin") || dims.size() != 1 || FromDynamo(layer)) continue;
    const auto found = places.find({Uses::In(&layer, 0), layer.op == "amax" ? dims[0] : ~dims[0]});
    Layer call = layer;
    call.op = layer.op == "amax" ? "max" : "min";
    if (found == places.end() || found->second->attributes.Int("keepdim", 1) != layer.attributes.Int("keepdim", 1)) {
      if (HadPlaces(uses, layer, dims[0])) calls->emplace(uses.PlaceOf(&layer), std::move(call));
      continue;
    }
    call.outputs.push_back(found->second->outputs[0]);
    calls->emplace(uses.PlaceOf(std::min(&layer, found->second)), std::move(call));
    gone->insert(uses.PlaceOf(std::max(&layer, found->second)));
    places.erase(found);
  }
}

}  // namespace

void GatherDecomposedCalls(Layers* layers) {
  const Uses uses(*layers);
  std::map<size_t, Layer> calls;
  std::set<size_t> gone;
  if (Runs("read", "decomposed_calls GatherPlaces")) GatherPlaces(uses, &calls, &gone);
  if (Runs("read", "decomposed_calls GatherMaxima")) GatherMaxima(uses, &calls, &gone);
  for (const Layer& layer : layers->layers) {
    if (layer.outputs.size() != 1) continue;
    Found found;
    for (const auto& match : {WindowsMean, Unfold, Flip, CircularPad}) {
      if (!found) found = match(uses, layer);
    }
    if (!found) found = DecomposedCalls().CallAt(uses, uses.PlaceOf(&layer));
    if (found && found->inputs[0].valid()) calls.emplace(uses.PlaceOf(&layer), std::move(*found));
  }
  PutCalls(layers, std::move(calls), gone);
}

bool IsAmbiguousMaximum(const Layer& layer) {
  return IsOneOf(layer.op, {"max", "min", "amax", "amin"}) && !FromDynamo(layer) &&
         layer.attributes.Ints("dim").size() == 1 && layer.outputs.size() == 1;
}

}  // namespace vramplan
