// Rows of operator tests: one node, what goes in, what must come out.
//
//   {"Conv", "pads=[1,1,1,1] strides=[2,2]", "f[B,3,224,224] f[64,3,3,3]", "f[B,64,112,112]"}
//
// op          "Conv", or "com.microsoft:FusedConv".
// attributes  name=1  name=1.5  name=text  name=[1,2]  name=[0.5,2.0]  name=[a,b]; "opset=11" is not an attribute
//             (default 20), nor is "bounds=1": what data decides is as long as it can be.
// inputs      TYPE[dims] with B for the batch and ? for an unknown length; "-" is absent; "f" and "i" without brackets
//             have no known rank. Contents: i[3]=1,B,-1 (any integers, "?" allowed), f[]=2.5.
// outputs     the same; "error: text" is the failure that must begin so. Contents are compared only where the row
//             writes them.
// TYPE        f float32, h float16, i int64, j int32, u uint8, c int8, w uint32, b bool, s string.
#pragma once

#include <initializer_list>
#include <string>

#include "graph/base/note.h"

namespace vramplan::testing {

struct NodeCase {
  const char* op;
  const char* attributes;
  const char* inputs;
  const char* outputs;
};

// What Infer makes of the row, written like `outputs`: contents of an output are shown where `outputs` shows contents.
// `fixed_batch` > 0: the file was exported with that batch, which was re-opened.
std::string InferNode(const NodeCase& row, int64_t fixed_batch = 0, Notes* notes = nullptr);

// One doctest check a row.
void CheckNodes(std::initializer_list<NodeCase> rows);

}  // namespace vramplan::testing
