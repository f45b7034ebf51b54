#include "graph/architectures/template.h"

#include <algorithm>
#include <charconv>

#include "graph/architectures/fill.h"
#include "graph/architectures/lines.h"

namespace vramplan {
namespace {

int64_t WholeNumber(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<double> NumberIn(const Setting& setting) {
  if (const auto* whole = std::get_if<int64_t>(&setting)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&setting);
  return real != nullptr ? std::optional(*real) : std::nullopt;
}

bool Meets(const Template::Condition& recorded, const Setting& here) {
  const bool probability = recorded.key.find("drop") != std::string::npos;
  const auto is_here = [&](const Setting& value) {
    const std::optional<double> one = NumberIn(value), other = NumberIn(here);
    if (!one || !other) return value == here;
    return probability ? (*one == 0) == (*other == 0) : *one == *other;
  };
  if (recorded.excluded) return !is_here(recorded.value);
  return is_here(recorded.value) || std::ranges::any_of(recorded.alike, is_here);
}

std::vector<Setting> SettingsOf(std::string_view words) {
  std::vector<Setting> settings;
  while (!words.empty()) settings.push_back(ReadSetting(TakeWord(&words)).value_or(nullptr));
  return settings;
}

}  // namespace

Template Template::Read(std::string text) {
  Template read;
  read.text_ = std::make_shared<const std::string>(std::move(text));
  std::string_view rest = *read.text_;
  while (!rest.empty() && !rest.starts_with("= ")) {
    std::string_view line = TakeLine(&rest);
    const std::string_view word = TakeWord(&line);
    if (word == "made") read.made_with = std::string(line.substr(5));  // "with ..."
    if (word == "class") read.classes.emplace_back(line);
    if (word == "checkpoint") read.checkpoints.emplace_back(line);
    if (word == "checkpoints") read.unchecked = std::string(line);
    if (word == "idle") read.idle.emplace_back(line);
    if (word == "embedding") read.embeddings.emplace_back(line);
    if (word == "lora") read.lora_targets.emplace_back(line);
    if (word == "equal" || word == "unlike") {
      const std::string one(TakeWord(&line));
      read.relations.push_back({one, std::string(line), word == "equal"});
    }
    if (word == "whole") read.wholes.emplace_back(line);
    if (word == "every") {
      read.every = std::string(TakeWord(&line));
      read.every_from = WholeNumber(line);
    }
    if (word == "long") {
      const std::string length(TakeWord(&line));
      read.long_from = {length, std::string(line)};
    }
    if (word == "period") read.period = WholeNumber(line);
    if (word == "recording") {
      const char letter = TakeWord(&line)[0];
      const std::string form(TakeWord(&line));
      read.recordings.push_back({letter, form, std::string(line)});
    }
    if (word != "default" && word != "null" && word != "let" && word != "when" && word != "unless" && word != "each" &&
        word != "stack" && word != "dim" && word != "most")
      continue;
    const std::string key(TakeWord(&line));
    if (word == "default") read.defaults.emplace_back(key, line);
    if (word == "null") read.nulls.emplace_back(key, line);
    if (word == "let") read.lets.emplace_back(key, line);
    if (word == "each") read.layer_lists.push_back({key, SettingsOf(line)});
    if (word == "when" || word == "unless") {
      std::vector<Setting> values = SettingsOf(line);
      values.resize(std::max<size_t>(values.size(), 1));
      read.conditions.push_back({key, values.front(), {values.begin() + 1, values.end()}, word == "unless"});
    }
    if (word == "stack") read.stacks.push_back({key, std::string(line)});
    if (word == "dim") read.lengths.push_back({key, WholeNumber(line)});
    if (word == "most") read.limits.emplace_back(key, line);
  }
  while (!rest.empty()) {
    const std::string_view name = TakeLine(&rest).substr(2);
    size_t end = rest.find("\n= ");
    end = end == std::string_view::npos ? rest.size() : end + 1;
    if (rest.starts_with("= ")) end = 0;  // it has none
    read.sections_.emplace(name, rest.substr(0, end));
    rest.remove_prefix(end);
  }
  const std::string_view calls = read.Section("calls");
  for (size_t s = 0; s < read.stacks.size(); ++s)
    read.stacks[s].runs = calls.find("\n* n" + std::to_string(s) + "\n") != calls.npos ||
                          calls.starts_with("* n" + std::to_string(s) + "\n");
  return read;
}

bool Template::Trains() const {
  return std::ranges::any_of(
      recordings, [](const Recording& recording) { return recording.program.find("infer") == std::string::npos; });
}

Settings Template::Complete(Settings settings) const {
  const auto take = [&](const std::string& key, const std::string& text) {
    if (const std::optional<int64_t> number = Evaluate(text, settings)) {
      settings.Set(key, *number);
    } else if (std::optional<Setting> value = ReadSetting(text)) {
      settings.Set(key, *std::move(value));
    } else {
      settings.Set(key, text);
    }
  };
  for (const auto& [key, text] : defaults)
    if (settings.Find(key) == nullptr) take(key, text);
  for (const auto& [key, text] : nulls)
    if (const Setting* given = settings.Find(key); given != nullptr && *given == Setting(nullptr)) take(key, text);
  for (const Condition& condition : conditions) {
    if (condition.excluded) continue;
    const Setting* given = settings.Find(condition.key);
    if (given == nullptr) settings.Set(condition.key, condition.value);
    if (given == nullptr || *given != Setting(nullptr) || condition.value == Setting(nullptr)) continue;
    const auto usual = std::ranges::find(defaults, condition.key, [](const auto& one) { return one.first; });
    if (usual != defaults.end()) take(condition.key, usual->second);  // None is as good as False to Python
  }
  for (const auto& [key, expression] : lets) {
    if (const std::optional<int64_t> number = Evaluate(expression, settings)) settings.Set(key, *number);
  }
  return settings;
}

const Template::Relation* Template::BrokenRelation(const Settings& settings) const {
  const auto found = std::ranges::find_if(relations, [&](const Relation& relation) {
    const Setting *one = settings.Find(relation.one), *other = settings.Find(relation.other);
    return one == nullptr || other == nullptr || (*one == *other) != relation.equal;
  });
  return found == relations.end() ? nullptr : &*found;
}

std::optional<std::pair<std::string, Setting>> Template::BrokenLayer(const Settings& settings) const {
  for (const LayerList& list : layer_lists) {
    const int64_t count = settings.Number(list.key + "_count").value_or(0);
    const int64_t each = every.empty() ? 0 : settings.Number(every).value_or(0);
    for (int64_t layer = 0; layer < count; ++layer) {
      const size_t kind = each > 0 ? ((layer + every_from) % each == 0 ? 1 : 0)
                                   : static_cast<size_t>(layer) % std::max<size_t>(list.of_block.size(), 1);
      if (kind >= list.of_block.size()) continue;
      std::string key = list.key + "_" + std::to_string(layer);
      const Setting* here = settings.Find(key);
      if (here == nullptr || *here == list.of_block[kind]) continue;
      return std::pair(std::move(key), list.of_block[kind]);
    }
  }
  return std::nullopt;
}

const std::string* Template::Broken(const Settings& settings) const {
  const auto broken = std::ranges::find_if(
      wholes, [&](const std::string& expression) { return !Evaluate(expression, settings).has_value(); });
  return broken == wholes.end() ? nullptr : &*broken;
}

const Template::Condition* Template::Unmet(const Settings& settings) const {
  const auto unmet = std::ranges::find_if(conditions, [&](const Condition& condition) {
    const Setting* here = settings.Find(condition.key);
    return here != nullptr && !Meets(condition, *here);
  });
  return unmet == conditions.end() ? nullptr : &*unmet;
}

Result<std::string> Template::Fill(const Settings& settings, std::string_view form, std::string_view mode,
                                   bool in_amp) const {
  return FillTemplate(*this, settings, form, mode, in_amp);
}

std::string_view Template::Section(std::string_view name) const {
  const auto found = sections_.find(name);
  return found == sections_.end() ? std::string_view() : found->second;
}

}  // namespace vramplan
