// GatheredParameters: parameters of which each rank has a part, made whole ahead of the modules that take them and let go
// behind them: DeepSpeed's stage 3.
//
//   first step   a module's parameters are gathered when it begins and freed when it ends
//   later ones   at the begin of each module call those that come next in the order of the first step are gathered, too, 5e7
//                elements or more at a time, until 1e9 are there; freed are those that none of the calls of the next 1e9
//                elements takes; a tensor of up to 1e5 elements stays from the end of a step to the next
//
//   alone    a block of the ranks' parts, which is the parameter
//   several  one block of all their parts, and from the first use of one of them a copy of each; the block goes when the
//            last of them has been used
//
// Sources: DeepSpeed 0.19.8, runtime/zero/partitioned_param_coordinator.py, partition_parameters.py (all_gather_coalesced,
// AllGatherCoalescedHandle), parameter_offload.py; the defaults of runtime/zero/config.py.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan {

// Elements: gathered ahead of a call, there at most, within which a parameter that is taken again is kept, of one that stays.
inline constexpr int64_t kPrefetched = 50'000'000, kMostThere = 1'000'000'000, kReuse = 1'000'000'000;
inline constexpr int64_t kPersistent = 100'000;

class GatheredParameters {
 public:
  explicit GatheredParameters(eager::Eager& e);

  // zero.Init of one parameter, in the order of model.parameters(): its whole tensor is there until its part is. The
  // tensor has memory only while it is gathered.
  eager::Tensor Add(const Shape& shape, DType type, bool trained);
  // Nothing: it is no parameter.
  std::optional<size_t> NumberOf(const eager::TensorImpl& tensor) const;
  // A module that takes these parameters.
  size_t AddModule(std::vector<size_t> parameters);

  int64_t PartOf(size_t parameter) const { return parameters_[parameter].part; }
  // The part's block, which is elsewhere from now on (defragment).
  void DropPart(size_t parameter) { parameters_[parameter].of_rank = eager::Storage(); }

  // reset_step, in front of a forward: the order of calls of the one before is known then.
  void BeginForward();
  // A call of the module begins in a forward, in one that runs again, or in the backward; and ends.
  enum class In : uint8_t { kForward, kRecompute, kBackward };
  void Fetch(size_t module, In phase);
  void Release(size_t module, In phase);
  // Of modules whose inputs take no gradient.
  void ReleaseLeftovers();
  // In front of an optimizer's step, and behind it.
  void FreeAll();
  void GatherPersistent();
  // param.all_gather(), param.partition(); false: it is there already.
  bool GatherAlone(eager::TensorImpl& tensor);
  void FreeAlone(eager::TensorImpl& tensor);
  void GatherAlone(size_t parameter);
  void Free(size_t parameter);

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  struct Handle {
    eager::Storage parts;
    std::vector<size_t> parameters;
    bool copied = false;
  };
  enum class State : uint8_t { kAway, kInFlight, kThere };
  struct Parameter {
    eager::Tensor tensor;
    int64_t elements = 0, part = 0;
    bool persistent = false;
    eager::Storage of_rank;
    State state = State::kAway;
    std::set<size_t> active;  // modules
    std::shared_ptr<Handle> handle;
    int64_t fetched_for = kNever;  // the last call that a prefetch had it for
    std::vector<int64_t> calls;    // that take it
  };
  struct Module {
    std::vector<size_t> own;
    std::set<size_t> recomputed;  // frozen ones that ran again for its backward
  };

  void Give(size_t parameter, int64_t elements, uint8_t stream);
  void Gather(std::vector<size_t> parameters);
  void Wait(size_t parameter);
  void Prefetch(const Module& module);
  void ReleaseIfIdle(size_t parameter);
  bool IsReleased(const Parameter& parameter) const;
  void KnowOrder();

  eager::Eager& e_;
  const eager::Storage nothing_;
  std::vector<Parameter> parameters_;
  std::unordered_map<const eager::TensorImpl*, size_t> numbers_;  // of parameters_
  std::vector<Module> modules_;
  std::vector<size_t> order_;                     // modules, as their calls began
  std::vector<int64_t> passed_;                   // elements that the calls before each take
  std::vector<std::pair<size_t, int64_t>> uses_;  // parameters in their order, and the call that takes each
  std::deque<std::pair<size_t, int64_t>> queue_;  // those that are to come
  bool knows_order_ = false;
  int64_t forwards_ = 0, call_ = 0, there_ = 0;  // there_: elements that were gathered ahead or for a call
  std::vector<size_t> in_backward_;              // modules, whose backward has begun
};

}  // namespace vramplan
