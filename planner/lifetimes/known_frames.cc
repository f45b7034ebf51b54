#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "planner/lifetimes/rules.h"

namespace vramplan {
namespace {

// The table with its words apart.
struct FrameRow {
  std::string_view library;
  std::vector<std::string_view> children, names;
};

// By the child that a frame calls first.
const std::unordered_map<std::string_view, std::vector<FrameRow>>& Rows() {
  static const std::unordered_map<std::string_view, std::vector<FrameRow>> rows = [] {
    std::unordered_map<std::string_view, std::vector<FrameRow>> apart;
    for (const Library& library : Libraries()) {
      for (const FrameHabit& frame : library.frames) {
        const std::vector<std::string_view> children = TextsIn(frame.children, ' ');
        apart[children.front()].push_back({library.name, children, TextsIn(frame.names, ',')});
      }
    }
    return apart;
  }();
  return rows;
}

class KnownFrames {
 public:
  KnownFrames(const Frames& frames, Holds& holds) : layers_(frames.layers()), frames_(frames), holds_(holds) {}

  void Hold() {
    for (const ModuleId frame : frames_.All()) {
      if (!frame.valid() || !layers_[frame].class_name.starts_with("torch.nn.modules.")) HoldFrame(frame);
    }
  }

 private:
  struct Kinded {
    Statement statement;
    std::string kind;
  };

  void HoldFrame(ModuleId frame) {
    std::vector<Kinded> run;
    for (const Statement& statement : frames_.StatementsOf(frame)) {
      std::string kind = frames_.KindOf(statement);
      if (!statement.call.valid()) kind.insert(0, ":");
      if (kind.front() == '.') kind.erase(0, 1);
      run.push_back({statement, std::move(kind)});
    }
    std::set<std::string_view> kinds;
    for (const Kinded& one : run) kinds.insert(one.kind);
    const Release end = frames_.WithFrame(frame);
    const std::string_view class_name = frame.valid() ? layers_[frame].class_name : std::string_view();
    for (const std::string_view kind : kinds) {
      const auto rows = Rows().find(kind);
      if (rows == Rows().end()) continue;
      for (const FrameRow& row : rows->second) {
        if (!class_name.empty() && !class_name.starts_with(row.library)) continue;
        if (!Calls(run, row.children)) continue;
        for (const std::vector<Kinded>& turn : TurnsOf(run, kind)) {
          const bool whole = turn.size() == run.size();
          for (const std::string_view name : row.names)
            HoldName(frame, turn, name, whole ? end : Release{turn.back().statement.last, end.holder});
        }
      }
    }
  }

  // A frame that comes to its first child again and again is that of a loop, which calls block.forward(x): exporters
  // see none of the blocks' own frames. What runs from child to child is one of them.
  static std::vector<std::vector<Kinded>> TurnsOf(const std::vector<Kinded>& run, std::string_view head) {
    const auto begins = [&](const Kinded& one) { return one.kind == head; };
    const bool of_list = head.front() == ':' || head.find('#') != std::string_view::npos;
    if (of_list || std::ranges::count_if(run, begins) < 2) return {run};
    std::vector<std::vector<Kinded>> turns;
    for (const Kinded& one : run) {
      if (begins(one)) turns.emplace_back();
      if (!turns.empty()) turns.back().push_back(one);
    }
    return turns;
  }

  static bool Calls(const std::vector<Kinded>& run, const std::vector<std::string_view>& children) {
    auto at = run.begin();
    for (std::string_view child : children) {
      const bool never = child.front() == '!';
      if (never) child.remove_prefix(1);
      const auto found =
          std::find_if(never ? run.begin() : at, run.end(), [&](const Kinded& one) { return one.kind == child; });
      if (never ? found != run.end() : found == run.end()) return false;
      if (!never) at = found;
    }
    return true;
  }

  void HoldName(ModuleId frame, const std::vector<Kinded>& run, std::string_view name, Release end) {
    const bool list = name.front() == '+', reads = name.back() == '<';
    if (list) name.remove_prefix(1);
    if (reads) name.remove_suffix(1);
    const std::vector<std::string_view> writes = TextsIn(name, ' ');
    std::vector<ValueId> bound;
    std::map<std::string_view, int> all, count;
    for (const Kinded& one : run) ++all[one.kind];
    const auto is_written = [&](const std::string& kind) { return Contains(writes, kind); };
    for (const Kinded& one : run) {
      const int place = ++count[one.kind];
      if (!is_written(one.kind) && !is_written(one.kind + "@" + std::to_string(place)) &&
          !is_written(one.kind + "@" + std::to_string(place - 1 - all[one.kind]))) {
        continue;
      }
      if (!list) {
        for (const ValueId id : bound) holds_.Lengthen(id, {one.statement.last, end.holder});
        bound.clear();
      }
      const std::vector<ValueId> more = reads ? ReadBy(one.statement) : ResultsOf(one.statement);
      bound.insert(bound.end(), more.begin(), more.end());
    }
    if (list && bound.empty()) bound = ResultsInside(frame, writes);
    for (const ValueId id : bound) holds_.Lengthen(id, end);
  }

  // What a statement makes and something behind it reads.
  std::vector<ValueId> ResultsOf(const Statement& statement) const {
    std::vector<ValueId> results;
    for (int l = statement.first; l <= statement.last; ++l) {
      for (const ValueId id : frames_.At(l).outputs) {
        const std::span<const int32_t> readers = frames_.uses().LayersReading(id);
        if (!readers.empty() && readers.back() > statement.last) results.push_back(id);
      }
    }
    return results;
  }

  std::vector<ValueId> ReadBy(const Statement& statement) const {
    std::vector<ValueId> read;
    for (int l = statement.first; l <= statement.last; ++l) {
      for (const ValueId id : frames_.At(l).inputs) {
        const int maker = frames_.MakerOf(id);
        if (maker >= 0 && maker < statement.first) read.push_back(id);
      }
    }
    return read;
  }

  // Results of the calls that a call of this frame makes, or one within it: a list that they were given or return.
  std::vector<ValueId> ResultsInside(ModuleId frame, const std::vector<std::string_view>& kinds) const {
    constexpr int kDeepest = 3;
    std::vector<ValueId> results;
    for (size_t m = 0; m < layers_.modules.size(); ++m) {
      const ModuleId call = layers_.modules[m].parent;
      const int first = frames_.FirstOf(ModuleId::At(m));
      if (!call.valid() || first < 0) continue;
      std::vector<ModuleId> calls = {call};  // out to the frame
      while (calls.back().valid() && layers_[calls.back()].parent != frame && calls.size() < kDeepest)
        calls.push_back(layers_[calls.back()].parent);
      if (!calls.back().valid() || layers_[calls.back()].parent != frame) continue;
      const Statement inner = frames_.StatementOf(first, call);
      std::string path = frames_.KindOf(frames_.StatementOf(first, frame));
      for (size_t c = calls.size(); c-- > 0;) path += frames_.KindOf(frames_.StatementOf(first, calls[c]));
      if (path.front() == '.') path.erase(0, 1);
      if (!Contains(kinds, path)) continue;
      const std::vector<ValueId> more = ResultsOf(inner);
      results.insert(results.end(), more.begin(), more.end());
    }
    return results;
  }

  const Layers& layers_;
  const Frames& frames_;
  Holds& holds_;
};

}  // namespace

void HoldKnownFrames(const Frames& frames, Holds& holds) { KnownFrames(frames, holds).Hold(); }

}  // namespace vramplan
