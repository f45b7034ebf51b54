#include "planner/answers/recorded.h"

#include <algorithm>
#include <utility>

#include "planner/record/changes.h"
#include "planner/report/parts/model_facts.h"

namespace vramplan {
namespace {

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
void AddWays(const Record& record, Bytes beyond, const Question& question, RecordReport* report) {
  constexpr size_t kMostLists = 4;
  const auto add = [&](const Record& changed, const AllocatorConfig& config, std::string change, std::string how) {
    report->ways.push_back(JudgeRecord({changed, beyond}, report->device, config, std::move(change), std::move(how)));
  };
  if (!question.allocator.expandable_segments)
    add(record, Expandable(question.allocator), "expandable segments", kExpandable);
  if (!report->planned) return;
  const Record small = WithSmallStates(record);
  const bool shrinks = small.blocks.size() > record.blocks.size();
  if (shrinks) add(small, question.allocator, "8-bit optimizer states", "bitsandbytes.optim");
  const std::vector<ModuleList> lists = ModuleListsOf(record);
  for (size_t i = 0; i < std::min(lists.size(), kMostLists); ++i) {
    add(WithCheckpoints(record, {lists[i]}), question.allocator, CheckpointText(lists[i]), "torch.utils.checkpoint");
  }
  if (lists.size() > 1) {
    add(WithCheckpoints(record, lists), question.allocator, "checkpoint all of these lists", "torch.utils.checkpoint");
  }
  if (shrinks && !lists.empty()) {
    add(WithCheckpoints(small, lists), Expandable(question.allocator), "all of these", "");
  }
}

bool Trains(const Record& record) {
  return std::ranges::any_of(record.rows, [](const RecordRow& row) { return row.phase > Phase::kLoss; });
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
                "the batch is the recorded one: a smaller batch with accumulation is another run",
                "vramplan run --gpu t4 --largest batch=1:512 -- python train.py --batch-size {batch}"});
  }
  if (record.rows.back().step > 1 || !Trains(record)) return;
  notes->Add({"few-steps", Severity::kWarning, "",
              "the record has one step, and the second one is the first with the optimizer's states",
              "record more with vramplan run --steps 3"});
}

}  // namespace

Result<RecordMatrix> RecordMatrixOf(const Record& record, const std::string& file, const Question& question) {
  RecordMatrix matrix;
  matrix.file = FileName(file);
  const RecordedRun run(record);
  NoteRecordsLimits(record, run.beyond, false, &matrix.notes);
  const Result<std::vector<const Card*>> asked = CardsAsked(question);
  if (!asked.ok()) return asked.error();
  const std::vector<const Card*> cards = question.gpu == "all" ? SmallestFirst(question) : *asked;
  NoteCards(question, cards, &matrix.notes);
  for (const Card* card : cards) {
    const ChosenDevice chosen = DeviceOf(*card, question);
    matrix.cards.push_back({card->id, chosen.device, JudgeRecord(run, chosen.device, question.allocator)});
  }
  return matrix;
}

RecordReport RecordReportOf(const Record& record, const std::string& file, const Question& question,
                            const ChosenDevice& chosen, bool planned) {
  RecordReport report;
  report.planned = planned;
  report.file = FileName(file);
  report.steps = record.rows.empty() ? 0 : record.rows.back().step;
  report.device = chosen.device;
  report.id = chosen.id;
  report.notes = chosen.notes;
  const RecordedRun run(record);
  report.ways.push_back(JudgeRecord(run, report.device, question.allocator));
  const PlayedRecord& played = run.played;
  report.peak = MomentOf(record, played, report.ways.front().peak.moment.event);
  report.holders = HeldAt(record, played.rows[report.ways.front().peak.moment.event] + 1);
  report.trains = Trains(record);
  if (report.ways.front().verdict == Verdict::kDoesNotFit) {
    const Bytes capacity = report.device.CapacityWith(report.device.context.likely);
    const Peak refused = Replay(played.timeline, 1, AllocatorOn(report.device, question.allocator),
                                capacity > run.beyond ? capacity - run.beyond : Bytes());
    report.refused = MomentOf(record, played, *refused.out_of_memory);
  }
  AddWays(record, run.beyond, question, &report);
  if (planned) {
    report.smallest_card = SmallestThatHolds(
        question, [&](const Device& device) { return VerdictOfRecord(run, device, question.allocator).verdict; });
  }
  NoteRecordsLimits(record, run.beyond, planned, &report.notes);
  return report;
}

}  // namespace vramplan
