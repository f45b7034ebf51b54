#include "planner/timeline/statements.h"

#include <cctype>

namespace vramplan {
namespace {

size_t At(ModuleId id) { return static_cast<size_t>(id.value); }
size_t At(ValueId id) { return static_cast<size_t>(id.value); }

}  // namespace

Statements::Statements(const Layers& layers, const Calls& calls)
    : layers_(layers), calls_(calls), first_(layers.modules.size(), -1), maker_(layers.values.size(), -1) {
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (const ValueId id : layers.layers[l].outputs) {
      if (id.valid()) maker_[At(id)] = static_cast<int>(l);
    }
    for (ModuleId m = layers.layers[l].module; m.valid(); m = layers[m].parent) {
      if (first_[At(m)] < 0) first_[At(m)] = static_cast<int>(l);
    }
  }
}

ModuleId Statements::Common(ModuleId a, ModuleId b) const {
  while (a != b) {
    if (IsRoot(a) || IsRoot(b)) return {};
    if (DepthOf(calls_, a) < DepthOf(calls_, b)) {
      b = layers_[b].parent;
    } else {
      a = layers_[a].parent;
    }
  }
  return IsRoot(a) ? ModuleId() : a;
}

std::vector<Statements::Statement> Statements::StatementsOf(ModuleId frame) const {
  std::vector<Statement> statements;
  const int end = End(frame);
  for (int l = IsRoot(frame) ? 0 : first_[At(frame)]; l <= end; l = statements.back().last + 1)
    statements.push_back(StatementOf(l, frame));
  return statements;
}

std::string Statements::KindOf(const Statement& statement) const {
  if (!statement.call.valid()) return layers_.layers[static_cast<size_t>(statement.first)].op;
  const std::string& path = layers_[statement.call].path;
  const ModuleId frame = layers_[statement.call].parent;
  std::string kind;
  for (size_t i = IsRoot(frame) ? 0 : layers_[frame].path.size(); i < path.size(); ++i) {
    const bool number = std::isdigit(static_cast<unsigned char>(path[i])) != 0 &&
                        (kind.empty() || kind.back() == '.' || kind.back() == '#');
    if (!number) {
      kind += path[i];
    } else if (kind.empty() || kind.back() != '#') {
      kind += '#';
    }
  }
  return kind;
}

bool Statements::IsOfList(const Statement& statement) const {
  return statement.call.valid() && KindOf(statement).find('#') != std::string::npos;
}

int Statements::EndOfName(int layer, ModuleId frame) const {
  const std::vector<Statement> statements = StatementsOf(frame);
  size_t at = 0;
  while (statements[at].last < layer) ++at;
  // The call of a list's module that this iteration began with, and how far behind it the name was bound.
  size_t begin = at;
  while (begin > 0 && !statements[begin].call.valid()) --begin;
  if (!statements[begin].call.valid()) return End(frame);
  for (size_t next = begin + 1; next + (at - begin) < statements.size(); ++next) {
    if (!statements[next].call.valid() || KindOf(statements[next]) != KindOf(statements[begin])) continue;
    const Statement& again = statements[next + (at - begin)];
    return KindOf(again) == KindOf(statements[at]) ? again.last : End(frame);
  }
  return End(frame);
}

bool Statements::Carries(const Statement& made, const Statement& read) const {
  if (made.call.valid() == read.call.valid() && KindOf(made) == KindOf(read)) return true;
  if (!read.call.valid()) return false;
  const ModuleId frame = layers_[read.call].parent;
  for (int l = read.last + 1; l <= End(frame);) {
    const Statement next = StatementOf(l, frame);
    l = next.last + 1;
    if (!next.call.valid() || KindOf(next) != KindOf(read)) continue;
    for (int inside = next.first; inside <= next.last; ++inside) {
      for (const ValueId id : layers_.layers[static_cast<size_t>(inside)].inputs) {
        if (!id.valid()) continue;
        const int maker = maker_[static_cast<size_t>(id.value)];
        if (maker >= read.first && maker <= read.last) return true;
      }
    }
    return false;
  }
  return false;
}

Statements::Statement Statements::StatementOf(int layer, ModuleId frame) const {
  ModuleId call;
  for (ModuleId m = layers_.layers[static_cast<size_t>(layer)].module; !IsRoot(m) && m != frame;
       m = layers_[m].parent) {
    call = m;
  }
  return call.valid() ? Statement{first_[At(call)], calls_.last[At(call)], call} : Statement{layer, layer, {}};
}

}  // namespace vramplan
