#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "graph/base/text.h"
#include "planner/lifetimes/executed.h"
#include "planner/lifetimes/rules.h"

namespace vramplan {
namespace {

using Names = std::vector<std::string>;

// Of parts that have lost their line: q of q = q.view(...).
std::string NameOfPart(const Executed& reading) {
  const Names& targets = reading.read.targets;
  return targets.size() == 1 && Mentions(RightOf(reading.text), targets[0]) ? targets[0] : std::string();
}

struct Frame {
  ModuleId module;  // invalid: the root's
  std::vector<Unit> units;
  std::vector<Executed> ran;
  Release end;  // of its names

  int First(size_t s) const { return units[ran[s].first].statement.first; }  // layers
  int Last(size_t s) const { return units[ran[s].last].statement.last; }
  Release EndOf(size_t s) const { return {Last(s), end.holder}; }
  // The statement, `s` or a later one, that ran a layer.
  size_t Running(int layer, size_t s) const {
    while (Last(s) < layer) ++s;
    return s;
  }
};

class TracedNames {
 public:
  TracedNames(const Frames& frames, const Holds& read, Holds& holds)
      : layers_(frames.layers()),
        frames_(frames),
        read_(read),
        holds_(holds),
        traced_(holds.size()),
        execution_(frames) {}

  void Follow() {
    for (const ModuleId module : frames_.All()) {
      Frame frame{module, execution_.UnitsOf(module), {}, frames_.WithFrame(module)};
      frame.ran = execution_.StatementsOf(frame.units);
      for (size_t s = 0; s < frame.ran.size(); ++s) NameInnerLine(s, &frame);
      ran_.emplace(module, std::move(frame));
    }
    for (const auto& [module, frame] : ran_) {
      for (size_t s = 0; s < frame.ran.size(); ++s) Bind(frame, s);
    }
  }

  Traced ByValue() && { return std::move(traced_); }

 private:
  // The file has only the lines in which operators ran. One that neither writes a name nor returns stands inside the
  // brackets of a statement whose first line is not there; the name of what it made is read later:
  //   12 hidden = (
  //   13     hidden.view(b, q, -1, c).max(dim=1).values      all that the file has: it writes hidden
  //   14 )
  //   15 normed = self.attn(normed)
  //   16 hidden = normed + hidden                            not normed: line 15 wrote that in between
  void NameInnerLine(size_t s, Frame* frame) const {
    Executed& one = frame->ran[s];
    const PythonLine& read = one.read;
    if (one.line < 0 || !read.clear || !read.targets.empty() || read.collects || read.returns || read.open != 0) return;
    const std::vector<ValueId> leaving = LeavingOf(*frame, s);
    if (leaving.size() != 1) return;
    const std::span<const int32_t> readers = execution_.ReadersOf(leaving[0]);
    Names open = frame->ran[frame->Running(readers.front(), s)].names;
    for (const int reader : readers) {
      const size_t reading = frame->Running(reader, s);
      std::erase_if(open, [&](const std::string& name) {
        return IsNoTensor(name) || !Mentions(RightOf(frame->ran[reading].text), name) ||
               IsWritten(*frame, s + 1, reading, name) || IsOfAnother(*frame, s, reading, name);
      });
    }
    if (open.size() == 1) one.read.targets = std::move(open);
  }

  static bool IsNoTensor(std::string_view name) { return IsOneOf(name, {"self", "torch", "F", "nn"}); }

  // By the statements from `first` up to `end`.
  static bool IsWritten(const Frame& frame, size_t first, size_t end, const std::string& name) {
    const auto at = [&](size_t s) { return frame.ran.begin() + static_cast<std::ptrdiff_t>(s); };
    return first < end && std::any_of(at(first), at(end), [&](const Executed& line) { return line.Binds(name); });
  }

  // Whether `reading` reads under this name what a statement before `s` made.
  bool IsOfAnother(const Frame& frame, size_t s, size_t reading, const std::string& name) const {
    for (size_t before = s; before-- > 0;) {
      if (!frame.ran[before].Binds(name)) continue;
      return std::ranges::any_of(LeavingOf(frame, before), [&](ValueId id) { return Reads(frame, reading, id); });
    }
    return false;
  }

  // What a statement makes and a later one of the frame reads.
  std::vector<ValueId> LeavingOf(const Frame& frame, size_t s) const {
    std::vector<ValueId> leaving;
    for (int l = frame.First(s); l <= frame.Last(s); ++l) {
      for (const ValueId id : frames_.At(l).outputs) {
        if (!id.valid() || layers_[id].role != Role::kActivation) continue;
        const std::span<const int32_t> readers = execution_.ReadersOf(id);
        if (!readers.empty() && readers.back() > frame.Last(s) && readers.back() <= frame.end.after)
          leaving.push_back(id);
      }
    }
    return leaving;
  }

  void Bind(const Frame& frame, size_t s) {
    const Executed& one = frame.ran[s];
    const bool plain = Execution::IsPlain(frame.units, one);
    const std::vector<ValueId> leaving = LeavingOf(frame, s);
    for (int l = frame.First(s); l <= frame.Last(s); ++l) {
      for (const ValueId id : frames_.At(l).outputs) {
        if (!id.valid() || layers_[id].role != Role::kActivation) continue;
        const std::span<const int32_t> readers = execution_.ReadersOf(id);
        if (readers.empty() || readers.back() > frame.Last(s)) continue;
        if (plain && !IsInsideCall(frame, one, l, readers)) {
          SetRelease(id, {read_[id.index()], true});
        } else if (one.line >= 0 && holds_[id.index()].after > frame.Last(s)) {
          // h = self.propagate(x): variables of a function die with it, at the latest when the statement is done.
          SetRelease(id, {frame.EndOf(s), false});
          traced_.told[id.index()] = Told::kLatest;
        }
      }
    }
    if (one.line == kLostLine) {
      for (const ValueId part : leaving) {
        const size_t reading = frame.Running(execution_.ReadersOf(part).front(), s);
        const bool called = !Execution::IsPlain(frame.units, frame.ran[reading]);
        SetRelease(part, called ? End{frame.EndOf(reading), false}
                                : EndOfName(frame, s, NameOfPart(frame.ran[reading]), part));
      }
    } else if (one.read.clear && one.read.collects) {
      for (const ValueId id : leaving) {
        if (IsTakenOut(frame, s, id, "")) {
          SetRelease(id, {read_[id.index()], true});
        } else if (const Release end = EndOfList(frame, s, id); end.after != frame.end.after) {
          SetRelease(id, {end, true});
        } else {
          holds_.Lengthen(id, EndOfCallersList(frame, s));
          traced_.told[id.index()] = Told::kNothing;
        }
      }
    } else if (one.read.clear && !one.read.targets.empty()) {
      const std::vector<Names> names = NamesOf(frame, s, leaving);
      const bool unseen = IsLineUnseenBehind(frame, s);
      for (size_t i = 0; i < leaving.size(); ++i) {
        if (names[i].size() != 1) continue;
        SetRelease(leaving[i], EndOfName(frame, s, names[i][0], leaving[i]));
        if (unseen) traced_.again[leaving[i].index()] = frame.end;
      }
    }
  }

  // Whether a line that makes nothing may stand behind statement `s`, where no operator ran: skips.append(x), or the
  // second name of pointfeat = x. It may be a comment as well.
  static bool IsLineUnseenBehind(const Frame& frame, size_t s) {
    const auto line_of = [&](size_t unit) {
      return frame.units[unit].line != nullptr ? frame.units[unit].line->line : int64_t{0};
    };
    int64_t last = 0, next = std::numeric_limits<int64_t>::max();
    for (size_t u = frame.ran[s].first; u <= frame.ran[s].last; ++u) last = std::max(last, line_of(u));
    for (size_t u = 0; u < frame.units.size(); ++u) {
      if (line_of(u) > last) next = std::min(next, line_of(u));
    }
    return last > 0 && next != std::numeric_limits<int64_t>::max() && next > last + 1;
  }

  // Until when the list that statement `s` puts something into has it: outs = torch.stack(outs) writes its name anew.
  // So does outs = [], which makes nothing and is not in the file: the line that read the list reads it again, without
  // this value.
  Release EndOfList(const Frame& frame, size_t s, ValueId id) const {
    const std::string list = ListIn(frame.ran[s].text);
    for (size_t next = s + 1; next < frame.ran.size() && !list.empty(); ++next) {
      const Executed& later = frame.ran[next];
      if (later.Binds(list) && !later.read.collects && later.read.clear && Mentions(RightOf(later.text), list))
        return frame.EndOf(next);
    }
    const size_t reading = frame.Running(execution_.ReadersOf(id).back(), s);
    for (size_t next = reading + 1; next < frame.ran.size() && !list.empty(); ++next) {
      const Executed& later = frame.ran[next];
      if (later.line != frame.ran[reading].line || later.line < 0 || !Mentions(RightOf(later.text), list)) continue;
      const std::optional<size_t> begun = BoundToList(frame, reading + 1, next, list);
      if (begun && !Reads(frame, next, id)) return frame.EndOf(*begun);
    }
    return frame.end;
  }

  // The list may be the caller's, who gave it to the call beside the tensor under a name that no line of his wrote which
  // made something:
  //   output = [x]                          not in the file
  //   93 x = self.conv_mid(x, output)       in which concat_list.append(module(x)) ran
  Release EndOfCallersList(const Frame& frame, size_t s) const {
    const bool written = std::ranges::any_of(frame.ran, [list = ListIn(frame.ran[s].text)](const Executed& line) {
      return list.empty() || line.Binds(list);
    });
    const auto caller = frame.module.valid() ? ran_.find(frames_.CallerOf(frame.module)) : ran_.end();
    if (written || caller == ran_.end()) return frame.end;
    const size_t call = caller->second.Running(frame.First(s), 0);
    for (const std::string& name : FurtherArguments(caller->second.ran[call].text)) {
      const bool known = IsWritten(caller->second, 0, call, name);
      const bool is_input = std::ranges::any_of(
          layers_.inputs, [&](ValueId input) { return input.valid() && layers_[input].name == name; });
      if (!known && !is_input) return caller->second.end;
    }
    return frame.end;
  }

  // When a name goes, and whether the lines leave no doubt of it.
  struct End {
    Release until;
    bool sure;
  };

  void SetRelease(ValueId id, End end) {
    holds_.Set(id.index(), read_[id.index()]);
    holds_.Lengthen(id, end.until);
    traced_.told[id.index()] = end.sure ? Told::kEnd : Told::kNothing;
  }

  // Whether one call made it and only the same call read it: that is the matter of the call's own frame.
  static bool IsInsideCall(const Frame& frame, const Executed& one, int maker, std::span<const int32_t> readers) {
    for (size_t u = one.first; u <= one.last; ++u) {
      const Statement& unit = frame.units[u].statement;
      if (maker >= unit.first && maker <= unit.last) return readers.back() <= unit.last;
    }
    return true;
  }

  // For each value that leaves statement `s` the name that it has; none where nobody knows which.
  std::vector<Names> NamesOf(const Frame& frame, size_t s, const std::vector<ValueId>& leaving) const {
    const Names& targets = frame.ran[s].read.targets;
    if (targets.size() == 1) return std::vector<Names>(leaving.size(), targets);
    std::vector<Names> names(leaving.size());
    Names open;
    std::ranges::copy_if(targets, std::back_inserter(open), [](const auto& name) { return name != "_"; });
    const std::vector<ValueId>& parts = frames_.At(frame.Last(s)).outputs;
    std::vector<size_t> unknown;
    for (size_t i = 0; i < leaving.size(); ++i) {
      const auto part = std::ranges::find(parts, leaving[i]);
      if (parts.size() == targets.size() && part != parts.end()) {
        names[i] = {targets[static_cast<size_t>(part - parts.begin())]};
        continue;
      }
      // x, k = block(x): of the two x is what the next turn reads. What was written in between holds something newer.
      const size_t reading = frame.Running(execution_.ReadersOf(leaving[i]).front(), s);
      const std::string_view right = RightOf(frame.ran[reading].text);
      std::ranges::copy_if(open, std::back_inserter(names[i]), [&](const std::string& name) {
        return Mentions(right, name) && !IsWritten(frame, s + 1, reading, name);
      });
      if (names[i].size() != 1) unknown.push_back(i);
    }
    for (size_t i = 0; i < names.size(); ++i) {
      if (!Contains(unknown, i)) std::erase(open, names[i][0]);
    }
    // Those whose readers mention several names take of these, in order; the rest is for those whose readers' lines are
    // not there. hidden, height, width = self.patches(x): numbers come last. Of more values than names one is a list.
    if (unknown.size() > open.size()) open.clear();
    for (const bool mentioned : {true, false}) {
      for (const size_t i : unknown) {
        if (mentioned ? names[i].size() < 2 : !names[i].empty()) continue;
        const auto name = std::ranges::find_if(
            open, [&](const std::string& other) { return !mentioned || Contains(names[i], other); });
        names[i] = name == open.end() ? Names() : Names{*name};
        if (name != open.end()) open.erase(name);
      }
    }
    return names;
  }

  // Whether the last statement that reads a value takes it out of a list: block(x, skips.pop()).
  bool IsTakenOut(const Frame& frame, size_t s, ValueId id, const std::string& list) const {
    const size_t reading = frame.Running(execution_.ReadersOf(id).back(), s);
    return frame.ran[reading].text.find(list + ".pop(") != std::string::npos;
  }

  // A name of the line that is neither called nor that of an argument: outs of torch.cat(outs, dim=axis).
  static bool MayBeTensor(std::string_view line, const std::string& name) {
    const size_t end = line.find(name) + name.size();
    const bool called = end < line.size() && (line[end] == '(' || line[end] == '=');
    return !called && !IsNoTensor(name) && name != "None" && name != "True" && name != "False";
  }

  // Until when the name that statement `s` writes holds the value: to the next statement that writes it. What is read
  // after that has a second name, by a line that makes nothing: residual = x; skips.append(x).
  End EndOfName(const Frame& frame, size_t s, const std::string& name, ValueId id) const {
    if (name.empty()) return {frame.end, false};
    const size_t reading = frame.Running(execution_.ReadersOf(id).back(), s);
    size_t next = s + 1;
    while (next < frame.ran.size() && !frame.ran[next].Binds(name)) ++next;
    if (const std::optional<size_t> made = WrittenUnseen(frame, s, next, name, id)) next = *made;
    if (IsTakenOut(frame, s, id, reading <= next ? name : "")) return {read_[id.index()], true};
    if (reading <= next) {
      if (IsReadFromList(frame, reading, name)) return {frame.end, false};
      if (const std::optional<size_t> list = BoundToList(frame, reading + 1, next, name))
        return {frame.EndOf(*list), true};
      const bool written = next < frame.ran.size() && !frame.ran[next].read.collects;
      return {written ? frame.EndOf(next) : frame.end, !written || !MayBeTurns(frame, frame.ran[next])};
    }
    // A name that no line wrote which made something: the line that gave it to this value gives it anew before the
    // next one that reads it.
    const bool again = std::ranges::any_of(frame.ran[reading].names, [&](const std::string& other) {
      return IsUnwritten(frame, reading, other) && IsReadBehind(frame, reading, other);
    });
    return {again ? frame.EndOf(reading) : frame.end, false};
  }

  // while x.size(2) > 2: x = self.block(x), of which the file has one line again and again: each turn writes x. A loop
  // inside of block() looks alike, and then x is written once.
  static bool MayBeTurns(const Frame& frame, const Executed& one) {
    if (Execution::IsPlain(frame.units, one)) return false;
    const auto unit = [&](size_t u) { return frame.units.begin() + static_cast<std::ptrdiff_t>(u); };
    return std::any_of(unit(one.first) + 1, unit(one.last) + 1,
                       [&](const Unit& later) { return later.kind == unit(one.first)->kind; });
  }

  // outs = torch.stack(outs); in the next turn outs = [], which makes nothing, and outs.append(x): no tensor has that. The
  // first statement from `first` up to `end` that appends to the name.
  static std::optional<size_t> BoundToList(const Frame& frame, size_t first, size_t end, const std::string& name) {
    for (size_t s = first; s < std::min(end, frame.ran.size()); ++s) {
      if (frame.ran[s].read.collects && ListIn(frame.ran[s].text) == name) return s;
    }
    return std::nullopt;
  }

  // Whether no line in front of statement `s` that made something wrote the name.
  static bool IsUnwritten(const Frame& frame, size_t s, const std::string& name) {
    return !IsNoTensor(name) && !IsWritten(frame, 0, s, name);
  }

  static bool IsReadBehind(const Frame& frame, size_t s, const std::string& name) {
    const auto before = frame.ran.begin() + static_cast<std::ptrdiff_t>(s);
    return std::any_of(before + 1, frame.ran.end(), [&](const Executed& later) { return Contains(later.names, name); });
  }

  // x = torch.cat(outs): reads the value, whose name is another one, from a list that a line which makes nothing has put
  // it into (outs.append(x)), and that nobody reads later.
  static bool IsReadFromList(const Frame& frame, size_t reading, const std::string& name) {
    const Executed& one = frame.ran[reading];
    const std::string_view right = RightOf(one.text);
    if (one.line < 0 || std::ranges::count(one.text, '(') != std::ranges::count(one.text, ')')) return false;
    return !Mentions(right, name) && std::ranges::any_of(NamesIn(right), [&](const std::string& other) {
      return MayBeTensor(right, other) && IsUnwritten(frame, reading, other) && !IsReadBehind(frame, reading, other);
    });
  }

  bool Reads(const Frame& frame, size_t s, ValueId id) const {
    return std::ranges::any_of(execution_.ReadersOf(id),
                               [&](int reader) { return reader >= frame.First(s) && reader <= frame.Last(s); });
  }

  // A line that makes nothing is not in the file. One that read the value under this name and, run again before `next`,
  // reads something newer under it tells that the name was written in between, right behind what made the newer value:
  //   218 x = self.embed(x)
  //   221 outputs = block(x)      reads the embedding
  //   222 x = outputs[0]          not in the file; writes x behind the first turn of line 221
  //   221 outputs = block(x)      reads what the first turn made
  std::optional<size_t> WrittenUnseen(const Frame& frame, size_t s, size_t next, const std::string& name,
                                      ValueId id) const {
    std::set<int> lines;  // that read it
    for (size_t t = s + 1; t < std::min(next + 1, frame.ran.size()); ++t) {
      const Executed& reading = frame.ran[t];
      if (reading.line < 0 || !Mentions(RightOf(reading.text), name)) continue;
      if (Reads(frame, t, id)) {
        lines.insert(reading.line);
      } else if (lines.contains(reading.line)) {
        int newest = -1;
        for (int l = frame.First(t); l <= frame.Last(t); ++l) {
          for (const ValueId input : frames_.At(l).inputs) {
            const int maker = frames_.MakerOf(input);
            if (maker > frame.Last(s) && maker < frame.First(t)) newest = std::max(newest, maker);
          }
        }
        if (newest >= 0) return frame.Running(newest, s);
      }
    }
    return std::nullopt;
  }

  const Layers& layers_;
  const Frames& frames_;
  const Holds& read_;
  Holds& holds_;
  Traced traced_;
  const Execution execution_;
  std::map<ModuleId, Frame> ran_;
};

}  // namespace

Traced FollowTracedNames(const Frames& frames, const Holds& read, Holds& holds) {
  if (frames.layers().source.stacks.empty()) return Traced(holds.size());
  TracedNames names(frames, read, holds);
  names.Follow();
  return std::move(names).ByValue();
}

}  // namespace vramplan
