#include "planner/runtimes/fusions.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/layers/uses.h"

namespace vramplan {
namespace {

class Fuser {
 public:
  explicit Fuser(Layers* given) : graph_(*given) { Index(); }

  void Run() {
    using Rule = bool (Fuser::*)(size_t);
    // Those of level 1 before those of level 2, as ONNX Runtime orders them.
    for (const Rule rule : {&Fuser::BatchNorm, &Fuser::Bias, &Fuser::Gelu, &Fuser::QuickGelu, &Fuser::ScaledMatMul,
                            &Fuser::SkipLayerNorm}) {
      for (size_t l = 0; l < graph_.layers.size(); ++l) {
        while (!dead_[l] && (this->*rule)(l)) Index();
      }
    }
    Sweep();
  }

 private:
  void Index() {
    dead_.resize(graph_.layers.size(), false);
    uses_.emplace(graph_);
  }

  Layer& At(size_t l) { return graph_.layers[l]; }
  bool IsStored(ValueId id) const {
    return id.valid() && (graph_[id].role == Role::kParameter || graph_[id].role == Role::kConstant);
  }
  bool IsNumber(ValueId id) const { return IsStored(id) && graph_[id].shape.Elements().Is(1); }

  // The layer that makes this value for one reader alone.
  std::optional<size_t> OnlyFor(ValueId id, const std::string& op) const {
    const Layer* maker = uses_->ReadersOf(id).size() == 1 ? uses_->MakerOf(id) : nullptr;
    if (maker == nullptr || maker->op != op) return std::nullopt;
    return uses_->PlaceOf(maker);
  }
  // The only layer that reads the output of this one.
  std::optional<size_t> OnlyReader(size_t l, const std::string& op) const {
    const Layer* reader = uses_->OnlyReaderOf(graph_.layers[l].outputs[0]);
    if (reader == nullptr || reader->op != op) return std::nullopt;
    return uses_->PlaceOf(reader);
  }
  // The operand of a layer of two that is not `id`.
  ValueId Other(size_t l, ValueId id) {
    const auto& inputs = At(l).inputs;
    return inputs.size() != 2 ? ValueId() : inputs[0] == id ? inputs[1] : inputs[0];
  }

  bool Replace(size_t l, const std::string& op, std::vector<ValueId> inputs, const std::vector<size_t>& merged) {
    At(l).op = op;
    At(l).inputs = std::move(inputs);
    for (const size_t m : merged) {
      dead_[m] = true;
      At(m).inputs.clear();
      At(m).outputs.clear();
    }
    return true;
  }

  bool BatchNorm(size_t l) {
    if (At(l).op != "BatchNormalization" || At(l).inputs.size() < 5) return false;
    for (const char* op : {"Conv", "ConvTranspose"}) {
      const auto conv = OnlyFor(At(l).inputs[0], op);
      if (!conv) continue;
      std::vector<ValueId> inputs = At(*conv).inputs;
      inputs.resize(3);
      if (!inputs[2].valid()) inputs[2] = At(l).inputs[2];
      At(l).attributes = At(*conv).attributes;
      At(l).name = At(*conv).name;
      return Replace(l, op, inputs, {*conv});
    }
    return false;
  }

  bool Bias(size_t l) {
    if (At(l).op != "Add" || At(l).inputs.size() != 2) return false;
    for (const ValueId product : At(l).inputs) {
      const auto matmul = OnlyFor(product, "MatMul");
      const ValueId bias = Other(l, product);
      if (!matmul || !IsStored(bias) || graph_[bias].shape.rank() != 1) continue;
      const auto [x, w] = std::pair(At(*matmul).inputs[0], At(*matmul).inputs[1]);
      if (!IsStored(w) || graph_[w].shape.rank() != 2) continue;
      const Value& out = graph_[At(l).outputs[0]];
      if (out.shape.known() && out.shape.rank() > 2) return FlatGemm(*matmul, l, bias);
      return Replace(l, "Gemm", {x, w, bias}, {*matmul});
    }
    return false;
  }
  // Of more axes the leading ones become one around the Gemm: its buffer has another shape, which decides who may have
  // it next.
  bool FlatGemm(size_t matmul, size_t add, ValueId bias) {
    const Value out = graph_[At(add).outputs[0]];
    const Dim columns = out.shape.FromEnd(1);
    const std::optional<Dim> rows = DivideExactly(out.shape.Elements(), columns);
    if (!rows) return false;
    const ValueId flat{static_cast<int32_t>(graph_.values.size())};
    graph_.values.push_back({out.name + " as a matrix", out.type, Shape{*rows, columns}, Role::kActivation});
    At(matmul).outputs = {flat};
    Replace(matmul, "Gemm", {At(matmul).inputs[0], At(matmul).inputs[1], bias}, {});
    return Replace(add, "Reshape", {flat}, {});
  }

  bool QuickGelu(size_t l) {
    if (At(l).op != "Mul" || At(l).inputs.size() != 2) return false;
    for (const ValueId gate : At(l).inputs) {
      const auto sigmoid = OnlyFor(gate, "Sigmoid");
      const ValueId x = Other(l, gate);
      if (sigmoid && At(*sigmoid).inputs[0] == x) return Replace(l, "com.microsoft.QuickGelu", {x}, {*sigmoid});
    }
    return false;
  }

  // x * (erf(x / sqrt 2) + 1) * 0.5, with the half at either end.
  bool Gelu(size_t l) {
    if (At(l).op != "Erf") return false;
    std::optional<size_t> scale = OnlyFor(At(l).inputs[0], "Div");
    if (!scale) scale = OnlyFor(At(l).inputs[0], "Mul");
    const auto add = OnlyReader(l, "Add");
    if (!scale || !add || !IsNumber(Other(*add, At(l).outputs[0]))) return false;
    const ValueId x = IsNumber(At(*scale).inputs[0]) ? At(*scale).inputs[1] : At(*scale).inputs[0];
    const auto times = OnlyReader(*add, "Mul");
    if (!times) return false;
    const ValueId other = Other(*times, At(*add).outputs[0]);
    if (other == x) {
      const auto half = OnlyReader(*times, "Mul");
      if (!half || !IsNumber(Other(*half, At(*times).outputs[0]))) return false;
      return Replace(*half, "com.microsoft.Gelu", {x}, {*scale, l, *add, *times});
    }
    const auto half = OnlyFor(other, "Mul");
    if (!half || (At(*half).inputs[0] != x && At(*half).inputs[1] != x)) return false;
    return Replace(*times, "com.microsoft.Gelu", {x}, {*scale, l, *add, *half});
  }

  bool ScaledMatMul(size_t l) {
    if (At(l).op != "MatMul" && At(l).op != "com.microsoft.FusedMatMul") return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const ValueId operand = At(l).inputs[i];
      for (const char* op : {"Mul", "Div", "Transpose"}) {
        const auto before = OnlyFor(operand, op);
        if (!before) continue;
        const Layer& layer = At(*before);
        const bool scales = layer.inputs.size() == 2 && IsNumber(layer.inputs[1]);
        if (!scales && !(layer.op == "Transpose" && SwapsLastTwo(layer))) continue;
        std::vector<ValueId> inputs = At(l).inputs;
        inputs[i] = layer.inputs[0];
        return Replace(l, "com.microsoft.FusedMatMul", inputs, {*before});
      }
    }
    for (const char* op : {"Mul", "Div"}) {
      const auto after = OnlyReader(l, op);
      if (!after || !IsNumber(Other(*after, At(l).outputs[0])) || At(*after).inputs[0] != At(l).outputs[0]) continue;
      return Replace(*after, "com.microsoft.FusedMatMul", At(l).inputs, {l});
    }
    return false;
  }
  static bool SwapsLastTwo(const Layer& transpose) {
    const std::vector<int64_t> perm = transpose.attributes.Ints("perm");
    const auto rank = static_cast<int64_t>(perm.size());
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t from = i < rank - 2 ? i : 2 * rank - 3 - i;
      if (perm[static_cast<size_t>(i)] != from) return false;
    }
    return rank >= 2;
  }

  bool SkipLayerNorm(size_t l) {
    if (At(l).op != "LayerNormalization") return false;
    const auto add = OnlyFor(At(l).inputs[0], "Add");
    if (!add) return false;
    const auto [x, skip] = std::pair(At(*add).inputs[0], At(*add).inputs[1]);
    if (IsStored(x) || IsStored(skip) || !(graph_[x].shape == graph_[skip].shape)) return false;
    std::vector<ValueId> inputs = {x, skip};
    inputs.insert(inputs.end(), At(l).inputs.begin() + 1, At(l).inputs.end());
    return Replace(l, "com.microsoft.SkipLayerNormalization", inputs, {*add});
  }

  // Only the living, and the weights that they read.
  void Sweep() {
    Index();
    std::vector<Layer> living;
    for (size_t l = 0; l < graph_.layers.size(); ++l) {
      if (!dead_[l]) living.push_back(std::move(graph_.layers[l]));
    }
    graph_.layers = std::move(living);
    std::erase_if(graph_.parameters, [&](ValueId id) { return uses_->ReadersOf(id).empty(); });
  }

  Layers& graph_;
  std::vector<bool> dead_;    // by layer
  std::optional<Uses> uses_;  // of the living
};

}  // namespace

void Fuse(Layers* given) { Fuser(given).Run(); }

}  // namespace vramplan
