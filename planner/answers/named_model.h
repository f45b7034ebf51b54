// A model that is named instead of a file (graph/architectures): what it says of the step, and its graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/graph.h"
#include "planner/answers/question.h"

namespace vramplan {

// The model of question->model, if that is a name, and the type of its weights as the default of
// --precision. Errors: those of FindNamed.
Status TakeNamed(Question* question);

// The modules that gradient_checkpointing_enable() makes checkpoints, as --checkpoint all has them.
std::vector<std::string> EveryLayer(const NamedModel& model);
// Whether these are all of them. More than some: peft makes what the embeddings return require a gradient then.
bool ChecksEveryLayer(const NamedModel& model, const std::vector<std::string>& checkpoint);

// What --mode serve has as its length, and how many positions the model has for it; 0: any number.
std::pair<std::string, int64_t> ServedLength(const NamedModel& model);

// The graph of the file, or of the named model with the lengths of --dim, in the mode and precision of `question`. Lengths
// that it took are no longer in `bind`; those that nobody gave are put into `usual`.
Result<Graph> GraphOf(const Question& question, BindOptions* bind, std::map<std::string, int64_t>* usual, Notes* notes);

}  // namespace vramplan
