// Template: how a library's class runs, recorded once, with named lengths (models/architectures). With a model's settings
// it becomes the facts (docs/facts.md) that the Python door would have recorded of that model.
//
//   ["aten.linear.default",<8*i+6>,["%<54*i+176>","%<9*i+1>"],[<54*i+177>]]    * n0: once for each of the first stack's layers
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/architectures/settings.h"
#include "graph/base/result.h"

namespace vramplan {

class Template {
 public:
  // The text of a file of models/architectures, which make.py wrote.
  static Template Read(std::string text);

  struct Condition {
    std::string key;
    Setting value;  // as recorded; of a probability only whether it is zero counts
  };
  struct Stack {
    std::string path, layers;  // "model.layers", "num_hidden_layers"
  };
  struct Length {
    std::string name;
    int64_t usual = 0;
  };
  std::vector<std::string> classes;
  std::vector<std::pair<std::string, std::string>> defaults, lets;  // a setting and its expression or value
  std::vector<Condition> conditions;
  std::vector<Stack> stacks;
  std::vector<Length> lengths;                              // free ones: --dim
  std::vector<std::pair<std::string, std::string>> limits;  // a length, and the setting that is its most
  std::vector<std::string> lora_targets;                    // what peft takes where nothing is said
  std::string made_with;                                    // "torch 2.10.0, transformers 5.23.0"
  int64_t period = 1;                                       // layers of a block that repeats

  // The settings with what the library takes where they say nothing.
  Settings Complete(Settings settings) const;
  // The first condition that these (complete) settings do not meet; null: all are met.
  const Condition* Unmet(const Settings& settings) const;
  // Facts as JSON. `form`: "float32" or "half", `mode`: "train" or "infer". Settings are complete, and have the lengths.
  // Error: a setting that it needs is missing or does not fit.
  Result<std::string> Fill(const Settings& settings, std::string_view form, std::string_view mode) const;

 private:
  std::shared_ptr<const std::string> text_;
  std::map<std::string, std::string_view, std::less<>> recordings_;  // "half train" -> its lines of `text_`
};

}  // namespace vramplan
