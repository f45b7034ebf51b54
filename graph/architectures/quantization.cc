#include "graph/architectures/quantization.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "graph/architectures/linear_layers.h"
#include "graph/architectures/lora.h"

namespace vramplan {
namespace {

using Argument = RecordedArgument;

constexpr int64_t kBlock = 64, kBlockOfScales = 256;  // functional.py, quantize_4bit
constexpr int64_t kLevels = 16, kLevelsOfScales = 256;

int64_t Blocks(int64_t elements, int64_t block) { return (elements + block - 1) / block; }

// What is kept beside a packed weight of so many elements (functional.py, QuantState, in the order in which it is made).
std::vector<RecordedTensor> StateOf(const std::string& weight, int64_t elements, bool nested) {
  const int64_t scales = Blocks(elements, kBlock);
  const auto tensor = [&](const char* name, DType type, std::vector<int64_t> shape) {
    return RecordedTensor{weight + name, type, std::move(shape), false, ""};
  };
  const RecordedTensor levels = tensor(".quant_map", DType::kFloat32, {kLevels});
  if (!nested) return {tensor(".absmax", DType::kFloat32, {scales}), levels};
  return {levels, tensor(".offset", DType::kFloat32, {}), tensor(".absmax", DType::kUint8, {scales}),
          tensor(".nested_absmax", DType::kFloat32, {Blocks(scales, kBlockOfScales)}),
          tensor(".nested_quant_map", DType::kFloat32, {kLevelsOfScales})};
}

Shape ShapeOf(const std::vector<int64_t>& lengths) {
  Shape shape;
  for (const int64_t length : lengths) shape.Append(Dim(length));
  return shape;
}

struct Packing {
  const Quantization& quantization;
  const QuantizedTypes& types;
  const std::set<std::string>& modules;
  const std::vector<RecordedTensor>& state;
};

void PackProgram(const Packing& packing, RecordedProgram* program) {
  std::map<int32_t, std::string> modules;  // of the weights and biases that are stored
  for (const RecordedProgram::Kept& stored : program->stored) {
    const std::string module = ModuleOfParameter(stored.name);
    if (packing.modules.contains(module)) modules.emplace(stored.value, module);
  }
  for (RecordedProgram::Call& call : program->calls) {
    if (call.target == kDoraLinear) {
      const auto weight = modules.find(static_cast<int32_t>(call.arguments[kWeightOfDora].integer));
      if (weight == modules.end()) continue;
      const RecordedProgram::Tensor& packed = program->values[static_cast<size_t>(weight->first)];
      const bool transposed = call.keywords.front().second.integer != 0;
      const int64_t rows = packed.shape[0].At(1), columns = packed.shape[1].At(1);
      call.keywords = {{"packed", IntegerOf(1)},
                       {"out", IntegerOf(transposed ? columns : rows)},
                       {"in", IntegerOf(transposed ? rows : columns)},
                       {"stored", IntegerOf(static_cast<int64_t>(packing.types.stored))},
                       {"nested", IntegerOf(packing.quantization.nested ? 1 : 0)}};
      continue;
    }
    const std::optional<LinearCall> linear = LinearCallOf(call);
    if (!linear) continue;
    const auto weight = modules.find(static_cast<int32_t>(call.arguments[linear->weight].integer));
    if (weight == modules.end()) continue;
    RecordedProgram::Tensor& packed = program->values[static_cast<size_t>(weight->first)];
    int64_t out = packed.shape[0].At(1), in = packed.shape[1].At(1);
    if (linear->transposed) std::swap(out, in);
    const Argument bias = BiasOf(call, *linear);
    if (packing.quantization.eight()) {
      call.arguments = {call.arguments[linear->input], call.arguments[linear->weight], bias};
      call.keywords = {
          {"out", IntegerOf(out)}, {"in", IntegerOf(in)}, {"outliers", IntegerOf(1)}};  // the threshold is 6
      call.target = kLinear8Bit;
      continue;
    }
    // bias.data = bias.data.to(x.dtype): from the first forward on (nn/modules.py, Linear4bit.forward)
    if (bias.kind == Argument::Kind::kValue)
      program->values[static_cast<size_t>(bias.integer)].type = packing.types.computed;
    call.arguments = {call.arguments[linear->input], call.arguments[linear->weight], bias};
    call.keywords = {{"out", IntegerOf(out)},
                     {"in", IntegerOf(in)},
                     {"stored", IntegerOf(static_cast<int64_t>(packing.types.stored))},
                     {"computed", IntegerOf(static_cast<int64_t>(packing.types.computed))},
                     {"nested", IntegerOf(packing.quantization.nested ? 1 : 0)}};
    call.target = kPackedLinear;
  }
  for (const auto& [value, module] : modules) {
    RecordedProgram::Tensor& tensor = program->values[static_cast<size_t>(value)];
    if (tensor.shape.rank() != 2) continue;
    if (packing.quantization.eight()) {
      tensor.type = DType::kInt8;
      continue;
    }
    tensor.type = DType::kUint8;
    tensor.shape = Shape{Dim(Blocks(tensor.shape[0].At(1) * tensor.shape[1].At(1), 2)), Dim(1)};
  }
  for (const RecordedTensor& tensor : packing.state) {
    program->values.push_back({tensor.type, ShapeOf(tensor.shape), ""});
    program->stored.push_back({tensor.name, static_cast<int32_t>(program->values.size()) - 1});
  }
}

}  // namespace

std::vector<std::string> PackedModules(const Facts& facts, bool words, const std::vector<std::string>& kept) {
  std::vector<std::string> modules;
  const std::vector<LinearLayer> layers = LinearLayersOf(facts);
  if (layers.empty() || !facts.parameters || facts.parameters->empty()) return modules;
  std::set<std::string> left = {ModuleOfParameter(facts.parameters->back().name)};
  if (words) left.insert(layers.back().path);
  for (const RecordedTensor& parameter : *facts.parameters) {
    if (parameter.same_as.empty()) continue;
    left.insert(ModuleOfParameter(parameter.name));
    left.insert(ModuleOfParameter(parameter.same_as));
  }
  for (const LinearLayer& layer : layers) {
    const bool stays = left.contains(layer.path) || std::ranges::find(kept, LastName(layer.path)) != kept.end();
    if (!stays && std::ranges::find(modules, layer.path) == modules.end()) modules.push_back(layer.path);
  }
  return modules;
}

Status Quantize(const Quantization& quantization, const QuantizedTypes& types, const std::vector<std::string>& modules,
                Facts* facts) {
  if (modules.empty())
    return Error{ErrorCode::kUsage, "--quant", "the model has no linear layer to pack", "leave it out"};
  const std::set<std::string> packed(modules.begin(), modules.end());
  if (!facts->buffers) facts->buffers.emplace();
  std::set<std::string> conv1d;
  for (const LinearLayer& layer : LinearLayersOf(*facts))
    if (layer.transposed) conv1d.insert(layer.path);
  std::vector<RecordedTensor> state;
  for (RecordedTensor& parameter : *facts->parameters) {
    if (!packed.contains(ModuleOfParameter(parameter.name))) continue;
    parameter.trained = false;
    if (quantization.eight()) {
      if (parameter.shape.size() != 2) continue;
      parameter.type = DType::kInt8;
      const bool transposed = conv1d.contains(ModuleOfParameter(parameter.name));
      state.push_back({parameter.name + ".SCB", DType::kFloat32, {parameter.shape[transposed ? 1 : 0]}, false, ""});
      continue;
    }
    if (parameter.shape.size() != 2) {
      parameter.type = types.computed;
      continue;
    }
    const int64_t elements = parameter.shape[0] * parameter.shape[1];
    for (RecordedTensor& tensor : StateOf(parameter.name, elements, quantization.nested))
      state.push_back(std::move(tensor));
    parameter.type = DType::kUint8;
    parameter.shape = {Blocks(elements, 2), 1};
  }
  if (quantization.nested)  // functional.py, name2qmap["dynamic"]: one for all
    state.push_back({"bitsandbytes.dynamic_map", DType::kFloat32, {kLevelsOfScales}, false, ""});
  facts->buffers->insert(facts->buffers->end(), state.begin(), state.end());
  const Packing packing{quantization, types, packed, state};
  for (auto* program : {&facts->training_program, &facts->training_program_in_amp, &facts->inference_program,
                        &facts->inference_program_in_amp})
    if (*program) PackProgram(packing, &**program);
  return Done();
}

}  // namespace vramplan
