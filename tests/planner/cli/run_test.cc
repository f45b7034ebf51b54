#include "planner/cli/run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command_line.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScratchFile;

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// The number of the first member of this name after `from`: At(json, "\"peak\"", "reserved").
int64_t At(const std::string& json, const std::string& from, const std::string& member) {
  const size_t start = json.find(from);
  REQUIRE_MESSAGE(start != std::string::npos, from);
  const size_t at = json.find("\"" + member + "\": ", start);
  REQUIRE_MESSAGE(at != std::string::npos, member);
  return std::stoll(json.substr(at + member.size() + 4));
}

void CheckInOrder(const std::string& json, const std::vector<std::string>& members) {
  size_t at = 0;
  for (const std::string& member : members) {
    const size_t found = json.find("\n  \"" + member + "\": ", at);
    REQUIRE_MESSAGE(found != std::string::npos, member);
    at = found;
  }
}

std::string ContentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST_CASE("what the file does not say of activations is told as two numbers, and both can be asked for") {
  const std::string step = "estimate --mode infer --batch 8 " + std::string(VRAMPLAN_SOURCE_DIR) +
                           "/tests/data/zoo/densenet121.ts-train.onnx";
  const auto requested = [&](const std::string& options) {
    const Said said = Do(step + " --format json" + options);
    const size_t at = said.out.find("\"requested\": ");
    REQUIRE(at != said.out.npos);
    return std::stoll(said.out.substr(at + 13));
  };
  const int64_t likely = requested(""), none = requested(" --inplace off"), all = requested(" --inplace on");
  CHECK(all <= likely);
  CHECK(likely < none);
  const Said said = Do(step);
  CHECK(said.out.find("\n  assumed: activations such as ReLU run in place where ") != said.out.npos);
  CHECK(said.out.find(" higher; --inplace on or off") != said.out.npos);
  CHECK(Do(step + " --inplace off").out.find("run in place") == said.out.npos);
}

TEST_CASE("a quantized graph is inferred and not trained") {
  const ScratchFile file("quantized.onnx", OnnxBytes(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <float scale = {0.5}, uint8 zero = {0}> {
      q = QuantizeLinear (x, scale, zero)
      y = DequantizeLinear (q, scale, zero)
    })"));
  const Said refused = Do("estimate " + file.path());
  CHECK(refused.exit_code == 1);
  CHECK(refused.out.empty());
  CHECK(refused.err ==
        "vramplan: " + file.path() +
            ": it is quantized (node QuantizeLinear_0, QuantizeLinear): integers carry no gradient, so it cannot be "
            "trained (hint: --mode infer, or give the graph as it was before quantization)\n");
  CHECK(Do("estimate --mode infer --batch 4 " + file.path()).exit_code == 0);
  CHECK(Do("inspect " + file.path()).exit_code == 0);
}

TEST_CASE("without parameters there is nothing to train, in no verb") {
  const ScratchFile file("root.onnx", OnnxBytes("g (float[batch, 4] x) => (float[batch, 4] y) { y = Sqrt (x) }"));
  for (const char* verb : {"estimate ", "fit --gpu t4 ", "plan --gpu t4 ", "trace "}) {
    CAPTURE(verb);
    const Said refused = Do(verb + file.path());
    CHECK(refused.exit_code == 1);
    CHECK(refused.out.empty());
    const std::string hint = *verb == 'p' ? "type vramplan estimate " + file.path() + " --mode infer" : "--mode infer";
    CHECK(refused.err ==
          "vramplan: " + file.path() + ": it has no parameters, so there is nothing to train (hint: " + hint + ")\n");
  }
  CHECK(Do("estimate --mode infer --batch 4 " + file.path()).exit_code == 0);
}

TEST_CASE("weights that are inputs are refused: an export with export_params=False") {
  const ScratchFile file("inputs.onnx", OnnxBytes(R"(
    g (float[batch, 4] x, float[4, 8] `fc.weight`) => (float[batch, 8] y) {
      y = MatMul (x, `fc.weight`)
    })"));
  for (const char* mode : {"--mode train ", "--mode infer "}) {
    const Said refused = Do(std::string("estimate ") + mode + file.path());
    CHECK(refused.exit_code == 1);
    CHECK(refused.err == "vramplan: " + file.path() +
                             ": its weights are inputs (fc.weight) (hint: export it without export_params=False; with "
                             "external_data=True the .data file may be deleted)\n");
  }
}

TEST_CASE("of notes of one kind three are printed, and all of them are in the JSON") {
  const auto reshapes = [](int count, const std::string& batch = "2") {
    std::string text =
        "g (float[" + batch + ", 8] x0) => (float[" + batch + ", 8] y) <float[8, 8] w, int64[2] shape = {2, 8}> {\n";
    for (int i = 0; i < count; ++i)
      text += "x" + std::to_string(i + 1) + " = Reshape (x" + std::to_string(i) + ", shape)\n";
    return text + "y = MatMul (x" + std::to_string(count) + ", w)\n}";
  };
  const ScratchFile five("five.onnx", OnnxBytes(reshapes(5))), four("four.onnx", OnnxBytes(reshapes(4)));
  const auto lines = [](const std::string& text) {
    int count = 0;
    for (size_t at = text.find("became B"); at != text.npos; at = text.find("became B", at + 1)) ++count;
    return count;
  };
  const Said said = Do("estimate --verbose --mode infer " + five.path());
  CHECK(said.exit_code == 0);
  CHECK(lines(said.err) == 3);
  CHECK(said.err.find("became B (the file was exported with the batch 2 inside)\n"
                      "note: 2 more like the last one (hint: --format json has them all)\n") != std::string::npos);
  CHECK(lines(Do("estimate --mode infer --format json " + five.path()).out) == 5);
  CHECK(lines(Do("estimate --verbose --mode infer " + four.path()).err) == 4);

  const ScratchFile free("free.onnx", OnnxBytes(reshapes(5, "batch")));  // warnings, for the batch of the input is free
  const Said brief = Do("estimate --mode infer " + free.path());
  CHECK(lines(brief.err) == 3);
  CHECK(brief.err.find("note: 2 more like the last one") != std::string::npos);
}

TEST_CASE("a forest is not trained in steps") {
  const ScratchFile file("forest.onnx", OnnxBytes(R"(
    <ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
    agraph (float[batch, 4] x) => (float[batch, 1] y) {
      y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1> (x)
    })"));
  const Said refused = Do("estimate " + file.path());
  CHECK(refused.exit_code == 1);
  CHECK(refused.err == "vramplan: " + file.path() +
                           ": it is a classical model (node TreeEnsembleRegressor_0, TreeEnsembleRegressor): it has no "
                           "gradient, so it is not trained in steps (hint: --mode infer)\n");
  CHECK(Do("estimate --mode infer --batch 4 " + file.path()).exit_code == 0);
}

TEST_CASE("an operator that nobody knows: the file can be looked at, a plan is refused") {
  const ScratchFile file("unknown.onnx", OnnxBytes(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      a = com.example.Twice (x)
      y = Relu (a)
    })"));
  CHECK(Do("inspect " + file.path()).exit_code == 0);
  const Said refused = Do("estimate --mode infer " + file.path());
  CHECK(refused.exit_code == 1);
  CHECK(refused.err.find(
            "the operator com.example.Twice is not known, and the file declares no shape for its output a") !=
        std::string::npos);
}

TEST_CASE("a length of 0 that the model cannot have: the option is named") {
  const ScratchFile file("empty_axis.onnx", OnnxBytes(R"(
    agraph (float[batch, n, 4] x) => (float[batch, n, 4] y) {
      shape = Constant <value = int64[4] {-1, 2, 4, 0}> ()
      y = Reshape (x, shape)
    })"));
  const Said refused = Do("estimate --mode infer --dim n=0 " + file.path());
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.starts_with("vramplan: --dim n=0: the model cannot compute with a length of 0: node "));
  CHECK(refused.err.ends_with(" (hint: type --dim n=1 or more)\n"));
}

TEST_CASE("bad input: one line on stderr that says what to type, nothing on stdout, the right exit code") {
  const ScratchFile text("text.onnx", "<html>not a model</html>"), empty("empty.onnx", "");
  const ScratchFile half("half.onnx",
                         ContentsOf(std::string(VRAMPLAN_SOURCE_DIR) + "/models/resnet50.onnx").substr(0, 3000));
  struct Row {
    std::string line;
    int exit_code;
    const char* says;
  };
  const Row kRows[] = {
      {"estimate nowhere.onnx", 1, "nowhere.onnx: cannot be read"},
      {"estimate " + text.path(), 1, "not an ONNX model"},
      {"estimate " + empty.path() + " --format json", 1, "it is empty"},
      {"fit " + half.path() + " --gpu t4 --format json", 1, "truncated"},
      {"inspect " + half.path(), 1, "truncated"},
      {"estimate MODELS/bert_base.onnx --format json", 1, "\"sequence\" is not bound (hint: add --dim sequence=128)"},
      {"estimate MODELS/mlp.onnx --dim foo=3", 2, "the file has no dim of this name"},
      {"estimate MODELS/mlp.onnx --precision fp8", 2, "is not one of fp64, fp32"},
      {"estimate MODELS/mlp.onnx --out /nowhere/at/all", 1, "/nowhere/at/all: cannot be written"},
      {"estimate MODELS/mlp.onnx --dim batch=4 --batch 8", 2,
       "--dim batch: its batch is 4, and --batch says 8 (hint: give both the same batch, or leave one of them out)"},
      {"fit MODELS/mlp.onnx --gpu t4 --reserve 20GiB", 2,
       "--reserve: 20.00 GiB for others leaves nothing of the 14.56 GiB (Tesla T4) (hint: type a smaller size"},
      {"fit MODELS/mlp.onnx --gpu a100", 2, "a100-40gb or a100-80gb"},
      {"fit MODELS/mlp.onnx --gpu t5", 2, "did you mean t4"},
      {"fit MODELS/mlp.onnx", 2, "--gpu t4"},
      {"estimate MODELS/resnet50.onnx --checkpoint layer5", 2,
       "--checkpoint: \"layer5\" is not a module of the model (hint: did you mean"},
      {"fit MODELS/gpt_small.onnx --dim sequence=64 --gpu t4 --checkpoint h", 2,
       "\"h\" only holds modules and is never called (hint: type --checkpoint h.0, h.1 or h.2)"},
      {"gpus banana", 2, "no card has the name or the size"},
      {"frobnicate", 2,
       "is not one of fit, run, plan, estimate, explain, sweep, inspect, gpus, models, ui, diff, probe, calibrate, "
       "validate, watch, trace, compare, replay, solve or check"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.line);
    const Said said = Do(row.line);
    CHECK_EQ(said.exit_code, row.exit_code);
    CHECK_EQ(said.out, "");
    CAPTURE(said.err);
    CHECK(said.err.find(row.says) != std::string::npos);
    CHECK(said.err.find(" (hint: ") != std::string::npos);
    CHECK_EQ(said.err.find('\n'), said.err.size() - 1);
  }
}

TEST_CASE("the device is a band around the peak; a given context and workspace leave it no width") {
  const std::string free = Do("estimate MODELS/resnet50.onnx --batch 4 --format json").out;
  const int64_t likely = At(free, "\"device\": {", "likely");
  CHECK_EQ(likely, At(free, "\"peak\"", "device"));
  CHECK_LT(At(free, "\"device\": {", "low"), likely);
  CHECK_GT(At(free, "\"device\": {", "high"), likely);
  CHECK_GT(At(free, "\"cudnn_workspaces\"", "high"), 0);
  const std::string given =
      Do("estimate MODELS/resnet50.onnx --batch 4 --format json --context 0 --cudnn-workspace 0").out;
  CHECK_EQ(At(given, "\"device\": {", "low"), At(given, "\"peak\"", "reserved"));
  CHECK_EQ(At(given, "\"device\": {", "high"), At(given, "\"peak\"", "reserved"));
  CHECK_EQ(given.find("cudnn_workspaces"), std::string::npos);
}

TEST_CASE("fit is tight where only the likely end fits: exit code 0, and said loudly") {
  const Said likely = Do("estimate MODELS/mlp.onnx --batch 32 --gpu t4 --format json");
  const int64_t enough = At(likely.out, "\"device\": {", "likely"), safe = At(likely.out, "\"device\": {", "high");
  const auto fit = [](int64_t bytes) {
    return Do("fit MODELS/mlp.onnx --batch 32 --gpu t4 --gpu-memory " + std::to_string(bytes));
  };
  CHECK_EQ(fit(safe).exit_code, 0);
  CHECK(FirstLine(fit(safe).out).find(" fits on ") != std::string::npos);
  CHECK_EQ(fit(enough + (8 << 20)).exit_code, 0);
  CHECK(FirstLine(fit(enough + (8 << 20)).out).find(" is tight on ") != std::string::npos);
  CHECK(fit(enough + (8 << 20)).out.find("\n  tight: it may need ") != std::string::npos);
  CHECK_EQ(fit(At(likely.out, "\"peak\"", "requested")).exit_code, 3);
}

TEST_CASE("estimate --segments draws the segments at the peak") {
  const Said said = Do("estimate MODELS/mlp.onnx --batch 32 --segments");
  CHECK(said.out.find("\nsegments at the peak: ") != std::string::npos);
  CHECK(said.out.find(" inside live blocks: ") != std::string::npos);
  const std::string json = Do("estimate MODELS/mlp.onnx --batch 32 --segments --format json").out;
  CHECK(json.find("\"segments\": [") != std::string::npos);
  CHECK(json.find("\"pool\": \"small\"") != std::string::npos);
  CHECK_EQ(Do("estimate MODELS/mlp.onnx --batch 32 --format json").out.find("\"segments\""), std::string::npos);
}

TEST_CASE("estimate: the members of the contract, and levels and sums that always hold") {
  for (const char* options :
       {"MODELS/mlp.onnx --batch 64", "MODELS/resnet50.onnx --batch 4 --optimizer sgd-momentum",
        "MODELS/unet.onnx --mode infer --batch 2", "MODELS/bert_base.onnx --dim sequence=32 --batch 3",
        "MODELS/gpt_small.onnx --dim sequence=64 --optimizer adamw --gpu rtx-3090"}) {
    CAPTURE(options);
    const Said said = Do(std::string("estimate --format json ") + options);
    REQUIRE_EQ(said.exit_code, 0);
    CHECK_EQ(said.err, "");
    CheckInOrder(said.out, {"schema", "model", "spec", "peak", "steps", "categories", "layers", "notes"});
    const int64_t requested = At(said.out, "\"peak\"", "requested"), allocated = At(said.out, "\"peak\"", "allocated");
    const int64_t reserved = At(said.out, "\"peak\"", "reserved"), device = At(said.out, "\"peak\"", "device");
    CHECK_LE(requested, allocated);
    CHECK_LE(allocated, reserved);
    CHECK_LT(reserved, device);
    int64_t sum = 0;
    for (const char* category : {"parameters", "buffers", "gradients", "optimizer_state", "activations", "temporaries",
                                 "inputs", "workspace", "slack"}) {
      sum += At(said.out, "\"categories\"", category);
    }
    CHECK_EQ(sum, allocated);
    CHECK_GE(At(said.out, "\"categories\"", "parameters"), At(said.out, "\"model\"", "parameter_bytes"));
  }
}

TEST_CASE("estimate: an inference says how far it depends on names that the file does not say") {
  const Said infer = Do("estimate MODELS/unet.onnx --batch 2 --mode infer");
  CHECK(infer.out.find("not in the file: which tensors the code keeps in a variable (otherwise the peak is ") !=
        std::string::npos);
  const Said train = Do("estimate MODELS/unet.onnx --batch 2");
  CHECK_EQ(train.out.find("not in the file: which tensors"), std::string::npos);
}

TEST_CASE("an answer is brief, and --verbose is not; what moves it stands right under the verdict") {
  for (const std::string line :
       {"fit MODELS/unet.onnx --gpu t4", "estimate MODELS/unet.onnx --batch 8",
        "fit MODELS/resnet50.onnx --gpu t4 --mode infer", "fit MODELS/unet.onnx --gpu t4 --batch 38",
        "fit MODELS/gpt_small.onnx --gpu t4 --dim sequence=512", "estimate MODELS/unet.onnx --batch 16 --eval-batch 96",
        "estimate MODELS/gpt_small.onnx --dim sequence=512 --batch 4 --gpu t4",
        "estimate MODELS/bert_base.onnx --dim sequence=128 --batch 4"}) {
    CAPTURE(line);
    const Said brief = Do(line), whole = Do(line + " --verbose");
    CHECK_LE(std::count(brief.out.begin(), brief.out.end(), '\n'), 20);
    CHECK_GT(std::count(whole.out.begin(), whole.out.end(), '\n'), 20);
    CHECK_EQ(FirstLine(brief.out), FirstLine(whole.out));
    CHECK_EQ(brief.err.find("note: "), brief.err.find("note: --verbose prints "));
  }
}

TEST_CASE("a file whose batch norms were folded trains like the one whose were not, and says what it put back") {
  const std::string zoo = std::string(VRAMPLAN_SOURCE_DIR) + "/tests/data/zoo/";
  const std::string options = " --gpu-memory 14.56GiB --cudnn-workspace 0 --format json";
  const Said folded = Do("fit " + zoo + "resnet18.ts-eval.onnx" + options);
  const Said trained = Do("fit " + zoo + "resnet18.ts-train.onnx" + options);
  CHECK_EQ(At(folded.out, "\"schema\"", "largest_batch"), At(trained.out, "\"schema\"", "largest_batch"));
  CHECK(folded.out.find("\"code\": \"folded-batch-norms\"") != std::string::npos);
  CHECK_EQ(trained.out.find("\"code\": \"folded-batch-norms\""), std::string::npos);
  const Said off = Do("fit " + zoo + "resnet18.ts-eval.onnx" + options + " --assume-batchnorm off");
  CHECK_GT(At(off.out, "\"schema\"", "largest_batch"), At(trained.out, "\"schema\"", "largest_batch"));
  CHECK(off.out.find("\"code\": \"folded-batch-norm\"") != std::string::npos);
  // Without them it would only take less: no doubt above the table.
  CHECK(testing::Says(Do("fit " + zoo + "resnet18.ts-eval.onnx --gpu t4").out,
                      "requested, if this is not so: the 20 batch norms that the export folded"));
}

TEST_CASE("fit: a batch is safe where it fits at the high end, and the next one is not") {
  for (const char* options :
       {"MODELS/resnet50.onnx --gpu t4", "MODELS/bert_base.onnx --dim sequence=128 --gpu rtx-3060",
        "MODELS/resnet50.onnx --gpu t4 --framework onnxruntime"}) {
    CAPTURE(options);
    const std::string fit = std::string("fit --format json ") + options;
    const Said said = Do(fit);
    const int64_t safe = At(said.out, "\"schema\"", "safe_batch");
    CHECK_LE(safe, At(said.out, "\"schema\"", "largest_batch"));
    const auto first = [&](int64_t batch) {
      return FirstLine(Do(std::string("fit ") + options + " --batch " + std::to_string(batch)).out);
    };
    CHECK(first(safe).find(" fits on ") != std::string::npos);
    CHECK(first(safe + 1).find(" fits on ") == std::string::npos);
  }
}

TEST_CASE("fit: the largest batch fits and the next one does not, by the exit codes of asking for them") {
  for (const char* options : {"MODELS/resnet50.onnx --gpu t4", "MODELS/unet.onnx --gpu rtx-3060",
                              "MODELS/mlp.onnx --gpu-memory 600MiB --context 100MiB --reserve 50MiB"}) {
    CAPTURE(options);
    const std::string fit = std::string("fit --format json ") + options;
    const Said said = Do(fit);
    REQUIRE_EQ(said.exit_code, 0);
    CheckInOrder(said.out, {"schema", "verdict", "gpu", "batch", "peak", "largest_batch", "first_failing_batch",
                            "binding", "ladder", "cards", "notes"});
    const int64_t largest = At(said.out, "\"schema\"", "largest_batch");
    CHECK_GT(largest, 1);
    CHECK_EQ(At(said.out, "\"schema\"", "first_failing_batch"), largest + 1);
    const Said fits = Do(fit + " --batch " + std::to_string(largest));
    CHECK_EQ(fits.exit_code, 0);
    CHECK_LE(At(fits.out, "\"peak\"", "device") + At(fits.out, "\"gpu\"", "reserve_bytes"),
             At(fits.out, "\"gpu\"", "usable_bytes"));
    const Said fails = Do(fit + " --batch " + std::to_string(largest + 1));
    CHECK_EQ(fails.exit_code, 3);
    CHECK(fails.out.find("\"verdict\": \"does-not-fit\"") != std::string::npos);
    CHECK_GT(At(fails.out, "\"peak\"", "device") + At(fails.out, "\"gpu\"", "reserve_bytes"),
             At(fails.out, "\"gpu\"", "usable_bytes"));
  }
}

TEST_CASE("fit: a card that is too small, and every card at once") {
  const Said small = Do("fit MODELS/resnet50.onnx --gpu-memory 500MiB");
  CHECK_EQ(small.exit_code, 3);
  CHECK(FirstLine(small.out).find("resnet50.onnx training at batch 1 does not fit on a card of 500.00 MiB: needs ") ==
        0);
  const Said all = Do("fit MODELS/mlp.onnx --gpu all --batch 8");
  CHECK_EQ(all.exit_code, 0);
  CHECK(FirstLine(all.out).find("mlp.onnx trains at batch 8 on ") == 0);
  CHECK(all.out.find("\n  rtx-4090 ") != std::string::npos);
}

TEST_CASE("a bigger batch needs no less; inference needs less than training") {
  int64_t last = 0;
  for (const int batch : {1, 2, 8, 32}) {
    const Said said = Do("estimate MODELS/resnet50.onnx --format json --batch " + std::to_string(batch));
    REQUIRE_EQ(said.exit_code, 0);
    const int64_t requested = At(said.out, "\"peak\"", "requested");
    CHECK_GE(requested, last);
    last = requested;
  }
  const Said infer = Do("estimate MODELS/resnet50.onnx --format json --mode infer --batch 32");
  CHECK_LT(At(infer.out, "\"peak\"", "requested"), last);
  CHECK_EQ(infer.out.find("\"step\": 2,\n      \"requested\""), std::string::npos);  // one step
}

TEST_CASE("--checkpoint: the plan line and the ladder say what is checkpointed, and the step needs less") {
  const std::string line = "estimate MODELS/gpt_small.onnx --dim sequence=256 --optimizer sgd --batch 8";
  const std::string blocks = " --checkpoint h.0 --checkpoint h.1 --checkpoint h.2 --checkpoint h.3 --checkpoint h.4";
  const Said kept = Do(line + " --format json"), again = Do(line + blocks + " --format json");
  REQUIRE_EQ(again.exit_code, 0);
  CHECK_EQ(again.err, "");
  CHECK_EQ(kept.out.find("\"checkpoint\""), std::string::npos);
  const size_t at = again.out.find("\"checkpoint\": {");
  REQUIRE(at != std::string::npos);
  const std::string row = again.out.substr(at, again.out.find('}', at) - at);
  for (const char* text : {"\"h.0\"", "\"h.4\"", "\"given\": true"}) CHECK(row.find(text) != std::string::npos);
  CHECK_LT(At(again.out, "\"peak\"", "requested"), At(kept.out, "\"peak\"", "requested"));
  CHECK(Do(line + blocks).out.find("checkpoint h.0 h.1 h.2 h.3 and 1 more") != std::string::npos);
  const Said fit = Do("fit MODELS/gpt_small.onnx --dim sequence=256 --gpu-memory 4GiB --verbose" + blocks);
  CHECK(fit.out.find("fp32       5 modules") != std::string::npos);
}

TEST_CASE("inspect speaks of a file whose dims are not bound, and dumps what is asked for") {
  const Said unbound = Do("inspect MODELS/bert_base.onnx");
  CHECK_EQ(unbound.exit_code, 0);
  CHECK(FirstLine(unbound.out).find("bert_base.onnx: ") == 0);
  CHECK(unbound.err.find("--dim sequence=128") != std::string::npos);
  CHECK(unbound.out.find("[batch, sequence]") != std::string::npos);
  const Said bound = Do("inspect MODELS/bert_base.onnx --dim sequence=128 --format json");
  CHECK_EQ(bound.exit_code, 0);
  CheckInOrder(bound.out, {"schema", "file", "opset", "nodes", "inputs", "outputs", "batch_symbol", "parameters",
                           "operators", "tensors", "notes"});
  CHECK_EQ(Do("inspect MODELS/bert_base.onnx --dump shapes").exit_code, 1);
  const Said holds = Do("estimate MODELS/mlp.onnx --dump holds");
  CHECK_EQ(holds.exit_code, 0);
  CHECK(holds.out == Do("inspect MODELS/mlp.onnx --dump holds").out);
  CHECK(holds.out.find("goes after") != std::string::npos);
  const Said not_there = Do("estimate MODELS/mlp.onnx --dump layers");
  CHECK_EQ(not_there.exit_code, 2);
  CHECK(not_there.err.find("estimate prints holds alone") != std::string::npos);
  const Said layers = Do("inspect MODELS/mlp.onnx --dump layers");
  CHECK_EQ(layers.exit_code, 0);
  CHECK(layers.out.find(" linear ") != std::string::npos);
}

TEST_CASE("inspect shows how long at most what data decides can be, and that it is a bound") {
  const ScratchFile file("picked.onnx", OnnxBytes(R"(
    agraph (float[batch, 9] x) => (int64[2, n] y) {
      y = NonZero (x)
    })"));
  const Said text = Do("inspect --dump shapes " + file.path());
  CHECK(text.out.find("shapes: 1 of 2 tensors are not known, 1 of these have upper bounds (<=): y [2, <=9*batch]\n") !=
        std::string::npos);
  CHECK(text.out.find("[2, <=9*batch]\n", text.out.find("\n  tensor")) != std::string::npos);
  const Said json = Do("inspect --format json " + file.path());
  std::string packed = json.out;
  packed.erase(std::remove_if(packed.begin(), packed.end(), [](char c) { return c == ' ' || c == '\n'; }),
               packed.end());
  CHECK(packed.find(R"("name":"y","type":"int64","shape":[2,null],"at_most":[2,"9*batch"])") != std::string::npos);
  CHECK(packed.find(R"("name":"x","type":"float32","shape":["batch",9]})") != std::string::npos);
}

TEST_CASE("no text answer is wider than 100 columns") {
  for (const char* line : {"fit MODELS/bert_base.onnx --gpu t4 --dim sequence=64", "estimate MODELS/unet.onnx", "gpus",
                           "inspect MODELS/resnet50.onnx", "fit MODELS/mlp.onnx --gpu all"}) {
    CAPTURE(line);
    std::istringstream lines(Do(line).out);
    std::string text;
    std::getline(lines, text);  // the verdict is one line, however long
    while (std::getline(lines, text)) {
      CAPTURE(text);
      const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
      CHECK_LE(text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), continues)), 100);
    }
  }
}

TEST_CASE("--out writes the answer to a file and nothing to the terminal") {
  const ScratchFile file("answer.json", "");
  const Said said = Do("estimate MODELS/mlp.onnx --format json --out " + file.path());
  CHECK_EQ(said.exit_code, 0);
  CHECK_EQ(said.out, "");
  CHECK_EQ(ContentsOf(file.path()), Do("estimate MODELS/mlp.onnx --format json").out);
}

}  // namespace
}  // namespace vramplan
