// Whole steps against the streams that PyTorch's allocator saw: the second step of fp32 training with Adam foreach,
// capability 7.5, pytorch@2.10.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

#include "planner/allocator/caching_allocator.h"
#include "planner/timeline/timeline.h"
#include "tests/support/one_operator.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

struct Line {
  bool birth;
  int64_t bytes;  // of the block: rounded, with the slack of a block that was not split
  std::string phase, block;
  std::string Text() const { return phase + (birth ? " +" : " -") + std::to_string(bytes) + " #" + block; }
};

// The second step, blocks numbered in it, "old" when made before; sizes by the caching allocator.
std::vector<Line> Ours(const Timeline& timeline) {
  CachingAllocator allocator(Bytes::Max(), AllocatorConfig());
  std::vector<CachingAllocator::Allocation> living(timeline.blocks.size());
  std::vector<std::string> number(timeline.blocks.size(), "old");
  int born = 0;
  std::vector<Line> lines;
  for (const Event& event : timeline.events) {
    if (event.kind != EventKind::kAllocate && event.kind != EventKind::kFree) continue;
    const bool birth = event.kind == EventKind::kAllocate;
    const size_t i = static_cast<size_t>(event.block.value);
    if (birth) {
      living[i] = *allocator.Allocate(timeline[event.block].bytes.At(timeline.batch));
      if (event.step == 2) number[i] = std::to_string(born++);
    } else {
      allocator.Free(living[i].handle);
    }
    if (event.step == 2) lines.push_back({birth, living[i].size.count(), std::string(Name(event.phase)), number[i]});
  }
  return lines;
}

std::vector<Line> Truth(const std::string& name) {
  std::vector<Line> lines;
  for (const Row& row : ReadCsv(DataFolder() + "/truth/events/" + name + ".adam-foreach.csv.gz")) {
    std::string phase = row.at("phase");
    if (phase == "loss") phase = "forward";
    if (phase == "zero_grad") phase = "update";
    lines.push_back({row.at("event") == "alloc", Count(row, "bytes"), phase, row.at("block")});
  }
  return lines;
}

Timeline Scheduled(const std::string& graph, int64_t batch, const std::string& dims, Loss loss) {
  const auto layers = LayersOf(DataFolder() + "/zoo/" + graph + ".onnx", dims);
  REQUIRE(layers);
  TrainingSpec spec = SpecFromWords("adam");
  spec.loss = loss;
  const auto timeline = Schedule(*layers, spec, batch, nullptr);
  REQUIRE(timeline);
  return *timeline;
}

TEST_CASE("MLP 1000-2000-1000-10: every event of the step, in order") {
  for (const char* graph : {"mlp.ts-train", "mlp.dynamo-train"}) {
    CAPTURE(std::string(graph));
    const std::vector<Line> ours = Ours(Scheduled(graph, 64, "", Loss::kCrossEntropy)), truth = Truth("mlp.b64");
    REQUIRE(truth.size() == 54);
    REQUIRE(ours.size() == truth.size());
    for (size_t i = 0; i < truth.size(); ++i) CHECK(ours[i].Text() == truth[i].Text());
  }
}

// Bytes of the truth's blocks above 64 KiB that our stream has in the same phase, births and deaths; and ours by
// theirs.
struct Agreement {
  double covered, surplus;
};
Agreement Compare(const std::vector<Line>& ours, const std::vector<Line>& truth) {
  std::map<std::string, int> left;
  int64_t total = 0, extra = 0, common = 0;
  const auto key = [](const Line& line) { return line.phase + (line.birth ? "+" : "-") + std::to_string(line.bytes); };
  for (const Line& line : truth) {
    if (line.bytes <= 65536) continue;
    total += line.bytes;
    ++left[key(line)];
  }
  for (const Line& line : ours) {
    if (line.bytes <= 65536) continue;
    if (left[key(line)]-- > 0) {
      common += line.bytes;
    } else {
      extra += line.bytes;
    }
  }
  REQUIRE(total > 0);
  return {static_cast<double>(common) / static_cast<double>(total),
          static_cast<double>(extra) / static_cast<double>(total)};
}

TEST_CASE("zoo: the step's large blocks, phase by phase, on 99 % of the bytes") {
  // TorchScript exports do not say which activations and additions are in place, so some models are held to that on the
  // other export alone; densenet121 the other way round.
  const struct {
    const char *graph, *truth, *dims;
    int64_t batch;
    Loss loss;
  } rows[] = {
      {"resnet18.dynamo-train", "resnet18.b8", "", 8, Loss::kCrossEntropy},
      {"mobilenet_v2.ts-train", "mobilenet_v2.b8", "", 8, Loss::kCrossEntropy},
      {"mobilenet_v2.dynamo-train", "mobilenet_v2.b8", "", 8, Loss::kCrossEntropy},
      {"textcnn.ts-train", "textcnn.b16", "sequence=128", 16, Loss::kCrossEntropy},
      {"textcnn.dynamo-train", "textcnn.b16", "sequence=128", 16, Loss::kCrossEntropy},
      {"unet.ts-train", "unet.b4", "", 4, Loss::kBceLogits},
      {"unet.dynamo-train", "unet.b4", "", 4, Loss::kBceLogits},
      {"alexnet.ts-train", "alexnet.b8", "", 8, Loss::kCrossEntropy},
      {"convnext_tiny.dynamo-train", "convnext_tiny.b4", "", 4, Loss::kCrossEntropy},
      {"densenet121.ts-train", "densenet121.b4", "", 4, Loss::kCrossEntropy},
      {"monai_unet_3d.dynamo-train", "monai_unet_3d.b2", "", 2, Loss::kCrossEntropy},
  };
  for (const auto& row : rows) {
    CAPTURE(std::string(row.graph));
    const Agreement agreement = Compare(Ours(Scheduled(row.graph, row.batch, row.dims, row.loss)), Truth(row.truth));
    CHECK(agreement.covered >= 0.99);
    CHECK(agreement.surplus <= 0.01);
  }
}

// Modules whose whole path is matched, and every event of the second step's forward and backward as "backward +512".
std::vector<std::string> Checkpointed(const std::string& graph, int64_t batch, const std::string& modules,
                                      TrainingSpec spec) {
  const auto layers = LayersOf(DataFolder() + "/zoo/" + graph + ".onnx", "");
  REQUIRE(layers);
  const std::regex wanted(modules);
  for (const Module& module : layers->modules) {
    if (std::regex_match(module.path, wanted)) spec.checkpoint.push_back(module.path);
  }
  REQUIRE(!spec.checkpoint.empty());
  const auto timeline = Schedule(*layers, spec, batch, nullptr);
  REQUIRE(timeline);
  std::vector<std::string> lines;
  for (const Event& event : timeline->events) {
    if (event.step != 2 || event.phase == Phase::kUpdate) continue;
    if (event.kind != EventKind::kAllocate && event.kind != EventKind::kFree) continue;
    lines.push_back(std::string(event.phase == Phase::kForward ? "forward " : "backward ") +
                    (event.kind == EventKind::kAllocate ? "+" : "-") +
                    std::to_string((*timeline)[event.block].bytes.At(batch).count()));
  }
  return lines;
}

std::vector<std::string> Births(std::vector<std::string> lines) {
  std::erase_if(lines, [](const std::string& line) { return line.find('+') == std::string::npos; });
  return lines;
}

TEST_CASE("checkpointed modules: every event of forward and backward") {
  // Modules in modules in modules; batch norms, activations in place, dropout, autocast. Where deaths are not compared
  // in their order: autocast's cache dies in the order of a hash table, and Python's locals are not in the file.
  const struct {
    const char *graph, *truth, *modules;
    int64_t batch;
    Precision precision;
    Loss loss;
    bool deaths_in_order;
  } rows[] = {
      {"resnet18.dynamo-train", "resnet18.b8.fp32", "layer\\d|layer\\d\\.\\d|layer\\d\\.\\d\\.conv\\d", 8,
       Precision::kFp32, Loss::kCrossEntropy, true},
      {"mobilenet_v2.dynamo-train", "mobilenet_v2.b8.fp32", "features\\.\\d+", 8, Precision::kFp32, Loss::kCrossEntropy,
       true},
      {"unet.dynamo-train", "unet.b4.amp-fp16", "stem|down\\.\\d|up\\.\\d|.*\\.\\d+\\.\\d+", 4, Precision::kAmpFp16,
       Loss::kBceLogits, false},
      {"transformer_encoder.dynamo-train", "transformer_encoder.b2.fp32",
       "m\\.enc|m\\.enc\\.layers\\.\\d|.*linear1|.*dropout\\d?|.*norm\\d", 2, Precision::kFp32, Loss::kCrossEntropy,
       false},
  };
  for (const auto& row : rows) {
    CAPTURE(std::string(row.graph));
    TrainingSpec spec = SpecFromWords("adam");
    spec.precision = row.precision;
    spec.loss = row.loss;
    std::vector<std::string> ours = Checkpointed(row.graph, row.batch, row.modules, spec), truth;
    for (const Row& line : ReadCsv(DataFolder() + "/truth/checkpoint/" + row.truth + ".csv.gz")) {
      truth.push_back(line.at("phase") + (line.at("event") == "alloc" ? " +" : " -") + line.at("bytes"));
    }
    REQUIRE(truth.size() > 500);
    CHECK(Births(ours) == Births(truth));
    if (!row.deaths_in_order) {
      std::sort(ours.begin(), ours.end());
      std::sort(truth.begin(), truth.end());
    }
    CHECK(ours == truth);
  }
}

}  // namespace
}  // namespace vramplan::testing
