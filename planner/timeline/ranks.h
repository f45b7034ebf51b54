// Ranks: what one of several processes holds that train one model together, and when.
//
//   ddp     its own weights, gradients and states, and the buckets that gradients are reduced in, which stay
//   fsdp2   a part of each weight, gradient and state; a unit's weights are whole from its forward's begin to its end, and
//           again from the first gradient of its output to that of its input
//
//   unit 3   forward   gather (kept until unit 4's weights are there), weights, calls, weights free
//            backward  weights, gather of unit 2, calls and whole gradients; weights free, gradients to one block, reduced
//                      to a part; that block stays until the next unit's
//
// The root, what is in no unit, is whole from the forward's begin to the end of the backward. Sources, PyTorch 2.10:
// torch/distributed/fsdp/_fully_shard/{_fsdp_param_group,_fsdp_collectives,_fsdp_state}.py, torch/csrc/distributed/c10d/
// reducer.{hpp,cpp}. Gathers and reduced gradients come from pools of their streams. What NCCL holds itself is not counted.
#pragma once

#include <string>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/semantics/eager.h"

namespace vramplan {

// torch.nn.parallel.DistributedDataParallel: the buckets of these parameters' gradients, made once.
std::vector<eager::Storage> BucketsOf(eager::Eager& e, const std::vector<eager::Tensor>& trained);

// fully_shard of every unit and of the model.
class Sharding {
 public:
  Sharding(eager::Eager& e, const Layers& layers);

  // model.parameters(): a part on this rank is allocated; the whole tensor, which calls take, has no memory yet.
  eager::Tensor Add(const Value& value, ValueId id, bool trained);
  // What the optimizer has in place of a parameter.
  const eager::Tensor& PartOf(ValueId id) const;

  void BeginForward();
  void Before(size_t layer, std::vector<eager::Tensor>& values);
  void After(size_t layer, std::vector<eager::Tensor>& values);
  void EndForward();
  void BeginBackward();
  void EndBackward();

 private:
  struct Parameter {
    eager::Tensor whole, part;
    int64_t padded = 0;  // elements of the whole, its first axis a multiple of the ranks
  };
  struct Unit {
    std::vector<Parameter> parameters;
    size_t first = 0, last = 0;  // of its layers
    std::vector<ValueId> inputs, outputs;
    std::vector<std::pair<ValueId, eager::Tensor>> outside;  // inputs that are read after it, too
    eager::Storage gathered;                                 // from the gather to the copy
    bool whole = false, reduced = false;
  };
  void FindValues(const Layers& layers);
  void Gather(Unit& unit);
  void MakeWhole(Unit& unit);
  void Split(Unit& unit);
  void BeforeBackward(size_t unit);
  void AfterBackward(Unit& unit);

  eager::Eager& e_;
  const int64_t ranks_;
  std::vector<Unit> units_;                          // in the order of their calls; the last is the root
  std::vector<int> unit_of_;                         // by layer; -1: the root's
  std::vector<std::pair<size_t, size_t>> place_of_;  // by value: unit and number of a parameter
  eager::Storage last_gathered_;                     // in a forward, until the next unit is whole
  eager::Storage reducing_;                          // until the next unit's is there
};

}  // namespace vramplan
