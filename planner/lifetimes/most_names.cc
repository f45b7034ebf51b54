#include <algorithm>
#include <set>
#include <utility>

#include "planner/lifetimes/rules.h"

namespace vramplan {
namespace {

class MostNames {
 public:
  MostNames(const Frames& frames, const Holds& read, const std::vector<Told>& told)
      : frames_(frames), read_(read), told_(told) {}

  void HoldIn(Holds& release) {
    for (size_t v = 0; v < release.size(); ++v) {
      if (IsFree(release, v)) Find(v);
    }
    for (size_t v = 0; v < release.size(); ++v) {
      if (IsFree(release, v)) Hold(release, v);
    }
  }

 private:
  bool IsFree(const Holds& release, size_t v) const {
    return release[v].after >= 0 && MakerOf(v) >= 0 && told_[v] == Told::kNothing;
  }
  int MakerOf(size_t v) const { return frames_.MakerOf(ValueId::At(v)); }
  // In which it is made and read.
  ModuleId FrameOf(size_t v) const { return frames_.FrameOf(ValueId::At(v), read_[v].after); }
  // What is read when the next turn of a loop has written its name anew is in a list, or has a second name.
  bool IsKept(size_t v, ModuleId frame) const { return frames_.EndOfName(MakerOf(v), frame) < read_[v].after; }

  // for i, block in enumerate(self.blocks): x = cat([outs[8], outs[5]]) if i in routes else block(x); outs.append(x):
  // where a turn reads what an earlier one made, the list may have the results of all (ultralytics/yolov3,
  // models/yolo.py: y; eriklindernoren/PyTorch-YOLOv3, models.py: layer_outputs).
  void Find(size_t v) {
    const ModuleId frame = FrameOf(v);
    const Frames::Loop made = frames_.LoopOf(MakerOf(v), frame);
    const Frames::Loop read = frames_.LoopOf(read_[v].after, frame);
    if (made.list >= 0 && made.list == read.list && read.goes_on && IsKept(v, frame))
      in_list_.insert({frame, made.list});
  }

  // A chain in a list, x = block(x), writes one name anew when the call is back. What a turn makes by a call of its own
  // beside the chain, h = self.cell1(x, h); y = self.cell2(h, y), keeps its name until its next turn is back.
  void Hold(Holds& release, size_t v) const {
    const ModuleId frame = FrameOf(v);
    const int maker = MakerOf(v);
    const Statement made = frames_.StatementOf(maker, frame);
    const Statement read = frames_.StatementOf(read_[v].after, frame);
    const bool in_list = in_list_.contains({frame, frames_.LoopOf(maker, frame).list});
    const int anew = frames_.EndOfName(maker, frame);
    if (!in_list && frames_.Carries(made, read)) {
      const bool turns = made.call.valid() && !frames_.IsOfList(made) && anew < frames_.EndOf(frame);
      release.Lengthen(ValueId::At(v), frames_.Named(turns ? std::max(anew, read.last) : read.last, frame));
      return;
    }
    const int end = in_list || IsKept(v, frame) ? frames_.EndOf(frame) : anew;
    release.Lengthen(ValueId::At(v), frames_.Named(end, frame));
  }

  const Frames& frames_;
  const Holds& read_;
  const std::vector<Told>& told_;
  std::set<std::pair<ModuleId, int>> in_list_;  // frame, list: its results are looked up
};

}  // namespace

void HoldMostNames(const Frames& frames, const Holds& read, const std::vector<Told>& told, Holds& holds) {
  MostNames(frames, read, told).HoldIn(holds);
}

}  // namespace vramplan
