// What Load says of files that it cannot use: file, place, reason and what to do, on one line.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <onnx/onnx_pb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "graph/onnx/load.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

using namespace std::string_view_literals;

std::string ErrorOf(std::string_view bytes) {
  Notes notes;
  const Result<Graph> graph = LoadFromBytes("m.onnx", bytes.data(), bytes.size(), &notes);
  REQUIRE(!graph);
  CHECK(graph.error().code == ErrorCode::kBadInput);
  CHECK(graph.error().subject == "m.onnx");
  CHECK(!graph.error().hint.empty());
  const std::string line = graph.error().text;
  CHECK(line.find('\n') == line.npos);
  return line;
}

onnx::ModelProto Parsed(std::string_view text) {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(OnnxBytes(text)));
  return model;
}

TEST_CASE("files that are something else") {
  struct Row {
    std::string_view bytes, what;
  };
  for (const Row& row : {
           Row{"", "it is empty"},
           Row{"<!DOCTYPE html><html>", "it is a web page"},
           Row{"<html><body>", "it is a web page"},
           Row{"version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
               "it is a git-lfs pointer, not the model itself"},
           Row{"PK\x03\x04\0\0archive/data.pkl"sv, "it is a PyTorch checkpoint, as torch.save writes it"},
           Row{"PK\x03\x04model.onnx"sv, "it is a zip archive"},
           Row{"\x80\x02}q"sv, "it is a Python pickle, as torch.save writes it"},
           Row{"\x1f\x8b\x08"sv, "it is compressed with gzip"},
           Row{"\x89HDF\r\n"sv, "it is an HDF5 file (Keras)"},
           Row{"\x1c\0\0\0TFL3"sv, "it is a TensorFlow Lite model"},
           Row{"GGUF\x03"sv, "it is a GGUF file"},
           Row{"\x40\0\0\0\0\0\0\0{\"w\":"sv, "it is a safetensors file: weights without a graph"},
           Row{"hello world"sv, "it is a text file"},
           Row{"import torch\n"sv, "it is a text file"},
           Row{"\x00\x00\x00\x00"sv, "it is not a protobuf message, at byte 0 of 4"},
           Row{"{}"sv, "it is a text file"},
           Row{"\x08\x07"sv, "it holds no graph"},
           Row{"\x08\x07\x12\x07pytorch"sv, "it holds no graph"},
       }) {
    CHECK(ErrorOf(row.bytes) == "not an ONNX model: " + std::string(row.what));
  }
}

TEST_CASE("a file cut anywhere is an error or, behind the graph, the same model") {
  const std::string bytes = OnnxBytes("g (float[2] x) => (float[2] y) { y = Relu (x) }");
  CHECK(ErrorOf(std::string_view(bytes).substr(0, 20)) ==
        "truncated: the file ends inside the field that begins at byte 2 of 20");
  int errors = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    Notes notes;
    errors += LoadFromBytes("m.onnx", bytes.data(), size, &notes).ok() ? 0 : 1;
  }
  CHECK(errors >= static_cast<int>(bytes.size()) - 12);  // behind the graph there is only the list of opsets
}

TEST_CASE("a graph that cannot be") {
  struct Row {
    const char* text;
    const char* error;
  };
  for (const Row& row : {
           Row{"g (float[2] x) => (float[2] x) { }", "the graph has no nodes: nothing in it would run"},
           Row{"g (float[2] x) => (float[2] y) { y = Relu (z) }",
               "node 'Relu_0' (Relu) reads 'z', which no node, input or initializer makes"},
           Row{"g (float[2] x) => (float[2] z) { y = Relu (x) }", "no node, input or initializer makes the output 'z'"},
           Row{"g (float[2] x) => (float[2] y) { y = Relu (x) y = Tanh (x) }",
               "the tensor name 'y' is given twice, the second time by node 'Tanh_1'"},
           Row{"g (float[2] x, float[2] x) => (float[2] y) { y = Relu (x) }",
               "the tensor name 'x' is given twice, the second time by an input"},
           Row{"g (float[2] x) => (float[2] x) { x = Relu (x) }",
               "the tensor name 'x' is given twice, the second time by node 'Relu_0'"},
           Row{"g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] w = {1, 2}> { y = Add (x, w) }",
               "the tensor name 'w' is given twice, the second time by an initializer"},
           Row{"g (float[2] x) => (float[2] d) { a = Add (x, c) b = Relu (a) c = Tanh (b) d = Relu (c) }",
               "the graph has a cycle: node 'Add_0' waits for its own output"},
           Row{"g (float[2] x) => (float[2] d) { d = Relu (c) c = Tanh (c2) c2 = Tanh (c) }",
               "the graph has a cycle: node 'Tanh_1' waits for its own output"},
           Row{"g (float[2] x) => (float[2] y) { y = Add (x, y) }",
               "the graph has a cycle: node 'Add_0' waits for its own output"},
           Row{"g (float[4294967296, 4294967296] x) => (float[2] y) { y = Relu (x) }",
               "input 'x' has a shape beyond 63 bits of bytes: [4294967296, 4294967296]"},
           Row{"g (float[1,1,1,1,1,1,1,1,1] x) => (float[2] y) { y = Relu (x) }", "input 'x' has 9 axes"},
           Row{"g (float[2] x) => (float[2] y) <float[3] w = {1, 2}> { y = Add (x, w) }",
               "initializer 'w' holds 8 bytes where float32[3] takes 12"},
       }) {
    CAPTURE(row.text);
    CHECK(ErrorOf(OnnxBytes(row.text)) == row.error);
  }
}

TEST_CASE("what the text syntax cannot say") {
  const char* text = "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { h = Add (x, w) y = Relu (h) }";
  const auto error_after = [&](auto edit) {
    onnx::ModelProto model = Parsed(text);
    edit(&model, model.mutable_graph());
    return ErrorOf(model.SerializeAsString());
  };
  using Model = onnx::ModelProto*;
  using G = onnx::GraphProto*;
  CHECK(error_after([](Model, G g) { g->mutable_initializer(0)->set_data_type(99); }) ==
        "initializer 'w' has the unknown element type 99");
  CHECK(error_after([](Model, G g) { g->mutable_initializer(0)->set_data_type(0); }) ==
        "initializer 'w' has no element type");
  CHECK(error_after([](Model, G g) { g->mutable_initializer(0)->set_dims(0, -2); }) ==
        "initializer 'w' has a negative length in its shape [-2]");
  CHECK(error_after([](Model, G g) { g->mutable_initializer(0)->add_dims(int64_t{1} << 62); }) ==
        "initializer 'w' has a shape beyond 63 bits of bytes: [2, 4611686018427387904]");
  CHECK(error_after([](Model, G g) { g->mutable_initializer(0)->clear_name(); }) == "an initializer has no name");
  CHECK(error_after([](Model, G g) { g->mutable_input(0)->clear_name(); }) == "an input has no name");
  CHECK(error_after([](Model, G g) { g->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(0); }) ==
        "input 'x' has no element type");
  CHECK(error_after([](Model, G g) {
          g->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(77);
        }) == "input 'x' has the unknown element type 77");
  CHECK(error_after([](Model, G g) {
          g->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(
              -1);
        }) == "input 'x' has a negative length in its shape [-1]");
  CHECK(error_after([](Model, G g) { g->mutable_node(0)->clear_op_type(); }) == "node '_0' has no operator");
  CHECK(error_after([](Model, G g) {
          auto* constant = g->add_node();
          constant->set_op_type("Constant");
          constant->add_output("c");
        }) == "Constant 'Constant_2' has no value");
  CHECK(error_after([](Model m, G) { m->clear_graph(); }) == "not an ONNX model: it holds no graph");
  CHECK(error_after([](Model, G g) { g->mutable_node(0)->set_input(0, "a\nb\x1b[2J"); }) ==
        "node 'Add_0' (Add) reads 'a\\x0ab\\x1b[2J', which no node, input or initializer makes");
}

TEST_CASE("paths that cannot be read") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("vramplan_bad_input_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  Notes notes;
  const auto error = [&](const std::filesystem::path& path) { return ToString(Load(path.string(), &notes).error()); };
  const auto none = folder / "none.onnx", empty = folder / "empty.onnx", pipe = folder / "pipe.onnx";
  std::ofstream(empty).close();
  mkfifo(pipe.c_str(), 0600);
  CHECK(error(none) == none.string() + ": cannot be read: No such file or directory (hint: check the path)");
  CHECK(error(folder) ==
        folder.string() + ": cannot be read: it is a directory (hint: give the path of an .onnx file)");
  CHECK(error(pipe) == pipe.string() + ": cannot be read: it is not a file (hint: give the path of an .onnx file)");
  CHECK(error(empty) == empty.string() + ": not an ONNX model: it is empty (hint: copy, download or export it again)");
  if (geteuid() != 0) {  // root reads everything
    chmod(empty.c_str(), 0);
    CHECK(error(empty) ==
          empty.string() +
              ": cannot be read: Permission denied (hint: check the permissions of the file and its folders)");
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("a model comes from standard input, and from a pipe that is open, as often as it is needed") {
  const std::string model = std::string(VRAMPLAN_SOURCE_DIR) + "/models/mlp.onnx";
  const int before = dup(STDIN_FILENO);
  Notes notes;
  const std::string file = Load(model, &notes).value().nodes[0].name;
  const auto loaded = [&](const std::string& path) {
    const Result<Graph> graph = Load(path, &notes);
    return graph.ok() ? graph->file + ": " + graph->nodes[0].name : ToString(graph.error());
  };
  const int regular = open(model.c_str(), O_RDONLY);
  dup2(regular, STDIN_FILENO);
  for (int time = 0; time < 2; ++time) {
    CHECK(loaded("-") == "standard input: " + file);
    CHECK(loaded("/dev/stdin") == "/dev/stdin: " + file);
  }
  close(regular);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::ifstream bytes(model, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(bytes), {}};
  REQUIRE(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(ends[1]);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  for (int time = 0; time < 2; ++time) CHECK(loaded(path) == path + ": " + file);
  close(ends[0]);
  dup2(before, STDIN_FILENO);
  close(before);
}

}  // namespace
}  // namespace vramplan
