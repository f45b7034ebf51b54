// What people type wrong, and files that are not what they should be: tests/golden/wrong_input.txt has a command, the
// exit code and the one line that answers it. Nothing is printed to stdout, and no file is changed.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "planner/cli/write_file.h"
#include "tests/support/command_line.h"
#include "tests/support/fake_probe.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;
using testing::Do;
using testing::Said;
using namespace std::string_literals;

std::string BytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Files that are not what they should be, in a folder that is gone with the test.
class HostileFiles {
 public:
  HostileFiles() : folder_(fs::temp_directory_path() / ("vramplan_wrong_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "folder");
    const fs::path source(VRAMPLAN_SOURCE_DIR);
    fs::copy_file(source / "models/mlp.onnx", folder_ / "mlp.onnx");
    const std::string resnet = BytesOf(source / "models/resnet50.onnx");
    Put("half.onnx", resnet.substr(0, 3000));
    std::string damaged = resnet;
    for (size_t at = 2000; at < 2400; ++at) damaged[at] = '\xff';
    Put("damaged.onnx", damaged);
    Put("empty.onnx", "");
    Put("page.onnx", "<!DOCTYPE html><html>404</html>");
    Put("pointer.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
    Put("packed.onnx", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"s);
    Put("model.zip", "PK\x03\x04"s + std::string(30, '\0') + "readme.txt");
    Put("model.pt", "PK\x03\x04"s + std::string(26, '\0') + "model/data.pkl");
    Put("old.pt", "\x80\x02}q\x00."s);
    Put("text.pt2", "remember to train\n");
    Put("noise.pt2", "\x02\xff\x00\x8f\x11"s);
    Put("empty.pt2", "");
    Put("other.pt2", "PK\x03\x04"s + std::string(30, '\0') + "readme.txt");
    Put("checkpoint.pt2", "PK\x03\x04"s + std::string(26, '\0') + "model/data.pkl");
    Put("dict.pickle", "\x80\x04}\x94\x8c\x01\x61\x94K\x01s."s);
    Put("noise.pickle", "\x02\xff\x00\x8f\x11"s);
    Put("model.safetensors", "\x40\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\"}}"s);
    Put("model.h5", "\x89HDF\r\n\x1a\n"s);
    Put("model.tflite", "\x1c\x00\x00\x00TFL3"s);
    Put("model.gguf", "GGUF\x03\x00\x00\x00"s);
    Put("model.engine", "ptrt\x00\x00\x00\x00"s);
    Put("array.npy", "\x93NUMPY\x01\x00"s);
    Put("paper.pdf", "%PDF-1.4\n");
    Put("train.py", "import torch\nprint(torch.__version__)\n");
    Put("notes.txt", "remember to train\n");
    Put("table.csv", "a,b,c\n1,2,3\n");
    Put("requests.csv", "op,id,bytes\nalloc,0,many\n");
    Put("twice.csv", "op,id,bytes\nalloc,0,512\nalloc,0,512\n");
    Put("freed.csv", "op,id,bytes\nfree,7,\n");
    Put("step.csv", "event,block,bytes,phase,module,autograd_node,operator,inner_operator,allocated_after\n");
    Put("cut.csv.gz", BytesOf(source / "tests/data/truth/events/mlp.b64.adam-foreach.csv.gz").substr(0, 200));
    Put("values.txt", "2 1\n1 1\n1 1\n0 1\n");
    Put("words.txt", "two values\n");
    Put("backwards.txt", "2 1\n1 1\n1 1\n1 0\n");
    Put("schedule.txt", "0 1\n");
    Put("late.txt", "1 0\n");
    Put("train.log", "epoch 1 loss 0.3\nepoch 2 loss nan\n");
    Put("list.json", "[1, 2]\n");
    Put("cut.json", "{\"schema\": \"vramplan.pro");
    Put("other.json", "{\"schema\": \"vramplan.fit/1\"}\n");
    Put("quantized.onnx", OnnxBytes(R"(
      agraph (float[batch, 4] x) => (float[batch, 4] y) <float scale = {0.5}, uint8 zero = {0}> {
        q = QuantizeLinear (x, scale, zero)
        y = DequantizeLinear (q, scale, zero)
      })"));
    Put("unknown.onnx", OnnxBytes(R"(
      <ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
      agraph (float[batch, 4] x) => (float[batch, 4] y) {
        a = com.example.Twice (x)
        y = Relu (a)
      })"));
    Put("contradiction.onnx", OnnxBytes(R"(
      agraph (float[batch, 4] x) => (float[batch, 8] y) <float[5, 8] w> { y = MatMul (x, w) })"));
    Put("two.onnx", OnnxBytes(R"(
      agraph (float[batch, 8] image, float[batch, 8] text) => (float[batch, 8] y) <float[8, 8] w> {
        a = MatMul (image, w)
        y = Add (a, text)
      })"));
    Put("weights.onnx", OnnxBytes(R"(
      g (float[batch, 4] x, float[4, 8] `fc.weight`) => (float[batch, 8] y) { y = MatMul (x, `fc.weight`) })"));
    Put("root.onnx", OnnxBytes("g (float[batch, 4] x) => (float[batch, 4] y) { y = Sqrt (x) }"));
    // A thousand times as large as it looks.
    REQUIRE(WriteFile({.path = (folder_ / "bomb.log.gz").string()}, std::string(size_t{65} << 20, '\n')).ok());
  }
  ~HostileFiles() { fs::remove_all(folder_); }
  HostileFiles(const HostileFiles&) = delete;
  HostileFiles& operator=(const HostileFiles&) = delete;
  std::string path() const { return folder_.string() + "/"; }

  std::map<std::string, std::string> Contents() const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      contents[entry.path().string()] = entry.is_regular_file() ? BytesOf(entry.path()) : "";
    return contents;
  }

 private:
  void Put(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  fs::path folder_;
};

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

struct Wrong {
  std::vector<std::string> comments;
  std::string line, answer;  // "fit FILES/empty.onnx --gpu t4"; "1 FILES/empty.onnx: not an ONNX model: ..."
};

std::vector<Wrong> ReadWrong(const std::string& path) {
  std::ifstream file(path);
  std::vector<Wrong> all(1);
  for (std::string line; std::getline(file, line);) {
    Wrong& last = all.back();
    if (line.starts_with("$ ") || line == "$") {
      last.line = line.substr(std::min<size_t>(2, line.size()));
    } else if (!line.empty() && line[0] >= '0' && line[0] <= '9') {
      last.answer = line;
      all.emplace_back();
    } else {
      last.comments.push_back(line);
    }
  }
  if (all.back().line.empty()) all.pop_back();
  return all;
}

TEST_CASE("wrong input: one good line each, and no file is changed") {
  const std::string golden = std::string(VRAMPLAN_SOURCE_DIR) + "/tests/golden/wrong_input.txt";
  std::vector<Wrong> rows = ReadWrong(golden);
  CHECK(rows.size() >= 100);
  const HostileFiles files;
  const std::map<std::string, std::string> before = files.Contents();
  const std::string models = std::string(VRAMPLAN_SOURCE_DIR) + "/models/";
  FakeProbe machine({.cards = {FakeT4()}});
  std::string updated;
  for (Wrong& row : rows) {
    CAPTURE(row.line);
    const Said said = Do(Replaced(row.line, "FILES/", files.path()), &machine);
    CHECK(said.out.empty());
    CHECK((said.exit_code == 1 || said.exit_code == 2));
    CHECK(said.err.starts_with("vramplan: "));
    CHECK(std::count(said.err.begin(), said.err.end(), '\n') == 1);
    const std::string answer = std::to_string(said.exit_code) + " " +
                               Replaced(Replaced(said.err.substr(10), files.path(), "FILES/"), models, "MODELS/");
    CHECK(answer == row.answer + "\n");
    CHECK(files.Contents() == before);
    for (const std::string& comment : row.comments) updated += comment + "\n";
    updated += "$ " + row.line + "\n" + answer;
  }
  if (std::getenv("VRAMPLAN_GOLDEN") != nullptr) std::ofstream(golden) << updated;
}

}  // namespace
}  // namespace vramplan
