// Whatever the bytes are, Load returns a Graph that holds its invariants or an Error of one line, soon and in little
// memory.
//
//   cmake --preset fuzz && ninja -C build/fuzz load_fuzz && build/fuzz/tests/load_fuzz -rss_limit_mb=2048 -timeout=5
//   corpus models
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "graph/onnx/load.h"
#include "tests/support/graph_invariants.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vramplan::Notes notes;
  const auto graph = vramplan::LoadFromBytes("fuzz.onnx", data, size, &notes);
  const std::string broken = graph ? vramplan::BrokenInvariant(*graph) : "";
  const std::string line = graph ? "" : ToString(graph.error());
  if (!broken.empty() || line.find('\n') != line.npos) {
    std::fprintf(stderr, "%s%s\n", broken.c_str(), line.c_str());
    std::abort();
  }
  return 0;
}
