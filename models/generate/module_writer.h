// GraphWriter and Module: writing an ONNX graph that reads like a TorchScript export of a PyTorch module.
//
// A Module is a place in the module tree. Operators made through it carry its path, parameters its dotted name:
//
//     Module layer1 = root.Child("layer1");              // an attribute holding nn.Sequential
//     Module block = layer1.Child("0");                  // its first element
//     Module conv = block.Child("conv1");
//     conv.Parameter("weight", {64, 64, 1, 1});          // initializer layer1.0.conv1.weight
//     conv.Op("Conv", {x, ...}, {...});                  // node /layer1/layer1.0/conv1/Conv
//                                                        // value /layer1/layer1.0/conv1/Conv_output_0
//
// An element of an nn.ModuleList is one step, Child("down.0"): nobody calls the list itself, so it has no scope of its
// own.
//
// Invariants: parameters have type, shape and a place in weights.bin (offset, length), never values; nodes stand in the
// order in which they were made; the same calls give the same bytes.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace vramplan::models {

using Value = std::string;  // a tensor's name in the graph
using Dims = std::vector<int64_t>;

// A small constant: `dims` empty is a scalar.
struct Constant {
  onnx::TensorProto_DataType type = onnx::TensorProto::INT64;
  Dims dims;
  std::variant<std::vector<int64_t>, std::vector<float>, std::vector<double>> values;
};
Constant Int(int64_t value);                 // a scalar
Constant Ints(std::vector<int64_t> values);  // a vector
Constant Real(float value);                  // a scalar
Constant Double(double value);               // a scalar of type double
Constant Reals(std::vector<float> values);   // a vector
Constant Truth(bool value, Dims dims);       // of one element

struct Attribute {
  std::string name;
  std::variant<int64_t, float, Dims, Constant> value;
};

// An axis of an input or output: a length or a symbol.
struct Axis {
  Axis(int n) : length(n) {}  // implicit: {"batch", 3, 224}
  Axis(const char* name) : symbol(name) {}
  int64_t length = 0;
  std::string symbol;
};

class GraphWriter;

class Module {
 public:
  // A numeric name is an element of an nn.Sequential, which is called element by element.
  Module Child(const std::string& name) const;

  // The module called once more: TorchScript numbers the scope of every call after the first.
  Module Again(int call) const;

  // Declares a parameter or buffer where it is first asked for; afterwards only names it.
  Value Parameter(const std::string& name, const Dims& dims) const;

  Value Op(const std::string& op, std::vector<Value> inputs, std::vector<Attribute> attributes = {}) const;
  std::vector<Value> OpWithOutputs(int count, const std::string& op, std::vector<Value> inputs,
                                   std::vector<Attribute> attributes = {}) const;
  Value Make(Constant constant) const;  // a Constant node

  // A Constant node without scope: what the exporter's own rewrites leave behind.
  Value MakeUnscoped(Constant constant) const;

 private:
  friend class GraphWriter;
  Module(GraphWriter* graph, std::string path, std::string label, std::string prefix)
      : graph_(graph), path_(std::move(path)), label_(std::move(label)), prefix_(std::move(prefix)) {}

  GraphWriter* graph_;
  std::string path_;    // "/layer1/layer1.0"
  std::string label_;   // "layer1.0", the last step of the path
  std::string prefix_;  // "layer1.0.", before the names of parameters
};

class GraphWriter {
 public:
  explicit GraphWriter(const std::string& name);
  GraphWriter(const GraphWriter&) = delete;  // modules point here
  GraphWriter& operator=(const GraphWriter&) = delete;

  Module root() { return Module(this, "", "", ""); }
  Value Input(const std::string& name, onnx::TensorProto_DataType type, const std::vector<Axis>& axes);

  // Renames `value`, which a node of this graph made, to `name` and declares it the output: exporters do not copy.
  void Output(const Value& value, const std::string& name, const std::vector<Axis>& axes);

  std::string Bytes() const;

 private:
  friend class Module;
  onnx::NodeProto* AddNode(const std::string& name, const std::string& op);
  std::string Numbered(const std::string& scope, const std::string& op);

  onnx::ModelProto model_;
  std::map<std::string, int> used_;         // scope/op -> how many so far
  std::map<std::string, Dims> parameters_;  // by full name
  int64_t weight_bytes_ = 0;                // the next parameter's offset in weights.bin
};

}  // namespace vramplan::models
