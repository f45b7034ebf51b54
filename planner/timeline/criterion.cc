#include "planner/timeline/criterion.h"

#include <algorithm>
#include <string>

#include "planner/semantics/loss.h"
#include "planner/semantics/view.h"
#include "planner/timeline/class_axis.h"

namespace vramplan {
namespace {

using eager::Eager;

bool IsCrossEntropy(Loss loss) { return loss == Loss::kCrossEntropy || loss == Loss::kSmoothedCrossEntropy; }

bool IsOfPairs(Loss loss) { return loss == Loss::kCosineEmbedding || loss == Loss::kTripletMargin; }

eager::Tensor LossOf(Eager& e, Loss loss, const eager::Tensor& out, const eager::Tensor& target) {
  switch (loss) {
    case Loss::kCrossEntropy:
      return CrossEntropy(e, out, target);
    case Loss::kSmoothedCrossEntropy:
      return CrossEntropy(e, out, target, {.weight = {}, .smoothing = true});
    case Loss::kMse:
      return MseLoss(e, out, target);
    case Loss::kL1:
      return L1(e, out, target);
    case Loss::kSmoothL1:
      return SmoothL1(e, out, target);
    case Loss::kHuber:
      return Huber(e, out, target);
    case Loss::kBce:
      return Bce(e, out, target);
    case Loss::kBceLogits:
      return BceLogits(e, out, target);
    case Loss::kNll:
      return Nll(e, out, target);
    case Loss::kKlDiv:
      return KlDiv(e, out, target);
    case Loss::kKlDivLogTarget:
      return KlDiv(e, out, target, eager::LossReduction::kMean, true);
    case Loss::kSoftMargin:
      return SoftMargin(e, out, target);
    case Loss::kCosineEmbedding:  // of pairs: Criterion::Of
    case Loss::kTripletMargin:
    case Loss::kAuto:
    case Loss::kNone:
      return out;
  }
  return out;
}

}  // namespace

size_t UsualOutput(const Layers& layers, Loss asked) {
  if (asked == Loss::kAuto || asked == Loss::kNone) return 0;
  const int axes = IsCrossEntropy(asked) ? 2 : 0;
  const auto fits = [&](ValueId id) {
    return id.valid() && IsFloating(layers[id].type) && !layers[id].shape.Elements().Is(1) &&
           layers[id].shape.rank() >= axes;
  };
  const auto found = std::ranges::find_if(layers.outputs, fits);
  return found == layers.outputs.end() ? 0 : static_cast<size_t>(found - layers.outputs.begin());
}

// The operator that made the output, views aside; empty when none did.
std::string_view Criterion::LastOperator() const {
  ValueId id = id_;
  for (auto layer = layers_->layers.rbegin(); layer != layers_->layers.rend(); ++layer) {
    if (std::find(layer->outputs.begin(), layer->outputs.end(), id) == layer->outputs.end()) continue;
    if (layer->op != "reshape" && layer->op != "squeeze" && layer->op != "unsqueeze") return layer->op;
    id = layer->inputs[0];
  }
  return {};
}

// An image squeezed into 0 to 1 and of the input's shape is the input again: autoencoders are trained on what they
// were given, and no second batch is on the card.
eager::Tensor Criterion::Reconstructed(const std::vector<eager::Tensor>& resident) const {
  const Value& out = this->out();
  const std::string_view last = LastOperator();
  if (last != "sigmoid") return {};  // tanh: a generator, whose target is another image
  for (const ValueId id : layers_->inputs) {
    if ((*layers_)[id].shape == out.shape && (*layers_)[id].type == out.type) return resident[id.index()];
  }
  return {};
}

Loss Criterion::Likely() const {
  const Shape& shape = out().shape;
  if (shape.rank() == 0 || shape.Elements().Is(1)) return Loss::kNone;  // the output is the loss
  const std::string_view last = LastOperator();
  const Dim classes = shape.rank() > 1 ? shape[shape.rank() == 3 ? class_axis_ : 1] : Dim(1);
  const bool single = classes.Is(1) || shape.rank() == 1;
  if (last == "sigmoid" || last == "tanh")  // not logits: probabilities, or an image
    return last == "sigmoid" && single ? Loss::kBce : Loss::kMse;
  return single ? Loss::kBceLogits : Loss::kCrossEntropy;
}

void Criterion::NoteLikely(Notes* notes) const {
  if (notes == nullptr) return;
  const std::string what = loss_ == Loss::kNone
                               ? "that output " + out().name + ", one number, is the loss"
                               : std::string(Name(loss_)) + " on output " + out().name + " " + ToString(out().shape);
  if (!IsWithoutGradients(e_->spec().mode)) {
    notes->Add({"assumed-loss", Severity::kNote, "--loss", "assumed " + what, "give --loss to change it"});
  } else if (loss_ != Loss::kNone) {
    notes->Add({"assumed-loss", Severity::kNote, "--loss",
                "a target as for " + what + " is assumed to be on the card with the inputs",
                "type --loss none if there is none"});
  }
}

Status Criterion::Choose(Loss asked, Notes* notes) {
  const Value& out = this->out();
  class_axis_ = ClassAxis(*layers_, id_);
  loss_ = asked == Loss::kAuto ? Likely() : asked;
  if (asked == Loss::kAuto) NoteLikely(notes);
  if (IsCrossEntropy(loss_) && out.shape.rank() < 2) {
    return Error{
        ErrorCode::kUsage, "--loss",
        "cross-entropy needs logits of two axes or more, and output " + out.name + " is " + ToString(out.shape),
        "try --loss mse"};
  }
  if (IsOfPairs(loss_) && out.shape.rank() < 2) {
    return Error{ErrorCode::kUsage, "--loss",
                 std::string(Name(loss_)) + " compares embeddings of two axes or more, and output " + out.name +
                     " is " + ToString(out.shape),
                 "try --loss mse"};
  }
  if (loss_ != Loss::kNone && !IsFloating(out.type)) {
    return Error{ErrorCode::kUsage, "--loss",
                 "output " + out.name + " is " + std::string(Name(out.type)) + ", which has no gradient",
                 "use --mode infer"};
  }
  return Done{};
}

void Criterion::MakeTarget(const std::vector<eager::Tensor>& resident) {
  if (loss_ == Loss::kNone) return;
  const Value& out = this->out();
  Shape sizes = out.shape;
  DType type = e_->ModelType(out.type);
  if (IsCrossEntropy(loss_) || loss_ == Loss::kNll) {
    sizes.Remove(sizes.rank() == 3 ? class_axis_ : 1);
    type = DType::kInt64;
  } else if (IsOfPairs(loss_)) {
    const size_t wanted = loss_ == Loss::kTripletMargin ? 2 : 1;
    const auto alike = std::count_if(layers_->outputs.begin(), layers_->outputs.end(),
                                     [&](ValueId id) { return id.valid() && (*layers_)[id].shape == out.shape; });
    while (others_.size() + static_cast<size_t>(alike) - 1 < wanted) others_.push_back(e_->Empty(sizes, type));
    if (loss_ == Loss::kTripletMargin) return;
    sizes.Remove(sizes.rank() - 1);
  } else {
    target_ = Reconstructed(resident);
  }
  if (!target_) target_ = e_->Empty(sizes, type);
}

eager::Tensor Criterion::Of(const std::vector<eager::Tensor>& outputs) const {
  const eager::Tensor& out = outputs[place_];
  if ((IsCrossEntropy(loss_) || loss_ == Loss::kNll) && out->dim() == 3 &&
      class_axis_ == 2) {  // token logits: both flattened to one axis of positions
    const Shape& s = out->sizes;
    return LossOf(*e_, loss_, Reshape(*e_, out, Shape{s[0] * s[1], s[2]}), Reshape(*e_, target_, Shape{s[0] * s[1]}));
  }
  if (!IsOfPairs(loss_)) return LossOf(*e_, loss_, out, target_);
  std::vector<eager::Tensor> operands = {out};  // further outputs of its sizes, then what the caller has
  for (size_t place = 0; place < outputs.size(); ++place) {
    if (place != place_ && outputs[place] && outputs[place]->sizes == out->sizes) operands.push_back(outputs[place]);
  }
  operands.insert(operands.end(), others_.begin(), others_.end());
  return loss_ == Loss::kTripletMargin ? TripletMargin(*e_, out, operands[1], operands[2])
                                       : CosineEmbedding(*e_, out, operands[1], target_);
}

}  // namespace vramplan
