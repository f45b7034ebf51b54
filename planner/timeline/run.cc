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
#include "planner/semantics/pointwise.h"
#include "planner/semantics/view.h"
#include "planner/spec/nearest.h"
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
  if (e.spec().strategy == Strategy::kFsdp2) sharding_.emplace(e, layers);
  std::map<ValueId, eager::Tensor> partitioned;
  if (e.spec().strategy == Strategy::kZero3) {
    auto zero = std::make_unique<DeepspeedZero3>(e, layers, &partitioned);
    zero3_ = zero.get();
    zero_ = std::move(zero);
  }
  for (ValueId id : order) {
    const Value& value = layers[id];
    const bool parameter = parameters.count(id) != 0;
    e_.category = parameter ? Category::kParameters : Category::kBuffers;
    const bool trained = parameter && IsTrained(layers, id) && IsFloating(e.ModelType(value.type));
    eager::Tensor t = parameter && sharding_ ? sharding_->Add(value, id, trained)
                      : parameter && zero3_  ? partitioned.at(id)
                                             : There(value);
    t->requires_grad = trained;
    resident_[static_cast<size_t>(id.value)] = std::move(t);
    if (const auto last = last_weights.find(id); last != last_weights.end()) FlattenWeights(*last->second);
  }
  for (ValueId id : layers.parameters) {
    if (IsTrained(layers, id))
      trained_.push_back(sharding_ ? sharding_->PartOf(id) : resident_[static_cast<size_t>(id.value)]);
  }
  if (e.spec().strategy == Strategy::kDdp && e.spec().mode == Mode::kTrain) buckets_ = BucketsOf(e, trained_);
  if (IsDeepspeed(e.spec().strategy) && zero_ == nullptr) zero_ = std::make_unique<DeepspeedZero>(e, trained_);
  if (zero_) trained_ = zero_->masters();
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
  return std::ranges::any_of(criteria_, [](const Criterion& c) { return c.loss() == Loss::kBce; }) ? "--loss" : "";
}

// The outputs that --loss-on names.
Result<std::vector<size_t>> ModelRun::JudgedOutputs() const {
  const std::string& asked = e_.spec().loss_on;
  const size_t count = layers_.outputs.size();
  if (count == 0) return Error{ErrorCode::kBadInput, "", "the graph has no output to train on", "use --mode infer"};
  if (asked.empty()) return std::vector<size_t>{UsualOutput(layers_, e_.spec().loss)};
  std::vector<size_t> places;
  for (size_t place = 0; place < count; ++place) {
    const ValueId id = layers_.outputs[place];
    if (!id.valid()) continue;
    const bool is_named = asked == std::to_string(place + 1) || asked == layers_[id].name;
    if (is_named || (asked == kEveryOutput && IsFloating(layers_[id].type))) places.push_back(place);
  }
  if (!places.empty()) return places;
  return Error{ErrorCode::kUsage, "--loss-on",
               InQuotes(asked) + (count == 1 ? " is not the model's only output"
                                             : " is none of the model's " + std::to_string(count) + " outputs"),
               count == 1 ? "leave it out" : "type a number from 1 to " + std::to_string(count) + ", or all"};
}

Status ModelRun::ChooseLosses() {
  Result<std::vector<size_t>> places = JudgedOutputs();
  if (!places.ok()) return places.error();
  for (const size_t place : *places) {
    Criterion criterion(e_, layers_, place);
    const Status chosen = criterion.Choose(e_.spec().loss, e_.notes());
    if (chosen.ok()) criteria_.push_back(std::move(criterion));
    if (!chosen.ok() && places->size() == 1) return chosen;  // of several, those that the loss fits
  }
  if (criteria_.empty())
    return Error{ErrorCode::kUsage, "--loss", "no output fits " + std::string(Name(e_.spec().loss)), "try --loss mse"};
  if (const std::string refused = Refused(); e_.notes() != nullptr && !refused.empty())
    e_.notes()->Add(NoteOfRefusal(refused));
  return Done{};
}

Status ModelRun::MakeTarget() {
  if (const Status chosen = ChooseLosses(); !chosen) {
    criteria_.clear();
    const bool is_asked = !e_.spec().loss_on.empty() && !JudgedOutputs().ok();
    return e_.spec().mode == Mode::kTrain || is_asked ? chosen
                                                      : Status(Done{});  // an evaluation without a loss is fine
  }
  e_.category = Category::kInputs;
  e_.origin.op = "target";
  for (Criterion& criterion : criteria_) criterion.MakeTarget(resident_);
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
    eager::Tensor& mask_of_all = masks_[call.mask];  // the encoder's own name for it
    if (value(call.mask)) mask_of_all = value(call.mask);
    attention.mask = mask_of_all;
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
  if (zero3_) zero3_->Before(layer, values);
  if (fused_at_[layer] < 0) {
    RunLayer(layers_.layers[layer], values);
    if (observer_) observer_(layer, values);
  } else if (const FusedCall& call = fused_[static_cast<size_t>(fused_at_[layer])];
             call.first == static_cast<int>(layer)) {
    RunFused(call, values);
  }
  if (zero3_) zero3_->After(layer, values);
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
  if (sharding_) sharding_->BeginForward();
  if (zero3_) zero3_->BeginForward();
  for (size_t l = 0; l < layers_.layers.size(); ++l) {
    if (const std::optional<size_t> last = reentrant_.Run(l, values)) {
      l = *last;
      continue;
    }
    if (sharding_) sharding_->Before(l, values);
    checkpoints_.Before(l, values);
    Run(l, values);
    checkpoints_.After(l);
    if (sharding_) sharding_->After(l, values);
    const std::vector<ValueId>& made = layers_.layers[l].outputs;
    if (layers_.loss_after.valid() && std::find(made.begin(), made.end(), layers_.loss_after) != made.end())
      LetGo(values);
  }
  if (sharding_) sharding_->EndForward();
  std::vector<eager::Tensor> fresh;
  for (ValueId id : layers_.outputs) {
    fresh.push_back(id.valid() ? values[static_cast<size_t>(id.value)] : eager::Tensor());
    if (id.valid() && !fresh.back()) fresh.back() = e_.Empty(layers_[id].shape, e_.ModelType(layers_[id].type));
  }
  values.clear();  // locals of the model's forward
  masks_.clear();
  outputs_ = std::move(fresh);
  e_.origin = Origin();
  checkpoints_.EndForward();
}

eager::Tensor ModelRun::BeginBackward(const eager::Tensor& loss) {
  if (sharding_) sharding_->BeginBackward();
  return zero_ ? zero_->Scale(loss) : loss;
}

void ModelRun::EndBackward(bool last_micro_batch) {
  if (sharding_) sharding_->EndBackward();
  if (zero_) zero_->EndBackward(last_micro_batch);
}

void ModelRun::BeforeStep() {
  if (zero_) zero_->BeforeStep();
}

bool ModelRun::AfterStep() { return zero_ && zero_->AfterStep(); }

eager::Tensor ModelRun::ComputeLoss() {
  e_.category = Category::kActivations;
  eager::Tensor loss;
  for (const Criterion& criterion : criteria_) {
    const eager::Tensor one = criterion.Of(outputs_);
    if (criteria_.size() > 1 && !one->grad_fn) continue;
    loss = loss ? eager::Add(e_, loss, one) : one;
  }
  if (!loss) loss = criteria_.front().Of(outputs_);
  if (e_.spec().accumulate > 1 && !zero_) loss = eager::Div(e_, loss, eager::Tensor());  // loss = criterion(out, y) / N
  bound_loss_ = loss;
  e_.origin = Origin();
  return loss;
}

}  // namespace vramplan
