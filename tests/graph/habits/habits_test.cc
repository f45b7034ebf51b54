#include "graph/habits/habits.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "graph/habits/reparametrizations.h"

namespace vramplan {
namespace {

TEST_CASE("habits: activations by the class around them") {
  struct Row {
    std::vector<std::string_view> classes;
    std::string_view leaf;
    ActivationHabit habit;
  };
  const Row rows[] = {
      {{"torchvision.models.resnet.ResNet", "torchvision.models.resnet.BasicBlock", "torch.nn.modules.activation.ReLU"},
       "relu",
       ActivationHabit::kInPlace},
      {{"torchvision.models.segmentation.fcn.FCNHead"}, "2", ActivationHabit::kOutOfPlace},
      {{"torchvision.models.mobilenetv3.MobileNetV3", "torchvision.ops.misc.SqueezeExcitation"},
       "activation",
       ActivationHabit::kOutOfPlace},
      {{"torchvision.models.efficientnet.EfficientNet", "torchvision.ops.misc.SqueezeExcitation"},
       "activation",
       ActivationHabit::kInPlace},
      {{"timm.models.nfnet.NormFreeBlock"}, "act1", ActivationHabit::kOutOfPlace},
      {{"timm.models.nfnet.NormFreeBlock"}, "act2", ActivationHabit::kInPlace},
      // Blocks of MONAI do as their net asks; without a net that says anything they do not.
      {{"monai.networks.nets.resnet.ResNet", "monai.networks.blocks.convolutions.Convolution"},
       "A",
       ActivationHabit::kInPlace},
      {{"mine.Net", "monai.networks.blocks.convolutions.Convolution"}, "A", ActivationHabit::kOutOfPlace},
      {{"mine.Net", "torch.nn.modules.activation.ReLU"}, "relu", ActivationHabit::kUnknown},
      {{}, "relu", ActivationHabit::kUnknown},
  };
  for (const Row& row : rows) {
    CAPTURE(row.classes.size());
    CHECK(ActivationHabitOf(row.classes, row.leaf) == row.habit);
  }
}

TEST_CASE("habits: of a library") {
  CHECK(IsOfLibraryWith("transformers.models.gpt2.modeling_gpt2.GPT2Model", Effect::kSkipsMasks));
  CHECK_FALSE(IsOfLibraryWith("timm.models.resnet.ResNet", Effect::kSkipsMasks));
}

TEST_CASE("habits: every library is read in a version, and its rows are about it") {
  std::set<std::string_view> names;
  for (const Library& library : Libraries()) {
    CAPTURE(library.name);
    CHECK(names.insert(library.name).second);
    CHECK(library.version.empty() == library.name.empty());
    CHECK(library.classes.size() + library.frames.size() + library.names.size() > 0);
    for (const ClassHabit& habit : library.classes) CHECK(habit.of.starts_with(library.name));
    for (const FrameHabit& habit : library.frames) {
      CHECK_FALSE(habit.children.empty());
      CHECK_FALSE(habit.names.empty());
    }
    for (const NameHabit& habit : library.names) CHECK_FALSE(habit.name.empty());
  }
}

// What libraries do is known in one place.
TEST_CASE("habits: no class of a library stands in a string of other rooms") {
  namespace fs = std::filesystem;
  const std::regex named(
      R"re("[^"\n]*\b(torchvision|timm|monai|transformers|diffusers|segmentation_models_pytorch|ultralytics|torch_geometric)\.[a-z][^"\n]*")re");
  const fs::path root = VRAMPLAN_SOURCE_DIR;
  int files = 0;
  // Not reports, which write code for people.
  for (const char* folder :
       {"graph/base", "graph/facts", "graph/ir", "graph/layers", "graph/lift", "graph/onnx", "graph/programs",
        "graph/pt2", "graph/shapes", "planner/allocator", "planner/lifetimes", "planner/remat", "planner/runtimes",
        "planner/semantics", "planner/solver", "planner/spec", "planner/timeline"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      ++files;
      std::ifstream file(entry.path());
      std::string line;
      while (std::getline(file, line)) {
        if (const size_t comment = line.find("//"); comment != std::string::npos) line.resize(comment);
        // The tool that wrote a file is not a class.
        if (line.find("onnxruntime.transformers") != std::string::npos) continue;
        // Nor is an operator.
        const bool row = line.find("{\"torchvision.") != std::string::npos ||
                         line.find("{\"transformers.grouped_mm") != std::string::npos;
        if (row && entry.path().filename() == "aten.cc") continue;
        CHECK_MESSAGE(!std::regex_search(line, named), entry.path().string() << ": " << line);
      }
    }
  }
  CHECK(files > 200);
}

// The same of names of modules and parameters, as far as they are nobody's common words.
TEST_CASE("habits: no name that is a habit stands in a string of other rooms") {
  namespace fs = std::filesystem;
  std::set<std::string> names;
  for (const Library& library : Libraries()) {
    for (const NameHabit& habit : library.names) {
      if (habit.of == NameHabit::Of::kCheckpoint) continue;  // code, not a name
      for (const std::string_view name : {habit.name, habit.with}) {
        const bool own = name.size() > 5 && name.find_first_of("._") != std::string_view::npos;
        if (own) names.insert("\"" + std::string(name) + "\"");
      }
    }
  }
  for (const Reparametrization& form : kReparametrizations) {
    for (const std::string_view name : form.operands)
      if (!name.empty()) names.insert("\"" + std::string(name) + "\"");
  }
  CHECK(names.size() > 25);
  std::string found;
  for (const char* folder :
       {"graph/layers", "graph/lift", "planner/lifetimes", "planner/semantics", "planner/timeline"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(VRAMPLAN_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      std::ifstream file(entry.path());
      std::string line;
      while (std::getline(file, line)) {
        if (const size_t comment = line.find("//"); comment != std::string::npos) line.resize(comment);
        if (line.find(" source.Parameter(") != std::string::npos ||
            line.find("{source.Parameter(") != std::string::npos)
          continue;  // a name that the file has lost
        for (const std::string& name : names) {
          if (line.find(name) != std::string::npos) found += entry.path().string() + ": " + line + "\n";
        }
      }
    }
  }
  CHECK(found == "");
}

TEST_CASE("habits: a name is its library's, where the file has classes") {
  const auto of = NameHabit::Of::kCrossAttention;
  CHECK(HabitOfName("layers.0.encoder_attn", of, "") != nullptr);
  CHECK(HabitOfName("layers.0.encoder_attn", of, "transformers.models.bart.modeling_bart.BartDecoderLayer") != nullptr);
  CHECK(HabitOfName("layers.0.encoder_attn", of, "mine.Attention") == nullptr);
  CHECK(HabitOfName("layers.0.encoder_attn.inner", of, "") == nullptr);
  CHECK(HabitWithin("encoder.block.0.layer.1", NameHabit::Of::kClamped, "") != nullptr);
  CHECK(HabitWithin("encoder.layer.1", NameHabit::Of::kClamped, "") == nullptr);
}

}  // namespace
}  // namespace vramplan
