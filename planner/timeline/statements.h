// Statements: a model's forward as Python runs it. A frame is one module call (invalid: that of the root,
// as in Layer::module); its statements are the operators written in it and the calls that it makes, whatever happens
// inside those.
//
//   root:   stem(x)   block(x)        head(x)     three statements
//   block:            conv(x)  add                two
#pragma once

#include <string>
#include <vector>

#include "planner/timeline/frames.h"

namespace vramplan {

class Statements {
 public:
  struct Statement {
    int first, last;  // layers
    ModuleId call;    // invalid: an operator of the frame itself
    bool operator==(const Statement&) const = default;
  };

  Statements(const Layers& layers, const Calls& calls);

  // With the names of a frame.
  Release WithFrame(ModuleId frame) const { return vramplan::WithFrame(layers_, calls_, frame); }
  // The innermost frame that both are in.
  ModuleId Common(ModuleId a, ModuleId b) const;
  bool IsInside(ModuleId call, ModuleId frame) const { return IsRoot(frame) || Common(call, frame) == frame; }
  // The layer that makes a value; -1: none.
  int MakerOf(ValueId id) const { return maker_[static_cast<size_t>(id.value)]; }
  // The first layer of a call; -1: it has none.
  int FirstOf(ModuleId call) const { return first_[static_cast<size_t>(call.value)]; }
  // What in `frame` runs this layer, which is inside of it.
  Statement StatementOf(int layer, ModuleId frame) const;
  // All of a frame, in order.
  std::vector<Statement> StatementsOf(ModuleId frame) const;
  // Of a call: its module as the frame names it, whichever of a list it is (`blocks.#.conv`, with a dot in front unless
  // the frame is the root's); of an operator: its name.
  std::string KindOf(const Statement& statement) const;
  // Whether it calls a module that stands in a list, or in a Sequential: `blocks.3`.
  bool IsOfList(const Statement& statement) const;
  // Where Python lets go of a name of `frame` that was bound to what this layer made: at the frame's end, or when a
  // loop comes to the same statement again and binds the name anew (for block in self.blocks: y, skip = block(y)).
  int EndOfName(int layer, ModuleId frame) const;
  // Whether this call of a list's module is one turn of a loop that hands a value on, x = block(x): the module before
  // it in the list made what it reads, or the one behind it reads what it makes.
  bool Carries(const Statement& made, const Statement& read) const;

 private:
  // The root has a call of its own in the list, which its layers do not name.
  bool IsRoot(ModuleId id) const { return !id.valid() || !layers_[id].parent.valid(); }
  int End(ModuleId frame) const { return EndOfFrame(layers_, calls_, frame); }
  const Layers& layers_;
  const Calls& calls_;
  std::vector<int> first_;  // by module call: its first layer
  std::vector<int> maker_;  // layer, by value; -1: none
};

}  // namespace vramplan
