// Frames: a model's forward as Python runs it. A frame is one module call (invalid: that of the root, as in
// Layer::module). Its statements are the operators written in it and the module calls that it makes; what runs inside
// those calls belongs to their own frames.
//
//   root:   stem(x)   block(x)        head(x)     three statements
//   block:            conv(x)  add                two
//
//   call block: layers 3 .. 7, depth 2      after layer 7: first the temporaries of its last statement are freed, then
//                                           its variables, then its arguments
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/layers/uses.h"
#include "planner/lifetimes/holds.h"

namespace vramplan {

struct Statement {
  int first, last;  // layers
  ModuleId call;    // invalid: an operator of the frame itself
  bool operator==(const Statement&) const = default;
};

class Frames {
 public:
  explicit Frames(const Layers& layers);

  const Layers& layers() const { return layers_; }
  const Uses& uses() const { return uses_; }
  const Layer& At(int layer) const { return layers_.layers[static_cast<size_t>(layer)]; }
  // The last layer of a frame.
  int EndOf(ModuleId frame) const {
    return IsRoot(frame) ? static_cast<int>(layers_.layers.size()) - 1 : last_[frame.index()];
  }
  int DepthOf(ModuleId frame) const { return frame.valid() ? depth_[frame.index()] + 1 : 0; }
  // How many forwards run around this one's: none around the root's.
  size_t LevelOf(ModuleId frame) const { return frame.valid() ? static_cast<size_t>(depth_[frame.index()]) : 0; }
  // Held by a variable of this frame, until this layer.
  Release Named(int until, ModuleId frame) const { return {until, NameOf(DepthOf(frame))}; }
  // Freed together with the variables of this frame.
  Release WithFrame(ModuleId frame) const { return Named(EndOf(frame), frame); }
  // All calls, the root's first as an invalid one.
  std::vector<ModuleId> All() const;
  // The call that a value was made in.
  ModuleId MadeIn(ValueId id) const { return IsMade(id) ? At(MakerOf(id)).module : ModuleId(); }
  // The innermost frame around that call which runs up to this layer.
  ModuleId FrameOf(ValueId id, int until) const {
    ModuleId frame = MadeIn(id);
    while (frame.valid() && EndOf(frame) < until) frame = layers_[frame].parent;
    return frame;
  }
  // Whose frame makes a call; invalid: the root's.
  ModuleId CallerOf(ModuleId call) const { return IsRoot(layers_[call].parent) ? ModuleId() : layers_[call].parent; }
  bool IsMade(ValueId id) const { return MakerOf(id) >= 0; }
  // The outermost call around `consumer` that `producer` (invalid: the caller) is not inside of; invalid when they
  // share their innermost.
  ModuleId OutermostForeign(ModuleId producer, ModuleId consumer) const;
  // The innermost frame that contains both.
  ModuleId Common(ModuleId a, ModuleId b) const;
  bool IsInside(ModuleId call, ModuleId frame) const { return IsRoot(frame) || Common(call, frame) == frame; }
  // The layer that makes a value; -1: none.
  int MakerOf(ValueId id) const { return uses_.PlaceOfMaker(id); }
  // The first layer of a call; -1: it has none.
  int FirstOf(ModuleId call) const { return first_[call.index()]; }
  // The statement of `frame` that runs this layer. The layer must be inside the frame.
  Statement StatementOf(int layer, ModuleId frame) const;
  // All statements of a frame, in order.
  const std::vector<Statement>& StatementsOf(ModuleId frame) const { return TableOf(frame).statements; }
  // For a call, its module as the frame writes it, with # for the index in a list (`blocks.#.conv`, with a leading dot
  // unless the frame is the root's); for an operator, its name.
  std::string KindOf(const Statement& statement) const;
  // Whether it calls a module of a list or a Sequential: `blocks.3`.
  bool IsOfList(const Statement& statement) const;
  // The layer after which Python drops a variable of `frame` that holds this layer's result: at the frame's end, or
  // when a loop reaches the same statement again and reassigns it (for block in self.blocks: y, skip = block(y)).
  int EndOfName(int layer, ModuleId frame) const;
  // The list of modules that a loop runs through, numbered, where this layer runs in one of its turns (a call of one of
  // its modules and what follows up to the next call); -1: in none. `goes_on`: not in the last turn.
  struct Loop {
    int list = -1;
    bool goes_on = false;
  };
  Loop LoopOf(int layer, ModuleId frame) const;
  // Whether this call of a module from a list is one turn of a loop that passes a value on, x = block(x): it reads the
  // result of the module before it in the list, or the module after it reads its result.
  bool Carries(const Statement& made, const Statement& read) const;

 private:
  // A frame's statements with what is asked of each, found once.
  struct Table {
    std::vector<Statement> statements;
    std::vector<int> kind;          // equal where KindOf is
    std::vector<int> call_up_to;    // the last call of the frame so far, this one included; -1: none
    std::vector<int> next_of_kind;  // for a call, the next one of its kind; the count of statements: none
    int count() const { return static_cast<int>(statements.size()); }
    int Of(int layer) const;  // the statement that runs it
  };

  // The root has a call of its own in the list, which its layers do not name.
  bool IsRoot(ModuleId id) const { return !id.valid() || !layers_[id].parent.valid(); }
  const Table& TableOf(ModuleId frame) const;
  int NumberOf(const Statement& statement) const;
  bool ReadsResultOf(const Statement& reader, const Statement& made) const;

  const Layers& layers_;
  const Uses uses_;
  std::vector<int> first_, last_, depth_;  // by module call: its first and its last layer; the root's depth is 0
  // Made when they are first asked for; the root's is -1.
  mutable std::unordered_map<int32_t, Table> tables_;           // by frame
  mutable std::unordered_map<std::string, int> kinds_;          // KindOf, numbered
  mutable std::vector<int> kind_of_call_;                       // by module call; -1: not asked for yet
  mutable std::map<std::pair<int32_t, int32_t>, bool> passes_;  // by two calls: ReadsResultOf
};

}  // namespace vramplan
