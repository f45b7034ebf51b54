#include "planner/snapshot/recorded_step.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace vramplan {
namespace {

// The strings of a frame that decide: a snapshot shares its frames among tens of thousands of entries.
enum class FrameKind : uint8_t { kNative, kPython, kOptimizer, kZeroGrad, kAutograd };

// _record_memory_history() records native frames too, unless it is called with stacks="python": "??:0
// torch::autograd::Engine::thread_main", "ceval.c:4891 _PyEval_EvalFrameDefault". A notebook's cell is "<ipython...>".
bool IsPython(std::string_view file) { return file.ends_with(".py") || file.starts_with('<'); }

FrameKind KindOf(const Pickle& snapshot, PickleId frame) {
  const std::string* file = snapshot.AsText(snapshot.Member(frame, "filename"));
  const std::string* name = snapshot.AsText(snapshot.Member(frame, "name"));
  if (file == nullptr || name == nullptr || !IsPython(*file)) return FrameKind::kNative;
  if (*name == "zero_grad") return FrameKind::kZeroGrad;
  const auto has = [&](std::string_view part) { return file->find(part) != std::string::npos; };
  if (has("torch/optim/") || has("torch/amp/grad_scaler") || has("torch/nn/utils/clip_grad"))
    return FrameKind::kOptimizer;
  // Not Function.apply, which a forward calls, nor no_grad.
  const bool engine = *name == "backward" || *name == "_engine_run_backward" || *name == "_make_grads";
  const bool of_tensor = *name == "backward" && has("torch/_tensor.py");
  return (has("torch/autograd/") && engine) || of_tensor ? FrameKind::kAutograd : FrameKind::kPython;
}

class Phases {
 public:
  explicit Phases(const Pickle& snapshot) : snapshot_(snapshot) {}

  // Of the stack; "": it has no frame of Python's, as in the threads of the autograd engine.
  std::string_view Of(PickleId stack) {
    const PickleList* frames = snapshot_.AsList(stack);
    if (frames == nullptr || frames->items.empty()) return "";
    const auto [at, is_new] = known_.try_emplace(stack, "");
    if (!is_new) return at->second;
    for (const PickleId frame : frames->items) {
      const auto [kind, unseen] = kinds_.try_emplace(frame, FrameKind::kNative);
      if (unseen) kind->second = KindOf(snapshot_, frame);
      if (kind->second == FrameKind::kNative) continue;
      if (at->second.empty()) at->second = "forward";
      if (kind->second == FrameKind::kPython) continue;
      at->second = kind->second == FrameKind::kZeroGrad    ? "zero_grad"
                   : kind->second == FrameKind::kOptimizer ? "update"
                                                           : "backward";
      if (kind->second == FrameKind::kZeroGrad) break;
    }
    return at->second;
  }

 private:
  const Pickle& snapshot_;
  std::unordered_map<PickleId, std::string_view> known_;
  std::unordered_map<PickleId, FrameKind> kinds_;
};

// "conv.py:553 _conv_forward" of the innermost frame of Python's.
std::string PlaceOf(const Pickle& snapshot, PickleId stack) {
  const PickleList* frames = snapshot.AsList(stack);
  if (frames == nullptr) return "";
  for (const PickleId frame : frames->items) {
    const std::string* file = snapshot.AsText(snapshot.Member(frame, "filename"));
    const std::string* name = snapshot.AsText(snapshot.Member(frame, "name"));
    const int64_t* line = snapshot.AsInteger(snapshot.Member(frame, "line"));
    if (file == nullptr || name == nullptr || line == nullptr || !IsPython(*file)) continue;
    return file->substr(file->rfind('/') + 1) + ":" + std::to_string(*line) + " " + *name;
  }
  return "";
}

// No card has so much; sums of the entries of any file stay within 64 bits.
constexpr int64_t kMostBytes = int64_t{1} << 40;
constexpr size_t kMostEntries = size_t{1} << 22;

struct Entry {
  bool birth = false;
  int64_t address = 0, size = 0;
  std::string_view phase;
  PickleId frames = -1;
  int64_t number = 0;
  int step = 0;
};

// The allocations and frees of the trace that has the most of them.
Result<std::vector<Entry>> EntriesOf(const Pickle& snapshot, const std::string& name) {
  const auto wrong = [&](const std::string& text) { return IsNoSnapshot(name, text); };
  const PickleList* devices = snapshot.AsList(snapshot.Member(snapshot.root, "device_traces"));
  if (devices == nullptr) return wrong("it has no device_traces, so it is not a snapshot of PyTorch's memory");
  const PickleList* trace = nullptr;
  for (const PickleId device : devices->items) {
    const PickleList* of_device = snapshot.AsList(device);
    if (of_device != nullptr && (trace == nullptr || of_device->items.size() > trace->items.size())) trace = of_device;
  }
  if (trace == nullptr || trace->items.empty()) return wrong("its traces are empty: nothing was recorded");
  if (trace->items.size() > kMostEntries) {
    return wrong("its trace has " + std::to_string(trace->items.size()) + " entries; at most " +
                 std::to_string(kMostEntries) + " are read");
  }
  Phases phases(snapshot);
  std::vector<Entry> entries;
  bool has_stacks = false;
  for (size_t i = 0; i < trace->items.size(); ++i) {
    const PickleId id = trace->items[i];
    const std::string* action = snapshot.AsText(snapshot.Member(id, "action"));
    if (action == nullptr) return wrong("entry " + std::to_string(i + 1) + " of its trace has no action");
    if (*action != "alloc" && *action != "free_requested") continue;
    const int64_t* address = snapshot.AsInteger(snapshot.Member(id, "addr"));
    const int64_t* size = snapshot.AsInteger(snapshot.Member(id, "size"));
    if (address == nullptr || size == nullptr || *size < 0 || *size > kMostBytes)
      return wrong("entry " + std::to_string(i + 1) + " of its trace has no address or no size that a card could hold");
    const PickleId frames = snapshot.Member(id, "frames");
    const std::string_view phase = phases.Of(frames);
    has_stacks |= !phase.empty();
    entries.push_back({*action == "alloc", *address, *size, phase.empty() ? "backward" : phase, frames,
                       static_cast<int64_t>(i) + 1, 0});
  }
  if (!has_stacks) return wrong("its entries have no stacks, so that no phase is known");
  return entries;
}

// Numbers the steps: a forward after an update begins the next. What is before the first forward is step 0, and so is
// the end of a step whose beginning the trace has lost.
int NumberSteps(bool zero_grad_first, std::vector<Entry>* entries) {
  int step = 0;
  bool updated = true, computed = false;
  for (Entry& entry : *entries) {
    const bool begins = (entry.phase == "forward" && entry.birth) || (zero_grad_first && entry.phase == "zero_grad");
    // The first gradient says that what was before it was a forward, and not the model's way to the card.
    computed |= entry.phase == "backward";
    if (begins && updated) {
      ++step;
      updated = false;
    }
    if (entry.phase == "update" && computed) {
      updated = true;
      computed = false;
    }
    entry.step = step;
  }
  return step;
}

int64_t RequestedAtEnd(const Pickle& snapshot) {
  const PickleList* segments = snapshot.AsList(snapshot.Member(snapshot.root, "segments"));
  int64_t sum = 0;
  if (segments == nullptr) return sum;
  for (const PickleId segment : segments->items) {
    const int64_t* requested = snapshot.AsInteger(snapshot.Member(segment, "requested_size"));
    if (requested != nullptr && *requested >= 0 && *requested <= kMostBytes) sum += *requested;
    if (sum > kMostBytes) return kMostBytes;
  }
  return sum;
}

}  // namespace

Result<RecordedSteps> StepOfSnapshot(const Pickle& snapshot, const std::string& name, const StepChoice& choice) {
  Result<std::vector<Entry>> found = EntriesOf(snapshot, name);
  if (!found.ok()) return found.error();
  std::vector<Entry>& entries = *found;
  const int last = NumberSteps(choice.zero_grad_first, &entries);
  const bool last_is_whole =
      std::ranges::any_of(entries, [&](const Entry& entry) { return entry.step == last && entry.phase == "update"; });
  RecordedSteps recorded;
  recorded.whole = last_is_whole ? last : last - 1;
  recorded.number = choice.step.value_or(recorded.whole);
  if (recorded.whole < 1 || recorded.number > recorded.whole) {
    return Error{ErrorCode::kBadInput, name,
                 "it holds " + std::to_string(std::max(0, recorded.whole)) + " whole optimizer steps" +
                     (choice.step ? ", and step " + std::to_string(*choice.step) + " was asked for" : ""),
                 "record at least two steps, from before the first one"};
  }
  std::unordered_map<int64_t, int64_t> live;  // by address, those born in the step
  // What was live before the trace begins: what the segments hold at its end, less what it adds.
  int64_t born = 0, level = RequestedAtEnd(snapshot);
  for (const Entry& entry : entries) level -= entry.birth ? entry.size : -entry.size;
  recorded.from_start = level == 0;
  for (const Entry& entry : entries) {
    level += entry.birth ? entry.size : -entry.size;
    if (entry.step != recorded.number || entry.size == 0) continue;
    TraceEvent event;
    event.birth = entry.birth;
    event.bytes = Bytes::Of(entry.size);
    event.asked = event.bytes;
    event.phase = entry.phase;
    event.line = entry.number;
    if (entry.birth) {
      event.layer = PlaceOf(snapshot, entry.frames);
      event.block = live[entry.address] = born++;
    } else if (const auto at = live.find(entry.address); at != live.end()) {
      event.block = at->second;
      live.erase(at);
    }
    event.allocated_after = Bytes::Of(level);
    recorded.step.push_back(std::move(event));
  }
  return recorded;
}

Trace AsRequested(Trace trace, Bytes before) {
  for (TraceEvent& event : trace) {
    event.bytes = event.asked.value_or(event.bytes);
    before = event.birth ? before + event.bytes : before - event.bytes;
    event.allocated_after = before;
    if (event.phase == "loss") event.phase = "forward";
  }
  return trace;
}

Error IsNoText(const std::string& name) {
  return {ErrorCode::kBadInput, name, "it is a Python pickle, but this verb reads text",
          "if it is a snapshot of PyTorch's memory, type vramplan compare " + name + " --model FILE.onnx"};
}

Error IsNoSnapshot(const std::string& name, const std::string& text) {
  return {ErrorCode::kBadInput, name, text,
          "record with torch.cuda.memory._record_memory_history() and write with _dump_snapshot(\"FILE\")"};
}

bool IsPickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

}  // namespace vramplan
