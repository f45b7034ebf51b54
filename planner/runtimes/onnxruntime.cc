#include "planner/runtimes/onnxruntime.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "planner/runtimes/buffer_plan.h"
#include "planner/runtimes/memory_pattern.h"
#include "planner/semantics/cudnn_workspace.h"
#include "planner/timeline/recorder.h"

namespace vramplan {
namespace {

constexpr int64_t kAlignment = 256;  // kAllocAlignment of core/framework/allocator.h
constexpr int kRuns = 2;

// AlgoSearchWorkspaceSize of core/providers/cuda/nn/conv.h: what a convolution may take at most without
// cudnn_conv_use_max_workspace.
constexpr Bytes kSmallWorkspace = Bytes::MiB(32);

using Kind = BufferPlan::Kind;

class Session {
 public:
  Session(const Layers& given, const TrainingSpec& spec, int64_t batch, Timeline* timeline)
      : given_(given),
        spec_(spec),
        batch_(batch),
        recorder_(*timeline),
        timeline_(*timeline),
        plan_(PlanBuffers(given)) {
    FindLargest();
    dying_.resize(given.layers.size());
    for (size_t v = 0; v < given.values.size(); ++v) {
      const BufferPlan::Value& value = plan_.values[v];
      if (value.kind == Kind::kOwn && value.last_reader >= 0)
        dying_[static_cast<size_t>(value.last_reader)].push_back(ValueId{static_cast<int32_t>(v)});
    }
  }

  int unknown() const { return unknown_; }

  void Run() {
    recorder_.Enter(0, Phase::kSetup);
    Origin session;
    session.op = "session initializers";
    for (const ValueId weight : given_.parameters) recorder_.Allocate(SizeOf(weight), Category::kParameters, session);
    for (int run = 1; run <= kRuns; ++run) {
      recorder_.Enter(run, Phase::kForward);
      Origin feeds;
      feeds.op = "copy of an input";  // CopyInputsAcrossDevices of core/framework/utils.cc
      for (const ValueId input : given_.inputs) Allocate(input, Category::kInputs, feeds);
      if (run == 1) {
        RunOneByOne();
      } else {
        RunWithPattern();
      }
      recorder_.Mark(EventKind::kAfterForward);
      while (!live_.empty()) Free(live_.begin()->first);
      recorder_.Mark(EventKind::kStepEnd);
    }
    recorder_.Stop();
  }

 private:
  DType TypeOf(const Value& value) const {
    return spec_.precision == Precision::kFp16 && value.type == DType::kFloat32 ? DType::kFloat16 : value.type;
  }
  // What data decides counts as the largest that is known.
  SizeExpr SizeOf(ValueId id) const {
    const Value& value = given_[id];
    return value.shape.known() ? SizeExpr::Of(TypeOf(value), value.shape.Elements()) : largest_;
  }
  void FindLargest() {
    for (const Value& value : given_.values) {
      if (value.role != Role::kActivation) continue;
      if (!value.shape.known()) {
        ++unknown_;
        continue;
      }
      const SizeExpr bytes = SizeExpr::Of(TypeOf(value), value.shape.Elements());
      if (bytes.At(batch_) > largest_.At(batch_)) largest_ = bytes;
    }
  }

  void Allocate(ValueId id, Category category, const Origin& origin) {
    if (!SizeOf(id).IsZero()) live_[id] = recorder_.Allocate(SizeOf(id), category, origin);
  }
  void Free(ValueId id) {
    const auto found = live_.find(id);
    if (found == live_.end()) return;
    recorder_.Free(found->second);
    live_.erase(found);
  }

  Origin OriginOf(size_t layer) const {
    Origin origin;
    origin.layer = static_cast<int32_t>(layer);
    return origin;
  }

  void RunOneByOne() {
    for (size_t l = 0; l < given_.layers.size(); ++l) {
      for (const ValueId output : given_.layers[l].outputs) {
        if (!output.valid()) continue;
        const Kind kind = plan_[output].kind;
        if (kind != Kind::kOwn && kind != Kind::kOutput) continue;
        Allocate(output, Category::kActivations, OriginOf(l));
        if (kind == Kind::kOwn) pattern_.Allocate(output, Aligned(SizeOf(output)), SizeOf(output));
      }
      UseWorkspace(l);
      for (const ValueId dead : dying_[l]) {
        Free(dead);
        pattern_.Free(dead);
      }
    }
  }

  void RunWithPattern() {
    Origin pattern;
    pattern.op = "memory pattern";
    BlockId block;
    if (pattern_.peak() > Bytes()) {
      block = recorder_.Allocate(pattern_.PeakAround(batch_), Category::kActivations, pattern);
      // ExecutionFrame goes on one by one when the block cannot be had (core/framework/execution_frame.cc).
      timeline_.blocks[static_cast<size_t>(block.value)].optional = true;
    }
    for (size_t l = 0; l < given_.layers.size(); ++l) {
      for (const ValueId output : given_.layers[l].outputs) {
        if (output.valid() && plan_[output].kind == Kind::kOutput)
          Allocate(output, Category::kActivations, OriginOf(l));
      }
      UseWorkspace(l);
    }
    if (block.valid()) recorder_.Free(block);
  }

  Bytes Aligned(SizeExpr bytes) const {
    return Bytes::Of((bytes.At(batch_).count() + kAlignment - 1) / kAlignment * kAlignment);
  }

  // Taken after the output and given back before the kernel returns (GetScratchBuffer in
  // core/providers/cuda/nn/conv.cc).
  void UseWorkspace(size_t l) {
    const Layer& layer = given_.layers[l];
    if (layer.op != "Conv" && layer.op != "ConvTranspose") return;
    const SizeExpr likely = SizeExpr::Constant(spec_.cudnn_workspace.value_or(Bytes()));
    const SizeExpr most = spec_.cudnn_workspace ? likely : MostWorkspace(layer);
    if (most.IsZero()) return;
    recorder_.Free(recorder_.AllocateUpTo(likely, most, Category::kWorkspace, OriginOf(l)));
  }

  SizeExpr MostWorkspace(const Layer& layer) const {
    if (layer.inputs.size() < 2 || layer.outputs.empty()) return {};
    const Value& filter = given_[layer.inputs[1]];
    const Value& output = given_[layer.outputs[0]];
    if (!filter.shape.known() || !output.shape.known() || filter.shape.rank() < 3) return {};
    eager::ConvolutionCall call;
    call.type = TypeOf(filter);
    call.input = SizeOf(layer.inputs[0]);
    call.output = SizeOf(layer.outputs[0]);
    call.filter = SizeOf(layer.inputs[1]);
    call.samples = output.shape[0];
    call.filter_elements = filter.shape.Elements().At(batch_);
    call.filter_channels = filter.shape[0].At(batch_) * filter.shape[1].At(batch_);
    call.filter_window = std::max<int64_t>(1, call.filter_elements / std::max<int64_t>(1, call.filter_channels));
    call.output_positions = output.shape.Elements().At(batch_) /
                            std::max<int64_t>(1, output.shape[0].At(batch_) * output.shape[1].At(batch_));
    const SizeExpr most = eager::HighestCudnnWorkspace(call, spec_.capability, batch_);
    const bool limited = !spec_.ort.max_workspace && most.At(batch_) > kSmallWorkspace;
    return limited ? SizeExpr::Constant(kSmallWorkspace) : most;
  }

  const Layers& given_;
  const TrainingSpec& spec_;
  const int64_t batch_;
  Recorder recorder_;
  Timeline& timeline_;
  BufferPlan plan_;
  std::vector<std::vector<ValueId>> dying_;  // by layer: owners that it reads last
  std::map<ValueId, BlockId> live_;
  MemoryPattern pattern_;
  SizeExpr largest_;
  int unknown_ = 0;
};

Error Unusable(const char* option, std::string text, std::string hint) {
  return Error{ErrorCode::kUsage, option, std::move(text), std::move(hint)};
}

}  // namespace

Result<Timeline> ScheduleOnnxRuntime(const Layers& given, const TrainingSpec& spec, int64_t batch, Notes* notes) {
  if (!IsWithoutGradients(spec.mode))
    return Unusable("--mode", "onnxruntime only infers: " + std::string(Name(spec.mode)) + " is a framework's",
                    "type --mode infer, or --framework pytorch");
  if (spec.precision != Precision::kFp32 && spec.precision != Precision::kFp16) {
    return Unusable("--precision",
                    "onnxruntime runs the file's own types: there is no " + std::string(Name(spec.precision)),
                    "type --precision fp32 for the types of the file, fp16 for a file converted to halves");
  }
  Timeline timeline;
  timeline.batch = batch;
  timeline.steps = kRuns;
  Session session(given, spec, batch, &timeline);
  session.Run();
  if (session.unknown() > 0 && notes != nullptr) {
    notes->Add({"unknown-shape", Severity::kWarning, "--input",
                std::to_string(session.unknown()) +
                    " tensors have sizes that only data decides; each counts as the largest known one",
                ""});
  }
  return timeline;
}

}  // namespace vramplan
