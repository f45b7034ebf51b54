#include "graph/architectures/lora.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/architectures/linear_layers.h"

namespace vramplan {
namespace {

using Argument = RecordedArgument;
using Call = RecordedProgram::Call;

constexpr const char* kMagnitude = ".lora_magnitude_vector.default.weight";

Argument ValueOf(int32_t value) { return {Argument::Kind::kValue, value, 0, "", {}}; }
Argument RealOf(double real) { return {Argument::Kind::kReal, 0, real, "", {}}; }
Argument WordOf(std::string text) { return {Argument::Kind::kText, 0, 0, std::move(text), {}}; }
Argument BoolOf(bool value) { return {Argument::Kind::kBool, value ? 1 : 0, 0, "", {}}; }

// The program with what an adapter adds behind each call of a layer that has one.
class Adapting {
 public:
  // `type`: of the adapters; `in_amp`: the program was recorded under autocast.
  Adapting(const Lora& lora, const std::set<std::string>& modules, const PackedLayers& packed,
           const std::vector<std::string>& leaves, bool trains, DType type, bool in_amp, RecordedProgram* program)
      : lora_(lora),
        modules_(modules),
        packed_(packed.modules.begin(), packed.modules.end()),
        clones_(packed.cloned),
        leaves_(leaves),
        trains_(trains),
        type_(type),
        in_amp_(in_amp),
        program_(*program) {}

  void Run() {
    const LinearPaths paths(program_);
    std::vector<int32_t> moved(program_.calls.size());  // a call's last number among the new ones
    std::map<int32_t, std::vector<int32_t>> at_with;    // values that end with another one
    std::vector<RecordedProgram::End> ends;
    std::vector<Call> before;
    std::swap(before, program_.calls);
    std::map<int32_t, std::vector<int32_t>> dies;  // call (of the new ones) -> values, in order
    for (size_t i = 0; i < before.size(); ++i) {
      Call& call = before[i];
      const bool ends_leaf =
          trains_ && IsOfLeaf(call) && (i + 1 == before.size() || before[i + 1].module != call.module);
      const std::optional<LinearCall> linear = LinearCallOf(call);
      const std::string module = linear ? paths.Of(call, *linear) : "";
      if (linear && modules_.contains(module)) {
        Adapt(std::move(call), *linear, module, &dies, &at_with);
      } else {
        program_.calls.push_back(std::move(call));
        if (ends_leaf) MakeLeaf(&at_with);
      }
      moved[i] = static_cast<int32_t>(program_.calls.size()) - 1;
    }
    // Deaths in the order of their calls: an adapter's own come before what its call ended anyway.
    auto added = dies.begin();
    const auto add_until = [&](int32_t call) {
      for (; added != dies.end() && added->first <= call; ++added) {
        for (const int32_t value : added->second) ends.push_back({value, added->first});
      }
    };
    for (const RecordedProgram::End& end : program_.ends) {
      const int32_t call = end.call < 0 ? end.call : moved[static_cast<size_t>(end.call)];
      add_until(end.call < 0 ? static_cast<int32_t>(program_.calls.size()) : call);
      for (const int32_t other : at_with[end.value]) ends.push_back({other, call});
      ends.push_back({end.value, call});
    }
    program_.ends = std::move(ends);
    if (program_.loss >= 0) program_.loss = moved[static_cast<size_t>(program_.loss)];
  }

  // The adapters of layers that the program does not run. `tree`: all tensors of the module tree, of which they are trained.
  void KeepIdle(const std::vector<RecordedTensor>& tree) {
    std::set<std::string> kept;
    for (const RecordedProgram::Kept& stored : program_.stored) kept.insert(stored.name);
    for (const RecordedTensor& tensor : tree) {
      if (!tensor.trained || kept.contains(tensor.name)) continue;
      Shape shape;
      for (const int64_t length : tensor.shape) shape.Append(Dim(length));
      Parameter(tensor.name, shape);
    }
  }

 private:
  bool IsOfLeaf(const Call& call) const {
    if (call.module < 0 || call.results.size() != 1) return false;
    const std::string& path = program_.modules[static_cast<size_t>(call.module)].path;
    return std::ranges::find(leaves_, path) != leaves_.end();
  }

  // What the last call made gets another name, which requires a gradient.
  void MakeLeaf(std::map<int32_t, std::vector<int32_t>>* at_with) {
    Call& call = program_.calls.back();
    const int32_t last = call.results[0], at = call.module;
    const RecordedProgram::Tensor& made = program_.values[static_cast<size_t>(last)];
    const int32_t plain = NewValue(made.type, made.shape);
    call.results[0] = plain;
    Add("vramplan.leaf", at, {ValueOf(plain)}, last);
    (*at_with)[last].push_back(plain);
  }

  int32_t NewValue(DType type, Shape shape) {
    program_.values.push_back({type, shape, ""});
    return static_cast<int32_t>(program_.values.size()) - 1;
  }

  // A layer that is called twice has one adapter.
  int32_t Parameter(const std::string& name, const Shape& shape) {
    const auto [known, is_new] = parameters_.emplace(name, static_cast<int32_t>(program_.values.size()));
    if (is_new) program_.stored.push_back({name, NewValue(type_, shape)});
    return known->second;
  }

  int32_t Add(const char* target, int32_t module, std::vector<Argument> arguments, int32_t result) {
    Call call;
    call.target = target;
    call.module = module;
    call.arguments = std::move(arguments);
    call.results = {result};
    program_.calls.push_back(std::move(call));
    return static_cast<int32_t>(program_.calls.size()) - 1;
  }

  Shape WithLast(Shape shape, int64_t length) {
    shape[shape.rank() - 1] = Dim(length);
    return shape;
  }

  void Adapt(Call call, const LinearCall& linear, const std::string& module,
             std::map<int32_t, std::vector<int32_t>>* dies, std::map<int32_t, std::vector<int32_t>>* at_with) {
    const int32_t last = call.results[0], at = call.module;
    const auto input = static_cast<int32_t>(call.arguments[linear.input].integer);
    const auto value = [&](int32_t number) -> const RecordedProgram::Tensor& {
      return program_.values[static_cast<size_t>(number)];
    };
    const DType type = value(last).type;
    const DType made = in_amp_ ? type : type_;  // a record of autocast has the types that its values have there
    const Shape in = value(input).shape, out = value(last).shape;
    const Shape small = WithLast(in, lora_.rank);
    const int64_t in_width = in[in.rank() - 1].At(1), out_width = out[out.rank() - 1].At(1);
    // Beside packed weights peft casts nothing under autocast (tuners/lora/bnb.py, requires_conversion).
    const bool is_packed = packed_.contains(module);
    const bool casts = !(in_amp_ && is_packed) && (in_amp_ ? value(input).type : type) != type_;
    // In fp32 it may be under autocast: the layer's input and result are in halves then.
    const bool may_cast = !in_amp_ && type == DType::kFloat32 && type_ == DType::kFloat32;
    const int32_t a = Parameter(module + ".lora_A.default.weight", Shape{Dim(lora_.rank), Dim(in_width)});
    const int32_t b = Parameter(module + ".lora_B.default.weight", Shape{Dim(out_width), Dim(lora_.rank)});

    const Argument weight = call.arguments[linear.weight];
    const Argument bias = BiasOf(call, linear);
    int32_t base = NewValue(type, out);
    call.results[0] = base;
    program_.calls.push_back(std::move(call));
    if (is_packed && clones_) {  // the result is cloned before anything is added
      const int32_t result = std::exchange(base, NewValue(type, out));
      (*dies)[Add("aten.clone.default", at, {ValueOf(result)}, base)] = {result};
    }
    int32_t x = input;
    const bool may_cast_input = may_cast && !is_packed;
    if (casts || may_cast_input) Add("aten.to.dtype", at, {ValueOf(input), {}}, x = NewValue(type_, in));
    if (may_cast_input) program_.calls.back().keywords.emplace_back("amp", WordOf("float"));
    int32_t dropped = x;
    if (trains_ && lora_.dropout > 0) {
      dropped = NewValue(type_, in);
      Add("aten.dropout.default", at, {ValueOf(x), RealOf(lora_.dropout), BoolOf(true)}, dropped);
    }
    const int32_t scaled = NewValue(made, out);
    if (lora_.dora) {
      const int32_t magnitude = Parameter(module + kMagnitude, Shape{Dim(out_width)});
      Add(kDoraLinear.data(), at,
          {ValueOf(dropped), dropped == x ? ValueOf(base) : Argument(), weight, ValueOf(a), ValueOf(b),
           ValueOf(magnitude), bias},
          scaled);
      program_.calls.back().keywords = {{"transposed", IntegerOf(linear.transposed ? 1 : 0)}};
    } else {
      const int32_t narrow = NewValue(made, small);
      const int32_t after_a = Add("aten.linear.default", at, {ValueOf(dropped), ValueOf(a)}, narrow);
      if (dropped != x) (*dies)[after_a].push_back(dropped);
      const int32_t wide = NewValue(made, out);
      (*dies)[Add("aten.linear.default", at, {ValueOf(narrow), ValueOf(b)}, wide)] = {narrow};
      (*dies)[Add("aten.mul.Tensor", at, {ValueOf(wide), RealOf(0.5)}, scaled)] = {wide};
    }
    if (is_packed && !lora_.dora) {  // tuners/lora/bnb.py, Linear4bit.forward
      int32_t added = scaled;
      if (casts) (*dies)[Add("aten.to.dtype", at, {ValueOf(scaled), {}}, added = NewValue(type, out))] = {scaled};
      (*dies)[Add("aten.add.Tensor", at, {ValueOf(base), ValueOf(added)}, last)] =
          casts ? std::vector<int32_t>{added, base, x} : std::vector<int32_t>{added, base};
      return;
    }
    if (type == made) {  // nothing is left to cast
      const int32_t sum = may_cast ? NewValue(made, out) : last;
      std::vector<int32_t>& dead = (*dies)[Add("aten.add.Tensor", at, {ValueOf(base), ValueOf(scaled)}, sum)];
      dead = {scaled, base};
      if (lora_.dora && dropped != x) dead.push_back(dropped);
      if (x != input) dead.push_back(x);
      if (!may_cast) return;
      Add("aten.to.dtype", at, {ValueOf(sum), {}}, last);
      program_.calls.back().keywords.emplace_back("amp", WordOf("half"));
      (*at_with)[last].push_back(sum);  // a second name
      return;
    }
    const int32_t sum = NewValue(made, out);
    const int32_t added = Add("aten.add.Tensor", at, {ValueOf(base), ValueOf(scaled)}, sum);
    (*dies)[added] = {scaled, base};
    if (lora_.dora && dropped != x) (*dies)[added].push_back(dropped);
    (*dies)[Add("aten.to.dtype", at, {ValueOf(sum), {}}, last)] = {sum, x};
  }

  const Lora& lora_;
  const std::set<std::string>& modules_;
  const std::set<std::string> packed_;
  const bool clones_;
  const std::vector<std::string>& leaves_;
  const bool trains_;
  const DType type_;
  const bool in_amp_;
  RecordedProgram& program_;
  std::map<std::string, int32_t> parameters_;  // of adapters
};

// peft takes a module whose path is a target or ends with one (inject_adapter, check_target_module_exists).
bool EndsWithOneOf(const std::string& path, const std::vector<std::string>& targets) {
  return std::ranges::any_of(targets,
                             [&](const std::string& target) { return path == target || path.ends_with("." + target); });
}

// "q_proj"; "to_out.0" of a module in a list.
std::string TypedName(const std::string& path) {
  const std::string last = LastName(path);
  const bool is_number = std::ranges::all_of(last, [](unsigned char c) { return c >= '0' && c <= '9'; });
  if (!is_number || last.size() == path.size()) return last;
  return LastName(path.substr(0, path.size() - last.size() - 1)) + "." + last;
}

}  // namespace

Status AddLora(const Lora& lora, const PackedLayers& packed, const std::vector<std::string>& leaves, DType type,
               Facts* facts) {
  std::set<std::string> modules, names, transposed;
  const std::vector<LinearLayer> linear = LinearLayersOf(*facts);
  const bool all = lora.targets == std::vector<std::string>{"all-linear"};
  for (const auto& [path, is_transposed] : linear) {
    if (is_transposed) transposed.insert(path);
    names.insert(TypedName(path));
    if (all ? path != linear.back().path : EndsWithOneOf(path, lora.targets)) modules.insert(path);
  }
  if (modules.empty()) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : "+") + name;
    return Error{ErrorCode::kUsage, "--lora",
                 lora.targets.empty() ? "peft has no targets of its own for this class"
                                      : "no linear layer has a name of its targets",
                 known.empty() ? "the model has none"
                               : "type --lora " + std::to_string(lora.rank) +
                                     ",target=" + (lora.targets.empty() ? "all-linear" : known)};
  }
  // The tensors of the module tree: the base is frozen, and each layer is followed by its adapter.
  std::vector<RecordedTensor> tensors;
  std::map<std::string, std::vector<int64_t>> shapes;  // of a weight that is tied, by the name of the other
  for (RecordedTensor& tensor : *facts->parameters) {
    const std::string module = ModuleOfParameter(tensor.name);
    tensor.trained = false;
    tensors.push_back(tensor);
    const std::vector<int64_t>& shape =
        shapes.emplace(tensor.name, tensor.same_as.empty() ? tensor.shape : shapes[tensor.same_as]).first->second;
    if (!modules.contains(module) || shape.size() != 2) continue;
    int64_t out = shape[0], in = shape[1];
    if (transposed.contains(module)) std::swap(out, in);
    tensors.push_back({module + ".lora_A.default.weight", type, {lora.rank, in}, true, ""});
    tensors.push_back({module + ".lora_B.default.weight", type, {out, lora.rank}, true, ""});
    if (lora.dora) tensors.push_back({module + kMagnitude, type, {out}, true, ""});
  }
  facts->parameters = std::move(tensors);
  const auto adapt = [&](std::optional<RecordedProgram>& program, bool trains, bool in_amp) {
    if (!program) return;
    Adapting adapting(lora, modules, packed, leaves, trains, type, in_amp, &*program);
    adapting.Run();
    adapting.KeepIdle(*facts->parameters);
  };
  adapt(facts->training_program, true, false);
  adapt(facts->training_program_in_amp, true, true);
  adapt(facts->inference_program, false, false);
  adapt(facts->inference_program_in_amp, false, true);
  return Done();
}

}  // namespace vramplan
