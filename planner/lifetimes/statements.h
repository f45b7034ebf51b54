// Statements: a model's forward as Python runs it. A frame is one module call (invalid: that of the root, as in
// Layer::module). Its statements are the operators written in it and the module calls that it makes; what runs inside
// those calls belongs to their own frames.
//
//   root:   stem(x)   block(x)        head(x)     three statements
//   block:            conv(x)  add                two
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/layers/uses.h"
#include "planner/lifetimes/frames.h"

namespace vramplan {

class Statements {
 public:
  struct Statement {
    int first, last;  // layers
    ModuleId call;    // invalid: an operator of the frame itself
    bool operator==(const Statement&) const = default;
  };

  Statements(const Layers& layers, const Calls& calls);

  // Freed together with the variables of this frame.
  Release WithFrame(ModuleId frame) const { return vramplan::WithFrame(layers_, calls_, frame); }
  // The innermost frame that contains both.
  ModuleId Common(ModuleId a, ModuleId b) const;
  bool IsInside(ModuleId call, ModuleId frame) const { return IsRoot(frame) || Common(call, frame) == frame; }
  // The layer that makes a value; -1: none.
  int MakerOf(ValueId id) const { return uses_.PlaceOfMaker(id); }
  const Uses& uses() const { return uses_; }
  // The first layer of a call; -1: it has none.
  int FirstOf(ModuleId call) const { return first_[static_cast<size_t>(call.value)]; }
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
  int End(ModuleId frame) const { return EndOfFrame(layers_, calls_, frame); }
  const Table& TableOf(ModuleId frame) const;
  int NumberOf(const Statement& statement) const;
  bool ReadsResultOf(const Statement& reader, const Statement& made) const;

  const Layers& layers_;
  const Calls& calls_;
  const Uses uses_;
  std::vector<int> first_;  // by module call: its first layer
  // Made when they are first asked for; the root's is -1.
  mutable std::unordered_map<int32_t, Table> tables_;           // by frame
  mutable std::unordered_map<std::string, int> kinds_;          // KindOf, numbered
  mutable std::vector<int> kind_of_call_;                       // by module call; -1: not asked for yet
  mutable std::map<std::pair<int32_t, int32_t>, bool> passes_;  // by two calls: ReadsResultOf
};

}  // namespace vramplan
