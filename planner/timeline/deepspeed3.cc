#include "planner/timeline/deepspeed3.h"

#include <algorithm>
#include <utility>

#include "graph/layers/trained.h"
#include "planner/semantics/grad_norm.h"

namespace vramplan {
namespace {

using eager::Eager;

constexpr uint8_t kReductionStream = 2;  // stream (stage3.py, reduce_and_partition_stream)

// Inside a call of the module that `checkpoint` means, and not that call: its hooks are around the checkpoint
// (transformers 5.23, modeling_layers.py).
bool RunsAgain(const std::string& module, const std::string& checkpoint) {
  for (size_t end = module.find_first_of("./"); end != std::string::npos; end = module.find_first_of("./", end + 1)) {
    const std::string around = module.substr(0, end);
    if (around == checkpoint || around.ends_with("." + checkpoint)) return true;
  }
  return false;
}

}  // namespace

DeepspeedZero3::DeepspeedZero3(Eager& e, const Layers& layers, std::map<ValueId, eager::Tensor>* parameters)
    : DeepspeedEngine(e),
      gathered_(e),
      calls_(ModuleCallsOf(layers)),
      opens_(layers.layers.size()),
      closes_(opens_.size()) {
  std::map<ValueId, size_t> numbers;
  for (const ValueId id : layers.parameters) {
    const Value& value = layers[id];
    const DType type = e.ModelType(value.type);
    const bool trained = IsTrained(layers, id) && IsFloating(type);
    const size_t number = numbers.size();
    numbers.emplace(id, number);
    (*parameters)[id] = gathered_.Add(value.shape, type, trained);
    trained_at_.push_back(trained_.size());
    if (!trained) continue;
    trained_.push_back(number);
    tensors_.push_back((*parameters)[id]);
  }
  std::map<std::string, size_t> modules;
  outside_.resize(calls_.size());
  for (size_t call = 0; call < calls_.size(); ++call) {
    const ModuleCall& of = calls_[call];
    auto [module, is_new] = modules.try_emplace(of.module, 0);
    if (is_new) {
      std::vector<size_t> own;
      for (const ValueId id : of.own) own.push_back(numbers.at(id));
      module->second = gathered_.AddModule(std::move(own));
    }
    module_of_.push_back(module->second);
    again_.push_back(
        std::ranges::any_of(e.spec().checkpoint, [&](const std::string& path) { return RunsAgain(of.module, path); }));
    opens_[of.first].push_back(call);
    closes_[of.last].insert(closes_[of.last].begin(), call);  // inner calls end first
  }
  if (!trained_.empty()) MakeFlat();
  e.owner = this;
  e.accumulated = [this](eager::TensorImpl& parameter) { Accumulated(parameter); };
}

DeepspeedZero3::~DeepspeedZero3() { e_.owner = nullptr; }

void DeepspeedZero3::MakeFlat() {
  type_ = tensors_.front()->dtype;
  for (const size_t number : trained_) {  // _create_fp16_sub_groups
    if (groups_.empty() || groups_.back().part >= kSubGroup) groups_.emplace_back();
    groups_.back().part += gathered_.PartOf(number);
    ++groups_.back().tensors;
    part_ += gathered_.PartOf(number);
  }
  // defragment: the parts wait on the host.
  for (const size_t number : trained_) gathered_.DropPart(number);
  e_.origin.op = "deepspeed.defragment";
  e_.category = Category::kParameters;
  flat_ = e_.Empty(Flat(part_), type_)->storage;
  e_.category = Category::kTemporaries;
  found_inf_ = e_.Empty(Flat(1), DType::kBool)->storage;
  barrier_ = e_.Empty(Flat(1), DType::kUint8)->storage;
  e_.origin.op = "deepspeed.create_fp32_partitions";
  int64_t largest = 0;
  eager::Tensor converted;  // to(fp32).clone(), of fp32 too: its check for that compares a device with the name of one
  for (const Group& group : groups_) {
    largest = std::max(largest, group.part);
    e_.category = Category::kTemporaries;
    if (type_ != DType::kFloat32) converted = e_.Empty(Flat(group.part), DType::kFloat32);
    e_.category = Category::kParameters;
    masters_.push_back(e_.Empty(Flat(group.part), DType::kFloat32));
    masters_.back()->requires_grad = true;
  }
  converted = eager::Tensor();
  e_.category = Category::kTemporaries;
  e_.origin.op = "deepspeed.initialize_optimizer_states";
  { const eager::Tensor zeros = e_.Empty(Flat(largest), DType::kFloat32); }
  e_.origin.op = "deepspeed.setup_for_real_optimizer";
  bucket_ = e_.Empty(Flat(kReduceBucket), type_)->storage;
  e_.category = Category::kGradients;
  gradients_ = e_.Empty(Flat(part_), type_)->storage;
  for (const size_t number : trained_) {  // create_reduce_and_remove_grad_hooks
    gathered_.GatherAlone(number);
    gathered_.Free(number);
  }
}

void DeepspeedZero3::Before(size_t layer, std::vector<eager::Tensor>& values) {
  for (const size_t call : opens_[layer])
    if (!IsAgain() || again_[call]) Open(call, values);
}

void DeepspeedZero3::After(size_t layer, std::vector<eager::Tensor>& values) {
  if (e_.given_up) return;  // a recomputation that stopped
  for (const size_t call : closes_[layer])
    if (!IsAgain() || again_[call]) Close(call, values);
}

void DeepspeedZero3::Open(size_t call, std::vector<eager::Tensor>& values) {
  using In = GatheredParameters::In;
  const size_t module = module_of_[call];
  gathered_.Fetch(module, IsAgain() ? In::kRecompute : In::kForward);
  if (IsAgain() || calls_[call].own.empty()) return;
  // PostBackwardFunctionModule: when the gradients of its inputs are there, it is over.
  std::vector<eager::Tensor> inputs, outputs;
  std::vector<ValueId> ids;
  for (const ValueId id : calls_[call].inputs) {
    const eager::Tensor& value = values[id.index()];
    if (!value || !value->tracked()) continue;
    ids.push_back(id);
    inputs.push_back(value);
    outputs.push_back(e_.Alias(value));
  }
  if (inputs.empty()) return;
  const auto left = std::make_shared<size_t>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    eager::GradNode* node = e_.Record("PostBackwardFunctionModuleBackward", {inputs[i]}, {outputs[i]});
    if (node == nullptr) return;
    node->Backward([this, module, left](eager::GradContext& g) {
      g.Set(0, g.grad());
      if (--*left == 0) gathered_.Release(module, In::kBackward);
    });
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    outside_[call].emplace_back(ids[i], inputs[i]);
    values[ids[i].index()] = outputs[i];
  }
}

void DeepspeedZero3::Close(size_t call, std::vector<eager::Tensor>& values) {
  using In = GatheredParameters::In;
  const size_t module = module_of_[call];
  if (IsAgain()) return gathered_.Release(module, In::kRecompute);
  for (auto& [id, value] : outside_[call])
    if (values[id.index()]) values[id.index()] = std::move(value);
  outside_[call].clear();
  gathered_.Release(module, In::kForward);
  // PreBackwardFunctionForModule: those of the calls around it run first.
  for (const ValueId id : calls_[call].outputs) {
    const eager::Tensor& value = values[id.index()];
    if (!value || !value->grad_fn) continue;
    value->grad_fn->before = [this, module, inner = std::move(value->grad_fn->before)] {
      gathered_.Fetch(module, In::kBackward);
      if (inner) inner();
    };
  }
}

// reduce_independent_p_g_buckets_and_remove_grads, behind AccumulateGrad
void DeepspeedZero3::Accumulated(eager::TensorImpl& parameter) {
  const std::optional<size_t> number = gathered_.NumberOf(parameter);
  if (!number) return;
  const int64_t elements = parameter.numel();
  if (filled_ + elements > kReduceBucket && filled_ > 0) Reduce();
  if (filled_ + elements <= kReduceBucket) parameter.grad->storage = bucket_;
  filled_ += elements;
  in_bucket_.push_back(trained_at_[*number]);
}

// reduce_scatter_coalesced and partition_grads
void DeepspeedZero3::Reduce() {
  if (in_bucket_.empty()) return;
  const int64_t ranks = e_.spec().ranks;
  e_.origin.op = "deepspeed.reduce_scatter_coalesced";
  const Category before = std::exchange(e_.category, Category::kTemporaries);
  const uint8_t stream = std::exchange(e_.origin.stream, kReductionStream);
  std::vector<eager::Tensor> paddings;
  int64_t whole = 0;
  for (const size_t i : in_bucket_) whole += gathered_.PartOf(trained_[i]) * ranks;
  if (in_bucket_.size() > 1 || tensors_[in_bucket_.front()]->numel() % ranks != 0) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      for (const size_t i : in_bucket_) {
        const int64_t part = gathered_.PartOf(trained_[i]);
        const int64_t padding = part - std::clamp<int64_t>(tensors_[i]->numel() - rank * part, 0, part);
        if (padding > 0) paddings.push_back(e_.Empty(Flat(padding), type_));
      }
    }
    const eager::Tensor parts = e_.Empty(Flat(whole), type_);
  }
  e_.origin.stream = stream;
  e_.category = before;
  for (const size_t i : in_bucket_) tensors_[i]->grad = eager::Tensor();
  in_bucket_.clear();
  filled_ = 0;
}

// independent_gradient_partition_epilogue, and the engine's backward_epilogue
void DeepspeedZero3::EndBackward(bool) {
  Reduce();
  gathered_.ReleaseLeftovers();
  DropScaled();
}

void DeepspeedZero3::BeforeStep() {
  if (!gradients_) return;
  const Category before = std::exchange(e_.category, Category::kTemporaries);
  if (group_ == 0) {
    gathered_.FreeAll();
    MakeNorms();
  }
  e_.origin.op = "deepspeed.step";
  e_.category = Category::kGradients;
  const Group& group = groups_[group_];
  eager::Tensor flat;
  if (group.tensors > 1 || type_ == DType::kFloat32) flat = e_.Empty(Flat(group.part), type_);
  masters_[group_]->grad = type_ == DType::kFloat32 ? flat : e_.Empty(Flat(group.part), DType::kFloat32);
  e_.category = before;
}

void DeepspeedZero3::MakeNorms() {
  e_.origin.op = "deepspeed.get_grad_norm_direct";
  size_t first = 0;
  for (const Group& group : groups_) {
    std::vector<eager::Tensor> norms;
    for (size_t i = 0; i < group.tensors; ++i)
      norms.push_back(VectorNorm(e_, e_.Empty(Flat(gathered_.PartOf(trained_[first + i])), DType::kFloat64)));
    norms_.push_back(e_.Empty(Shape(), DType::kFloat64));
    first += group.tensors;
  }
  for (int i = 0; i < 2; ++i) norms_.push_back(e_.Empty(Shape(), DType::kFloat64));  // of all, and without a loss scale
}

bool DeepspeedZero3::AfterStep() {
  if (!gradients_) return false;
  masters_[group_]->grad = eager::Tensor();
  if (++group_ < groups_.size()) return true;
  group_ = 0;
  gathered_.GatherPersistent();
  norm_of_engine_ = norms_.back();  // engine.get_global_grad_norm()
  norms_.clear();
  return false;
}

}  // namespace vramplan
