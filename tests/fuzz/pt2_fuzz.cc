// Whatever a program of torch.export says, Load returns a Graph that holds its invariants or an Error of one line, and
// Infer and Lift do not fail on it. The input is the JSON of the program, in an archive that is made around it; when it
// begins as a zip file does, it is the archive.
//
//   cmake --preset fuzz && ninja -C build/fuzz pt2_fuzz && build/fuzz/tests/pt2_fuzz -rss_limit_mb=2048 -timeout=5
//   build/fuzz/corpus/pt2_fuzz tests/fuzz/corpus/pt2_fuzz
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "graph/lift/lift.h"
#include "graph/onnx/load.h"
#include "graph/pt2/archive.h"
#include "graph/shapes/infer.h"
#include "tests/support/graph_invariants.h"
#include "tests/support/program_text.h"

namespace {

void RequireOfProgram(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramplan;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (!IsArchive(bytes)) bytes = testing::ZipOf({{"net/models/model.json", bytes}});
  Notes notes;
  const auto graph = LoadFromBytes("fuzz.pt2", bytes.data(), bytes.size(), &notes);
  if (!graph) {
    const std::string line = ToString(graph.error());
    RequireOfProgram(line.find('\n') == line.npos, line);
    return 0;
  }
  const std::string broken = BrokenInvariant(*graph);
  RequireOfProgram(broken.empty(), broken);
  const auto binding = Bind(*graph, {}, &notes);
  if (!binding.ok()) return 0;
  const auto shapes = Infer(*graph, *binding, &notes);
  if (!shapes.ok()) return 0;
  RequireOfProgram(Lift(*graph, *shapes, &notes).ok(), "no layers");
  return 0;
}
