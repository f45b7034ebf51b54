// Template: how a library's class runs, recorded once, with named lengths (models/architectures). With a model's settings
// it becomes the facts (docs/facts.md) that the Python door would have recorded of that model.
//
//   26 linear(%25,%.weight) x[B,sequence,num_attention_heads*head_dim]
#pragma once

#include <map>
#include <memory>
#include <optional>
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
    Setting value;               // as recorded; of a probability only whether it is zero counts
    std::vector<Setting> alike;  // other values, which run alike
    bool excluded = false;       // `value` is not admitted, and every other one is
  };
  // A list of one value for each layer: those of a block, or of the usual layers and of each so-many-th (`every`).
  struct LayerList {
    std::string key;
    std::vector<Setting> of_block;
  };
  struct Stack {
    std::string path, layers;  // "model.layers", "num_hidden_layers"
    bool runs = true;          // false: it has parameters, and no recording calls it
  };
  struct Length {
    std::string name;
    int64_t usual = 0;
  };
  struct Recording {
    char letter = 'A';
    std::string form, program;  // "half", "train-amp", "long-train", "padded-train"
  };
  std::vector<std::string> classes;
  // A setting, and its expression or value: where none is given, where null is, and what has a name of its own.
  std::vector<std::pair<std::string, std::string>> defaults, nulls, lets;
  std::vector<std::string> wholes;  // expressions that must be whole numbers
  std::vector<Condition> conditions;
  std::vector<LayerList> layer_lists;
  struct Relation {
    std::string one, other;  // settings
    bool equal = false;      // false: they differ
  };
  std::vector<Relation> relations;
  std::vector<Stack> stacks;
  std::vector<Length> lengths;                              // free ones: --dim
  std::vector<std::pair<std::string, std::string>> limits;  // a length, and the setting that is its most
  std::vector<std::string> checkpoints;                     // paths of what is run again and is no layer of a stack
  std::vector<std::string> embeddings;                      // paths of what takes the inputs (get_input_embeddings)
  std::vector<std::string> idle;                            // paths of linear layers of no stack that nothing calls
  std::vector<std::string> lora_targets;                    // what peft takes where nothing is said
  // Of gradient_checkpointing_enable() (transformers): "refused", the class does not support it; "nested", what it runs
  // again has checkpoints itself, which is not recorded; empty: it was recorded.
  std::string unchecked;
  std::string made_with;   // "torch 2.10.0, transformers 5.23.0"
  int64_t period = 1;      // layers of a block that repeats
  std::string every;       // the setting that says that each so-many-th layer is of another kind
  int64_t every_from = 0;  // what is added to a layer's number to count them
  std::vector<Recording> recordings;
  // A length, and an expression of settings; from it on, recordings "long-..." hold: a sliding window hides something.
  std::pair<std::string, std::string> long_from;

  bool OfDiffusers() const { return made_with.find("diffusers") != std::string::npos; }
  // Whether a training was recorded: the class makes a loss of labels.
  bool Trains() const;
  // The settings with what the library takes where they say nothing.
  Settings Complete(Settings settings) const;
  // The first expression that must be a whole number and is none; null: all are.
  const std::string* Broken(const Settings& settings) const;
  // The first relation that does not hold; null: all do.
  const Relation* BrokenRelation(const Settings& settings) const;
  // The first condition that these (complete) settings do not meet; null: all are met.
  const Condition* Unmet(const Settings& settings) const;
  // The first item of a list of layers that is not as recorded ("layer_types_3"), and what was; nothing: all are, or none is said.
  std::optional<std::pair<std::string, Setting>> BrokenLayer(const Settings& settings) const;
  // Facts as JSON. `form`: "float32" or "half"; `mode`: "train", "checkpointed" (so too, and every layer is a checkpoint) or
  // "infer", each behind "padded-" where sequences are padded; `in_amp`: also the program under autocast, where it is another
  // one. Settings are complete, and have the lengths.
  // Error: a setting that it needs is missing or does not fit.
  Result<std::string> Fill(const Settings& settings, std::string_view form, std::string_view mode, bool in_amp) const;
  // The lines of "parameters", "calls", ...; empty: it has no such section.
  std::string_view Section(std::string_view name) const;

 private:
  std::shared_ptr<const std::string> text_;
  std::map<std::string, std::string_view, std::less<>> sections_;  // lines of `text_`
};

}  // namespace vramplan
