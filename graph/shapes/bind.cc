// Bind: which length is the batch, and what every other free length is.
#include <algorithm>
#include <cctype>
#include <set>

#include "graph/base/text.h"
#include "graph/shapes/infer.h"
#include "graph/shapes/symbols.h"

namespace vramplan {
namespace {

// The names that exporters and people give to the batch, best first.
constexpr const char* kBatchNames[] = {"batch",  "batch_size", "batchsize", "batch_dim", "batch_axis",
                                       "nbatch", "n",          "b",         "bs",        "bsz"};
// Names of axis 0 that are surely not the batch.
constexpr const char* kOtherNames[] = {"seq",    "length", "len",   "time", "token", "frame",
                                       "height", "width",  "point", "node", "edge",  "channel"};

bool IsSymbolName(const DeclaredDim& d) { return !d.length && !d.symbol.empty() && d.symbol != "?"; }
bool IsNameless(const DeclaredDim& d) { return (!d.length && !IsSymbolName(d)) || (d.length && *d.length == -1); }

// Looks at the inputs and answers what stands where.
class Binder {
 public:
  Binder(const Graph& graph, const BindOptions& options, Notes* notes)
      : graph_(graph), options_(options), notes_(notes) {}

  Result<Binding> Run() {
    CollectSymbols();
    for (const auto step : {&Binder::CheckNames, &Binder::FindBatch, &Binder::BindSymbols, &Binder::BindInputs}) {
      if (const auto error = (this->*step)()) return *error;
    }
    return binding_;
  }

  std::vector<FreeLength> FreeLengths() {
    CollectSymbols();
    std::vector<FreeLength> lengths;
    if (CheckNames() || FindBatch()) return lengths;
    for (const std::string& symbol : symbols_)
      if (symbol != binding_.batch_symbol) lengths.push_back({symbol, UsualLength(symbol)});
    return lengths;
  }

 private:
  using Failure = std::optional<Error>;

  const std::vector<DeclaredDim>* DimsOf(TensorId id) const {
    const auto& declared = graph_[id].declared;
    return declared && declared->is_tensor && declared->dims ? &*declared->dims : nullptr;
  }
  const std::vector<int64_t>* Given(TensorId id) const {
    const auto found = options_.inputs.find(graph_[id].name);
    return found == options_.inputs.end() ? nullptr : &found->second;
  }
  Error Bad(const std::string& text, const std::string& hint) const {
    return {ErrorCode::kBadInput, graph_.file, text, hint};
  }
  Error Usage(const std::string& option, const std::string& text, const std::string& hint) const {
    return {ErrorCode::kUsage, option, text, hint};
  }
  static std::string Joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
  }

  // A declared symbol is an expression when every name in it is a symbol of its own somewhere, or given with --dim;
  // else it is one opaque name.
  void CollectSymbols() {
    std::set<std::string> simple;
    const auto each = [&](const auto& act) {
      for (TensorId id : graph_.inputs) {
        const auto* dims = DimsOf(id);
        for (size_t axis = 0; dims != nullptr && axis < dims->size(); ++axis) {
          if (IsSymbolName((*dims)[axis])) act((*dims)[axis].symbol);
        }
      }
    };
    each([&](const std::string& symbol) {
      const auto names = SymbolsIn(symbol);
      if (names.size() == 1 && names[0] == symbol) simple.insert(symbol);
    });
    for (const auto& [name, length] : options_.dims) simple.insert(name);
    const auto add = [&](const std::string& name) {
      if (std::find(symbols_.begin(), symbols_.end(), name) == symbols_.end()) symbols_.push_back(name);
    };
    each([&](const std::string& symbol) {
      const auto names = SymbolsIn(symbol);
      const bool plain_words =
          !names.empty() &&
          symbol.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-*/%() ,.:") ==
              std::string::npos;
      const bool known =
          std::all_of(names.begin(), names.end(), [&](const std::string& s) { return simple.count(s) != 0; });
      // "a + b" with spaces is an expression even when nothing else names a and b; "batch-size" alone is a name.
      if (plain_words && (known || symbol.find(' ') != std::string::npos)) {
        for (const std::string& name : names) add(name);
      } else {
        add(symbol);
      }
    });
  }

  // Whether some node of the graph, or inside it, makes a tensor of this name.
  static bool Makes(const Graph& graph, const std::string& name) {
    const bool here = std::any_of(graph.tensors.begin(), graph.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.producer.valid() && tensor.name == name; });
    const auto inside = [&](const std::shared_ptr<Graph>& subgraph) { return Makes(*subgraph, name); };
    return here || std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
             return std::any_of(node.attributes.all().begin(), node.attributes.all().end(), [&](const auto& attribute) {
               const auto* one = std::get_if<std::shared_ptr<Graph>>(&attribute.second);
               const auto* several = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute.second);
               return (one != nullptr && inside(*one)) ||
                      (several != nullptr && std::any_of(several->begin(), several->end(), inside));
             });
           });
  }

  // "selected:0", an axis of a tensor that some node makes, whose length data decides.
  bool NamesAxis(const std::string& name) const {
    const size_t colon = name.rfind(':');
    if (colon == std::string::npos || colon + 2 != name.size() || name[colon + 1] < '0' || name[colon + 1] > '7')
      return false;
    return Makes(graph_, name.substr(0, colon));
  }

  Failure CheckNames() {
    std::set<std::string> elsewhere;  // outputs and value_info name lengths too; binding them is allowed
    for (const auto& [name, length] : options_.dims) {
      if (length < 0) return Usage("--dim " + name + "=" + std::to_string(length), "a length cannot be negative", "");
      if (std::find(symbols_.begin(), symbols_.end(), name) != symbols_.end()) continue;
      if (elsewhere.empty()) {
        elsewhere.insert("");
        for (const Tensor& tensor : graph_.tensors) {
          if (!tensor.declared || !tensor.declared->dims) continue;
          for (const DeclaredDim& d : *tensor.declared->dims) elsewhere.insert(d.symbol);
        }
      }
      if (elsewhere.count(name) == 0 && !NamesAxis(name)) {
        return Usage("--dim " + name, "the file has no dim of this name", "its dims are: " + Joined(symbols_));
      }
      binding_.symbols[name] = length;
    }
    for (const auto& [name, lengths] : options_.inputs) {
      std::vector<std::string> names;
      const std::vector<DeclaredDim>* dims = nullptr;
      std::string example;
      bool found = false;
      for (TensorId id : graph_.inputs) {
        names.push_back(graph_[id].name);
        if (graph_[id].name != name) continue;
        found = true;
        dims = DimsOf(id);
        if (dims != nullptr) example = "type it like --input " + name + "=" + Example(graph_[id]);
      }
      if (!found)
        return Usage("--input " + name, "the file has no input of this name", "its inputs are: " + Joined(names));
      if (dims != nullptr && dims->size() != lengths.size()) {
        return Usage("--input " + name,
                     "it has " + std::to_string(lengths.size()) + " lengths for an input of " +
                         std::to_string(dims->size()) + " axes",
                     example);
      }
      if (lengths.size() > Shape::kMaxRank)
        return Usage("--input " + name, "it has more than " + std::to_string(Shape::kMaxRank) + " axes", "");
      for (int64_t length : lengths) {
        if (length < 0) return Usage("--input " + name, "a length cannot be negative: " + std::to_string(length), "");
      }
    }
    return std::nullopt;
  }

  Failure FindBatch() {
    if (options_.batch_dim == "none") {
      NoBatch();
      return std::nullopt;
    }
    if (!options_.batch_dim.empty()) return BatchByOption();
    for (const char* name : kBatchNames) {
      for (const std::string& symbol : symbols_) {
        if (LowerCase(symbol) == name) return BatchIs(symbol);
      }
    }
    for (const std::string& symbol : symbols_) {
      if (LowerCase(symbol).find("batch") != std::string::npos && SymbolsIn(symbol).size() <= 1) return BatchIs(symbol);
    }
    for (TensorId id : graph_.inputs) {  // by position: axis 0
      const auto* dims = DimsOf(id);
      if (dims == nullptr || dims->empty()) continue;
      const DeclaredDim& first = dims->front();
      if (IsSymbolName(first) && std::find(symbols_.begin(), symbols_.end(), first.symbol) != symbols_.end() &&
          !IsOtherName(first.symbol) && options_.dims.count(first.symbol) == 0) {
        return BatchIs(first.symbol);
      }
      if (IsNameless(first)) {
        nameless_batch_ = true;
        return std::nullopt;
      }
    }
    Reopen(0);
    return std::nullopt;
  }

  static bool IsOtherName(const std::string& symbol) {
    const std::string lower = LowerCase(symbol);
    return std::any_of(std::begin(kOtherNames), std::end(kOtherNames),
                       [&](const char* part) { return lower.find(part) != std::string::npos; });
  }

  Failure BatchIs(const std::string& symbol) {
    binding_.batch_symbol = symbol;
    binding_.symbols[symbol] = Dim::Batch();
    if (options_.dims.count(symbol) != 0) {
      notes_->Add({"batch-stays-free", Severity::kNote, "--dim " + symbol, "this dim is the batch, which stays free",
                   "give it with --batch"});
    }
    // Two encoders, two names ("image_batch", "text_batch"): one batch.
    const bool traced = IsTraced(symbol);
    for (const std::string& other : symbols_) {
      const bool like_it = LowerCase(other).find("batch") != std::string::npos || (traced && BeginsInput(other));
      if (other == symbol || options_.dims.count(other) != 0 || !like_it) continue;
      binding_.symbols[other] = Dim::Batch();
      notes_->Add({"assumed-batch", Severity::kNote, other, "this dim is taken as the batch, like " + symbol,
                   "--dim " + other + "=N binds it"});
    }
    return std::nullopt;
  }

  // s77: torch.export's own name for a free length; it gives each input its own where nothing says that they are equal.
  static bool IsTraced(const std::string& symbol) {
    return symbol.size() > 1 && symbol[0] == 's' && symbol.find_first_not_of("0123456789", 1) == std::string::npos;
  }
  bool BeginsInput(const std::string& symbol) const {
    return IsTraced(symbol) && std::any_of(graph_.inputs.begin(), graph_.inputs.end(), [&](TensorId id) {
             const auto* dims = DimsOf(id);
             return dims != nullptr && !dims->empty() && dims->front().symbol == symbol;
           });
  }

  Failure BatchByOption() {
    const size_t colon = options_.batch_dim.rfind(':');
    const std::string option = "--batch-dim " + options_.batch_dim;
    const std::string name = options_.batch_dim.substr(0, colon);
    const std::string digits = colon == std::string::npos ? "0" : options_.batch_dim.substr(colon + 1);
    if (digits.empty() || digits.size() > 2 || digits.find_first_not_of("0123456789") != std::string::npos) {
      return Usage(option, "it is not INPUT:AXIS", "write it like --batch-dim x:0, or none");
    }
    const size_t axis = std::stoul(digits);
    std::vector<std::string> names;
    for (TensorId id : graph_.inputs) {
      names.push_back(graph_[id].name);
      if (graph_[id].name != name) continue;
      const auto* dims = DimsOf(id);
      if (dims == nullptr || axis >= dims->size())
        return Usage(option, "input " + name + " has no axis " + digits, "type --batch-dim " + name + ":0");
      const DeclaredDim& d = (*dims)[axis];
      if (IsSymbolName(d) && std::find(symbols_.begin(), symbols_.end(), d.symbol) != symbols_.end())
        return BatchIs(d.symbol);
      if (IsSymbolName(d))
        return Usage(option, "\"" + d.symbol + "\" is an expression", "its dims are: " + Joined(symbols_));
      if (IsNameless(d)) {
        nameless_batch_ = true;
        batch_axis_ = axis;
        return std::nullopt;
      }
      Reopen(axis, *d.length);
      return std::nullopt;
    }
    return Usage(option, "the file has no input of this name",
                 "its inputs are: " + Joined(names) + "; type --batch-dim " + names.front() + ":0");
  }

  // The length on `axis` of the first input with two axes or more; all inputs with that length there get the batch.
  void Reopen(size_t axis, std::optional<int64_t> length = std::nullopt) {
    for (TensorId id : graph_.inputs) {
      const auto* dims = DimsOf(id);
      if (length || dims == nullptr || dims->size() < 2 || axis >= dims->size()) continue;
      length = (*dims)[axis].length;
      if (options_.batch_dim.empty() && IsImage(*dims)) return NoBatchOfImage(graph_[id]);
      break;
    }
    if (!length || *length < 1) return NoBatch();
    batch_axis_ = axis;
    binding_.fixed_batch = *length;
    notes_->Add({"reopened-batch", Severity::kNote, graph_.file,
                 "it was exported with the fixed batch " + std::to_string(*length) + ", which is taken as free again",
                 "--batch-dim INPUT:AXIS names another axis, --batch-dim none keeps the file as it is"});
  }

  // [3, 320, 320]: detectors of torchvision take one image without a batch axis. A batch of three sequences of 320
  // would look the same, so the file says which it is only where the user does.
  static bool IsImage(const std::vector<DeclaredDim>& dims) {
    constexpr int64_t kColours = 3, kShortestSide = 16;
    const auto is_side = [](const DeclaredDim& d) { return !d.length || *d.length < 0 || *d.length >= kShortestSide; };
    return dims.size() == 3 && dims[0].length == kColours && is_side(dims[1]) && is_side(dims[2]);
  }

  void NoBatchOfImage(const Tensor& input) {
    notes_->Add({"no-batch", Severity::kWarning, graph_.file,
                 "input " + input.name +
                     " (3 x height x width) looks like one image, so its first axis is taken as "
                     "channels, and no axis is the batch",
                 "--batch-dim " + input.name + ":0 if it is the batch"});
  }

  void NoBatch() {
    notes_->Add({"no-batch", Severity::kWarning, graph_.file,
                 "no axis of its inputs is the batch; its memory is the same for every batch",
                 "--batch-dim INPUT:AXIS names one"});
  }

  // Numbers for the symbols: --dim, then --input where the axis is a plain symbol.
  Failure BindSymbols() {
    for (const std::string& symbol : symbols_) {
      const auto given = options_.dims.find(symbol);
      if (given != options_.dims.end() && binding_.symbols.count(symbol) == 0) binding_.symbols[symbol] = given->second;
    }
    for (TensorId id : graph_.inputs) {
      const auto* dims = DimsOf(id);
      const auto* lengths = Given(id);
      if (dims == nullptr || lengths == nullptr) continue;
      for (size_t axis = 0; axis < dims->size(); ++axis) {
        const std::string& symbol = (*dims)[axis].symbol;
        if (!IsSymbolName((*dims)[axis]) || std::find(symbols_.begin(), symbols_.end(), symbol) == symbols_.end())
          continue;
        const auto [place, fresh] = binding_.symbols.emplace(symbol, (*lengths)[axis]);
        if (fresh || !place->second.IsConstant() || place->second.Is((*lengths)[axis])) continue;
        return Usage("--input " + graph_[id].name,
                     "dim \"" + symbol + "\" is " + std::to_string((*lengths)[axis]) + " here and " +
                         ToString(place->second) + " elsewhere",
                     "");
      }
    }
    return std::nullopt;
  }

  Failure BindInputs() {
    for (TensorId id : graph_.inputs) {
      const Tensor& tensor = graph_[id];
      if (tensor.declared && !tensor.declared->is_tensor) continue;
      const auto* dims = DimsOf(id);
      const auto* lengths = Given(id);
      const std::string input = "input " + tensor.name;
      if (dims == nullptr && lengths == nullptr) {
        return Bad(input + ": the file does not declare its shape",
                   "add --input " + tensor.name + "=1x3x224x224, with its own lengths");
      }
      const size_t rank = dims != nullptr ? dims->size() : lengths->size();
      if (rank > Shape::kMaxRank) {
        return Bad(input + ": it has " + std::to_string(rank) + " axes; at most " + std::to_string(Shape::kMaxRank) +
                       " are understood",
                   "");
      }
      Shape shape;
      for (size_t axis = 0; axis < rank; ++axis) {
        const auto dim =
            BindAxis(tensor, dims != nullptr ? (*dims)[axis] : DeclaredDim(), axis, dims == nullptr, lengths);
        if (!dim) return dim.error();
        shape.Append(*dim);
      }
      binding_.inputs[id] = shape;
    }
    return std::nullopt;
  }

  Result<Dim> BindAxis(const Tensor& tensor, const DeclaredDim& d, size_t axis, bool undeclared,
                       const std::vector<int64_t>* lengths) {
    const std::string input = "input " + tensor.name;
    if (d.length && *d.length < -1) {
      return Bad(input + ": axis " + std::to_string(axis) + " has the negative length " + std::to_string(*d.length),
                 "");
    }
    if (IsSymbolName(d)) {
      const auto value = EvaluateDim(d.symbol, binding_.symbols);
      if (value && !value->IsConstant()) return *value;
      if (lengths != nullptr) {
        if (value && !value->Is((*lengths)[axis])) {
          return Usage("--input " + tensor.name,
                       "dim \"" + d.symbol + "\" is " + std::to_string((*lengths)[axis]) + " here and " +
                           ToString(*value) + " by --dim",
                       "");
        }
        return Dim((*lengths)[axis]);
      }
      if (value && value->c0() < 0)
        return Bad(input + ": dim \"" + d.symbol + "\" is negative: " + ToString(*value), "");
      if (value) return *value;
      return Unbound(tensor, d.symbol);
    }
    const bool here = axis == batch_axis_;
    if (IsNameless(d)) {
      if (here && (nameless_batch_ || (undeclared && !binding_.fixed_batch && options_.batch_dim != "none")))
        return Dim::Batch();
      if (lengths != nullptr) return Dim((*lengths)[axis]);
      return Bad(input + ": axis " + std::to_string(axis) + " has neither a length nor a name",
                 "add --input " + tensor.name + "=" + Example(tensor));
    }
    if (here && binding_.fixed_batch && *d.length == *binding_.fixed_batch) return Dim::Batch();
    if (lengths != nullptr && (*lengths)[axis] != *d.length) {
      notes_->Add({"overridden-dim", Severity::kWarning, tensor.name,
                   "axis " + std::to_string(axis) + " is " + std::to_string(*d.length) + " in the file and taken as " +
                       std::to_string((*lengths)[axis]),
                   ""});
      return Dim((*lengths)[axis]);
    }
    return Dim(*d.length);
  }

  // The first symbol of the expression that has no value is the one to bind; what else has none is in the hint.
  Error Unbound(const Tensor& tensor, const std::string& text) const {
    std::string symbol = text;
    if (std::find(symbols_.begin(), symbols_.end(), text) == symbols_.end()) {
      for (const std::string& name : SymbolsIn(text)) {
        if (binding_.symbols.count(name) != 0) continue;
        symbol = name;
        break;
      }
      if (symbol == text)
        return Bad("input " + tensor.name + ": dim \"" + text + "\" has no value for every batch",
                   "add --input " + tensor.name + "=" + Example(tensor));
    }
    std::string hint = "add" + Typed(symbol);
    for (const std::string& other : symbols_) {
      if (other != symbol && binding_.symbols.count(other) == 0) hint += Typed(other);
    }
    return Bad("input " + tensor.name + ": dim \"" + symbol + "\" is not bound", hint);
  }

  // One that such dims often have.
  static int64_t UsualLength(const std::string& symbol) {
    const std::string lower = LowerCase(symbol);
    if (lower.find("past") != std::string::npos) return 0;
    const bool pixels = lower.find("height") != std::string::npos || lower.find("width") != std::string::npos;
    return pixels ? 224 : 128;
  }

  // " --dim sequence=128"
  static std::string Typed(const std::string& symbol) {
    return " --dim " + symbol + "=" + std::to_string(UsualLength(symbol));
  }

  std::string Example(const Tensor& tensor) const {
    std::string text;
    for (const DeclaredDim& d : *tensor.declared->dims) {
      text += (text.empty() ? "" : "x") + (d.length && *d.length > 0 ? std::to_string(*d.length)
                                           : text.empty()            ? "1"
                                                                     : "128");
    }
    return text;
  }

  const Graph& graph_;
  const BindOptions& options_;
  Notes* notes_;
  Binding binding_;
  std::vector<std::string> symbols_;  // free names of the inputs, in order
  bool nameless_batch_ = false;       // the batch axis has neither a length nor a name
  size_t batch_axis_ = 0;
};

}  // namespace

std::vector<FreeLength> FreeLengthsOf(const Graph& graph, const BindOptions& options) {
  Notes said;  // by Bind
  return Binder(graph, options, &said).FreeLengths();
}

Result<Binding> Bind(const Graph& graph, const BindOptions& options, Notes* notes) {
  const Result<BindOptions> sized = WithImage(graph, options);
  if (!sized.ok()) return sized.error();
  return Binder(graph, *sized, notes).Run();
}

}  // namespace vramplan
