// Where the nodes of a dynamo export were called that has lost its metadata (fx_names.h): the names of stored tensors
// are places in the module tree, and what stands between two of them is in one of the modules around them.
//
//   LayerNorm(block.norm1.weight), Reshape, Transpose, Gemm(block.attn.qkv.bias), .., Gemm(block.attn.proj.bias),
//   Reshape, Add(x, ..), LayerNorm(block.norm2.weight)
//     block.norm1     of the first norm        block.attn   of the views in front of qkv and behind proj
//     block.attn.qkv  of the first product     block        of the sum: it joins what is older than attn's call
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "graph/base/text.h"
#include "graph/lift/simplifiers/fx_names.h"
#include "graph/lift/torchscript/patterns_modules.h"

namespace vramplan {
namespace {

bool IsInside(const std::string& path, const std::string& around) {
  if (around.empty() || path == around) return true;
  return path.size() > around.size() && path[around.size()] == '.' && path.starts_with(around);
}

std::string Common(std::string a, const std::string& b) {
  while (!IsInside(b, a)) a = ParentOf(a);
  return a;
}

// Names of lists of modules, which are not called, in transformers and torch.nn (TransformerEncoder): "layer.0" is one
// segment. Under other names (timm's blocks, torchvision's features) modules stand in a Sequential, unless it shows
// that they do not.
bool IsListName(const std::string& name) {
  return name == "layer" || name == "layers" || name == "h" || name == "block";
}

std::string ScopeOf(const std::string& path, const std::set<std::string>& lists) {
  std::string scope, segment;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    const bool number = IsNumber(part);
    segment = number && !segment.empty() ? segment + "." + part : part;
    const size_t next = std::min(path.find('.', end + 1), path.size());
    const bool numbered = end < path.size() && IsNumber(path.substr(end + 1, next - end - 1));
    const bool list = !number && numbered && (IsListName(part) || lists.contains(path.substr(0, end)));
    if (!list && !segment.empty()) scope += "/" + segment;
    begin = end + 1;
  }
  return scope;
}

bool IsActivation(const Node& node) {
  static const std::set<std::string_view> kOps = {"Relu", "LeakyRelu", "Clip",    "Gelu",     "HardSwish",
                                                  "Elu",  "PRelu",     "Sigmoid", "Softplus", "Tanh"};
  return kOps.contains(node.op);
}

bool IsProduct(const Node& node) {
  return node.op == "MatMul" || node.op == "Gemm" || node.op == "Conv" || node.op == "ConvTranspose";
}

class ScopeFinder {
 public:
  explicit ScopeFinder(const Graph& graph) : graph_(graph), own_(graph.nodes.size()), place_(graph.nodes.size()) {}

  std::vector<std::string> Run() {
    IndexReaders();
    FindOwners();
    FindOwn();
    FillGaps();
    FindBranches();
    JoinInnerNodes();
    const std::set<std::string> lists = FindLists();
    std::vector<std::string> scopes;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) scopes.push_back(ScopeOf(PathOf(n), lists));
    return scopes;
  }

 private:
  size_t Place(NodeId node) const { return node.index(); }
  bool IsStored(TensorId id) const { return graph_.IsStored(id); }

  void IndexReaders() {
    readers_.resize(graph_.tensors.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const TensorId input : graph_.nodes[n].inputs) {
        if (input.valid()) readers_[input.index()].push_back(n);
      }
    }
  }

  // The module that holds a stored tensor, when its name says it.
  std::optional<std::string> HolderOf(TensorId id) const {
    if (!IsStored(id) || graph_[id].stored->literal) return std::nullopt;
    const std::string& name = graph_[id].name;
    constexpr size_t kLongest = 1024;  // no module tree is that deep; paths are walked segment by segment
    if (name.size() > kLongest || !IsModulePath(name) || name.find('.') == std::string::npos) return std::nullopt;
    return ParentOf(name);
  }

  // Modules that hold other modules which hold tensors.
  void FindOwners() {
    std::optional<std::string> root;
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      const auto holder = HolderOf(TensorId::At(t));
      if (!holder) continue;
      holders_.insert(*holder);
      root = root ? Common(*root, *holder) : *holder;
      for (std::string path = ParentOf(*holder); containers_.insert(path).second && !path.empty();)
        path = ParentOf(path);
    }
    root_ = root.value_or("");
    if (!containers_.contains(root_)) root_ = ParentOf(root_);
  }

  std::string ContainerOf(const std::string& own) const { return containers_.contains(own) ? own : ParentOf(own); }

  void FindOwn() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const TensorId input : graph_.nodes[n].inputs) {
        if (!own_[n]) own_[n] = HolderOf(input);
        // A tied table may have the name of the output layer.
        if (own_[n] && graph_.nodes[n].op == "Gather" && IsOutputLayer(*own_[n])) own_[n].reset();
      }
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (own_[n] && (node.op == "Add" || node.op == "Mul")) TakeBackwards(n);
      // onnxsim's reshape behind a product of rows.
      if (node.op == "Reshape" && !node.name.starts_with("node_") && !own_[n]) {
        const NodeId maker = graph_.MakerOf(node.inputs[0]);
        if (maker.valid() && IsProduct(graph_[maker])) own_[n] = own_[Place(maker)];
      }
    }
  }

  // The product in front of a bias, and the arithmetic of a norm in front of its weight: what nobody else reads.
  void TakeBackwards(size_t root) {
    static const std::set<std::string_view> kNorm = {"Pow", "ReduceMean", "Add", "Sqrt", "Reciprocal",
                                                     "Mul", "Div",        "Sub", "Cast"};
    std::vector<size_t> open = {root};
    const bool is_norm = graph_.nodes[root].op == "Mul";
    for (size_t i = 0; i < open.size() && i < 16; ++i) {
      for (const TensorId input : graph_.nodes[open[i]].inputs) {
        const NodeId maker = graph_.MakerOf(input);
        if (!maker.valid() || own_[Place(maker)]) continue;
        const Node& node = graph_[maker];
        const auto& readers = readers_[input.index()];
        const bool ours = std::ranges::all_of(readers, [&](size_t n) { return own_[n] == own_[root]; });
        if (!ours || !(is_norm ? kNorm.contains(node.op) : node.op == "MatMul")) continue;
        own_[Place(maker)] = own_[root];
        open.push_back(Place(maker));
      }
    }
  }

  // A sum or a join of what is older than `since` with something newer.
  bool Joins(size_t n, size_t since) const {
    const Node& node = graph_.nodes[n];
    if (node.op != "Add" && node.op != "Mul" && node.op != "Concat") return false;
    if (!node.outputs[0].valid() || FxOperatorOf(graph_[node.outputs[0]].name).empty())
      return false;  // inside attention
    bool older = false, newer = false;
    for (const TensorId input : node.inputs) {
      if (!input.valid() || IsStored(input)) continue;
      const NodeId maker = graph_[input].producer;
      (maker.valid() && Place(maker) >= since ? newer : older) = true;
    }
    return older && newer;
  }

  void FillGaps() {
    const size_t count = graph_.nodes.size();
    std::string before = root_;
    bool views = true;  // what stands behind the anchor may be views of its result in its own container
    std::map<std::string, size_t> entered;  // the container that runs now, and those around it: its first node
    for (size_t begin = 0; begin < count;) {
      size_t end = begin;
      while (end < count && !own_[end]) ++end;
      const std::string behind = end < count ? ContainerOf(*own_[end]) : root_;
      FillGap(begin, end, before, behind, views, entered);
      if (end == count) break;
      Enter(behind, end, entered);
      before = behind;
      views = EndsProduct(end);
      begin = end + 1;
    }
  }

  // A product, the sum with its bias, or a view that onnxsim put behind it.
  bool EndsProduct(size_t n) const {
    const Node& node = graph_.nodes[n];
    if (IsProduct(node)) return true;
    if (node.op != "Add" && node.op != "Reshape") return false;
    return std::ranges::any_of(node.inputs, [&](TensorId input) {
      const NodeId maker = graph_.MakerOf(input);
      return maker.valid() && own_[Place(maker)] == own_[n] && own_[n] && IsProduct(graph_[maker]);
    });
  }

  // Containers that are left are gone.
  static void Enter(const std::string& container, size_t n, std::map<std::string, size_t>& entered) {
    std::erase_if(entered, [&](const auto& entry) { return !IsInside(container, entry.first); });
    for (std::string path = container; !path.empty(); path = ParentOf(path)) entered.try_emplace(path, n);
  }

  void FillGap(size_t begin, size_t end, const std::string& before, const std::string& behind, bool views,
               std::map<std::string, size_t>& entered) {
    std::string common = Common(before, behind), outermost = before;
    while (before != common && ParentOf(outermost) != common) outermost = ParentOf(outermost);
    // Modules of a list or a Sequential are called one behind the other: sums are in one of them.
    if (before != common && IsNumber(LeafOf(outermost))) common = outermost;
    const auto since = entered.find(outermost);
    size_t first = end, last = begin;  // joins of the container around both, and activations behind them: [first, last)
    for (size_t n = begin; n < end; ++n) {
      const bool joins = since != entered.end() && Joins(n, since->second);
      if (!joins && (last != n || n == begin || !IsActivation(graph_.nodes[n]))) continue;
      first = std::min(first, n);
      last = n + 1;
    }
    if (before == common) {
      first = begin;
      if (views) last = std::max(last, end);
    } else if (first == end) {
      first = last = views ? end : begin;
    }
    for (size_t n = begin; n < end; ++n) {
      place_[n] = n < first ? before : n < last ? common : behind;
      if (n == first) Enter(common, n, entered);
      if (n == last && n >= first) Enter(behind, n, entered);
      const bool weighted =
          IsProduct(graph_.nodes[n]) && graph_.nodes[n].inputs.size() > 1 && IsStored(graph_.nodes[n].inputs[1]);
      if (weighted) Name(n, place_[n]);
      if (IsModuleBehindConvolution(n)) Name(n, place_[n]);
    }
  }

  // Convolutional networks have modules for their activations, of which most work in place (inplace_assumed.cc).
  bool IsModuleBehindConvolution(size_t n) const {
    static const std::set<std::string_view> kOps = {"relu", "hardtanh", "leaky_relu", "elu", "silu", "hardswish"};
    const Node& node = graph_.nodes[n];
    if (!node.outputs[0].valid() || !kOps.contains(FxOperatorOf(graph_[node.outputs[0]].name))) return false;
    return std::ranges::any_of(node.inputs, [&](TensorId input) {
      const NodeId maker = graph_.MakerOf(input);
      return maker.valid() && (graph_[maker].op == "Conv" || graph_[maker].op == "ConvTranspose");
    });
  }

  // A product whose weight has lost its name is a call of a module, too.
  void Name(size_t n, const std::string& container) {
    const TensorId result = graph_.nodes[n].outputs[0];
    std::string leaf =
        result.valid() && !FxOperatorOf(graph_[result].name).empty() ? graph_[result].name : graph_.nodes[n].name;
    std::ranges::replace(leaf, '.', '_');
    own_[n] = container.empty() ? leaf : container + "." + leaf;
  }

  // x + f(norm(x)), where nothing in f has a name: f is a call, too.
  void FindBranches() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.op != "Add" || own_[n] || node.inputs.size() != 2) continue;
      for (size_t side = 0; side < 2; ++side) {
        const TensorId x = node.inputs[side];
        if (!x.valid() || IsStored(x)) continue;
        const std::optional<size_t> norm = NormOf(x, n, place_[n]);
        if (norm && TakeBranch(*norm + 1, n)) break;
      }
    }
  }

  const std::string& PathOf(size_t n) const { return own_[n] ? *own_[n] : place_[n]; }

  // A Sequential gives its last module's result: of which others are read outside, it is a list (a U-Net's encoder).
  // And it gives a module nothing but the result of the one before: where a later one reads what was made outside, it
  // is a list, too (a U-Net's decoder).
  std::set<std::string> FindLists() const {
    std::map<std::string, int64_t> first, last;  // by path: its numbered modules that run first and last
    std::set<std::string> lists;
    std::vector<std::pair<std::string, int64_t>> given;  // modules whose results are read outside
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (std::string path = PathOf(n); !path.empty(); path = ParentOf(path)) {
        const std::string leaf(LeafOf(path));
        constexpr size_t kDigits = 9;
        if (!IsNumber(leaf) || leaf.size() > kDigits) continue;
        const int64_t number = std::stoll(leaf);
        const std::string around = ParentOf(path);
        int64_t& most = last[around];
        most = std::max(most, number);
        if (first.try_emplace(around, number).first->second != number && ReadsFromOutside(n, around))
          lists.insert(around);
        for (const TensorId output : graph_.nodes[n].outputs) {
          if (!output.valid()) continue;
          const auto& readers = readers_[output.index()];
          const bool outside =
              std::ranges::any_of(readers, [&](size_t reader) { return !IsInside(PathOf(reader), around); });
          if (outside) given.emplace_back(around, number);
        }
      }
    }
    for (const auto& [around, number] : given) {
      if (number < last[around]) lists.insert(around);
    }
    return lists;
  }

  bool ReadsFromOutside(size_t n, const std::string& path) const {
    const std::vector<TensorId>& inputs = graph_.nodes[n].inputs;
    return std::ranges::any_of(inputs, [&](TensorId input) {
      const NodeId maker = graph_.MakerOf(input);
      return maker.valid() && IsMap(input) && !IsInside(PathOf(Place(maker)), path);
    });
  }

  // Made by a module's layer, not a size or a constant.
  bool IsMap(TensorId id) const { return !FxOperatorOf(graph_[id].name).empty(); }

  // What only leads to the result of one fx node is a part of it.
  void JoinInnerNodes() {
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (own_[n] || node.outputs.size() != 1 || !node.outputs[0].valid()) continue;
      const auto& readers = readers_[node.outputs[0].index()];
      if (readers.size() != 1 || !graph_[node.outputs[0]].name.starts_with("val_")) continue;
      own_[n] = own_[readers[0]];
      place_[n] = place_[readers[0]];
    }
  }

  // The last node in front of `until` that belongs to a norm of `x` in `container`.
  std::optional<size_t> NormOf(TensorId x, size_t until, const std::string& container) const {
    std::optional<std::string> module;
    for (const size_t reader : readers_[x.index()]) {
      if (reader >= until || !own_[reader] || IsProduct(graph_.nodes[reader])) continue;
      if (ParentOf(*own_[reader]) == container) module = own_[reader];
    }
    if (!module) return std::nullopt;
    constexpr size_t kLongest = 4096;  // nodes of a branch
    for (size_t n = until; n-- > 0 && until - n < kLongest;) {
      if (own_[n] == module) return n;
    }
    return std::nullopt;
  }

  bool TakeBranch(size_t begin, size_t end) {
    const std::string container = place_[end];
    bool attention = false, product = false;
    for (size_t n = begin; n < end; ++n) {
      const bool here =
          own_[n] ? ParentOf(*own_[n]) == container && IsProduct(graph_.nodes[n]) : place_[n] == container;
      if (!here) return false;
      attention |= graph_.nodes[n].op == "Softmax";
      product |= own_[n].has_value();
    }
    if (!product) return false;
    const std::string leaf = attention ? "attention" : "mlp";
    const std::string branch = container.empty() ? leaf : container + "." + leaf;
    for (size_t n = begin; n < end; ++n) {
      if (own_[n]) own_[n] = branch + "." + own_[n]->substr(container.empty() ? 0 : container.size() + 1);
      place_[n] = branch;
    }
    return true;
  }

  const Graph& graph_;
  std::vector<std::optional<std::string>> own_;  // by node: the module whose tensors it reads
  std::vector<std::string> place_;               // by node: else the module around it
  std::vector<std::vector<size_t>> readers_;     // by tensor
  std::set<std::string> containers_;
  std::set<std::string> holders_;  // modules that hold tensors
  std::string root_;
};

}  // namespace

std::vector<std::string> FxScopes(const Graph& graph) { return ScopeFinder(graph).Run(); }

}  // namespace vramplan
