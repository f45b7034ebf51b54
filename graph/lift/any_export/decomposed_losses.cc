#include "graph/lift/any_export/decomposed_losses.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

// A loss of each element, or of each sample.
struct Loss {
  std::string op;
  std::vector<ValueId> inputs;
  bool log_target = false;
};

// 1 - t, as either exporter writes it: its t.
ValueId Complement(const Layer* layer) {
  if (layer == nullptr || layer->inputs.empty()) return {};
  if (layer->op == "rsub") return Uses::In(layer, 0);
  return layer->op == "sub" && !Uses::In(layer, 0).valid() ? Uses::In(layer, 1) : ValueId{};
}

std::optional<Loss> BceLogits(const Uses& uses, const Layer& sub) {
  if (sub.op != "sub") return std::nullopt;
  const Layer* product = uses.Operand(&sub, 0, "mul");
  const Layer* log = uses.Operand(&sub, 1, "log_sigmoid");
  ValueId positive;
  if (const Layer* weighted = uses.Operand(&sub, 1, "mul"); weighted != nullptr) {
    const Layer* factor = uses.Operand(uses.Operand(weighted, 0, "add"), 0, "mul");
    log = uses.Operand(weighted, 1, "log_sigmoid");
    if (factor == nullptr || log == nullptr) return std::nullopt;
    const Layer* less = uses.Operand(factor, 0, "sub");
    positive = less != nullptr ? Uses::In(less, 0) : Uses::In(factor, 0);
  }
  const Layer* complement = uses.Operand(product, 0, "sub");
  if (log == nullptr || complement == nullptr || Uses::In(complement, 0).valid()) return std::nullopt;
  if (Uses::In(product, 1) != Uses::In(log, 0)) return std::nullopt;
  return Loss{"bce_logits", {Uses::In(log, 0), Uses::In(complement, 1), {}, positive}};
}

// The TorchScript exporter's: of the two products one has log(s), the other log(1 - s).
std::optional<Loss> BceLogitsOfSigmoid(const Uses& uses, const Layer& neg) {
  const Layer* sum = neg.op == "neg" ? uses.Operand(&neg, 0, "add") : nullptr;
  const Layer *hit = uses.Operand(sum, 0, "mul"), *miss = uses.Operand(sum, 1, "mul");
  ValueId positive;
  if (uses.Operand(hit, 1, "log") == nullptr && uses.Operand(hit, 0, "mul") != nullptr) {
    positive = Uses::In(hit, 1);
    hit = uses.Operand(hit, 0, "mul");
  }
  const Layer* sigmoid = uses.Operand(uses.Operand(hit, 1, "log"), 0, "sigmoid");
  const Layer* log_miss = uses.Operand(miss, 1, "log");
  if (sigmoid == nullptr || log_miss == nullptr) return std::nullopt;
  const ValueId target = Uses::In(hit, 0), other = Complement(uses.MakerOf(Uses::In(miss, 0)));
  if (Complement(uses.MakerOf(Uses::In(log_miss, 0))) != sigmoid->outputs[0] || other != target) return std::nullopt;
  return Loss{"bce_logits", {Uses::In(sigmoid, 0), target, {}, positive}};
}

// huber_loss and smooth_l1_loss.
std::optional<Loss> Bent(const Uses& uses, const Layer& where) {
  if (where.op != "where") return std::nullopt;
  const Layer* magnitude = uses.Operand(uses.Operand(&where, 0, "lt"), 0, "abs");
  const Layer* difference = uses.Operand(magnitude, 0, "sub");
  if (difference == nullptr || !Uses::In(difference, 0).valid() || !Uses::In(difference, 1).valid())
    return std::nullopt;
  const ValueId a = magnitude->outputs[0];
  const Layer* linear = uses.Operand(&where, 2, "sub");
  const Layer* square = uses.Operand(uses.Operand(uses.Operand(&where, 1, "div"), 0, "mul"), 0, "pow");
  if (linear != nullptr && square != nullptr && Uses::In(square, 0) == a && Uses::In(linear, 0) == a)
    return Loss{"smooth_l1_loss", {Uses::In(difference, 0), Uses::In(difference, 1)}};
  const Layer* scaled = uses.Operand(&where, 2, "mul");
  const Layer* product = uses.Operand(&where, 1, "mul");
  if (uses.Operand(scaled, 0, "sub") == nullptr || Uses::In(product, 1) != a) return std::nullopt;
  return Loss{"huber_loss", {Uses::In(difference, 0), Uses::In(difference, 1)}};
}

std::optional<Loss> Bce(const Uses& uses, const Layer& sub) {
  if (sub.op != "sub") return std::nullopt;
  const Layer *miss = uses.Operand(&sub, 0, "mul"), *hit = uses.Operand(&sub, 1, "mul");
  const Layer* log = uses.Operand(uses.Operand(hit, 1, "maximum"), 0, "log");
  const Layer* negative = uses.Operand(uses.Operand(uses.Operand(miss, 1, "maximum"), 0, "log1p"), 0, "neg");
  if (log == nullptr || negative == nullptr || Uses::In(negative, 0) != Uses::In(log, 0)) return std::nullopt;
  return Loss{"bce", {Uses::In(log, 0), Uses::In(hit, 0)}};
}

std::optional<Loss> KlDiv(const Uses& uses, const Layer& root) {
  if (root.op == "sub") {
    const Layer *entropy = uses.Operand(&root, 0, "xlogy"), *cross = uses.Operand(&root, 1, "mul");
    if (entropy == nullptr || Uses::In(entropy, 0) != Uses::In(entropy, 1) ||
        Uses::In(cross, 0) != Uses::In(entropy, 0))
      return std::nullopt;
    return Loss{"kl_div", {Uses::In(cross, 1), Uses::In(cross, 0)}};
  }
  if (root.op == "mul") {  // of log targets
    const Layer *exponential = uses.Operand(&root, 0, "exp"), *difference = uses.Operand(&root, 1, "sub");
    if (exponential == nullptr || Uses::In(difference, 0) != Uses::In(exponential, 0)) return std::nullopt;
    if (!Uses::In(difference, 1).valid()) return std::nullopt;
    return Loss{"kl_div", {Uses::In(difference, 1), Uses::In(difference, 0)}, true};
  }
  if (root.op != "where") return std::nullopt;
  const Layer *positive = uses.Operand(&root, 0, "gt"), *product = uses.Operand(&root, 1, "mul");
  const Layer* difference = uses.Operand(product, 1, "sub");
  const Layer* log = uses.Operand(difference, 0, "log");
  const ValueId target = Uses::In(product, 0);
  if (log == nullptr || positive == nullptr || Uses::In(log, 0) != target || Uses::In(positive, 0) != target)
    return std::nullopt;
  return Loss{"kl_div", {Uses::In(difference, 1), target}};
}

std::optional<Loss> SoftMargin(const Uses& uses, const Layer& log1p) {
  const Layer* product = log1p.op == "log1p" ? uses.Operand(uses.Operand(&log1p, 0, "exp"), 0, "mul") : nullptr;
  const Layer* negative = uses.Operand(product, 0, "neg");
  if (negative == nullptr || !Uses::In(product, 1).valid()) return std::nullopt;
  return Loss{"soft_margin_loss", {Uses::In(negative, 0), Uses::In(product, 1)}};
}

std::optional<Loss> PoissonNll(const Uses& uses, const Layer& sub) {
  if (sub.op != "sub") return std::nullopt;
  const Layer *rate = uses.Operand(&sub, 0, "exp"), *product = uses.Operand(&sub, 1, "mul");
  if (rate == nullptr || Uses::In(product, 1) != Uses::In(rate, 0) || !Uses::In(product, 0).valid())
    return std::nullopt;
  return Loss{"poisson_nll_loss", {Uses::In(rate, 0), Uses::In(product, 0)}};
}

std::optional<Loss> HingeEmbedding(const Uses& uses, const Layer& add) {
  if (add.op != "add") return std::nullopt;
  const Layer *near = uses.Operand(&add, 0, "where"), *far = uses.Operand(&add, 1, "where");
  const Layer *not_far = uses.Operand(near, 0, "ne"), *not_near = uses.Operand(far, 0, "ne");
  const Layer* margin = uses.Operand(uses.Operand(near, 1, "clamp"), 0, "sub");
  const ValueId input = Uses::In(far, 1);
  if (margin == nullptr || not_far == nullptr || Uses::In(not_far, 0) != Uses::In(not_near, 0)) return std::nullopt;
  if (Uses::In(margin, 1) != input || uses.Operand(near, 2, "zeros") == nullptr) return std::nullopt;
  return Loss{"hinge_embedding_loss", {input, Uses::In(not_far, 0)}};
}

std::optional<Loss> MarginRanking(const Uses& uses, const Layer& clamp) {
  if (clamp.op != "clamp") return std::nullopt;
  const Layer* margin = uses.Operand(&clamp, 0, "add");
  const Layer* product = uses.Operand(margin, 0, "mul");
  const Layer *negative = uses.Operand(product, 0, "neg"), *difference = uses.Operand(product, 1, "sub");
  if (negative == nullptr || Uses::In(margin, 1).valid() || !Uses::In(difference, 0).valid() ||
      !Uses::In(difference, 1).valid())
    return std::nullopt;
  return Loss{"margin_ranking_loss", {Uses::In(difference, 0), Uses::In(difference, 1), Uses::In(negative, 0)}};
}

std::optional<Loss> MultiMargin(const Uses& uses, const Layer& where) {
  const Layer* other = where.op == "where" ? uses.Operand(&where, 0, "ne") : nullptr;
  const Layer* sum = uses.Operand(uses.Operand(&where, 1, "clamp"), 0, "add");
  const Layer* gathered = uses.MakerOf(Complement(uses.MakerOf(Uses::In(sum, 0))));
  if (gathered == nullptr || gathered->op != "gather" || other == nullptr) return std::nullopt;
  if (Uses::In(sum, 1) != Uses::In(gathered, 0) || Uses::In(gathered, 1) != Uses::In(other, 1)) return std::nullopt;
  return Loss{"multi_margin_loss", {Uses::In(sum, 1), uses.BehindViews(Uses::In(gathered, 1))}};
}

std::optional<Loss> MultilabelMargin(const Uses& uses, const Layer& sum) {
  const Layer* where = sum.op == "sum" ? uses.Operand(&sum, 0, "where") : nullptr;
  const Layer* wide = uses.Operand(uses.Operand(uses.Operand(where, 2, "div"), 0, "clamp"), 0, "add");
  const Layer* permuted = uses.MakerOf(uses.BehindViews(Complement(uses.MakerOf(Uses::In(wide, 0)))));
  const Layer* gathered =
      permuted != nullptr && permuted->op == "permute" ? uses.Operand(permuted, 0, "gather") : nullptr;
  const Layer* number = uses.Operand(gathered, 1, "where");
  if (number == nullptr || uses.Operand(where, 0, "any") == nullptr || Uses::In(wide, 1) != Uses::In(gathered, 0))
    return std::nullopt;
  return Loss{"multilabel_margin_loss", {Uses::In(wide, 1), Uses::In(number, 1)}};
}

// A loss for each sample; with weights of the classes the weighted probabilities are gathered.
std::optional<Loss> Nll(const Uses& uses, const Layer& chosen) {
  const Layer* negative = chosen.op == "where" ? uses.Operand(&chosen, 1, "neg") : nullptr;
  const Layer* gathered = uses.Operand(uses.Operand(negative, 0, "squeeze"), 0, "gather");
  const Layer* number = uses.Operand(uses.Operand(gathered, 1, "unsqueeze"), 0, "where");
  const Layer* counted = uses.Operand(number, 0, "ne");
  if (counted == nullptr || Uses::In(number, 1) != Uses::In(counted, 0)) return std::nullopt;
  Loss loss{"nll_loss", {Uses::In(gathered, 0), Uses::In(counted, 0)}};
  const Layer* weighted = uses.Operand(gathered, 0, "mul");
  const ValueId weight = uses.BehindViews(Uses::In(weighted, 1));
  if (uses.IsStored(weight)) loss.inputs = {Uses::In(weighted, 0), Uses::In(counted, 0), weight};
  return loss;
}

// kl_div's batchmean and others divide behind the call.
bool IsWhole(const Layer* layer, std::string_view op) {
  return layer != nullptr && layer->op == op && layer->outputs.size() == 1 && layer->attributes.Ints("dim").empty();
}

std::optional<Loss> LossOf(const Uses& uses, const Layer& layer) {
  for (const auto& match : {BceLogits, BceLogitsOfSigmoid, Bent, Bce, KlDiv, SoftMargin, PoissonNll, HingeEmbedding,
                            MarginRanking, MultiMargin, MultilabelMargin, Nll}) {
    std::optional<Loss> loss = match(uses, layer);
    if (!loss) continue;
    const bool whole = loss->inputs.size() >= 2 && loss->inputs[0].valid() && loss->inputs[1].valid();
    return whole ? loss : std::nullopt;
  }
  return std::nullopt;
}

// A TorchScript file does not tell weights of a loss from parameters.
void MakeBuffer(Layers* layers, ValueId id) {
  const auto found = std::find(layers->parameters.begin(), layers->parameters.end(), id);
  if (found == layers->parameters.end()) return;
  layers->parameters.erase(found);
  layers->buffers.push_back(id);
  layers->values[static_cast<size_t>(id.value)].role = Role::kBuffer;
}

}  // namespace

void GatherDecomposedLosses(Layers* layers) {
  const Uses uses(*layers);
  std::map<size_t, Layer> calls;  // by the place of their last layer
  std::vector<ValueId> weights;
  for (const Layer& layer : layers->layers) {
    if (layer.outputs.size() != 1) continue;
    std::optional<Loss> loss = LossOf(uses, layer);
    if (!loss) continue;
    const Layer* last = &layer;
    std::string reduction = "none";
    const Layer* reader = uses.OnlyReaderOf(last->outputs[0]);
    if (reader != nullptr && reader->op == "mul" && (loss->op == "bce_logits" || loss->op == "bce")) {
      const ValueId weight = Uses::In(reader, Uses::In(reader, 0) == last->outputs[0] ? 1 : 0);
      const ValueId root = uses.BehindViews(weight);
      const bool parameter =
          root.valid() && layer.evidence != Evidence::kProvenance && (*layers)[root].role == Role::kParameter;
      if (parameter) weights.push_back(root);
      if (parameter || uses.IsStored(root)) {
        loss->inputs.resize(std::max<size_t>(loss->inputs.size(), 3));
        loss->inputs[2] = weight;
        last = reader;
        reader = uses.OnlyReaderOf(last->outputs[0]);
      }
    }
    if (IsWhole(reader, "mean") || IsWhole(reader, "sum")) {
      reduction = reader->op;
      last = reader;
      reader = uses.OnlyReaderOf(last->outputs[0]);
      const bool nll_mean = loss->op == "nll_loss" && reduction == "sum" && reader != nullptr && reader->op == "div" &&
                            uses.MakerOf(Uses::In(reader, 1)) != nullptr;
      if (nll_mean) {
        reduction = "mean";
        last = reader;
      }
    }
    if (loss->op == "bce_logits" && loss->inputs.size() == 4 && layer.evidence != Evidence::kProvenance)
      weights.push_back(uses.BehindViews(loss->inputs[3]));
    Layer call{.op = loss->op, .name = last->name, .inputs = std::move(loss->inputs), .outputs = last->outputs};
    while (!call.inputs.back().valid()) call.inputs.pop_back();
    if (reduction != "mean") call.attributes.Set("reduction", reduction);
    if (loss->log_target) call.attributes.Set("log_target", int64_t{1});
    call.module = last->module;
    call.nodes = last->nodes;
    call.evidence = last->evidence;
    calls.emplace(uses.PlaceOf(last), std::move(call));
  }
  PutCalls(layers, std::move(calls));
  for (const ValueId id : weights) MakeBuffer(layers, id);
}

}  // namespace vramplan
