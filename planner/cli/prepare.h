// Prepare: the stages that every verb about a step shares: the file becomes Layers, the options a batch, a card and a
// spec.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "graph/lift/layers.h"
#include "graph/shapes/infer.h"
#include "planner/cli/options.h"
#include "planner/report/estimate.h"
#include "planner/solver/time_model.h"
#include "planner/spec/device.h"

namespace vramplan {

// A card, or a size, as a plan sees it.
struct ChosenDevice {
  std::string id;  // of the catalogue; empty for a bare size
  Device device;
  Capability capability;
  int multiprocessors = 0;
  bool nvidia = true;
  Rates rates;
  bool rates_known = false;                              // false: those of a T4
  std::shared_ptr<const MeasuredWorkspaces> workspaces;  // of --profile; null: none
};
// `card` with the options that override it.
ChosenDevice DeviceOf(const Card& card, const Options& options);
// What --gpu or --gpu-memory name; nothing when neither is given. Errors: an unknown or ambiguous card.
Result<std::optional<ChosenDevice>> ChooseDevice(const Options& options);
// The spec as the step on this card runs it.
TrainingSpec SpecOn(const ChosenDevice& chosen, const TrainingSpec& spec);
// The spec of the options: --capability, then the card's, when there is one.
TrainingSpec SpecOf(const Options& options, const std::optional<ChosenDevice>& chosen);

// --allocator-conf on this card: its fractions are of what the card has, context and reserve included.
AllocatorConfig AllocatorOn(const Device& device, const AllocatorConfig& given);

struct Prepared {
  Graph graph;
  Binding binding;
  Layers layers;
  StepQuestion question;  // without the spec rows
  Notes notes;
};
Result<Prepared> Prepare(const Options& options);

// The options that act, given ones and assumed ones.
std::vector<SpecRow> SpecRows(const Options& options, const TrainingSpec& spec, const StepQuestion& question,
                              const std::optional<ChosenDevice>& chosen, const ContextBand& context);

}  // namespace vramplan
