// fit, plan, replay and trace about the run of a script that was recorded.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

std::string Line(const std::string& op, const std::string& id, const std::string& bytes, const std::string& rest) {
  return op + "," + id + "," + bytes + "," + rest + "\n";
}

// Two steps of a model of 1 GB with two layers that keep 2 GB each.
std::string Recorded() {
  std::string text = "op,id,bytes,step,phase,category,element,module,file,line,function\n";
  text += Line("alloc", "0", "1000000000", "0,setup,parameters,4,,/x/train.py,6,main");
  int id = 1;
  for (const std::string step : {"1", "2"}) {
    std::string frees;
    std::string given;
    text += Line("enter", "", "", step + ",forward,,,net,,,");
    for (const std::string layer : {"layers.0", "layers.1"}) {
      const std::string kept = std::to_string(id++), result = std::to_string(id++);
      text += Line("enter", "", "", step + ",forward,,," + layer + ",,,");
      text += Line("enter", "", "", step + ",forward,,," + layer + ".norm,,,");
      text +=
          Line("alloc", kept, "2000000000", step + ",forward,activations,," + layer + ".norm,/x/model.py,9,forward");
      text += Line("leave", kept, "", step + ",forward,,," + layer + ".norm,,,");
      text += Line("alloc", result, "10000000", step + ",forward,activations,," + layer + ",/x/model.py,10,forward");
      text += Line("leave", result, "", step + ",forward,,," + layer + ",,,");
      frees = Line("free", result, "10000000", step + ",backward,,,,,,") +
              Line("free", kept, "2000000000", step + ",backward,,,,,,") + frees;
      given = result;
    }
    text += Line("leave", given, "", step + ",forward,,,net,,,");
    const std::string gradient = std::to_string(id++);
    text += Line("alloc", gradient, "1000000000", step + ",backward,gradients,4,,,,");
    text += frees;
    if (step == "1") {
      text +=
          Line("alloc", std::to_string(id++), "1000000000", step + ",update,optimizer_state,4,,/x/train.py,12,main");
      text +=
          Line("alloc", std::to_string(id++), "1000000000", step + ",update,optimizer_state,4,,/x/train.py,12,main");
    }
    text += Line("free", gradient, "1000000000", step + ",zero_grad,,,,,,");
  }
  return text;
}

TEST_CASE("fit and plan about a recorded script") {
  const ScratchFile file("train.csv", Recorded());
  struct Row {
    const char* golden;
    const char* command;
    int exit_code;
  };
  const Row rows[] = {
      {"record/fits", "fit FILE --gpu a100-40gb", 0},
      {"record/fits_not", "fit FILE --gpu-memory 7GiB", 3},
      {"record/json", "fit FILE --gpu-memory 7GiB --format json", 3},
      {"record/plan", "plan FILE --gpu rtx-3070", 0},
      {"record/plan_fails", "plan FILE --gpu-memory 3GiB", 3},
  };
  for (const Row& row : rows) {
    CAPTURE(row.golden);
    std::string command = row.command;
    command.replace(command.find("FILE"), 4, file.path());
    const Said said = Do(command);
    CHECK(said.exit_code == row.exit_code);
    const std::string all = said.out + said.err;
    CHECK(all == Golden(row.golden, all));
  }
  const Said matrix = Do("fit " + file.path() + " --gpu all");
  CHECK(matrix.exit_code == 0);
  CHECK(matrix.FirstLine().find("fits as recorded on ") != std::string::npos);
  CHECK(Do("fit " + file.path() + " --gpu all --format json").out.find("\"vramplan.record/1\"") != std::string::npos);
}

TEST_CASE("what a run reserved above its requests in one pool is added") {
  const ScratchFile one("train.csv", Recorded());
  std::string text = Recorded();
  text.insert(text.find('\n') + 1, "reserved,,9000000000,0,setup,,,,,,\n");  // 8,023,703,552 in one pool
  const ScratchFile streams("streams.csv", text);
  const std::string card = " --gpu-memory 8500MiB --format json";  // 8,912,896,000, less the context
  CHECK(Do("fit " + one.path() + card).exit_code == 0);
  const Said said = Do("fit " + streams.path() + card);
  CHECK(said.exit_code == 3);
  CHECK(said.out.find("\"reserved\": 9000000000") != std::string::npos);
  CHECK(said.out.find("other-streams") != std::string::npos);
}

TEST_CASE("what a record cannot be asked") {
  const ScratchFile file("train.csv", Recorded());
  const Said precision = Do("fit " + file.path() + " --gpu t4 --precision fp16");
  CHECK(precision.exit_code == 2);
  CHECK(
      precision.err ==
      "vramplan: --precision: the step of a recorded run is as it was recorded (hint: leave it out, or run the script "
      "again with vramplan run)\n");
  const ScratchFile cut("cut.csv", Recorded() + "alloc,1");
  const Said broken = Do("plan " + cut.path() + " --gpu t4");
  CHECK(broken.exit_code == 1);
  CHECK(broken.err.find("it does not have 11 cells (hint: vramplan run --record writes such files") !=
        std::string::npos);
}

TEST_CASE("replay and trace take a record as a stream") {
  const ScratchFile file("train.csv", Recorded());
  const Said replay = Do("replay " + file.path());
  CHECK(replay.exit_code == 0);
  CHECK(replay.FirstLine().find("reserves at most") != std::string::npos);
  const Said trace = Do("trace MODELS/mlp.onnx --compare " + file.path());
  CHECK(trace.exit_code == 0);
  CHECK(trace.FirstLine().starts_with("differs: step 2 of mlp.onnx at batch 1 leaves vramplan_test_train.csv at line"));
  CHECK(trace.out.find("layers.0.norm model.py:9 forward") != std::string::npos);
  CHECK(Do("trace MODELS/mlp.onnx --step 3 --compare " + file.path()).err.find("has 2 steps") != std::string::npos);
  // Of inference, say, there is one step, and nobody has to name it.
  const std::string both = Recorded();
  const ScratchFile once("once.csv", both.substr(0, both.find("\nenter,,,2,") + 1));
  const std::string compare = "trace MODELS/mlp.onnx --compare " + once.path();
  CHECK(Do(compare).FirstLine().starts_with("differs: step 1 of mlp.onnx at batch 1 leaves"));
  CHECK_EQ(Do(compare).out, Do(compare + " --step 1").out);
  CHECK(Do(compare + " --step 2").err.find("has 1 step (hint:") != std::string::npos);
}

}  // namespace
}  // namespace vramplan::testing
