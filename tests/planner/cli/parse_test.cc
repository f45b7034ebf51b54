#include "planner/cli/parse.h"

#include <doctest/doctest.h>

#include <fstream>
#include <initializer_list>
#include <sstream>
#include <vector>

#include "planner/cli/help.h"
#include "planner/cli/verbs.h"

namespace vramplan {
namespace {

// The line as a shell would split it: at spaces.
Result<Command> Parse(const std::string& line) {
  std::vector<std::string> words{"vramplan"};
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

Options Understood(const std::string& line) {
  const Result<Command> command = Parse(line);
  REQUIRE_MESSAGE(command.ok(), line, ": ", ToString(command.error()));
  REQUIRE(std::holds_alternative<Options>(*command));
  return std::get<Options>(*command);
}

TEST_CASE("a plain line leaves PyTorch's defaults") {
  const Options options = Understood("estimate model.onnx");
  CHECK_EQ(options.verb, Verb::kEstimate);
  CHECK_EQ(options.file, "model.onnx");
  CHECK_EQ(options.spec, TrainingSpec());
  CHECK_FALSE(options.batch.has_value());
  CHECK_EQ(options.format, Format::kText);
}

TEST_CASE("every option is read, wherever the file stands") {
  const Options options = Understood(
      "fit --batch 32 --dim sequence=128 --dim past=7 --input x=4x3x8x8 --batch-dim x:0 --mode infer --precision "
      "amp-bf16 --optimizer "
      "adamw --optimizer-impl fused --weight-decay 0.1 --loss mse model.onnx --gpu t4 --gpu-memory 14GiB --capability "
      "8.6 --reserve 1GiB "
      "--context 300MiB --framework pytorch@2.6 --attention math --cudnn-workspace 64MiB --inplace off --format json "
      "--out o.json --checkpoint h.0 --checkpoint h.1 --accumulate 4 --clip-grad-norm 1.5 --zero-grad after-forward "
      "--set-to-none off --ema model-ema-v3");
  CHECK_EQ(options.file, "model.onnx");
  CHECK_EQ(options.batch, 32);
  CHECK_EQ(options.bind.dims, std::map<std::string, int64_t>{{"past", 7}, {"sequence", 128}});
  CHECK_EQ(options.bind.inputs, std::map<std::string, std::vector<int64_t>>{{"x", {4, 3, 8, 8}}});
  CHECK_EQ(options.bind.batch_dim, "x:0");
  TrainingSpec spec;
  spec.mode = Mode::kInfer;
  spec.precision = Precision::kAmpBf16;
  spec.optimizer = Optimizer::kAdamW;
  spec.optimizer_impl = OptimizerImpl::kFused;
  spec.weight_decay = 0.1;
  spec.loss = Loss::kMse;
  spec.framework = {2, 6};
  spec.attention = Attention::kMath;
  spec.inplace = Inplace::kOff;
  spec.checkpoint = {"h.0", "h.1"};
  spec.cudnn_workspace = Bytes::MiB(64);
  spec.accumulate = 4;
  spec.clip_grad_norm = 1.5;
  spec.zero_grad = ZeroGrad::kAfterForward;
  spec.set_to_none = false;
  spec.ema = Ema::kModelEmaV3;
  spec.given = options.spec.given;
  CHECK_EQ(options.spec, spec);
  CHECK_EQ(options.spec.given.count("batch"), 1);
  CHECK_EQ(options.spec.given.size(), 27);
  CHECK_EQ(options.gpu, "t4");
  CHECK_EQ(options.gpu_memory, Bytes::GiB(14));
  CHECK_EQ(options.capability, Capability{8, 6});
  CHECK_EQ(options.reserve, Bytes::GiB(1));
  CHECK_EQ(options.context, Bytes::MiB(300));
  CHECK_EQ(options.format, Format::kJson);
  CHECK_EQ(options.out, "o.json");
}

TEST_CASE("defaults that depend on the optimizer") {
  struct Row {
    const char* typed;
    Optimizer optimizer;
    double weight_decay, momentum;
  };
  constexpr Row kRows[] = {
      {"--optimizer adam", Optimizer::kAdam, 0, 0.9},
      {"--optimizer adamw", Optimizer::kAdamW, 0.01, 0.9},
      {"--optimizer adamw --weight-decay 0", Optimizer::kAdamW, 0, 0.9},
      {"--optimizer sgd", Optimizer::kSgd, 0, 0.9},
      {"--optimizer sgd --momentum 0.8", Optimizer::kSgdMomentum, 0, 0.8},
      {"--optimizer sgd-momentum --momentum 0", Optimizer::kSgd, 0, 0},
      {"--optimizer rmsprop --momentum 0.9", Optimizer::kRmspropMomentum, 0, 0.9},
      {"--optimizer rmsprop-centered --momentum 0.9", Optimizer::kRmspropCenteredMomentum, 0, 0.9},
      {"--optimizer sgd-nesterov --momentum 0.8", Optimizer::kSgdNesterov, 0, 0.8},
      {"--optimizer lamb", Optimizer::kLamb, 0.01, 0.9},
      {"--optimizer muon", Optimizer::kMuon, 0.1, 0.9},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.typed);
    const Options options = Understood(std::string("estimate m.onnx ") + row.typed);
    CHECK_EQ(options.spec.optimizer, row.optimizer);
    CHECK_EQ(options.spec.weight_decay, row.weight_decay);
    CHECK_EQ(options.spec.momentum, row.momentum);
  }
  // Adafactor itself prefers the for-loop; bitsandbytes has one kernel.
  CHECK_EQ(Understood("estimate m.onnx --optimizer adafactor").spec.optimizer_impl, OptimizerImpl::kForLoop);
  CHECK_EQ(Understood("estimate m.onnx --optimizer adamw-8bit").spec.optimizer_impl, OptimizerImpl::kFused);
  CHECK_EQ(Understood("estimate m.onnx --optimizer adafactor --optimizer-impl foreach").spec.optimizer_impl,
           OptimizerImpl::kForeach);
  CHECK_FALSE(Understood("estimate m.onnx --cudnn-workspace auto").spec.cudnn_workspace.has_value());
  CHECK_EQ(Understood("estimate m.onnx --cudnn-workspace 0").spec.cudnn_workspace, Bytes());
  CHECK_FALSE(Parse("estimate m.onnx --batch 1 --batch 2").ok());
  CHECK_EQ(Understood("estimate m.onnx --batch 2 --batch 2").batch, 2);
}

TEST_CASE("what is wrong on the command line is one line that says what to type") {
  struct Row {
    const char *line, *error;
  };
  constexpr Row kRows[] = {
      {"",
       "vramplan: no verb is given: fit, run, plan, estimate, explain, sweep, inspect, gpus, models, ui, diff, probe, "
       "calibrate, validate, watch, trace, compare, replay, solve or check (hint: type "
       "vramplan fit "
       "FILE.onnx "
       "--gpu t4, or "
       "vramplan --help)"},
      {"fot m.onnx",
       "fot: is not one of fit, run, plan, estimate, explain, sweep, inspect, gpus, models, ui, diff, probe, "
       "calibrate, "
       "validate, watch, trace, compare, replay, solve or check (hint: "
       "did you mean "
       "fit?)"},
      {"m.onnx",
       "m.onnx: a verb comes first: fit, run, plan, estimate, explain, sweep, inspect, gpus, models, ui, diff, probe, "
       "calibrate, validate, watch, trace, compare, replay, solve or check (hint: type "
       "vramplan fit "
       "m.onnx "
       "--gpu t4)"},
      {"estimate", "estimate: no file is given (hint: type vramplan estimate FILE.onnx)"},
      {"estimate a.onnx --batch --format json",
       "--batch: no value is given: --format follows (hint: type the value after it)"},
      {"estimate a.onnx b.onnx",
       "b.onnx: estimate takes one file, and this is a second one (hint: vramplan estimate --help lists its options)"},
      {"probe m.onnx", "m.onnx: probe is about this machine's cards, not about a file (hint: type vramplan probe)"},
      {"calibrate m.onnx",
       "m.onnx: calibrate is about this machine's cards, not about a file (hint: type vramplan calibrate --model "
       "m.onnx)"},
      {"estimate m.onnx --bacth 3", "--bacth: no such option (hint: did you mean --batch?)"},
      {"estimate m.onnx --Batch_Size 3", "--Batch_Size: no such option (hint: type --batch N)"},
      {"estimate m.onnx --vram=3GiB", "--vram: no such option (hint: type --gpu-memory 16GiB)"},
      {"inspect m.onnx --fp16", "--fp16: no such option (hint: vramplan inspect --help lists its options)"},
      {"inspect m.onnx --batch 3",
       "--batch: inspect does not have this option (hint: vramplan inspect --help lists its options)"},
      {"estimate m.onnx --batch 0", "--batch: \"0\" is not a whole number from 1 to 1048576 (hint: type --batch 32)"},
      {"estimate m.onnx --batch -1", "--batch: \"-1\" is not a whole number from 1 to 1048576 (hint: type --batch 32)"},
      {"estimate m.onnx --batch 8x", "--batch: \"8x\" is not a whole number from 1 to 1048576 (hint: type --batch 32)"},
      {"estimate m.onnx --dim sequence",
       "--dim: \"sequence\" is not NAME=NUMBER (hint: type it like --dim sequence=128)"},
      {"estimate m.onnx --dim s=-4", "--dim: \"s=-4\" is not a length of 0 or more (hint: type --dim s=1)"},
      {"estimate m.onnx --dim s=4 --dim s=5", "--dim: \"s\" is given twice, as 4 and 5 (hint: give it once)"},
      {"estimate m.onnx --dim s=99999999999999999999",
       "--dim: \"s=99999999999999999999\" is not NAME=NUMBER (hint: type it like --dim sequence=128)"},
      {"estimate m.onnx --input x=8xx3",
       "--input: \"x=8xx3\" is not NAME=AxBxC with lengths of 1 or more (hint: type it like --input x=8x3x224x224)"},
      {"estimate m.onnx --weight-decay -1",
       "--weight-decay: \"-1\" is not a number of 0 or more (hint: type --weight-decay 0.01)"},
      {"estimate m.onnx --optimizer sgd-nesterov --momentum 0",
       "--momentum: sgd-nesterov needs a momentum above 0 (hint: type --optimizer sgd --momentum 0.9)"},
      {"estimate m.onnx --accumulate 0",
       "--accumulate: \"0\" is not a whole number from 1 to 1048576 (hint: type --accumulate 4)"},
      {"estimate m.onnx --set-to-none maybe",
       "--set-to-none: \"maybe\" is not one of on or off (hint: type --set-to-none off)"},
      {"estimate m.onnx --zero-grad before",
       "--zero-grad: \"before\" is not one of end, start or after-forward (hint: type --zero-grad end)"},
      {"estimate m.onnx --momentum 0.9",
       "--momentum: adam has no momentum (hint: type --optimizer sgd --momentum 0.9)"},
      {"estimate m.onnx --reserve 3parsecs",
       "--reserve: \"3parsecs\" is not a size: its unit is unknown (hint: write it like 14.56GiB, 512MiB or "
       "1073741824)"},
      {"fit m.onnx --gpu-memory 8", "--gpu-memory: \"8\" is 8 B: its unit is missing (hint: type --gpu-memory 8GiB)"},
      {"fit m.onnx --gpu-memory 8000",
       "--gpu-memory: \"8000\" is 7.81 KiB: its unit is missing (hint: type --gpu-memory 8000MiB)"},
      {"fit m.onnx --gpu-memory 0", "--gpu-memory: a card has more memory than \"0\" (hint: type --gpu-memory 16GiB)"},
      {"fit m.onnx --gpu t4 --context 500",
       "--context: \"500\" is 500 B: its unit is missing (hint: type --context 500MiB; so many tokens are --dim "
       "sequence=500)"},
      {"estimate m.onnx --mode inference",
       "--mode: \"inference\" is not one of train, eval, infer or serve (hint: type --mode infer)"},
      {"estimate m.onnx --dim", "--dim: no value is given (hint: type --dim NAME=N)"},
      {"estimate m.onnx --format yaml",
       "--format: \"yaml\" is not one of text, json, html, all, svg or snapshot (hint: type --format json)"},
      {"inspect m.onnx --dump shape",
       "--dump: \"shape\" is not one of shapes, layers, parameters or holds (hint: did you mean shapes?)"},
      {"fit m.onnx", "fit: no card is given (hint: add --gpu t4, --gpu all or --gpu-memory 16GiB)"},
      {"estimate m.onnx --gpu all",
       "--gpu: only fit and sweep compare several cards (hint: type vramplan fit FILE --gpu all)"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.line);
    const Result<Command> command = Parse(row.line);
    REQUIRE_FALSE(command.ok());
    CHECK_EQ(ToString(command.error()), row.error);
    CHECK_EQ(command.error().code, ErrorCode::kUsage);
  }
  CHECK_EQ(Parse("fit m.onnx --gpu").error().code, ErrorCode::kUsage);
}

std::string Answered(const std::string& line) {
  const Result<Command> command = Parse(line);
  REQUIRE(command.ok());
  REQUIRE(std::holds_alternative<AskedText>(*command));
  return std::get<AskedText>(*command).text;
}

TEST_CASE(
    "numbers that are sizes without a unit: bytes of a mebibyte and more, nothing at all, and budgets of any unit") {
  CHECK_EQ(Understood("fit m.onnx --gpu-memory 1048576").gpu_memory, Bytes::MiB(1));
  CHECK_EQ(Understood("fit m.onnx --gpu-memory 8B").gpu_memory, Bytes::Of(8));
  CHECK_EQ(Understood("fit m.onnx --gpu t4 --context 0 --reserve 0").context, Bytes());
  CHECK_EQ(Understood("solve v.txt --budget 8").remat.budget, 8);
}

TEST_CASE("help is asked for in several ways") {
  CHECK_EQ(Answered("--help"), HelpText());
  CHECK_EQ(Answered("-h"), HelpText());
  CHECK_EQ(Answered("fit --help"), HelpText(Verb::kFit, false));
  CHECK_EQ(Answered("help gpus"), HelpText(Verb::kGpus, false));
  CHECK_EQ(Answered("fit m.onnx --batch 3 -h"), HelpText(Verb::kFit, false));
  CHECK_EQ(Answered("fit --help all"), HelpText(Verb::kFit, true));
  CHECK_EQ(Answered("help fit all"), HelpText(Verb::kFit, true));
  CHECK_EQ(Answered("--version"), VersionText());
}

TEST_CASE("options that change nothing in a mode are told") {
  const auto idle = [](const std::string& line) {
    std::string flags;
    const Options options = Understood(line);
    for (const Note& note : options.notes.all())
      if (note.code == "idle-option") flags += note.subject + " ";
    return flags;
  };
  const std::string loop = " --optimizer sgd --loss mse --checkpoint all";
  CHECK_EQ(idle("fit m.onnx --gpu t4" + loop), "");
  CHECK_EQ(idle("fit m.onnx --gpu t4 --mode infer" + loop), "--optimizer --loss --checkpoint ");
  CHECK_EQ(idle("fit gpt2 --gpu t4 --mode serve --precision bf16" + loop), "--optimizer --loss --checkpoint ");
  CHECK_EQ(idle("fit m.onnx --gpu t4 --mode eval" + loop), "--optimizer --loss ");  // what is saved is kept there, too
}

TEST_CASE("golden --help") {
  const auto is_golden = [](const std::string& help, const std::string& name) {
    CAPTURE(name);
    std::ifstream file(std::string(VRAMPLAN_SOURCE_DIR) + "/tests/golden/help/" + name + ".txt");
    std::stringstream golden;
    golden << file.rdbuf();
    CHECK_EQ(help, golden.str());
    std::istringstream lines(golden.str());
    for (std::string line; std::getline(lines, line);) CHECK_LE(line.size(), 100);
  };
  is_golden(HelpText(), "vramplan");
  for (const VerbRow& row : VerbRows()) {
    is_golden(HelpText(row.verb, true), row.name);
    is_golden(HelpText(row.verb, false), row.name + std::string("-first"));
  }
}

}  // namespace
}  // namespace vramplan
