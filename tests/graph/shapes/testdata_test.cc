// The models that the ONNX project tests its runtimes with, as Debian packages them (libonnx-testdata, ONNX 1.12).
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/support/model_walk.h"

namespace vramplan::testing {
namespace {

namespace fs = std::filesystem;

std::string Lines(const Walk& walk) {
  const char* const words[] = {"complete", "partial", "by design", "wrong"};
  std::string text;
  for (const WalkedModel& model : walk.models) {
    if (model.verdict != Verdict::kComplete)
      text += std::string(words[static_cast<int>(model.verdict)]) + ": " + model.name + ": " + model.why + "\n";
  }
  return text;
}

void Check(const fs::path& folder, const Walk& walk) {
  const int found = walk.Count(Verdict::kComplete) + walk.Count(Verdict::kByDesign);
  MESSAGE(folder.string() << ": " << walk.Summary());
  INFO(Lines(walk));
  CHECK(walk.Count(Verdict::kWrong) == 0);
  CHECK(100 * found >= 97 * static_cast<int>(walk.models.size()));
}

TEST_CASE("models of ONNX's own tests") {
  const fs::path folder = "/usr/share/libonnx-testdata/data";
  if (!fs::exists(folder)) {
    MESSAGE("not run: there is no " << folder.string() << " (Debian: apt-get install libonnx-testdata)");
    return;
  }
  const Walk walk = WalkModels(folder);
  CHECK(walk.models.size() == 1072);
  Check(folder, walk);
}

// VRAMPLAN_MODELS=FOLDER:FOLDER walks other folders as well, and tells of every model that is not complete.
TEST_CASE("models of other folders") {
  const char* folders = std::getenv("VRAMPLAN_MODELS");
  std::stringstream all(folders != nullptr ? folders : "");
  for (std::string folder; std::getline(all, folder, ':');) {
    const Walk walk = WalkModels(folder);
    MESSAGE(Lines(walk));
    Check(folder, walk);
  }
}

}  // namespace
}  // namespace vramplan::testing
