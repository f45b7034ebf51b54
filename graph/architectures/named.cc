#include "graph/architectures/named.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "graph/architectures/data.h"
#include "graph/architectures/hub.h"
#include "graph/base/text.h"
#include "graph/facts/read_facts.h"

namespace vramplan {

// The newest alone: facts of a large model take megabytes. For several threads.
class KnownFacts {
 public:
  std::optional<Facts> Find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kept_, key, &Kept::key);
    if (found == kept_.end()) return std::nullopt;
    return found->facts;
  }
  void Keep(std::string key, const Facts& facts) {
    constexpr size_t kMost = 2;  // with and without checkpoints
    const std::lock_guard lock(mutex_);
    kept_.push_front({std::move(key), facts});
    if (kept_.size() > kMost) kept_.pop_back();
  }

 private:
  struct Kept {
    std::string key;
    Facts facts;
  };
  std::mutex mutex_;
  std::deque<Kept> kept_;
};

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::optional<std::string> TextOf(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? std::optional(text.str()) : std::nullopt;
}

struct Row {
  KnownModel model;
  std::string config;
  std::vector<std::pair<std::string, int64_t>> beside;
};

// The table, row by row until `wanted` says that it is enough. A row that is `as` an earlier one says what differs:
// objects are merged, and what else it gives, null too, stands for what was there.
template <typename Wanted>
std::optional<Row> RowWhere(const Wanted& wanted) {
  std::istringstream lines(ArchitectureData("names.jsonl"));
  std::map<std::string, json> earlier;
  for (std::string line; std::getline(lines, line);) {
    json said = json::parse(line), merged = json::object();
    if (const auto as = said.find("as"); as != said.end()) merged = earlier.at(*as);
    merged.update(said, /*merge_objects=*/true);
    const json& row = earlier.insert_or_assign(merged["name"], std::move(merged)).first->second;
    const json& config = row["config"];
    const json& of_class = config.contains("_class_name") ? config["_class_name"] : config["architectures"][0];
    KnownModel model{row["name"], row["source"], of_class, row["parameters"]};
    if (!wanted(model)) continue;
    Row found{std::move(model), config.dump(), {}};
    if (const auto beside = row.find("beside"); beside != row.end())
      for (const auto& [name, parameters] : beside->items())
        found.beside.emplace_back(name, parameters.template get<int64_t>());
    return found;
  }
  return std::nullopt;
}

Error WithoutTemplate(const std::string& name, const Settings& settings, const std::string& of_class) {
  const std::string what =
      of_class.empty() ? "its config.json names no class (architectures)" : of_class + " has no template";
  const std::string type = settings.Text("model_type").value_or("");
  return {ErrorCode::kBadInput, name, what + (of_class.empty() || type.empty() ? "" : " (model type " + type + ")"),
          "type vramplan models for those that have; in Python, vramplan.fit(AutoModel.from_config(config)) answers "
          "for any"};
}

// What --format json wrote, of any verb: it says so itself.
std::optional<Error> AnswerInPlaceOfAModel(const std::string& name, const Settings& settings) {
  const std::string schema = settings.Text("schema").value_or("");
  if (!schema.starts_with("vramplan.")) return std::nullopt;
  const bool of_run = schema.starts_with("vramplan.run/");
  return Error{ErrorCode::kBadInput, name, "it is an answer (" + schema + "), and no model",
               of_run ? "vramplan run --record FILE.csv writes what fit, plan and trace read"
                      : "give the model that it answers for; vramplan diff compares two answers"};
}

// Why a value is refused.
std::string NotAsRecorded(const Template::Condition& recorded, const Setting& here, const std::string& of_class) {
  const std::string what = "its " + recorded.key + " is " + ToText(here);
  if (recorded.excluded) return what + ", which " + of_class + " was not recorded with";
  std::string values = ToText(recorded.value);
  for (const Setting& other : recorded.alike) values += " or " + ToText(other);
  return what + ", and " + of_class + " was recorded with " + values + " alone";
}

Result<NamedModel> WithTemplate(NamedModel model, const std::string& of_class) {
  const std::string wanted = !of_class.empty()                ? of_class
                             : model.settings.classes.empty() ? std::string()
                                                              : model.settings.classes.front();
  std::optional<Error> unmet;  // of the template that is nearest
  size_t met = 0;
  for (const std::string& file : ArchitectureFiles()) {
    if (!file.ends_with(".template")) continue;
    Template candidate = Template::Read(ArchitectureData(file));
    if (std::ranges::find(candidate.classes, wanted) == candidate.classes.end()) continue;
    const Settings complete = candidate.Complete(model.settings);
    const auto refuse = [&](size_t meets, const std::string& what) {
      if (unmet && meets <= met) return;
      met = meets;
      const bool transformers = !candidate.OfDiffusers();
      unmet = Error{ErrorCode::kBadInput, model.name, what,
                    transformers ? "in Python, vramplan.fit(AutoModel.from_config(config)) answers for any setting"
                                 : "in Python, vramplan.fit(" + wanted +
                                       ".from_config(config), inputs) answers for any setting, and vramplan run for a "
                                       "script"};
    };
    if (const Template::Condition* condition = candidate.Unmet(complete)) {
      refuse(static_cast<size_t>(condition - candidate.conditions.data()),
             NotAsRecorded(*condition, *complete.Find(condition->key), wanted));
      continue;
    }
    if (const Template::Relation* relation = candidate.BrokenRelation(complete)) {
      refuse(candidate.conditions.size(),
             "its " + relation->one + " and " + relation->other + (relation->equal ? " differ" : " are equal") +
                 ", and " + wanted + " was recorded with two that " + (relation->equal ? "are equal" : "differ"));
      continue;
    }
    if (const auto layer = candidate.BrokenLayer(complete)) {
      refuse(candidate.conditions.size(),
             NotAsRecorded({layer->first, layer->second}, *complete.Find(layer->first), wanted));
      continue;
    }
    model.settings = complete;
    model.of_class = wanted;
    model.templates = std::move(candidate);
    return model;
  }
  return unmet ? *unmet : WithoutTemplate(model.name, model.settings, wanted);
}

}  // namespace

std::vector<KnownModel> KnownModels() {
  std::vector<KnownModel> models;
  RowWhere([&](const KnownModel& model) {
    models.push_back(model);
    return false;
  });
  return models;
}

namespace {

struct Configuration {
  std::string text, source;
  std::vector<std::pair<std::string, int64_t>> beside = {};
  int64_t parameters = 0;
};

Result<std::optional<Configuration>> ConfigurationOf(const std::string& name) {
  using Found = std::optional<Configuration>;
  std::error_code ignored;
  const std::string plain = name.starts_with("hf:") ? name.substr(3) : name;
  fs::path file = name;
  if (fs::is_directory(file, ignored)) file = ConfigIn(file);
  if (file.extension() == ".json") {
    if (std::optional<std::string> text = TextOf(file)) return Found(Configuration{*std::move(text), file.string()});
  }
  if (fs::exists(name, ignored)) return Found();
  const auto row = RowWhere([&, wanted = LowerCase(plain)](const KnownModel& model) {
    return model.name == wanted || LowerCase(model.source) == wanted;
  });
  if (row) return Found(Configuration{row->config, row->model.source, row->beside, row->model.parameters});
  const std::optional<fs::path> cached = ConfigInCache(plain);
  std::optional<std::string> text = cached ? TextOf(*cached) : std::nullopt;
  if (text) return Found(Configuration{*std::move(text), cached->string()});
  if (!IsHubName(plain)) return Found();
  Result<std::optional<std::string>> asked = ConfigFromHub(plain);
  if (!asked) return asked.error();
  return *asked ? Found(Configuration{**std::move(asked), plain}) : Found();
}

}  // namespace

bool NamesModel(const std::string& name) {
  const Result<std::optional<Configuration>> found = ConfigurationOf(name);
  return !found || found->has_value();  // what the Hub says of it is FindNamed's error
}

Result<std::optional<NamedModel>> FindNamed(const std::string& name, const std::string& of_class) {
  const Result<std::optional<Configuration>> found_text = ConfigurationOf(name);
  if (!found_text) return found_text.error();
  const std::optional<Configuration>& configuration = *found_text;
  if (!configuration) return std::optional<NamedModel>();
  Result<Settings> settings = ReadSettings(configuration->text, configuration->source);
  if (!settings) return settings.error();
  if (const std::optional<Error> answer = AnswerInPlaceOfAModel(name, *settings)) return *answer;
  const Setting* quantized = settings->Find("quantization_config");
  const bool dequantized = quantized != nullptr && *quantized == Setting("mxfp4");
  if (quantized != nullptr && !dequantized) {
    return Error{ErrorCode::kBadInput, name, "its weights are quantized (quantization_config), which no template is",
                 "ask vramplan run about a script that loads it, or leave that setting out for whole weights"};
  }
  NamedModel model;
  model.name = name;
  model.source = configuration->source;
  model.settings = *std::move(settings);
  model.beside = configuration->beside;
  model.parameters = configuration->parameters;
  model.dequantized = dequantized;
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (model.weights_type.empty()) model.weights_type = model.settings.Text(key).value_or("");
  }
  if (dequantized && model.weights_type.empty()) model.weights_type = "bfloat16";
  Result<NamedModel> found = WithTemplate(std::move(model), of_class);
  if (!found) return found.error();
  return std::optional<NamedModel>(*std::move(found));
}

std::shared_ptr<const NamedModel> KeepingFacts(const NamedModel& model) {
  auto keeping = std::make_shared<NamedModel>(model);
  keeping->known = std::make_shared<KnownFacts>();
  return keeping;
}

namespace {

// Of a class whose forward returns features and takes no labels (BertModel); its templates have recordings of inference alone.
Status CheckTrains(const NamedModel& model, std::string_view mode) {
  if (mode.ends_with("infer") || model.templates.Trains()) return Done();
  return Error{ErrorCode::kUsage, "--mode",
               model.of_class + " makes features and no loss: what trains " + model.name + " is the script's",
               "vramplan fit " + model.name + " --mode infer answers for the model, and vramplan run for the script"};
}

}  // namespace

Result<Facts> FactsOf(const NamedModel& model, std::map<std::string, int64_t>* lengths, std::string_view mode,
                      const std::string& type, bool in_amp) {
  if (const Status trains = CheckTrains(model, mode); !trains.ok()) return trains.error();
  Settings settings = model.settings;
  for (const Template::Length& length : model.templates.lengths) {
    const int64_t given = lengths->try_emplace(length.name, length.usual).first->second;
    settings.Set(length.name, given);
  }
  settings = model.templates.Complete(std::move(settings));  // what has a name may be of lengths
  for (const auto& [length, value] : *lengths) {
    if (value >= 1 || !settings.Number(length)) continue;
    return Error{ErrorCode::kUsage, "--dim", length + "=" + std::to_string(value) + " is no length",
                 "type --dim " + length + "=1 or more"};
  }
  for (const Template::Stack& stack : model.templates.stacks) {
    constexpr int64_t kFewest = 2, kMost = 1000;
    const std::optional<int64_t> layers = settings.Number(stack.layers);
    if (layers && *layers >= kFewest && *layers <= kMost) continue;
    return Error{ErrorCode::kBadInput, model.name,
                 "its " + stack.layers + " is " + (layers ? std::to_string(*layers) : "no whole number"),
                 "templates are for " + std::to_string(kFewest) + " to " + std::to_string(kMost) + " layers"};
  }
  if (const std::string* broken = model.templates.Broken(settings)) {
    const size_t slash = broken->find('/');
    const std::string one = broken->substr(0, slash), other = broken->substr(slash + 1);
    const auto typed = lengths->find(one);
    const std::optional<int64_t> multiple = Evaluate(other, settings);
    if (typed != lengths->end() && multiple && *multiple > 0) {
      const int64_t next = (typed->second + *multiple - 1) / *multiple * *multiple;
      return Error{ErrorCode::kUsage, "--dim",
                   one + "=" + std::to_string(typed->second) + " is no multiple of " + std::to_string(*multiple),
                   "type --dim " + one + "=" + std::to_string(next)};
    }
    const auto said = [&](const std::string& key) {
      const Setting* value = settings.Find(key);
      return key + (value == nullptr ? "" : " (" + ToText(*value) + ")");
    };
    return Error{ErrorCode::kBadInput, model.name, "its " + said(one) + " is no multiple of its " + said(other),
                 "give a config.json with settings that go together"};
  }
  for (const auto& [length, limit] : model.templates.limits) {
    const std::optional<int64_t> most = settings.Number(limit);
    if (most && *most < 1) {
      return Error{ErrorCode::kBadInput, model.name, "its " + limit + " is " + std::to_string(*most),
                   "give a config.json with this setting"};
    }
    if (!most || (*lengths)[length] <= *most) continue;
    return Error{ErrorCode::kUsage, "--dim",
                 length + "=" + std::to_string((*lengths)[length]) + " is more than the " + limit + " of " +
                     model.name + ", " + std::to_string(*most),
                 "type --dim " + length + "=" + std::to_string(*most) + " or less"};
  }
  std::string key = type + " " + std::string(mode) + (in_amp ? " amp" : "");
  for (const auto& [length, value] : *lengths) key += " " + length + "=" + std::to_string(value);
  std::optional<Facts> known = model.known ? model.known->Find(key) : std::nullopt;
  if (known) return *std::move(known);
  Result<std::string> text = model.templates.Fill(settings, type == "float32" ? type : "half", mode, in_amp);
  if (!text) {
    Error error = text.error();
    error.subject = model.name;
    return error;
  }
  if (type == "float16") {  // recorded as bfloat16, which runs alike
    static constexpr std::string_view kRecorded = "bfloat16";
    std::string in_type;
    size_t from = 0;
    for (size_t at; (at = text->find(kRecorded, from)) != std::string::npos; from = at + kRecorded.size())
      in_type.append(*text, from, at - from).append(type);
    *text = in_type.append(*text, from);
  }
  Result<Facts> facts = ReadFacts(*text);
  if (!facts) {
    Error error = facts.error();
    error.subject = model.name;
    return error;
  }
  facts->idle = model.templates.idle;
  if (model.known) model.known->Keep(std::move(key), *facts);
  return facts;
}

}  // namespace vramplan
