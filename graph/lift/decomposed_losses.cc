#include "graph/lift/decomposed_losses.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "graph/lift/walk.h"

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
  if (layer->op == "rsub") return Walk::In(layer, 0);
  return layer->op == "sub" && !Walk::In(layer, 0).valid() ? Walk::In(layer, 1) : ValueId{};
}

std::optional<Loss> BceLogits(const Walk& walk, const Layer& sub) {
  if (sub.op != "sub") return std::nullopt;
  const Layer* product = walk.Operand(&sub, 0, "mul");
  const Layer* log = walk.Operand(&sub, 1, "log_sigmoid");
  ValueId positive;
  if (const Layer* weighted = walk.Operand(&sub, 1, "mul"); weighted != nullptr) {
    const Layer* factor = walk.Operand(walk.Operand(weighted, 0, "add"), 0, "mul");
    log = walk.Operand(weighted, 1, "log_sigmoid");
    if (factor == nullptr || log == nullptr) return std::nullopt;
    const Layer* less = walk.Operand(factor, 0, "sub");
    positive = less != nullptr ? Walk::In(less, 0) : Walk::In(factor, 0);
  }
  const Layer* complement = walk.Operand(product, 0, "sub");
  if (log == nullptr || complement == nullptr || Walk::In(complement, 0).valid()) return std::nullopt;
  if (Walk::In(product, 1) != Walk::In(log, 0)) return std::nullopt;
  return Loss{"bce_logits", {Walk::In(log, 0), Walk::In(complement, 1), {}, positive}};
}

// The TorchScript exporter's: of the two products one has log(s), the other log(1 - s).
std::optional<Loss> BceLogitsOfSigmoid(const Walk& walk, const Layer& neg) {
  const Layer* sum = neg.op == "neg" ? walk.Operand(&neg, 0, "add") : nullptr;
  const Layer *hit = walk.Operand(sum, 0, "mul"), *miss = walk.Operand(sum, 1, "mul");
  ValueId positive;
  if (walk.Operand(hit, 1, "log") == nullptr && walk.Operand(hit, 0, "mul") != nullptr) {
    positive = Walk::In(hit, 1);
    hit = walk.Operand(hit, 0, "mul");
  }
  const Layer* sigmoid = walk.Operand(walk.Operand(hit, 1, "log"), 0, "sigmoid");
  const Layer* log_miss = walk.Operand(miss, 1, "log");
  if (sigmoid == nullptr || log_miss == nullptr) return std::nullopt;
  const ValueId target = Walk::In(hit, 0), other = Complement(walk.MakerOf(Walk::In(miss, 0)));
  if (Complement(walk.MakerOf(Walk::In(log_miss, 0))) != sigmoid->outputs[0] || other != target) return std::nullopt;
  return Loss{"bce_logits", {Walk::In(sigmoid, 0), target, {}, positive}};
}

// huber_loss and smooth_l1_loss.
std::optional<Loss> Bent(const Walk& walk, const Layer& where) {
  if (where.op != "where") return std::nullopt;
  const Layer* magnitude = walk.Operand(walk.Operand(&where, 0, "lt"), 0, "abs");
  const Layer* difference = walk.Operand(magnitude, 0, "sub");
  if (difference == nullptr || !Walk::In(difference, 0).valid() || !Walk::In(difference, 1).valid())
    return std::nullopt;
  const ValueId a = magnitude->outputs[0];
  const Layer* linear = walk.Operand(&where, 2, "sub");
  const Layer* square = walk.Operand(walk.Operand(walk.Operand(&where, 1, "div"), 0, "mul"), 0, "pow");
  if (linear != nullptr && square != nullptr && Walk::In(square, 0) == a && Walk::In(linear, 0) == a)
    return Loss{"smooth_l1_loss", {Walk::In(difference, 0), Walk::In(difference, 1)}};
  const Layer* scaled = walk.Operand(&where, 2, "mul");
  const Layer* product = walk.Operand(&where, 1, "mul");
  if (walk.Operand(scaled, 0, "sub") == nullptr || Walk::In(product, 1) != a) return std::nullopt;
  return Loss{"huber_loss", {Walk::In(difference, 0), Walk::In(difference, 1)}};
}

std::optional<Loss> Bce(const Walk& walk, const Layer& sub) {
  if (sub.op != "sub") return std::nullopt;
  const Layer *miss = walk.Operand(&sub, 0, "mul"), *hit = walk.Operand(&sub, 1, "mul");
  const Layer* log = walk.Operand(walk.Operand(hit, 1, "maximum"), 0, "log");
  const Layer* negative = walk.Operand(walk.Operand(walk.Operand(miss, 1, "maximum"), 0, "log1p"), 0, "neg");
  if (log == nullptr || negative == nullptr || Walk::In(negative, 0) != Walk::In(log, 0)) return std::nullopt;
  return Loss{"bce", {Walk::In(log, 0), Walk::In(hit, 0)}};
}

std::optional<Loss> KlDiv(const Walk& walk, const Layer& root) {
  if (root.op == "sub") {
    const Layer *entropy = walk.Operand(&root, 0, "xlogy"), *cross = walk.Operand(&root, 1, "mul");
    if (entropy == nullptr || Walk::In(entropy, 0) != Walk::In(entropy, 1) ||
        Walk::In(cross, 0) != Walk::In(entropy, 0))
      return std::nullopt;
    return Loss{"kl_div", {Walk::In(cross, 1), Walk::In(cross, 0)}};
  }
  if (root.op == "mul") {  // of log targets
    const Layer *exponential = walk.Operand(&root, 0, "exp"), *difference = walk.Operand(&root, 1, "sub");
    if (exponential == nullptr || Walk::In(difference, 0) != Walk::In(exponential, 0)) return std::nullopt;
    if (!Walk::In(difference, 1).valid()) return std::nullopt;
    return Loss{"kl_div", {Walk::In(difference, 1), Walk::In(difference, 0)}, true};
  }
  if (root.op != "where") return std::nullopt;
  const Layer *positive = walk.Operand(&root, 0, "gt"), *product = walk.Operand(&root, 1, "mul");
  const Layer* difference = walk.Operand(product, 1, "sub");
  const Layer* log = walk.Operand(difference, 0, "log");
  const ValueId target = Walk::In(product, 0);
  if (log == nullptr || positive == nullptr || Walk::In(log, 0) != target || Walk::In(positive, 0) != target)
    return std::nullopt;
  return Loss{"kl_div", {Walk::In(difference, 1), target}};
}

std::optional<Loss> SoftMargin(const Walk& walk, const Layer& log1p) {
  const Layer* product = log1p.op == "log1p" ? walk.Operand(walk.Operand(&log1p, 0, "exp"), 0, "mul") : nullptr;
  const Layer* negative = walk.Operand(product, 0, "neg");
  if (negative == nullptr || !Walk::In(product, 1).valid()) return std::nullopt;
  return Loss{"soft_margin_loss", {Walk::In(negative, 0), Walk::In(product, 1)}};
}

std::optional<Loss> PoissonNll(const Walk& walk, const Layer& sub) {
  if (sub.op != "sub") return std::nullopt;
  const Layer *rate = walk.Operand(&sub, 0, "exp"), *product = walk.Operand(&sub, 1, "mul");
  if (rate == nullptr || Walk::In(product, 1) != Walk::In(rate, 0) || !Walk::In(product, 0).valid())
    return std::nullopt;
  return Loss{"poisson_nll_loss", {Walk::In(rate, 0), Walk::In(product, 0)}};
}

std::optional<Loss> HingeEmbedding(const Walk& walk, const Layer& add) {
  if (add.op != "add") return std::nullopt;
  const Layer *near = walk.Operand(&add, 0, "where"), *far = walk.Operand(&add, 1, "where");
  const Layer *not_far = walk.Operand(near, 0, "ne"), *not_near = walk.Operand(far, 0, "ne");
  const Layer* margin = walk.Operand(walk.Operand(near, 1, "clamp"), 0, "sub");
  const ValueId input = Walk::In(far, 1);
  if (margin == nullptr || not_far == nullptr || Walk::In(not_far, 0) != Walk::In(not_near, 0)) return std::nullopt;
  if (Walk::In(margin, 1) != input || walk.Operand(near, 2, "zeros") == nullptr) return std::nullopt;
  return Loss{"hinge_embedding_loss", {input, Walk::In(not_far, 0)}};
}

std::optional<Loss> MarginRanking(const Walk& walk, const Layer& clamp) {
  if (clamp.op != "clamp") return std::nullopt;
  const Layer* margin = walk.Operand(&clamp, 0, "add");
  const Layer* product = walk.Operand(margin, 0, "mul");
  const Layer *negative = walk.Operand(product, 0, "neg"), *difference = walk.Operand(product, 1, "sub");
  if (negative == nullptr || Walk::In(margin, 1).valid() || !Walk::In(difference, 0).valid() ||
      !Walk::In(difference, 1).valid())
    return std::nullopt;
  return Loss{"margin_ranking_loss", {Walk::In(difference, 0), Walk::In(difference, 1), Walk::In(negative, 0)}};
}

std::optional<Loss> MultiMargin(const Walk& walk, const Layer& where) {
  const Layer* other = where.op == "where" ? walk.Operand(&where, 0, "ne") : nullptr;
  const Layer* sum = walk.Operand(walk.Operand(&where, 1, "clamp"), 0, "add");
  const Layer* gathered = walk.MakerOf(Complement(walk.MakerOf(Walk::In(sum, 0))));
  if (gathered == nullptr || gathered->op != "gather" || other == nullptr) return std::nullopt;
  if (Walk::In(sum, 1) != Walk::In(gathered, 0) || Walk::In(gathered, 1) != Walk::In(other, 1)) return std::nullopt;
  return Loss{"multi_margin_loss", {Walk::In(sum, 1), walk.BehindViews(Walk::In(gathered, 1))}};
}

std::optional<Loss> MultilabelMargin(const Walk& walk, const Layer& sum) {
  const Layer* where = sum.op == "sum" ? walk.Operand(&sum, 0, "where") : nullptr;
  const Layer* wide = walk.Operand(walk.Operand(walk.Operand(where, 2, "div"), 0, "clamp"), 0, "add");
  const Layer* permuted = walk.MakerOf(walk.BehindViews(Complement(walk.MakerOf(Walk::In(wide, 0)))));
  const Layer* gathered =
      permuted != nullptr && permuted->op == "permute" ? walk.Operand(permuted, 0, "gather") : nullptr;
  const Layer* number = walk.Operand(gathered, 1, "where");
  if (number == nullptr || walk.Operand(where, 0, "any") == nullptr || Walk::In(wide, 1) != Walk::In(gathered, 0))
    return std::nullopt;
  return Loss{"multilabel_margin_loss", {Walk::In(wide, 1), Walk::In(number, 1)}};
}

// A loss for each sample; with weights of the classes the weighted probabilities are gathered.
std::optional<Loss> Nll(const Walk& walk, const Layer& chosen) {
  const Layer* negative = chosen.op == "where" ? walk.Operand(&chosen, 1, "neg") : nullptr;
  const Layer* gathered = walk.Operand(walk.Operand(negative, 0, "squeeze"), 0, "gather");
  const Layer* number = walk.Operand(walk.Operand(gathered, 1, "unsqueeze"), 0, "where");
  const Layer* counted = walk.Operand(number, 0, "ne");
  if (counted == nullptr || Walk::In(number, 1) != Walk::In(counted, 0)) return std::nullopt;
  Loss loss{"nll_loss", {Walk::In(gathered, 0), Walk::In(counted, 0)}};
  const Layer* weighted = walk.Operand(gathered, 0, "mul");
  const ValueId weight = walk.BehindViews(Walk::In(weighted, 1));
  if (walk.IsStored(weight)) loss.inputs = {Walk::In(weighted, 0), Walk::In(counted, 0), weight};
  return loss;
}

// kl_div's batchmean and others divide behind the call.
bool IsWhole(const Layer* layer, std::string_view op) {
  return layer != nullptr && layer->op == op && layer->outputs.size() == 1 && layer->attributes.Ints("dim").empty();
}

std::optional<Loss> LossOf(const Walk& walk, const Layer& layer) {
  for (const auto& match : {BceLogits, BceLogitsOfSigmoid, Bent, Bce, KlDiv, SoftMargin, PoissonNll, HingeEmbedding,
                            MarginRanking, MultiMargin, MultilabelMargin, Nll}) {
    std::optional<Loss> loss = match(walk, layer);
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
  const Walk walk(*layers);
  std::map<size_t, Layer> calls;  // by the place of their last layer
  std::vector<ValueId> weights;
  for (const Layer& layer : layers->layers) {
    if (layer.outputs.size() != 1) continue;
    std::optional<Loss> loss = LossOf(walk, layer);
    if (!loss) continue;
    const Layer* last = &layer;
    std::string reduction = "none";
    const Layer* reader = walk.OnlyReaderOf(last->outputs[0]);
    if (reader != nullptr && reader->op == "mul" && (loss->op == "bce_logits" || loss->op == "bce")) {
      const ValueId weight = Walk::In(reader, Walk::In(reader, 0) == last->outputs[0] ? 1 : 0);
      const ValueId root = walk.BehindViews(weight);
      const bool parameter =
          root.valid() && layer.evidence != Evidence::kProvenance && (*layers)[root].role == Role::kParameter;
      if (parameter) weights.push_back(root);
      if (parameter || walk.IsStored(root)) {
        loss->inputs.resize(std::max<size_t>(loss->inputs.size(), 3));
        loss->inputs[2] = weight;
        last = reader;
        reader = walk.OnlyReaderOf(last->outputs[0]);
      }
    }
    if (IsWhole(reader, "mean") || IsWhole(reader, "sum")) {
      reduction = reader->op;
      last = reader;
      reader = walk.OnlyReaderOf(last->outputs[0]);
      const bool nll_mean = loss->op == "nll_loss" && reduction == "sum" && reader != nullptr && reader->op == "div" &&
                            walk.MakerOf(Walk::In(reader, 1)) != nullptr;
      if (nll_mean) {
        reduction = "mean";
        last = reader;
      }
    }
    if (loss->op == "bce_logits" && loss->inputs.size() == 4 && layer.evidence != Evidence::kProvenance)
      weights.push_back(walk.BehindViews(loss->inputs[3]));
    Layer call{.op = loss->op, .name = last->name, .inputs = std::move(loss->inputs), .outputs = last->outputs};
    while (!call.inputs.back().valid()) call.inputs.pop_back();
    if (reduction != "mean") call.attributes.Set("reduction", reduction);
    if (loss->log_target) call.attributes.Set("log_target", int64_t{1});
    call.module = last->module;
    call.nodes = last->nodes;
    call.evidence = last->evidence;
    calls.emplace(walk.PlaceOf(last), std::move(call));
  }
  PutCalls(layers, std::move(calls));
  for (const ValueId id : weights) MakeBuffer(layers, id);
}

}  // namespace vramplan
