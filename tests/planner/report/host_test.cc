#include "planner/report/host.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/command_line.h"

using namespace vramplan;
using vramplan::testing::Do;
using vramplan::testing::Said;

TEST_CASE("host: batches of the loader wait in shared memory, and pinned in powers of two") {
  const LoaderQuestion loader{.workers = 4, .prefetch = 2, .sample = Bytes::Of(600'000), .pinned = true};
  CHECK_EQ(WaitingBatches(loader, 16), Bytes::Of(16 * 600'000 * 8));
  CHECK_EQ(PinnedBatches(loader, 16), Bytes::MiB(16) * 8);  // 9.6 MB each
  CHECK_EQ(WaitingBatches({}, 16), Bytes());
}

TEST_CASE("host: each sum is its rows, and convolutions take more") {
  HostQuestion question{.loader = {.workers = 2, .sample = Bytes::MiB(1)},
                        .batch = 4,
                        .model = Bytes::MiB(100),
                        .tensors = Bytes::GiB(1),
                        .convolutions = false};
  const HostMemory linear = HostMemoryOf(question);
  question.convolutions = true;
  const HostMemory convolved = HostMemoryOf(question);
  for (const HostMemory* host : {&linear, &convolved}) {
    for (const auto* rows : {&host->beside, &host->on_cpu}) {
      const Band sum = host->Sum(*rows);
      CHECK_LE(sum.low, sum.likely);
      CHECK_LE(sum.likely, sum.high);
      Bytes likely;
      for (const HostRow& row : *rows) likely += row.likely;
      CHECK_EQ(sum.likely, likely);
    }
  }
  CHECK_GT(convolved.Sum(convolved.on_cpu).likely, linear.Sum(linear.on_cpu).likely);
  CHECK_EQ(convolved.Sum(convolved.beside), linear.Sum(linear.beside));
}

// Two steps of training on the CPU above what `import torch, torchvision` takes: torch 2.10.0+cu128, Python 3.11, one
// thread, Adam; resident bytes at their highest.
TEST_CASE("host: measured steps on the CPU lie between the two ends") {
  struct Row {
    const char* model;
    int batch;
    int64_t measured;
  };
  for (const auto& [model, batch, measured] :
       {Row{"resnet18", 8, 545632256}, Row{"resnet18", 32, 1517023232}, Row{"mobilenet_v2", 16, 1994461184},
        Row{"vit_b_16", 4, 1879904256}, Row{"mlp", 256, 110788608}}) {
    CAPTURE(model);
    CAPTURE(batch);
    const std::string json =
        Do("fit " VRAMPLAN_SOURCE_DIR "/tests/data/zoo/" + std::string(model) +
           ".dynamo-train.onnx --framework pytorch@2.10 --gpu t4 --host --format json --batch " + std::to_string(batch))
            .out;
    const size_t at = json.find("\"on_cpu\": {");
    REQUIRE_NE(at, std::string::npos);
    const auto end = [&](const char* name) {
      return std::stoll(json.substr(json.find(std::string("\"") + name + "\": ", at) + std::string(name).size() + 4));
    };
    constexpr int64_t kProcess = 669'000'000;
    CHECK_LE(end("low") - kProcess, measured);
    CHECK_GE(end("high") - kProcess, measured);
    CHECK_LE(std::abs(end("likely") - kProcess - measured), measured / 8);
  }
}

TEST_CASE("host: one command says why it fits there and not on the card") {
  const Said said = Do("fit MODELS/unet.onnx --gpu-memory 6GiB --batch 16 --host --workers 4");
  CHECK_EQ(said.exit_code, 3);
  CHECK_NE(said.out.find("the whole step on the CPU"), std::string::npos);
  CHECK_NE(said.out.find("the same batches, pinned"), std::string::npos);
  CHECK_NE(said.out.find("too little"), std::string::npos);
  CHECK_NE(Do("fit MODELS/unet.onnx --gpu t4 --workers 4").err.find("add --host"), std::string::npos);
  CHECK_NE(Do("fit MODELS/unet.onnx --gpu all --host").err.find("name one card"), std::string::npos);
  CHECK_NE(Do("fit MODELS/unet.onnx --gpu t4 --host --workers 0.5").err.find("is not a number"), std::string::npos);
  CHECK_NE(Do("fit MODELS/unet.onnx --gpu t4 --host --format html").out.find("The host&#39;s RAM"), std::string::npos);
}
