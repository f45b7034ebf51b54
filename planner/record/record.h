// Record: what a script's run asked of memory, as `vramplan run --record` writes it: every birth and death of a block
// with its step, phase, module and line of Python, and where the forward of each module begins and ends.
//
//   op,id,bytes,step,phase,category,element,module,file,line,function,caller
//   alloc,0,512000,0,setup,parameters,4,,/home/me/train.py,17,main,
//   enter,,,1,forward,,,blocks.0,,,,
//   alloc,1,64000,1,forward,activations,,blocks.0,/v/site-packages/timm/layers.py,9,forward,/home/me/train.py:31
//   leave,1,,1,forward,,,blocks.0,,,,           its results: the blocks that it gives, with a space between two
//   free,1,64000,1,backward,,,,,,,
//   empty_cache,,,2,forward,,,,,,,
//
// A category may say more: "frozen" are parameters that no optimizer steps, "outputs" activations that the outermost
// module gives or the loss makes of them. Files of before have no callers.
//
// `replay` reads the same file as a stream of requests. Cache that PyTorch gave back because the card was full is not
// in it: another card decides that for itself. Cache that the script gave back is.
//
// Invariants: a block is born once and dies at most once, after its birth; steps never fall.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "planner/semantics/memory.h"
#include "pretend/recording/moment.h"

namespace vramplan {

// How the first line begins; no other stream has these columns.
inline constexpr std::string_view kRecordColumns = "op,id,bytes,step,phase,category,element,module,file,line,function";
inline constexpr std::string_view kCallerColumn = ",caller";

struct RecordBlock {
  Bytes bytes;
  Category category = Category::kTemporaries;
  int64_t element = 0;  // bytes of an element; 0: not known
  int32_t place = -1;   // into Record::places: the line that asked, of a backward that called it; -1: none
  int32_t caller = -1;  // the same of the script's own line, where `place` is a library's
  bool frozen = false, outputs = false;
  bool operator==(const RecordBlock&) const = default;
};

enum class RowKind : uint8_t { kAllocate, kFree, kEmptyCache, kEnter, kLeave };
struct RecordRow {
  RowKind kind = RowKind::kAllocate;
  Phase phase = Phase::kSetup;
  int32_t step = 0;              // 0: before the first one began to compute
  int32_t block = -1;            // of kAllocate and kFree
  int32_t module = -1;           // into Record::modules; of a block: whose forward ran
  std::vector<int32_t> results;  // of kLeave
  bool operator==(const RecordRow&) const = default;
};

struct Record {
  std::vector<RecordBlock> blocks;
  std::vector<RecordRow> rows;
  std::vector<std::string> modules;
  std::vector<CodePlace> places;
  bool cudnn = false;  // it ran, and its workspaces are not in here; a row of its own, "cudnn", says so
  Bytes reserved;      // the peak of the run, by PyTorch's counter; a row of its own; 0: not known
  bool operator==(const Record&) const = default;
};

// Of a run that was recorded with its details. Blocks that the history does not have are left out.
Record RecordOf(const Recording& recording, bool cudnn);

// The same run without tries that ran out of memory and that the script went on from, as a search for a batch size does:
// what only they had is gone, and counters of steps that they were in are those of the rest. There are refusals.
Recording Succeeded(const Recording& whole);

// What each block is for.
std::vector<HeldKind> KindsOf(const Record& record);
// Who holds what after the first `rows` rows, the largest first.
std::vector<HeldRow> HeldAt(const Record& record, size_t rows);

std::string PrintRecord(const Record& record);

// Errors (kBadInput, "FILE:LINE"): a row that cannot be read, a block that is born or dies twice.
Result<Record> ReadRecord(std::string_view text, const std::string& name);

// Whether a file, packed or not, begins like a record. False: it cannot be read.
bool IsRecord(const std::string& path);

}  // namespace vramplan
