#include <limits>

#include "graph/base/check.h"
#include "planner/snapshot/pickle.h"

namespace vramplan {
namespace {

// The opcodes of CPython's Lib/pickle.py, protocol 2.
class Writer {
 public:
  explicit Writer(const Pickle& pickle)
      : pickle_(pickle), uses_(pickle.values.size()), memo_(pickle.values.size(), -1) {}

  std::string Write() {
    CHECK(pickle_.root >= 0);
    Count(pickle_.root);
    bytes_ = "\x80\x02";
    Put(pickle_.root);
    bytes_ += '.';
    return std::move(bytes_);
  }

 private:
  static size_t Index(PickleId id) { return static_cast<size_t>(id); }
  const PickleValue& At(PickleId id) const { return pickle_.values[Index(id)]; }

  // How often each is held; what we write has no cycles.
  void Count(PickleId id) {
    if (uses_[Index(id)]++ > 0) return;
    if (const PickleList* list = pickle_.AsList(id)) {
      for (const PickleId item : list->items) Count(item);
    } else if (const PickleDict* dict = pickle_.AsDict(id)) {
      for (const auto& [key, value] : dict->items) {
        Count(key);
        Count(value);
      }
    }
  }

  void Little(uint64_t number, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(number >> (8 * i) & 0xff);
  }

  void Put(PickleId id) {
    if (memo_[Index(id)] >= 0) {
      bytes_ += 'j';  // LONG_BINGET
      return Little(static_cast<uint64_t>(memo_[Index(id)]), 4);
    }
    const PickleValue& value = At(id);
    if (std::holds_alternative<PickleNone>(value)) {
      bytes_ += 'N';
    } else if (const bool* truth = std::get_if<bool>(&value)) {
      bytes_ += *truth ? '\x88' : '\x89';
    } else if (const int64_t* integer = std::get_if<int64_t>(&value)) {
      PutInteger(*integer);
    } else if (const double* real = std::get_if<double>(&value)) {
      PutReal(*real);
    } else {
      PutShared(value);
      Remember(id);
    }
  }

  void PutInteger(int64_t integer) {
    if (integer >= std::numeric_limits<int32_t>::min() && integer <= std::numeric_limits<int32_t>::max()) {
      bytes_ += 'J';  // BININT
      return Little(static_cast<uint32_t>(integer), 4);
    }
    bytes_ += "\x8a\x08";  // LONG1 of eight bytes
    Little(static_cast<uint64_t>(integer), 8);
  }

  void PutReal(double real) {
    uint64_t bits = 0;
    static_assert(sizeof bits == sizeof real);
    __builtin_memcpy(&bits, &real, sizeof bits);
    bytes_ += 'G';  // BINFLOAT, the highest byte first
    for (int i = 7; i >= 0; --i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xff);
  }

  void PutShared(const PickleValue& value) {
    if (const std::string* text = std::get_if<std::string>(&value)) {
      bytes_ += 'X';  // BINUNICODE
      Little(text->size(), 4);
      bytes_ += *text;
    } else if (const PickleList* list = std::get_if<PickleList>(&value)) {
      bytes_ += list->tuple ? "(" : "](";
      for (const PickleId item : list->items) Put(item);
      bytes_ += list->tuple ? 't' : 'e';
    } else {
      bytes_ += "}(";
      for (const auto& [key, member] : std::get<PickleDict>(value).items) {
        Put(key);
        Put(member);
      }
      bytes_ += 'u';
    }
  }

  void Remember(PickleId id) {
    if (uses_[Index(id)] < 2) return;
    memo_[Index(id)] = remembered_;
    bytes_ += 'r';  // LONG_BINPUT
    Little(static_cast<uint64_t>(remembered_++), 4);
  }

  const Pickle& pickle_;
  std::vector<int32_t> uses_, memo_;
  int32_t remembered_ = 0;
  std::string bytes_;
};

}  // namespace

std::string WritePickle(const Pickle& pickle) { return Writer(pickle).Write(); }

}  // namespace vramplan
