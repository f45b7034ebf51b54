#include "planner/snapshot/snapshot.h"

#include <algorithm>
#include <map>

#include "planner/allocator/player.h"

namespace vramplan {
namespace {

// Where the driver's addresses begin on Linux; ours begin at 0.
constexpr int64_t kFirstAddress = int64_t{0x7f} << 40;

class Recorder {
 public:
  explicit Recorder(const SnapshotSubject& subject)
      : subject_(subject),
        player_(subject.timeline, subject.batch, subject.config, Bytes::Max()),
        births_(subject.timeline.blocks.size()),
        addresses_(subject.timeline.blocks.size()) {}

  Pickle Record() {
    const std::vector<Event>& events = subject_.timeline.events;
    for (size_t i = 0; i < events.size(); ++i) Play(i, events[i]);
    const PickleId settings = pickle_.Dict(
        {{Text("PYTORCH_CUDA_ALLOC_CONF"), Text("")},
         {Text("expandable_segments"), pickle_.Truth(subject_.config.expandable_segments)},
         {Text("max_split_size"), pickle_.Integer(subject_.config.max_split_size.value_or(Bytes::Of(-1)).count())}});
    // The first member tells an earlier answer of ours from a snapshot of the user's.
    std::vector<std::pair<PickleId, PickleId>> root = {{Text("vramplan"), Text("written by vramplan")},
                                                       {Text("segments"), Segments()},
                                                       {Text("device_traces"), pickle_.List({pickle_.List(entries_)})},
                                                       {Text("allocator_settings"), settings},
                                                       {Text("external_annotations"), pickle_.List({})}};
    pickle_.root = pickle_.Dict(std::move(root));
    return std::move(pickle_);
  }

 private:
  PickleId Text(const std::string& text) {
    const auto [at, is_new] = texts_.try_emplace(text, -1);
    if (is_new) at->second = pickle_.Text(text);
    return at->second;
  }
  PickleId Number(int64_t number) { return pickle_.Integer(number); }

  PickleId Frames(size_t event) {
    std::vector<PickleId> list;
    for (const CodePlace& frame : subject_.frames(event)) {
      const std::string key = frame.function + '\n' + frame.file + '\n' + std::to_string(frame.line);
      const auto [at, is_new] = frames_.try_emplace(key, -1);
      if (is_new) {
        at->second = pickle_.Dict({{Text("name"), Text(frame.function)},
                                   {Text("filename"), Text(frame.file)},
                                   {Text("line"), Number(frame.line)}});
      }
      list.push_back(at->second);
    }
    const auto [at, is_new] = stacks_.try_emplace(list, -1);
    if (is_new) at->second = pickle_.List(list);
    return at->second;
  }

  void Entry(const char* action, int64_t address, Bytes bytes, size_t event) {
    entries_.push_back(pickle_.Dict({{Text("action"), Text(action)},
                                     {Text("addr"), Number(kFirstAddress + address)},
                                     {Text("size"), Number(bytes.count())},
                                     {Text("stream"), Number(0)},
                                     {Text("time_us"), Number(static_cast<int64_t>(event))},
                                     {Text("compile_context"), Text("N/A")},
                                     {Text("user_metadata"), Text("")},
                                     {Text("frames"), Frames(event)}}));
  }

  // What the allocator took from the driver, and gave back, since the last event.
  void SegmentEntries(size_t event) {
    std::map<int64_t, Bytes> now;
    bool expandable = false;
    for (const Segment& segment : player_.Picture().segments) {
      now[segment.address] = segment.size;
      expandable |= segment.expandable;
    }
    for (const auto& [address, size] : segments_) {
      const auto found = now.find(address);
      const Bytes left = found == now.end() ? Bytes() : found->second;
      if (left < size) Entry(expandable ? "segment_unmap" : "segment_free", address + left.count(), size - left, event);
    }
    for (const auto& [address, size] : now) {
      const auto found = segments_.find(address);
      const Bytes before = found == segments_.end() ? Bytes() : found->second;
      if (before < size)
        Entry(expandable ? "segment_map" : "segment_alloc", address + before.count(), size - before, event);
    }
    segments_ = std::move(now);
  }

  void Play(size_t i, const Event& event) {
    const Bytes reserved = player_.statistics().reserved;
    std::optional<Allocation> block;
    player_.Play(event, &block);
    if (player_.statistics().reserved != reserved) SegmentEntries(i);
    if (!event.block.valid()) return;
    const auto id = static_cast<size_t>(event.block.value);
    const Bytes bytes = subject_.timeline[event.block].bytes.At(subject_.batch);
    if (event.kind == EventKind::kAllocate && block) {
      births_[id] = i;
      addresses_[id] = block->address;
      Entry("alloc", block->address, bytes, i);
    } else if (event.kind == EventKind::kFree && addresses_[id]) {
      Entry("free_requested", *addresses_[id], bytes, i);
      Entry("free_completed", *addresses_[id], bytes, i);
      addresses_[id].reset();
    }
  }

  PickleId Segments() {
    const PeakSegments now = player_.Picture();
    std::vector<PickleId> segments;
    for (const Segment& segment : now.segments) {
      std::vector<PickleId> blocks;
      Bytes allocated, requested;
      for (const SegmentBlock& block : segment.blocks) {
        allocated += block.live() ? block.size : Bytes();
        requested += block.requested;
        const PickleId frames =
            block.live() ? Frames(births_[static_cast<size_t>(now.owners[static_cast<size_t>(block.handle)].value)])
                         : pickle_.List({});
        blocks.push_back(pickle_.Dict({{Text("address"), Number(kFirstAddress + block.address)},
                                       {Text("size"), Number(block.size.count())},
                                       {Text("requested_size"), Number(block.requested.count())},
                                       {Text("state"), Text(block.live() ? "active_allocated" : "inactive")},
                                       {Text("frames"), frames}}));
      }
      segments.push_back(pickle_.Dict({{Text("device"), Number(0)},
                                       {Text("address"), Number(kFirstAddress + segment.address)},
                                       {Text("total_size"), Number(segment.size.count())},
                                       {Text("allocated_size"), Number(allocated.count())},
                                       {Text("active_size"), Number(allocated.count())},
                                       {Text("requested_size"), Number(requested.count())},
                                       {Text("stream"), Number(0)},
                                       {Text("segment_type"), Text(segment.small_pool ? "small" : "large")},
                                       {Text("segment_pool_id"), pickle_.Tuple({Number(0), Number(0)})},
                                       {Text("is_expandable"), pickle_.Truth(segment.expandable)},
                                       {Text("frames"), pickle_.List({})},
                                       {Text("blocks"), pickle_.List(std::move(blocks))}}));
    }
    return pickle_.List(std::move(segments));
  }

  const SnapshotSubject& subject_;
  Player player_;
  Pickle pickle_;
  std::vector<size_t> births_;
  std::vector<std::optional<int64_t>> addresses_;  // of what is live
  std::map<int64_t, Bytes> segments_;
  std::map<std::string, PickleId> texts_, frames_;
  std::map<std::vector<PickleId>, PickleId> stacks_;
  std::vector<PickleId> entries_;
};

}  // namespace

Pickle SnapshotOf(const SnapshotSubject& subject) { return Recorder(subject).Record(); }

}  // namespace vramplan
