// Settings: what an answer was computed with, a row an option (SpecRow): the lines "given: ..." and "assumed: ..." of a
// text, and "spec" of the JSON. Rows of options add themselves (OptionRow::show).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/answers/choose_device.h"
#include "planner/cli/options.h"
#include "planner/report/estimate.h"

namespace vramplan {

// What a row is made from, and where it goes. `flag`: whose turn it is, without its dashes.
struct SettingsRows {
  const Options& options;
  const TrainingSpec& spec;
  const AnswerHead& head;
  const std::optional<ChosenDevice>& chosen;
  const ContextBand& context;
  std::string flag = {};
  std::vector<SpecRow> rows = {};

  SpecRow& Add(Json value, std::string text);
  SpecRow& Name(std::string_view name) { return Also(flag, name); }
  SpecRow& Number(int64_t number) { return Add(number, std::to_string(number)); }
  SpecRow& Real(double number);
  SpecRow& Size(Bytes bytes) { return Add(bytes, ToString(bytes)); }
  void List(const std::vector<std::string>& names, std::string shown = "");  // nothing of none; "": the first of them
  // Of another name than the option's.
  SpecRow& Also(std::string option, std::string_view name);

  bool Trains() const { return spec.mode == Mode::kTrain; }
  bool Updates() const { return Trains() && spec.optimizer != Optimizer::kNone; }
  bool RunsOn(unsigned runtimes) const { return (runtimes >> static_cast<unsigned>(spec.framework.runtime) & 1U) != 0; }
};

// The spec rows of an answer. `spec` is what the step was laid out with; what it leaves to PyTorch is `auto` in it. A
// probability, "assumed": no option and no fact says it.
std::vector<SpecRow> SpecRows(const Options& options, const TrainingSpec& spec, const AnswerHead& head,
                              const std::optional<ChosenDevice>& chosen, const ContextBand& context);

}  // namespace vramplan
