#include <doctest/doctest.h>

#include "graph/shapes/infer.h"

namespace vramplan {
namespace {

struct Input {
  const char* name;
  std::vector<const char*> dims;  // "3", "batch", "" (neither)
};

Graph GraphWith(const std::vector<Input>& inputs) {
  Graph graph;
  graph.file = "model.onnx";
  for (const Input& input : inputs) {
    Tensor tensor{.name = input.name};
    tensor.declared.emplace();
    tensor.declared->type = DType::kFloat32;
    tensor.declared->dims.emplace();
    for (const std::string dim : input.dims) {
      const bool number = !dim.empty() && dim.find_first_not_of("-0123456789") == std::string::npos;
      tensor.declared->dims->push_back(number ? DeclaredDim{std::stoll(dim), ""} : DeclaredDim{std::nullopt, dim});
    }
    graph.inputs.push_back({static_cast<int32_t>(graph.tensors.size())});
    graph.tensors.push_back(tensor);
  }
  return graph;
}

// "batch; x [batch, 3]; y [2*batch]" or the error.
std::string Bound(const std::vector<Input>& inputs, const BindOptions& options = {}, Notes* notes = nullptr) {
  const Graph graph = GraphWith(inputs);
  Notes unheard;
  const auto binding = Bind(graph, options, notes != nullptr ? notes : &unheard);
  if (!binding) return ToString(binding.error());
  std::string text = binding->batch_symbol;
  if (binding->fixed_batch) text += "was " + std::to_string(*binding->fixed_batch);
  for (const auto& [id, shape] : binding->inputs) text += "; " + graph[id].name + " " + ToString(shape);
  return text;
}

TEST_CASE("the batch is found by name, then by position") {
  CHECK(Bound({{"x", {"batch", "3"}}}) == "batch; x [B, 3]");
  CHECK(Bound({{"x", {"3", "N"}}}) == "N; x [3, B]");
  CHECK(Bound({{"x", {"T", "Batch_Size", "8"}}}, {.dims = {{"T", 5}}}) == "Batch_Size; x [5, B, 8]");
  CHECK(Bound({{"x", {"s0", "3"}}}) == "s0; x [B, 3]");
  CHECK(Bound({{"x", {"unk__12", "3"}}}) == "unk__12; x [B, 3]");
  CHECK(Bound({{"x", {"", "3"}}, {"y", {"", "4"}}}) == "; x [B, 3]; y [B, 4]");
  CHECK(Bound({{"x", {"-1", "3"}}}) == "; x [B, 3]");
  CHECK(Bound({{"x", {"sequence", "3"}}}, {.dims = {{"sequence", 7}}}) == "; x [7, 3]");
  CHECK(Bound({{"x", {"c", "d"}}}, {.dims = {{"c", 7}, {"d", 2}}}) == "; x [7, 2]");
  CHECK(Bound({{"x", {"s0", "N"}}}, {.dims = {{"N", 7}}, .batch_dim = "x:0"}) == "s0; x [B, 7]");
  CHECK(Bound({{"x", {"batch", "3"}}}, {.dims = {{"batch", 7}}, .batch_dim = "none"}) == "; x [7, 3]");
}

TEST_CASE("two names for one batch") {
  Notes notes;
  CHECK(Bound({{"x", {"image_batch", "3"}}, {"y", {"text_batch", "4"}}}, {}, &notes) ==
        "image_batch; x [B, 3]; y [B, 4]");
  CHECK(notes.Has("assumed-batch"));
  CHECK(Bound({{"x", {"image_batch", "3"}}, {"y", {"text_batch", "4"}}}, {.dims = {{"text_batch", 5}}}) ==
        "image_batch; x [B, 3]; y [5, 4]");
}

TEST_CASE("symbols are bound by --dim and --input") {
  const std::vector<Input> tokens = {{"ids", {"batch", "sequence"}}, {"mask", {"batch", "past + sequence"}}};
  CHECK(Bound({tokens[0]}) == "model.onnx: input ids: dim \"sequence\" is not bound (hint: add --dim sequence=128)");
  CHECK(Bound({tokens[0]}, {.dims = {{"sequence", 128}}}) == "batch; ids [B, 128]");
  CHECK(Bound({tokens[0]}, {.inputs = {{"ids", {4, 64}}}}) == "batch; ids [B, 64]");
  CHECK(Bound(tokens, {.dims = {{"sequence", 128}}}) ==
        "model.onnx: input mask: dim \"past\" is not bound (hint: add --dim past=0)");
  CHECK(Bound(tokens, {.dims = {{"sequence", 128}, {"past", 5}}}) == "batch; ids [B, 128]; mask [B, 133]");
  CHECK(Bound({{"x", {"batch", "3"}}, {"y", {"2*batch", "3"}}}) == "batch; x [B, 3]; y [2*B, 3]");
  // "batch-size" alone is a name, not a difference.
  CHECK(Bound({{"x", {"batch-size", "3"}}}) == "batch-size; x [B, 3]");
  CHECK(Bound({{"x", {"batch", "height", "width"}}}) ==
        "model.onnx: input x: dim \"height\" is not bound (hint: add --dim height=224 --dim width=224)");
  CHECK(Bound({{"x", {"batch", "height", "width"}}, {"y", {"batch", "steps"}}}, {.dims = {{"width", 8}}}) ==
        "model.onnx: input x: dim \"height\" is not bound (hint: add --dim height=224 --dim steps=128)");
  CHECK(Bound({{"x", {"batch", ""}}}) ==
        "model.onnx: input x: axis 1 has neither a length nor a name (hint: add --input x=1x128)");
  CHECK(Bound({{"x", {"batch", ""}}}, {.inputs = {{"x", {1, 9}}}}) == "batch; x [B, 9]");
}

TEST_CASE("the lengths that --dim gives, with one that they often have") {
  const auto lengths = [](const std::vector<Input>& inputs, const BindOptions& options = {}) {
    std::string text;
    for (const FreeLength& length : FreeLengthsOf(GraphWith(inputs), options))
      text += length.name + "=" + std::to_string(length.usual) + " ";
    return text;
  };
  CHECK(lengths({{"x", {"batch", "sequence"}}, {"mask", {"batch", "sequence"}}}) == "sequence=128 ");
  CHECK(lengths({{"x", {"N", "3", "height", "width"}}}) == "height=224 width=224 ");
  CHECK(lengths({{"x", {"batch", "past"}}}, {.dims = {{"past", 7}}}) == "past=0 ");
  CHECK(lengths({{"x", {"8", "3"}}}) == "");
}

TEST_CASE("--dim of the batch leaves it free") {
  Notes notes;
  CHECK(Bound({{"x", {"batch", "3"}}}, {.dims = {{"batch", 7}}}, &notes) == "batch; x [B, 3]");
  CHECK(notes.Has("batch-stays-free"));
}

TEST_CASE("one image of a detector is not a batch of three") {
  Notes notes;
  CHECK(Bound({{"image", {"3", "320", "320"}}}, {}, &notes) == "; image [3, 320, 320]");
  REQUIRE(notes.all().size() == 1);
  CHECK(ToString(notes.all()[0]) ==
        "warning: model.onnx: input image (3 x height x width) looks like one image, so its first axis is taken as "
        "channels, and no axis is the batch (hint: --batch-dim image:0 if it is the batch)");
  CHECK(Bound({{"image", {"3", "h", "w"}}}, {.dims = {{"h", 320}, {"w", 640}}}) == "; image [3, 320, 640]");
  CHECK(Bound({{"image", {"channels", "h", "w"}}}, {.dims = {{"channels", 3}, {"h", 320}, {"w", 640}}}) ==
        "; image [3, 320, 640]");
  CHECK(Bound({{"image", {"3", "320", "320"}}}, {.batch_dim = "image:0"}) == "was 3; image [B, 320, 320]");
  // Not images: two sequences, three rows of five, three images with their axis of channels.
  CHECK(Bound({{"x", {"2", "128", "768"}}}) == "was 2; x [B, 128, 768]");
  CHECK(Bound({{"x", {"3", "5", "768"}}}) == "was 3; x [B, 5, 768]");
  CHECK(Bound({{"x", {"3", "3", "320", "320"}}}) == "was 3; x [B, 3, 320, 320]");
}

TEST_CASE("a fixed batch is opened again in all inputs that have it") {
  Notes notes;
  CHECK(Bound({{"x", {"8", "3"}}, {"h", {"8", "64"}}, {"t", {"1"}}}, {}, &notes) ==
        "was 8; x [B, 3]; h [B, 64]; t [1]");
  CHECK(notes.Has("reopened-batch"));
  CHECK(Bound({{"x", {"8", "3"}}}, {.inputs = {{"x", {4, 5}}}}) == "was 8; x [B, 5]");
  CHECK(Bound({{"x", {"8", "3"}}}, {.batch_dim = "none"}) == "; x [8, 3]");
  CHECK(Bound({{"x", {"128", "8", "3"}}}, {.batch_dim = "x:1"}) == "was 8; x [128, B, 3]");
  CHECK(Bound({{"ids", {"1", "sequence"}}}, {.dims = {{"sequence", 9}}}) == "was 1; ids [B, 9]");
}

TEST_CASE("no batch") {
  Notes notes;
  CHECK(Bound({{"x", {"128"}}}, {}, &notes) == "; x [128]");
  CHECK(notes.Has("no-batch"));
}

TEST_CASE("wrong options are named") {
  const std::vector<Input> x = {{"x", {"batch", "length"}}};
  CHECK(Bound(x, {.dims = {{"seq", 3}}}) ==
        "--dim seq: the file has no dim of this name (hint: its dims are: batch, length)");
  CHECK(Bound(x, {.dims = {{"length", -3}}}) == "--dim length=-3: a length cannot be negative");
  CHECK(Bound(x, {.inputs = {{"y", {1, 2}}}}) ==
        "--input y: the file has no input of this name (hint: its inputs are: x)");
  CHECK(Bound(x, {.inputs = {{"x", {1, 2, 3}}}}) ==
        "--input x: it has 3 lengths for an input of 2 axes (hint: type it like --input x=1x128)");
  CHECK(Bound(x, {.inputs = {{"x", {1, -2}}}}) == "--input x: a length cannot be negative: -2");
  CHECK(Bound(x, {.dims = {{"length", 3}}, .inputs = {{"x", {1, 4}}}}) ==
        "--input x: dim \"length\" is 4 here and 3 elsewhere");
  CHECK(Bound(x, {.batch_dim = "y:0"}) ==
        "--batch-dim y:0: the file has no input of this name (hint: its inputs are: x; type --batch-dim x:0)");
  CHECK(Bound(x, {.batch_dim = "x:2"}) == "--batch-dim x:2: input x has no axis 2 (hint: type --batch-dim x:0)");
  CHECK(Bound(x, {.batch_dim = "x:z"}) ==
        "--batch-dim x:z: it is not INPUT:AXIS (hint: write it like --batch-dim x:0, or none)");
}

TEST_CASE("hostile inputs end in an error") {
  CHECK(Bound({{"x", {"batch", "-5"}}}) == "model.onnx: input x: axis 1 has the negative length -5");
  CHECK(Bound({{"x", {"batch", "1", "1", "1", "1", "1", "1", "1", "1"}}}) ==
        "model.onnx: input x: it has 9 axes; at most 8 are understood");
  CHECK(Bound({{"x", {"batch", "s - 9"}}, {"y", {"s"}}}, {.dims = {{"s", 3}}}) ==
        "model.onnx: input x: dim \"s - 9\" is negative: -6");
}

TEST_CASE("a shape that the file does not declare comes from --input") {
  Graph graph = GraphWith({{"x", {}}});
  graph.tensors[0].declared->dims.reset();
  Notes notes;
  CHECK(ToString(Bind(graph, {}, &notes).error()) ==
        "model.onnx: input x: the file does not declare its shape (hint: add --input x=1x3x224x224, with its own "
        "lengths)");
  const auto binding = Bind(graph, {.inputs = {{"x", {4, 3}}}}, &notes);
  REQUIRE(binding.ok());
  CHECK(binding->inputs.at({0}) == Shape{Dim::Batch(), 3});
}

}  // namespace
}  // namespace vramplan
