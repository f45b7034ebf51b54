#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "planner/snapshot/pickle.h"

namespace vramplan {
namespace {

constexpr size_t kMostValues = 200'000'000;
constexpr PickleId kMark = -2;

// A machine with a stack and a memo, as pickletools describes it. It knows the opcodes that make plain values, and no
// other.
class Machine {
 public:
  Machine(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<Pickle> Run() {
    while (!failure_) {
      const std::string_view opcode = Take(1);
      if (failure_) break;
      if (opcode[0] == '.') {
        pickle_.root = Pop();
        if (!failure_) return std::move(pickle_);
        break;
      }
      if (!Plain(opcode[0]) && !failure_) {
        Fail("it holds more than plain values (opcode " + Hexadecimal(opcode[0]) + " at byte " +
             std::to_string(at_ - 1) + " makes something else)");
      }
      if (pickle_.values.size() > kMostValues) Fail("it holds too many values");
    }
    return Error{ErrorCode::kBadInput, name_, *failure_,
                 "give the file that torch.cuda.memory._dump_snapshot(\"FILE\") wrote"};
  }

 private:
  static std::string Hexadecimal(char opcode) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(opcode);
    return std::string("0x") + kDigits[byte >> 4] + kDigits[byte & 15];
  }

  void Fail(std::string text) {
    if (!failure_) failure_ = std::move(text);
  }

  std::string_view Take(size_t count) {
    if (bytes_.size() - at_ < count) {
      Fail(bytes_.empty() ? "it is empty" : "it is cut off, or not a pickle");
      return {};
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::string_view Line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) {
      Fail("it is cut off, or not a pickle");
      return {};
    }
    const std::string_view line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }
  uint64_t Little(size_t count) {
    uint64_t number = 0;
    const std::string_view bytes = Take(count);
    for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
    return number;
  }

  void Push(PickleValue value) { stack_.push_back(pickle_.Add(std::move(value))); }
  PickleId Top() {
    if (!stack_.empty() && stack_.back() >= 0) return stack_.back();
    Fail("it is damaged: a value is missing");
    return -1;
  }
  PickleId Pop() {
    const PickleId top = Top();
    if (top >= 0) stack_.pop_back();
    return top;
  }
  // What stands above the last mark, which goes.
  std::vector<PickleId> PopToMark() {
    size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1] != kMark) --mark;
    if (mark == 0) {
      Fail("it is damaged: a mark is missing");
      return {};
    }
    std::vector<PickleId> items(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark - 1);
    return items;
  }
  void PushTuple(size_t count) {
    std::vector<PickleId> items(count);
    for (size_t i = count; i-- > 0;) items[i] = Pop();
    if (!failure_) Push(PickleList{std::move(items), true});
  }
  void Append(const std::vector<PickleId>& items) {
    const PickleId top = Top();
    if (failure_) return;
    auto* list = std::get_if<PickleList>(&pickle_.values[static_cast<size_t>(top)]);
    if (list == nullptr) return Fail("it is damaged: items for what is no list");
    list->items.insert(list->items.end(), items.begin(), items.end());
  }
  void SetItems(const std::vector<PickleId>& items) {
    const PickleId top = Top();
    if (failure_) return;
    auto* dict = std::get_if<PickleDict>(&pickle_.values[static_cast<size_t>(top)]);
    if (dict == nullptr || items.size() % 2 != 0) return Fail("it is damaged: items for what is no dict");
    for (size_t i = 0; i < items.size(); i += 2) dict->items.emplace_back(items[i], items[i + 1]);
  }
  void PushDict(const std::vector<PickleId>& items) {
    Push(PickleDict());
    SetItems(items);
  }

  // Of two's complement, the lowest byte first; beyond 64 bits it is not one of ours.
  void PushLong(size_t count) {
    const std::string_view bytes = Take(count);
    if (failure_) return;
    if (count > 9 || (count == 9 && bytes[8] != '\0')) return Fail("it holds an integer of more than 64 bits");
    uint64_t number = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (size_t i = std::min<size_t>(count, 8); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
    Push(static_cast<int64_t>(number));
  }
  void PushText(size_t count) {
    const std::string_view text = Take(count);
    if (!failure_) Push(std::string(text));
  }
  void PushReal() {
    uint64_t bits = 0;
    for (const char byte : Take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    double real = 0;
    __builtin_memcpy(&real, &bits, sizeof real);
    if (!failure_) Push(real);
  }
  void PushDecimal(std::string_view line) {
    if (line == "00" || line == "01") return Push(line == "01");
    if (line.ends_with('L')) line.remove_suffix(1);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc() || end != line.data() + line.size()) return Fail("it is damaged: no number");
    Push(number);
  }

  void PushDecimalReal(std::string_view line) {
    double real = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), real);
    if (error != std::errc() || end != line.data() + line.size()) return Fail("it is damaged: no number");
    Push(real);
  }

  void Put(uint64_t slot) {
    const PickleId top = Top();
    if (!failure_) memo_[slot] = top;
  }
  void Get(uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) return Fail("it is damaged: it refers to what was not there");
    stack_.push_back(found->second);
  }
  static std::optional<uint64_t> Slot(std::string_view line) {
    uint64_t slot = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), slot);
    if (error != std::errc() || end != line.data() + line.size()) return std::nullopt;
    return slot;
  }

  bool Plain(char opcode) { return Scalar(opcode) || Container(opcode) || Memo(opcode); }

  bool Scalar(char opcode) {
    switch (opcode) {
      case '\x80':  // PROTO
        Take(1);
        return true;
      case '\x95':  // FRAME
        Take(8);
        return true;
      case 'N':
        Push(PickleNone());
        return true;
      case '\x88':
      case '\x89':
        Push(opcode == '\x88');
        return true;
      case 'J':  // BININT
        Push(static_cast<int64_t>(static_cast<int32_t>(Little(4))));
        return true;
      case 'K':  // BININT1
        Push(static_cast<int64_t>(Little(1)));
        return true;
      case 'M':  // BININT2
        Push(static_cast<int64_t>(Little(2)));
        return true;
      case '\x8a':  // LONG1
        PushLong(static_cast<size_t>(Little(1)));
        return true;
      case '\x8b':  // LONG4
        PushLong(static_cast<size_t>(Little(4)));
        return true;
      case 'I':
      case 'L':
        PushDecimal(Line());
        return true;
      case 'G':
        PushReal();
        return true;
      case 'F':
        PushDecimalReal(Line());
        return true;
      case 'X':  // BINUNICODE, BINBYTES
      case 'B':
      case 'T':  // BINSTRING
        PushText(static_cast<size_t>(Little(4)));
        return true;
      case '\x8c':  // SHORT_BINUNICODE, SHORT_BINBYTES
      case 'C':
      case 'U':  // SHORT_BINSTRING
        PushText(static_cast<size_t>(Little(1)));
        return true;
      case '\x8d':  // BINUNICODE8, BINBYTES8
      case '\x8e':
        PushText(static_cast<size_t>(Little(8)));
        return true;
      case 'V':  // UNICODE; escapes stay as they are
        Push(std::string(Line()));
        return true;
      default:
        return false;
    }
  }

  bool Container(char opcode) {
    switch (opcode) {
      case '(':
        stack_.push_back(kMark);
        return true;
      case ']':
        Push(PickleList());
        return true;
      case ')':
        Push(PickleList{{}, true});
        return true;
      case '}':
        Push(PickleDict());
        return true;
      case 'l':  // LIST, TUPLE
      case 't': {
        std::vector<PickleId> items = PopToMark();
        if (!failure_) Push(PickleList{std::move(items), opcode == 't'});
        return true;
      }
      case 'd':
        PushDict(PopToMark());
        return true;
      case '\x85':  // TUPLE1, TUPLE2, TUPLE3
      case '\x86':
      case '\x87':
        PushTuple(static_cast<size_t>(static_cast<unsigned char>(opcode) - 0x84));
        return true;
      case 'a':
        Append({Pop()});
        return true;
      case 'e':
        Append(PopToMark());
        return true;
      case 's': {
        const PickleId value = Pop(), key = Pop();
        SetItems({key, value});
        return true;
      }
      case 'u':
        SetItems(PopToMark());
        return true;
      case '0':  // POP
        if (!stack_.empty()) stack_.pop_back();
        return true;
      case '1':  // POP_MARK
        PopToMark();
        return true;
      case '2':  // DUP
        if (const PickleId top = Top(); top >= 0) stack_.push_back(top);
        return true;
      default:
        return false;
    }
  }

  bool Memo(char opcode) {
    switch (opcode) {
      case '\x94':  // MEMOIZE
        Put(memo_.size());
        return true;
      case 'q':
        Put(Little(1));
        return true;
      case 'r':
        Put(Little(4));
        return true;
      case 'h':
        Get(Little(1));
        return true;
      case 'j':
        Get(Little(4));
        return true;
      case 'p':
      case 'g':
        if (const std::optional<uint64_t> slot = Slot(Line())) {
          opcode == 'p' ? Put(*slot) : Get(*slot);
        } else {
          Fail("it is damaged: no number");
        }
        return true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  const std::string& name_;
  size_t at_ = 0;
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::map<uint64_t, PickleId> memo_;
  std::optional<std::string> failure_;
};

}  // namespace

Result<Pickle> ReadPickle(std::string_view bytes, const std::string& name) { return Machine(bytes, name).Run(); }

}  // namespace vramplan
