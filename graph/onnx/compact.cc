#include "graph/onnx/compact.h"

#include <array>

#include "graph/facts/read_facts.h"
#include "graph/ir/graph.h"
#include "graph/onnx/wire.h"

namespace vramplan {
namespace {

using wire::Fault;
using wire::Field;
using wire::Kind;
using wire::Reader;

// The messages of onnx.proto that Compact looks into. All others are copied or left out as they stand.
enum Message : uint8_t { kModel, kGraph, kNode, kAttribute, kTensor, kSparseTensor, kFunction, kValue, kMessages };

enum class Action : uint8_t {
  kDrop,      // also what happens to every field without a rule
  kKeep,      // copied as it stands
  kEnter,     // a message with rules of its own
  kMetadata,  // a StringStringEntryProto, kept when its key is one of ours
  kText,      // an attribute string, left out when it is a payload (a compiled engine), not a setting
  kWeights,   // a data field of a tensor, left out when the tensor has many elements
};

struct Rule {
  Action action = Action::kDrop;
  Message message = kMessages;
};
constexpr int kFields = 32;
using Rules = std::array<std::array<Rule, kFields>, kMessages>;

// Field numbers: onnx/onnx.proto of ONNX 1.22.
constexpr Rules MakeRules() {
  Rules rules;
  const auto keep = [&](Message m, auto... fields) { ((rules[m][fields].action = Action::kKeep), ...); };
  const auto set = [&](Message m, Action action, auto... fields) { ((rules[m][fields].action = action), ...); };
  const auto enter = [&](Message m, int field, Message child) { rules[m][field] = {Action::kEnter, child}; };

  keep(kModel, 1, 2, 3, 8);  // ir_version, producer_name, producer_version, opset_import
  set(kModel, Action::kMetadata, 14);
  enter(kModel, 7, kGraph);
  enter(kModel, 25, kFunction);

  keep(kGraph, 2);  // name
  enter(kGraph, 1, kNode);
  enter(kGraph, 5, kTensor);
  enter(kGraph, 11, kValue);
  enter(kGraph, 12, kValue);
  enter(kGraph, 13, kValue);
  enter(kGraph, 15, kSparseTensor);
  set(kGraph, Action::kMetadata, 16);

  keep(kNode, 1, 2, 3, 4, 7, 8);  // input, output, name, op_type, domain, overload
  enter(kNode, 5, kAttribute);
  set(kNode, Action::kMetadata, 9);

  keep(kAttribute, 1, 2, 3, 7, 8, 14, 15, 20, 21);  // name, f, i, floats, ints, tp, type_protos, type, ref_attr_name
  set(kAttribute, Action::kText, 4, 9);
  enter(kAttribute, 5, kTensor);
  enter(kAttribute, 6, kGraph);
  enter(kAttribute, 10, kTensor);
  enter(kAttribute, 11, kGraph);
  enter(kAttribute, 22, kSparseTensor);
  enter(kAttribute, 23, kSparseTensor);

  keep(kTensor, 1, 2, 8, 14);                             // dims, data_type, name, data_location
  set(kTensor, Action::kWeights, 4, 5, 6, 7, 9, 10, 11);  // float, int32, string, int64, raw, double, uint64

  enter(kSparseTensor, 1, kTensor);  // values; indices are not needed
  keep(kSparseTensor, 3);            // dims

  keep(kFunction, 1, 4, 5, 6, 9, 10, 13);  // name, input, output, attribute, opset_import, domain, overload
  enter(kFunction, 7, kNode);
  enter(kFunction, 11, kAttribute);

  keep(kValue, 1, 2);  // name, type
  set(kValue, Action::kMetadata, 4);
  return rules;
}
constexpr Rules kRules = MakeRules();

constexpr size_t kMaxText = size_t{1} << 20;  // bytes of one attribute string
// The widest element is complex128 (16 bytes); a varint takes at most 10. More than this is not the data of a small
// tensor.
constexpr size_t kMaxSmallTensor = static_cast<size_t>(ConstantValues::kMaxElements) * 16;

bool IsOurs(std::string_view key) {
  return key == kFxNodeKey || key == kNameScopesKey || key == kClassHierarchyKey || key == kRewriteRulesKey ||
         key == kGraphSignatureKey || key == kFactsKey;
}

// True when the data of this tensor may be copied: few elements and few bytes. Dims may come behind the data, so the
// tensor is walked once for this alone.
bool IsSmall(std::string_view tensor) {
  uint64_t elements = 1;
  size_t bytes = 0;
  const auto multiply = [&](uint64_t dim) {
    if (elements <= static_cast<uint64_t>(ConstantValues::kMaxElements) &&
        __builtin_mul_overflow(elements, dim, &elements)) {
      elements = ~uint64_t{0};
    }
  };
  Reader reader(tensor);
  Field field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.kind == Kind::kVarint) {
      multiply(field.value);
    } else if (field.number == 1 && field.kind == Kind::kBytes) {
      uint64_t dim = 0;
      for (std::string_view rest = field.payload; wire::TakeVarint(&rest, &dim);) multiply(dim);
    } else if (field.number < kFields && kRules[kTensor][field.number].action == Action::kWeights) {
      bytes += field.whole.size();
      if (bytes > kMaxSmallTensor) return false;
    }
  }
  return elements <= static_cast<uint64_t>(ConstantValues::kMaxElements);
}

class Compactor {
 public:
  Compactor(const std::string& name, std::string_view file, const CompactLimits& limits, RawPlaces* raw)
      : name_(name), file_(file), limits_(limits), raw_(raw) {}

  Result<std::string> Run() {
    if (!Rewrite(kModel, file_, 0)) return error_;
    if (!has_graph_) return NotOnnx("it holds no graph");
    return std::move(out_);
  }

 private:
  Error NotOnnx(const std::string& reason) const {
    return {ErrorCode::kBadInput, name_, "not an ONNX model: " + reason,
            "give the .onnx file that torch.onnx.export wrote"};
  }

  bool Fail(std::string text, std::string hint) {
    error_ = {ErrorCode::kBadInput, name_, std::move(text), std::move(hint)};
    return false;
  }

  bool FailAt(const Reader& reader, int depth) {
    const std::string where =
        "byte " + std::to_string(reader.position() - file_.data()) + " of " + std::to_string(file_.size());
    // The first fields of every ONNX model are short; a fault before the graph was seen means that this is something
    // else.
    if (depth == 0 && !has_graph_ && reader.fault() == Fault::kMalformed) {
      error_ = NotOnnx("it is not a protobuf message, at " + where);
      return false;
    }
    if (depth == 0 && reader.fault() == Fault::kTruncated) {
      // Honest ONNX files begin with ir_version or with the graph; anything else was never one.
      const auto first = file_.empty() ? 0 : static_cast<uint8_t>(file_[0]);
      if (!has_graph_ && first != 0x08 && first != 0x3a && first != 0x42 && first != 0x12) {
        error_ = NotOnnx("it is not a protobuf message, at " + where);
        return false;
      }
      return Fail("truncated: the file ends inside the field that begins at " + where, "copy or download it again");
    }
    return Fail("damaged: its contents make no sense at " + where, "copy, download or export it again");
  }

  bool IsKept(std::string_view metadata) {
    const std::string_view key = ReadMetadataEntry(metadata).key;
    if (key != kStackTraceKey) return IsOurs(key);
    traces_ += metadata.size();
    return traces_ <= limits_.traces;
  }

  bool CountMessage() {
    if (++messages_ <= limits_.messages) return true;
    return Fail("it has more than " + std::to_string(limits_.messages) + " nodes, attributes and tensors",
                "this is not a model that vramplan can plan");
  }

  bool Append(std::string_view bytes) {
    out_.append(bytes);
    if (out_.size() <= limits_.bytes) return true;
    return Fail("its structure takes more than " + ToString(Bytes::Of(static_cast<int64_t>(limits_.bytes))) +
                    " without the weights",
                "this is not a model that vramplan can plan");
  }

  // Appends what the rules leave of `bytes`, a message of the given kind. Neighbouring kept fields are copied as one
  // run.
  bool Rewrite(Message message, std::string_view bytes, int depth) {
    if (depth > kMaxMessageDepth)
      return Fail("its subgraphs are nested more than " + std::to_string(kMaxNesting) + " deep",
                  "this is not a model that vramplan can plan");
    if (!CountMessage()) return false;
    const auto& rules = kRules[message];
    const bool copy_data = message != kTensor || IsSmall(bytes);
    const char* run = bytes.data();  // begin of what is to be copied
    Reader reader(bytes);
    Field field;
    std::string_view name, raw;  // of a tensor whose data stays behind
    while (reader.Next(&field)) {
      const Rule rule = field.number < kFields ? rules[field.number] : Rule{};
      if (!copy_data && field.kind == Kind::kBytes && field.number == 8) name = field.payload;
      if (!copy_data && field.kind == Kind::kBytes && field.number == 9) raw = field.payload;
      if (rule.action == Action::kKeep) continue;
      if (rule.action == Action::kText && field.payload.size() <= kMaxText) continue;
      if (rule.action == Action::kWeights && copy_data && field.number != 6) continue;
      if (rule.action == Action::kMetadata && field.kind == Kind::kBytes && IsKept(field.payload)) continue;
      if (!Append({run, static_cast<size_t>(field.whole.data() - run)})) return false;
      run = field.whole.data() + field.whole.size();
      if (rule.action != Action::kEnter || field.kind != Kind::kBytes) continue;
      if (message == kModel && field.number == 7) has_graph_ = true;
      if (!Enter(rule.message, field, depth)) return false;
    }
    if (reader.fault() != Fault::kNone) return FailAt(reader, depth);
    if (raw_ != nullptr && !name.empty() && !raw.empty()) raw_->emplace(name, raw);
    return Append({run, static_cast<size_t>(bytes.data() + bytes.size() - run)});
  }

  // The nested message of `field` under a tag of its own. Its length is known only afterwards: five bytes are set
  // aside, the longest length that protobuf reads.
  bool Enter(Message message, const Field& field, int depth) {
    uint32_t tag = field.number << 3 | 2;
    for (; tag >= 0x80; tag >>= 7) out_.push_back(static_cast<char>(tag | 0x80));
    out_.push_back(static_cast<char>(tag));
    const size_t length_at = out_.size();
    out_.append(5, '\0');
    if (!Rewrite(message, field.payload, depth + 1)) return false;
    size_t length = out_.size() - length_at - 5;
    for (int i = 0; i < 4; ++i, length >>= 7) out_[length_at + i] = static_cast<char>((length & 0x7f) | 0x80);
    out_[length_at + 4] = static_cast<char>(length);
    return true;
  }

  const std::string& name_;
  const std::string_view file_;
  const CompactLimits limits_;
  RawPlaces* raw_;
  std::string out_;
  int64_t messages_ = 0;
  size_t traces_ = 0;
  bool has_graph_ = false;
  Error error_;
};

}  // namespace

MetadataEntry ReadMetadataEntry(std::string_view message) {
  MetadataEntry entry;
  Reader reader(message);
  Field field;
  while (reader.Next(&field)) {
    if (field.kind != Kind::kBytes) continue;
    if (field.number == 1) entry.key = field.payload;
    if (field.number == 2) entry.value = field.payload;
  }
  return entry;
}

Result<std::string> Compact(const std::string& name, std::string_view file, const CompactLimits& limits,
                            RawPlaces* raw) {
  return Compactor(name, file, limits, raw).Run();
}

}  // namespace vramplan
