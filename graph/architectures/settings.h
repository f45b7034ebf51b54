// Settings: what a model's config.json says, and what its library takes where it says nothing.
//
//   {"hidden_size": 4096, "num_attention_heads": 32}, default head_dim hidden_size/num_attention_heads    head_dim 128
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/base/result.h"

namespace vramplan {

using Setting = std::variant<std::nullptr_t, bool, int64_t, double, std::string>;

class Settings {
 public:
  // Null where nothing says it; a null in the file is a Setting of its own.
  const Setting* Find(std::string_view key) const;
  std::optional<int64_t> Number(std::string_view key) const;
  std::optional<std::string> Text(std::string_view key) const;
  void Set(std::string key, Setting value) { values_.insert_or_assign(std::move(key), std::move(value)); }

  std::vector<std::string> classes;  // `architectures`, or `_class_name` of diffusers

 private:
  std::map<std::string, Setting, std::less<>> values_;
};

// `name` stands for the file in errors: not JSON, or JSON of something else. Of a list `widths`, its items are widths_0,
// widths_1 ... and their number widths_count. Objects are passed over, but for
// `rope_scaling` and `rope_parameters`, of which rope_type and partial_rotary_factor are taken, for
// `text_config`, the language model of one with pictures, whose settings count where the file has none of its own, and
// `vision_config`: text_hidden_size, vision_hidden_size are those of either. quantization_config stands for its quant_method.
Result<Settings> ReadSettings(std::string_view text, const std::string& name);
// null, true, 3, 0.1, "relu"; nothing: none of these.
std::optional<Setting> ReadSetting(std::string_view text);
// As JSON has it.
std::string ToText(const Setting& setting);

// Sums, products and exact quotients of whole numbers and names, from left to right: "2*num_key_value_heads*head_dim+1".
// Nothing: a name that `settings` has not as a number, or a quotient that is not whole.
std::optional<int64_t> Evaluate(std::string_view expression, const Settings& settings);

}  // namespace vramplan
