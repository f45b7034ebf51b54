#include <map>
#include <optional>
#include <string>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/layers/trained.h"
#include "graph/lift/any_export/decomposed.h"

namespace vramplan {
// Losses of each element, or of each sample.
const DecomposedTable& DecomposedLosses() {
  static const DecomposedTable table({
      {"sub(mul(sub(-, y), x), log_sigmoid(x))", "bce_logits(x, y)"},
      {"sub(mul(sub(-, y), x), mul(add(mul((sub(p) | p))), log_sigmoid(x)))", "bce_logits(x, y, -, p)"},
      {"neg(add(mul(y, log(s=sigmoid(x))), mul((rsub(y) | sub(-, y)), log((rsub(s) | sub(-, s))))))",
       "bce_logits(x, y)"},
      {"neg(add(mul(mul(y, log(s=sigmoid(x))), p), mul((rsub(y) | sub(-, y)), log((rsub(s) | sub(-, s))))))",
       "bce_logits(x, y, -, p)"},
      {"where(lt(a=abs(sub(x, y))), div(mul(pow(a))), sub(a))", "smooth_l1_loss(x, y)"},
      {"where(lt(a=abs(sub(x, y))), mul(_, a), mul(sub(_)))", "huber_loss(x, y)"},
      {"sub(mul(_, maximum(log1p(neg(x)))), mul(y, maximum(log(x))))", "bce(x, y)"},
      {"sub(xlogy(y, y), mul(y, x))", "kl_div(x, y)"},
      {"mul(exp(y), sub(y, x))", "kl_div(x, y)", Exporter::kAny,
       [](const DecomposedMatch&, Layer* call) {
         call->attributes.Set("log_target", int64_t{1});
         return true;
       }},
      {"where(gt(y), mul(y, sub(log(y), x)))", "kl_div(x, y)"},
      {"log1p(exp(mul(neg(x), y)))", "soft_margin_loss(x, y)"},
      {"sub(exp(x), mul(y, x))", "poisson_nll_loss(x, y)"},
      {"add(where(ne(y), clamp(sub(_, x)), zeros()), where(ne(y), x))", "hinge_embedding_loss(x, y)"},
      {"clamp(add(mul(neg(y), sub(a, b)), -))", "margin_ranking_loss(a, b, y)"},
      {"where(ne(_, y), clamp(add((rsub(gather(x, y)) | sub(-, gather(x, y))), x)))", "multi_margin_loss(x, ~y)"},
      {"sum(where(any(), _, div(clamp(add((rsub(~permute(gather(x, where(_, y)))) | sub(-, ~permute(gather(x, where(_, "
       "y))))), x)))))",
       "multilabel_margin_loss(x, y)"},
      // With weights of the classes the weighted probabilities are gathered.
      {"where(_, neg(squeeze(gather(mul(x, ~w), unsqueeze(where(ne(y), y))))))", "nll_loss(x, y, w)", Exporter::kAny,
       [](const DecomposedMatch& match, Layer*) { return match.uses.IsStored(match["w"]); }},
      {"where(_, neg(squeeze(gather(x, unsqueeze(where(ne(y), y))))))", "nll_loss(x, y)"},
  });
  return table;
}

namespace {

// kl_div's batchmean and others divide behind the call.
bool IsWhole(const Layer* layer, std::string_view op) {
  return layer != nullptr && layer->op == op && layer->outputs.size() == 1 && layer->attributes.Ints("dim").empty();
}

}  // namespace

void GatherDecomposedLosses(Layers* layers) {
  const Uses uses(*layers);
  std::map<size_t, Layer> calls;  // by the place of their last layer
  std::vector<ValueId> weights;
  for (const Layer& layer : layers->layers) {
    std::optional<Layer> loss = DecomposedLosses().CallAt(uses, uses.PlaceOf(&layer));
    if (!loss) continue;
    const Layer* last = &layer;
    std::string reduction = "none";
    const Layer* reader = uses.OnlyReaderOf(last->outputs[0]);
    if (reader != nullptr && reader->op == "mul" && (loss->op == "bce_logits" || loss->op == "bce")) {
      const ValueId weight = Uses::In(reader, Uses::In(reader, 0) == last->outputs[0] ? 1 : 0);
      const ValueId root = uses.BehindViews(weight);
      const bool parameter = root.valid() && !FromDynamo(layer) && (*layers)[root].role == Role::kParameter;
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
    if (loss->op == "bce_logits" && loss->inputs.size() == 4 && !FromDynamo(layer))
      weights.push_back(uses.BehindViews(loss->inputs[3]));
    Layer call = CallInPlaceOf(*last, loss->op, std::move(loss->inputs), std::move(loss->attributes));
    while (!call.inputs.back().valid()) call.inputs.pop_back();
    if (reduction != "mean") call.attributes.Set("reduction", reduction);
    calls.emplace(uses.PlaceOf(last), std::move(call));
  }
  PutCalls(layers, std::move(calls));
  // A TorchScript file does not tell weights of a loss from parameters.
  for (const ValueId id : weights) MakeBuffer(layers, id);
}

}  // namespace vramplan
