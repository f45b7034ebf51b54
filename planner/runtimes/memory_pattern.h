// MemoryPattern: one block for all activations of a run, packed from the births and deaths of the run before
// (core/framework/mem_pattern_planner.h, 1.31): the smallest gap that is large enough, else behind the last one.
//
//   births and deaths   a 256 KiB, b 512 KiB, a dies, c 128 KiB
//   offsets             a 0, b 256 KiB, c 0                       768 KiB in all
//
// Sizes are known twice: exactly at one batch, where gaps are chosen, and as polynomials, so that the block's size is
// near the truth at other batches too.
#pragma once

#include <cstdint>
#include <list>

#include "graph/ir/size_expr.h"
#include "graph/layers/layers.h"

namespace vramplan {

class MemoryPattern {
 public:
  // `aligned`: what `bytes` is at the batch, as a multiple of 256.
  void Allocate(ValueId owner, Bytes aligned, SizeExpr bytes);
  void Free(ValueId owner);
  Bytes peak() const { return Bytes::Of(peak_); }
  // A polynomial that is peak() at `batch`.
  SizeExpr PeakAround(int64_t batch) const;

 private:
  struct Placed {
    ValueId owner;
    int64_t offset = 0, size = 0;
    SizeExpr end;  // offset + size
  };
  std::list<Placed> live_;  // by offset
  int64_t peak_ = 0;
  SizeExpr peak_bytes_;
};

}  // namespace vramplan
