// BufferPlan: which values of a graph share a buffer, as ONNX Runtime decides it before anything runs
// (core/framework/allocation_planner.cc, PlannerImpl::ComputeSingleStreamReusePlan, 1.31).
//
//   a = Transpose(x)     own
//   b = Relu(a)          shares a's: the kernel may write in place, and nobody else reads a
//   c = Reshape(b)       shares a's: the kernel must
//   d = Transpose(c)     own; a's buffer is free from here on
//   e = Add(d, w)        shares a's: same element size, same shape as its first owner
//   y = Exp(e)           own: what the caller gets never shares
//
// Invariant: a buffer's owner is a value with `kOwn`, `kOutput` or `kGiven`; its last use is not before its birth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct BufferPlan {
  enum class Kind : uint8_t {
    kHost,    // no device memory
    kGiven,   // inputs and weights: there before, there after
    kOwn,     // a buffer of its own, taken back after its last use
    kShared,  // somebody else's
    kOutput,  // of the graph: its own, until the run is over
  };
  struct Value {
    Kind kind = Kind::kHost;
    ValueId owner;             // of the buffer
    int32_t last_reader = -1;  // of an owner: the layer that reads the buffer last, through any value; -1: nobody
    bool operator==(const Value&) const = default;
  };
  std::vector<Value> values;  // by ValueId
  const Value& operator[](ValueId id) const { return values[static_cast<size_t>(id.value)]; }
};
BufferPlan PlanBuffers(const Layers& given);

// What a kernel of the CUDA provider does with its first input's buffer.
enum class InPlace : uint8_t { kNo, kMay, kMust };
InPlace InPlaceOf(const Layer& layer);

}  // namespace vramplan
