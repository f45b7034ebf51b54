// Shapes of parameters and buffers that no operator of the file uses.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/lift/dynamo/signature.h"

namespace vramplan {

// What the modules of the frameworks register beside what is known.
void Signature::ShapeByHabit(const std::string& target) {
  const ValueId value = ByTarget(target);
  const auto [module, name] = SplitTarget(target);
  if (builder_->At(value).role == Role::kBuffer && name == "num_batches_tracked")
    return SetShape(value, DType::kInt64, Shape());  // torch/nn/modules/batchnorm.py: torch.tensor(0, dtype=torch.long)
  // torch/nn/modules/rnn.py: bias_ih_l0 and bias_hh_l0 are as long as the weights of that name are high.
  if (name.starts_with("bias_ih_l") || name.starts_with("bias_hh_l")) {
    const ValueId weight = ByTarget((module.empty() ? "" : module + ".") + "weight_" + name.substr(5));
    const bool known = weight.valid() && ShapeIsKnown(weight) && builder_->At(weight).shape.rank() == 2;
    if (known) SetShape(value, builder_->At(weight).type, Shape{builder_->At(weight).shape[0]});
    return;
  }
  // peft keeps the module as it was beside modules_to_save.NAME, the copy that runs (utils/other.py 0.21.2).
  constexpr std::string_view kOriginal = ".original_module.", kSaved = ".modules_to_save.";
  const size_t at = target.find(kOriginal);
  const std::string copies = at == std::string::npos ? "" : target.substr(0, at) + std::string(kSaved);
  for (const std::string& other : order_) {
    const ValueId copy = ByTarget(other);
    if (copies.empty() || !other.starts_with(copies) || !ShapeIsKnown(copy)) continue;
    const size_t dot = other.find('.', copies.size());
    if (dot != std::string::npos && other.substr(dot + 1) == target.substr(at + kOriginal.size()))
      return SetShape(value, builder_->At(copy).type, Shape(builder_->At(copy).shape));
  }
}

// What the file's facts say about tensors that no operator uses (docs/facts.md).
void Signature::TakeShapesOf(const std::optional<std::vector<RecordedTensor>>& tensors) {
  if (!tensors) return;
  for (const RecordedTensor& tensor : *tensors) {
    const ValueId value = ByTarget(tensor.name);
    if (!value.valid() || ShapeIsKnown(value) || !tensor.same_as.empty()) continue;
    Shape shape;
    for (const int64_t length : tensor.shape) shape.Append(length);
    SetShape(value, tensor.type, shape);
  }
}

void Signature::Finish(Notes* notes) {
  if (const std::optional<Facts>& facts = builder_->graph().facts) {
    TakeShapesOf(facts->parameters);
    TakeShapesOf(facts->buffers);
  }
  for (const std::string& target : order_) {
    if (!ShapeIsKnown(ByTarget(target))) ShapeByHabit(target);
  }
  std::vector<std::string> unknown;
  for (const std::string& target : order_) {
    const ValueId value = ByTarget(target);
    if (ShapeIsKnown(value)) continue;
    // What was used before the export folded it away: a length of 0 would empty whatever it is broadcast with.
    const bool used = !IsUnreferenced(target);
    SetShape(value, DType::kFloat32, used ? Shape() : Shape{0});
    if (!used) {
      unknown.push_back(target);
      continue;
    }
    notes->Add({.code = "unknown-parameter",
                .severity = Severity::kWarning,
                .subject = target,
                .text = "the file lists it but does not give its shape; it counts as one number",
                .side = Side::kTooLow});
  }
  if (!unknown.empty()) {
    const size_t more = unknown.size() - 1;
    const std::string others = more == 0 ? "" : more == 1 ? " and one more" : " and " + std::to_string(more) + " more";
    notes->Add({.code = "unknown-parameter",
                .severity = Severity::kWarning,
                .subject = unknown.front(),
                .text = "the file lists it" + others + " but neither gives " +
                        (more == 0 ? "its shape" : "their shapes") + " nor uses " +
                        (more == 0 ? "it; it counts" : "them; they count") + " as 0 B",
                .side = Side::kTooLow});
  }
}

}  // namespace vramplan
