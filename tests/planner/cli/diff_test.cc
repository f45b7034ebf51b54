// diff as it is typed.
#include "planner/report/diff.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

std::string Answer(int64_t requested, int64_t block, const std::string& batch) {
  const std::string peak = std::to_string(requested);
  return R"({"schema": "vramplan.estimate/1", "spec": {"batch": {"value": )" + batch +
         R"(, "given": true}, "mode": {"value": "train", "given": false}},
            "peak": {"requested": )" +
         peak + R"(, "allocated": )" + peak + R"(, "reserved": 20971520, "device": 30971520, "phase": "backward",
            "node": "relu"}, "categories": {"parameters": 1024, "activations": )" +
         std::to_string(requested - 1024) + R"(}, "layers": [
            {"module": "stem", "parameters": 512, "buffers": 0, "saved": 0, "gradients": 0, "optimizer_state": 0},
            {"module": "blocks.0.fc", "parameters": 512, "buffers": 0, "saved": )" +
         std::to_string(block) + R"(, "gradients": 0, "optimizer_state": 0},
            {"module": "blocks.0.norm", "parameters": 0, "buffers": 16, "saved": )" +
         std::to_string(block) + R"(, "gradients": 0, "optimizer_state": 0}]})";
}

std::string WithoutFolder(std::string text) {
  const std::string folder = std::filesystem::temp_directory_path().string() + "/";
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
  return text;
}

}  // namespace

TEST_CASE("diff: two answers that were kept") {
  const ScratchFile before("before.json", Answer(1000000, 4096, "8"));
  const ScratchFile after("after.json", Answer(1030000, 8192, "8"));
  const std::string files = "diff " + before.path() + " " + after.path();
  const Said text = Do(files + " --budget 2%");
  CHECK_EQ(text.exit_code, 3);
  CHECK_EQ(text.out, Golden("diff/answers", text.out));
  struct Row {
    const char* budget;
    int exit_code;
  };
  for (const Row& row : {Row{"3%", 0}, Row{"2.99%", 3}, Row{"0%", 3}, Row{"30000B", 0}, Row{"29999B", 3}}) {
    CAPTURE(row.budget);
    CHECK_EQ(Do(files + " --budget " + row.budget).exit_code, row.exit_code);
    // What shrinks is within every budget.
    CHECK_EQ(Do("diff " + after.path() + " " + before.path() + " --budget " + row.budget).exit_code, 0);
  }
  CHECK_EQ(Do(files).exit_code, 0);
  const Said markdown = Do(files + " --budget 2% --format markdown");
  CHECK_EQ(markdown.exit_code, 3);
  CHECK_EQ(markdown.out, Golden("diff/answers_markdown", markdown.out));
  const Said json = Do(files + " --budget 2% --format json");
  CHECK_EQ(json.exit_code, 3);
  const std::string plain = WithoutFolder(json.out);
  CHECK_EQ(plain, Golden("diff/answers_json", plain));
}

TEST_CASE("diff: options that differ are said") {
  const ScratchFile before("before.json", Answer(1000000, 4096, "8"));
  const ScratchFile after("after.json", Answer(1000000, 4096, "16"));
  const Said said = Do("diff " + before.path() + " " + after.path());
  CHECK(said.out.find("batch 8 -> batch 16") != std::string::npos);
  CHECK(said.FirstLine().find("the peak stays 976.56 KiB requested") != std::string::npos);
}

TEST_CASE("diff: models are laid out as estimate does it, and may stand beside an answer") {
  const std::string unet = "MODELS/unet.onnx";
  const Said same = Do("diff " + unet + " " + unet + " --batch 2 --budget 0%");
  CHECK_EQ(same.exit_code, 0);
  const std::string json = Do("estimate " + unet + " --batch 2 --optimizer sgd --format json").out;
  const ScratchFile kept("kept.json", json);
  const Said other = Do("diff " + kept.path() + " " + unet + " --batch 2 --optimizer adam --format json");
  CHECK_EQ(other.exit_code, 0);
  const std::string adam = Do("estimate " + unet + " --batch 2 --format json").out;
  const auto peak = [](const std::string& text, const std::string& name) {
    const size_t at = text.find("\"" + name + "\": ", text.find("\"requested\"", text.find("\"peak\"")) - 1);
    REQUIRE_NE(at, std::string::npos);
    return std::stoll(text.substr(at + name.size() + 4));
  };
  CHECK_EQ(peak(other.out, "old"), peak(json, "requested"));
  CHECK_EQ(peak(other.out, "new"), peak(adam, "requested"));
  CHECK(other.out.find("\"name\": \"optimizer_state\"") != std::string::npos);
}

TEST_CASE("diff: what a run wrote is compared by module") {
  const auto run = [](const std::string& bytes) {
    return R"({"schema": "vramplan.run/1", "command": ["python", "train.py"], "framework": "pytorch 2.10.0",
      "peak": {"requested": )" +
           bytes + R"(, "allocated": 2000, "reserved": 3000, "device": {"low": 1, "likely": 4000, "high": 5},
      "phase": "backward"}, "places": [{"module": "fc", "bytes": )" +
           bytes + R"(}], "ranks": [{"categories": {"activations": )" + bytes + "}}]}";
  };
  const ScratchFile before("before.json", run("1000")), after("after.json", run("1100"));
  const Said said = Do("diff " + before.path() + " " + after.path() + " --budget 100B");
  CHECK_EQ(said.exit_code, 0);
  CHECK_EQ(said.out, Golden("diff/runs", said.out));
}

TEST_CASE("diff: wrong input") {
  const ScratchFile answer("a.json", Answer(5000, 0, "1")), broken("b.json", "{\"schema\": \"vramplan.estimate/1\"}"),
      other("c.json", "{\"schema\": \"vramplan.fit/1\"}"), bad("d.json", "{]");
  struct Row {
    std::string line;
    int exit_code;
    const char* err;
  };
  for (const Row& row : {
           Row{"diff " + answer.path(), 2, "no second file is given"},
           Row{"diff", 2, "no file is given"},
           Row{"diff " + answer.path() + " " + answer.path() + " --budget 2", 2, "neither a percentage nor a size"},
           Row{"diff " + answer.path() + " " + answer.path() + " --budget x%", 2, "neither a percentage nor a size"},
           Row{"diff " + answer.path() + " " + answer.path() + " --format svg", 2, "is not one of"},
           Row{"diff " + answer.path() + " " + broken.path(), 1, "b.json: peak: is missing"},
           Row{"diff " + answer.path() + " " + other.path(), 1, "neither vramplan.estimate/1 nor vramplan.run/1"},
           Row{"diff " + answer.path() + " " + bad.path(), 1, "is not JSON"},
           Row{"diff " + answer.path() + " nowhere.onnx", 1, "nowhere.onnx"},
       }) {
    CAPTURE(row.line);
    const Said said = Do(row.line);
    CHECK_EQ(said.exit_code, row.exit_code);
    CHECK(said.err.find(row.err) != std::string::npos);
    CHECK(said.out.empty());
  }
}
}  // namespace vramplan::testing
