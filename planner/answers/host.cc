#include "planner/answers/host.h"

#include <algorithm>

#include "planner/report/parts/breakdown.h"
#include "planner/semantics/optimizer.h"

namespace vramplan {
namespace {

// Inputs and target of one sample, as the loader makes them.
Bytes SampleBytes(const Timeline& timeline) {
  Bytes bytes;
  for (const Event& event : timeline.events) {
    if (event.kind != EventKind::kAllocate || event.step > 0) continue;
    const Block& block = timeline[event.block];
    if (block.category == Category::kInputs) bytes += block.bytes.At(1);
  }
  return bytes;
}

// glibc maps a block of its own from here on, whatever it has learned, and unmaps it when it is freed, so that it leaves
// no hole (malloc/malloc.c, 2.36: DEFAULT_MMAP_THRESHOLD_MAX, 4 * 1024 * 1024 * sizeof(long)).
constexpr Bytes kMapped = Bytes::MiB(32);

struct Tensors {
  Bytes all;      // the highest sum of requested bytes without a GPU's workspaces
  Bytes passing;  // of those in malloc's heap that come and go in the forward and the backward
};

Tensors TensorsOf(const Timeline& timeline, int64_t batch) {
  Bytes level, passing;
  Tensors highest;
  for (const Event& event : timeline.events) {
    if (!event.block.valid()) continue;
    const Block& block = timeline[event.block];
    if (block.category == Category::kWorkspace) continue;
    const Bytes bytes = block.bytes.At(batch);
    const bool passes =
        bytes < kMapped && (block.category == Category::kActivations || block.category == Category::kTemporaries);
    if (event.kind == EventKind::kAllocate) {
      level += bytes;
      if (passes) passing += bytes;
    } else if (event.kind == EventKind::kFree) {
      level -= bytes;
      if (passes) passing -= bytes;
    }
    highest.all = std::max(highest.all, level);
    if (event.phase != Phase::kUpdate) highest.passing = std::max(highest.passing, passing);
  }
  return highest;
}

}  // namespace

Result<HostMemory> HostOf(const Prepared& prepared, const Question& question, const TrainingSpec& spec,
                          const CardFit& fit) {
  const int64_t batch = prepared.head.batch;
  TrainingSpec on_cpu = spec;
  on_cpu.cudnn_workspace = Bytes();
  // torch/optim/optimizer.py, 2.10, _default_to_fused_or_foreach: foreach only where all parameters are on a card.
  if (!spec.given.contains("optimizer-impl") && eager::HasImpl(spec.optimizer, OptimizerImpl::kForLoop))
    on_cpu.optimizer_impl = OptimizerImpl::kForLoop;
  Notes already_told;
  const Result<Timeline> step = LayOut(prepared, on_cpu, batch, &already_told);
  if (!step.ok()) return step.error();
  HostQuestion host_question;
  host_question.batch = batch;
  host_question.loader = question.loader;
  if (host_question.loader.sample == Bytes()) host_question.loader.sample = SampleBytes(*step);
  host_question.model = prepared.head.model.parameter_bytes + prepared.head.model.buffer_bytes;
  const Tensors tensors = TensorsOf(*step, batch);
  host_question.tensors = tensors.all;
  host_question.passing = tensors.passing;
  HostMemory host = HostMemoryOf(host_question);
  CardBytes card;
  card.needs = DeviceBytes(fit.peak, fit.device.context.likely);
  card.has = fit.device.available();
  card.context = fit.device.context.likely;
  card.workspaces = fit.peak.moment.categories[static_cast<size_t>(Category::kWorkspace)];
  card.allocator = fit.peak.peak.reserved - fit.peak.moment.levels.requested;
  const Bytes tensors_on_card = fit.peak.moment.levels.requested - card.workspaces;
  card.update = tensors_on_card > host_question.tensors ? tensors_on_card - host_question.tensors : Bytes();
  host.cause = CauseText(card, host);
  return host;
}

}  // namespace vramplan
