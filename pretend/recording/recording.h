// Recording: what the hook wrote of one process, and what the card's library did. Lines of words between tabs; a tab, a
// line break and a backslash inside a word are written \t, \n and two backslashes.
//
//   vramplan.recording/1
//   python 3.11.7 /usr/bin/python3          torch 2.10.0+cu128 12.8 (hip)          argv train.py --lr 0.1
//   rank 0 1                                 of so many
//   preloaded 1                              0: the library of the card is not in this process
//   by-value nonzero() 4 train.py 9 main     a shape that came from values, so often at that line
//   read train.py 12 main                    the last line that read a value which nobody knows
//   changed AdamW(foreach=False)             what --try changed
//   saved held best.pt train.py 31 main      a checkpoint that was held back; written: it was not
//   stays old.pt train.py 33 main            a file of before the run, which the script removed and which stays
//   waits train.py 8 main                    an optimizer that was made there, is alive and never stepped
//   on-host 900 12 aten::foo                 --values host: operators that ran there, those that could not because
//   values
//                                            were not known, and which the host has no kernel for
//   mark backward 214 train.py 11 main       begins after the 214th allocation, called by this line; also
//                                            after-backward, update, after-update
//   mark forward 180 train.py 10 main Net    this module, which no other one calls, computes; forward-of-eval: it is in
//                                            eval(); inference: without gradients
//   limit 0.5                                the script allows itself this share of the card
//   allocator cudaMallocAsync                the script's own choice, which has no such counters: it was ended
//   step 1 400 PEAK... NOW... 0.5            the first step ended after 400 allocations; requested, allocated,
//   reserved:
//                                            their peaks in the step, then as they are; seconds
//   out-of-memory 500 ASKED TOTAL FREE NOW... train.py 12 main
//   failed torch.OutOfMemoryError CUDA out of memory. Tried ...
//   last 822 RUN... PEAK... NOW... RETRIES   at the end: the peaks of the run, those since the last step, now
//   frame 0 17 forward model.py              stack 0 0,4,2         frames of a stack, the innermost first
//   a ADDRESS BYTES STACK MODULE             the history: allocations, frees (f), segments (s, u), refusals (o)
//   on-card 1 PEAK...                        of a process that could use several: the peaks of each card; all other
//                                            lines are about the one that refused memory, or else held the most
//   end steps 3.2                            why it was over: steps, seconds, loop, exit, allocator
//
// A run that is recorded has more lines within its history (pretend/hook/details.py):
//
//   in layer1.conv                           a module's forward begins
//   out layer1.conv 4096,8192                it ends, and gives what lies there
//   at loss                                  a phase begins: forward, loss, backward, update, zero-grad; after-... ends
//                                            one; step: it is over
//   tag gradients 4 4096,8192                what lies there is for this, in elements of so many bytes; frozen:
//                                            it needs no gradient
//
// What is missing is empty; a file that was cut off gives what it still says, and has no `end`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/code_place.h"
#include "graph/base/levels.h"
#include "graph/base/result.h"

namespace vramplan {

struct RecordedStep {
  int64_t step = 0, allocations = 0;  // so many before its end
  Levels peak, after;
  double seconds = 0;  // since torch was imported
};

enum class MarkKind : uint8_t {
  kBackward,
  kAfterBackward,
  kUpdate,
  kAfterUpdate,
  kForward,
  kForwardOfEval,
  kInference
};
struct Mark {
  MarkKind kind = MarkKind::kBackward;
  int64_t allocations = 0;
  CodePlace place;
  std::string module;  // of a forward
  int64_t steps = 0;   // that were over then
};

struct RecordedRefusal {
  int64_t allocations = 0;
  Bytes asked, total, free;
  Levels held;
  CodePlace place;
  int64_t marks = 0, steps = 0;  // so many before it
};

enum class HistoryKind : uint8_t {
  kAllocate,
  kFree,
  kSegment,
  kSegmentGone,
  kRefused,
  kEnter,  // `module` begins its forward
  kGives,  // the module that is left next gives what lies at `address`
  kLeave,
  kLoopMark,  // `what` is a LoopMark
  kTag,       // what lies at `address` is for `what`, a TensorUse, in elements of `bytes`
};
enum class LoopMark : uint8_t {
  kForward,
  kLoss,
  kBackward,
  kAfterBackward,
  kUpdate,
  kAfterUpdate,
  kZeroGrad,
  kAfterZeroGrad,
  kStep,  // it is over
};
// kFrozen: of kParameters, those that need no gradient.
enum class TensorUse : uint8_t { kParameters, kFrozen, kBuffers, kGradients, kOptimizerState, kInputs };
struct HistoryEvent {
  HistoryKind kind = HistoryKind::kAllocate;
  uint64_t address = 0;
  Bytes bytes;
  int32_t stack = -1;   // of an allocation
  int32_t module = -1;  // whose forward ran; -1: none
  uint8_t what = 0;
};

// A shape that came from values (pretend/hook/values.py): zeros here.
struct ByValue {
  std::string what;  // "nonzero()"
  int64_t times = 0;
  CodePlace place;
};

struct Recording {
  int64_t pid = 0;
  std::string python, executable, torch, cuda, hip;
  std::vector<std::string> argv;
  int64_t rank = 0, ranks = 1;
  bool preloaded = true;  // the library of the card is in the process
  std::vector<RecordedStep> steps;
  std::vector<Mark> marks;
  std::vector<RecordedRefusal> refusals;
  std::string failure, failure_text;  // the exception that ended it
  std::string allocator;              // not PyTorch's own: it cannot be counted, and the script was ended
  double limit = 1;                   // the share of the card that the script allows itself
  struct Last {
    int64_t allocations = 0;
    Levels run, peak, now;  // of the run, since the last step, as they are
    int64_t retries = 0;
  };
  std::optional<Last> last;  // nothing: it used no card
  std::vector<CodePlace> frames;
  std::vector<std::vector<int32_t>> stacks;
  std::vector<std::string> modules;
  std::vector<HistoryEvent> history;
  std::vector<ByValue> by_value;
  CodePlace last_read;  // the line that last read a value which nobody knows, a zero here; no file: none did
  std::vector<std::string> changed;  // what --try changed in the script
  std::vector<std::string> faults;   // of the hook
  // The peaks by card of a process that could use several; cards that it did not use are not there.
  std::vector<std::pair<int64_t, Levels>> cards;
  std::string end;  // empty: it was killed
  double seconds = 0;

  // --values host.
  struct OnHost {
    int64_t ran = 0, unknown = 0;
    std::vector<std::string> failed;  // the names of what the host cannot run
  };
  std::optional<OnHost> on_host;

  // A checkpoint that the script wrote, or, where a file of its name was there, that was held back (pretend/hook/saved.py).
  struct Saved {
    std::string path;
    bool held = false;
    CodePlace place;
  };
  std::vector<Saved> saved;
  // What the script removed, and what stays all the same: it was there before the run (pretend/hook/removed.py).
  struct Stays {
    std::string path;
    CodePlace place;
  };
  std::vector<Stays> stays;
  std::vector<CodePlace> waiting;  // where optimizers were made that never stepped

  bool stopped_by_us() const { return end == "steps" || end == "seconds" || end == "loop"; }
  // The highest of each counter over the run.
  Levels peak() const { return last ? last->run : Levels(); }
};

// Errors: not a recording; a line that cannot be read. `name`: of the file.
Result<Recording> ReadRecording(const std::string& name, std::string_view text);

// What the library wrote of one process (pretend/library/last_words.cc).
struct CardLog {
  int64_t pid = 0;
  Bytes total, used, peak;  // of the first card
  int64_t refused = 0;      // so often
  Bytes largest_refused;
  bool cudnn = false;                   // a convolution or a recurrent network ran in it
  Bytes managed;                        // the most that was allocated with cudaMallocManaged
  std::vector<std::string> workspaces;  // the libraries whose workspaces are not counted
  // What all processes of the command held of one card, the highest that this one saw.
  struct Together {
    int64_t card = 0;  // of the machine
    Bytes bytes;
    int64_t contexts = 0;  // beside the bytes
  };
  std::vector<Together> together;
  std::vector<std::string> uncovered, static_runtimes;
};
Result<CardLog> ReadCardLog(const std::string& name, std::string_view text);

}  // namespace vramplan
