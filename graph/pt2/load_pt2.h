// LoadProgram: a .pt2 file (torch.export.save) becomes a Graph: a node for each aten call, the tensors with the types and
// lengths that the export recorded, parameters under their names in the module, and as facts what the file says of
// training: which parameters have requires_grad, which are one tensor, and whether it is of train() or of eval().
//
//   aten.conv2d.default(x, p_conv1_weight, None, [2, 2])    Node "conv2d": op "aten.conv2d.default", domain kTorchDomain,
//                                                           inputs {x, conv1.weight}, attributes as graph/ir/aten.h has
//                                                           them
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/ir/graph.h"

namespace vramplan {

// Whether a zip archive holds a program of torch.export (and no checkpoint, no TorchScript).
bool IsProgramArchive(std::string_view bytes);

// Weights are not read. Errors (each names the file): a damaged archive, a program that is not as torch.export writes
// it, more of it than `kMostProgram`.
Result<Graph> LoadProgram(const std::string& name, std::string_view bytes, Notes* notes);

// The vramplan.facts that travel in the archive (torch.export.save(..., extra_files={"vramplan.facts": text})).
std::optional<Facts> FactsInProgram(std::string_view bytes);

}  // namespace vramplan
