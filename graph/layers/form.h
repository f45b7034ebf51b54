// Form: a call that was taken apart, written as the expression that it became. One matcher finds all forms, in the graph
// of a file and in Layers.
//
//   const Form form("Mul(x, Sigmoid(x))");          silu
//   Match match;
//   if (form.Matches(calls, root, &match))          match.Value("x") is what the silu is of; match.calls: Mul, Sigmoid
//
//   Op(a, b)       a call of Op; operands that are not written are whatever they are. Sums and products match with
//                  their operands in either order
//   Op|Other(a)    a call of either; max_pool*(a): of what begins so
//   x weight       a value, the same one wherever the name stands
//   s=Op(a)        a name for the result of a call
//   0.5            this number, to a thousandth
//   #   #p         a number; with a name, kept under it
//   -              no value (a number may be)
//   _              whatever stands there, also nothing
//   (a | b)        the first of these that matches
//   ~a             seen through views that only change sizes
//   !Op(a)         its result is read here only
//   &Op(a)         its result may be read elsewhere, even in a graph
//
// What others read a match in a graph must not take: it would be made twice. Layers keep it beside the new call.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/layers/uses.h"

namespace vramplan {

// What a match asks of calls and values, each a number; -1: there is none.
class CallGraph {
 public:
  virtual ~CallGraph() = default;
  virtual std::string_view OpOf(int32_t call) const = 0;
  virtual int32_t MakerOf(int32_t value) const = 0;
  virtual int32_t ResultOf(int32_t call) const = 0;
  virtual int32_t Operand(int32_t call, size_t i) const = 0;
  virtual std::optional<double> NumberAt(int32_t call, size_t i) const = 0;
  virtual int32_t BehindViews(int32_t value) const = 0;
  virtual bool IsReadOnce(int32_t value) const = 0;
  virtual bool KeepsWhatOthersRead() const = 0;
};

// Layers as calls: a call is its place.
class LayerCalls final : public CallGraph {
 public:
  explicit LayerCalls(const Uses& uses) : uses_(uses) {}
  std::string_view OpOf(int32_t call) const override { return At(call).op; }
  int32_t MakerOf(int32_t value) const override { return uses_.PlaceOfMaker(ValueId{value}); }
  int32_t ResultOf(int32_t call) const override { return At(call).outputs.empty() ? -1 : At(call).outputs[0].value; }
  int32_t Operand(int32_t call, size_t i) const override { return Uses::In(&At(call), i).value; }
  std::optional<double> NumberAt(int32_t call, size_t i) const override;
  int32_t BehindViews(int32_t value) const override { return uses_.BehindViews(ValueId{value}).value; }
  bool IsReadOnce(int32_t value) const override { return uses_.ReadersOf(ValueId{value}).size() == 1; }
  bool KeepsWhatOthersRead() const override { return true; }

 private:
  const Layer& At(int32_t call) const { return uses_.layers().layers[static_cast<size_t>(call)]; }
  const Uses& uses_;
};

struct Match {
  std::vector<std::pair<std::string_view, int32_t>> values;
  std::vector<std::pair<std::string_view, double>> numbers;
  std::vector<int32_t> calls;  // the root first, then what it reads

  int32_t Value(std::string_view name) const;  // -1: the form that matched has no such name
  double Number(std::string_view name) const;
};

// What may refuse a match: a function that lives while it is asked.
class AcceptMatch {
 public:
  AcceptMatch() = default;
  template <typename Function>
  requires(!std::is_same_v<Function, AcceptMatch>)
      AcceptMatch(const Function& function)  // NOLINT(google-explicit-constructor)
      : function_(&function),
        call_([](const void* of, const Match& match) { return (*static_cast<const Function*>(of))(match); }) {}
  bool operator()(const Match& match) const { return call_ == nullptr || call_(function_, match); }

 private:
  const void* function_ = nullptr;
  bool (*call_)(const void* function, const Match& match) = nullptr;
};

// The part that refused after the most of a form had matched, for people who ask why it did not.
struct Mismatch {
  enum class Reason : uint8_t {
    kOperator,    // `value` is made by another operator
    kNoCall,      // `value` is made by no call: an input, or stored
    kShared,      // `value` is read elsewhere, too
    kNumber,      // another number stands there
    kNoNumber,    // no number stands there
    kOtherValue,  // the name stands for another value already
    kAbsent,      // there is no such operand
    kPresent,     // there is one
    kRefused,     // all of it matched; the rule has a condition besides
  };
  std::string_view form;  // its text
  Reason reason = Reason::kOperator;
  std::string_view wanted;  // operators, or the name of a value
  int32_t call = -1;        // whose operand it is about
  size_t operand = 0;
  int32_t value = -1;
  double number = 0;   // that was wanted
  size_t matched = 0;  // parts
};

class Form {
 public:
  explicit Form(std::string text);

  // The operators that it begins with.
  std::vector<std::string_view> roots() const;
  // Where `accept` refuses a match, others are tried.
  // `mismatch`: filled where nothing matched.
  bool Matches(const CallGraph& calls, int32_t root, Match* match, const AcceptMatch& accept = {},
               Mismatch* mismatch = nullptr) const;

 private:
  enum class Kind : uint8_t { kAnything, kNothing, kValue, kNumber, kSomeNumber, kCall, kOneOf };
  enum class Sharing : uint8_t { kAsUsual, kNone, kAny };
  struct Part {
    Kind kind = Kind::kAnything;
    Sharing sharing = Sharing::kAsUsual;
    bool behind_views = false, commutes = false;
    double number = 0;
    std::string_view name;      // of the value or the number
    std::string_view ops;       // "clamp|maximum"
    int first = -1, next = -1;  // of its operands, or of what is chosen from; the one behind it among its parent's
  };
  class Parser;
  class Matcher;

  // Read from the text when the form is first asked, by whichever thread: most files ask few.
  struct Parsed {
    std::string text;  // that the parts point into
    std::once_flag once;
    std::vector<Part> parts;
    int root = 0;
  };
  const Part& At(int part) const { return parsed_->parts[static_cast<size_t>(part)]; }

  std::shared_ptr<Parsed> parsed_;
};

// What a form is put together to: "silu(x)", "bce_logits(x, y, -, ~p)", "gelu(x, approximate=tanh)".
struct CallText {
  struct Input {
    std::string name;  // empty: absent
    char mark = 0;     // what stands in front of the name: '~', '%'
  };
  std::string op;
  std::vector<Input> inputs;
  Attributes attributes;
};
CallText ParseCall(std::string_view text);

}  // namespace vramplan
