#include "planner/semantics/reduce_config.h"

#include <algorithm>
#include <limits>

#include "graph/base/round.h"

namespace vramplan::eager {
namespace {

int64_t LastPowerOfTwo(int64_t n) {
  int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

// One axis of the loop, with the strides of both operands in bytes; the output's is 0 where the axis is summed away.
struct ReducedAxis {
  int64_t length = 0, out = 0, in = 0;
  bool reduced() const { return out == 0; }
};

// The loop of a reduction, fastest axis first.
struct Loop {
  std::vector<ReducedAxis> axes;

  int64_t elements() const {
    int64_t product = 1;
    for (const ReducedAxis& axis : axes) product = SaturatingMultiply(product, axis.length);
    return product;
  }
  int64_t outputs() const {
    int64_t product = 1;
    for (const ReducedAxis& axis : axes) {
      if (!axis.reduced() || axis.length == 0) product = SaturatingMultiply(product, axis.length);
    }
    return product;
  }
  size_t reduced_axes() const {
    return static_cast<size_t>(
        std::count_if(axes.begin(), axes.end(), [](const ReducedAxis& axis) { return axis.reduced(); }));
  }
};

// Whether `a` may stand before `b`: reduced axes first, then by the output's strides, then by the input's. A stride of
// 0 tells nothing; of equal strides the shorter axis comes first.
enum class Order { kRight, kWrong, kOpen };
Order Compare(const ReducedAxis& a, const ReducedAxis& b) {
  if (a.reduced() != b.reduced()) return a.reduced() ? Order::kRight : Order::kWrong;
  for (const auto stride : {&ReducedAxis::out, &ReducedAxis::in}) {
    if (a.*stride == 0 || b.*stride == 0) continue;
    if (a.*stride != b.*stride) return a.*stride < b.*stride ? Order::kRight : Order::kWrong;
    if (a.length > b.length) return Order::kWrong;
  }
  return Order::kOpen;
}

// reorder_dimensions. Where the order of two axes is open the search goes on before them, so what moves may jump.
void Sort(std::vector<ReducedAxis>& axes) {
  for (size_t sorted = 1; sorted < axes.size(); ++sorted) {
    size_t moving = sorted;
    for (size_t before = sorted; before-- > 0;) {
      const Order order = Compare(axes[before], axes[moving]);
      if (order == Order::kRight) break;
      if (order == Order::kOpen) continue;
      std::swap(axes[before], axes[moving]);
      moving = before;
    }
  }
}

// coalesce_dimensions: neighbours that lie one after the other in both operands become one axis.
void Merge(std::vector<ReducedAxis>& axes) {
  std::vector<ReducedAxis> merged;
  for (const ReducedAxis& axis : axes) {
    if (merged.empty()) {
      merged.push_back(axis);
      continue;
    }
    ReducedAxis& last = merged.back();
    if (last.length == 1) {
      last = axis;
    } else if (axis.length == 1 || (last.length * last.out == axis.out && last.length * last.in == axis.in)) {
      last.length *= axis.length;
    } else {
      merged.push_back(axis);
    }
  }
  axes = std::move(merged);
}

bool FitsIn32Bits(const Loop& loop) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (loop.elements() > kMax) return false;
  int64_t out = 1, in = 1;
  for (const ReducedAxis& axis : loop.axes) {
    out = SaturatingAdd(out, SaturatingMultiply(axis.length - 1, axis.out));
    in = SaturatingAdd(in, SaturatingMultiply(axis.length - 1, axis.in));
  }
  return out <= kMax && in <= kMax;
}

// get_output_vec_size; blocks are aligned, so the base address never matters.
int OutputsPerLoad(const Loop& loop, int input_bytes) {
  int size = 4;
  const size_t first_output = loop.reduced_axes();
  for (size_t i = 0; i < loop.axes.size(); ++i) {
    const int64_t step = i == first_output ? loop.axes[i].length : loop.axes[i].in / input_bytes;
    while (step % size != 0) size /= 2;
  }
  return size;
}

// setReduceConfig, then global_memory_size and semaphore_size.
ReduceBlocks Configure(const Loop& loop, const ReduceKernel& kernel, const ReduceCard& card) {
  const int64_t outputs = loop.outputs();
  const int64_t inputs = loop.elements() / outputs;
  const size_t rank = loop.axes.size(), reduced = loop.reduced_axes();
  const bool reduces_fastest = reduced == rank || loop.axes[0].in < loop.axes[reduced].in;
  // What the threads of a row share out, and what the rows do.
  int64_t across = 1, down = 1, fastest_stride = kernel.input_bytes;
  if (rank > 0) {
    across = reduces_fastest ? inputs : outputs;
    down = reduces_fastest ? outputs : inputs;
    fastest_stride = loop.axes[reduces_fastest ? 0 : reduced].in;
  }
  int64_t output_vector = 1;
  if (fastest_stride == kernel.input_bytes) {
    if (reduces_fastest && across >= 128 && reduced == 1) {
      across /= kernel.values_per_load;
    } else if (!reduces_fastest) {
      output_vector = OutputsPerLoad(loop, kernel.input_bytes);
      across /= output_vector;
    }
  }
  constexpr int64_t kMaxThreads = 512, kWarp = 32;
  const int64_t max_threads = kMaxThreads / output_vector;
  const auto threads_for = [&](int64_t work) { return work < max_threads ? LastPowerOfTwo(work) : max_threads; };
  const int64_t height = std::min(threads_for(down), max_threads / std::min(threads_for(across), kWarp));
  const int64_t width = std::min(threads_for(across), max_threads / height);

  int64_t step_input = 1, step_output = 1;
  (reduces_fastest ? step_input : step_output) *= width;
  const auto values_per_thread = [&] { return DivideUp(inputs, step_input); };
  constexpr int64_t kMinValues = 16, kMaxValues = 256;
  const bool across_warps = values_per_thread() >= std::min(height * 16, kMaxValues);
  (across_warps ? step_input : step_output) *= height;

  const int64_t target = card.multiprocessors * (card.threads_per_multiprocessor / (width * height));
  const int64_t grid = DivideUp(outputs / output_vector, step_output);
  if (!across_warps || values_per_thread() < kMaxValues || grid > target) return {};
  const int64_t shared = std::max(std::min(DivideUp(target, grid), DivideUp(values_per_thread(), kMinValues)),
                                  DivideUp(values_per_thread(), kMaxValues));
  if (shared <= 1) return {};
  ReduceBlocks blocks;
  blocks.partial =
      Bytes::Of(kernel.accumulator_bytes * outputs * shared * (reduces_fastest ? 1 : width * output_vector));
  blocks.semaphores = Bytes::Of(4 * grid);
  return blocks;
}

// Operands beyond 32-bit offsets are halved along their longest axis; the parts run one after the other
// (with_32bit_indexing). The largest blocks among them stand for all.
ReduceBlocks ConfigureParts(const Loop& loop, const ReduceKernel& kernel, const ReduceCard& card) {
  if (FitsIn32Bits(loop)) return Configure(loop, kernel, card);
  size_t axis = 0;
  int64_t longest = -1;
  for (size_t i = loop.axes.size(); i-- > 0;) {  // get_dim_to_split
    const ReducedAxis& candidate = loop.axes[i];
    if (candidate.length < 2) continue;
    const int64_t extent = SaturatingMultiply(candidate.length - 1, std::max(candidate.out, candidate.in));
    if (extent > longest) {
      longest = extent;
      axis = i;
    }
  }
  Loop first = loop, second = loop;
  first.axes[axis].length /= 2;
  second.axes[axis].length -= first.axes[axis].length;
  const ReduceBlocks b = ConfigureParts(second, kernel, card);
  constexpr int64_t kManyParts = int64_t{1} << 40;  // beyond any card: the larger half stands for both
  if (first.axes[axis].length == second.axes[axis].length || longest > kManyParts) return b;
  const ReduceBlocks a = ConfigureParts(first, kernel, card);
  return a.partial > b.partial ? a : b;
}

}  // namespace

ReduceCard CardOf(const TrainingSpec& spec) {
  // "Maximum number of resident threads per SM", CUDA C++ Programming Guide, table of compute capabilities.
  const Capability c = spec.capability;
  int threads = 2048;
  if (c == Capability{7, 5}) threads = 1024;
  if ((c.major == 8 && c.minor != 0) || c.major == 11 || c.major == 12) threads = 1536;
  return {spec.multiprocessors, threads};
}

ReduceBlocks ConfigureReduction(const Ints& lengths, const Ints& strides, const std::vector<int>& axes,
                                const ReduceKernel& kernel, const ReduceCard& card) {
  Loop loop;
  std::vector<bool> reduced(static_cast<size_t>(lengths.n), axes.empty());
  for (int axis : axes) reduced[static_cast<size_t>(axis)] = true;
  int64_t running = 1;
  for (int i = lengths.n - 1; i >= 0; --i) {  // the output is contiguous, reduced axes have stride 0
    const bool gone = reduced[static_cast<size_t>(i)];
    loop.axes.push_back({lengths[i], gone ? 0 : running * kernel.output_bytes, strides[i] * kernel.input_bytes});
    if (!gone) running *= std::max<int64_t>(lengths[i], 1);
  }
  if (loop.elements() == 0 || loop.elements() == std::numeric_limits<int64_t>::max()) return {};
  Sort(loop.axes);
  Merge(loop.axes);
  ReduceBlocks blocks = ConfigureParts(loop, kernel, card);
  if (!kernel.accumulates_in_output && kernel.output_bytes < kernel.accumulator_bytes && !FitsIn32Bits(loop)) {
    int64_t elements = 1;
    for (const ReducedAxis& axis : loop.axes) {
      elements = std::max(elements, axis.length * axis.out / kernel.output_bytes);
    }
    blocks.accumulation = Bytes::Of(elements * kernel.accumulator_bytes);
  }
  return blocks;
}

}  // namespace vramplan::eager
