// Habits: what the code of libraries is known to do and an exported file does not say. One table a library, read in the
// version that it names; the file is the one in the class's name.
//
//   torchvision.models.resnet.BasicBlock          adds in place: out += identity
//   torchvision.models.segmentation.fcn.FCNHead   acts out of place: nn.ReLU()
//   children W_g W_x relu psi (MONAI)             keeps W_g's and W_x's results under names to the end of its forward
//
// A habit acts only on what it is about: a class habit on classes with that name, a frame habit on classes of its
// library (in files without classes on any frame that calls these children), a name habit where that name stands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramplan {

enum class Effect : uint8_t {
  kActsInPlace,      // functions with an `inplace` argument overwrite their input: nn.ReLU(inplace=True)
  kActsOutOfPlace,   // they do not
  kActsAsItsCaller,  // the class around it decides
  kAddsInPlace,      // every sum of its forward is x += y, where it made x; of exactly this class
  kSkipsMasks,       // attention gets no mask where the mask would hide nothing, or only what is_causal hides
};

// The longest `of` that a class begins with counts.
struct ClassHabit {
  std::string_view of;  // a class, or the beginning of some
  Effect effect;
  std::string_view only = {};    // for modules of this name alone
  std::string_view within = {};  // inside a class that begins so
};

// How a forward names its values. `children`: what the frame must call, in this order, "blocks.#" for the modules of a
// list, ":pad" for an operator of its own, "!act1" for what it must not call. `names`: one name after another, by
// commas; a name is what it is written with, in turn, ":add@2" being the second sum, ":add@-1" the last; "+" in front:
// a list, which keeps all that it was given; "<" behind: not what the statement makes but what it reads.
struct FrameHabit {
  std::string_view children, names;
};

struct NameHabit {
  enum class Of : uint8_t {
    kFreshSums,       // a module of this name adds by index into zeros that it makes
    kCrossAttention,  // a module of this name reads the encoder's last state, which the model returns beside its logits
    kCheckpoint,      // code that calls this runs what it calls under torch.utils.checkpoint
    kProductOf,       // a parameter NAME + `name` times NAME + `with` is an attribute until the next forward
    // Names of a frame, by the last name of the module whose result they hold until it returns, or by part of a path:
    kNamedFeatures,  // features = self.backbone(x): whatever of it is read outside
    kNamedPatches,   // x = self.patch_embed(x); x = self._pos_embed(x), which joins and adds in a method of its own
    // Arithmetic of halves that an export in fp32 does not show:
    kHalvesOfT5,  // a model with this module clamps in fp16, and its norms take the type of their weight
    kClamped,     // the module at NAME.0`with`.1 clamps its sum, in such a model
    // Copies and what is kept:
    kDenseBias,    // this is a table of position biases, looked up by `with`
    kCachedIndex,  // an index into this parameter is computed once for all forwards of evaluation
    // What is not trained:
    kPublished,    // a network with this parameter and `with` is published with weights, or one of this name is loaded
    kPublishedIn,  // a published network has all but its head in a child of this name
    // Arithmetic in place in files without classes, by part of the path of their module:
    kHeadOutOfPlace,    // a ReLU behind a batch norm in there is out of place
    kNormThenInPlace,   // a function's ReLU behind this norm is in place
    kSumThenInPlace,    // what this module made is added in place: result += input
    kGateOfExcitation,  // the gate of a squeeze and excitation, whose blocks add in place
  };
  std::string_view name;
  Of of;
  std::string_view with = {};
};

struct Library {
  std::string_view name;     // what its classes begin with; empty: code that people copy
  std::string_view version;  // that was read
  std::span<const ClassHabit> classes;
  std::span<const FrameHabit> frames;
  std::span<const NameHabit> names;
};

std::span<const Library> Libraries();

// Whether exactly this class has this habit.
bool HasHabit(std::string_view class_name, Effect effect);

// Whether the class is of a library that was read.
bool IsOfAnyLibrary(std::string_view class_name);

// Whether this class begins as one with this habit does: a whole library's, "transformers.".
bool IsOfLibraryWith(std::string_view class_name, Effect effect);

// How activations behave in the module whose classes these are, outermost first; `leaf`: what the innermost is called.
// kUnknown: of no library that was read.
enum class ActivationHabit : uint8_t { kUnknown, kInPlace, kOutOfPlace };
ActivationHabit ActivationHabitOf(const std::vector<std::string_view>& classes, std::string_view leaf);

// The names with this habit, of all libraries.
std::vector<NameHabit> NamesWith(NameHabit::Of of);

// The habit `of` of the name that `path` ends with; null: it has none. `class_name`: of the module that it is about; of
// another library's the habit says nothing, empty: the file does not tell. (Layers tell: graph/lift/habit_of.h.)
const NameHabit* HabitOfName(std::string_view path, NameHabit::Of of, std::string_view class_name);
// The same of a name somewhere in `path`.
const NameHabit* HabitWithin(std::string_view path, NameHabit::Of of, std::string_view class_name);

}  // namespace vramplan
