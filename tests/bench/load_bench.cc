// How long Load takes, per file: the best of many runs, so that the machine's other work is left out.
//
//   vramplan_load_bench FILE.onnx...
//   resnet50.dynamo-eval.onnx   150 KiB   0.71 ms   122 nodes  231 tensors
#include <time.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "graph/onnx/load.h"

int main(int argc, char** argv) {
  const auto now = [] {  // processor time: the machine has other work
    timespec t = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  double worst = 0;
  int failed = 0;
  for (int i = 1; i < argc; ++i) {
    double best = 1e9;
    size_t nodes = 0, tensors = 0;
    for (int run = 0; run < 20; ++run) {
      vramplan::Notes notes;
      const double begin = now();
      const auto graph = vramplan::Load(argv[i], &notes);
      const double seconds = now() - begin;
      if (!graph) {
        std::printf("%s\n", ToString(graph.error()).c_str());
        ++failed;
        break;
      }
      if (run == 0) {
        for (const auto& note : notes.all()) std::printf("%s: %s\n", argv[i], ToString(note).c_str());
      }
      best = std::min(best, seconds);
      nodes = graph->nodes.size();
      tensors = graph->tensors.size();
    }
    worst = std::max(worst, best < 1e9 ? best : 0);
    const std::filesystem::path path(argv[i]);
    std::printf("%-40s %9s %8.2f ms %6zu nodes %6zu tensors\n", path.filename().c_str(),
                ToString(vramplan::Bytes::Of(static_cast<int64_t>(std::filesystem::file_size(path)))).c_str(),
                best * 1e3, nodes, tensors);
  }
  std::printf("worst %.2f ms, %d failed\n", worst * 1e3, failed);
  return failed == 0 ? 0 : 1;
}
