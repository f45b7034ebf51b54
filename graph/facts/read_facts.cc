#include "graph/facts/read_facts.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "graph/facts/read_program.h"

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

const json* Member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
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
