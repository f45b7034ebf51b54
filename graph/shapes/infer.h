// Bind and Infer: every tensor's shape as a function of the batch.
//
//   Load("resnet50.onnx") --Bind--> inputs x: [B, 3, 224, 224] --Infer--> conv1: [B, 64, 112, 112] ... output: [B,
//   1000]
//
// Invariant of Shapes: one entry per tensor of the graph; a dim that could not be found is Dim::Unknown() and has a
// note.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/ir/graph.h"
#include "graph/ir/shape.h"

namespace vramplan {

// Height and width of the images: --image 512, --image 512x384.
struct ImageSize {
  int64_t height = 0, width = 0;
};

// What the user said about free dimensions: --dim sequence=128, --input ids=4x128, --batch-dim x:0, --image 512.
struct BindOptions {
  std::map<std::string, int64_t> dims;
  std::map<std::string, std::vector<int64_t>> inputs;
  std::string batch_dim;  // "input:axis"; empty: found by name and position
  std::optional<ImageSize> image;
};

// --image as the --dim of each input that is an image: [N, C, H, W], [N, H, W, C] with a few channels, [3, H, W].
// Errors: no input is one, its sides are numbers in the file, --dim says another length.
Result<BindOptions> WithImage(const Graph& graph, BindOptions options);

// The inputs with every symbol but the batch replaced by a number.
struct Binding {
  std::string batch_symbol;  // "batch"; "" when the file has a fixed batch that was re-opened or has no batch at all
  std::optional<int64_t> fixed_batch;  // the batch the file was exported with, when its inputs had plain numbers there
  std::map<TensorId, Shape> inputs;    // by input of the graph
  std::map<std::string, Dim> symbols;  // what each symbol of the file stands for
};

// Finds the batch (by --batch-dim; by the names batch, batch_size, N, B, bs, unk__*, s0-like symbols; by position 0 of
// the first input) and binds the rest. Errors: a symbol that is not bound, an unknown --dim or --input name, a negative
// length, a wrong rank.
Result<Binding> Bind(const Graph& graph, const BindOptions& options, Notes* notes);

// A free length beside the batch, and one that such lengths often have.
struct FreeLength {
  std::string name;
  int64_t usual = 0;
};
// Without values for them, as "sequence" and 128. Nothing where the batch cannot be found.
std::vector<FreeLength> FreeLengthsOf(const Graph& graph, const BindOptions& options);

// The largest element of a tensor of integers that is too long to be computed; whether all are as large.
struct LargestOf {
  int64_t value = 0;
  bool everywhere = false;
};

// What is known about one tensor.
struct TensorFacts {
  DType type = DType::kUndefined;
  std::optional<Shape> shape;  // nothing: not even the rank is known; of a sequence: what its elements have in common
  // Contents of small tensors, element by element, when they do not depend on data: shapes, axes, scalars.
  std::optional<std::vector<Dim>> integers;
  std::optional<std::vector<double>> reals;
  bool is_tensor = true;
  std::optional<LargestOf> largest;  // where `integers` are not computed
};

struct Shapes {
  std::vector<TensorFacts> tensors;  // by TensorId
  const TensorFacts& operator[](TensorId id) const { return tensors[static_cast<size_t>(id.value)]; }
};

// Infers in node order. Operators without a rule take the file's declared type, with the note "unknown-operator" (or an
// error when nothing is declared either). Errors: a shape contradiction (node named), overflowing or negative dims.
Result<Shapes> Infer(const Graph& graph, const Binding& binding, Notes* notes);

}  // namespace vramplan
