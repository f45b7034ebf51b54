#include "planner/report/snippets/snippet_freeze.h"

namespace vramplan {
namespace {

// A literal of Python, whatever the user typed.
std::string Literal(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += std::string("\\") + c;
    } else if (byte < ' ' || byte == 0x7f) {
      quoted += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

constexpr const char* kFreeze = R"(

def _names(name):
    # The file may name parameters with the path of a wrapper in front, and so may the model.
    wrappers = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
    plain = ".".join(part for part in name.split(".") if part not in wrappers).removeprefix(PREFIX)
    parts = PREFIX.split(".")[:-1]
    return [".".join(parts[first:] + [plain]) for first in range(len(parts) + 1)]


def freeze(model):
    """Sets requires_grad of each parameter as the plan has it and returns the model."""
    missing = [glob for glob, _ in TRAINED]
    for name, parameter in model.named_parameters():
        for glob, is_trained in TRAINED:
            if any(fnmatch.fnmatchcase(each, glob) for each in _names(name)):
                parameter.requires_grad_(is_trained and parameter.is_floating_point())
                missing = [each for each in missing if each != glob]
    if missing:
        raise KeyError("no parameter of the model is called " + ", ".join(missing))
    return model


def trained(model):
    """The parameters for the optimizer: those that are not frozen."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
)";

constexpr const char* kFreezeKeras = R"(

def freeze(model):
    """After the model is built and before compile(): which variables are trained."""
    for variable in list(model.trainable_variables):
        for glob, is_trained in TRAINED:
            if fnmatch.fnmatchcase(variable.path.replace("/", "."), glob):
                variable.trainable = is_trained
)";

}  // namespace

std::string TrainedInPython(const TrainedPart& part) {
  if (part.patterns.empty()) return "";
  std::string text =
      "# Which parameters are trained, by globs over their names: the last that matches decides.\nTRAINED = [";
  for (const TrainedPattern& pattern : part.patterns) {
    text += "\n    (" + Literal(WithoutWrappers(pattern.glob)) + ", " + (pattern.trained ? "True" : "False") + "),";
  }
  return text + "\n]\n";
}

std::string FreezeInPython(const TrainedPart& part) {
  if (part.patterns.empty()) return "";
  return "# In front of all names of the file.\nPREFIX = " + Literal(part.prefix) + "\n" + kFreeze;
}

std::string FreezeInKeras(const TrainedPart& part) { return part.patterns.empty() ? "" : kFreezeKeras; }

std::string FreezeRemark(const TrainedPart& part) {
  if (part.patterns.empty()) return "";
  return "# the plan trains a part of the model: model = freeze(model) of --emit pytorch, before the optimizer is "
         "made\n";
}

}  // namespace vramplan
