// A configuration of nnU-Net's plans, nnU-Net 2.8 (documentation/explanation_plans_files.md, inherits_from).
#include "planner/report/snippets/snippets.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

// What nnUNetTrainer does whatever the plans say (training/nnUNetTrainer/nnUNetTrainer.py).
Status CheckNnUnetTrains(const SnippetOf& of) {
  if (of.plan.precision != Precision::kAmpFp16 || of.spec.optimizer != Optimizer::kSgdNesterov) {
    return Error{ErrorCode::kUsage, "--emit", "nnU-Net trains under autocast in fp16 with Nesterov's SGD",
                 "type --precision amp-fp16 --optimizer sgd-nesterov"};
  }
  if (of.plan.accumulate > 1 || !of.plan.checkpoint.empty()) {
    return Error{ErrorCode::kUsage, "--emit", "nnU-Net has no checkpoints and does not accumulate, as the plan does",
                 "type fit --emit nnunet, whose batch fits without"};
  }
  return Done();
}

}  // namespace

Result<std::string> NnUnetConfiguration(const SnippetOf& of) {
  if (of.patch.empty()) {
    return Error{ErrorCode::kUsage, "--emit",
                 "nnunet is for a U-Net in 2-D or 3-D, which makes as many pixels as it is given",
                 "type --emit pytorch"};
  }
  if (const Status trains = CheckNnUnetTrains(of); !trains.ok()) return trains.error();
  const std::string parent = of.patch.size() == 2 ? "2d" : "3d_fullres";
  Json patch = Json::Array();
  for (const int64_t length : of.patch) patch.Push(length);
  std::string heading = SnippetHeading(of).substr(2);
  heading.pop_back();
  Json configuration = Json::Object();
  configuration
      .Set("_comment",
           heading + ". For nnU-Net 2.8: a configuration of nnUNetPlans.json, run by nnUNetv2_train DATASET " + parent +
               "_vramplan FOLD with nnUNet_compile=f, if the network of the plans is this one" +
               (of.spec.clip_grad_norm > 0 ? "" : "; nnU-Net clips gradients, which --clip-grad-norm 12 counts"))
      .Set("inherits_from", parent)
      .Set("batch_size", of.plan.batch)
      .Set("patch_size", std::move(patch));
  Json named = Json::Object(), object = Json::Object();
  named.Set(parent + "_vramplan", std::move(configuration));
  object.Set("configurations", std::move(named));
  return Print(object);
}

}  // namespace vramplan
