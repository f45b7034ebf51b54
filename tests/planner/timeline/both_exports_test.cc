// Both exports of a model give the same timeline: the same large tensors are born in each phase of the steady step, and
// the peaks are equal. What differs is listed by model with the reason.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "planner/allocator/replay.h"
#include "planner/timeline/timeline.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

constexpr int64_t kBatch = 4;

// Births that only one of the exports has, at most. Classes say what is in place; TorchScript files hold no classes.
const std::map<std::string, int>& KnownDifferences() {
  static const std::map<std::string, int> known = {
      {"convnext_tiny", 18},         // `result += input` without a ReLU behind it is not assumed
      {"convnext_tiny_86", 15},      // the same
      {"efficientnet_b0", 9},        // the same
      {"mobilenet_v3_small", 6},     // the same
      {"mobilenet_v3_large_86", 4},  // the same
      {"fcn_resnet50", 1},           // the head's ReLU is assumed and is not in place
      {"densenet121", 5},            // cat of one tensor: the dynamo export drops it
      {"swin_t", 9},
      {"t5_small", 2},  // masks and biases that the dynamo export merged
  };
  return known;
}

Result<Layers> LayersAt(const std::string& path) {
  Result<Layers> layers = LayersOf(path, "");
  return layers.ok() ? std::move(layers) : LayersOf(path, "sequence=128");  // token models
}

// Blocks of the steady step from this size on: scalars and masks of positions are made otherwise by each exporter.
constexpr Bytes kLarge = Bytes::KiB(64);

std::map<std::pair<int, int64_t>, int> BirthsOf(const Timeline& timeline) {
  std::map<std::pair<int, int64_t>, int> births;
  for (const Event& event : timeline.events) {
    if (event.kind != EventKind::kAllocate || event.step != 2) continue;
    const Bytes bytes = timeline[event.block].bytes.At(timeline.batch);
    if (bytes >= kLarge) ++births[{static_cast<int>(event.phase), bytes.count()}];
  }
  return births;
}

int Differences(const Timeline& a, const Timeline& b) {
  auto difference = BirthsOf(a);
  for (const auto& [key, count] : BirthsOf(b)) difference[key] -= count;
  int different = 0;
  for (const auto& [key, count] : difference) different += std::abs(count);
  return different;
}

double PeakOf(const Timeline& timeline) {
  return static_cast<double>(Replay(timeline, kBatch, AllocatorConfig(), Bytes::Max()).peak.requested.count());
}

std::vector<std::string> Models() {
  std::vector<std::string> models;
  const std::filesystem::path folder = std::filesystem::path(DataFolder()) / "zoo";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const size_t end = name.find(".ts-train.onnx");
    if (end != std::string::npos && std::filesystem::exists(folder / (name.substr(0, end) + ".dynamo-train.onnx")))
      models.push_back((folder / name.substr(0, end)).string());
  }
  std::sort(models.begin(), models.end());
  return models;
}

TEST_CASE("both exports of a model give the same timeline") {
  REQUIRE(!Models().empty());
  for (const std::string& model : Models()) {
    const Result<Layers> pattern = LayersAt(model + ".ts-train.onnx"),
                         provenance = LayersAt(model + ".dynamo-train.onnx");
    REQUIRE(pattern.ok());
    REQUIRE(provenance.ok());
    const auto a = Schedule(*pattern, TrainingSpec(), kBatch, nullptr),
               b = Schedule(*provenance, TrainingSpec(), kBatch, nullptr);
    REQUIRE(a.ok());
    REQUIRE(b.ok());
    const std::string name = std::filesystem::path(model).filename().string();
    CAPTURE(name);
    const auto known = KnownDifferences().find(name);
    CHECK(Differences(*a, *b) <= (known == KnownDifferences().end() ? 0 : known->second));
    CHECK(PeakOf(*a) == doctest::Approx(PeakOf(*b)).epsilon(0.00005));
  }
}

}  // namespace
}  // namespace vramplan::testing
