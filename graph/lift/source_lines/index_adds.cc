// NameIndexAdds: the dynamo exporter writes index_add as index_put with accumulate (torch/_decomp/decompositions.py
// 2.10, _index_add), which keeps less for the backward: index_add keeps what was added (derivatives.yaml 2.10,
// index_add: expand_as(source)), index_put only the numbers.
//
//   gnn of 40,000 edges, 128 channels, three layers      index_put 48.6 MiB requested, index_add 105.3 MiB
//
// The source line says which of them ran, where the file has it. Without it index_add is assumed, which is the larger,
// and a note says so.
#include <algorithm>
#include <string>

#include "graph/lift/source_lines/passes.h"

namespace vramplan {

void NameIndexAdds(Layers* layers, Notes* notes) {
  const Layer* guessed = nullptr;
  for (Layer& layer : layers->layers) {
    if (layer.op != "index_put" || layer.attributes.Int("accumulate", 0) == 0 || layer.inputs.size() < 3) continue;
    if (layer.attributes.Int("certain", 0) != 0) continue;  // TorchScript writes the two differently
    const size_t last = layer.inputs.size() - 1;
    const auto index =
        std::find_if(layer.inputs.begin() + 1, layer.inputs.end() - 1, [](ValueId id) { return id.valid(); });
    if (index != layer.inputs.end() - 2 || (*layers)[*index].type == DType::kBool) continue;  // several, or a mask
    const SourceLine* line = LineOf(*layers, layer);
    if (line != nullptr && line->text.find("index_add") == std::string::npos) continue;
    if (line == nullptr && guessed == nullptr) guessed = &layer;
    if (line == nullptr) layer.attributes.Set("assumed", int64_t{1});
    layer.attributes.Set("dim", static_cast<int64_t>(last) - 2);
    layer.op = "index_add";
    layer.inputs = {layer.inputs[0], *index, layer.inputs[last]};
  }
  if (guessed != nullptr && notes != nullptr) {
    notes->Add(
        {.code = "assumed-index-add",
         .subject = guessed->name,
         .text = "it is assumed to be index_add, which keeps the added values for the backward; exporters write "
                 "index_put, scatter_add and index_add alike, and the other two keep less",
         .hint =
             "torch.onnx.export(dynamo=True) of PyTorch 2.9 or newer writes the source lines, which tell them apart"});
  }
}

}  // namespace vramplan
