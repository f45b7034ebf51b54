// sweep as it is typed.
#include "planner/report/sweep.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "planner/cli/sweep_axes.h"
#include "tests/support/command_line.h"

using namespace vramplan;
using vramplan::testing::Do;
using vramplan::testing::Said;

namespace {

int64_t Number(const std::string& json, const std::string& from, const std::string& member) {
  const size_t at = json.find("\"" + member + "\": ", json.find(from));
  REQUIRE_NE(at, std::string::npos);
  return std::stoll(json.substr(at + member.size() + 4));
}

std::vector<std::vector<std::string>> Rows(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

}  // namespace

TEST_CASE("sweep: axes as they are typed") {
  struct Row {
    const char* typed;
    SweepAxis axis;
  };
  for (const auto& [typed, axis] : {
           Row{"batch=1:8:x2", {"batch", {"1", "2", "4", "8"}}},
           Row{"batch=16:48:+16", {"batch", {"16", "32", "48"}}},
           Row{"sequence=5:7", {"sequence", {"5", "6", "7"}}},
           Row{"--precision=fp32,bf16", {"precision", {"fp32", "bf16"}}},
           Row{"sequence=512,128", {"sequence", {"512", "128"}}},
       }) {
    CAPTURE(typed);
    const Result<std::vector<SweepAxis>> read = ReadSweepAxes({typed});
    REQUIRE(read.ok());
    CHECK_EQ(read->front(), axis);
  }
  for (const char* wrong : {"batch", "=1,2", "batch=", "batch=8:1:x2", "batch=1:8:x1", "batch=0:8", "batch=1:8:*2",
                            "batch=1,,2", "batch=1:2:3:4"}) {
    CAPTURE(wrong);
    CHECK_FALSE(ReadSweepAxes({wrong}).ok());
  }
  CHECK_FALSE(ReadSweepAxes({"batch=1,2", "batch=3,4"}).ok());
  CHECK_FALSE(ReadSweepAxes({"batch=1:100", "sequence=1:100"}).ok());
}

TEST_CASE("sweep: each row is the answer of estimate and of fit") {
  const std::string options = " --optimizer sgd --gpu t4";
  const Said sweep =
      Do("sweep MODELS/gpt_small.onnx --over batch=2,8 --over sequence=64:128:x2 --over "
         "precision=fp32,amp-fp16 --format csv" +
         options);
  REQUIRE_EQ(sweep.exit_code, 0);
  const auto rows = Rows(sweep.out);
  REQUIRE_EQ(rows.size(), 1 + 8);
  CHECK_EQ(rows[0][0], "batch");
  CHECK_EQ(rows[1][2], "fp32");
  CHECK_EQ(rows[2][2], "amp-fp16");
  for (const size_t row : {size_t{1}, size_t{4}, size_t{8}}) {
    CAPTURE(row);
    const std::string line = "MODELS/gpt_small.onnx --batch " + rows[row][0] + " --dim sequence=" + rows[row][1] +
                             " --precision " + rows[row][2] + options + " --format json";
    const std::string json = Do("estimate " + line).out;
    CHECK_EQ(rows[row][3], std::to_string(Number(json, "\"peak\": {", "requested")));
    CHECK_EQ(rows[row][5], std::to_string(Number(json, "\"peak\": {", "reserved")));
    CHECK_EQ(rows[row][7], std::to_string(Number(json, "\"peak\": {", "device")));
    const std::string fit = Do("fit " + line).out;
    CHECK_NE(fit.find("\"verdict\": \"" + rows[row][9] + "\""), std::string::npos);
  }
}

TEST_CASE("sweep: laws are named with their coefficients") {
  const Said batch = Do("sweep MODELS/unet.onnx --over batch=1:64:x2");
  const std::string one = Do("estimate MODELS/unet.onnx --batch 16 --format json").out,
                    two = Do("estimate MODELS/unet.onnx --batch 32 --format json").out;
  const int64_t each = (Number(two, "\"peak\": {", "requested") - Number(one, "\"peak\": {", "requested")) / 16;
  CHECK_NE(batch.out.find("batch  linear: each further sample " + ToString(Bytes::Of(each))), std::string::npos);
  // Scores of attention: four bytes each, for every head of every layer, and what softmax makes of them.
  const Said length = Do("sweep MODELS/gpt_small.onnx --attention math --over sequence=64:1024:x2");
  CHECK_NE(length.out.find("sequence  quadratic: each further token² "), std::string::npos);
  CHECK_NE(length.out.find(", each further token "), std::string::npos);
}

TEST_CASE("sweep: the headline says what is needed, and how many settings fit") {
  const auto first_line = [](const std::string& line) {
    const std::string out = Do(line).out;
    return out.substr(0, out.find('\n'));
  };
  const auto device = [](const std::string& batch) {
    const std::string json = Do("estimate MODELS/unet.onnx --gpu t4 --format json --batch " + batch).out;
    return ToString(Bytes::Of(Number(json, "\"peak\": {", "device")));
  };
  CHECK_EQ(first_line("sweep MODELS/unet.onnx --gpu t4 --over batch=1,16,64"),
           "unet.onnx needs from " + device("1") + " to " + device("64") +
               " to train, depending on batch; 2 of 3 settings fit on Tesla T4");
  // Of one setting it is the verdict of fit and estimate.
  const std::string of_estimate = first_line("estimate MODELS/unet.onnx --gpu t4 --batch 64");
  CHECK_EQ(first_line("sweep MODELS/unet.onnx --gpu t4 --over batch=64"), of_estimate.substr(0, of_estimate.find(';')));
  CHECK(first_line("sweep MODELS/unet.onnx --gpu t4 --over batch=1,2 --over precision=fp32,bf16 --mode infer")
            .ends_with(" to infer, depending on batch and precision; all 4 settings fit on Tesla T4"));
  // A checkpoint that the model does not have.
  CHECK(first_line("sweep MODELS/resnet50.onnx --over checkpoint=layer1.0,nothing.there")
            .ends_with(" to train; 1 of 2 settings has no answer"));
}

TEST_CASE("sweep: the smallest card, what fails, and what is wrong") {
  const Said cards = Do("sweep MODELS/unet.onnx --over batch=1,32 --gpu all --format json");
  CHECK_NE(cards.out.find("\"smallest_card\": \""), std::string::npos);
  // A checkpoint that the model does not have fails alone.
  const Said some = Do("sweep MODELS/resnet50.onnx --over checkpoint=layer1.0,nothing.there --format csv");
  CHECK_EQ(some.exit_code, 0);
  const auto rows = Rows(some.out);
  REQUIRE_EQ(rows.size(), 3);
  CHECK_NE(rows[1][1], "");
  CHECK_EQ(rows[2][1], "");
  struct Row {
    const char *line, *error;
  };
  for (const auto& [line, error] : {
           Row{"sweep MODELS/unet.onnx", "nothing to change is given"},
           Row{"sweep MODELS/unet.onnx --over gpu=t4,a10", "--gpu all"},
           Row{"sweep MODELS/unet.onnx --over precision=fp32,fp3", "fp3"},
           Row{"sweep MODELS/unet.onnx --over nodim=1,2", "no dim of this name"},
           Row{"sweep MODELS/unet.onnx --over batch=1,2 --lora 8", "such as llama-3.2-1b, for --lora"},
           Row{"sweep gpt2 --over sequence=64 --over liger=0,1",
               "--over: --liger takes no value (hint: sweep with --liger"},
           Row{"sweep gpt2 --over sequence=2048,4096", "no combination can be answered: sequence=2048"},
           Row{"sweep MODELS/unet.onnx --over precision=fp32,bf16 --format svg", "no axis of numbers"},
       }) {
    CAPTURE(line);
    const Said said = Do(line);
    CHECK_NE(said.exit_code, 0);
    CHECK_EQ(said.out, "");
    CHECK_NE(said.err.find(error), std::string::npos);
  }
  const Said page = Do("sweep MODELS/gpt_small.onnx --over batch=1,2,4 --over sequence=64,128 --format html");
  CHECK(page.out.starts_with("<!doctype html>"));
  CHECK_NE(page.out.find("sequence 128"), std::string::npos);
}

TEST_CASE("sweep: at the border of the card the first line says tight, as fit does") {
  const auto first_line = [](const std::string& batches) {
    const std::string out = Do("sweep MODELS/unet.onnx --over batch=" + batches + " --gpu t4").out;
    return out.substr(0, out.find('\n'));
  };
  CHECK_EQ(first_line("30"),
           "unet.onnx training at batch 30 fits on Tesla T4: needs 11.99 GiB of 14.56 GiB (2.57 GiB free)");
  CHECK_EQ(first_line("38"),
           "unet.onnx training at batch 38 is tight on Tesla T4: needs 14.43 GiB of 14.56 GiB and may need 15.66 GiB");
  CHECK_EQ(first_line("40"),
           "unet.onnx training at batch 40 does not fit on Tesla T4: needs 15.80 GiB of 14.56 GiB (1.24 GiB too much)");
  CHECK_EQ(
      first_line("30,38,40"),
      "unet.onnx needs from 11.99 GiB to 15.80 GiB to train, depending on batch; 2 of 3 settings fit on Tesla T4, 1 of "
      "them tight");
}

TEST_CASE("sweep: sequences of a model that serves are its batch") {
  const Said sequences = Do("sweep gpt2 --mode serve --gpu t4 --over sequences=1,2,4 --format csv");
  const Said batches = Do("sweep gpt2 --mode serve --gpu t4 --over batch=1,2,4 --format csv");
  CHECK_EQ(sequences.exit_code, 0);
  const Said text = Do("sweep gpt2 --mode serve --gpu t4 --over sequences=1,2,4");
  CHECK_NE(text.out.find("each further sequence "), std::string::npos);
  CHECK_EQ(text.out.find("batch"), std::string::npos);
  REQUIRE_EQ(Rows(sequences.out).size(), 4);
  CHECK_EQ(sequences.out.substr(sequences.out.find('\n')), batches.out.substr(batches.out.find('\n')));
}

TEST_CASE("sweep: over cards that share a model the first line is of each, and a row without an answer says why") {
  const Said said = Do("sweep gpt2 --over gpus=1,2,4 --strategy fsdp2 --gpu t4");
  CHECK_EQ(said.exit_code, 0);
  CHECK_NE(said.out.find("; 1 of 3 settings has no answer; 2 of 3 settings fit on each card (Tesla T4)\n"),
           std::string::npos);
  CHECK_NE(said.out.find("it needs more than one card"), std::string::npos);
  const std::string ways = Do("sweep gpt2 --over strategy=ddp,fsdp2 --gpus 2 --gpu t4").out;
  CHECK_NE(ways.find("; all 2 settings fit on each of 2 cards (Tesla T4)\n"), std::string::npos);
}
