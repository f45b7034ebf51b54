#include "graph/architectures/fill.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "graph/architectures/lines.h"
#include "graph/base/check.h"

namespace vramplan {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Of a block among its stack's: the first, between, the last; where each `every`-th is of another kind, those are 4 and the
// last is none of its own.
char PlaceOf(int64_t block, int64_t last, int64_t every, int64_t from) {
  if (block == 0) return '1';
  if (every > 0) return (block + from) % every == 0 ? '4' : '2';
  return block == last ? '3' : '2';
}

// Whether a line of this tag, "A12 BC", is of a recording at this place.
bool Holds(std::string_view tag, char recording, char place) {
  while (!tag.empty()) {
    const std::string_view word = TakeWord(&tag);
    if (word.find(recording) == std::string_view::npos) continue;
    if (!IsDigit(word.back())) return true;
    if (word.find(place) != std::string_view::npos) return true;
  }
  return false;
}

// The part of `text` up to where a bracket that it begins with closes, which is taken from it.
std::string_view TakeBracket(std::string_view* text) {
  int depth = 0;
  bool quoted = false;
  size_t end = 0;
  for (; end < text->size(); ++end) {
    const char c = (*text)[end];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) break;
  }
  CHECK(end < text->size());
  const std::string_view taken = text->substr(0, end + 1);
  text->remove_prefix(end + 1);
  return taken;
}

std::string_view Inside(std::string_view bracket) { return bracket.substr(1, bracket.size() - 2); }

void AddItem(std::string_view item, std::string* list) {
  if (!list->empty()) *list += ',';
  *list += item;
}

class Filler {
 public:
  Filler(const Template& of, const Settings& settings, bool halves) : of_(of), settings_(settings), halves_(halves) {
    for (size_t s = 0; s < of.stacks.size(); ++s) {
      const int64_t layers = settings.Number(of.stacks[s].layers).value_or(0);
      settings_.Set("n" + std::to_string(s), layers / of.period);
      if (layers % of.period != 0)
        missing_ = "its " + std::to_string(layers) + " layers are no multiple of " + std::to_string(of.period);
    }
  }

  const std::string& missing() const { return missing_; }

  // ,"parameters":[...],"buffers":[...],"functions":[...]
  std::string Model(char recording) {
    std::string facts, functions;
    for (const char* section : {"parameters", "buffers"}) {
      std::string tensors;
      EachLine(section, recording, [&](std::string_view line, int64_t) {
        const std::string whole = Filled(line);
        std::string_view rest = whole;
        const std::string name(TakeWord(&rest));
        if (rest.starts_with("= ")) {
          AddItem(R"({"name":")" + name + R"(","same_as":")" + std::string(rest.substr(2)) + "\"}", &tensors);
          return;
        }
        const auto [type, shape] = TensorOf(line.substr(line.find(' ') + 1), /*is_length=*/true);
        AddItem(R"({"name":")" + name + R"(","type":)" + type + ",\"shape\":" + shape +
                    (rest.ends_with(" frozen") ? ",\"trained\":false}" : "}"),
                &tensors);
        stored_.emplace_back(name, "[" + type + "," + shape + "]");
      });
      facts += ",\"" + std::string(section) + "\":[" + tensors + "]";
    }
    EachLine("functions", recording,
             [&](std::string_view line, int64_t) { AddItem("\"" + std::string(line) + "\"", &functions); });
    return facts + ",\"functions\":[" + functions + "]";
  }

  // {"values":[...],"stored":[...],...}
  std::string Program(char recording) {
    values_.clear();
    names_.clear();
    modules_.clear();
    parents_.clear();
    made_.clear();
    count_ = 0;
    std::string stored, given, loose, modules, calls, ends, returned;
    for (const auto& [name, tensor] : stored_) {
      AddItem("[\"" + name + "\"," + std::to_string(count_) + "]", &stored);
      names_.emplace(name, Add(tensor));
    }
    EachLine("given", recording, [&](std::string_view line, int64_t) {
      const std::string name(TakeWord(&line));
      AddItem("[\"" + name + "\"," + std::to_string(count_) + "]", &given);
      names_.emplace(name, Add(Tensor(line)));
    });
    EachLine("loose", recording, [&](std::string_view line, int64_t) {
      AddItem(std::to_string(count_), &loose);
      names_.emplace("?" + std::to_string(names_.size() - stored_.size()), Add(Tensor(line)));
    });
    std::unordered_map<std::string, int> entered;  // how often a forward enters a module anew
    int32_t number = 0;
    EachLine("modules", recording, [&](std::string_view line, int64_t) {
      const std::string whole = Filled(line);
      std::string_view rest = whole;
      const std::string path(TakeWord(&rest));
      AddItem("[\"" + path + "\",\"" + std::string(rest) + "\"," + std::to_string(ParentOf(path)) + "]", &modules);
      const int count = ++entered[path];
      parents_.insert_or_assign(path, number);
      modules_.emplace(count == 1 ? path : path + "#" + std::to_string(count), number++);
    });
    int32_t call = 0, module = -1;
    EachLine("calls", recording, [&](std::string_view line, int64_t block) {
      if (line.starts_with("in ")) {
        const std::string module_path = Filled(line.substr(3));
        const auto found = modules_.find(module_path);
        module = found == modules_.end() ? -1 : found->second;
        path_ = module_path.substr(0, module_path.find('#'));
        return;
      }
      AddItem(Call(line, module, block), &calls);
      const size_t dead = line.rfind(" ;");
      if (dead != std::string_view::npos) Die(line.substr(dead + 2), block, call, &ends);
      ++call;
    });
    path_ = "-";
    EachLine("kept", recording, [&](std::string_view line, int64_t) { Die(line, -1, -1, &ends); });
    EachLine("returned", recording, [&](std::string_view line, int64_t) {
      EachValue(line, -1, [&](int32_t value) { AddItem(std::to_string(value), &returned); });
    });
    return R"({"values":[)" + values_ + R"(],"stored":[)" + stored + R"(],"modules":[)" + modules + R"(],"calls":[)" +
           calls + R"(],"ends":[)" + ends + R"(],"loose":[)" + loose + R"(],"given":[)" + given + R"(],"returned":[)" +
           returned + "]}";
  }

 private:
  template <typename Use>
  void EachLine(std::string_view section, char recording, const Use& use) {
    std::string_view rest = of_.Section(section);
    const auto take = [&](std::string_view line, int64_t block, int64_t last) {
      if (line.starts_with('{')) {
        const size_t end = line.find('}');
        if (!Holds(line.substr(1, end - 1), recording, PlaceOf(block, last, every_, of_.every_from))) return;
        line.remove_prefix(end + 2);
      }
      use(line, block);
    };
    while (!rest.empty() && missing_.empty()) {
      std::string_view line = TakeLine(&rest);
      if (!line.starts_with("* ")) {
        take(line, -1, 0);
        continue;
      }
      const std::string_view lines = rest.substr(0, rest.find("\n.\n") + 1);
      rest.remove_prefix(lines.size() + 2);
      const int64_t blocks = settings_.Number(line.substr(2)).value_or(0);
      if (blocks < 2) missing_ = "it has fewer layers than its template can tell apart";
      for (int64_t i = 0; i < blocks && missing_.empty(); ++i) {
        settings_.Set("i", i);
        for (std::string_view left = lines; !left.empty();) take(TakeLine(&left), i, blocks - 1);
      }
    }
  }

  int64_t Number(std::string_view expression, bool is_length = false) {
    const std::optional<int64_t> value = Evaluate(expression, settings_);
    constexpr int64_t kLongest = int64_t{1} << 31;
    if (value && is_length && (*value < 1 || *value > kLongest) && missing_.empty())
      missing_ = "its settings give " + std::to_string(*value) + " for " + std::string(expression);
    if (!value && missing_.empty()) missing_ = "its settings do not give a whole number for " + std::string(expression);
    return value.value_or(0);
  }

  // Each <expression> in its place.
  std::string Filled(std::string_view text) {
    std::string out;
    for (size_t open = text.find('<'); open != std::string_view::npos; open = text.find('<')) {
      const size_t end = text.find('>', open);
      out += text.substr(0, open);
      out += std::to_string(Number(text.substr(open + 1, end - open - 1)));
      text.remove_prefix(end + 1);
    }
    return out += text;
  }

  // "x[B,2*heads]" -> "bfloat16" and [[0,1],24]
  std::pair<std::string, std::string> TensorOf(std::string_view text, bool is_length = false) {
    const size_t open = text.find('[');
    std::string_view type = text.substr(0, open);
    if (type == "x") type = halves_ ? "bfloat16" : "float32";
    text.remove_prefix(open);
    std::string_view dims = Inside(TakeBracket(&text));
    std::string shape;
    while (!dims.empty()) {
      if (dims.starts_with('[')) {
        std::string_view terms = Inside(TakeBracket(&dims));
        std::string polynomial;
        while (!terms.empty()) AddItem(std::to_string(Number(TakeUpTo(',', &terms))), &polynomial);
        AddItem("[" + polynomial + "]", &shape);
        if (!dims.empty()) dims.remove_prefix(1);
        continue;
      }
      const std::string_view dim = TakeUpTo(',', &dims);
      if (dim == "B" || dim.starts_with("B*")) {
        AddItem("[0," + (dim == "B" ? "1" : std::to_string(Number(dim.substr(2)))) + "]", &shape);
      } else {
        AddItem(std::to_string(Number(dim, is_length)), &shape);
      }
    }
    return {"\"" + std::string(type) + "\"", "[" + shape + "]"};
  }

  const std::string& Tensor(std::string_view text) {
    std::string& known = tensors_[text];
    if (!known.empty()) return known;
    const auto [type, shape] = TensorOf(text);
    return known = "[" + type + "," + shape + "]";
  }

  int32_t Add(const std::string& tensor) {
    AddItem(tensor, &values_);
    return count_++;
  }

  int32_t ParentOf(std::string_view path) const {
    for (size_t dot = path.rfind('.'); dot != std::string_view::npos; dot = path.rfind('.')) {
      path = path.substr(0, dot);
      if (const auto found = parents_.find(std::string(path)); found != parents_.end()) return found->second;
    }
    return -1;
  }

  // ["aten.linear.default",6,["%176","%1"],[177],{"scale":1.0}] of `12 linear(%9,%.weight){"scale":1.0} x[B,8] ;9`
  std::string Call(std::string_view line, int32_t module, int64_t block) {
    const std::string_view label = TakeWord(&line);
    const std::string_view target = line.substr(0, line.find('('));
    line.remove_prefix(target.size());
    const auto dots = std::ranges::count(target, '.');
    const bool of_aten = dots < 2 && !target.starts_with("vramplan.");
    std::string out = std::string("[\"") + (of_aten ? "aten." : "") + std::string(target) +
                      (dots == 0 ? ".default" : "") + "\"," + std::to_string(module) + ",[" +
                      Arguments(Inside(TakeBracket(&line)), block) + "],[";
    std::string keywords, results;
    if (line.starts_with('{')) keywords = Arguments(Inside(TakeBracket(&line)), block);
    std::string_view precisions = TakeWord(&line);  // !amp="float"!autocast=false
    if (halves_) precisions = "";
    if (!precisions.empty()) precisions.remove_prefix(1);
    while (!precisions.empty()) {
      std::string_view value = TakeUpTo('!', &precisions);
      const std::string_view key = TakeUpTo('=', &value);
      AddItem("\"" + std::string(key) + "\":" + std::string(value), &keywords);
    }
    for (int result = 0; !line.empty() && line[0] != ';'; ++result) {
      const std::string_view tensor = TakeWord(&line);
      if (tensor == "null") {
        AddItem(tensor, &results);
        continue;
      }
      std::vector<int32_t>& made =
          made_[result == 0 ? std::string(label) : std::string(label) + "." + std::to_string(result)];
      made.resize(static_cast<size_t>(std::max<int64_t>(block, 0)) + 1, -1);
      AddItem(std::to_string(made.back() = Add(Tensor(tensor))), &results);
    }
    return out + results + (keywords.empty() ? "]]" : "],{" + keywords + "}]");
  }

  // JSON of arguments, with the numbers of values and the expressions.
  std::string Arguments(std::string_view text, int64_t block) {
    std::string out;
    while (!text.empty()) {
      const size_t next = text.find_first_of("\"%<");
      out += text.substr(0, next);
      if (next == std::string_view::npos) break;
      text.remove_prefix(next);
      size_t end = text.find_first_of(text[0] == '"' ? "\"" : text[0] == '<' ? ">" : ",]}", 1);
      if (end == std::string_view::npos) end = text.size();
      const std::string_view inside = text.substr(1, end - 1);
      const bool closes = text[0] != '%';
      if (text[0] == '"') {
        out += text.substr(0, end + 1);
      } else if (text[0] == '<') {
        out += std::to_string(Number(inside));
      } else {
        out += "\"%" + std::to_string(Value(inside, block)) + "\"";
      }
      text.remove_prefix(std::min(text.size(), end + (closes ? 1 : 0)));
    }
    return out;
  }

  int32_t Value(std::string_view text, int64_t block) {
    if (!IsDigit(text[0])) {
      const auto found = names_.find(text[0] == '.' ? path_ + std::string(text) : Filled(text));
      CHECK(found != names_.end());
      return found->second;
    }
    const size_t quote = text.find('\'');
    const bool has_before = quote != std::string_view::npos;
    if (has_before && block > 0) {
      const std::vector<int32_t>& made = made_.at(std::string(text.substr(0, quote)));
      return made.at(static_cast<size_t>(block) - 1);
    }
    if (has_before) text.remove_prefix(quote + 1);
    const bool of_first = text.ends_with('@');
    if (of_first) text.remove_suffix(1);
    const std::vector<int32_t>& made = made_.at(std::string(text));
    if (!of_first) return made.back();
    return *std::ranges::find_if(made, [](int32_t value) { return value >= 0; });
  }

  // "12 31' *(4 5)": the last are the values of both labels of each block.
  template <typename Use>
  void EachValue(std::string_view text, int64_t block, const Use& use) {
    while (!text.empty()) {
      if (!text.starts_with('*')) {
        use(Value(TakeWord(&text), block));
        continue;
      }
      const std::string_view places = text.substr(1, text.find('(') - 1);
      text.remove_prefix(1 + places.size());
      const std::string_view group = Inside(TakeBracket(&text));
      if (!text.empty()) text.remove_prefix(1);
      std::vector<const std::vector<int32_t>*> labels;
      size_t blocks = 0;
      for (std::string_view left = group; !left.empty();) {
        labels.push_back(&made_.at(std::string(TakeWord(&left))));
        blocks = std::max(blocks, labels.back()->size());
      }
      for (size_t i = 0; i < blocks; ++i) {
        const char place = PlaceOf(static_cast<int64_t>(i), static_cast<int64_t>(blocks) - 1, every_, of_.every_from);
        if (!places.empty() && places.find(place) == std::string_view::npos) continue;
        for (const std::vector<int32_t>* made : labels)
          if (i < made->size() && (*made)[i] >= 0) use((*made)[i]);
      }
    }
  }

  void Die(std::string_view text, int64_t block, int32_t call, std::string* ends) {
    EachValue(text, block,
              [&](int32_t value) { AddItem("[" + std::to_string(value) + "," + std::to_string(call) + "]", ends); });
  }

  const Template& of_;
  Settings settings_;
  bool halves_;
  std::string missing_, values_, path_ = "-";
  int64_t every_ = settings_.Number(of_.every).value_or(0);
  int32_t count_ = 0;                                           // of values
  std::vector<std::pair<std::string, std::string>> stored_;     // names and tensors
  std::unordered_map<std::string, int32_t> names_;              // values that have names
  std::unordered_map<std::string, int32_t> modules_, parents_;  // by path, with "#2" and without
  std::unordered_map<std::string, std::vector<int32_t>> made_;  // label -> value of each block, -1: none
  std::unordered_map<std::string_view, std::string> tensors_;
};

}  // namespace

Result<std::string> FillTemplate(const Template& of, const Settings& settings, std::string_view form,
                                 std::string_view mode, bool in_amp) {
  Filler filler(of, settings, form != "float32");
  std::string facts = R"({"schema":"vramplan.facts/1","mode":")";
  const std::string_view name = mode.ends_with("infer") ? "infer" : "train";
  facts += name == "infer" ? "eval\"" : "train\"";
  const auto is_of = [&](const Template::Recording& recording, std::string_view of_mode) {
    return recording.form == form && recording.program.starts_with(of_mode);
  };
  const std::optional<int64_t> length = settings.Number(of.long_from.first);
  const std::optional<int64_t> from = Evaluate(of.long_from.second, settings);
  const std::string in_window = length && from && *length >= *from ? "long-" : "";
  std::string recorded = in_window + std::string(mode);
  constexpr std::string_view kCheckpointed = "checkpointed";
  if (std::ranges::none_of(of.recordings, [&](const auto& recording) { return is_of(recording, recorded); }) &&
      recorded.ends_with(kCheckpointed)) {  // layers that keep no cache run alike
    recorded.replace(recorded.size() - kCheckpointed.size(), kCheckpointed.size(), "train");
  }
  const auto main = std::ranges::find_if(of.recordings, [&](const Template::Recording& recording) {
    return recording.form == form && recording.program == recorded;
  });
  if (main == of.recordings.end()) {
    return Error{ErrorCode::kBadInput, "", "how it runs in this mode and precision was not recorded",
                 "type another --mode or --precision"};
  }
  facts += filler.Model(main->letter);
  std::string programs;
  for (const Template::Recording& recording : of.recordings) {
    const bool of_amp = recording.program.ends_with("-amp");
    if (!is_of(recording, recorded) || (of_amp && !in_amp)) continue;
    AddItem("\"" + std::string(name) + (of_amp ? "-amp" : "") + "\":" + filler.Program(recording.letter), &programs);
  }
  if (!filler.missing().empty())
    return Error{ErrorCode::kBadInput, "", filler.missing(), "give a config.json with this setting"};
  return facts + ",\"programs\":{" + programs + "}}";
}

}  // namespace vramplan
