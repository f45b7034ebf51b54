// ChooseDevice: the card that a question is about: one of the catalogue, a bare size, what a profile was measured on,
// or a card of this machine.
//
//   --gpu t4      Tesla T4, 14.56 GiB usable
//   --gpu auto    this machine's T4: 15.00 GiB usable, of which others hold 600 MiB now; the profile that calibrate
//                 stored of it, when there is one
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuda_probe/probe.h"
#include "graph/base/note.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/answers/question.h"
#include "planner/report/verdict.h"
#include "planner/solver/time_model.h"
#include "planner/spec/device.h"

namespace vramplan {

// A card, or a size, as a plan sees it.
struct ChosenDevice {
  std::string id;  // of the catalogue; empty for a bare size
  Device device;
  Capability capability;
  bool capability_assumed = false;  // of a bare size: UsualCapability of the question
  int multiprocessors = 0;
  bool nvidia = true;
  Rates rates;
  bool rates_known = false;                              // false: those of a T4
  std::shared_ptr<const MeasuredWorkspaces> workspaces;  // of the profile; null: none
  std::string profile;                                   // the file, given or found in the store; empty: none
  std::optional<CardFacts> facts;                        // of a card of this machine (--gpu auto)
  Notes notes;
};

// What is assumed where no card is named: 7.5, and 8.0 of a step in bf16, which is emulated below.
Capability UsualCapability(const TrainingSpec& spec);

// `card` with what the question says in place of it.
ChosenDevice DeviceOf(const Card& card, const Question& question);

// The cards of a question about several: of "all" those that the framework runs on, as the catalogue lists them; of
// "t4,a10,l4" those three. Errors: an unknown or ambiguous one, or one that is named twice.
Result<std::vector<const Card*>> CardsAsked(const Question& question);
// The cards among which the smallest that holds a step is looked for, the smallest first: those that were named, else
// NVIDIA's that the framework runs on.
std::vector<const Card*> SmallestFirst(const Question& question);
// "GeForce RTX 3090 (--gpu rtx-3090)": the smallest card on which the verdict is not kDoesNotFit, of those that the
// question is about, or of all.
std::optional<std::string> SmallestThatHolds(const Question& question,
                                             const std::function<Verdict(const Device&)>& verdict);
// What is to be said of these cards: that PyTorch emulates bf16 on one, has no wheel for it, or that it is AMD's; with
// --gpu all, which cards are left out.
void NoteCards(const Question& question, const std::vector<const Card*>& cards, Notes* notes);

// What --gpu, --gpu-memory or --profile name; nothing when none is given. `machine` is asked for --gpu auto only.
// Errors: an unknown or ambiguous card, a profile that cannot be read or is of another one, no card here.
Result<std::optional<ChosenDevice>> ChooseDevice(const Question& question, Probe* machine);

// Whether --gpu means a card of this machine: "auto", "auto:1".
bool IsAuto(const std::string& gpu);
// That card: of several the one with the most free memory. Errors: no such number, no card at all.
Result<CardFacts> PickCard(const std::string& gpu, Probe* machine);
// The row of the catalogue that is this card: by its name, or by capability, multiprocessors and size. A slice of a
// card (MIG) has none.
std::optional<Card> CatalogueCardOf(const CardFacts& facts);

// Cards of one generation run the same step, and only what fits there differs: capability and multiprocessors are all
// that SpecOn takes from the catalogue.
using Generation = std::pair<Capability, int>;
Generation GenerationOf(const ChosenDevice& chosen);

// The spec as the step on this card runs it.
TrainingSpec SpecOn(const ChosenDevice& chosen, const TrainingSpec& spec);
// The spec of the question: its capability, then the card's, when there is one.
TrainingSpec SpecOf(const Question& question, const std::optional<ChosenDevice>& chosen);
// The CUDA context: the card's, else the one that is given, else what such a card and version have.
ContextBand ContextFor(const Question& question, const std::optional<ChosenDevice>& chosen, const TrainingSpec& spec);

}  // namespace vramplan
