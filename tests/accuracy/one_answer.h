// Questions of the tests "one answer": the models, the batches around the border of a card, and what verbs say of them.
//
//   U-Net on a T4: batch 35 is the last safe one, 38 the last that may fit; 1, 35, 36, 38 and 39 are asked.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"
#include "tests/support/inflated.h"

namespace vramplan::testing {

struct AskedModel {
  const char* file;     // as typed
  const char* options;  // dims of it
  const char* gpu;
};

// Five of them were exported from models that no rule was written with (tests/data/unseen).
inline constexpr AskedModel kModels[] = {
    {"MODELS/unet.onnx", "", "t4"},
    {"MODELS/resnet50.onnx", "", "t4"},
    {"MODELS/bert_base.onnx", "--dim sequence=128", "rtx-3060"},
    {"MODELS/gpt_small.onnx", "--dim sequence=512", "rtx-4090"},
    {"MODELS/mlp.onnx", "", "t4"},
    {"hand_attention_unet.ts-train", "", "t4"},
    {"hand_vqvae.dynamo-train", "", "t4"},
    {"hf_decoder_falcon.ts-train", "", "rtx-3060"},
    {"diff_AutoencoderDC.dynamo-train", "", "rtx-3060"},
    {"hand_speech.ts-train", "", "t4"},
};

// Each question is asked of every model; the slow build with sanitizers asks two. What only words the same numbers is asked of
// every third.
inline std::vector<AskedModel> Models(size_t every) {
#ifdef __SANITIZE_ADDRESS__
  every = 5;
#endif
  std::vector<AskedModel> models;
  for (size_t i = 0; i < std::size(kModels); i += every) models.push_back(kModels[i]);
  return models;
}

inline const Json& At(const Json& json, const std::string& key) {
  for (const auto& [name, value] : std::get<Json::Members>(json.value())) {
    if (name == key) return value;
  }
  FAIL("no " << key);
  return json;
}
inline int64_t Whole(const Json& json, const char* key) { return std::get<int64_t>(At(json, key).value()); }
inline const std::string& Text(const Json& json, const char* key) {
  return std::get<std::string>(At(json, key).value());
}
inline const Json::Items& Items(const Json& json) { return std::get<Json::Items>(json.value()); }
inline bool IsNull(const Json& json) { return std::holds_alternative<std::nullptr_t>(json.value()); }

// A file of the held-out models is packed: its path, unpacked for as long as the test runs.
inline std::string PathOf(const AskedModel& model) {
  const std::string name = model.file;
  if (name.starts_with("MODELS/")) return name;
  static std::map<std::string, ScratchFile> unpacked;
  const auto at = unpacked.try_emplace(name, name + ".onnx",
                                       Inflated(VRAMPLAN_SOURCE_DIR "/tests/data/unseen/models/" + name + ".onnx.gz"));
  return at.first->second.path();
}

// How the first line says it, with the card behind it.
inline std::string Spoken(const std::string& verdict) {
  return verdict == "fits" ? " fits on " : verdict == "tight" ? " is tight on " : " does not fit on ";
}

inline std::string Asked(const char* verb, const AskedModel& model, const std::string& more) {
  return std::string(verb) + " " + PathOf(model) + " " + model.options + " --gpu " + model.gpu + " " + more;
}

// Several tests ask the same: each question is answered once.
inline const Json& Answer(const std::string& line) {
  static std::map<std::string, Json> answers;
  const auto known = answers.find(line);
  if (known != answers.end()) return known->second;
  const Said said = Do(line + " --format json");
  CAPTURE(line);
  CAPTURE(said.err);
  Result<Json> json = ParseJson("answer", said.out);
  REQUIRE(json);
  return answers.emplace(line, *std::move(json)).first->second;
}

// What one verb says of one batch.
struct BatchAnswer {
  std::string verdict;
  int64_t requested = 0, allocated = 0, reserved = 0, low = 0, likely = 0, high = 0, larger = 0;
  bool operator==(const BatchAnswer&) const = default;
};

inline BatchAnswer AnswerOf(const Json& json, const Json& levels) {
  BatchAnswer answer;
  answer.verdict = Text(json, "verdict");
  answer.requested = Whole(levels, "requested");
  answer.allocated = Whole(levels, "allocated");
  answer.reserved = Whole(levels, "reserved");
  const Json& device = At(json, "device");
  answer.low = Whole(device, "low");
  answer.likely = Whole(device, "likely");
  answer.high = Whole(device, "high");
  answer.larger = Whole(json, "on_a_larger_card");
  return answer;
}

struct Border {
  int64_t safe = 0, largest = 0;
  std::set<int64_t> batches() const {
    std::set<int64_t> all = {1};
    for (const int64_t batch : {safe, safe + 1, largest, largest + 1}) {
      if (batch > 0) all.insert(batch);
    }
    return all;
  }
};

inline Border BorderOf(const AskedModel& model) {
  const Json& fit = Answer(Asked("fit", model, ""));
  return {IsNull(At(fit, "safe_batch")) ? 0 : Whole(fit, "safe_batch"), Whole(fit, "largest_batch")};
}

}  // namespace vramplan::testing
