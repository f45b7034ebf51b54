#include "graph/facts/read_facts.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace vramplan {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "vramplan.facts/1";
constexpr int kDeepest = 16;  // the format has five levels
constexpr size_t kMostAxes = 8;

Error Wrong(const std::string& text) {
  return {ErrorCode::kBadInput, "", "the facts in its metadata (vramplan.facts) " + text,
          "write it again with vramplan.export, or remove that entry"};
}

// By its name in ONNX and in PyTorch, which agree but for bool's; undefined: it is none of them.
DType TypeOf(const std::string& name) {
  for (int32_t number = 1; const std::optional<DType> type = DTypeFromOnnx(number); ++number) {
    if (Name(*type) == name) return *type;
  }
  return DType::kUndefined;
}

using Argument = RecordedArgument;

// A program: any part of the wrong form throws Malformed, which ReadProgram alone catches.
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
  const DType type = TypeOf(TextIn(value));
  if (type == DType::kUndefined) throw Malformed();
  return type;
}

class ProgramReader {
 public:
  explicit ProgramReader(const json& object) : object_(object) {
    if (!object.is_object()) throw Malformed();
  }

  RecordedProgram Read() {
    for (const json& value : ListIn(Part(object_, "values"))) ReadValue(value);
    for (const json& item : ListIn(Part(object_, "stored"))) program_.stored.push_back(KeptIn(item));
    for (const json& item : ListIn(Part(object_, "given"))) program_.given.push_back(KeptIn(item));
    for (const json& item : ListIn(Part(object_, "loose"))) program_.loose.push_back(ValueIn(item));
    if (const auto last = object_.find("channels_last"); last != object_.end()) {
      for (const json& item : ListIn(*last)) program_.channels_last.push_back(ValueIn(item));
    }
    for (const json& item : ListIn(Part(object_, "returned")))
      program_.returned.push_back(item.is_null() ? RecordedProgram::kAbsent : ValueIn(item));
    for (const json& item : ListIn(Part(object_, "modules"))) {
      const int32_t parent = PlaceIn(At(item, 2), program_.modules.size(), RecordedProgram::kAbsent);
      program_.modules.push_back({TextIn(At(item, 0)), TextIn(At(item, 1)), parent});
    }
    if (const auto reentrant = object_.find("reentrant"); reentrant != object_.end()) {
      for (const json& path : ListIn(*reentrant)) program_.reentrant.push_back(TextIn(path));
    }
    if (const auto loss = object_.find("loss"); loss != object_.end())
      program_.loss = PlaceIn(*loss, Part(object_, "calls").size(), RecordedProgram::kAbsent);
    made_.assign(program_.values.size(), false);
    for (const std::vector<RecordedProgram::Kept>* list : {&program_.stored, &program_.given}) {
      for (const RecordedProgram::Kept& kept : *list) Make(kept.value);
    }
    for (const int32_t value : program_.loose) Make(value);
    if (const auto backwards = object_.find("backwards"); backwards != object_.end()) {
      for (const json& backward : ListIn(*backwards)) program_.backwards.push_back(ProgramReader(backward).Read());
    }
    for (const json& call : ListIn(Part(object_, "calls"))) ReadCall(call);
    for (const json& end : ListIn(Part(object_, "ends"))) {
      program_.ends.push_back(
          {ValueIn(At(end, 0)), PlaceIn(At(end, 1), program_.calls.size(), RecordedForward::kWhenMadeAnew)});
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

  // Results, operands and what is kept: a list each; its backward is given and returns as many.
  void CheckFunction(const RecordedProgram::Call& call, size_t results) const {
    if (call.arguments.size() != 3 || call.arguments[0].items.size() != results) throw Malformed();
    for (const Argument& list : call.arguments) {
      if (list.kind != Argument::Kind::kList) throw Malformed();
      for (const Argument& item : list.items) {
        const bool absent = item.kind == Argument::Kind::kNone && &list == &call.arguments[1];  // a number of the host
        if (item.kind != Argument::Kind::kValue && !absent) throw Malformed();
      }
    }
    for (const auto& [name, argument] : call.keywords) {
      if (name != "backward") continue;
      const bool known = argument.kind == Argument::Kind::kInt && argument.integer >= 0 &&
                         argument.integer < static_cast<int64_t>(program_.backwards.size());
      if (!known) throw Malformed();
      const RecordedProgram& backward = program_.backwards[static_cast<size_t>(argument.integer)];
      const bool fits = backward.given.size() == call.arguments[0].items.size() + call.arguments[2].items.size() &&
                        backward.returned.size() == call.arguments[1].items.size();
      if (!fits) throw Malformed();
    }
  }

  void ReadCall(const json& item) {
    RecordedProgram::Call call{.target = TextIn(At(item, 0)),
                               .module = PlaceIn(At(item, 1), program_.modules.size(), RecordedProgram::kAbsent)};
    for (const json& argument : ListIn(At(item, 2))) call.arguments.push_back(ArgumentIn(argument));
    if (item.size() > 4) {
      if (!item[4].is_object()) throw Malformed();
      for (const auto& [name, argument] : item[4].items()) call.keywords.emplace_back(name, ArgumentIn(argument));
    }
    if (call.target == kFunctionTarget) CheckFunction(call, ListIn(At(item, 3)).size());
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

const json* Member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Every call of a forward. Holds of what is read: each number of a value, a call or a module is in range, a parent comes
// before its children, and a result is made once.
std::optional<RecordedProgram> ReadProgram(const json& object) {
  try {
    return ProgramReader(object).Read();
  } catch (const Malformed&) {
    return std::nullopt;
  }
}

// Reads members of objects; the first one of the wrong form is kept as the error.
class FactsReader {
 public:
  std::optional<std::vector<std::string>> Names(const json& object, const char* name) {
    const json* list = Member(object, name);
    if (list == nullptr) return std::nullopt;
    std::vector<std::string> names;
    if (!list->is_array()) return Fail(name, "a list of names");
    for (const json& item : *list) {
      if (!item.is_string()) return Fail(name, "a list of names");
      names.push_back(item.get<std::string>());
    }
    return names;
  }

  std::optional<std::vector<RecordedTensor>> Tensors(const json& object, const char* name) {
    const json* list = Member(object, name);
    if (list == nullptr) return std::nullopt;
    if (!list->is_array()) return Fail(name, "a list of tensors");
    std::vector<RecordedTensor> tensors;
    for (const json& item : *list) {
      if (!item.is_object()) return Fail(name, "a list of tensors");
      RecordedTensor tensor;
      tensor.name = Text(item, "name").value_or("");
      tensor.same_as = Text(item, "same_as").value_or("");
      tensor.type = TypeOf(Text(item, "type").value_or(""));
      const json* trained = Member(item, "trained");
      if (trained != nullptr && !trained->is_boolean()) return Fail("trained", "true or false");
      tensor.trained = trained == nullptr || trained->get<bool>();
      if (const json* shape = Member(item, "shape")) {
        if (!shape->is_array()) return Fail("shape", "a list of lengths");
        for (const json& length : *shape) {
          if (!length.is_number_integer() || length.get<int64_t>() < 0) return Fail("shape", "a list of lengths");
          tensor.shape.push_back(length.get<int64_t>());
        }
      }
      const bool whole = !tensor.name.empty() && (tensor.type != DType::kUndefined || !tensor.same_as.empty());
      if (!whole || tensor.shape.size() > kMostAxes) return Fail(name, "a list of tensors with name, type and shape");
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  std::optional<double> Number(const json& object, const char* name) {
    const json* number = Member(object, name);
    if (number == nullptr) return std::nullopt;
    if (!number->is_number()) return Fail(name, "a number");
    return number->get<double>();
  }

  std::optional<std::string> Text(const json& object, const char* name) {
    const json* text = Member(object, name);
    if (text == nullptr) return std::nullopt;
    if (!text->is_string()) return Fail(name, "a text");
    return text->get<std::string>();
  }

  const json* Object(const json& object, const char* name) {
    const json* member = Member(object, name);
    if (member == nullptr || member->is_object()) return member;
    Fail(name, "an object");
    return nullptr;
  }

  std::optional<RecordedForward> Forward(const json& lives, const char* mode) {
    const json* object = Object(lives, mode);
    if (object == nullptr) return std::nullopt;
    RecordedForward forward;
    forward.calls = Names(*object, "calls").value_or(std::vector<std::string>());
    forward.writes = Names(*object, "writes").value_or(std::vector<std::string>());
    const json* ends = Member(*object, "ends");
    if (ends == nullptr) return forward;
    if (!ends->is_array()) return Fail("ends", "a list of [result, call]");
    for (const json& end : *ends) {
      const bool pair = end.is_array() && end.size() == 2 && end[0].is_string() && end[1].is_number_integer();
      if (!pair) return Fail("ends", "a list of [result, call]");
      const int64_t call = end[1].get<int64_t>();
      if (call < RecordedForward::kWithTheForward || call >= static_cast<int64_t>(forward.calls.size()))
        return Fail("ends",
                    "a list of results with the numbers of calls, and there is no call " + std::to_string(call));
      forward.ends.push_back({end[0].get<std::string>(), static_cast<int32_t>(call)});
    }
    return forward;
  }

  std::optional<RecordedProgram> Program(const json& programs, const char* mode) {
    const json* object = Object(programs, mode);
    if (object == nullptr) return std::nullopt;
    std::optional<RecordedProgram> program = ReadProgram(*object);
    if (!program) return Fail("programs", "values, calls and ends that name each other");
    return program;
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  std::nullopt_t Fail(const std::string& name, const std::string& form) {
    if (!error_) error_ = Wrong("are malformed: \"" + name + "\" must be " + form);
    return std::nullopt;
  }

  std::optional<Error> error_;
};

}  // namespace

Result<Facts> ReadFacts(std::string_view text) {
  if (text.size() > kMaxFacts) return Wrong("are larger than 64 MiB");
  int deepest = 0;
  const auto look = [&](int depth, json::parse_event_t, json&) {
    deepest = std::max(deepest, depth);
    return depth <= kDeepest;
  };
  const json read = json::parse(text, look, false);
  if (deepest > kDeepest)
    return Wrong("are malformed: they are nested more than " + std::to_string(kDeepest) + " deep");
  if (read.is_discarded()) return Wrong("are no JSON");
  if (!read.is_object()) return Wrong("are malformed: they must be an object");
  FactsReader reader;
  const std::optional<std::string> schema = reader.Text(read, "schema");
  if (!schema) return Wrong(std::string("do not say \"schema\": \"") + kSchema + "\"");
  if (*schema != kSchema) {
    return Error{ErrorCode::kBadInput, "",
                 "the facts in its metadata are of another version than " + std::string(kSchema),
                 "use the vramplan that wrote the file"};
  }
  Facts facts;
  if (const auto mode = reader.Text(read, "mode")) {
    if (*mode != "train" && *mode != "eval") return Wrong("are malformed: \"mode\" must be train or eval");
    facts.training = *mode == "train";
  }
  facts.parameters = reader.Tensors(read, "parameters");
  facts.buffers = reader.Tensors(read, "buffers");
  facts.functions = reader.Names(read, "functions");
  facts.checkpointed = reader.Names(read, "checkpointed");
  if (const json* optimizer = reader.Object(read, "optimizer")) {
    facts.optimizer =
        RecordedOptimizer{reader.Text(*optimizer, "name").value_or(""), reader.Number(*optimizer, "weight_decay"),
                          reader.Number(*optimizer, "momentum"), reader.Text(*optimizer, "impl").value_or("")};
  }
  if (const json* lives = reader.Object(read, "lives")) {
    facts.in_training = reader.Forward(*lives, "train");
    facts.in_inference = reader.Forward(*lives, "infer");
  }
  if (const json* programs = reader.Object(read, "programs")) {
    facts.training_program = reader.Program(*programs, "train");
    facts.inference_program = reader.Program(*programs, "infer");
    facts.training_program_in_amp = reader.Program(*programs, "train-amp");
    facts.inference_program_in_amp = reader.Program(*programs, "infer-amp");
  }
  if (reader.error()) return *reader.error();
  return facts;
}

}  // namespace vramplan
