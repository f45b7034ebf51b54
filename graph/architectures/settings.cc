#include "graph/architectures/settings.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace vramplan {
namespace {

using nlohmann::json;

std::optional<Setting> Plain(const json& value) {
  if (value.is_null()) return Setting(nullptr);
  if (value.is_boolean()) return Setting(value.get<bool>());
  if (value.is_number_integer()) return Setting(value.get<int64_t>());
  if (value.is_number()) return Setting(value.get<double>());
  if (value.is_string()) return Setting(value.get<std::string>());
  return std::nullopt;
}

// The rotary embeddings: transformers 5.23 takes `rope_scaling` and `rope_parameters` for the same thing
// (modeling_rope_utils.py), which may have the share of a head that turns, and may be of each kind of layer (Gemma 3).
void TakeRotation(const json& rotation, const std::string& before, Settings* settings) {
  for (const auto& [key, value] : rotation.items()) {
    if (value.is_object()) TakeRotation(value, before, settings);
    if ((key == "rope_type" || key == "type") && value.is_string()) {
      // "mrope" stands for "default" (Qwen2.5-VL, configuration_qwen2_5_vl.py); what was read of other layers counts.
      const bool plain = value == "default" || value == "mrope";
      if (plain && settings->Find(before + "rope_type") != nullptr) continue;
      settings->Set(before + "rope_type", plain ? "default" : value.get<std::string>());
    }
    if (key == "partial_rotary_factor" && value.is_number()) {
      for (const char* name : {"partial_rotary_factor", "rotary_pct"})  // of GPT-NeoX
        if (settings->Find(before + name) == nullptr) settings->Set(before + name, *Plain(value));
    }
  }
}

void TakeAll(const json& object, const std::string& before, Settings* settings) {
  for (const auto& [key, value] : object.items()) {
    if (std::optional<Setting> plain = Plain(value)) settings->Set(before + key, *std::move(plain));
    if (value.is_object() && (key == "rope_scaling" || key == "rope_parameters")) TakeRotation(value, before, settings);
    if (!value.is_array()) continue;
    for (size_t i = 0; i < value.size(); ++i)
      settings->Set(before + key + "_" + std::to_string(i), Plain(value[i]).value_or(value[i].dump()));
    settings->Set(before + key + "_count", static_cast<int64_t>(value.size()));
  }
}

// Reads an expression from left to right; any part that it does not know ends it.
class Reader {
 public:
  Reader(std::string_view text, const Settings& settings) : text_(text), settings_(settings) {}

  std::optional<int64_t> Sum() {
    int64_t sum = 0;
    bool minus = Take('-');
    for (;;) {
      const std::optional<int64_t> product = Product();
      if (!product || __builtin_add_overflow(sum, minus ? -*product : *product, &sum)) return std::nullopt;
      if (at_ == text_.size()) return sum;
      minus = Take('-');
      if (!minus && !Take('+')) return std::nullopt;
    }
  }

 private:
  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::optional<int64_t> Product() {
    std::optional<int64_t> product = Factor();
    while (product) {
      if (Take('*')) {
        const std::optional<int64_t> factor = Factor();
        if (!factor || __builtin_mul_overflow(*product, *factor, &*product)) return std::nullopt;
      } else if (Take('/')) {
        const std::optional<int64_t> divisor = Factor();
        if (!divisor || *divisor == 0 || *product % *divisor != 0) return std::nullopt;
        product = *product / *divisor;
      } else {
        break;
      }
    }
    return product;
  }

  std::optional<int64_t> Factor() {
    const size_t begin = at_;
    const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return std::nullopt;
    if (word[0] < '0' || word[0] > '9') return settings_.Number(word);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc() && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
  }

  std::string_view text_;
  const Settings& settings_;
  size_t at_ = 0;
};

}  // namespace

const Setting* Settings::Find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<int64_t> Settings::Number(std::string_view key) const {
  const Setting* found = Find(key);
  const int64_t* number = found == nullptr ? nullptr : std::get_if<int64_t>(found);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<std::string> Settings::Text(std::string_view key) const {
  const Setting* found = Find(key);
  const std::string* text = found == nullptr ? nullptr : std::get_if<std::string>(found);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

Result<Settings> ReadSettings(std::string_view text, const std::string& name) {
  const json read = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!read.is_object()) {
    return Error{ErrorCode::kBadInput, name, "it is no config.json: not a JSON object",
                 "give the config.json of a model, or its folder"};
  }
  Settings settings;
  for (const char* part : {"text", "vision"}) {
    const auto nested = read.find(std::string(part) + "_config");
    if (nested == read.end() || !nested->is_object()) continue;
    TakeAll(*nested, std::string(part) + "_", &settings);
    if (part == std::string_view("text")) TakeAll(*nested, "", &settings);
  }
  TakeAll(read, "", &settings);
  if (const auto labels = read.find("id2label"); labels != read.end() && labels->is_object() && !labels->empty())
    if (settings.Find("num_labels") == nullptr) settings.Set("num_labels", static_cast<int64_t>(labels->size()));
  if (const auto quantized = read.find("quantization_config"); quantized != read.end() && quantized->is_object())
    settings.Set("quantization_config", quantized->contains("quant_method")
                                            ? Plain((*quantized)["quant_method"]).value_or(true)
                                            : Setting(true));
  if (const auto named = read.find("architectures"); named != read.end() && named->is_array()) {
    for (const json& one : *named) {
      if (one.is_string()) settings.classes.push_back(one.get<std::string>());
    }
  }
  if (const auto named = read.find("_class_name"); named != read.end() && named->is_string())
    settings.classes.push_back(named->get<std::string>());
  return settings;
}

std::optional<Setting> ReadSetting(std::string_view text) {
  const json read = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return read.is_discarded() ? std::nullopt : Plain(read);
}

std::string ToText(const Setting& setting) {
  return std::visit([](const auto& value) { return json(value).dump(); }, setting);
}

std::optional<int64_t> Evaluate(std::string_view expression, const Settings& settings) {
  return Reader(expression, settings).Sum();
}

}  // namespace vramplan
