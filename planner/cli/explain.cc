#include "planner/answers/explain.h"

#include <utility>

#include "graph/base/text.h"
#include "planner/answers/profile_store.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/read_log.h"
#include "planner/cli/settings.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/picture/explain_page.h"
#include "planner/report/json/profile_json.h"
#include "planner/report/writing/quoting.h"
#include "planner/snapshot/recorded_step.h"

namespace vramplan {
namespace {

std::string MiBText(Bytes bytes) { return std::to_string(bytes.count() >> 20) + "MiB"; }

// What plan takes of what was given here and of what the message says, for the card of the message; of what does not train,
// what fit takes.
std::string NextCommand(const Options& options, const ExplainedStep& step, const std::optional<ChosenDevice>& chosen) {
  const Verb verb = options.spec.mode == Mode::kTrain ? Verb::kPlan : Verb::kFit;
  std::string command = "vramplan " + std::string(Name(verb)) + " " + InShell(options.model);
  // The card that the message describes: of a card by name others may have held a part.
  const bool by_name = !step.room_told && chosen && !chosen->id.empty();
  if (by_name) {
    command += " --gpu " + chosen->id;
  } else {
    // The context is part of what the room is without.
    command += " --gpu-memory " + MiBText(step.room) + " --context 0";
  }
  // What was typed, but for what stands there already, what plan decides, and what is about explain.
  for (const TypedOption& typed : options.typed) {
    const bool is_left_out =
        IsOneOf(typed.flag, {"--model", "--gpu", "--gpu-memory", "--context", "--reserve", "--profile", "--held",
                             "--capability", "--checkpoint", "--saved", "--batch", "--format", "--out", "--verbose"});
    if (is_left_out || !TakesOption(verb, typed.flag)) continue;
    command += " " + typed.flag + (typed.value.empty() ? "" : " " + InShell(typed.value));
  }
  for (const SpecRow& row : step.head.spec) {
    const bool of_the_card = row.option == "capability" && row.given && !by_name;
    const bool of_the_message = step.version_told && (row.option == "framework" || row.option == "attention");
    if (of_the_card || (of_the_message && !row.given)) command += " --" + row.option + " " + InShell(row.text);
  }
  // A batch that nobody knows is not asked for.
  const bool batch_known = step.batch_found || step.head.batch_given;
  if (step.head.model.has_batch && batch_known) command += " --batch " + std::to_string(step.head.batch);
  return command;
}

// What is drawn of the step.
struct DrawnBesideIt {
  StepPictures pictures;
  std::string alone;  // --format svg and snapshot
};

// The step, on the card that was named, or in the room that the message tells of.
DrawnBesideIt DrawnBeside(const StepOfMessage& of, const Options& options, const std::optional<ChosenDevice>& chosen) {
  std::optional<Device> device;
  if (chosen) {
    device = chosen->device;
  } else if (of.step.room > Bytes()) {
    device.emplace();
    device->name = "the card of the message";
    device->usable = of.step.room + of.context.likely;
    device->context = of.context;
  }
  const auto& [prepared, spec, timeline] = of.laid_out;
  const DrawnStep drawn{prepared, of.step.head,      timeline,   of.step.head.batch,
                        spec,     options.allocator, of.context, device};
  if (IsStepAlone(options.format)) return {{}, StepAlone(options.format, drawn)};
  return {DrawnPictures(drawn), ""};
}

// Beside the step of --model.
Status Compare(const Options& options, Probe* machine, ExplainReport* report, std::optional<DrawnBesideIt>* drawn) {
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  Result<StepOfMessage> of = ExplainStep(options, report->message, *chosen);
  if (!of.ok()) return of.error();
  ExplainedStep& step = of->step;
  step.head.spec = SpecRows(options, of->laid_out.spec, step.head, *chosen, of->context);
  if (of->room) step.plan = NextCommand(options, step, *chosen);
  report->notes.Append(of->laid_out.prepared.notes);
  if (IsPicture(options.format)) *drawn = DrawnBeside(*of, options, *chosen);
  report->step = std::move(step);
  return Done();
}

// What fit --engine vllm takes of what was given here and of what the message says.
std::string ServeCommand(const Options& options, const ServedModel& served) {
  std::string command = "vramplan fit " + InShell(options.model) + " --engine vllm";
  if (options.gpu_memory && !options.Given("gpu-memory")) command += " --gpu-memory " + MiBText(*options.gpu_memory);
  for (const TypedOption& typed : options.typed) {
    const bool is_of_vllm = IsOneOf(typed.flag, {"--gpu", "--gpu-memory", "--capability", "--context", "--profile",
                                                 "--dim", "--precision", "--weights"});
    if (is_of_vllm) command += " " + typed.flag + " " + InShell(typed.value);
  }
  if (!served.dim.empty()) command += " --dim " + served.dim;
  const Bytes reserve = options.reserve + served.others;
  return reserve > Bytes() ? command + " --reserve " + MiBText(reserve) : command;
}

// Of a message of vLLM, which runs no step that could be laid out beside it.
Status CompareServing(const Options& given, Probe* machine, ExplainReport* report) {
  Options options = given;
  const bool no_card = options.gpu.empty() && !options.gpu_memory && options.profile.empty();
  if (no_card && report->message.place == MemoryPlace::kCard) options.gpu_memory = report->message.capacity;
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  if (!*chosen) {
    report->notes.Add({"unknown-card", Severity::kNote, "--gpu",
                       "the message does not give the size of the card, so whether vLLM starts there is not known",
                       "name it with --gpu or --gpu-memory"});
    return Done();
  }
  Result<ServedModel> served = ExplainServing(options, report->message, **chosen);
  if (!served.ok()) {
    report->notes.Add({"not-of-vllm", Severity::kWarning, "--model", served.error().text,
                       "vramplan fit NAME --gpu CARD --mode serve answers for generate() of transformers"});
    return Done();
  }
  served->command = ServeCommand(options, *served);
  report->served = *std::move(served);
  return Done();
}

// The card that a profile is about: of this machine, or a row of the catalogue.
Result<CardFacts> CardOf(const Options& options, Probe* machine) {
  if (options.gpu.empty()) {
    return Error{ErrorCode::kUsage, "--save", "the message does not name the card",
                 "add --gpu auto for this machine's, or --gpu t4"};
  }
  if (IsAuto(options.gpu)) return PickCard(options.gpu, machine);
  const Result<Card> card = FindCard(options.gpu);
  if (!card.ok()) return card.error();
  CardFacts facts;
  facts.name = card->name;
  facts.capability_major = card->capability.major;
  facts.capability_minor = card->capability.minor;
  facts.multiprocessors = card->multiprocessors;
  return facts;
}

// --save: the stored profile of the card, or a new one, with what the message says of it. Its numbers have two
// decimals: of gibibytes each is off by 5.12 MiB at most, and what is outside is the difference of two, or of three.
Status Save(const Options& options, Probe* machine, ExplainReport* report, Outcome* outcome) {
  const OutOfMemory& message = report->message;
  const std::optional<Bytes> outside = message.outside;
  if (!message.capacity || !message.pool.empty()) {
    report->notes.Add(
        {"not-saved", Severity::kWarning, "--save", "the message does not say how large the card is", ""});
    return Done();
  }
  const Result<CardFacts> card = CardOf(options, machine);
  if (!card.ok()) return card.error();
  Profile profile;
  if (std::optional<StoredProfile> stored = FindStoredProfile(*card, ProfileFolders(), &report->notes))
    profile = std::move(stored->profile);
  profile.name = card->name;
  profile.uuid = card->uuid;
  profile.capability = {card->capability_major, card->capability_minor};
  profile.multiprocessors = card->multiprocessors;
  profile.usable = card->usable > Bytes() ? card->usable : *message.capacity;
  profile.date = Today();
  if (outside && *outside > Bytes()) {
    const Bytes off = Bytes::Of(3 * ((int64_t{1} << 30) / 200));
    ContextBand band{std::max(Bytes(), *outside - off), *outside, *outside + off, "of an out-of-memory message"};
    if (profile.context) {
      band.low = std::min(band.low, profile.context->low);
      band.high = std::max(band.high, profile.context->high);
    }
    profile.context = band;
  }
  if (options.out.empty()) {
    const Result<std::string> path = StorePath(*card);
    if (!path.ok()) return path.error();
    outcome->store = *path;
  }
  report->saved = options.out.empty() ? outcome->store : options.out;
  outcome->stream = Print(ToJson(profile));
  return Done();
}

}  // namespace

Result<Outcome> RunExplain(const Options& options, const Style& style, Probe* machine) {
  const Result<std::string> text = ReadLog(options.file);
  if (!text.ok()) return text.error();
  const std::string subject = options.file == "-" ? "standard input" : options.file;
  if (IsPickle(*text)) return IsNoText(subject);
  Result<OutOfMemory> message = ReadOutOfMemory(subject, *text);
  if (!message.ok()) return message.error();
  std::optional<DrawnBesideIt> drawn;
  ExplainReport report;
  report.file = options.file == "-" ? "" : FileName(options.file);
  report.message = *std::move(message);
  report.cause = CauseOf(report.message);
  report.shares = SharesOf(report.message);
  if (const std::optional<Bytes> excess = ExcessOf(report.message);
      excess && !IsPagedOut(report.message) && options.format == Format::kJson) {
    report.notes.Add({"does-not-add-up", Severity::kWarning, subject,
                      "the numbers of the message sum to " + ToString(*excess) + " more than the card has", ""});
  }
  if (!options.model.empty()) {
    const Status compared = report.message.kind == "vllm" ? CompareServing(options, machine, &report)
                                                          : Compare(options, machine, &report, &drawn);
    if (!compared.ok()) return compared.error();
    // Pieces were what it was short of where the step that was found fits without them.
    if (report.cause == OutOfMemoryCause::kFull && report.step && report.step->match && report.step->expandable_fits)
      report.cause = OutOfMemoryCause::kFragmentation;
  }
  Outcome outcome;
  if (options.save) {
    if (IsPicture(options.format))
      return Error{ErrorCode::kUsage, "--save", "does not go with --format html, svg or snapshot",
                   "leave one of them out"};
    if (const Status saved = Save(options, machine, &report, &outcome); !saved.ok()) return saved.error();
  }
  if (options.format == Format::kJson) {
    outcome.text = Print(ToJson(report));
    return outcome;
  }
  if (options.format == Format::kHtml || options.format == Format::kAll) {
    outcome.text = PrintExplainPage(report, drawn ? std::optional(drawn->pictures) : std::nullopt);
    if (options.format == Format::kAll)
      outcome.text = AllForms(ToJson(report), PrintExplain(report, style), std::move(outcome.text));
    return outcome;
  }
  if (IsStepAlone(options.format)) {
    if (!drawn)
      return Error{ErrorCode::kUsage, "--format", "svg and snapshot are of a model's step, and no model is given",
                   "add --model FILE.onnx"};
    return Outcome{.text = drawn->alone};
  }
  outcome.text = PrintExplain(report, style);
  outcome.notes = report.notes;
  return outcome;
}

}  // namespace vramplan
