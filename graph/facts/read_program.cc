#include "graph/facts/read_program.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace vramplan {
namespace {

using nlohmann::json;
using Argument = RecordedArgument;

// Any part of the wrong form throws Malformed, which ReadProgram alone catches.
struct Malformed {};

const json& Part(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw Malformed();
  return *found;
}

const json& ListIn(const json& value) {
  if (!value.is_array()) throw Malformed();
  return value;
}

const json& At(const json& list, size_t at) {
  if (!list.is_array() || at >= list.size()) throw Malformed();
  return list[at];
}

std::string TextIn(const json& value) {
  if (!value.is_string()) throw Malformed();
  return value.get<std::string>();
}

int64_t NumberIn(const json& value) {
  if (!value.is_number_integer()) throw Malformed();
  return value.get<int64_t>();
}

// A number from `lowest` to below `count`.
int32_t PlaceIn(const json& value, size_t count, int32_t lowest = 0) {
  const int64_t number = NumberIn(value);
  if (number < lowest || number >= static_cast<int64_t>(count)) throw Malformed();
  return static_cast<int32_t>(number);
}

// 224, [0, 3]: 3*B, [c0, c1, c2].
Dim LengthIn(const json& value) {
  if (value.is_number_integer()) return {NumberIn(value)};
  int64_t c[3] = {0, 0, 0};
  const json& list = ListIn(value);
  if (list.empty() || list.size() > 3) throw Malformed();
  for (size_t i = 0; i < list.size(); ++i) c[i] = NumberIn(list[i]);
  return Dim::Polynomial(c[0], c[1], c[2]);
}

DType TypeIn(const json& value) {
  const std::string name = TextIn(value);
  for (int32_t number = 1; const std::optional<DType> type = DTypeFromOnnx(number); ++number) {
    if (Name(*type) == name) return *type;
  }
  throw Malformed();
}

class ProgramReader {
 public:
  explicit ProgramReader(const json& object) : object_(object) {}

  RecordedProgram Read() {
    for (const json& value : ListIn(Part(object_, "values"))) ReadValue(value);
    for (const json& item : ListIn(Part(object_, "stored"))) program_.stored.push_back(KeptIn(item));
    for (const json& item : ListIn(Part(object_, "given"))) program_.given.push_back(KeptIn(item));
    for (const json& item : ListIn(Part(object_, "loose"))) program_.loose.push_back(ValueIn(item));
    for (const json& item : ListIn(Part(object_, "returned"))) program_.returned.push_back(ValueIn(item));
    for (const json& item : ListIn(Part(object_, "modules"))) {
      const int32_t parent = PlaceIn(At(item, 2), program_.modules.size(), RecordedProgram::kAbsent);
      program_.modules.push_back({TextIn(At(item, 0)), TextIn(At(item, 1)), parent});
    }
    made_.assign(program_.values.size(), false);
    for (const std::vector<RecordedProgram::Kept>* list : {&program_.stored, &program_.given}) {
      for (const RecordedProgram::Kept& kept : *list) Make(kept.value);
    }
    for (const int32_t value : program_.loose) Make(value);
    for (const json& call : ListIn(Part(object_, "calls"))) ReadCall(call);
    for (const json& end : ListIn(Part(object_, "ends"))) {
      program_.ends.push_back(
          {ValueIn(At(end, 0)), PlaceIn(At(end, 1), program_.calls.size(), RecordedForward::kWithTheForward)});
    }
    return std::move(program_);
  }

 private:
  int32_t ValueIn(const json& value) const { return PlaceIn(value, program_.values.size()); }
  RecordedProgram::Kept KeptIn(const json& item) const { return {TextIn(At(item, 0)), ValueIn(At(item, 1))}; }
  void Make(int32_t value) {
    if (made_[static_cast<size_t>(value)]) throw Malformed();
    made_[static_cast<size_t>(value)] = true;
  }

  void ReadValue(const json& value) {
    RecordedProgram::Tensor tensor{TypeIn(At(value, 0)), {}};
    const json& lengths = ListIn(At(value, 1));
    if (lengths.size() > static_cast<size_t>(Shape::kMaxRank)) throw Malformed();
    for (const json& length : lengths) tensor.shape.Append(LengthIn(length));
    program_.values.push_back(tensor);
  }

  // "%12" is a value that was made before, any other text is a word.
  Argument ArgumentIn(const json& value) const {
    if (value.is_null()) return {};
    if (value.is_boolean()) return {.kind = Argument::Kind::kBool, .integer = value.get<bool>() ? 1 : 0};
    if (value.is_number_integer()) return {.kind = Argument::Kind::kInt, .integer = NumberIn(value)};
    if (value.is_number()) return {.kind = Argument::Kind::kReal, .real = value.get<double>()};
    if (value.is_array()) {
      Argument list{.kind = Argument::Kind::kList};
      for (const json& item : value) list.items.push_back(ArgumentIn(item));
      return list;
    }
    std::string text = TextIn(value);
    if (!text.starts_with('%')) return {.kind = Argument::Kind::kText, .text = std::move(text)};
    const json number = json::parse(text.substr(1), nullptr, false);
    const int32_t place = ValueIn(number);
    if (!made_[static_cast<size_t>(place)]) throw Malformed();
    return {.kind = Argument::Kind::kValue, .integer = place};
  }

  void ReadCall(const json& item) {
    RecordedProgram::Call call{.target = TextIn(At(item, 0)),
                               .module = PlaceIn(At(item, 1), program_.modules.size(), RecordedProgram::kAbsent)};
    for (const json& argument : ListIn(At(item, 2))) call.arguments.push_back(ArgumentIn(argument));
    if (item.size() > 4) {
      if (!item[4].is_object()) throw Malformed();
      for (const auto& [name, argument] : item[4].items()) call.keywords.emplace_back(name, ArgumentIn(argument));
    }
    for (const json& result : ListIn(At(item, 3))) {
      const int32_t value = result.is_null() ? RecordedProgram::kAbsent : ValueIn(result);
      if (value != RecordedProgram::kAbsent) Make(value);
      call.results.push_back(value);
    }
    program_.calls.push_back(std::move(call));
  }

  const json& object_;
  RecordedProgram program_;
  std::vector<bool> made_;  // by value
};

}  // namespace

std::optional<RecordedProgram> ReadProgram(const json& object) {
  if (!object.is_object()) return std::nullopt;
  try {
    return ProgramReader(object).Read();
  } catch (const Malformed&) {
    return std::nullopt;
  }
}

}  // namespace vramplan
