#include "planner/report/snippets.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

namespace vramplan {
namespace {

// Batch 96 in amp-fp16, two modules checkpointed, four accumulations.
struct Planned {
  Plan plan;
  TrainingSpec spec;
  SnippetOf Of() const { return {plan, spec, "net.onnx", "Tesla T4", Bytes::Of(4000), "expandable_segments:True"}; }
};

Planned Example() {
  Planned planned;
  planned.plan.batch = 96;
  planned.plan.accumulate = 4;
  planned.plan.precision = Precision::kAmpFp16;
  planned.plan.optimizer_impl = OptimizerImpl::kFused;
  planned.plan.tier = Tier::kModules;
  planned.plan.checkpoint = {"m.h.0", "m.h.1"};
  planned.plan.peak.peak = {Bytes::Of(1000), Bytes::Of(2000), Bytes::Of(3000)};
  planned.spec.optimizer = Optimizer::kAdamW;
  planned.spec.weight_decay = 0.01;
  return planned;
}

std::string Golden(const std::string& name) {
  std::ifstream file(std::string(VRAMPLAN_SOURCE_DIR) + "/tests/golden/plan/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("clipping is told where it can be told") {
  Planned planned = Example();
  planned.spec.clip_grad_norm = 0.5;
  const auto says = [&](Emit emit, const char* text) {
    const Result<std::string> snippet = PrintSnippet(emit, planned.Of());
    return snippet.ok() && snippet->find(text) != std::string::npos;
  };
  CHECK(says(Emit::kHf, "    max_grad_norm=0.5,\n"));
  CHECK(says(Emit::kLightning, ", gradient_clip_val=0.5)"));
  CHECK(says(Emit::kDeepspeed, "\"gradient_clipping\": 0.5"));
  planned.spec.clip_grad_norm = 0;
  CHECK_FALSE(says(Emit::kLightning, "gradient_clip_val"));
  CHECK_FALSE(says(Emit::kDeepspeed, "gradient_clipping"));
}

// tests/golden/plan: whole files, to be read by people, too.
TEST_CASE("snippets are those of the golden files") {
  struct Row {
    Emit emit;
    const char* file;
  };
  constexpr Row kRows[] = {{Emit::kPytorch, "pytorch.py"},
                           {Emit::kHf, "hf.py"},
                           {Emit::kAccelerate, "accelerate.yaml"},
                           {Emit::kLightning, "lightning.py"},
                           {Emit::kDeepspeed, "deepspeed.json"},
                           {Emit::kKeras, "keras.py"},
                           {Emit::kEnv, "env.sh"}};
  for (const Row& row : kRows) {
    CAPTURE(row.file);
    const Planned planned = Example();
    const Result<std::string> snippet = PrintSnippet(row.emit, planned.Of());
    REQUIRE(snippet.ok());
    CHECK_EQ(*snippet, Golden(row.file));
  }
}

TEST_CASE("a plan that saves operator calls is a module with a policy, and nothing less") {
  Planned planned = Example();
  planned.plan.tier = Tier::kOperators;
  planned.plan.saved = {{"m.h.1", "aten.mm.default", 2},
                        {"m.h.0", "aten.addmm.default", 0},
                        {"m.h.0", "aten.addmm.default", 3},
                        {"m.h.0", "aten.gelu.default", 0}};
  CHECK_EQ(*PrintSnippet(Emit::kPytorchSac, planned.Of()), Golden("pytorch_sac.py"));
  CHECK_FALSE(PrintSnippet(Emit::kPytorch, planned.Of()).ok());
  const std::string keras = *PrintSnippet(Emit::kKeras, planned.Of());
  CHECK(keras.find("operator calls that are saved inside a layer") != std::string::npos);
}

TEST_CASE("the optimizer's constructor has what the spec says") {
  struct Row {
    Optimizer optimizer;
    OptimizerImpl impl;
    const char* line;
  };
  constexpr Row kRows[] = {
      {Optimizer::kSgdNesterov, OptimizerImpl::kForeach,
       "torch.optim.SGD(parameters, **{**dict(foreach=True, momentum=0.9, nesterov=True, weight_decay=0.01), "
       "**options})"},
      {Optimizer::kSgdMomentum, OptimizerImpl::kForLoop,
       "torch.optim.SGD(parameters, **{**dict(foreach=False, momentum=0.9, weight_decay=0.01), **options})"},
      {Optimizer::kAdamAmsgrad, OptimizerImpl::kFused,
       "torch.optim.Adam(parameters, **{**dict(fused=True, amsgrad=True, weight_decay=0.01), **options})"},
      {Optimizer::kAdam8bit, OptimizerImpl::kForLoop,
       "    import bitsandbytes\n\n    return bitsandbytes.optim.Adam8bit(parameters, **{**dict(weight_decay=0.01), "
       "**options})"},
  };
  for (const Row& row : kRows) {
    Planned planned = Example();
    planned.spec.optimizer = row.optimizer;
    planned.plan.optimizer_impl = row.impl;
    const Result<std::string> snippet = PrintSnippet(Emit::kPytorch, planned.Of());
    REQUIRE(snippet.ok());
    CHECK_MESSAGE(snippet->find(row.line) != std::string::npos, *snippet);
  }
  Planned muon = Example();
  muon.spec.optimizer = Optimizer::kMuon;
  CHECK_FALSE(PrintSnippet(Emit::kPytorch, muon.Of()).ok());
}

TEST_CASE("names of snippets") {
  CHECK(*ParseEmit("deepspeed") == Emit::kDeepspeed);
  CHECK_EQ(ParseEmit("pytorh").error().hint, "did you mean pytorch?");
}

}  // namespace
}  // namespace vramplan
