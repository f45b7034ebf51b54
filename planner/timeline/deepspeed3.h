// DeepSpeed's ZeRO stage 3: what the first of several processes holds when each has a part of every parameter.
//
//   made      each parameter is cut into the ranks' parts. Parts of trained ones move into one flat block, which is copied to
//             fp32 (the master); a block has room for the gradients of all parts, another for reduce_bucket_size elements
//   forward   GatheredParameters, at the begin and the end of each module call
//   backward  the same; a gradient moves into the bucket as it is ready, a full one is cut into the ranks' parts in a block
//             of its own, of which this rank's are added to the gradients
//   step      no parameter is whole; the gradients are made flat, then fp32; the optimizer has one parameter, the master.
//             Of more than 1e9 elements of this rank these are several, one after another
//
// Sources: DeepSpeed 0.19.8, runtime/zero/stage3.py and runtime/comm/coalesced_collectives.py, at the defaults of
// runtime/zero/config.py. torch.nn.functional.linear is replaced (runtime/zero/linear.py). What NCCL holds itself is not
// counted.
#pragma once

#include <map>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/timeline/deepspeed.h"
#include "planner/timeline/gathered.h"
#include "planner/timeline/module_calls.h"

namespace vramplan {

// Elements of this rank's parts that the optimizer steps at a time: the default of sub_group_size.
inline constexpr int64_t kSubGroup = 1'000'000'000;

class DeepspeedZero3 : public DeepspeedEngine, private eager::ParameterOwner {
 public:
  // The parameters in the order of the module tree, by value.
  DeepspeedZero3(eager::Eager& e, const Layers& layers, std::map<ValueId, eager::Tensor>* parameters);
  ~DeepspeedZero3() override;

  // Around the layers of a forward, and of one that runs again for the backward: the hooks of the modules.
  void BeginForward() { gathered_.BeginForward(); }
  void Before(size_t layer, std::vector<eager::Tensor>& values);
  void After(size_t layer, std::vector<eager::Tensor>& values);

  void EndBackward(bool last_micro_batch) override;
  void BeforeStep() override;
  bool AfterStep() override;

 private:
  bool Gather(eager::TensorImpl& parameter) override { return gathered_.GatherAlone(parameter); }
  void Partition(eager::TensorImpl& parameter) override { gathered_.FreeAlone(parameter); }
  bool IsAgain() const { return e_.thread == eager::Eager::Thread::kAutograd; }
  void Open(size_t call, std::vector<eager::Tensor>& values);
  void Close(size_t call, std::vector<eager::Tensor>& values);
  void MakeFlat();
  void Accumulated(eager::TensorImpl& parameter);
  void Reduce();
  void MakeNorms();

  GatheredParameters gathered_;
  std::vector<ModuleCall> calls_;
  std::vector<size_t> module_of_;                                        // of GatheredParameters, by call
  std::vector<std::vector<size_t>> opens_, closes_;                      // calls, by layer
  std::vector<bool> again_;                                              // by call: it runs inside a checkpoint
  std::vector<std::vector<std::pair<ValueId, eager::Tensor>>> outside_;  // by call: values that it sees by other names
  std::vector<size_t> trained_;                                          // numbers in gathered_
  std::vector<size_t> trained_at_;                                       // by number there: its place in trained_
  std::vector<eager::Tensor> tensors_;                                   // of trained_
  struct Group {                                                         // the optimizer steps of one after another
    int64_t part = 0;
    size_t tensors = 0;
  };
  std::vector<Group> groups_;
  size_t group_ = 0;
  DType type_ = DType::kBFloat16;
  int64_t part_ = 0;  // elements of all parts of trained ones
  eager::Storage flat_, gradients_, bucket_, found_inf_, barrier_;
  std::vector<size_t> in_bucket_;  // indices into tensors_
  int64_t filled_ = 0;
  std::vector<eager::Tensor> norms_;
  eager::Tensor norm_of_engine_;
};

}  // namespace vramplan
