// Pickle: Python's serialised values, plain ones only: None, booleans, integers, floats, text, bytes, lists, tuples and
// dicts. Reading one runs nothing: whatever would make another object (a class, a function, a persistent id) is an
// error, where Python's own pickle.load would call what the file names.
//
//   Pickle p;  p.root = p.Dict({{p.Text("segments"), p.List({p.Integer(1)})}});
//   WritePickle(p)      the bytes that pickle.load reads as {"segments": [1]}
//
// Values lie in one list and refer to each other by number, so that what is shared in the file is shared here, and a
// list that holds itself does no harm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/base/result.h"

namespace vramplan {

using PickleId = int32_t;
struct PickleNone {
  bool operator==(const PickleNone&) const = default;
};
struct PickleList {
  std::vector<PickleId> items;
  bool tuple = false;
};
struct PickleDict {
  std::vector<std::pair<PickleId, PickleId>> items;
};
using PickleValue = std::variant<PickleNone, bool, int64_t, double, std::string, PickleList, PickleDict>;

struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = -1;

  PickleId Add(PickleValue value);
  PickleId None() { return Add(PickleNone()); }
  PickleId Truth(bool value) { return Add(value); }
  PickleId Integer(int64_t value) { return Add(value); }
  PickleId Text(std::string text) { return Add(std::move(text)); }
  PickleId List(std::vector<PickleId> items) { return Add(PickleList{std::move(items), false}); }
  PickleId Tuple(std::vector<PickleId> items) { return Add(PickleList{std::move(items), true}); }
  PickleId Dict(std::vector<std::pair<PickleId, PickleId>> items) { return Add(PickleDict{std::move(items)}); }

  // Null when the value is of another kind, or has no such member.
  const PickleList* AsList(PickleId id) const;
  const PickleDict* AsDict(PickleId id) const;
  const std::string* AsText(PickleId id) const;
  const int64_t* AsInteger(PickleId id) const;
  PickleId Member(PickleId dict, std::string_view name) const;  // -1: none
};

// Protocol 2, which every Python 3 reads. Containers and texts that several values share are written once.
std::string WritePickle(const Pickle& pickle);

// Protocols 0 to 5, as far as they are plain. Errors (kBadInput, `name`): it is cut off, it is damaged, it holds more
// than plain values, or it makes more than 200 million of them.
Result<Pickle> ReadPickle(std::string_view bytes, const std::string& name);

}  // namespace vramplan
