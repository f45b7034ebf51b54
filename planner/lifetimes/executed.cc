#include "planner/lifetimes/executed.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "graph/base/text.h"
#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

constexpr int kMostLines = 40;  // of one statement

const SourceLine kLost;

// How often a line calls what is no attribute: block(x), and cp.checkpoint(block, x), which calls its first argument
// (torch/utils/checkpoint.py).
int CallsOfVariablesIn(std::string_view text) {
  const int calls = CallsOfVariables(text);
  const std::string_view callee = CheckpointedIn(text);
  const bool variable = !callee.empty() && (callee.find('.') == callee.npos || callee.ends_with(']'));
  return calls == 0 && variable ? 1 : calls;
}

// The argument of the call of `unit` in its line, "self.conv(x)" of "self.bn(self.conv(x))", "x" of "norm(x)", where a
// loop runs through a list of norms; empty: not found.
std::string_view ArgumentText(std::string_view text, const Unit& unit) {
  const std::string name = unit.kind.substr(unit.kind.find_first_not_of('.')) + "(";
  size_t begin = text.find(name);
  if (begin != std::string_view::npos) {
    begin += name.size();
  } else {
    text = RightOf(text);
    begin = text.find('(') + 1;
    if (!unit.kind.ends_with('#') || begin == 0 || CallsOfVariablesIn(text) != 1) return {};
  }
  int depth = 1;
  for (size_t end = begin; end < text.size(); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')' && --depth == 0) return text.substr(begin, end - begin);
  }
  return {};
}

bool IsWithin(const Executed& part, const Executed& whole) {
  return part.line > whole.line && part.line <= whole.line + kMostLines;
}

bool MayBePart(const Executed& one) {
  return one.read.targets.empty() && !one.read.returns && (one.read.goes_on || one.read.open > 0);
}

// Lines of one statement. Arguments run in their own lines, the call itself in the line where it begins:
//   57 x = torch.cat(      runs last
//   58     [self.a(x),     runs first
std::vector<Executed> Joined(std::vector<Executed> lines) {
  std::vector<Executed> all;
  for (size_t i = 0; i < lines.size(); ++i) {
    Executed& one = lines[i];
    if (one.read.open > 0 && !one.read.targets.empty()) {
      for (; !all.empty() && IsWithin(all.back(), one) && MayBePart(all.back()); all.pop_back()) {
        one.first = all.back().first;
        one.text += all.back().text;
      }
    }
    if (!all.empty() && all.back().read.open > 0) {
      const bool back = one.line == all.back().line && one.read.open > 0 && lines[i - 1].line != one.line;
      if (back || (IsWithin(one, all.back()) && MayBePart(one))) {
        all.back().last = one.last;
        all.back().text += one.text;
        continue;
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

bool Executed::Binds(std::string_view name) const { return Contains(read.targets, name); }

std::vector<Unit> Execution::UnitsOf(ModuleId frame) const {
  std::vector<Unit> units;
  for (const Statement& statement : frames_.StatementsOf(frame))
    units.push_back({statement, frames_.KindOf(statement), LineOf(statement, frame)});
  FindLostLines(frame, &units);
  return units;
}

const SourceLine* Execution::LineOf(const Statement& statement, ModuleId frame) const {
  for (int l = statement.first; l <= statement.last; ++l) {
    if (const SourceLine* line = LineOf(frames_.At(l), frame)) return line;
  }
  return nullptr;
}

// The stack of a layer is one forward a module, from the root's on.
const SourceLine* Execution::LineOf(const Layer& layer, ModuleId frame) const {
  if (layer.nodes.empty()) return nullptr;
  const std::vector<int32_t> forwards = layers_.source.ForwardsOf(layer.nodes.front());
  if (forwards.size() != frames_.LevelOf(layer.module) + 1) return nullptr;
  return &layers_.source.lines[static_cast<size_t>(forwards[frames_.LevelOf(frame)])];
}

// A convolution into which a batch norm was folded has the norm's stack. It stands in the norm's statement where that
// is self.bn(self.conv(x)), else in one of its own, which writes the name that the norm reads.
bool Execution::IsFolded(const Unit& unit) const {
  const Statement& s = unit.statement;
  if (s.first != s.last || static_cast<size_t>(s.last) + 1 >= layers_.layers.size()) return false;
  const Layer& layer = frames_.At(s.first);
  const Layer& norm = layers_.layers[static_cast<size_t>(s.last) + 1];
  return layer.op.starts_with("conv") && norm.op == "batch_norm" && !layer.nodes.empty() && layer.nodes == norm.nodes;
}

// Whether the first that it runs reads what the layer made.
bool Execution::Reads(const Unit& unit, const Layer& layer) const {
  const std::vector<ValueId>& read = frames_.At(unit.statement.first).inputs;
  return !layer.outputs.empty() && Contains(read, layer.outputs[0]);
}

// acc = acc + f(h), where acc is 0: the exporter leaves the sum out, and it is put back without a line.
bool Execution::EndsLineOf(const Unit& before, const Layer& lost) const {
  if (before.line == nullptr || before.line == &kLost || !IsWritten(lost.op, before.line->text)) return false;
  const std::vector<ValueId>& made = frames_.At(before.statement.last).outputs;
  return !lost.inputs.empty() && Contains(made, lost.inputs[0]);
}

// A convolution into which the norm of another module was folded has that one's stack. h = self.c1(self.up(h)): the
// line of the unit beside it may write its call.
const SourceLine* Execution::LineThatCalls(const std::vector<Unit>& units, size_t unit) {
  const std::string& kind = units[unit].kind;
  const std::string call = kind.substr(kind.rfind('.') + 1) + "(";
  if (call.starts_with("#")) return nullptr;
  for (const size_t beside : {unit - 1, unit + 1}) {  // in front of the first: past the last
    const SourceLine* line = beside < units.size() ? units[beside].line : nullptr;
    if (line != nullptr && line != &kLost && line->text.find("." + call) != std::string::npos) return line;
  }
  return nullptr;
}

// What two calls made alike was merged by the exporter, and put back without a line (graph/lift/any_export/merged.cc):
// it is taken as an argument written where it is read. x1, x2 = x.chunk(2) has lost its line too (a rewrite makes one
// node of it), and stands in front of the first that reads a part, in the same function; its names are unknown, but for
// q of q = q.view(...).
void Execution::FindLostLines(ModuleId frame, std::vector<Unit>* units) const {
  for (size_t u = units->size(); u-- > 0;) {
    Unit& unit = (*units)[u];
    const Layer& lost = frames_.At(unit.statement.first);
    if (unit.line != nullptr) continue;
    if (unit.statement.call.valid()) {
      unit.line = LineThatCalls(*units, u);
      continue;
    }
    if (lost.op != "split" && lost.op != "unbind") {
      if (u > 0 && EndsLineOf((*units)[u - 1], lost)) {
        unit.line = (*units)[u - 1].line;
        continue;
      }
      if (u + 1 < units->size() && Reads((*units)[u + 1], lost)) unit.line = (*units)[u + 1].line;
      continue;
    }
    int reader = std::numeric_limits<int>::max();
    for (const ValueId id : lost.outputs) {
      if (const auto readers = ReadersOf(id); !readers.empty()) reader = std::min(reader, readers.front());
    }
    if (reader <= frames_.EndOf(frame) && LineOf(frames_.StatementOf(reader, frame), frame) != nullptr)
      unit.line = &kLost;
  }
}

Executed Execution::RunOf(const std::vector<Unit>& units, size_t u, const Executed* before) const {
  const SourceLine* line = units[u].line;
  Executed one{u, u, kNoLine, {}, {}, {}};
  if (line == &kLost) {  // within a statement, or in front of one
    const bool inside = u + 1 < units.size() && before != nullptr && units[u + 1].line != nullptr &&
                        units[u + 1].line->line == before->line;
    one.line = inside ? before->line : kLostLine;
  } else if (line != nullptr) {
    one = {u, u, line->line, line->text, ReadPythonLine(line->text), {}};
    if (u + 1 < units.size() && IsFolded(units[u])) {
      const std::string_view argument = ArgumentText(line->text, units[u + 1]);
      if (!argument.empty() && argument.find('(') == std::string_view::npos)
        one = {u, u, kNoLine, {}, {.targets = {std::string(argument)}}, {}};
    }
  }
  return one;
}

std::vector<Executed> Execution::StatementsOf(const std::vector<Unit>& units) const {
  std::vector<Executed> all;
  for (size_t u = 0; u < units.size(); ++u) {
    Executed one = RunOf(units, u, all.empty() ? nullptr : &all.back());
    if (!all.empty() && one.line >= 0 && all.back().line == one.line && !IsNextTurn(units, all.back(), u)) {
      all.back().last = u;
    } else {
      all.push_back(std::move(one));
    }
  }
  all = Joined(std::move(all));
  for (Executed& one : all) one.names = NamesIn(one.text);
  return all;
}

// for block in self.blocks: x = block(x)
bool Execution::IsNextTurn(const std::vector<Unit>& units, const Executed& one, size_t unit) const {
  const std::string& kind = units[unit].kind;
  if (one.read.comprehension || one.read.targets.empty()) return false;
  if (kind != units[one.first].kind) return IsNextModule(units, one, unit);
  if (CallsOfVariablesIn(one.text) == 0) return false;  // the loop is that of a function: x = self.decode(x)
  // x = self.r[i](x) + self.r[i + 1](x)
  const std::string picked = kind.substr(0, kind.find(".#")) + "[";
  if (const size_t first = one.text.find(picked); first != std::string::npos) {
    if (one.text.find(picked, first + 1) != std::string::npos) return false;
  }
  for (size_t u = one.first; u < unit; ++u) {
    if (frames_.IsOfList(units[u].statement)) return true;
  }
  return false;
}

// for block in (self.a, self.b): x = (x + block(x)) * 0.7: the line names neither module, and what stands behind the
// call has run when the next one is called. A function that calls both, x = x + both(x), has not come to its sum.
bool Execution::IsNextModule(const std::vector<Unit>& units, const Executed& one, size_t unit) {
  const auto last_part = [](const Unit& u) { return u.kind.substr(u.kind.rfind('.') + 1); };
  const auto is_variable = [&](const Unit& u) {
    return u.statement.call.valid() && !HasAttribute(one.text, last_part(u));
  };
  const Unit& before = units[unit - 1];
  if (CallsOfVariablesIn(one.text) != 1 || !is_variable(units[unit])) return false;
  if (before.statement.call.valid() || !IsWritten(last_part(before), one.text)) return false;
  return std::any_of(units.begin() + static_cast<std::ptrdiff_t>(one.first),
                     units.begin() + static_cast<std::ptrdiff_t>(unit), is_variable);
}

bool Execution::IsPlain(const std::vector<Unit>& units, const Executed& one) {
  if (one.line < 0 || !one.read.clear) return false;
  for (size_t u = one.first; u <= one.last; ++u) {
    const std::string& kind = units[u].kind;
    const std::string name = kind.substr(kind.rfind('.') + 1);
    if (!units[u].statement.call.valid() ? !IsWritten(name, one.text)
        : name.find('#') != name.npos    ? CallsOfVariablesIn(one.text) == 0
                                         : one.text.find(name + "(") == one.text.npos)
      return false;
  }
  return true;
}

}  // namespace vramplan
