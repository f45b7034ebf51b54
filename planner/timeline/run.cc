#include "planner/timeline/run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "graph/layers/trained.h"
#include "graph/lift/habit_of.h"
#include "planner/lifetimes/lifetimes.h"
#include "planner/semantics/concat.h"
#include "planner/semantics/fused_attention.h"
#include "planner/semantics/loss.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/view.h"
#include "planner/timeline/class_axis.h"
#include "planner/timeline/inplace_on.h"

namespace vramplan {
namespace {

using eager::Call;
using eager::Eager;

// Module._apply (torch/nn/modules/module.py): the children first, then a module's own parameters, then its buffers.
struct ModuleNode {
  std::vector<ValueId> own;
  std::vector<std::unique_ptr<ModuleNode>> children;
  std::unordered_map<std::string, ModuleNode*> by_name;

  ModuleNode& Child(const std::string& name) {
    ModuleNode*& child = by_name[name];
    if (child == nullptr) child = children.emplace_back(std::make_unique<ModuleNode>()).get();
    return *child;
  }
  void InOrder(std::vector<ValueId>& out) const {
    for (const auto& child : children) child->InOrder(out);
    out.insert(out.end(), own.begin(), own.end());
  }
};

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
    case Loss::kCosineEmbedding:  // of pairs: ModelRun::LossOfPairs
    case Loss::kTripletMargin:
    case Loss::kAuto:
    case Loss::kNone:
      return out;
  }
  return out;
}

std::vector<ValueId> ModuleOrder(const Layers& layers) {
  ModuleNode root;
  for (const auto* list : {&layers.parameters, &layers.buffers}) {
    for (ValueId id : *list) {
      const std::string& path = layers[id].name;
      ModuleNode* node = &root;
      size_t begin = 0;
      for (size_t dot = path.find('.'); dot != std::string::npos; begin = dot + 1, dot = path.find('.', begin)) {
        node = &node->Child(path.substr(begin, dot - begin));
      }
      node->own.push_back(id);
    }
  }
  std::vector<ValueId> order;
  root.InOrder(order);
  return order;
}

}  // namespace

eager::Tensor ModelRun::There(const Value& value) {
  const DType type = e_.ModelType(value.type);
  if (!value.channels_last) return e_.Empty(value.shape, type);
  return e_.EmptyStrided(value.shape, eager::ChannelsLastStrides(e_.At(value.shape)), type);
}

ModelRun::ModelRun(Eager& e, Recorder& recorder, const Layers& layers, std::vector<CheckpointedCall> calls,
                   const Releases& releases)
    : e_(e),
      layers_(layers),
      autocast_(e),
      reentrant_(e, recorder, *this, layers, &calls),
      checkpoints_(e, recorder, *this, layers.layers.size(), std::move(calls)),
      releases_(releases),
      fused_(FusedCallsOf(layers, e.spec())),
      fused_at_(layers.layers.size(), -1),
      resident_(layers.values.size()) {
  for (const ValueId id : layers.kept_by_modules) kept_.emplace(id, eager::Tensor());
  for (size_t f = 0; f < fused_.size(); ++f) {
    for (int l = fused_[f].first; l <= fused_[f].last; ++l) fused_at_[static_cast<size_t>(l)] = static_cast<int>(f);
  }
  for (const Layer& layer : layers.layers) rules_.push_back(eager::FindRule(layer.op));
  operands_fit_.assign(layers.layers.size(), false);
  if (e.spec().inplace == Inplace::kOn) asked_in_place_ = CanBeInPlace(layers);
  e_.origin.op = "Module.to";
  const std::vector<ValueId> order = ModuleOrder(layers);
  const std::map<ValueId, const Layer*> last_weights = LastWeightsOfRecurrent(order);
  const std::set<ValueId> parameters(layers.parameters.begin(), layers.parameters.end());
  for (ValueId id : order) {
    const Value& value = layers[id];
    const bool parameter = parameters.count(id) != 0;
    e_.category = parameter ? Category::kParameters : Category::kBuffers;
    eager::Tensor t = There(value);
    t->requires_grad = parameter && IsTrained(layers, id) && IsFloating(t->dtype);
    resident_[static_cast<size_t>(id.value)] = std::move(t);
    if (const auto last = last_weights.find(id); last != last_weights.end()) FlattenWeights(*last->second);
  }
  for (ValueId id : layers.parameters) {
    if (IsTrained(layers, id)) trained_.push_back(resident_[static_cast<size_t>(id.value)]);
  }
}

void ModelRun::MakeInputs() {
  e_.category = Category::kInputs;
  e_.origin.op = "input";
  for (ValueId id : layers_.inputs) {
    resident_[static_cast<size_t>(id.value)] = There(layers_[id]);
  }
  for (const Layer& layer : layers_.layers) {
    for (ValueId id : layer.inputs) {
      if (!id.valid() || layers_[id].role != Role::kConstant) continue;
      eager::Tensor& literal = resident_[static_cast<size_t>(id.value)];
      if (!literal) literal = Literal(layers_[id]);
    }
  }
}

// A number of the program stays on the host (a wrapped number); a table that the program made is on the card.
eager::Tensor ModelRun::Literal(const Value& value) {
  const DType type = e_.ModelType(value.type);
  if (value.shape.rank() > 0) return e_.Empty(value.shape, type);
  eager::Storage none = MakeRef<eager::StorageImpl>(nullptr, BlockId(), SizeExpr());
  return MakeRef<eager::TensorImpl>(std::move(none), MakeRef<eager::Layout>(Shape(), eager::Ints(), eager::Ints()),
                                    type);
}

// The operator that made the model's first output, views aside; empty when none did.
std::string_view ModelRun::LastOperator() const {
  ValueId id = layers_.outputs[0];
  for (auto layer = layers_.layers.rbegin(); layer != layers_.layers.rend(); ++layer) {
    if (std::find(layer->outputs.begin(), layer->outputs.end(), id) == layer->outputs.end()) continue;
    if (layer->op != "reshape" && layer->op != "squeeze" && layer->op != "unsqueeze") return layer->op;
    id = layer->inputs[0];
  }
  return {};
}

// An image squeezed into 0 to 1 and of the input's shape is the input again: autoencoders are trained on what they
// were given, and no second batch is on the card.
eager::Tensor ModelRun::Reconstructed() const {
  const Value& out = layers_[layers_.outputs[0]];
  const std::string_view last = LastOperator();
  if (last != "sigmoid") return {};  // tanh: a generator, whose target is another image
  for (const ValueId id : layers_.inputs) {
    if (layers_[id].shape == out.shape && layers_[id].type == out.type) return resident_[static_cast<size_t>(id.value)];
  }
  return {};
}

Note NoteOfRefusal(const std::string& refused) {
  return {"bce-under-autocast", Severity::kWarning, refused,
          "PyTorch refuses binary_cross_entropy (BCELoss) under autocast, so this step would not run",
          "let the model return logits, without its sigmoid, and type --loss bce-logits"};
}

// aten/src/ATen/autocast_mode.cpp, binary_cross_entropy_banned (2.10): it raises an error under autocast.
std::string ModelRun::Refused() const {
  const Precision precision = e_.spec().precision;
  if (e_.spec().mode != Mode::kTrain) return "";
  if (precision != Precision::kAmpFp16 && precision != Precision::kAmpBf16) return "";
  const bool inside =
      std::any_of(layers_.layers.begin(), layers_.layers.end(), [](const Layer& layer) { return layer.op == "bce"; });
  if (inside) return "binary_cross_entropy";
  return loss_ == Loss::kBce ? "--loss" : "";
}

Status ModelRun::ChooseLoss() {
  const Loss asked = e_.spec().loss;
  if (layers_.outputs.empty())
    return Error{ErrorCode::kBadInput, "", "the graph has no output to train on", "use --mode infer"};
  const Value& out = layers_[layers_.outputs[0]];
  class_axis_ = ClassAxis(layers_, layers_.outputs[0]);
  loss_ = asked;
  if (asked == Loss::kAuto) {
    const Shape& shape = out.shape;
    if (shape.rank() == 0 || shape.Elements().Is(1)) {
      loss_ = Loss::kNone;  // the output is the loss
    } else {
      const std::string_view last = LastOperator();
      const Dim classes = shape.rank() > 1 ? shape[shape.rank() == 3 ? class_axis_ : 1] : Dim(1);
      const bool single = classes.Is(1) || shape.rank() == 1;
      if (last == "sigmoid" || last == "tanh") {  // not logits: probabilities, or an image
        loss_ = last == "sigmoid" && single ? Loss::kBce : Loss::kMse;
      } else {
        loss_ = single ? Loss::kBceLogits : Loss::kCrossEntropy;
      }
    }
    if (e_.notes() != nullptr) {
      const std::string what =
          loss_ == Loss::kNone ? "the scalar output itself" : std::string(Name(loss_)) + " on output " + out.name;
      const bool infers = e_.spec().mode == Mode::kInfer;
      if (!infers) {
        e_.notes()->Add({"assumed-loss", Severity::kNote, "--loss", "assumed " + what + " " + ToString(shape),
                         "give --loss to change it"});
      } else if (loss_ != Loss::kNone) {
        e_.notes()->Add(
            {"assumed-loss", Severity::kNote, "--loss",
             "a target as for " + what + " " + ToString(shape) + " is assumed to be on the card with the inputs",
             "type --loss none if there is none"});
      }
    }
  }
  if (const std::string refused = Refused(); e_.notes() != nullptr && !refused.empty())
    e_.notes()->Add(NoteOfRefusal(refused));
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

Status ModelRun::MakeTarget() {
  if (const Status chosen = ChooseLoss(); !chosen) {
    loss_ = Loss::kNone;
    return e_.spec().mode == Mode::kTrain ? chosen : Status(Done{});  // an evaluation without a loss is fine
  }
  if (loss_ == Loss::kNone) return Done{};
  const Value& out = layers_[layers_.outputs[0]];
  e_.category = Category::kInputs;
  e_.origin.op = "target";
  Shape sizes = out.shape;
  DType type = e_.ModelType(out.type);
  if (IsCrossEntropy(loss_) || loss_ == Loss::kNll) {
    sizes.Remove(sizes.rank() == 3 ? class_axis_ : 1);
    type = DType::kInt64;
  } else if (IsOfPairs(loss_)) {
    const size_t wanted = loss_ == Loss::kTripletMargin ? 2 : 1;
    const auto alike = std::count_if(layers_.outputs.begin(), layers_.outputs.end(),
                                     [&](ValueId id) { return id.valid() && layers_[id].shape == out.shape; });
    while (others_.size() + static_cast<size_t>(alike) - 1 < wanted) others_.push_back(e_.Empty(sizes, type));
    if (loss_ == Loss::kTripletMargin) return Done{};
    sizes.Remove(sizes.rank() - 1);
  } else {
    target_ = Reconstructed();
  }
  if (!target_) target_ = e_.Empty(sizes, type);
  return Done{};
}

bool ModelRun::IsCached(const Layer& layer) const {
  return e_.spec().mode != Mode::kTrain && layer.op == "index" && layer.inputs[0].valid() &&
         HabitOfPath(layers_, layers_[layer.inputs[0]].name, NameHabit::Of::kCachedIndex) != nullptr;
}

void ModelRun::RunLayer(const Layer& layer, std::vector<eager::Tensor>& values) {
  if (const auto cached = cached_.find(&layer); cached != cached_.end()) {
    values[static_cast<size_t>(layer.outputs[0].value)] = cached->second;
    return;
  }
  if (e_.spec().mode != Mode::kTrain &&
      layer.attributes.Has("skipped-in-evaluation")) {  // graph/lift/any_export/noise.cc
    const ValueId passed = layer.inputs[static_cast<size_t>(layer.attributes.Int("skipped-in-evaluation", 0))];
    values[static_cast<size_t>(layer.outputs[0].value)] = values[static_cast<size_t>(passed.value)];
    return;
  }
  const size_t index = static_cast<size_t>(&layer - layers_.layers.data());
  std::vector<eager::Tensor> inputs;
  inputs.reserve(layer.inputs.size());
  for (ValueId id : layer.inputs)
    inputs.push_back(id.valid() ? values[static_cast<size_t>(id.value)] : eager::Tensor());
  e_.origin.layer = static_cast<int32_t>(index);
  e_.origin.op = rules_[index] != nullptr ? rules_[index]->op.data() : "unknown";
  const bool grad_mode = e_.grad_mode;
  if (layer.attributes.Int("no_grad", 0) != 0) e_.grad_mode = false;  // the code ran it under torch.no_grad()
  // autocast 0: the code turned it off around this call. It knows no operator that writes in place (autocast_mode.h).
  if (rules_[index] != nullptr && layer.attributes.Int("autocast", 1) != 0 && layer.attributes.Int("inplace", 0) == 0)
    autocast_.Apply(rules_[index]->cast, inputs);
  checkpoints_.BeginOperator();
  Call call(e_, layers_, layer, std::move(inputs));
  call.asked_in_place = !asked_in_place_.empty() && asked_in_place_[index];
  const bool missing = std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                   [&](ValueId id) { return id.valid() && !values[static_cast<size_t>(id.value)]; });
  call.operands_fit = operands_fit_[index];
  RunCall(missing ? nullptr : rules_[index], call);
  e_.grad_mode = grad_mode;
  operands_fit_[index] = call.operands_fit;
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    if (layer.outputs[i].valid()) values[static_cast<size_t>(layer.outputs[i].value)] = std::move(call.outputs[i]);
  }
  for (const ValueId id : layer.outputs) {
    if (const auto kept = kept_.find(id); kept != kept_.end()) kept->second = values[id.index()];
  }
  if (IsCached(layer)) cached_[&layer] = values[static_cast<size_t>(layer.outputs[0].value)];
}

void ModelRun::RunFused(const FusedCall& call, std::vector<eager::Tensor>& values) {
  const auto value = [&](ValueId id) { return values[static_cast<size_t>(id.value)]; };
  const auto affine = [&](const AffineValues& ids) { return eager::Affine{value(ids.weight), value(ids.bias)}; };
  e_.origin.layer = static_cast<int32_t>(call.first);
  e_.origin.op = "fused";
  eager::FusedAttention attention{
      affine(call.in_projection), affine(call.out_projection), call.heads, call.weights, {}};
  if (call.mask.valid()) {
    attention.mask = value(call.mask);
    const Shape& mask = attention.mask->sizes;
    const Shape& s = value(call.input)->sizes;
    if (mask[0] != s[0])  // of positions: merge_masks sees it by head
      attention.mask =
          Expand(e_, Reshape(e_, attention.mask, Shape{1, 1, s[1], s[1]}), Shape{s[0], call.heads, s[1], s[1]});
  }
  eager::Tensor& out = values[static_cast<size_t>(call.output.value)];
  if (!call.encoder_layer) {
    eager::Tensor weights;
    out = NativeMultiHeadAttention(e_, value(call.input), attention, &weights);
    if (call.weights_output.valid()) values[static_cast<size_t>(call.weights_output.value)] = std::move(weights);
    return;
  }
  const FusedCall::EncoderLayer& layer = *call.encoder_layer;
  out = TransformerEncoderLayer(e_, value(call.input),
                                {attention, affine(layer.norm1), affine(layer.norm2), affine(layer.linear1),
                                 affine(layer.linear2), layer.norm_first});
}

void ModelRun::Run(size_t layer, std::vector<eager::Tensor>& values) {
  if (fused_at_[layer] < 0) {
    RunLayer(layers_.layers[layer], values);
    if (observer_) observer_(layer, values);
  } else if (const FusedCall& call = fused_[static_cast<size_t>(fused_at_[layer])];
             call.first == static_cast<int>(layer)) {
    RunFused(call, values);
  }
  for (ValueId id : releases_[layer]) values[static_cast<size_t>(id.value)] = eager::Tensor();
}

// out = model(x), in front of the loss: what the forward before returned dies, and the loss before does not yet.
void ModelRun::LetGo(const std::vector<eager::Tensor>& values) {
  for (size_t i = 1; i < outputs_.size() && i < layers_.outputs.size(); ++i) {
    const ValueId id = layers_.outputs[i];
    outputs_[i] = id.valid() ? values[static_cast<size_t>(id.value)] : eager::Tensor();
  }
}

void ModelRun::Forward() {
  checkpoints_.BeginForward();
  e_.category = Category::kActivations;
  std::vector<eager::Tensor> values = resident_;
  for (size_t l = 0; l < layers_.layers.size(); ++l) {
    if (const std::optional<size_t> last = reentrant_.Run(l, values)) {
      l = *last;
      continue;
    }
    checkpoints_.Before(l, values);
    Run(l, values);
    checkpoints_.After(l);
    const std::vector<ValueId>& made = layers_.layers[l].outputs;
    if (layers_.loss_after.valid() && std::find(made.begin(), made.end(), layers_.loss_after) != made.end())
      LetGo(values);
  }
  std::vector<eager::Tensor> fresh;
  for (ValueId id : layers_.outputs) {
    fresh.push_back(id.valid() ? values[static_cast<size_t>(id.value)] : eager::Tensor());
    if (id.valid() && !fresh.back()) fresh.back() = e_.Empty(layers_[id].shape, e_.ModelType(layers_[id].type));
  }
  values.clear();  // locals of the model's forward
  outputs_ = std::move(fresh);
  e_.origin = Origin();
  checkpoints_.EndForward();
}

eager::Tensor ModelRun::ComputeLoss() {
  e_.category = Category::kActivations;
  const eager::Tensor& out = outputs_[0];
  eager::Tensor loss;
  if ((IsCrossEntropy(loss_) || loss_ == Loss::kNll) && out->dim() == 3 &&
      class_axis_ == 2) {  // token logits: both flattened to one axis of positions
    const Shape& s = out->sizes;
    loss = LossOf(e_, loss_, Reshape(e_, out, Shape{s[0] * s[1], s[2]}), Reshape(e_, target_, Shape{s[0] * s[1]}));
  } else if (IsOfPairs(loss_)) {  // further outputs of its sizes, then what the caller has
    std::vector<eager::Tensor> operands;
    for (const eager::Tensor& output : outputs_) {
      if (output && output->sizes == out->sizes) operands.push_back(output);
    }
    operands.insert(operands.end(), others_.begin(), others_.end());
    loss = loss_ == Loss::kTripletMargin ? TripletMargin(e_, out, operands[1], operands[2])
                                         : CosineEmbedding(e_, out, operands[1], target_);
  } else {
    loss = LossOf(e_, loss_, out, target_);
  }
  if (e_.spec().accumulate > 1) loss = eager::Div(e_, loss, eager::Tensor());  // loss = criterion(out, y) / N
  bound_loss_ = loss;
  e_.origin = Origin();
  return loss;
}

}  // namespace vramplan
