#include "planner/solver/time_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "graph/layers/trained.h"
#include "planner/semantics/optimizer_rows.h"
#include "planner/semantics/table.h"

namespace vramplan {
namespace {

using eager::Cast;

double Elements(const Layers& layers, ValueId id, int64_t batch) {
  if (!id.valid()) return 0;
  const Dim elements = layers[id].shape.Elements();
  return elements.known() ? static_cast<double>(elements.At(batch)) : 0;
}

double Length(Dim dim, int64_t batch) { return dim.known() ? static_cast<double>(dim.At(batch)) : 0; }

double LastLength(const Layers& layers, ValueId id, int64_t batch) {
  return id.valid() && layers[id].shape.rank() > 0 ? Length(layers[id].shape.FromEnd(1), batch) : 0;
}

// Elements of a filter that one output (of a transposed convolution: one input) meets.
double PerOutput(const Layers& layers, ValueId weight, int64_t batch) {
  const Shape& shape = layers[weight].shape;
  return shape.rank() > 0 ? Elements(layers, weight, batch) / std::max(1.0, Length(shape[0], batch)) : 0;
}

// Bytes of a floating element that is not under autocast.
double ModelWidth(Precision precision) {
  if (precision == Precision::kFp64) return 8;
  return precision == Precision::kFp16 || precision == Precision::kBf16 ? 2 : 4;
}

// Widths of all values under the spec: autocast's lower operators make halves, its fp32 operators floats, the others
// what they are given.
class Widths {
 public:
  Widths(const Layers& layers, const TrainingSpec& spec)
      : amp_(IsAutocast(spec.precision)), model_(ModelWidth(spec.precision)) {
    for (const Value& value : layers.values)
      widths_.push_back(IsFloating(value.type) ? model_ : BitWidth(value.type) / 8.0);
  }
  double operator[](ValueId id) const { return widths_[static_cast<size_t>(id.value)]; }
  // Puts the outputs' widths down; the width in which the layer computes.
  double Run(const Layers& layers, const Layer& layer) {
    double width = model_;
    if (amp_) {
      const eager::OpRule* rule = eager::FindRule(layer.op);
      const Cast cast = rule != nullptr ? rule->cast : Cast::kNone;
      if (cast == Cast::kLower) {
        width = 2;
      } else if (cast != Cast::kFloat32) {
        double widest = 0;
        for (const ValueId id : layer.inputs) {
          const bool made = id.valid() && layers[id].role == Role::kActivation && IsFloating(layers[id].type);
          if (made) widest = std::max(widest, (*this)[id]);
        }
        if (widest > 0) width = widest;
      }
    }
    for (const ValueId id : layer.outputs) {
      if (id.valid() && IsFloating(layers[id].type)) widths_[static_cast<size_t>(id.value)] = width;
    }
    return width;
  }

 private:
  bool amp_;
  double model_;
  std::vector<double> widths_;
};

// How many of two backward products each layer computes. Where everything is trained that is not asked: two.
class Gradients {
 public:
  explicit Gradients(const Layers& layers) : layers_(layers), tracked_(layers.values.size()) {
    for (const ValueId id : layers.parameters) {
      some_frozen_ = some_frozen_ || !IsTrained(layers, id);
      tracked_[static_cast<size_t>(id.value)] = IsTrained(layers, id);
    }
  }
  int Run(const Layer& layer) {
    if (!some_frozen_) return 2;
    bool tracked = false, weighed = false, trained = false;
    for (const ValueId id : layer.inputs) {
      if (!id.valid()) continue;
      tracked = tracked || tracked_[static_cast<size_t>(id.value)];
      weighed = weighed || IsStored(layers_[id]);
      trained = trained || layers_[id].role == Role::kParameter;
    }
    for (const ValueId id : layer.outputs) {
      if (id.valid()) tracked_[static_cast<size_t>(id.value)] = tracked && IsFloating(layers_[id].type);
    }
    return !tracked ? 0 : weighed && !trained ? 1 : 2;
  }

 private:
  const Layers& layers_;
  bool some_frozen_ = false;
  std::vector<bool> tracked_;  // by value: on the tape
};

// Lookups read the rows that they return, not the table.
bool ReadsRows(const Layer& layer) {
  constexpr std::array<std::string_view, 4> kLookups = {"embedding", "gather", "index_select", "index"};
  return std::find(kLookups.begin(), kLookups.end(), layer.op) != kLookups.end();
}

double BytesMoved(const Layers& layers, const Layer& layer, const Widths& widths, bool casts, int64_t batch) {
  double written = 0, read = 0;
  for (const ValueId id : layer.outputs) {
    if (id.valid()) written += Elements(layers, id, batch) * widths[id];
  }
  if (ReadsRows(layer)) return 2 * written;
  for (const ValueId id : layer.inputs) {
    if (!id.valid()) continue;
    const double elements = Elements(layers, id, batch);
    read += elements * widths[id];
    // Autocast's copy of a weight: written and read as halves.
    if (casts && IsStored(layers[id])) read += elements * 4;
  }
  return read + written;
}

double FlopRate(const TrainingSpec& spec, const Rates& rates, double width) {
  if (width <= 2) return std::max(rates.half, rates.fp32);
  // TF32 runs at half the rate of fp16 on tensor cores (NVIDIA A100 and GA102 whitepapers), from capability 8.0 on.
  if (spec.precision == Precision::kTf32 && spec.capability >= Capability{8, 0}) {
    return std::max(rates.half / 2, rates.fp32);
  }
  return rates.fp32;
}

// Passes over the parameters' bytes in one step. Fused, and at the least: parameter, gradient and state read, parameter
// and state written. Adam's foreach walks memory once an operation: lerp 3, mul 2, addcmul 3, sqrt 2, div 2, add 2,
// addcdiv 4 (torch/optim/adam.py, _multi_tensor_adam, PyTorch 2.10).
double UpdatePasses(const TrainingSpec& spec) {
  const eager::OptimizerRow* row = eager::FindOptimizer(spec.optimizer);
  if (row == nullptr) return 0;
  const bool adam = spec.optimizer == Optimizer::kAdam || spec.optimizer == Optimizer::kAdamW;
  if (adam && spec.optimizer_impl != OptimizerImpl::kFused) return spec.weight_decay > 0 ? 20 : 18;
  return 3 + 2 * row->states;
}

}  // namespace

Rates RatesOf(const Card& card, bool* known) {
  const bool complete = card.bandwidth_gb_s > 0 && card.fp32_tflops > 0;
  if (known != nullptr) *known = complete;
  if (complete) return {card.bandwidth_gb_s * 1e9, card.fp32_tflops * 1e12, card.half_tflops * 1e12};
  const Result<Card> t4 = FindCard("t4");
  return {t4->bandwidth_gb_s * 1e9, t4->fp32_tflops * 1e12, t4->half_tflops * 1e12};
}

bool IsView(const Layer& layer) {
  constexpr std::array<std::string_view, 13> kViews = {"view",   "reshape", "permute",   "transpose", "expand",
                                                       "slice",  "select",  "diagonal",  "unsqueeze", "squeeze",
                                                       "unbind", "split",   "contiguous"};
  return std::find(kViews.begin(), kViews.end(), layer.op) != kViews.end();
}

double FlopsOf(const Layers& layers, const Layer& layer, int64_t batch) {
  const std::string_view op = layer.op;
  const auto in = [&](size_t i) { return i < layer.inputs.size() ? layer.inputs[i] : ValueId(); };
  const ValueId out = layer.outputs.empty() ? ValueId() : layer.outputs[0];
  if (op.starts_with("conv_transpose")) return 2 * Elements(layers, in(0), batch) * PerOutput(layers, in(1), batch);
  if (op.starts_with("conv")) return 2 * Elements(layers, out, batch) * PerOutput(layers, in(1), batch);
  if (op == "linear") return 2 * Elements(layers, out, batch) * LastLength(layers, in(1), batch);
  if (op == "linear_4bit" || op == "linear_8bit")
    return 2 * Elements(layers, out, batch) * static_cast<double>(layer.attributes.Int("in", 1));
  if (op == "liger_linear_cross_entropy")  // its gradients are two products more, in the forward
    return 2 * Elements(layers, in(0), batch) * Length(layers[in(1)].shape[0], batch);
  if (op == "addmm") return 2 * Elements(layers, out, batch) * LastLength(layers, in(1), batch);
  if (op == "mm" || op == "bmm" || op == "matmul")
    return 2 * Elements(layers, out, batch) * LastLength(layers, in(0), batch);
  if (op == "einsum" && in(1).valid()) {  // of a product of matrices M x K and K x N: 2 M N K
    return 2 *
           std::sqrt(Elements(layers, in(0), batch) * Elements(layers, in(1), batch) * Elements(layers, out, batch));
  }
  if (op == "scaled_dot_product_attention" && in(1).valid() && layers[in(1)].shape.rank() >= 2) {
    return 4 * Elements(layers, in(0), batch) * Length(layers[in(1)].shape.FromEnd(2), batch);
  }
  if (op == "lstm" || op == "gru" || op == "rnn") {
    double weights = 0;
    for (const ValueId id : layer.inputs) {
      if (id.valid() && IsStored(layers[id])) weights += Elements(layers, id, batch);
    }
    return 2 * weights * Elements(layers, out, batch) / std::max(1.0, LastLength(layers, out, batch));
  }
  return 0;
}

StepTime EstimateTime(const Layers& layers, const TrainingSpec& spec, const Rates& rates, int64_t batch) {
  StepTime time;
  Gradients gradients(layers);
  Widths widths(layers, spec);
  for (const Layer& layer : layers.layers) {
    const double of_values = widths.Run(layers, layer);
    const double width = layer.op == "linear_4bit" || layer.op == "linear_8bit" ? 2 : of_values;  // products in halves
    double seconds = 0;
    if (!IsView(layer)) {
      const bool casts = IsAutocast(spec.precision) && width == 2;
      seconds = std::max(FlopsOf(layers, layer, batch) / FlopRate(spec, rates, width),
                         BytesMoved(layers, layer, widths, casts, batch) / rates.bandwidth);
    }
    time.forward.push_back(seconds);
    time.forward_total += seconds;
    time.backward.push_back(gradients.Run(layer) * seconds);
    time.backward_total += time.backward.back();
  }
  double parameters = 0;
  for (const ValueId id : layers.parameters) {
    if (IsTrained(layers, id)) parameters += Elements(layers, id, 1) * ModelWidth(spec.precision);
  }
  time.update = UpdatePasses(spec) * parameters / rates.bandwidth;
  return time;
}

}  // namespace vramplan
