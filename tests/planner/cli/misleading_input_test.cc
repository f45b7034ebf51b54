// Inputs that mislead, and words that people type: each is read as it was meant, or refused, and what was done is said.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/command_line.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScratchFile;

TEST_CASE("sizes: decimal units and the sizes on boxes are said") {
  const auto memory = [](const std::string& typed) {
    return Do("fit MODELS/mlp.onnx --gpu-memory " + typed + " --format json");
  };
  const auto note = [](const Said& said, const char* code) {
    return said.out.find("\"" + std::string(code) + "\"") != said.out.npos;
  };
  const Said decimal = memory("16GB"), binary = memory("16GiB"), odd = memory("14.56GiB");
  CHECK(decimal.out.find("\"value\": 16000000000") != decimal.out.npos);
  CHECK(binary.out.find("\"value\": 17179869184") != binary.out.npos);
  CHECK((note(decimal, "decimal-size") && note(decimal, "marketed-size")));
  CHECK((!note(binary, "decimal-size") && note(binary, "marketed-size")));
  CHECK((!note(odd, "decimal-size") && !note(odd, "marketed-size")));
  const Said text = Do("fit MODELS/mlp.onnx --gpu-memory 16GB");
  CHECK(text.err.find("note: --gpu-memory: 16GB is decimal: 16000000000 bytes, 14.90 GiB (hint: type 16GiB for powers "
                      "of two)\n") != text.err.npos);
  CHECK(text.err.find("note: --gpu-memory: a card that is sold with 16 GB gives a program less: 14.56 GiB (t4) to ") !=
        text.err.npos);
  const Said more = Do("fit MODELS/mlp.onnx --gpu t4 --gpu-memory 16GiB");
  CHECK(more.err.find("warning: --gpu-memory: 16.00 GiB is more than a program gets on a Tesla T4: 14.56 GiB (hint: "
                      "leave --gpu-memory out)\n") != more.err.npos);
  // No Tesla T4 has so much.
  for (const char* verb : {"fit", "estimate", "plan"}) {
    const std::string asked = std::string(verb) + " MODELS/mlp.onnx --batch 8";
    CHECK(Do(asked + " --gpu t4 --gpu-memory 12GiB").FirstLine().find("on Tesla T4 (its memory as given)") !=
          std::string::npos);
    CHECK(Do(asked + " --gpu t4").FirstLine().find("as given") == std::string::npos);
    CHECK(Do(asked + " --gpu-memory 12GiB").FirstLine().find("as given") == std::string::npos);
  }
  CHECK(Do("replay " + std::string(VRAMPLAN_SOURCE_DIR) +
           "/tests/data/truth/events/mlp.b64.adam-foreach.csv.gz --gpu-memory 8GB")
            .err.find("8GB is decimal: 8000000000 bytes, 7.45 GiB") != std::string::npos);
  CHECK(Do("fit MODELS/mlp.onnx --gpu '16GB T4'").FirstLine() == Do("fit MODELS/mlp.onnx --gpu t4").FirstLine());
}

TEST_CASE("exit codes: what is asked does not fit, is tight, or is a survey") {
  for (const char* form : {"", " --format json", " --format html"}) {
    CAPTURE(form);
    CHECK(Do("estimate MODELS/unet.onnx --gpu t4 --batch 64" + std::string(form)).exit_code == 3);
    CHECK(Do("estimate MODELS/unet.onnx --gpu t4 --batch 8" + std::string(form)).exit_code == 0);
  }
  CHECK(Do("estimate MODELS/unet.onnx --batch 64").exit_code == 0);  // of no card
  const Said tight = Do("fit MODELS/unet.onnx --gpu t4 --batch 38 --format json");
  CHECK(testing::Says(tight.out, "\"verdict\": \"tight\""));
  CHECK(tight.exit_code == 0);
  CHECK(Do("estimate MODELS/unet.onnx --gpu t4 --batch 38").exit_code == 0);
  CHECK(Do("sweep MODELS/unet.onnx --gpu t4 --over batch=64,128").exit_code == 0);
}

TEST_CASE("an answer in the place of a model is told from a config.json") {
  const ScratchFile run("answer.json", R"({"schema": "vramplan.run/1", "verdict": "fits"})");
  const Said said = Do("fit " + run.path() + " --gpu t4");
  CHECK(said.exit_code == 1);
  CHECK(testing::Says(said.err,
                      "it is an answer (vramplan.run/1), and no model (hint: vramplan run --record FILE.csv "
                      "writes what fit, plan and trace read)"));
  const ScratchFile fit("fit.json", Do("fit MODELS/mlp.onnx --gpu t4 --format json").out);
  CHECK(testing::Says(Do("plan " + fit.path() + " --gpu t4").err,
                      "it is an answer (vramplan.fit/1), and no model (hint: give the model that it answers for"));
}

TEST_CASE("gpus filters by the size on the box, too") {
  const std::string all = Do("gpus 24").out;
  CHECK(all.find("rtx-3090 ") != all.npos);
  CHECK(all.find("a10g") != all.npos);
  CHECK(all.find("rtx-4080") == all.npos);
  CHECK(Do("gpus 24GB").out == all);
  CHECK(Do("gpus 16").out.find("1660") == std::string::npos);  // by name it would be one
  CHECK(Do("gpus 3080").out.find("rtx-3080-10gb") != std::string::npos);
}

TEST_CASE("words that people type for help and the version") {
  CHECK(Do("version").out == Do("--version").out);
  CHECK(Do("-V").out == Do("--version").out);
  CHECK(Do("fit help").out == Do("fit --help").out);
  CHECK(Do("help fit").out == Do("fit --help").out);
  CHECK(Do("help").out == Do("--help").out);
}

TEST_CASE("a length of 0 is refused where it leaves nothing to compute, and taken where a cache is empty") {
  const Said refused = Do("estimate MODELS/bert_base.onnx --dim sequence=0");
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  CHECK(refused.err.starts_with("vramplan: --dim sequence=0: the model cannot compute with a length of 0: node "));
  CHECK(refused.err.ends_with(" (hint: type --dim sequence=1 or more)\n"));
  const ScratchFile cached("cached.onnx", OnnxBytes(R"(
    agraph (float[batch, new, 8] x, float[batch, past, 8] cache) => (float[batch, total, 8] y) <float[8, 8] w> {
      k = MatMul (x, w)
      y = Concat <axis = 1> (cache, k)
    })"));
  CHECK(Do("estimate --mode infer --dim new=4 --dim past=0 " + cached.path()).exit_code == 0);
  CHECK(
      Do("estimate --mode infer --dim new=0 --dim past=4 " + cached.path()).err ==
      "vramplan: --dim new=0: the model cannot compute with a length of 0: the output of node MatMul_0 (MatMul) would "
      "be empty (hint: type --dim new=1 or more)\n");
}

TEST_CASE("lengths that contradict each other about the batch are refused") {
  const ScratchFile two("two_inputs.onnx", OnnxBytes(R"(
    agraph (float[batch, 8] image, float[batch, 8] text) => (float[batch, 8] y) <float[8, 8] w> {
      a = MatMul (image, w)
      y = Add (a, text)
    })"));
  struct Row {
    const char *options, *says;
  };
  for (const Row& row : {Row{"--input image=8x8 --input text=4x8",
                             "--input text: its batch is 4, and --input image says 8 (hint: give both the same batch, "
                             "or leave one of them out)"},
                         Row{"--input image=8x8 --batch 4",
                             "--input image: its batch is 8, and --batch says 4 (hint: give both the same batch, or "
                             "leave one of them out)"},
                         Row{"--dim batch=2 --input text=4x8",
                             "--input text: its batch is 4, and --dim batch says 2 (hint: give both the same batch, or "
                             "leave one of them out)"}}) {
    CAPTURE(row.options);
    const Said said = Do("estimate " + two.path() + " " + row.options);
    CHECK(said.exit_code == 2);
    CHECK(said.out.empty());
    CHECK(said.err == "vramplan: " + std::string(row.says) + "\n");
  }
  CHECK(Do("estimate " + two.path() + " --input image=4x8 --input text=4x8 --batch 4").exit_code == 0);
}

// aten/src/ATen/autocast_mode.cpp, binary_cross_entropy_banned (PyTorch 2.10).
TEST_CASE("BCELoss under autocast, which PyTorch refuses, is told") {
  const ScratchFile file("sigmoid.onnx", OnnxBytes(R"(
    agraph (float[batch, 8] x) => (float[batch, 1] y) <float[8, 1] w> {
      a = MatMul (x, w)
      y = Sigmoid (a)
    })"));
  const auto told = [&](const std::string& line) {
    return Do(line).err.find("PyTorch refuses binary_cross_entropy (BCELoss) under autocast") != std::string::npos;
  };
  CHECK(told("estimate --precision amp-fp16 " + file.path()));
  CHECK(told("estimate --precision amp-bf16 --loss bce " + file.path()));
  CHECK(told("plan --gpu t4 --batch 8 " + file.path()));  // it chooses autocast
  // fit compares precisions: one that never runs has no batch
  const Said fit = Do("fit --gpu t4 " + file.path());
  CHECK(fit.out.find("amp-fp16") == std::string::npos);
  const Said whole = Do("fit --verbose --gpu t4 " + file.path());
  CHECK(whole.out.find("amp-fp16") == std::string::npos);
  CHECK(whole.err.find("PyTorch refuses binary_cross_entropy (BCELoss) under autocast, so amp-fp16 is not compared") !=
        std::string::npos);
  CHECK(Do("fit --verbose --gpu t4 --loss bce-logits " + file.path()).out.find("amp-fp16") != std::string::npos);
  CHECK_FALSE(told("estimate " + file.path()));
  CHECK_FALSE(told("estimate --precision amp-fp16 --loss bce-logits " + file.path()));
  CHECK_FALSE(told("estimate --precision amp-fp16 --mode infer " + file.path()));
}

TEST_CASE("an axis that is called the batch and used otherwise is told") {
  // x [batch, 8]: nodes; the ends of edges in two ways
  const auto warned = [](const std::string& inputs, const std::string& nodes) {
    const ScratchFile file(
        "edges.onnx", OnnxBytes("<ir_version: 8, opset_import: [\"\" : 17]> agraph (float[batch, 8] x, " + inputs +
                                ") => (float[some, 8] y) {\n zero = Constant <value = int64 {0}> ()\n" + nodes + "}"));
    return Do("estimate " + file.path() + " --mode infer --batch 4").err;
  };
  const std::string by_entries = warned("int64[batch, 40] e", "i = Gather (e, zero)\n y = Gather (x, i)");
  CHECK(by_entries.find("warning: e: its first axis is the batch in this file, but the model reads single entries of "
                        "it, as with the ends of a graph's edges") != std::string::npos);
  const std::string by_rows = warned("int64[batch] e", "y = Gather (x, e)");
  CHECK(
      by_rows.find(
          "warning: e: it has as many entries as the batch in this file, but they are indices of rows of the batch") !=
      std::string::npos);
  CHECK(warned("int64[40] e", "y = Gather (x, e)").find("as with the ends of a graph's edges") == std::string::npos);
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(std::string(VRAMPLAN_SOURCE_DIR) + path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST_CASE("a file's name with a line break stays one line") {
  const ScratchFile file("a\nb.onnx", BytesOf("/models/mlp.onnx"));
  const std::string name = "'" + file.path() + "'";
  CHECK(
      Do("fit " + name + " --gpu t4").FirstLine().starts_with("vramplan_test_a\\x0ab.onnx trains on Tesla T4: batch "));
  const Said wrong = Do("fit " + name + "x --gpu t4");
  CHECK(std::count(wrong.err.begin(), wrong.err.end(), '\n') == 1);
  CHECK(wrong.err.find("a\\x0ab.onnxx: cannot be read: No such file or directory") != wrong.err.npos);
}

}  // namespace
}  // namespace vramplan
