// Program: what torch.export.save wrote, as far as memory depends on it (torch/_export/serde/schema.py, schema versions 5
// to 8: PyTorch 2.3 to 2.10).
//
//   x = torch.ops.aten.conv2d.default(input, p_conv1_weight, None, [2, 2])      Call: target "aten.conv2d.default",
//                                                                               arguments by position, then by keyword
//   p_conv1_weight: PARAMETER "conv1.weight"                                    InputSpec
//   conv2d: float32 [s77, 64, 112, 112]                                         TensorMeta, by name
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/base/result.h"
#include "graph/ir/dtype.h"
#include "graph/ir/graph.h"

namespace vramplan {

struct TensorMeta {
  DType type = DType::kUndefined;
  std::vector<DeclaredDim> dims;
  bool requires_grad = false;
};

struct ProgramGraph;

struct ProgramArgument {
  enum class Kind : uint8_t {
    kNone,     // None, and what memory does not depend on: types, devices, layouts
    kTensor,   // one name
    kTensors,  // names; an empty one is None
    kNumber,   // a length that is computed: its name, or an expression
    kInt,      // also True and False
    kReal,
    kText,
    kInts,  // with `names` where a length is computed
    kReals,
    kGraph,  // of a higher-order operator
  };
  Kind kind = Kind::kNone;
  std::vector<std::string> names;
  std::vector<int64_t> ints;
  std::vector<double> reals;
  std::shared_ptr<ProgramGraph> graph;
};

struct NamedArgument {
  std::string name;
  bool keyword = false;
  ProgramArgument value;
};

struct ProgramCall {
  std::string target;  // without "torch.ops."
  std::vector<NamedArgument> arguments;
  std::vector<ProgramArgument> outputs;
  std::string stack_trace;
  std::string called_as;  // "float" of "float_1;method_descriptor.float"
  std::string modules;    // "L__self__,,net.Net;L__self___fc,fc,torch.nn.modules.linear.Linear"
};

struct ProgramGraph {
  std::vector<ProgramArgument> inputs, outputs;
  std::vector<ProgramCall> calls;
  std::unordered_map<std::string, TensorMeta> tensors;
};

struct InputSpec {
  enum class Kind : uint8_t { kParameter, kBuffer, kConstant, kUser };
  Kind kind = Kind::kUser;
  std::string placeholder;  // empty: no tensor
  std::string target;       // "conv1.weight"
};

struct Program {
  ProgramGraph graph;
  std::vector<InputSpec> inputs;
  std::vector<std::string> outputs;  // what the model returns, by name
  std::string torch_version;
  int64_t opset = 0;
  // Parameters and buffers that are one tensor: target -> the first of that storage.
  std::unordered_map<std::string, std::string> same_as;
};

// Reads the JSON of a program. `name` stands for the file in errors.
Result<Program> ReadProgram(const std::string& name, const std::string& text);

// Reads which weights are one (data/weights/*_config.json); nothing is changed where it cannot be read.
void ReadTies(const std::string& text, Program* program);

}  // namespace vramplan
