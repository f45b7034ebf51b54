// The models that the ONNX project tests its runtimes with, as Debian packages them (libonnx-testdata, ONNX 1.12).
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/support/model_walk.h"

namespace vramplan::testing {
namespace {

namespace fs = std::filesystem;

std::string Lines(const Uses& uses) {
  const char* const words[] = {"complete", "partial", "by design", "wrong"};
  std::string text;
  for (const WalkedModel& model : uses.models) {
    if (model.verdict != Verdict::kComplete)
      text += std::string(words[static_cast<int>(model.verdict)]) + ": " + model.name + ": " + model.why + "\n";
  }
  return text;
}

void Check(const fs::path& folder, const Uses& uses) {
  const int found = uses.Count(Verdict::kComplete) + uses.Count(Verdict::kByDesign);
  MESSAGE(folder.string() << ": " << uses.Summary());
  INFO(Lines(uses));
  CHECK(uses.Count(Verdict::kWrong) == 0);
  CHECK(100 * found >= 97 * static_cast<int>(uses.models.size()));
}

TEST_CASE("models of ONNX's own tests") {
  const fs::path folder = "/usr/share/libonnx-testdata/data";
  if (!fs::exists(folder)) {
    MESSAGE("not run: there is no " << folder.string() << " (Debian: apt-get install libonnx-testdata)");
    return;
  }
  const Uses uses = WalkModels(folder);
  CHECK(uses.models.size() == 1072);
  Check(folder, uses);
}

// VRAMPLAN_MODELS=FOLDER:FOLDER walks other folders as well, and tells of every model that is not complete.
TEST_CASE("models of other folders") {
  const char* folders = std::getenv("VRAMPLAN_MODELS");
  std::stringstream all(folders != nullptr ? folders : "");
  for (std::string folder; std::getline(all, folder, ':');) {
    const Uses uses = WalkModels(folder);
    MESSAGE(Lines(uses));
    Check(folder, uses);
  }
}

}  // namespace
}  // namespace vramplan::testing
