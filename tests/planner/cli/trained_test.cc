// --trainable and --frozen on the command line, in every verb that lays out a step, and what is said of them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/command_line.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;

const std::string kZoo = std::string(VRAMPLAN_SOURCE_DIR) + "/tests/data/zoo/";
const std::string kResnet = kZoo + "resnet18.ts-train.onnx";

int64_t Number(const std::string& json, const std::string& member) {
  const size_t at = json.find("\"" + member + "\": ");
  REQUIRE_MESSAGE(at != std::string::npos, member);
  return std::stoll(json.substr(at + member.size() + 4));
}

TEST_CASE("the order of the two options on the line decides") {
  struct Row {
    const char* options;
    int64_t trained;
  };
  constexpr int64_t kAll = 11689512, kHead = 513000;
  constexpr Row kRows[] = {
      {"", kAll},
      {" --frozen * --trainable fc.*", kHead},
      {" --trainable=fc.* --frozen=*", 0},
      {" --frozen=* --trainable=*", kAll},
      {" --frozen fc.*", kAll - kHead},
      {" --trainable fc.* --frozen * --trainable fc.bias", 1000},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.options);
    const Said said = Do("inspect " + kResnet + " --format json" + row.options);
    REQUIRE(said.exit_code == 0);
    CHECK(Number(said.out, "trained_parameters") == row.trained);
    CHECK(Number(said.out, "frozen_parameters") == kAll - row.trained);
  }
}

TEST_CASE("the verbs about a step take them, and the JSON keeps their order") {
  for (const std::string verb : {"estimate ", "fit --gpu t4 ", "plan --gpu t4 ", "validate --dry-run --gpu t4 "}) {
    CAPTURE(verb);
    const Said said = Do(verb + kResnet + " --frozen * --trainable fc.* --format json");
    CHECK(said.exit_code == 0);
    const size_t frozen = said.out.find("\"frozen\""), trainable = said.out.find("\"trainable\"");
    REQUIRE(frozen != std::string::npos);
    REQUIRE(trainable != std::string::npos);
    CHECK(frozen < trainable);
    CHECK(Number(said.out, "trained_parameters") == 513000);
  }
  // The stream of a step has no place for it: its events are fewer.
  const std::string all = Do("trace " + kResnet).out,
                    head = Do("trace " + kResnet + " --frozen * --trainable fc.*").out;
  CHECK(head.size() < all.size() / 2);
}

TEST_CASE("frozen parameters cost what they hold, and nothing else") {
  const std::string step = "estimate " + kResnet + " --batch 8 --cudnn-workspace 0 --format json";
  const std::string whole = Do(step).out, head = Do(step + " --frozen * --trainable fc.*").out;
  CHECK(Number(whole, "parameter_bytes") == Number(head, "parameter_bytes"));
  CHECK(Number(head, "requested") < Number(whole, "requested") / 2);
}

TEST_CASE("what is wrong is told in one line") {
  struct Row {
    std::string line;
    int exit_code;
    const char* says;
  };
  const Row rows[] = {
      {"estimate " + kResnet + " --frozen layr4.*", 2,
       "vramplan: --frozen: \"layr4.*\" matches no parameter (hint: did you mean layer4"},
      {"fit " + kResnet + " --gpu t4 --trainable zzzz", 2,
       "vramplan: --trainable: \"zzzz\" matches no parameter (hint: vramplan inspect FILE --dump parameters lists the "
       "names)"},
      {"estimate " + kResnet + " --frozen *", 2,
       "vramplan: --frozen: all 11689512 parameters are frozen, so there is nothing to train (hint: add --trainable "
       "'fc.*' after it, or --mode infer)"},
      // A block's number is no name that a word is near to.
      {"fit gpt2 --gpu t4 --frozen h7.*", 2, "matches no parameter (hint: did you mean h"},
      {"fit gpt2 --gpu t4 --frozen x.*", 2, "matches no parameter (hint: vramplan inspect FILE"},
      {"fit gpt2 --gpu t4 --lora 8 --frozen h.*", 2,
       "vramplan: --frozen: --lora trains its adapters alone, and this freezes them, too, so there is nothing to train "
       "(hint: leave out --frozen: the base is frozen already)"},
      {"estimate " + kResnet + " --frozen * --mode infer", 0, ""},
      {"estimate " + kResnet + " --frozen=", 2, "vramplan: --frozen: no value is given"},
      {"estimate " + kResnet + " --framework onnxruntime --frozen *", 2,
       "vramplan: --frozen: onnxruntime has no such setting"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Said said = Do(row.line);
    CHECK(said.exit_code == row.exit_code);
    CHECK_MESSAGE(said.err.find(row.says) != std::string::npos, said.err);
    if (row.exit_code != 0) CHECK(said.out.empty());
  }
}

TEST_CASE("inspect says that the file does not say, and lists the names") {
  const Said plain = Do("inspect " + kResnet);
  CHECK(plain.out.find("trained: all parameters (the file does not say; --frozen PATTERN freezes some)\n") !=
        std::string::npos);
  const Said listed = Do("inspect " + kResnet + " --dump parameters --frozen * --trainable fc.*");
  CHECK(
      listed.out.find(
          "trained: 513000 parameters in 2 tensors, frozen: 11176512 in 60 tensors (the file does not say which)\n") !=
      std::string::npos);
  CHECK(listed.out.find("  fc.bias") != std::string::npos);
}

TEST_CASE("emitted code freezes by the same globs") {
  const Said said = Do("plan " + kResnet + " --gpu t4 --batch 4 --frozen * --trainable module.fc.* --emit pytorch");
  REQUIRE(said.exit_code == 0);
  CHECK(said.out.find("TRAINED = [\n    (\"*\", False),\n    (\"fc.*\", True),\n]\n") != std::string::npos);
  CHECK(said.out.find("    step = optimizer(trained(model), lr=...)\n") != std::string::npos);
  CHECK(said.out.find("    freeze(model)\n") != std::string::npos);
}

TEST_CASE("a backbone may be frozen: it matters to training, and to autocast's copies of weights in inference") {
  const std::string unet = kZoo + "smp_unet_resnet34.ts-train.onnx --gpu t4 --format json --mode ";
  const auto asks = [&](const std::string& options) {
    return Do("estimate " + unet + options).out.find("\"backbone\"") != std::string::npos;
  };
  CHECK(asks("train"));
  CHECK(asks("infer --precision amp-fp16"));
  CHECK_FALSE(asks("infer"));
  CHECK_FALSE(asks("infer --precision amp-fp16 --frozen encoder.*"));
}

TEST_CASE("an answer says what the file cannot: what the other mode runs, and what is never read") {
  struct Row {
    const char* file;
    const char* options;
    const char* says;
  };
  constexpr const char *kTrains = ", every parameter trained, ", *kInfers = " fp32, ";
  constexpr Row kRows[] = {
      {"resnet18.ts-eval.onnx", "",
       "nothing checkpointed, no dropout, train() and eval() run the same layers, no parameter or buffer"},
      {"resnet18.ts-train.onnx", "",
       "nothing checkpointed, no parameter or buffer that forward() never reads, framework"},
      {"resnet18.ts-eval.onnx", " --mode infer", "no parameter or buffer that forward() never reads, framework"},
      {"resnet18.ts-train.onnx", " --mode infer", "train() and eval() run the same layers, no parameter or buffer"},
      {"resnet18.dynamo-train.onnx", "", "nothing checkpointed, framework"},
      {"resnet18.dynamo-train.onnx", " --mode infer", "train() and eval() run the same layers, framework"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.file);
    CAPTURE(row.options);
    std::string out = Do("estimate " + kZoo + row.file + row.options).out;
    for (size_t at; (at = out.find("\n         ")) != std::string::npos;) out.replace(at, 10, " ");
    const std::string before = row.options[0] == '\0' ? kTrains : kInfers;
    CHECK_MESSAGE(out.find(before + row.says) != std::string::npos, out.substr(0, 900));
  }
}

}  // namespace
}  // namespace vramplan
