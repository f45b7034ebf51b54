// ModelRun: the model on the card and its calls, in terms of Eager: what model.to("cuda"), model(x) and the loss do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/lifetimes/lifetimes.h"
#include "planner/semantics/autocast.h"
#include "planner/semantics/eager.h"
#include "planner/semantics/optimizer_rows.h"
#include "planner/semantics/table.h"
#include "planner/timeline/checkpoint.h"
#include "planner/timeline/criterion.h"
#include "planner/timeline/deepspeed3.h"
#include "planner/timeline/fused_calls.h"
#include "planner/timeline/ranks.h"
#include "planner/timeline/reentrant.h"

namespace vramplan {

class ModelRun : private LayerRunner {
 public:
  // model.to("cuda"): parameters and buffers, children before their parents. `calls` are then wrapped in checkpoints.
  // `releases` outlive the run.
  ModelRun(eager::Eager& e, Recorder& recorder, const Layers& layers, std::vector<CheckpointedCall> calls,
           const Releases& releases);

  // The caller's batch; then the targets of the loss, which are held in evaluation too. Error: no such output, or a loss
  // that does not fit it.
  void MakeInputs();
  Status MakeTarget();

  // Called after each layer of a forward, with all values by ValueId, before Python frees any.
  using Observer = std::function<void(size_t layer, const std::vector<eager::Tensor>& values)>;
  void Observe(Observer observer) { observer_ = std::move(observer); }

  // One forward. The caller's variables keep the outputs until the next forward has made new ones.
  void Forward();
  // loss = criterion(out, target), or a sum of several.
  eager::Tensor ComputeLoss();

  // Around the backward of the loss, and the optimizer's step. True: another one follows.
  eager::Tensor BeginBackward(const eager::Tensor& loss);
  void EndBackward(bool last_micro_batch);
  void BeforeStep();
  bool AfterStep();

  // The end of the mixed precision region, if the forward ran in one.
  void LeaveAutocast() override { autocast_.Leave(); }

  // The optimizer's parameters: [p for p in model.parameters() if p.requires_grad].
  const std::vector<eager::Tensor>& trained() const { return trained_; }
  bool FreezesSome() const { return trained_.size() != layers_.parameters.size(); }
  // Which layers take parameters and buffers, and which are read by lookups.
  eager::ParameterUses Uses() const;
  // Parameters and buffers, module by module as state_dict has them.
  std::vector<eager::Tensor> StateDict() const;
  Loss loss() const { return criteria_.empty() ? Loss::kNone : criteria_.front().loss(); }
  // Timeline::refused.
  std::string Refused() const;

 private:
  const std::vector<eager::Tensor>& resident() const override { return resident_; }
  const std::string& PathOf(ModuleId module) const override { return layers_[module].path; }
  void Run(size_t layer, std::vector<eager::Tensor>& values) override;
  void RunLayer(const Layer& layer, std::vector<eager::Tensor>& values);
  // attention_bias_cache of LeViT and its children (timm/models/levit.py, efficientformer.py, tiny_vit.py,
  // efficientvit_msra.py 1.0; transformers 5, modeling_levit.py): biases that were picked once stay in the module,
  // unless it trains.
  bool IsCached(const Layer& layer) const;
  void LetGo(const std::vector<eager::Tensor>& values);
  void RunFused(const FusedCall& call, std::vector<eager::Tensor>& values);
  Result<std::vector<size_t>> JudgedOutputs() const;
  Status ChooseLosses();
  // The recurrent layers, by the weight that comes last in `order`.
  std::map<ValueId, const Layer*> LastWeightsOfRecurrent(const std::vector<ValueId>& order) const;
  void FlattenWeights(const Layer& recurrent);
  eager::Tensor Literal(const Value& value);
  eager::Tensor There(const Value& value);  // a weight or an input, as it lies in memory

  eager::Eager& e_;
  const Layers& layers_;
  eager::Autocast autocast_;
  ReentrantCheckpoints reentrant_;
  Checkpoints checkpoints_;
  const Releases& releases_;
  std::vector<const eager::OpRule*> rules_;  // by layer; null: unknown
  std::vector<bool> asked_in_place_;         // by layer; empty: none
  std::vector<bool> operands_fit_;           // by layer: whether it has run with operands that its rule expects
  std::vector<FusedCall> fused_;
  std::vector<int> fused_at_;            // by layer: the fused call that it is part of; -1: none
  std::vector<eager::Tensor> resident_;  // by value: parameters, buffers, inputs, constants
  std::vector<eager::Tensor> trained_;
  std::optional<Sharding> sharding_;     // of fsdp2
  std::vector<eager::Storage> buckets_;  // of ddp
  std::unique_ptr<DeepspeedEngine> zero_;
  DeepspeedZero3* zero3_ = nullptr;  // that, of zero3
  std::vector<eager::Tensor> outputs_;
  std::map<const Layer*, eager::Tensor> cached_;
  std::map<ValueId, eager::Tensor> kept_;   // by attributes of modules
  std::map<ValueId, eager::Tensor> masks_;  // of fused calls, in one forward
  std::vector<Criterion> criteria_;         // whose sum is the loss; empty: no loss is computed
  eager::Tensor bound_loss_;
  Observer observer_;
};

}  // namespace vramplan
