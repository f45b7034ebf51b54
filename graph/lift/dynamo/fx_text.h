// The text that the dynamo exporter leaves: fx nodes, lists of names, and the graph signature (PyTorch 2.5 to 2.10,
// torch/onnx/_internal/exporter; fx nodes are printed by torch.fx.Node.format_node).
//
//   %max_pool2d : [num_users=2] = call_function[target=torch.ops.aten.max_pool2d.default](args = (%relu, [3, 3], [2,
//   2], [1, 1]), kwargs = {})
//     name "max_pool2d", target "aten.max_pool2d.default", args {ref relu, list {3, 3}, ...}
//   p_bn1_weight: PARAMETER target='bn1.weight'
//     placeholder "p_bn1_weight", kind kParameter, target "bn1.weight"
//
// The literals are a small part of Python's; a text that is not understood gives nothing, and its node falls to the
// patterns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ir/facts.h"

namespace vramplan {

struct FxLiteral {
  enum class Kind : uint8_t {
    kNone,
    kBool,  // integer is 0 or 1
    kInt,
    kReal,    // also inf and nan
    kString,  // 'reflect'
    kRef,     // %relu: text is "relu"
    kList,    // [..] and (..)
    kDict,    // {k: v}: items are k, v, k, v ...
    kSymbol,  // torch.float32, cpu, a slice(...) and what else is printed bare
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<FxLiteral> items;

  bool IsNumber() const { return kind == Kind::kInt || kind == Kind::kReal || kind == Kind::kBool; }
  bool operator==(const FxLiteral&) const = default;
};

struct FxNode {
  std::string name;
  std::string target;  // without "torch.ops.": "aten.add.Tensor"; "operator.getitem" and others as they are
  std::vector<FxLiteral> arguments;
  std::vector<std::pair<std::string, FxLiteral>> keywords;
};

// The literal as an argument of a call; a dict, and a word that is more than a name, is none.
RecordedArgument ArgumentOf(const FxLiteral& literal);

// One literal that is the whole text.
std::optional<FxLiteral> ParseFxLiteral(std::string_view text);
std::optional<FxNode> ParseFxNode(std::string_view text);
// "['', 'layer1', 'layer1.0']" -> three strings; nothing when it is not a list of strings.
std::optional<std::vector<std::string>> ParseNameList(std::string_view text);

struct SignatureEntry {
  enum class Kind : uint8_t { kParameter, kBuffer, kConstant, kInput };
  std::string placeholder;  // "p_bn1_weight"
  Kind kind = Kind::kInput;
  std::string target;  // "bn1.weight"; empty for inputs
};

// The "# inputs" part of the signature, or the input_specs of PyTorch 2.6's, in its order (that of the module tree:
// parameters, then buffers, then constants, then inputs).
std::vector<SignatureEntry> ParseSignature(std::string_view text);

}  // namespace vramplan
