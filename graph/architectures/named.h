// Named models: a name, a config.json or a folder with one becomes the settings of a model and the template of its class.
//
//   "llama-3.1-8b"            a row of models/architectures/names.jsonl, as is "meta-llama/Llama-3.1-8B"
//   "path/to/config.json"     or its folder
//   "Qwen/Qwen3-8B"           else the Hub's cache ($HF_HUB_CACHE, $HF_HOME/hub, ~/.cache/huggingface/hub), else the Hub
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/architectures/settings.h"
#include "graph/architectures/template.h"
#include "graph/base/result.h"
#include "graph/ir/facts.h"

namespace vramplan {

class KnownFacts;

struct NamedModel {
  std::string name;      // as typed
  std::string source;    // "meta-llama/Llama-3.1-8B", or the path of a config.json
  Settings settings;     // complete, without lengths
  std::string of_class;  // "LlamaForCausalLM"
  Template templates;
  int64_t parameters = 0;  // of the table; 0: it is not in it
  // Its weights are stored in MXFP4 and loaded in `weights_type`: transformers 5.23 does so where the package `kernels` or a
  // Triton of 3.4 is missing, and with Mxfp4Config(dequantize=True), as training needs it (quantizers/quantizer_mxfp4.py).
  bool dequantized = false;
  // What training scripts keep on the card beside it, and its parameters: {"VAE", 83653863}; of diffusers alone.
  std::vector<std::pair<std::string, int64_t>> beside;
  // Of the weights that people load: "float32", "bfloat16", "float16"; empty: the settings do not say.
  std::string weights_type;
  std::shared_ptr<KnownFacts> known;  // what FactsOf keeps; null: nothing
};

// The same for changed questions, which ask FactsOf for the same facts again.
std::shared_ptr<const NamedModel> KeepingFacts(const NamedModel& model);

// One model of the table.
struct KnownModel {
  std::string name, source, of_class;
  int64_t parameters = 0;
};
std::vector<KnownModel> KnownModels();

// Also where it seems to be one, and FindNamed says what is wrong.
bool NamesModel(const std::string& name);

// Nothing: `name` is none of these (a file, say). `of_class`: the class to run in the place of the one in the settings; empty:
// that one. Errors: no template for the class, or for a setting; not JSON.
Result<std::optional<NamedModel>> FindNamed(const std::string& name, const std::string& of_class);

// `lengths`: those of --dim; what they leave out is as usual, and is put into them. Errors: a length beyond what the model
// can take; what Template::Fill says. `mode`: as Template::Fill takes it; `type`: of the weights, "float32",
// "bfloat16" or "float16"; `in_amp`: also the program under autocast, where it is another one.
Result<Facts> FactsOf(const NamedModel& model, std::map<std::string, int64_t>* lengths, std::string_view mode,
                      const std::string& type, bool in_amp = true);

}  // namespace vramplan
