#include "planner/cli/recorded.h"

#include <algorithm>
#include <set>

#include "planner/allocator/stream.h"
#include "planner/answers/choose_device.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/step_alone.h"
#include "planner/picture/script_page.h"
#include "planner/record/changes.h"
#include "planner/report/parts/model_facts.h"
#include "planner/report/record.h"
#include "planner/report/request.h"

namespace vramplan {
namespace {

// The step stands in the record, whatever the command line says of it.
Status OnlyAboutCards(const Options& options) {
  static const std::set<std::string> kOfCards = {"gpu",      "gpu-memory", "reserve", "context", "allocator-conf",
                                                 "profile",  "format",     "verbose", "out",     "force",
                                                 "framework"};
  for (const std::string& given : options.spec.given) {
    if (kOfCards.contains(given)) continue;
    return Error{ErrorCode::kUsage, "--" + given, "the step of a recorded run is as it was recorded",
                 "leave it out, or run the script again with vramplan run"};
  }
  return Done();
}

RecordedWay JudgeRecord(const RecordedRun& run, const Device& device, const AllocatorConfig& given,
                        std::string change = "as recorded", std::string how = "") {
  return {VerdictOfRecord(run, device, given), std::move(change), std::move(how)};
}

AllocatorConfig Expandable(const AllocatorConfig& given) {
  AllocatorConfig config = given;
  config.expandable_segments = true;
  return config;
}
constexpr const char* kExpandable = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";

std::string CheckpointText(const ModuleList& list) {
  return "checkpoint " + list.name + " (" + std::to_string(list.modules) + " modules)";
}

// What each change alone would make of the run, and all of them together, in the order of what they cost in time.
void AddWays(const Record& record, Bytes beyond, const Options& options, RecordReport* report) {
  constexpr size_t kMostLists = 4;
  const auto add = [&](const Record& changed, const AllocatorConfig& config, std::string change, std::string how) {
    report->ways.push_back(JudgeRecord({changed, beyond}, report->device, config, std::move(change), std::move(how)));
  };
  if (!options.allocator.expandable_segments)
    add(record, Expandable(options.allocator), "expandable segments", kExpandable);
  if (!report->planned) return;
  const Record small = WithSmallStates(record);
  const bool shrinks = small.blocks.size() > record.blocks.size();
  if (shrinks) add(small, options.allocator, "8-bit optimizer states", "bitsandbytes.optim");
  const std::vector<ModuleList> lists = ModuleListsOf(record);
  for (size_t i = 0; i < std::min(lists.size(), kMostLists); ++i) {
    add(WithCheckpoints(record, {lists[i]}), options.allocator, CheckpointText(lists[i]), "torch.utils.checkpoint");
  }
  if (lists.size() > 1) {
    add(WithCheckpoints(record, lists), options.allocator, "checkpoint all of these lists", "torch.utils.checkpoint");
  }
  if (shrinks && !lists.empty()) {
    add(WithCheckpoints(small, lists), Expandable(options.allocator), "all of these", "");
  }
}

bool Trains(const Record& record) {
  return std::ranges::any_of(record.rows, [](const RecordRow& row) { return row.phase > RecordPhase::kLoss; });
}

// What no record knows.
void NoteRecordsLimits(const Record& record, Bytes beyond, bool planned, Notes* notes) {
  if (beyond > Bytes()) {
    notes->Add({"other-streams", Severity::kNote, "",
                "the run reserved " + ToString(beyond) +
                    " more than its requests do in one pool, because PyTorch keeps one for "
                    "each stream; that is added",
                ""});
  }
  notes->Add({"recorded-card", Severity::kNote, "--gpu",
              "kernels and workspaces are those of the card on which the script was recorded", ""});
  if (planned) {
    notes->Add({"recorded-batch", Severity::kNote, "--batch",
                "the batch is the recorded one: a smaller one, and accumulation to make up for it, are other runs",
                "vramplan run --gpu t4 --largest batch=1:512 -- python train.py --batch-size {batch}"});
  }
  if (record.rows.back().step > 1 || !Trains(record)) return;
  notes->Add({"few-steps", Severity::kWarning, "",
              "the record has one step, and the second one is the first with the optimizer's states",
              "record more with vramplan run --steps 3"});
}

Result<Outcome> FitMatrixOf(const Record& record, const Options& options, const Style& style) {
  RecordMatrix matrix;
  matrix.file = FileName(options.file);
  const RecordedRun run(record);
  NoteRecordsLimits(record, run.beyond, false, &matrix.notes);
  bool any = false;
  const Result<std::vector<const Card*>> asked = CardsAsked(options);
  if (!asked.ok()) return asked.error();
  std::vector<const Card*> cards = options.gpu == "all" ? SmallestFirst(options) : *asked;
  NoteCards(options, cards, &matrix.notes);
  for (const Card* card : cards) {
    const ChosenDevice chosen = DeviceOf(*card, options);
    matrix.cards.push_back({card->id, chosen.device, JudgeRecord(run, chosen.device, options.allocator)});
    any = any || matrix.cards.back().way.verdict != Verdict::kDoesNotFit;
  }
  const int code = any ? 0 : kExitDoesNotFit;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(matrix)), code, Notes()};
  if (options.format == Format::kAll) {
    return Outcome{AllForms(ToJson(matrix), PrintRecordMatrix(matrix, style), PrintRecordMatrixPage(matrix)), code,
                   Notes()};
  }
  if (options.format == Format::kHtml) return Outcome{PrintRecordMatrixPage(matrix), code, Notes()};
  return Outcome{PrintRecordMatrix(matrix, style), code, matrix.notes};
}

}  // namespace

std::optional<std::string> SmallestThatHolds(const Options& options,
                                             const std::function<Verdict(const Device&)>& verdict) {
  Options on_card = options;
  on_card.gpu_memory.reset();
  for (const Card* card : SmallestFirst(on_card)) {
    const Verdict there = verdict(DeviceOf(*card, on_card).device);
    if (there == Verdict::kDoesNotFit) continue;
    return card->name + " (--gpu " + card->id + (there == Verdict::kTight ? ", tight)" : ")");
  }
  return std::nullopt;
}

Result<Record> ReadRecordFile(const std::string& path) {
  const Result<std::string> text = ReadStream(path);
  if (!text.ok()) return text.error();
  return ReadRecord(*text, path);
}

Result<Outcome> RunRecorded(const Options& options, const Style& style, Probe* machine) {
  if (const Status only = OnlyAboutCards(options); !only) return only.error();
  const Result<Record> record = ReadRecordFile(options.file);
  if (!record.ok()) return record.error();
  if (AsksOfMany(options.gpu)) return FitMatrixOf(*record, options, style);
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  RecordReport report;
  report.planned = options.verb == Verb::kPlan;
  report.file = FileName(options.file);
  report.steps = record->rows.empty() ? 0 : record->rows.back().step;
  report.device = (*chosen)->device;
  report.id = (*chosen)->id;
  report.notes = (*chosen)->notes;
  const RecordedRun run(*record);
  report.ways.push_back(JudgeRecord(run, report.device, options.allocator));
  const PlayedRecord& played = run.played;
  report.peak = MomentOf(*record, played, report.ways.front().peak.moment.event);
  report.holders = HeldAt(*record, played.rows[report.ways.front().peak.moment.event] + 1);
  report.trains = Trains(*record);
  if (report.ways.front().verdict == Verdict::kDoesNotFit) {
    const Bytes capacity = report.device.CapacityWith(report.device.context.likely);
    const Peak refused = Replay(played.timeline, 1, AllocatorOn(report.device, options.allocator),
                                capacity > run.beyond ? capacity - run.beyond : Bytes());
    report.refused = MomentOf(*record, played, *refused.out_of_memory);
  }
  AddWays(*record, run.beyond, options, &report);
  if (report.planned) {
    report.smallest_card = SmallestThatHolds(
        options, [&](const Device& device) { return VerdictOfRecord(run, device, options.allocator).verdict; });
  }
  NoteRecordsLimits(*record, run.beyond, report.planned, &report.notes);
  const auto fits = [](const RecordedWay& way) { return way.verdict != Verdict::kDoesNotFit; };
  const bool good = report.planned ? std::ranges::any_of(report.ways, fits) : fits(report.ways.front());
  const int code = good ? 0 : kExitDoesNotFit;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(report)), code, Notes()};
  if (options.format == Format::kRequest) {
    const std::string text = PrintRecordReport(report, kWholeLines);
    const Request request{text.substr(0, text.find('\n')), report.ways.front().band.device(), std::nullopt};
    return Outcome{PrintRequest(request), code, report.notes};
  }
  if (IsPicture(options.format)) {
    const std::string title = report.file + " on " + report.device.name;
    const ContextBand& context = report.device.context;
    std::string text =
        IsStepAlone(options.format)
            ? RecordAlone(options.format, *record, title, report.device, context, options.allocator)
            : PrintRecordPage(report, RecordPictures(*record, title, report.device, context, options.allocator));
    if (options.format == Format::kAll)
      text = AllForms(ToJson(report), PrintRecordReport(report, style), std::move(text));
    return Outcome{std::move(text), code, Notes()};
  }
  return Outcome{PrintRecordReport(report, style), code, report.notes};
}

}  // namespace vramplan
