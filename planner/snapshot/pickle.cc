#include "planner/snapshot/pickle.h"

namespace vramplan {

PickleId Pickle::Add(PickleValue value) {
  values.push_back(std::move(value));
  return static_cast<PickleId>(values.size()) - 1;
}

namespace {

// A dict of PyTorch's has about ten. One with millions, that millions of entries share, would take hours.
constexpr size_t kMostMembers = 64;

template <typename T>
const T* As(const Pickle& pickle, PickleId id) {
  if (id < 0 || static_cast<size_t>(id) >= pickle.values.size()) return nullptr;
  return std::get_if<T>(&pickle.values[static_cast<size_t>(id)]);
}

}  // namespace

const PickleList* Pickle::AsList(PickleId id) const { return As<PickleList>(*this, id); }
const PickleDict* Pickle::AsDict(PickleId id) const { return As<PickleDict>(*this, id); }
const std::string* Pickle::AsText(PickleId id) const { return As<std::string>(*this, id); }
const int64_t* Pickle::AsInteger(PickleId id) const { return As<int64_t>(*this, id); }

PickleId Pickle::Member(PickleId dict, std::string_view name) const {
  const PickleDict* members = AsDict(dict);
  if (members == nullptr) return -1;
  size_t looked = 0;
  for (const auto& [key, value] : members->items) {
    if (++looked > kMostMembers) break;
    const std::string* text = AsText(key);
    if (text != nullptr && *text == name) return value;
  }
  return -1;
}

}  // namespace vramplan
