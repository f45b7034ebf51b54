// One answer: at the border of the card every verb, every format and every door says the same bytes and the same verdict.
//
//   U-Net on a T4: batch 35 is the last safe one, 38 the last that may fit; 1, 35, 36, 38 and 39 are asked below.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"
#include "tests/support/inflated.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Says;

struct AskedModel {
  const char* file;     // as typed
  const char* options;  // dims of it
  const char* gpu;
};

// Five of them were exported from models that no rule was written with (tests/data/unseen).
constexpr AskedModel kModels[] = {
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
std::vector<AskedModel> Models(size_t every) {
#ifdef __SANITIZE_ADDRESS__
  every = 5;
#endif
  std::vector<AskedModel> models;
  for (size_t i = 0; i < std::size(kModels); i += every) models.push_back(kModels[i]);
  return models;
}

const Json& At(const Json& json, const std::string& key) {
  for (const auto& [name, value] : std::get<Json::Members>(json.value())) {
    if (name == key) return value;
  }
  FAIL("no " << key);
  return json;
}
int64_t Whole(const Json& json, const char* key) { return std::get<int64_t>(At(json, key).value()); }
const std::string& Text(const Json& json, const char* key) { return std::get<std::string>(At(json, key).value()); }
const Json::Items& Items(const Json& json) { return std::get<Json::Items>(json.value()); }
bool IsNull(const Json& json) { return std::holds_alternative<std::nullptr_t>(json.value()); }

// A file of the held-out models is packed: its path, unpacked for as long as the test runs.
std::string PathOf(const AskedModel& model) {
  const std::string name = model.file;
  if (name.starts_with("MODELS/")) return name;
  static std::map<std::string, testing::ScratchFile> unpacked;
  const auto at = unpacked.try_emplace(
      name, name + ".onnx", testing::Inflated(VRAMPLAN_SOURCE_DIR "/tests/data/unseen/models/" + name + ".onnx.gz"));
  return at.first->second.path();
}

std::string Asked(const char* verb, const AskedModel& model, const std::string& more) {
  return std::string(verb) + " " + PathOf(model) + " " + model.options + " --gpu " + model.gpu + " " + more;
}

Json Answer(const std::string& line) {
  const testing::Said said = Do(line + " --format json");
  CAPTURE(line);
  CAPTURE(said.err);
  const Result<Json> json = ParseJson("answer", said.out);
  REQUIRE(json);
  return *json;
}

// What one verb says of one batch.
struct BatchAnswer {
  std::string verdict;
  int64_t requested = 0, allocated = 0, reserved = 0, low = 0, likely = 0, high = 0, larger = 0;
  bool operator==(const BatchAnswer&) const = default;
};

BatchAnswer AnswerOf(const Json& json, const Json& levels) {
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

Border BorderOf(const AskedModel& model) {
  const Json fit = Answer(Asked("fit", model, ""));
  return {IsNull(At(fit, "safe_batch")) ? 0 : Whole(fit, "safe_batch"), Whole(fit, "largest_batch")};
}

TEST_CASE("one answer: fit, estimate and sweep give the same bytes and verdict at every batch around the border") {
  for (const AskedModel& model : Models(1)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    std::string list;
    for (const int64_t batch : border.batches()) list += (list.empty() ? "" : ",") + std::to_string(batch);
    const Json sweep = Answer(Asked("sweep", model, "--over batch=" + list));
    size_t row = 0;
    for (const int64_t batch : border.batches()) {
      CAPTURE(batch);
      const std::string at = "--batch " + std::to_string(batch);
      const Json fit = Answer(Asked("fit", model, at)), estimate = Answer(Asked("estimate", model, at));
      const BatchAnswer asked = AnswerOf(fit, At(fit, "peak"));
      CHECK(AnswerOf(estimate, At(estimate, "peak")) == asked);
      const Json& swept = Items(At(sweep, "rows"))[row++];
      CHECK(AnswerOf(swept, swept) == asked);
      CHECK(asked.likely <= asked.larger);
      CHECK(asked.low <= asked.likely);
      CHECK(asked.likely <= asked.high);
    }
  }
}

TEST_CASE(
    "one answer: the safe batch is the same whatever batch was asked, and what fits has its high end on the card") {
  for (const AskedModel& model : Models(1)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    CHECK(border.safe <= border.largest);
    for (const int64_t batch : border.batches()) {
      CAPTURE(batch);
      const Json fit = Answer(Asked("fit", model, "--batch " + std::to_string(batch)));
      const Json& gpu = At(fit, "gpu");
      const int64_t usable = Whole(gpu, "usable_bytes") - Whole(gpu, "reserve_bytes") - Whole(gpu, "held_bytes");
      const std::string verdict = Text(fit, "verdict");
      if (border.safe > 0) CHECK(Whole(fit, "safe_batch") == border.safe);
      CHECK(Whole(fit, "largest_batch") == border.largest);
      CHECK(verdict == (batch <= border.safe ? "fits" : batch <= border.largest ? "tight" : "does-not-fit"));
      if (verdict == "fits") CHECK(Whole(At(fit, "device"), "high") <= usable);
      if (verdict != "does-not-fit") CHECK(Whole(At(fit, "device"), "likely") <= usable);
    }
  }
}

TEST_CASE("one answer: the text says the bytes and the verdict of the JSON") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    for (const int64_t batch : border.batches()) {
      CAPTURE(batch);
      const std::string at = "--batch " + std::to_string(batch);
      const Json fit = Answer(Asked("fit", model, at));
      const std::string verdict = Text(fit, "verdict");
      const std::string likely = ToString(Bytes::Of(Whole(At(fit, "device"), "likely")));
      const std::string first = Do(Asked("fit", model, at)).FirstLine();
      CHECK(first.find(likely + " of ") != std::string::npos);
      if (verdict != "does-not-fit") CHECK(first.find("(" + verdict + ", ") != std::string::npos);
      const std::string estimated = Do(Asked("estimate", model, at)).FirstLine();
      CHECK(estimated.find(" needs " + likely + " to ") != std::string::npos);
      CHECK(estimated.find(verdict == "does-not-fit" ? "(does not fit)" : "(" + verdict + ")") != std::string::npos);
      const int64_t larger = Whole(fit, "on_a_larger_card");
      const bool gives_back = verdict != "does-not-fit" && larger > Whole(At(fit, "device"), "likely");
      CHECK(Says(Do(Asked("fit", model, at)).out, "on a larger card it would take " + ToString(Bytes::Of(larger))) ==
            gives_back);
      const testing::Said page = Do(Asked("fit", model, at + " --format html"));
      CHECK(page.out.find(likely) != std::string::npos);
      CHECK(page.exit_code == (verdict == "does-not-fit" ? 3 : 0));
    }
  }
}

TEST_CASE("one answer: a card of --gpu all, of several, and alone") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const Json alone = Answer(Asked("fit", model, "--batch 8"));
    const Json all = Answer("fit " + PathOf(model) + " " + model.options + " --gpu all --batch 8");
    bool found = false;
    for (const Json& card : Items(At(all, "cards"))) {
      if (Text(card, "id") != model.gpu) continue;
      found = true;
      CHECK(Text(card, "verdict") == Text(alone, "verdict"));
      CHECK(Whole(card, "largest_batch") == Whole(alone, "largest_batch"));
      CHECK(Whole(card, "safe_batch") == Whole(alone, "safe_batch"));
      CHECK(Whole(card, "peak_device") == Whole(At(alone, "device"), "likely"));
      CHECK(Whole(card, "peak_device_high") == Whole(At(alone, "device"), "high"));
    }
    CHECK(found);
  }
}

TEST_CASE("one answer: a plan that changes nothing has the verdict of fit, and holds what stands above it together") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    for (const int64_t batch : {std::max<int64_t>(1, border.safe), border.largest}) {
      CAPTURE(batch);
      // Fused adam has no temporaries of its own: asked alike.
      const std::string at = "--batch " + std::to_string(batch) + " --precision fp32 --optimizer-impl for-loop";
      const Json fit = Answer(Asked("fit", model, at)), plan = Answer(Asked("plan", model, at));
      const Json& chosen = At(plan, "chosen");
      if (IsNull(chosen) || !Items(At(chosen, "checkpoint")).empty()) continue;
      CHECK(Text(plan, "verdict") == Text(fit, "verdict"));
      CHECK(Whole(At(plan, "device"), "likely") == Whole(At(fit, "device"), "likely"));
      CHECK(Whole(At(plan, "device"), "high") == Whole(At(fit, "device"), "high"));
      CHECK(Whole(plan, "safe_batch") == Whole(fit, "safe_batch"));
    }
  }
}

TEST_CASE("one answer: what can only lower the peak stands below the table, and is no doubt above it") {
  const testing::Said plan = Do("plan MODELS/unet.onnx --gpu t4 --batch 64 --verbose");
  CHECK_FALSE(Says(plan.out, "together they put"));
  CHECK(Says(plan.out, "requested, if this is not so: every parameter is trained"));
  const size_t table = plan.out.find("  plan "), suggestion = plan.out.find("if this is not so");
  CHECK(table < suggestion);
}

}  // namespace
}  // namespace vramplan
