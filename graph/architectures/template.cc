#include "graph/architectures/template.h"

#include <algorithm>
#include <charconv>

namespace vramplan {
namespace {

std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

std::string_view TakeWord(std::string_view* line) {
  const size_t end = line->find(' ');
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(end == std::string_view::npos ? line->size() : end + 1);
  return word;
}

int64_t WholeNumber(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool IsZero(const Setting& setting) {
  if (const auto* whole = std::get_if<int64_t>(&setting)) return *whole == 0;
  const auto* real = std::get_if<double>(&setting);
  return real != nullptr && *real == 0;
}

bool IsNumber(const Setting& setting) {
  return std::holds_alternative<int64_t>(setting) || std::holds_alternative<double>(setting);
}

bool Meets(const Template::Condition& recorded, const Setting& here) {
  const bool probability = recorded.key.find("drop") != std::string::npos;
  if (probability && IsNumber(recorded.value) && IsNumber(here)) return IsZero(recorded.value) == IsZero(here);
  return recorded.value == here;
}

// Writes the lines of one recording with their names replaced.
class Filler {
 public:
  Filler(const Template& of, const Settings& settings) : of_(of), settings_(settings) {
    for (size_t s = 0; s < of.stacks.size(); ++s) {
      const int64_t layers = settings.Number(of.stacks[s].layers).value_or(0);
      settings_.Set("n" + std::to_string(s), layers / of.period);
      if (layers % of.period != 0)
        missing_ = "its " + std::to_string(layers) + " layers are no multiple of " + std::to_string(of.period);
    }
  }

  // {"parameters": [...], ..., "programs": {"train": {"values": [...], ...}}}
  Result<std::string> Fill(std::string_view recording, std::string_view mode) {
    std::string facts = R"({"schema":"vramplan.facts/1","mode":")";
    facts += mode == "train" ? "train\"" : "eval\"";
    std::string programs, program, open;
    while (!recording.empty()) {
      std::string_view line = TakeLine(&recording);
      if (!line.starts_with("= ")) continue;
      line.remove_prefix(2);
      const std::string_view first = TakeWord(&line);
      const std::string items = Section(&recording);
      if (!missing_.empty()) return Error{ErrorCode::kBadInput, "", missing_, "give a config.json with this setting"};
      if (line.empty()) {
        facts += ",\"" + std::string(first) + "\":[" + items + "]";
        continue;
      }
      if (first != open) {
        if (!open.empty()) programs += (programs.empty() ? "\"" : ",\"") + open + "\":{" + program + "}";
        open = first;
        program.clear();
      }
      program += (program.empty() ? "\"" : ",\"") + std::string(line) + "\":[" + items + "]";
    }
    if (!open.empty()) programs += (programs.empty() ? "\"" : ",\"") + open + "\":{" + program + "}";
    return facts + ",\"programs\":{" + programs + "}}";
  }

 private:
  // The lines up to the next section.
  std::string Section(std::string_view* rest) {
    std::string out;
    while (!rest->empty() && !rest->starts_with("= ") && missing_.empty()) {
      std::string_view line = TakeLine(rest);
      if (!line.starts_with("* n")) {
        Add(line, &out);
        continue;
      }
      line.remove_prefix(3);
      const auto stack = static_cast<size_t>(WholeNumber(TakeWord(&line)));
      const int64_t before = WholeNumber(TakeWord(&line)), behind = WholeNumber(line);
      const std::string_view block = rest->substr(0, rest->find("\n.\n") + 1);
      rest->remove_prefix(block.size() + 2);
      const int64_t blocks = settings_.Number("n" + std::to_string(stack)).value_or(0);
      if (blocks < before + behind) missing_ = "it has fewer layers than its template can tell apart";
      for (int64_t i = before; i < blocks - behind && missing_.empty(); ++i) {
        settings_.Set("i", i);
        for (std::string_view lines = block; !lines.empty();) Add(TakeLine(&lines), &out);
      }
    }
    return out;
  }

  void Add(std::string_view line, std::string* out) {
    if (!out->empty()) *out += ',';
    bool is_length = false;  // what follows "shape"
    for (size_t open = line.find('<'); open != std::string_view::npos; open = line.find('<')) {
      const size_t end = line.find('>', open);
      const std::string_view expression = line.substr(open + 1, end - open - 1);
      constexpr int64_t kLongest = int64_t{1} << 31;
      is_length |= line.substr(0, open).find("\"shape\":") != std::string_view::npos;
      *out += line.substr(0, open);
      const std::optional<int64_t> value = Evaluate(expression, settings_);
      if (value && is_length && (*value < 1 || *value > kLongest) && missing_.empty())
        missing_ = "its settings give " + std::to_string(*value) + " for " + std::string(expression);
      if (!value && missing_.empty())
        missing_ = "its settings do not give a whole number for " + std::string(expression);
      *out += std::to_string(value.value_or(0));
      line.remove_prefix(end + 1);
    }
    *out += line;
  }

  const Template& of_;
  Settings settings_;
  std::string missing_;
};

}  // namespace

Template Template::Read(std::string text) {
  Template read;
  read.text_ = std::make_shared<const std::string>(std::move(text));
  std::string_view rest = *read.text_;
  while (!rest.empty() && !rest.starts_with("recording ")) {
    std::string_view line = TakeLine(&rest);
    const std::string_view word = TakeWord(&line);
    if (word == "made") read.made_with = std::string(line.substr(5));  // "with ..."
    if (word == "class") read.classes.emplace_back(line);
    if (word == "lora") read.lora_targets.emplace_back(line);
    if (word == "period") read.period = WholeNumber(line);
    if (word != "default" && word != "let" && word != "when" && word != "stack" && word != "dim" && word != "most")
      continue;
    const std::string key(TakeWord(&line));
    if (word == "default") read.defaults.emplace_back(key, line);
    if (word == "let") read.lets.emplace_back(key, line);
    if (word == "when") read.conditions.push_back({key, ReadSetting(line).value_or(nullptr)});
    if (word == "stack") read.stacks.push_back({key, std::string(line)});
    if (word == "dim") read.lengths.push_back({key, WholeNumber(line)});
    if (word == "most") read.limits.emplace_back(key, line);
  }
  while (!rest.empty()) {
    std::string_view line = TakeLine(&rest);
    TakeWord(&line);  // "recording"
    size_t end = rest.find("\nrecording ");
    end = end == std::string_view::npos ? rest.size() : end + 1;
    read.recordings_.emplace(line, rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return read;
}

Settings Template::Complete(Settings settings) const {
  for (const auto& [key, text] : defaults) {
    const Setting* given = settings.Find(key);
    if (given != nullptr && !std::holds_alternative<std::nullptr_t>(*given)) continue;
    if (const std::optional<int64_t> number = Evaluate(text, settings)) {
      settings.Set(key, *number);
    } else if (std::optional<Setting> value = ReadSetting(text)) {
      settings.Set(key, *std::move(value));
    } else {
      settings.Set(key, text);
    }
  }
  for (const Condition& condition : conditions) {
    if (settings.Find(condition.key) == nullptr) settings.Set(condition.key, condition.value);
  }
  for (const auto& [key, expression] : lets) {
    if (const std::optional<int64_t> number = Evaluate(expression, settings)) settings.Set(key, *number);
  }
  return settings;
}

const Template::Condition* Template::Unmet(const Settings& settings) const {
  const auto unmet = std::ranges::find_if(conditions, [&](const Condition& condition) {
    const Setting* here = settings.Find(condition.key);
    return here != nullptr && !Meets(condition, *here);
  });
  return unmet == conditions.end() ? nullptr : &*unmet;
}

Result<std::string> Template::Fill(const Settings& settings, std::string_view form, std::string_view mode) const {
  const auto found = recordings_.find(std::string(form) + " " + std::string(mode));
  if (found == recordings_.end()) {
    return Error{ErrorCode::kBadInput, "", "how it runs in this mode and precision was not recorded",
                 "type another --mode or --precision"};
  }
  return Filler(*this, settings).Fill(found->second, mode);
}

}  // namespace vramplan
