// Habits: what the code of libraries is known to do and an exported file does not say. One table a library, read in the
// version that it names; the file is the one in the class's name.
//
//   torchvision.models.resnet.BasicBlock          adds in place: out += identity
//   torchvision.models.segmentation.fcn.FCNHead   acts out of place: nn.ReLU()
//   children W_g W_x relu psi (MONAI)             keeps W_g's and W_x's results under names to the end of its forward
//   a module called aggr_module (PyG)             adds into zeros of its own: src.new_zeros(size).scatter_add_(...)
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
  kActsInPlace,        // functions with an `inplace` argument overwrite their input: nn.ReLU(inplace=True)
  kActsOutOfPlace,     // they do not
  kActsAsItsCaller,    // the class around it decides
  kAddsInPlace,        // every sum of its forward is x += y, where it made x; of exactly this class
  kMultipliesInPlace,  // x.mul_(x.sigmoid()); of exactly this class
  kDividesInPlace,     // noise.div_(survival rate); of exactly this class
  kSkipsMasks,         // attention gets no mask where the mask would hide nothing, or only what is_causal hides
  kHalvesOfT5,         // the model clamps sums in fp16 and casts to its weights' type; of exactly this class
  kNormsByWeightType,  // RMSNorm: x * rsqrt(mean of x.float() squared), then to the weight's type, not to x's
  kWholeNormGoesBack,  // RMSNorm: (weight * x.float() * rsqrt(...)) to x's type; of exactly this class
  kSumGoesBack,        // a sum of its forward goes back to the type of its first summand; of exactly this class
  kTurnGoesBack,       // rotary embeddings give queries and keys their own type back; of exactly this class
  kBiasBeforeCall,     // window attention computes its position bias in front of the function that it calls
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
    kNamedResult,      // position_embeds = self.wpe(position_ids)
    kNamedFeatures,    // features = self.backbone(x): whatever of it is read outside
    kPoppedFeatures,   // x += x_down.pop(0), of what NAME.0`with` made: features are not kept, and sums are in place
    kNamedEmbeddings,  // embedding_output = self.embeddings(...): whatever of it is read in its caller's frame
    kNamedPatches,     // x = self.patch_embed(x); x = self._pos_embed(x), which joins and adds in a method of its own
    kTurnsBoth,        // a model with this module turns queries and keys in one call, and both names stay until then
    // Shapes of what nothing reads, which the dynamo exporter leaves out:
    kShapedLike,     // it is as large as `with` beside it
    kMeanOfNoise,    // a noisy layer adds to this parameter the product of the parameter and the buffer `with`
    kNumbersRowsOf,  // this buffer [1, rows] numbers the rows of the table `with` beside it
    kFrequencies,    // this buffer holds rotary frequencies, one for two channels of a head
    // Arithmetic of halves that an export in fp32 does not show:
    kHalvesOfT5,    // a model with this module clamps in fp16, and its feed forward casts to the type of its weight
    kClamped,       // the module at NAME.0`with`.1 clamps its sum, in such a model
    kCastToWeight,  // this linear's operand gets the type of its weight, in such a model
    kNormGoesBack,  // a class of this name norms x.float() and returns the type of x
    // Copies and what is kept:
    kDenseBias,    // this table of position biases, looked up by `with`, is made contiguous where it was permuted
    kCachedIndex,  // an index into this parameter is computed once for all forwards of evaluation
    // What is not trained:
    kPublished,    // a network with this parameter and `with` is published with weights, or one of this name is loaded
    kPublishedIn,  // a published network has all but its head in a child of this name
    kTrainOnly,    // a module whose name begins so runs in model.train() only
    // Activations in files without classes, by part of the path of their module:
    kModelOutOfPlace,         // a model with such a module makes ReLUs without arguments
    kReluOutOfPlace,          // a ReLU of this name is out of place, but directly in a list `with`
    kHeadOutOfPlace,          // a ReLU behind a batch norm in there is out of place
    kDecoderOutOfPlace,       // the ReLUs of the module around that are out of place
    kNormThenInPlace,         // a function's ReLU behind this norm is in place
    kSumThenInPlace,          // what this module made is added in place: result += input
    kEnlargedThenInPlace,     // what this module of a decoder made, too: x = NAME(x); x += skip
    kGateOfExcitation,        // the gate of a squeeze and excitation, whose blocks add in place
    kActivationOfExcitation,  // the activation behind `with` in it, out of place
    kClassifierInPlace,       // hardswish and dropout in there are in place
    kNormFreeInPlace,         // a SiLU of this name behind a convolution is in place
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
