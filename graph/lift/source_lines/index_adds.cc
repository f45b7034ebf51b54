#include "graph/lift/source_lines/index_adds.h"

#include <algorithm>
#include <string>

#include "graph/lift/source_lines/line_of.h"

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
         .severity = Severity::kNote,
         .subject = guessed->name,
         .text = "it is assumed to be index_add, which keeps the added values for the backward; exporters write "
                 "index_put, scatter_add and index_add alike, and the other two keep less",
         .hint =
             "torch.onnx.export(dynamo=True) of PyTorch 2.9 or newer writes the source lines, which tell them apart"});
  }
}

}  // namespace vramplan
