#include "planner/answers/choose_device.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "planner/answers/profile_store.h"
#include "planner/report/json/profile_json.h"
#include "planner/runtimes/runtime.h"
#include "planner/spec/nearest.h"
#include "planner/spec/wheels.h"

namespace vramplan {
namespace {

constexpr std::string_view kAuto = "auto";

// What the runtime's allocator may take once its context is there.
void TakePool(const Question& question, ChosenDevice* chosen) {
  const Device& device = chosen->device;
  chosen->device.pool =
      PoolOn(question.spec, device.usable, device.usable - device.context.likely - device.reserve - device.held,
             chosen->capability);
}

// A card of this machine, and what others hold of it: all of what CUDA calls its total that is not free.
Result<ChosenDevice> MachineDevice(const Question& question, Probe* machine) {
  Result<CardFacts> facts = PickCard(question.gpu, machine);
  if (!facts.ok()) return facts.error();
  Card card;
  if (std::optional<Card> known = CatalogueCardOf(*facts)) card = *std::move(known);
  card.name = facts->name;
  card.usable = facts->usable;
  card.capability = {facts->capability_major, facts->capability_minor};
  card.multiprocessors = facts->multiprocessors;
  card.source = "this machine's card " + std::to_string(facts->index);
  ChosenDevice chosen = DeviceOf(card, question);
  if (facts->free) {
    chosen.device.held = std::max(Bytes(), facts->usable - *facts->free);
  } else {
    const Result<std::unique_ptr<CardSession>> session = machine->Open(facts->index);
    if (!session.ok()) return session.error();
    const Result<CardSession::Memory> memory = (*session)->Free();
    if (!memory.ok()) return memory.error();
    chosen.device.held = std::max(Bytes(), memory->total - memory->free);
    chosen.notes.Add({"held-with-context", Severity::kWarning, "--gpu",
                      "the driver reports free memory only to a process with a context, so vramplan's own context "
                      "counts as held by others",
                      ""});
  }
  chosen.facts = *std::move(facts);
  return chosen;
}

// --gpu or --gpu-memory, or the card that was measured.
Result<std::optional<ChosenDevice>> NamedDevice(const Question& question, const std::optional<Profile>& profile,
                                                Probe* machine) {
  if (IsAuto(question.gpu)) {
    Result<ChosenDevice> found = MachineDevice(question, machine);
    if (!found.ok()) return found.error();
    return std::optional(*std::move(found));
  }
  if (!question.gpu.empty()) {
    const Result<Card> card = FindCard(question.gpu);
    if (!card.ok()) return card.error();
    ChosenDevice chosen = DeviceOf(*card, question);
    NoteCards(question, {&*card}, &chosen.notes);
    if (question.gpu_memory > card->usable) {
      chosen.notes.Add({"more-than-usable", Severity::kWarning, "--gpu-memory",
                        ToString(*question.gpu_memory) + " is more than a program gets on a " + card->name + ": " +
                            ToString(card->usable),
                        "leave --gpu-memory out"});
    }
    return std::optional(std::move(chosen));
  }
  Card bare;
  if (profile) {
    bare.name = profile->name;
    bare.usable = profile->usable;
    bare.source = "measured, " + question.profile;
    bare.capability = profile->capability;
    bare.multiprocessors = profile->multiprocessors;
    return std::optional(DeviceOf(bare, question));
  }
  if (!question.gpu_memory) return std::optional<ChosenDevice>();
  bare.name = "a card of " + ToString(*question.gpu_memory);
  const TrainingSpec defaults;
  bare.capability = UsualCapability(question.spec);
  bare.multiprocessors = defaults.multiprocessors;
  ChosenDevice chosen = DeviceOf(bare, question);
  chosen.capability_assumed = !question.capability;
  return std::optional(std::move(chosen));
}

// What was measured replaces what the catalogue says.
void Apply(const Profile& profile, const std::string& file, const Question& question, ChosenDevice* chosen) {
  chosen->profile = file;
  if (profile.context && !question.context) chosen->device.context = *profile.context;
  TakePool(question, chosen);
  if (profile.rates) {
    chosen->rates = *profile.rates;
    chosen->rates_known = true;
  }
  if (!profile.convolutions.empty())
    chosen->workspaces = std::make_shared<const MeasuredWorkspaces>(WorkspacesOf(profile));
}

// What is kept for others leaves something.
Status CheckReserve(const Question& question, const ChosenDevice& chosen) {
  if (question.reserve < chosen.device.usable || question.reserve == Bytes()) return Done();
  return Error{ErrorCode::kUsage, "--reserve",
               ToString(question.reserve) + " for others leaves nothing of the " + ToString(chosen.device.usable) +
                   " (" + chosen.device.name + ")",
               "type a smaller size, for example --reserve 500MiB"};
}

}  // namespace

Result<std::vector<const Card*>> CardsAsked(const Question& question) {
  std::vector<const Card*> asked;
  if (question.gpu == "all") {
    for (const Card& card : Cards()) {
      if (Runs(card, question.spec.framework)) asked.push_back(&card);
    }
    return asked;
  }
  std::istringstream names(question.gpu);
  for (std::string name; std::getline(names, name, ',');) {
    const Result<Card> card = FindCard(name);
    if (!card.ok()) return card.error();
    const Card* row = &*std::ranges::find(Cards(), card->id, &Card::id);
    if (std::ranges::find(asked, row) != asked.end())
      return Error{ErrorCode::kUsage, "--gpu", InQuotes(name) + " is named twice", "name each card once"};
    asked.push_back(row);
  }
  return asked;
}

std::vector<const Card*> SmallestFirst(const Question& question) {
  if (question.gpu == "all" || !AsksOfMany(question.gpu)) return CardsFor(question.spec.framework);
  Result<std::vector<const Card*>> asked = CardsAsked(question);
  if (!asked.ok()) return {};
  std::ranges::stable_sort(*asked, [](const Card* a, const Card* b) { return a->usable < b->usable; });
  return *std::move(asked);
}

std::optional<std::string> SmallestThatHolds(const Question& question,
                                             const std::function<Verdict(const Device&)>& verdict) {
  Question on_card = question;
  on_card.gpu_memory.reset();
  for (const Card* card : SmallestFirst(on_card)) {
    const Verdict there = verdict(DeviceOf(*card, on_card).device);
    if (there == Verdict::kDoesNotFit) continue;
    return card->name + " (--gpu " + card->id + (there == Verdict::kTight ? ", tight)" : ")");
  }
  return std::nullopt;
}

void NoteCards(const Question& question, const std::vector<const Card*>& cards, Notes* notes) {
  const Framework framework = question.spec.framework;
  if (framework.runtime != Runtime::kPyTorch || !question.of_step) return;
  const auto capability = [&](const Card* card) { return question.capability.value_or(card->capability); };
  const auto old = [&](const Card* card) { return card->nvidia && capability(card) < LowestCapability(framework); };
  const std::string version = "PyTorch " + ToString(framework).substr(std::string("pytorch@").size());
  const auto before = [](const std::vector<const Card*>& of) {
    const auto newest = std::ranges::max_element(of, {}, &Card::capability);
    const std::optional<Framework> last = LastFor((*newest)->capability);
    return last ? "type --framework " + ToString(*last) : std::string();
  };
  if (question.gpu == "all") {
    std::vector<const Card*> left_out;
    for (const Card& card : Cards()) {
      if (!Runs(card, framework)) left_out.push_back(&card);
    }
    if (!left_out.empty()) {
      notes->Add({"cards-left-out", Severity::kNote, "--gpu",
                  std::to_string(left_out.size()) + " cards below capability " + ToString(LowestCapability(framework)) +
                      " are left out, because " + version + " has no wheel for them",
                  before(left_out)});
    }
  }
  const bool bf16 = RunsInBf16(question.spec.precision);
  std::vector<const Card*> without_wheel;
  std::string emulating;
  for (const Card* card : cards) {
    if (old(card)) without_wheel.push_back(card);
    if (bf16 && card->nvidia && capability(card) < Capability{8, 0})
      emulating += (emulating.empty() ? "" : ", ") + card->name;
  }
  if (!without_wheel.empty()) {
    std::string names;
    for (const Card* card : without_wheel) names += (names.empty() ? "" : ", ") + card->name;
    notes->Add({"no-wheel", Severity::kWarning, "--gpu",
                version + " has no wheel for capability below " + ToString(LowestCapability(framework)) + ": " + names,
                before(without_wheel)});
  }
  // torch/cuda/__init__.py, is_bf16_supported(including_emulation=True) is true there.
  if (!emulating.empty()) {
    notes->Add(
        {"emulated-bf16", Severity::kWarning, "--precision",
         "bf16 is emulated below capability 8.0, with the same bytes but without tensor cores: " + emulating,
         "type --precision " +
             std::string(Name(question.spec.precision == Precision::kBf16 ? Precision::kFp16 : Precision::kAmpFp16))});
  }
}

bool IsAuto(const std::string& gpu) {
  return gpu == kAuto || (gpu.starts_with(kAuto) && gpu.size() > kAuto.size() && gpu[kAuto.size()] == ':');
}

Result<CardFacts> PickCard(const std::string& gpu, Probe* machine) {
  Result<std::vector<CardFacts>> cards = machine->Cards();
  if (!cards.ok()) return cards.error();
  if (gpu.empty() || gpu == kAuto) {
    const auto free = [](const CardFacts& card) { return card.free.value_or(card.usable); };
    return *std::max_element(cards->begin(), cards->end(),
                             [&](const CardFacts& a, const CardFacts& b) { return free(a) < free(b); });
  }
  std::string_view number = gpu;
  number.remove_prefix(kAuto.size() + 1);
  int wanted = -1;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), wanted);
  const bool whole = status == std::errc() && end == number.data() + number.size();
  std::vector<std::string> numbers;
  for (CardFacts& card : *cards) {
    if (whole && card.index == wanted) return std::move(card);
    numbers.push_back(std::string(kAuto) + ":" + std::to_string(card.index));
  }
  return Error{ErrorCode::kUsage, "--gpu",
               InQuotes(gpu) + " is not a card of this machine, which has " + JoinChoices(numbers),
               "vramplan probe shows them"};
}

std::optional<Card> CatalogueCardOf(const CardFacts& facts) {
  if (facts.mig) return std::nullopt;
  const Capability capability{facts.capability_major, facts.capability_minor};
  if (const Result<Card> named = FindCard(facts.name); named.ok() && named->capability == capability) return *named;
  // "NVIDIA A100-SXM4-40GB" of a list that has it under another name. The nearest size, within a tenth: usable bytes of
  // one card differ by that much between drivers and with ECC.
  const Card* nearest = nullptr;
  const auto away = [&](const Card& card) {
    const Bytes difference = card.usable - facts.usable;
    return difference < Bytes() ? Bytes() - difference : difference;
  };
  for (const Card& card : Cards()) {
    if (!card.nvidia || card.capability != capability || card.multiprocessors != facts.multiprocessors) continue;
    if (away(card) * 10 > facts.usable) continue;
    if (nearest == nullptr || away(card) < away(*nearest)) nearest = &card;
  }
  return nearest == nullptr ? std::nullopt : std::optional(*nearest);
}

ChosenDevice DeviceOf(const Card& card, const Question& question) {
  ChosenDevice chosen;
  chosen.id = card.id;
  chosen.nvidia = card.nvidia;
  chosen.capability = question.capability.value_or(card.capability);
  chosen.multiprocessors = card.multiprocessors;
  chosen.rates = RatesOf(card, &chosen.rates_known);
  chosen.device.name = card.name;
  chosen.device.usable = question.gpu_memory.value_or(card.usable);
  chosen.device.resized = question.gpu_memory && chosen.device.usable != card.usable && card.usable > Bytes();
  chosen.device.source = question.gpu_memory ? "given with --gpu-memory" : card.source;
  chosen.device.context = question.context ? GivenContext(*question.context)
                                           : ContextOf(chosen.capability, question.spec.framework, card.nvidia);
  chosen.device.reserve = question.reserve;
  TakePool(question, &chosen);
  return chosen;
}

Result<std::optional<ChosenDevice>> ChooseDevice(const Question& question, Probe* machine) {
  std::optional<Profile> profile;
  if (!question.profile.empty()) {
    Result<Profile> read = ReadProfile(question.profile);
    if (!read.ok()) return read.error();
    profile = *std::move(read);
  }
  Result<std::optional<ChosenDevice>> found = NamedDevice(question, profile, machine);
  if (!found.ok() || !*found) return found;
  ChosenDevice& chosen = **found;
  if (const Status reserve = CheckReserve(question, chosen); !reserve) return reserve.error();
  if (!profile) {
    if (!chosen.facts) return found;
    const std::optional<StoredProfile> stored = FindStoredProfile(*chosen.facts, ProfileFolders(), &chosen.notes);
    TakePool(question, &chosen);
    if (!stored) return found;
    Apply(stored->profile, stored->file, question, &chosen);
    if (const Result<DriverFacts> driver = machine->Driver(); driver.ok() && driver->driver != stored->profile.driver) {
      chosen.notes.Add({"profile-driver", Severity::kWarning, stored->file,
                        "was measured with driver " + stored->profile.driver + ", and this is " + driver->driver +
                            ": contexts differ between drivers",
                        "run vramplan calibrate again"});
    }
    return found;
  }
  if (chosen.capability != profile->capability && !question.capability) {
    return Error{ErrorCode::kUsage, "--profile",
                 question.profile + " was measured on " + profile->name + ", capability " +
                     ToString(profile->capability) + ", and " + chosen.device.name + " has " +
                     ToString(chosen.capability),
                 "leave --gpu out"};
  }
  Apply(*profile, question.profile, question, &chosen);
  return found;
}

Generation GenerationOf(const ChosenDevice& chosen) { return {chosen.capability, chosen.multiprocessors}; }

Capability UsualCapability(const TrainingSpec& spec) {
  return RunsInBf16(spec.precision) ? Capability{8, 0} : TrainingSpec().capability;
}

TrainingSpec SpecOn(const ChosenDevice& chosen, const TrainingSpec& spec) {
  TrainingSpec on = spec;
  on.capability = chosen.capability_assumed ? UsualCapability(spec) : chosen.capability;
  on.multiprocessors = chosen.multiprocessors;
  on.measured_workspaces = chosen.workspaces;
  return on;
}

ContextBand ContextFor(const Question& question, const std::optional<ChosenDevice>& chosen, const TrainingSpec& spec) {
  if (chosen) return chosen->device.context;
  return question.context ? GivenContext(*question.context) : ContextOf(spec.capability, spec.framework);
}

TrainingSpec SpecOf(const Question& question, const std::optional<ChosenDevice>& chosen) {
  TrainingSpec spec = question.spec;
  spec.capability = question.capability.value_or(UsualCapability(spec));
  return chosen ? SpecOn(*chosen, spec) : spec;
}

}  // namespace vramplan
