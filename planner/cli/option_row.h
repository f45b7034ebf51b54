// OptionRow: all that is known of one option, in one place. Parser, --help, completion, the manual page, what reads it,
// and the settings that an answer tells ("given: ...", JSON's "spec") are made of these rows.
//
//   {"--loss-on", "N|NAME|all", "the output that the loss is of, ...", kPlan, kLoop, Text<&TrainingSpec::loss_on>}
//
// A new option is one row, in the file of its part: step_options.cc (the model, the loop, what a file does not say),
// framework_options.cc, card_options.cc, run_options.cc (what runs something), answer_options.cc (search and answer).
// What an option has to do with another one is in options.cc.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "planner/cli/options.h"
#include "planner/cli/read_size.h"
#include "planner/cli/typed_values.h"

namespace vramplan {

// What an option is about, in the order in which the help lists them.
enum class OptionGroup : uint8_t { kCard, kModel, kLoop, kSearch, kScript, kFramework, kUnknown, kAnswer };
inline constexpr std::string_view kOptionGroups[] = {
    "the card",      "the model and its inputs", "the training loop", "the search", "the run",
    "the framework", "what a file does not say", "the answer"};

struct SettingsRows;

constexpr unsigned Bit(Runtime runtime) { return 1U << static_cast<unsigned>(runtime); }
inline constexpr unsigned kEveryRuntime = 0xF, kPyTorchAlone = Bit(Runtime::kPyTorch),
                          kOrt = Bit(Runtime::kOnnxRuntime), kPools = Bit(Runtime::kTensorFlow) | Bit(Runtime::kJax),
                          kTrainers = kEveryRuntime & ~kOrt;
constexpr unsigned Bit(Mode mode) { return 1U << static_cast<unsigned>(mode); }
inline constexpr unsigned kEveryMode = 0xF, kTraining = Bit(Mode::kTrain),
                          kMakesGradients = kTraining | Bit(Mode::kEval);
inline constexpr int64_t kMostSteps = 1000000;

struct OptionRow {
  const char* flag;      // "--batch"
  const char* argument;  // "N"; empty: it takes none
  const char* text;      // what it does, and its default
  unsigned verbs;        // bit 1 << verb
  OptionGroup group;
  Status (*read)(const Typed& typed, Options* options);
  void (*show)(SettingsRows* rows) = nullptr;     // adds it to the settings of an answer; null: it is none
  std::vector<std::string> (*words)() = nullptr;  // its values, where they are words
  unsigned runtimes = kEveryRuntime;              // that know it
  unsigned modes = kEveryMode;                    // in which it changes anything
  bool repeats = false;
  bool first = false;  // people use it first: --help shows it, and the others by --help all
  bool is_flag() const { return *argument == '\0'; }

  // With another value of a member. It stands before those that call it: clang makes a template of a class in that order.
  template <typename T>
  constexpr OptionRow With(T OptionRow::*member, std::type_identity_t<T> value) const {
    OptionRow row = *this;
    row.*member = value;
    return row;
  }
  constexpr OptionRow Shown(void (*how)(SettingsRows*)) const { return With(&OptionRow::show, how); }
  constexpr OptionRow Words(std::vector<std::string> (*of)()) const { return With(&OptionRow::words, of); }
  constexpr OptionRow Of(unsigned some) const { return With(&OptionRow::runtimes, some); }
  constexpr OptionRow In(unsigned some) const { return With(&OptionRow::modes, some); }
  constexpr OptionRow Repeats() const { return With(&OptionRow::repeats, true); }
  constexpr OptionRow First() const { return With(&OptionRow::first, true); }
};

// Every option, in the order in which they are read and shown; the help sorts them by group.
const std::vector<OptionRow>& OptionRows();
inline bool TakenBy(const OptionRow& row, Verb verb) { return (row.verbs >> static_cast<unsigned>(verb) & 1U) != 0; }

// The parts that OptionRows() is made of.
std::span<const OptionRow> StepOptions();
std::span<const OptionRow> FrameworkOptions();
std::span<const OptionRow> CardOptions();
std::span<const OptionRow> RunOptions();
std::span<const OptionRow> AnswerOptions();

// Verbs of a row.
namespace verbs {
constexpr unsigned Of(std::initializer_list<Verb> some) {
  unsigned bits = 0;
  for (const Verb verb : some) bits |= 1U << static_cast<unsigned>(verb);
  return bits;
}
using enum Verb;
// What the plan decides or does not know.
inline constexpr unsigned kAsked = Of({kEstimate, kFit, kTrace, kValidate, kWatch, kExplain, kCompare, kSweep, kDiff});
inline constexpr unsigned kStep = kAsked | Of({kPlan});              // they lay out a step,
inline constexpr unsigned kAway = kStep & ~Of({kValidate, kWatch});  // and do not see it on a card of this machine
inline constexpr unsigned kAround = kAway;                           // what a script does beside its loop
inline constexpr unsigned kGraph = kStep | Of({kInspect});
inline constexpr unsigned kBound = kGraph | Of({kCalibrate});                // they read a graph
inline constexpr unsigned kRuntimes = Of({kEstimate, kFit, kSweep, kDiff});  // what PyTorch's planner does not know
inline constexpr unsigned kDraws = Of({kEstimate, kFit, kPlan, kExplain, kRun});
inline constexpr unsigned kEach = kGraph | Of({kGpus, kModels, kReplay, kProbe});
}  // namespace verbs

// Readers. An empty value would be taken for an option that was left out. `member` is one of Options, or of a struct that
// is part of it, which Part() finds: Flag, Text and Texts put the value there as it stands, and Into<member, parse> what
// `parse` makes of it, which takes (Typed), (Typed, Notes*) or (std::string).
template <typename Whole, typename T>
T& Part(T Whole::*member, Options* options) {
  if constexpr (std::is_same_v<Whole, Options> || std::is_same_v<Whole, Question>)
    return options->*member;
  else if constexpr (std::is_same_v<Whole, TrainingSpec>)
    return options->spec.*member;
  else if constexpr (std::is_same_v<Whole, Surroundings>)
    return options->spec.around.*member;
  else if constexpr (std::is_same_v<Whole, OnnxRuntimeOptions>)
    return options->spec.ort.*member;
  else if constexpr (std::is_same_v<Whole, PoolOptions>)
    return options->spec.pool.*member;
  else if constexpr (std::is_same_v<Whole, BindOptions>)
    return options->bind.*member;
  else if constexpr (std::is_same_v<Whole, PutBack>)
    return options->put_back.*member;
  else if constexpr (std::is_same_v<Whole, PlanWishes>)
    return options->wishes.*member;
  else if constexpr (std::is_same_v<Whole, RematWishes>)
    return options->remat.*member;
  else if constexpr (std::is_same_v<Whole, Script>)
    return options->script.*member;
  else if constexpr (std::is_same_v<Whole, LoaderQuestion>)
    return options->loader.*member;
  else if constexpr (std::is_same_v<Whole, std::remove_cvref_t<decltype(options->script.wishes)>>)
    return options->script.wishes.*member;
  else
    static_assert(!std::is_same_v<Whole, Whole>, "this struct is no part of Options: add a branch");
}

template <auto member>
Status Flag(const Typed& /*typed*/, Options* options) {
  Part(member, options) = true;
  return Done();
}
template <auto member>
Status Text(const Typed& typed, Options* options) {
  if (typed.text().empty()) return Wrong(typed.flag, "its value is empty", "leave it out, or give one");
  Part(member, options) = typed.text();
  return Done();
}
template <auto member>
Status Texts(const Typed& typed, Options* options) {
  Part(member, options) = typed.values;
  return Done();
}
template <auto member, auto parse>
Status Into(const Typed& typed, Options* options) {
  auto parsed = [&] {
    if constexpr (std::is_invocable_v<decltype(parse), const Typed&, Notes*>)
      return parse(typed, &options->notes);
    else if constexpr (std::is_invocable_v<decltype(parse), const Typed&>)
      return parse(typed);
    else
      return parse(typed.text());
  }();
  if (!parsed.ok()) return parsed.error();
  Part(member, options) = *std::move(parsed);
  return Done();
}

}  // namespace vramplan
