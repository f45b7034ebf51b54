// Selective checkpoints: operator calls of a checkpointed module whose results are kept instead of being computed again
// (torch.utils.checkpoint.create_selective_checkpoint_contexts, torch/utils/checkpoint.py, PyTorch 2.10).
//
//   forward    a dispatch mode sees every operator below autograd; results of those that the policy saves go to a list
//              of the frame, detached: the storages live with the frame
//   again      the same mode takes them from the list, in order: the operator does not run, nothing is allocated, and
//              the list lets go of them; what an early stop leaves in the list dies with the frame
//
// What a policy may name is the dispatcher's overload and its number within the module call. Views are not offered:
// their base would be saved with them.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "planner/semantics/eager.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// An operator whose calls may be saved: the names under which rules run it, its entry on the tape, its overload (both
// exports and the dispatch mode's own count, PyTorch 2.10: resnet50, vit_b_16, gpt2, bert_base, unet).
struct SaveableOperator {
  std::string_view op, node, overload;
};
const std::vector<SaveableOperator>& SaveableOperators();
// Those of one overload share their count. Nothing: no such overload, with the known ones as the hint.
Status CheckOverload(const SavedCall& call);

// What one module call has kept.
struct KeptCall {
  SavedCall call;
  std::vector<eager::Storage> by_request;  // null: a temporary of the operator
};

// Counts the calls of a module call, in the forward or again, by overload.
class CallCounter {
 public:
  // Before an operator: the row of the table that it may turn out to be; null: none.
  static const SaveableOperator* Begins(std::string_view op);
  // Behind it: which call it was. Nothing to count: -1.
  int Ended(std::string_view node);
  // Of the next call of this overload.
  int Next(std::string_view overload) const;

 private:
  std::vector<std::pair<std::string_view, int>> counts_;  // by overload
};

}  // namespace vramplan
