#include "planner/lifetimes/frames.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace vramplan {

Frames::Frames(const Layers& layers)
    : layers_(layers),
      uses_(layers),
      first_(layers.modules.size(), -1),
      last_(layers.modules.size(), -1),
      depth_(layers.modules.size(), 0),
      kind_of_call_(layers.modules.size(), -1) {
  for (size_t m = 0; m < layers.modules.size(); ++m) {
    const ModuleId parent = layers.modules[m].parent;
    if (parent.valid()) depth_[m] = depth_[parent.index()] + 1;
  }
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (ModuleId m = layers.layers[l].module; m.valid(); m = layers[m].parent) {
      if (first_[m.index()] < 0) first_[m.index()] = static_cast<int>(l);
      last_[m.index()] = static_cast<int>(l);
    }
  }
}

std::vector<ModuleId> Frames::All() const {
  std::set<ModuleId> frames = {ModuleId()};
  for (const Layer& layer : layers_.layers) {
    for (ModuleId m = layer.module; !IsRoot(m) && frames.insert(m).second; m = layers_[m].parent) continue;
  }
  return {frames.begin(), frames.end()};
}

ModuleId Frames::OutermostForeign(ModuleId producer, ModuleId consumer) const {
  ModuleId outermost;
  if (IsRoot(producer)) producer = ModuleId();
  for (; !IsRoot(consumer); consumer = layers_[consumer].parent) {
    ModuleId around = producer;
    while (around.valid() && depth_[around.index()] > depth_[consumer.index()]) around = layers_[around].parent;
    if (around == consumer) break;
    outermost = consumer;
  }
  return outermost;
}

ModuleId Frames::Common(ModuleId a, ModuleId b) const {
  while (a != b) {
    if (IsRoot(a) || IsRoot(b)) return {};
    if (DepthOf(a) < DepthOf(b)) {
      b = layers_[b].parent;
    } else {
      a = layers_[a].parent;
    }
  }
  return IsRoot(a) ? ModuleId() : a;
}

int Frames::Table::Of(int layer) const {
  const auto found = std::partition_point(statements.begin(), statements.end(),
                                          [&](const Statement& statement) { return statement.last < layer; });
  return static_cast<int>(found - statements.begin());
}

const Frames::Table& Frames::TableOf(ModuleId frame) const {
  const bool root = IsRoot(frame);
  const auto [found, is_new] = tables_.try_emplace(root ? -1 : frame.value);
  Table& table = found->second;
  if (!is_new) return table;
  const int end = EndOf(frame);
  for (int l = root ? 0 : first_[frame.index()]; l <= end; l = table.statements.back().last + 1)
    table.statements.push_back(StatementOf(l, frame));
  int call = -1;
  for (int s = 0; s < table.count(); ++s) {
    const Statement& statement = table.statements[static_cast<size_t>(s)];
    if (statement.call.valid()) call = s;
    table.kind.push_back(NumberOf(statement));
    table.call_up_to.push_back(call);
  }
  table.next_of_kind.assign(table.statements.size(), table.count());
  std::unordered_map<int, int> ahead;  // by kind
  for (int s = table.count() - 1; s >= 0; --s) {
    if (!table.statements[static_cast<size_t>(s)].call.valid()) continue;
    const auto [next, first] = ahead.try_emplace(table.kind[static_cast<size_t>(s)], s);
    if (first) continue;
    table.next_of_kind[static_cast<size_t>(s)] = next->second;
    next->second = s;
  }
  return table;
}

int Frames::NumberOf(const Statement& statement) const {
  const auto number = [&] {
    return kinds_.try_emplace(KindOf(statement), static_cast<int>(kinds_.size())).first->second;
  };
  if (!statement.call.valid()) return number();
  int& known = kind_of_call_[statement.call.index()];
  if (known < 0) known = number();
  return known;
}

std::string Frames::KindOf(const Statement& statement) const {
  if (!statement.call.valid()) return At(statement.first).op;
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

bool Frames::IsOfList(const Statement& statement) const {
  return statement.call.valid() && KindOf(statement).find('#') != std::string::npos;
}

int Frames::EndOfName(int layer, ModuleId frame) const {
  const Table& table = TableOf(frame);
  const int at = table.Of(layer);
  // The call of a list's module that this iteration began with, and how far behind it the name was bound.
  const int begin = table.call_up_to[static_cast<size_t>(at)];
  if (begin < 0) return EndOf(frame);
  const int again = table.next_of_kind[static_cast<size_t>(begin)] + (at - begin);
  if (again >= table.count()) return EndOf(frame);
  const bool same = table.kind[static_cast<size_t>(again)] == table.kind[static_cast<size_t>(at)];
  return same ? table.statements[static_cast<size_t>(again)].last : EndOf(frame);
}

Frames::Loop Frames::LoopOf(int layer, ModuleId frame) const {
  const Table& table = TableOf(frame);
  const int call = table.call_up_to[static_cast<size_t>(table.Of(layer))];
  if (call < 0 || !IsOfList(table.statements[static_cast<size_t>(call)])) return {};
  return {table.kind[static_cast<size_t>(call)], table.next_of_kind[static_cast<size_t>(call)] < table.count()};
}

bool Frames::ReadsResultOf(const Statement& reader, const Statement& made) const {
  for (int l = reader.first; l <= reader.last; ++l) {
    for (const ValueId id : At(l).inputs) {
      const int maker = MakerOf(id);
      if (maker >= made.first && maker <= made.last) return true;
    }
  }
  return false;
}

bool Frames::Carries(const Statement& made, const Statement& read) const {
  if (made.call.valid() == read.call.valid() && NumberOf(made) == NumberOf(read)) return true;
  if (!read.call.valid()) return false;
  const Table& table = TableOf(layers_[read.call].parent);
  const int next = table.next_of_kind[static_cast<size_t>(table.Of(read.last))];
  if (next >= table.count()) return false;
  const Statement& turn = table.statements[static_cast<size_t>(next)];
  const auto [passes, is_new] = passes_.try_emplace({read.call.value, turn.call.value});
  if (is_new) passes->second = ReadsResultOf(turn, read);
  return passes->second;
}

Statement Frames::StatementOf(int layer, ModuleId frame) const {
  ModuleId call;
  for (ModuleId m = At(layer).module; !IsRoot(m) && m != frame; m = layers_[m].parent) {
    call = m;
  }
  return call.valid() ? Statement{first_[call.index()], last_[call.index()], call} : Statement{layer, layer, {}};
}

}  // namespace vramplan
