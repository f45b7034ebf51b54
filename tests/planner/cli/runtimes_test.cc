// --framework of other runtimes, as it is typed.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/command_line.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;

int64_t RuntimesAt(const std::string& json, const std::string& from, const std::string& member) {
  const size_t start = json.find(from);
  REQUIRE_MESSAGE(start != std::string::npos, from);
  const size_t at = json.find("\"" + member + "\": ", start);
  REQUIRE_MESSAGE(at != std::string::npos, member);
  return std::stoll(json.substr(at + member.size() + 4));
}

TEST_CASE("what does not go together is one line that says what to type") {
  struct Row {
    const char* line;
    int exit_code;
    const char* says;
  };
  const Row rows[] = {
      {"estimate MODELS/resnet50.onnx --framework caffe", 2,
       "\"caffe\" is not one of pytorch, onnxruntime, tensorflow or jax"},
      {"plan MODELS/resnet50.onnx --gpu t4 --framework jax", 2,
       "--framework: plan works with PyTorch's checkpoints, autocast and fused optimizers, and models none of these in "
       "jax (hint: type vramplan fit FILE --framework jax)"},
      {"trace MODELS/resnet50.onnx --framework onnxruntime", 2,
       "vramplan knows every single allocation of a step only for PyTorch, not for onnxruntime"},
      {"estimate MODELS/resnet50.onnx --ort-arena kSameAsRequested", 2,
       "--ort-arena: pytorch has no such setting (hint: leave it out, or type --framework onnxruntime)"},
      {"estimate MODELS/resnet50.onnx --framework onnxruntime --ort-arena kBig", 2,
       "is not one of kNextPowerOfTwo or kSameAsRequested"},
      {"estimate MODELS/resnet50.onnx --framework onnxruntime --mode train", 2, "onnxruntime only infers"},
      {"estimate MODELS/resnet50.onnx --framework onnxruntime --precision amp-fp16", 2, "the file's own types"},
      {"estimate MODELS/resnet50.onnx --framework jax --mem-fraction 1.5", 2, "is not a share of the card"},
      {"estimate MODELS/resnet50.onnx --framework tensorflow --donate on", 2, "tensorflow has no such setting"},
      {"estimate MODELS/resnet50.onnx --framework tensorflow --allocator-conf expandable_segments:True", 2,
       "tensorflow has no such setting"},
      {"estimate MODELS/resnet50.onnx --framework onnxruntime --cudnn-conv-use-max-workspace yes", 2,
       "is not one of 0 or 1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Said said = Do(row.line);
    CHECK_EQ(said.exit_code, row.exit_code);
    CHECK_MESSAGE(said.err.find(row.says) != std::string::npos, said.err);
    CHECK(said.out.empty());
  }
}

TEST_CASE("onnxruntime: inference of the file, two runs, a band, and the arena's growth") {
  const Said text = Do("estimate MODELS/resnet50.onnx --framework onnxruntime --batch 8 --gpu t4");
  CHECK(text.exit_code == 0);
  CHECK_MESSAGE(text.FirstLine().find(" inference at batch 8 fits on Tesla T4") != std::string::npos, text.FirstLine());
  CHECK_MESSAGE(text.FirstLine().ends_with("reserved by ONNX Runtime"), text.FirstLine());
  CHECK(text.out.find("ort-arena kNextPowerOfTwo") != std::string::npos);
  const std::string line = "estimate MODELS/resnet50.onnx --framework onnxruntime --batch 8 --format json";
  const std::string doubling = Do(line).out, exact = Do(line + " --ort-arena kSameAsRequested").out;
  // Doubling regions have room for the second run's block; those of one tensor each do not (269,484,032 and 286,663,424
  // B with ONNX Runtime 1.31).
  CHECK(RuntimesAt(exact, "\"peak\"", "reserved") > RuntimesAt(doubling, "\"peak\"", "reserved"));
  CHECK(RuntimesAt(exact, "\"peak\"", "requested") == RuntimesAt(doubling, "\"peak\"", "requested"));
  for (const std::string& json : {doubling, exact}) {
    const int64_t low = RuntimesAt(json, "\"parts\"", "low"), likely = RuntimesAt(json, "\"parts\"", "likely"),
                  high = RuntimesAt(json, "\"parts\"", "high");
    CHECK(low < likely);
    CHECK(likely < high);
    CHECK(json.find("\"step\": 2") != std::string::npos);
    int64_t sum = 0;
    for (const char* category : {"parameters", "buffers", "gradients", "optimizer_state", "activations", "temporaries",
                                 "inputs", "workspace", "slack"}) {
      sum += RuntimesAt(json, "\"categories\"", category);
    }
    CHECK(sum == RuntimesAt(json, "\"peak\"", "allocated"));
  }
}

TEST_CASE("onnxruntime: fit finds the largest batch of the file's types and of halves") {
  const Said said = Do("fit MODELS/resnet50.onnx --framework onnxruntime --gpu t4 --format json");
  CHECK(said.exit_code == 0);
  const int64_t own = RuntimesAt(said.out, "\"ladder\"", "largest_batch");
  const int64_t halves = RuntimesAt(said.out, "\"precision\": \"fp16\"", "largest_batch");
  CHECK(own > 100);
  CHECK(halves > own);
  CHECK(own == RuntimesAt(said.out, "\"margin_bytes\"", "largest_batch"));
  const std::string batch = "fit MODELS/resnet50.onnx --framework onnxruntime --gpu t4 --batch ";
  CHECK(Do(batch + std::to_string(own)).exit_code == 0);
  CHECK(Do(batch + std::to_string(own + 1)).exit_code == 3);
  const Said limited = Do(batch + "64 --gpu-mem-limit 400MiB");
  CHECK(limited.exit_code == 3);
  CHECK(limited.out.find("its arena may take 400.00 MiB: gpu_mem_limit") != std::string::npos);
}

TEST_CASE("tensorflow and jax: a pool that is taken whole, a wide band, and a warning of how little was measured") {
  for (const char* name : {"tensorflow", "jax"}) {
    CAPTURE(name);
    const Said said = Do("fit MODELS/resnet50.onnx --gpu t4 --batch 8 --framework " + std::string(name));
    CHECK(said.exit_code == 0);
    CHECK(said.out.find("for any model, because the whole pool is taken at the start") != std::string::npos);
    CHECK(said.err.find(": the tensors are those of PyTorch") != std::string::npos);
    const std::string json =
        Do("estimate MODELS/resnet50.onnx --gpu t4 --batch 8 --format json --framework " + std::string(name)).out;
    const int64_t likely = RuntimesAt(json, "\"peak\"", "reserved");
    CHECK(RuntimesAt(json, "\"parts\"", "low") == likely / 2);
    CHECK(RuntimesAt(json, "\"parts\"", "high") == likely / 2 * 3 + likely % 2);
    CHECK(json.find("\"taken_whole\": true") != std::string::npos);
    // A smaller pool holds a smaller batch.
    const std::string fit = "fit MODELS/resnet50.onnx --gpu t4 --format json --framework " + std::string(name);
    CHECK(RuntimesAt(Do(fit + " --mem-fraction 0.3").out, "\"margin_bytes\"", "largest_batch") <
          RuntimesAt(Do(fit).out, "\"margin_bytes\"", "largest_batch"));
  }
  const std::string jax = "estimate MODELS/resnet50.onnx --framework jax --batch 8 --format json";
  CHECK(RuntimesAt(Do(jax + " --donate on").out, "\"peak\"", "requested") <
        RuntimesAt(Do(jax).out, "\"peak\"", "requested"));
}

}  // namespace
}  // namespace vramplan
