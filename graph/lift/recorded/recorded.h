// What the facts of a file say about its forward (graph/ir/facts.h), put into Layers. It overrides what rules guessed.
//
//   ends    {conv2d, 1}   calls[1] is batch_norm     layers.recorded: conv2d's value, when batch_norm's has been made
//   writes  relu                                     relu in place; what is recorded and not in there is not
//
// Names are those of fx nodes, which the dynamo exporter leaves beside nodes and values. A name that the file lost is
// passed over; a call that it lost ends with the layer before it.
#pragma once

#include <string>
#include <unordered_set>

#include "graph/layers/layers.h"

namespace vramplan {

// The results that some forward of the facts recorded; whether a call writes in place is known of them.
std::unordered_set<std::string> RecordedResults(const Graph& graph);

// `graph`: that the layers were made of. `facts`: of the file.
void TakeRecordedForward(const Graph& graph, const RecordedForward& forward, Layers* layers);

// The parameters and buffers that the facts of a file list (graph/ir/facts.h) are those of Layers: what the file lost is
// added, what it only calls a parameter is none, and what is one tensor under two names is one.
//
//   facts   embed.weight trained, head.weight same as embed.weight, pos [1, 512] a buffer
//   file    head.weight, offset                head.weight is embed.weight, offset a constant, pos on the card too
void TakeRecordedTensors(const Facts& facts, Layers* layers);

// Module calls by the paths of modules that run under torch.utils.checkpoint.
void TakeRecordedCheckpoints(const Facts& facts, Layers* layers);

}  // namespace vramplan
