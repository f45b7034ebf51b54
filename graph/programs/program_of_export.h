// Calls of a .pt2 file (graph/ir/aten.h) as a program (graph/ir/facts.h): each is the operator that the framework ran, so
// nothing is gathered, split or guessed, but for the conversions that an export in fp32 makes nothing of.
//
//   aten.relu_.default(batch_norm)           %5 -> %6; who reads batch_norm afterwards reads %6
//   aten.copy_.default(slice(x), y)          %7, %2, of=%1 -> %8; who reads x afterwards reads %8
//   aten.to.dtype(x, float32), x in fp32     amp="float" where the code says x.float(), amp=%3 where it gives back the type
//                                            of value 3
//   aten.add_.Tensor(num_batches_tracked)    no call: it writes into a buffer that is there
#pragma once

#include "graph/ir/facts.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// `graph`: of a .pt2 file, which has facts.
RecordedProgram ProgramOfExport(const Graph& graph, const Shapes& shapes);

}  // namespace vramplan
