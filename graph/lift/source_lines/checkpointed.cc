// ReadCheckpoints: module calls that the code itself runs under torch.utils.checkpoint, where the file has the source
// lines (graph/lift/source_lines/read_source.cc). No exporter writes them otherwise: checkpoint() runs its function as
// it is then.
//
//   58 for block in self.blocks:
//   59     x = checkpoint(block, x)            every call of blocks.0, blocks.1 ... that stands in line 59
//   60 x = x + checkpoint(self.attn, x)        the call of attn
//   61 x = checkpoint(self.inner, x)           a function, whose operators stand in line 61: told, not applied
//   62 x = checkpoint_sequential(self.body, 3, x)     modules of body, three segments but the last: both ends are told
//
// The line of an export of model.eval() may say `checkpoint(block, x) if self.training else block(x)`: training is what
// a checkpoint matters to, so that half of it counts.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

bool IsOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the arguments of such a call begin; npos: the line has none. self.checkpoint(x) is a method of the model.
size_t ArgumentsOf(std::string_view line) {
  static const std::vector<NameHabit> calls = NamesWith(NameHabit::Of::kCheckpoint);
  for (const NameHabit& habit : calls) {
    const std::string_view call = habit.name;
    for (size_t at = line.find(call); at != std::string_view::npos; at = line.find(call, at + 1)) {
      const bool own_name = at == 0 || !IsOfName(line[at - 1]) || call.front() == '_';
      const bool method = line.substr(0, at).ends_with("self.") && call.front() != '_';
      if (own_name && !method) return at + call.size();
    }
  }
  return std::string_view::npos;
}

// "attn" of "self.attn" and of "block.attn.__call__".
std::string_view LastName(std::string_view callee) {
  if (callee.ends_with(".__call__")) callee.remove_suffix(std::string_view(".__call__").size());
  return LeafOf(callee);
}

bool IsOfList(const std::string& path) { return IsNumber(LeafOf(path)); }

// What one line of one frame runs.
struct Ran {
  std::vector<ModuleId> calls;  // in order, each once
  bool operators = false;
};

// Which of them the line checkpoints; empty: a function of the model's own.
std::vector<ModuleId> Wrapped(const Layers& layers, std::string_view callee, const Ran& ran) {
  std::vector<ModuleId> named, of_list;
  for (const ModuleId call : ran.calls) {
    if (LastName(layers[call].path) == LastName(callee)) named.push_back(call);
    if (IsOfList(layers[call].path)) of_list.push_back(call);
  }
  if (!named.empty()) return named;
  std::vector<ModuleId> parts = of_list;  // self.body of body.0, body.1
  std::erase_if(parts, [&](ModuleId call) {
    const std::string& path = layers[call].path;
    return LastName(path.substr(0, path.rfind('.'))) != LastName(callee);
  });
  if (!parts.empty()) return parts;
  if (callee.find('.') != std::string_view::npos) return {};  // self.inner: a method
  if (!of_list.empty()) return of_list;                       // block: what a loop names
  return ran.operators ? std::vector<ModuleId>() : ran.calls;
}

std::vector<size_t> DepthsOf(const Layers& layers) {
  std::vector<size_t> depths(layers.modules.size());
  for (size_t m = 0; m < depths.size(); ++m) {
    const ModuleId parent = layers.modules[m].parent;
    if (parent.valid()) depths[m] = depths[static_cast<size_t>(parent.value)] + 1;
  }
  return depths;
}

using CallPlace = std::pair<ModuleId, int32_t>;  // frame, line of Layers::source

// What stands in each of `lines`, frame by frame.
std::map<CallPlace, Ran> WhatRan(const Layers& layers, const std::vector<bool>& lines) {
  const std::vector<size_t> depths = DepthsOf(layers);
  std::map<CallPlace, Ran> ran;
  for (const Layer& layer : layers.layers) {
    if (layer.nodes.empty() || !layer.nodes.front().valid()) continue;
    const std::vector<int32_t> forwards = layers.source.ForwardsOf(layer.nodes.front());
    const ModuleId innermost = layer.module.valid() ? layer.module : ModuleId{0};
    if (forwards.size() != depths[static_cast<size_t>(innermost.value)] + 1) continue;
    ModuleId frame = innermost, called;
    for (size_t depth = forwards.size(); depth-- > 0; called = frame, frame = layers[frame].parent) {
      if (!lines[static_cast<size_t>(forwards[depth])]) continue;
      Ran& here = ran[{frame, forwards[depth]}];
      if (!called.valid()) {
        here.operators = true;
      } else if (std::find(here.calls.begin(), here.calls.end(), called) == here.calls.end()) {
        here.calls.push_back(called);
      }
    }
  }
  return ran;
}

// x = checkpoint(block, x) if i % 2 == 0 else block(x); in training self.training holds. Of checkpoint_sequential the
// last segment is not checkpointed, and segments may be of several modules.
bool IsUnderCondition(std::string_view line) {
  if (line.find("checkpoint_sequential(") != line.npos) return true;
  const size_t condition = line.find(" if "), other = line.find(" else ");
  if (condition == line.npos || other == line.npos || other < condition) return false;
  return line.substr(condition + 4, other - condition - 4) != "self.training";
}

std::string WhereIs(const SourceLine& line) {
  return line.file.substr(line.file.find_last_of('/') + 1) + ":" + std::to_string(line.line);
}

}  // namespace

std::string_view CheckpointedIn(std::string_view line) {
  const size_t at = ArgumentsOf(line);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at);
  const std::string_view callee = rest.substr(0, rest.find_first_of(",()"));
  return callee.empty() ? line.substr(at - 1, 1) : callee;
}

void ReadCheckpoints(Layers* layers, Notes* notes) {
  std::vector<bool> lines;
  for (const SourceLine& line : layers->source.lines) lines.push_back(!CheckpointedIn(line.text).empty());
  if (std::find(lines.begin(), lines.end(), true) == lines.end()) return;
  std::set<ModuleId> calls, perhaps;
  std::string first, function;
  for (const auto& [place, ran] : WhatRan(*layers, lines)) {
    const SourceLine& line = layers->source.lines[static_cast<size_t>(place.second)];
    const std::vector<ModuleId> wrapped = Wrapped(*layers, CheckpointedIn(line.text), ran);
    if (!wrapped.empty() && IsUnderCondition(line.text)) {
      perhaps.insert(wrapped.begin(), wrapped.end());
      continue;
    }
    calls.insert(wrapped.begin(), wrapped.end());
    std::string& where = wrapped.empty() ? function : first;
    if (where.empty()) where = WhereIs(line);
  }
  layers->checkpointed.assign(calls.begin(), calls.end());
  layers->perhaps_checkpointed.assign(perhaps.begin(), perhaps.end());
  if (notes == nullptr) return;
  if (!calls.empty()) {
    notes->Add({"checkpoint-in-code", Severity::kNote, first,
                std::to_string(calls.size()) + (calls.size() == 1 ? " module call runs" : " module calls run") +
                    " under torch.utils.checkpoint, as the source lines in the file say",
                ""});
  }
  if (!function.empty()) {
    notes->Add({"checkpoint-of-function", Severity::kWarning, function,
                "the code checkpoints a function here, which a file does not delimit: the answer keeps all that it "
                "saves, so training may need less",
                "vramplan run measures the script itself"});
  }
}

}  // namespace vramplan
