#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "planner/record/record.h"
#include "pretend/recording/moment.h"

namespace vramplan {
namespace {

// cuBLAS's workspaces on every card but Hopper's, and on those (aten/src/ATen/cuda/CublasHandlePool.cpp, 2.10:
// parseChosenWorkspaceSize: 4096 KiB x 2 + 16 KiB x 8, 32 MiB), and cuBLASLt's 1 MiB.
constexpr std::array<Bytes, 3> kWorkspaces = {Bytes::Of(8519680), Bytes::MiB(32), Bytes::MiB(1)};

Category CategoryOf(TensorUse use) {
  switch (use) {
    case TensorUse::kParameters:
    case TensorUse::kFrozen:
      return Category::kParameters;
    case TensorUse::kBuffers:
      return Category::kBuffers;
    case TensorUse::kGradients:
      return Category::kGradients;
    case TensorUse::kOptimizerState:
      return Category::kOptimizerState;
    case TensorUse::kInputs:
      return Category::kInputs;
  }
  return Category::kTemporaries;
}

// Where in the loop the history is. A step is over when its optimizer has stepped; what is freed after that, and
// zero_grad, still belong to it, until something is allocated or a forward begins.
class Loop {
 public:
  void At(LoopMark mark) {
    switch (mark) {
      case LoopMark::kForward:
        Begin();
        Go(Phase::kForward);
        return;
      case LoopMark::kLoss:
        forward_over_ = phase_ == Phase::kForward;
        return;
      case LoopMark::kBackward:
        Begin();
        Go(Phase::kBackward);
        return;
      // Clipping and unscaling are the update's.
      case LoopMark::kAfterBackward:
      case LoopMark::kUpdate:
        Begin();
        Go(Phase::kUpdate);
        return;
      case LoopMark::kAfterUpdate:
        return;
      case LoopMark::kZeroGrad:
        if (phase_ != Phase::kZeroGrad) before_ = phase_;
        Go(Phase::kZeroGrad);
        return;
      case LoopMark::kAfterZeroGrad:
        if (before_) Go(*before_);
        before_.reset();
        return;
      case LoopMark::kStep:
        over_ = true;
        return;
    }
  }
  // A backward is over, and the next mark is another backward or a forward: its gradients are a part of the loss, it was
  // traced by a compiler, or it was of one micro-batch.
  void BackInForward() {
    Begin();
    Go(Phase::kForward);
  }
  void Allocated() {
    if (over_ && phase_ != Phase::kZeroGrad) Begin();
    if (forward_over_) Go(Phase::kLoss);
  }
  Phase phase() const { return step_ == 0 ? Phase::kSetup : phase_; }
  int32_t step() const { return step_; }

 private:
  void Begin() {
    if (step_ == 0 || over_) {
      ++step_;
      phase_ = Phase::kForward;
    }
    over_ = false;
  }
  void Go(Phase phase) {
    phase_ = phase;
    forward_over_ = false;
  }

  Phase phase_ = Phase::kForward;
  std::optional<Phase> before_;
  int32_t step_ = 0;
  bool over_ = false;
  bool forward_over_ = false;  // what is let go of until something is allocated was the forward's
};

class HistoryReader {
 public:
  explicit HistoryReader(const Recording& recording) : from_(recording), allocations_(AllocationsBefore(recording)) {
    into_.modules = recording.modules;
    // A script without an optimizer may update by itself there.
    const auto is_update = [](const HistoryEvent& event) {
      return event.kind == HistoryKind::kLoopMark && static_cast<LoopMark>(event.what) == LoopMark::kUpdate;
    };
    if (std::ranges::none_of(recording.history, is_update)) return;
    bool computes = false;  // what comes next is a forward or a backward
    for (auto at = recording.history.rbegin(); at != recording.history.rend(); ++at) {
      const HistoryEvent& event = *at;
      if (event.kind != HistoryKind::kLoopMark) continue;
      const auto mark = static_cast<LoopMark>(event.what);
      if (mark == LoopMark::kAfterBackward && computes) back_in_forward_.insert(&event);
      if (mark == LoopMark::kForward || mark == LoopMark::kBackward) computes = true;
      if (mark == LoopMark::kUpdate || mark == LoopMark::kStep) computes = false;
    }
  }

  Record Take() {
    const bool was_full = !from_.last || from_.last->retries > 0 || !from_.refusals.empty();
    bool given_back = false;
    for (const HistoryEvent& event : from_.history) {
      // A cache is given back segment by segment.
      if (event.kind == HistoryKind::kSegmentGone && !given_back && !was_full) Add(RowKind::kEmptyCache, -1, -1);
      given_back = event.kind == HistoryKind::kSegmentGone;
      Take(event);
    }
    NoteOutputs();
    NoteFrozen();
    Categorize();
    return std::move(into_);
  }

 private:
  RecordRow& Add(RowKind kind, int32_t block, int32_t module) {
    into_.rows.push_back({kind, loop_.phase(), loop_.step(), block, module, {}});
    return into_.rows.back();
  }

  void Take(const HistoryEvent& event) {
    switch (event.kind) {
      case HistoryKind::kAllocate: {
        loop_.Allocated();
        const auto block = static_cast<int32_t>(into_.blocks.size());
        const Mark* backward = BackwardAt(++allocations_);
        const auto [place, caller] = PlacesOf(event.stack);
        into_.blocks.push_back({.bytes = event.bytes,
                                .place = place < 0 && backward != nullptr ? NumberOf(backward->place) : place,
                                .caller = caller});
        tagged_.push_back(false);
        of_module_.push_back(inside_ > 0);
        live_[event.address] = block;
        Add(RowKind::kAllocate, block, event.module);
        return;
      }
      case HistoryKind::kFree:
        if (const auto live = live_.find(event.address); live != live_.end()) {
          Add(RowKind::kFree, live->second, -1);
          live_.erase(live);
        }
        return;
      case HistoryKind::kEnter:
        Add(RowKind::kEnter, -1, event.module);
        if (inside_++ == 0 && loop_.phase() != Phase::kBackward) output_ = -1;
        return;
      case HistoryKind::kGives:
        gives_.push_back(event.address);
        return;
      case HistoryKind::kLeave: {
        RecordRow& row = Add(RowKind::kLeave, -1, event.module);
        for (const uint64_t address : gives_) {
          const auto live = live_.find(address);
          if (live != live_.end() && std::ranges::find(row.results, live->second) == row.results.end())
            row.results.push_back(live->second);
        }
        gives_.clear();
        if (inside_ > 0) --inside_;
        if (inside_ == 0 && loop_.phase() != Phase::kBackward) {
          // Caches and hidden states that it gives besides are smaller.
          for (const int32_t block : row.results)
            if (output_ < 0 || BytesOf(block) >= BytesOf(output_)) output_ = block;
        }
        return;
      }
      case HistoryKind::kLoopMark:
        if (static_cast<LoopMark>(event.what) == LoopMark::kBackward) NoteOutputs();
        stepping_ = static_cast<LoopMark>(event.what) == LoopMark::kAfterUpdate;
        if (back_in_forward_.contains(&event)) {
          loop_.BackInForward();
        } else {
          loop_.At(static_cast<LoopMark>(event.what));
        }
        return;
      case HistoryKind::kTag: {
        const auto live = live_.find(event.address);
        if (live == live_.end()) return;
        RecordBlock& block = into_.blocks[static_cast<size_t>(live->second)];
        const auto use = static_cast<TensorUse>(event.what);
        // An optimizer tells its parameters when it has stepped, a module when its forward begins.
        if (use == TensorUse::kFrozen) frozen_.insert(live->second);
        if (use == TensorUse::kParameters && stepping_) stepped_.insert(live->second);
        // The first word counts: what a module takes may be a parameter. What another module made is no input: a picture of a
        // generator, keys and values of the tokens before.
        if (tagged_[static_cast<size_t>(live->second)]) return;
        if (use == TensorUse::kInputs && of_module_[static_cast<size_t>(live->second)]) return;
        tagged_[static_cast<size_t>(live->second)] = true;
        block.category = CategoryOf(use);
        block.element = event.bytes.count();
        return;
      }
      case HistoryKind::kSegment:
      case HistoryKind::kSegmentGone:
      case HistoryKind::kRefused:
        return;
    }
  }

  Bytes BytesOf(int32_t block) const { return into_.blocks[static_cast<size_t>(block)].bytes; }

  // The backward that runs at the n-th allocation; null: none does.
  const Mark* BackwardAt(int64_t n) {
    for (; next_ < from_.marks.size() && from_.marks[next_].allocations < n; ++next_) {
      const Mark& mark = from_.marks[next_];
      if (mark.kind == MarkKind::kBackward) backward_ = &mark;
      if (mark.kind == MarkKind::kAfterBackward) backward_ = nullptr;
    }
    return backward_;
  }

  // The line that asked, and the script's own behind it.
  std::pair<int32_t, int32_t> PlacesOf(int32_t stack) {
    const auto [known, fresh] = places_.try_emplace(stack, -1, -1);
    if (!fresh) return known->second;
    const CodePlace place = PlaceOf(from_, stack);
    return known->second = {NumberOf(place), NumberOf(CallerOf(from_, stack, place))};
  }
  int32_t NumberOf(const CodePlace& place) {
    if (place.file.empty()) return -1;
    const auto same = std::ranges::find(into_.places, place);
    const auto number = static_cast<int32_t>(same - into_.places.begin());
    if (same == into_.places.end()) into_.places.push_back(place);
    return number;
  }

  // From where what the outermost module gives is born: its head's last matrix, then the loss.
  void NoteOutputs() {
    if (output_ < 0 || loop_.phase() == Phase::kBackward) return;
    for (size_t block = static_cast<size_t>(output_); block < into_.blocks.size(); ++block)
      into_.blocks[block].outputs = true;
    output_ = -1;
  }

  // They may be trained later.
  void NoteFrozen() {
    for (const int32_t block : frozen_) into_.blocks[static_cast<size_t>(block)].frozen = !stepped_.contains(block);
  }

  // Blocks that no tag names: by where they are born and die.
  void Categorize() {
    std::vector<const RecordRow*> births(into_.blocks.size());
    std::unordered_set<int32_t> dead;
    const auto in_forward = [](const RecordRow& row) {
      return row.phase == Phase::kForward || row.phase == Phase::kLoss;
    };
    for (const RecordRow& row : into_.rows) {
      if (row.kind == RowKind::kAllocate) {
        births[static_cast<size_t>(row.block)] = &row;
        if (row.step == 0) Untagged(row.block, Category::kInputs);
      } else if (row.kind == RowKind::kFree) {
        dead.insert(row.block);
        const RecordRow& birth = *births[static_cast<size_t>(row.block)];
        const bool forward = in_forward(birth);
        // Lives beyond the forward; or, of a recomputation, beyond what made it.
        const bool saved =
            forward ? !in_forward(row) || row.step != birth.step : birth.phase == Phase::kBackward && birth.module >= 0;
        if (saved) Untagged(row.block, Category::kActivations);
      }
    }
    std::set<std::pair<Bytes, bool>> workspaces;  // each thread has one of a size, and backwards run in their own
    for (size_t block = 0; block < into_.blocks.size(); ++block) {
      const auto id = static_cast<int32_t>(block);
      if (dead.contains(id)) continue;
      const Bytes bytes = into_.blocks[block].bytes;
      const bool forward = in_forward(*births[block]);
      const bool workspace = births[block]->step > 0 && !tagged_[block] &&
                             std::ranges::find(kWorkspaces, bytes) != kWorkspaces.end() &&
                             workspaces.emplace(bytes, births[block]->phase == Phase::kBackward).second;
      if (workspace) {
        Untagged(id, Category::kWorkspace);
      } else if (forward) {
        Untagged(id, Category::kActivations);
      }
    }
  }
  void Untagged(int32_t block, Category category) {
    if (!tagged_[static_cast<size_t>(block)]) into_.blocks[static_cast<size_t>(block)].category = category;
  }

  const Recording& from_;
  Record into_;
  Loop loop_;
  std::unordered_set<const HistoryEvent*> back_in_forward_;          // ends of backwards that no update follows
  std::unordered_map<uint64_t, int32_t> live_;                       // by address
  std::unordered_map<int32_t, std::pair<int32_t, int32_t>> places_;  // by stack
  std::vector<uint64_t> gives_;
  std::vector<bool> tagged_, of_module_;          // by block: its use is told; it was made while a module ran
  std::unordered_set<int32_t> frozen_, stepped_;  // parameters that modules told, and optimizers
  bool stepping_ = false;                         // an optimizer has stepped, and tells
  int inside_ = 0;                                // modules whose forward runs
  int32_t output_ = -1;                           // the largest block that the outermost module gave last
  int64_t allocations_;
  size_t next_ = 0;  // of the marks
  const Mark* backward_ = nullptr;
};

}  // namespace

Record RecordOf(const Recording& recording, bool cudnn) {
  Record record = HistoryReader(recording).Take();
  record.cudnn = cudnn;
  record.reserved = recording.peak().reserved;
  return record;
}

}  // namespace vramplan
