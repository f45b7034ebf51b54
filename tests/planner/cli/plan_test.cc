// plan as it is typed.
#include "planner/report/plan.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command_line.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;

// What stands behind the first `"member": ` after `from`, up to the end of the line.
std::string Member(const std::string& json, const std::string& from, const std::string& member) {
  const size_t start = json.find(from);
  REQUIRE_MESSAGE(start != std::string::npos, from);
  const size_t at = json.find("\"" + member + "\": ", start);
  REQUIRE_MESSAGE(at != std::string::npos, member);
  const size_t begin = at + member.size() + 4;
  std::string text = json.substr(begin, json.find('\n', begin) - begin);
  if (text.ends_with(",")) text.pop_back();
  return text;
}
int64_t Number(const Said& said, const std::string& member) {
  return std::stoll(Member(said.out, "\"chosen\"", member));
}

std::vector<std::string> Checkpointed(const std::string& json) {
  const size_t begin = json.find("\"checkpoint\": [", json.find("\"chosen\""));
  std::istringstream list(json.substr(begin + 15, json.find(']', begin) - begin - 15));
  std::vector<std::string> paths;
  for (std::string word; list >> word;) {
    const size_t open = word.find('"'), close = word.rfind('"');
    if (open != close) paths.push_back(word.substr(open + 1, close - open - 1));
  }
  return paths;
}

// The plan as options of estimate and fit.
std::string AsOptions(const Said& said) {
  const auto text = [&](const char* member) {
    const std::string quoted = Member(said.out, "\"chosen\"", member);
    return quoted.substr(1, quoted.size() - 2);
  };
  std::string options = " --precision " + text("precision") + " --optimizer-impl " + text("optimizer_impl") +
                        " --accumulate " + Member(said.out, "\"chosen\"", "accumulate");
  for (const std::string& path : Checkpointed(said.out)) options += " --checkpoint " + path;
  return options;
}

TEST_CASE("plan: fit says the same of its batch and of the next one, estimate the same peak") {
  for (const char* question : {"MODELS/resnet50.onnx --gpu t4", "MODELS/unet.onnx --gpu-memory 6GiB --batch 24",
                               "MODELS/gpt_small.onnx --dim sequence=256 --gpu-memory 2GiB --goal batch",
                               "MODELS/unet.onnx --gpu-memory 6GiB --batch 16 --precision fp32",
                               "MODELS/mlp.onnx --gpu-memory 600MiB --effective-batch 4096 --optimizer sgd"}) {
    CAPTURE(question);
    const Said plan = Do(std::string("plan --format json ") + question);
    REQUIRE_EQ(plan.exit_code, 0);
    CHECK_EQ(plan.err, "");
    std::string step(question);
    for (const char* wish : {" --batch ", " --goal ", " --effective-batch ", " --precision "}) {
      const size_t at = step.find(wish);
      if (at != std::string::npos) step.erase(at, step.find(' ', at + std::string(wish).size()) - at);
    }
    step += AsOptions(plan) + " --format json --batch ";
    const std::string batch = std::to_string(Number(plan, "batch"));
    const Said estimate = Do("estimate " + step + batch);
    // On a full card the allocator gives its cache back and splits other blocks; what is asked for is the same.
    CHECK_EQ(Member(plan.out, "\"chosen\"", "requested"), Member(estimate.out, "\"peak\"", "requested"));
    CHECK_EQ(Do("fit " + step + batch).exit_code, 0);
    CHECK_EQ(Do("fit " + step + Member(plan.out, "\"proved_optimal\"", "first_failing_batch")).exit_code, 3);
    CHECK_EQ(Do(std::string("plan --format json ") + question).out, plan.out);
  }
}

TEST_CASE("plan: the members of the contract") {
  const Said said = Do("plan MODELS/unet.onnx --gpu-memory 6GiB --batch 16 --precision fp32 --format json");
  REQUIRE_EQ(said.exit_code, 0);
  size_t at = 0;
  for (const char* member : {"schema", "chosen", "first_failing_batch", "alternatives", "ladder", "notes"}) {
    const size_t found = said.out.find("\n  \"" + std::string(member) + "\": ", at);
    REQUIRE_MESSAGE(found != std::string::npos, member);
    at = found;
  }
  CHECK_EQ(Member(said.out, "{", "schema"), "\"vramplan.plan/1\"");
  CHECK_EQ(Member(said.out, "\"chosen\"", "tier"), "\"modules\"");
  CHECK_FALSE(Checkpointed(said.out).empty());
  const double overhead = std::stod(Member(said.out, "\"chosen\"", "overhead"));
  const double bound = std::stod(Member(said.out, "\"chosen\"", "bound"));
  CHECK_GT(bound, 0);
  CHECK_LE(bound, overhead);
  CHECK_LT(overhead, 0.34);  // less than one more forward
  CHECK_LE(Number(said, "requested"), Number(said, "allocated"));
  CHECK_LE(Number(said, "allocated"), Number(said, "reserved"));
  CHECK_LT(Number(said, "reserved"), Number(said, "device"));
}

TEST_CASE("plan: the operator tier saves calls inside the modules, and takes less time than running them all again") {
  const std::string question = "plan MODELS/unet.onnx --gpu-memory 6GiB --batch 16 --precision fp32 ";
  const Said said = Do(question + "--tier operators --format json");
  REQUIRE_EQ(said.exit_code, 0);
  CHECK_EQ(Member(said.out, "\"chosen\"", "tier"), "\"operators\"");
  CHECK(Member(said.out, "\"chosen\"", "operator").find("aten.") == 1);
  const double overhead = std::stod(Member(said.out, "\"chosen\"", "overhead"));
  CHECK_LE(std::stod(Member(said.out, "\"chosen\"", "bound")), overhead);
  const Said modules = Do(question + "--format json");
  CHECK_LT(overhead, std::stod(Member(modules.out, "\"chosen\"", "overhead")));
  // There, it is an alternative.
  CHECK_EQ(Member(modules.out, "\"alternatives\"", "tier"), "\"operators\"");
  CHECK_EQ(Do(question + "--tier operators --format json").out, said.out);
  const Said emitted = Do(question + "--emit pytorch-sac");
  CHECK(emitted.out.find("SAVED = {") != std::string::npos);
  CHECK_EQ(Do(question + "--tier operators --emit pytorch").exit_code, 2);
}

TEST_CASE("plan: the first line is the plan, and what is wished is kept") {
  CHECK_EQ(Do("plan MODELS/resnet50.onnx --gpu t4 --batch 32")
               .FirstLine()
               .find("resnet50.onnx training at batch 32 (amp-fp16, fused adam) fits on Tesla T4: needs "),
           0);
  CHECK_EQ(Do("plan MODELS/resnet50.onnx --gpu a100-40gb --batch 8 --optimizer sgd")
               .FirstLine()
               .find("resnet50.onnx training at batch 8 (amp-bf16, fused sgd) fits on A100 40GB: needs "),
           0);
  const Said eights = Do("plan MODELS/resnet50.onnx --gpu t4 --multiple-of 8 --format json");
  CHECK_EQ(Number(eights, "batch") % 8, 0);
  const Said power = Do("plan MODELS/resnet50.onnx --gpu t4 --multiple-of power-of-two --format json");
  CHECK_EQ(Number(power, "batch"), 256);
  const Said effective =
      Do("plan MODELS/unet.onnx --gpu-memory 4GiB --precision fp32 --effective-batch 60 --format json");
  CHECK_EQ(Number(effective, "batch") * Number(effective, "accumulate"), 60);
  CHECK_GT(Number(effective, "accumulate"), 1);
  const Said none = Do("plan MODELS/unet.onnx --gpu-memory 6GiB --precision fp32 --batch 16 --tier none");
  CHECK_EQ(none.exit_code, 3);
}

TEST_CASE("plan: a card that holds none of it says what is too large, and how many would do") {
  const Said said = Do("plan MODELS/bert_base.onnx --dim sequence=64 --gpu-memory 700MiB --context 100MiB");
  CHECK_EQ(said.exit_code, 3);
  CHECK_EQ(said.FirstLine(), "bert_base.onnx does not train on a card of 700.00 MiB: no plan that you allow fits");
  CHECK(said.out.find("optimizer states alone need 835.29 MiB, and the allocator may take 600.00 MiB") !=
        std::string::npos);
  CHECK(said.out.find("with ZeRO and this batch on each card it takes ") != std::string::npos);
  CHECK(said.out.find("; stage 1 ") != std::string::npos);
  CHECK(said.out.find("the smallest card that holds batch 1 as it is: ") != std::string::npos);
}

TEST_CASE("plan: a batch that no plan holds is answered with parts that do, and with what alone is too large") {
  const std::string question = "plan MODELS/unet.onnx --gpu-memory 6GiB --batch 64 --precision fp32 --tier none";
  const Said said = Do(question);
  CHECK_EQ(said.exit_code, 3);
  CHECK_EQ(said.FirstLine(), "unet.onnx does not train at batch 64 on a card of 6.00 GiB: no plan that you allow fits");
  CHECK(said.out.find("\n  instead: ") != std::string::npos);
  CHECK(said.out.find("no number of cards helps: activations and temporaries alone need ") != std::string::npos);
  const std::string instead = Member(Do(question + " --format json").out, "\"instead\"", "batch");
  const std::string parts = Member(Do(question + " --format json").out, "\"instead\"", "accumulate");
  CHECK_EQ(std::stoi(instead) * std::stoi(parts), 64);
}

TEST_CASE("plan: tight is said as fit says it, with the batch that is safe") {
  const Said tight = Do("plan MODELS/resnet50.onnx --gpu t4 --precision fp32 --tier none");
  CHECK(tight.FirstLine().find(" is tight on Tesla T4: needs ") != std::string::npos);
  const int64_t safe =
      std::stoll(Member(Do("plan MODELS/resnet50.onnx --gpu t4 --precision fp32 --tier none --format json").out,
                        "\"schema\"", "safe_batch"));
  const auto verdict = [&](int64_t batch) {
    return Member(Do("plan MODELS/resnet50.onnx --gpu t4 --precision fp32 --tier none --format json --batch " +
                     std::to_string(batch))
                      .out,
                  "\"schema\"", "verdict");
  };
  CHECK_EQ(verdict(safe), "\"fits\"");
  CHECK_EQ(verdict(safe + 1), "\"tight\"");
}

TEST_CASE("plan: --emit instead of the answer, or into a file beside it; no file without a plan") {
  const std::string plan = "plan MODELS/unet.onnx --precision fp32 --batch 16 --emit pytorch --gpu-memory ";
  const Said snippet = Do(plan + "6GiB");
  CHECK_EQ(snippet.exit_code, 0);
  CHECK_EQ(snippet.out.find("\"\"\"unet.onnx at batch 16 on a card of 6.00 GiB, by vramplan."), 0);
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "vramplan_plan_test.py";
  const Said beside = Do(plan + "6GiB --out " + file.string());
  CHECK_EQ(beside.FirstLine().find("unet.onnx training at batch 16 "), 0);
  std::stringstream written;
  written << std::ifstream(file).rdbuf();
  CHECK_EQ(written.str(), snippet.out);
  std::filesystem::remove(file);
  const Said none = Do(plan + "2GiB --out " + file.string());
  CHECK_EQ(none.exit_code, 3);
  CHECK_EQ(none.FirstLine().find("unet.onnx does not train at batch 16 "), 0);
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("plan: the ladder has a rung for half of each given length, and names a card that holds what was asked for") {
  const Said said = Do("plan MODELS/gpt_small.onnx --dim sequence=256 --gpu-memory 2GiB --batch 4 --precision fp32");
  CHECK_EQ(said.exit_code, 0);
  CHECK(said.out.find("\n  sequence=128 instead of 256 ") != std::string::npos);
  CHECK(said.out.find("the smallest card that holds batch 4 as it is: ") != std::string::npos);
}

TEST_CASE("plan: what a change saves is what two fits differ by") {
  const std::string plan = Do("plan MODELS/unet.onnx --gpu t4 --batch 16 --format json").out;
  const auto needs = [](const std::string& more) {
    const Said fit = Do("fit MODELS/unet.onnx --gpu t4 --batch 16 --format json" + more);
    return std::stoll(Member(fit.out, "\"peak\": {", "device"));
  };
  const int64_t now = needs("");
  for (const char* option : {"--allocator-conf expandable_segments:True", "--optimizer-impl fused"}) {
    CAPTURE(option);
    const std::string rung = std::string("\"option\": \"") + option + "\"";
    CHECK(std::stoll(Member(plan, rung, "saves")) == now - needs(std::string(" ") + option));
  }
  // 256 MiB of U-Net's reserved bytes are unused pieces of segments.
  CHECK(std::stoll(Member(plan, "\"option\": \"--allocator-conf", "saves")) == 256 * (int64_t{1} << 20));
}

TEST_CASE("plan: what cannot be asked") {
  struct Row {
    const char* line;
    const char* says;
  };
  constexpr Row kRows[] = {
      {"plan MODELS/mlp.onnx", "no card is given"},
      {"plan MODELS/mlp.onnx --gpu all", "only fit and sweep compare several cards"},
      {"plan MODELS/mlp.onnx --gpu t4 --batch 4 --effective-batch 8", "cannot be combined with --batch"},
      {"plan MODELS/mlp.onnx --gpu t4 --accumulate 4 --effective-batch 8", "cannot be combined with --effective-batch"},
      {"plan MODELS/mlp.onnx --gpu t4 --multiple-of 8 --effective-batch 65", "65 is not a multiple of 8"},
      {"plan MODELS/mlp.onnx --gpu t4 --emit env --format json", "add --out FILE"},
      {"plan MODELS/mlp.onnx --gpu t4 --effective-batch none", "is not a whole number"},
      {"plan MODELS/mlp.onnx --gpu t4 --goal speed", "is not one of time or batch"},
      {"plan MODELS/mlp.onnx --gpu t4 --tier tensors", "is not one of none, modules or operators"},
      {"plan MODELS/mlp.onnx --gpu t4 --emit mmengine", "is not one of pytorch, pytorch-sac, hf, "},
      {"plan MODELS/mlp.onnx --gpu t4 --checkpoint 0", "plan does not have this option"},
  };
  for (const Row& row : kRows) {
    const Said said = Do(row.line);
    CHECK_EQ(said.exit_code, 2);
    CHECK_EQ(said.out, "");
    CHECK_MESSAGE(said.err.find(row.says) != std::string::npos, said.err);
  }
}

}  // namespace
}  // namespace vramplan
