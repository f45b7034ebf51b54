// Memory: where the rules of semantics/ ask for device memory. The timeline records the asking; nothing here knows
// sizes of cards or rounding.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/base/phase.h"
#include "graph/ir/size_expr.h"

namespace vramplan {

// What a block is for. The rows of every breakdown; they sum to `allocated` together with `slack`.
enum class Category : uint8_t {
  kParameters,
  kBuffers,
  kGradients,  // of parameters, once they are theirs (.grad)
  kOptimizerState,
  kActivations,  // made by the forward (or its recomputation): outputs and what is saved beside them
  kTemporaries,  // gradients of activations on their way, and scratch of operators and optimizers
  kInputs,       // what the caller made: inputs and targets
  kWorkspace,    // of cuBLAS, cuBLASLt, cuDNN
};
inline constexpr int kCategories = 8;
std::string_view Name(Category category);

// Numbered in order of birth; never reused.
struct BlockId {
  int32_t value = -1;
  bool valid() const { return value >= 0; }
  auto operator<=>(const BlockId&) const = default;
};

// Who asks. Strings are literals of the rules ("aten::addmm", "AddmmBackward0") and live for ever.
struct Origin {
  int32_t layer = -1;     // index into Layers::layers; -1: none (optimizer, loss, setup)
  int32_t owner = -1;     // of optimizer state: the layer whose parameter it belongs to
  const char* op = "";    // the framework operator that asked
  const char* node = "";  // the autograd node, in the backward
  uint8_t stream = 0;     // of CUDA, below CachingAllocator::kStreams; 0: the current one
};

class Memory {
 public:
  virtual ~Memory() = default;
  // Zero bytes are never asked for: PyTorch gives a null pointer without a block.
  virtual BlockId Allocate(SizeExpr bytes, Category category, const Origin& origin) = 0;
  // Of a block whose size a library chooses: `likely` may be zero. Who does not care about the most has no such block.
  virtual BlockId AllocateUpTo(SizeExpr likely, SizeExpr /*most*/, Category category, const Origin& origin) {
    return likely.IsZero() ? BlockId() : Allocate(likely, category, origin);
  }
  virtual void Free(BlockId block) = 0;
  // A gradient that becomes a parameter's .grad, a weight copy that becomes state.
  virtual void Retag(BlockId block, Category category) = 0;
};

}  // namespace vramplan
