// Executed: the statements of a frame as Python ran them, by the lines that the file's stack traces tell
// (graph/lift/source_lines/read_source.cc).
//
//   57 x = torch.cat([self.a(x),     a(x), b(x) and the cat: one statement
//   58                self.b(x)], 1)
//   60 for block in self.blocks:
//   61     x = block(x)              a statement for each block
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/lifetimes/frames.h"
#include "planner/lifetimes/python_line.h"

namespace vramplan {

// An operator of the frame or a call of a module, and the line in which the frame stood meanwhile; null: the file does
// not say. Functions that a forward calls have no line of their own (torch/fx/proxy.py, _filter_traceback_frames).
struct Unit {
  Statement statement;
  std::string kind;
  const SourceLine* line = nullptr;
};

struct Executed {
  size_t first = 0, last = 0;  // units
  int64_t line = 0;            // kNoLine, kLostLine: unknown
  std::string text;
  PythonLine read;
  std::vector<std::string> names;  // that the text mentions

  bool Binds(std::string_view name) const;
};
inline constexpr int kNoLine = -1;
// x1, x2 = x.chunk(2) has lost its line: a rewrite makes one node of it.
inline constexpr int kLostLine = -2;

class Execution {
 public:
  explicit Execution(const Frames& frames) : layers_(frames.layers()), frames_(frames) {}

  std::vector<Unit> UnitsOf(ModuleId frame) const;
  std::vector<Executed> StatementsOf(const std::vector<Unit>& units) const;
  // Whether all that a statement ran stands in its line: else it called a function, which has names that nobody knows.
  static bool IsPlain(const std::vector<Unit>& units, const Executed& one);
  // The layers that read a value, in order.
  std::span<const int32_t> ReadersOf(ValueId id) const { return frames_.uses().LayersReading(id); }

 private:
  const SourceLine* LineOf(const Statement& statement, ModuleId frame) const;
  const SourceLine* LineOf(const Layer& layer, ModuleId frame) const;
  bool IsFolded(const Unit& unit) const;
  bool Reads(const Unit& unit, const Layer& layer) const;
  bool EndsLineOf(const Unit& before, const Layer& lost) const;
  static const SourceLine* LineThatCalls(const std::vector<Unit>& units, size_t unit);
  void FindLostLines(ModuleId frame, std::vector<Unit>* units) const;
  Executed RunOf(const std::vector<Unit>& units, size_t unit, const Executed* before) const;
  bool IsNextTurn(const std::vector<Unit>& units, const Executed& one, size_t unit) const;
  static bool IsNextModule(const std::vector<Unit>& units, const Executed& one, size_t unit);

  const Layers& layers_;
  const Frames& frames_;
};

}  // namespace vramplan
