// What `estimate` costs for chains of trained layers, to hold that it is linear: processor time of the whole program, the
// best of several runs, and against the shortest chain.
//
//   vramplan_chain_bench build/release/vramplan
//     2000 nodes     33.5 ms
//    20000 nodes    390.0 ms   11.6 times that of 2000
//   100000 nodes   3325.4 ms   99.3 times that of 2000
//
// A node is a linear layer of 64 x 64 or the ReLU behind it. Beyond a thousand the tape of a step no longer lies in a
// processor's cache.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>

namespace vramplan {
namespace {

// A field of bytes, behind its tag and its length.
void AppendBytes(uint32_t field, const std::string& bytes, std::string* message) {
  message->push_back(static_cast<char>(field << 3 | 2));
  for (size_t length = bytes.size();; length >>= 7) {
    message->push_back(static_cast<char>((length & 127) | (length > 127 ? 128 : 0)));
    if (length <= 127) break;
  }
  *message += bytes;
}

std::string Number(uint32_t field, uint32_t value) {  // below 128
  return {static_cast<char>(field << 3), static_cast<char>(value)};
}

// FLOAT["batch", 64]; field numbers of onnx/onnx.proto.
std::string Declared(const std::string& name) {
  std::string batch, width, shape, tensor = Number(1, 1), type, value;
  AppendBytes(2, "batch", &batch);
  width = Number(1, 64);
  AppendBytes(1, batch, &shape);
  AppendBytes(1, width, &shape);
  AppendBytes(2, shape, &tensor);
  AppendBytes(1, tensor, &type);
  AppendBytes(1, name, &value);
  AppendBytes(2, type, &value);
  return value;
}

std::string Node(const std::string& op, const std::string& name, std::initializer_list<std::string> inputs,
                 const std::string& output) {
  std::string node;
  for (const std::string& input : inputs) AppendBytes(1, input, &node);
  AppendBytes(2, output, &node);
  AppendBytes(3, name, &node);
  AppendBytes(4, op, &node);
  return node;
}

// A weight without its bytes.
std::string Weight(const std::string& name) {
  constexpr uint32_t kExternal = 1;
  std::string tensor = Number(1, 64) + Number(1, 64) + Number(2, 1);
  AppendBytes(8, name, &tensor);
  return tensor + Number(14, kExternal);
}

std::string Chain(int nodes) {
  std::string graph, opset = Number(2, 17), model = Number(1, 8);
  std::string last = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string number = std::to_string(i), output = "v" + number;
    if (i % 2 == 0) {
      std::string transposed, gemm = Node("Gemm", "/l" + number + "/Gemm", {last, "l" + number + ".weight"}, output);
      AppendBytes(1, "transB", &transposed);
      AppendBytes(5, transposed + Number(3, 1), &gemm);
      AppendBytes(5, Weight("l" + number + ".weight"), &graph);
      AppendBytes(1, gemm, &graph);
    } else {
      AppendBytes(1, Node("Relu", "/r" + number + "/Relu", {last}, output), &graph);
    }
    last = output;
  }
  AppendBytes(2, "chain", &graph);
  AppendBytes(11, Declared("x"), &graph);
  AppendBytes(12, Declared(last), &graph);
  AppendBytes(2, "pytorch", &model);
  AppendBytes(7, graph, &model);
  AppendBytes(8, opset, &model);
  return model;
}

// Milliseconds of processor time; nothing when it fails.
std::optional<double> Run(const char* program, const std::string& file) {
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int stream : {1, 2}) posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_WRONLY, 0);
  const char* words[] = {program, "estimate", file.c_str(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program, &quiet, nullptr, const_cast<char**>(words), environ);
  posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  rusage used = {};
  if (failed != 0 || wait4(child, &status, 0, &used) != child || status != 0) return std::nullopt;
  const auto milliseconds = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
}

}  // namespace
}  // namespace vramplan

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: vramplan_chain_bench PROGRAM\n");
    return 2;
  }
  const std::string file =
      (std::filesystem::temp_directory_path() / ("chain" + std::to_string(getpid()) + ".onnx")).string();
  double shortest = 0;
  int failed = 0;
  for (const auto& [nodes, runs] : {std::pair{2000, 20}, {20000, 7}, {100000, 3}}) {
    std::ofstream(file, std::ios::binary) << vramplan::Chain(nodes);
    std::optional<double> best;
    for (int i = 0; i < runs; ++i) {
      const auto one = vramplan::Run(argv[1], file);
      if (one) best = std::min(best.value_or(*one), *one);
    }
    failed += best ? 0 : 1;
    if (!best) std::printf("%6d nodes   failed\n", nodes);
    if (!best) continue;
    std::printf("%6d nodes %8.1f ms", nodes, *best);
    if (shortest > 0) std::printf("  %5.1f times that of 2000", *best / shortest);
    std::printf("\n");
    std::fflush(stdout);
    if (shortest == 0) shortest = *best;
  }
  std::filesystem::remove(file);
  return failed;
}
