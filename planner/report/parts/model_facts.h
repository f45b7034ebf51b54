// ModelFacts: what every answer says about the model first.
#pragma once

#include <cstdint>
#include <string>

#include "graph/ir/graph.h"
#include "graph/layers/layers.h"
#include "graph/shapes/infer.h"
#include "planner/report/writing/json.h"

namespace vramplan {

struct ModelFacts {
  std::string file;  // as the user wrote it
  int64_t opset = 0;
  int64_t nodes = 0;
  int64_t parameters = 0;           // elements; a tied weight counts once
  Bytes parameter_bytes;            // in the types of the file, whatever precision is asked for
  int64_t trained = 0, frozen = 0;  // of these elements
  int64_t buffers = 0;
  Bytes buffer_bytes;
  bool trained_known = false;      // the file's facts say which parameters are trained
  bool checkpoints_known = false;  // the file has the source lines, which would say torch.utils.checkpoint
  ExportedMode exported = ExportedMode::kUnknown;  // the other mode may run other layers
  bool has_dropouts = false;
  bool unread_left_out = false;  // what forward() never reads is not in it
  std::string batch_symbol;      // "" when the file does not name it
  bool has_batch = true;         // false: no axis of its inputs is the batch

  // An export of model.eval() loses them.
  bool MayLackDropouts() const { return !has_dropouts && exported != ExportedMode::kTraining; }
};

ModelFacts FactsOf(const Graph& graph, const Binding& binding, const Layers& layers);

// "resnet50.onnx" of "zoo/resnet50.onnx".
std::string FileName(const std::string& path);

}  // namespace vramplan
