// RecordReport: what a recorded script takes on a card, as it is and with what could be changed ("vramplan.record/1").
//
//   train.csv.gz does not fit on Tesla T4 as it is: it needs 16.20 GiB of 14.56 GiB (1.64 GiB too much)
//
//   change                            needs     saves  verdict
//   as recorded                   16.20 GiB            does-not-fit
//   checkpoint layers (12)         9.71 GiB  6.49 GiB  fits
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/record/played.h"
#include "planner/report/fit.h"

namespace vramplan {

// The recorded run on a card, changed or not.
struct RecordedWay : OnCard {
  std::string change;  // "as recorded"
  std::string how;     // what to type or to write; empty: nothing
};

// A record, or what a change makes of one, as cards are asked about it.
struct RecordedRun {
  explicit RecordedRun(const Record& record);
  // `changed` of the same run, which reserves as much beyond one pool.
  RecordedRun(const Record& changed, Bytes beyond_of_it);

  PlayedRecord played;
  bool cudnn = false;
  // What the run reserved above what our allocator does with the same requests: PyTorch keeps a pool for each stream,
  // and a replay has one.
  Bytes beyond;
};
OnCard VerdictOfRecord(const RecordedRun& run, const Device& device, const AllocatorConfig& given);

// Where the record asks for something: of a peak, or of what a card refuses.
struct RecordMoment {
  int64_t step = 0;  // 0: before the first one
  Phase phase = Phase::kSetup;
  Bytes asked;
  std::string place, module;  // empty: not known
};
RecordMoment MomentOf(const Record& record, const PlayedRecord& played, size_t event);

struct RecordReport {
  std::string file;  // its name without folders
  int64_t steps = 0;
  Device device;
  std::string id;
  std::vector<RecordedWay> ways;  // the first one: as recorded
  RecordMoment peak;              // of that one
  std::vector<HeldRow> holders;   // then
  std::optional<RecordMoment> refused;
  bool trains = true;                        // false: it has no backward and no update
  bool planned = false;                      // plan asked: every way, else only what is better
  std::optional<std::string> smallest_card;  // that holds it as recorded; nothing: none, or nobody asked
  Notes notes;
};

// A record on every card of the catalogue, the smallest first, or on those that were named.
struct RecordMatrix {
  std::string file;
  struct Row {
    std::string id;
    Device device;
    RecordedWay way;
  };
  std::vector<Row> cards;
  Notes notes;
};

std::string PrintRecordReport(const RecordReport& report, const Style& style);
Json ToJson(const RecordReport& report);
std::string PrintRecordMatrix(const RecordMatrix& matrix, const Style& style);
Json ToJson(const RecordMatrix& matrix);

}  // namespace vramplan
