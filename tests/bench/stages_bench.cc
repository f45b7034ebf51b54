// How long each stage takes inside the process, per file, and what share of the whole it is: the best of many runs, so
// that the machine's other work is left out. Batch 8, fp32 training with Adam.
//
//   vramplan_stages_bench FILE.onnx...
//   resnet50.ts-train.onnx   load 0.69  bind 0.00  infer 0.13  lift 0.74  schedule 1.27  replay 0.32 ms   replay 10 %
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>

#include "graph/layers/layers.h"
#include "graph/lift/lift.h"
#include "graph/onnx/load.h"
#include "graph/shapes/infer.h"
#include "planner/allocator/replay.h"
#include "planner/timeline/timeline.h"

namespace vramplan {
namespace {

constexpr std::array kStages = {"load", "bind", "infer", "lift", "schedule", "replay"};
using Times = std::array<double, kStages.size()>;

double Now() {  // processor time: the machine has other work
  timespec t = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

// Milliseconds of each stage; nothing when one fails, which it says.
std::optional<Times> Run(const char* path) {
  constexpr int64_t kBatch = 8;
  const auto fail = [&](const Error& error) {
    std::printf("%s\n", ToString(error).c_str());
    return std::nullopt;
  };
  Times times = {};
  Notes notes;
  double begin = Now();
  const auto lap = [&](size_t stage) {
    const double now = Now();
    times[stage] = now - begin;
    begin = Now();
  };
  auto graph = Load(path, &notes);
  if (!graph) return fail(graph.error());
  lap(0);
  const auto binding = Bind(*graph, {}, &notes);
  if (!binding) return fail(binding.error());
  lap(1);
  const auto shapes = Infer(*graph, *binding, &notes);
  if (!shapes) return fail(shapes.error());
  lap(2);
  const auto layers = Lift(*graph, *shapes, &notes);
  if (!layers) return fail(layers.error());
  lap(3);
  const auto timeline = Schedule(*layers, TrainingSpec(), kBatch, &notes);
  if (!timeline) return fail(timeline.error());
  lap(4);
  const Peak peak = Replay(*timeline, kBatch, AllocatorConfig(), Bytes::Max());
  lap(5);
  return peak.out_of_memory ? std::nullopt : std::optional(times);
}

}  // namespace
}  // namespace vramplan

int main(int argc, char** argv) {
  int failed = 0;
  for (int i = 1; i < argc; ++i) {
    std::optional<vramplan::Times> best;
    for (int run = 0; run < 20; ++run) {
      const auto times = vramplan::Run(argv[i]);
      if (!times) {
        ++failed;
        break;
      }
      if (!best) best = times;
      for (size_t s = 0; s < times->size(); ++s) (*best)[s] = std::min((*best)[s], (*times)[s]);
    }
    if (!best) continue;
    std::printf("%-36s", std::filesystem::path(argv[i]).filename().c_str());
    for (size_t s = 0; s < best->size(); ++s) std::printf("  %s %.2f", vramplan::kStages[s], (*best)[s]);
    std::printf(" ms   replay %.0f %%\n", 100 * best->back() / std::accumulate(best->begin(), best->end(), 0.0));
  }
  return failed == 0 ? 0 : 1;
}
