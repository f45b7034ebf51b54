#include "planner/semantics/reduce_config.h"

#include <algorithm>
#include <limits>

namespace vramplan::eager {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t LastPowerOfTwo(int64_t n) {
  int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

// TensorIterator over one output and one input, axes from the fastest to the slowest, strides in bytes.
struct Iterator {
  std::vector<int64_t> lengths, out, in;

  int rank() const { return static_cast<int>(lengths.size()); }
  int64_t numel() const {
    int64_t product = 1;
    for (int64_t length : lengths) product = SaturatingMultiply(product, length);
    return product;
  }
  int64_t outputs() const {
    int64_t product = 1;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (out[i] != 0 || lengths[i] == 0) product = SaturatingMultiply(product, lengths[i]);
    }
    return product;
  }
  int reduced_axes() const { return static_cast<int>(std::count(out.begin(), out.end(), 0)); }
};

// reorder_dimensions: reduced axes to the front, then by the output's strides, then by the input's.
void Reorder(Iterator& it) {
  const auto should_swap = [&](size_t a, size_t b) {
    if ((it.out[a] == 0) != (it.out[b] == 0)) return it.out[b] == 0 ? 1 : -1;
    for (const auto* strides : {&it.out, &it.in}) {
      const int64_t sa = (*strides)[a], sb = (*strides)[b];
      if (sa == 0 || sb == 0) continue;
      if (sa < sb) return -1;
      if (sa > sb) return 1;
      if (it.lengths[a] > it.lengths[b]) return 1;
    }
    return 0;
  };
  std::vector<size_t> order;
  for (size_t i = it.lengths.size(); i > 0; --i) order.push_back(i - 1);
  for (size_t i = 1; i < order.size(); ++i) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      const int comparison = should_swap(order[j], order[at]);
      if (comparison > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  Iterator sorted;
  for (size_t axis : order) {
    sorted.lengths.push_back(it.lengths[axis]);
    sorted.out.push_back(it.out[axis]);
    sorted.in.push_back(it.in[axis]);
  }
  it = std::move(sorted);
}

// coalesce_dimensions: neighbours that lie one after the other in both operands become one axis.
void Coalesce(Iterator& it) {
  if (it.rank() <= 1) return;
  size_t last = 0;
  for (size_t i = 1; i < it.lengths.size(); ++i) {
    const bool joins = it.lengths[last] == 1 || it.lengths[i] == 1 ||
                       (it.lengths[last] * it.out[last] == it.out[i] && it.lengths[last] * it.in[last] == it.in[i]);
    if (joins && it.lengths[last] != 1) {
      it.lengths[last] *= it.lengths[i];
      continue;
    }
    if (!joins) ++last;
    it.out[last] = it.out[i];
    it.in[last] = it.in[i];
    it.lengths[last] = joins ? it.lengths[last] * it.lengths[i] : it.lengths[i];
  }
  it.lengths.resize(last + 1);
  it.out.resize(last + 1);
  it.in.resize(last + 1);
}

bool FitsIn32Bits(const Iterator& it) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (it.numel() > kMax) return false;
  for (const auto* strides : {&it.out, &it.in}) {
    int64_t reach = 1;
    for (size_t i = 0; i < it.lengths.size(); ++i) {
      reach = SaturatingAdd(reach, SaturatingMultiply(it.lengths[i] - 1, (*strides)[i]));
    }
    if (reach > kMax) return false;
  }
  return true;
}

// get_output_vec_size; blocks are aligned, so the base address never matters.
int OutputsPerLoad(const Iterator& it, int input_bytes) {
  int size = 4;
  const auto divide = [&size](int64_t n) {
    while (n % size != 0) size /= 2;
  };
  const size_t output_axis = static_cast<size_t>(it.reduced_axes());
  divide(it.lengths[output_axis]);
  for (size_t i = 0; i < it.in.size(); ++i) {
    if (i != output_axis) divide(it.in[i] / input_bytes);
  }
  return size;
}

// setReduceConfig, then global_memory_size and semaphore_size.
ReduceBlocks Configure(const Iterator& it, const ReduceKernel& kernel, const ReduceCard& card) {
  const int64_t outputs = it.outputs();
  const int64_t inputs = it.numel() / outputs;
  const int reduced = it.reduced_axes();
  const bool reduces_fastest = it.rank() == 0 || reduced == it.rank() || it.in[0] < it.in[static_cast<size_t>(reduced)];
  int64_t dim0 = 1, dim1 = 1, fastest_stride = kernel.input_bytes;
  if (it.rank() > 0) {
    dim0 = reduces_fastest ? inputs : outputs;
    dim1 = reduces_fastest ? outputs : inputs;
    fastest_stride = reduces_fastest ? it.in[0] : it.in[static_cast<size_t>(reduced)];
  }
  int64_t output_vector = 1;
  if (fastest_stride == kernel.input_bytes) {
    if (reduces_fastest && dim0 >= 128 && reduced == 1) {
      dim0 /= kernel.values_per_load;
    } else if (!reduces_fastest) {
      output_vector = OutputsPerLoad(it, kernel.input_bytes);
      dim0 /= output_vector;
    }
  }
  constexpr int64_t kMaxThreads = 512, kWarp = 32;
  const int64_t max_threads = kMaxThreads / output_vector;
  const int64_t dim0_power = dim0 < max_threads ? LastPowerOfTwo(dim0) : max_threads;
  const int64_t dim1_power = dim1 < max_threads ? LastPowerOfTwo(dim1) : max_threads;
  int64_t width = std::min(dim0_power, kWarp);
  const int64_t height = std::min(dim1_power, max_threads / width);
  width = std::min(dim0_power, max_threads / height);

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
ReduceBlocks ConfigureParts(const Iterator& it, const ReduceKernel& kernel, const ReduceCard& card) {
  if (FitsIn32Bits(it)) return Configure(it, kernel, card);
  size_t axis = 0;
  int64_t longest = -1;
  for (size_t i = it.lengths.size(); i-- > 0;) {  // get_dim_to_split
    if (it.lengths[i] < 2) continue;
    for (const auto* strides : {&it.out, &it.in}) {
      const int64_t extent = SaturatingMultiply(it.lengths[i] - 1, (*strides)[i]);
      if (extent > longest) {
        longest = extent;
        axis = i;
      }
    }
  }
  Iterator first = it, second = it;
  first.lengths[axis] /= 2;
  second.lengths[axis] -= first.lengths[axis];
  const ReduceBlocks b = ConfigureParts(second, kernel, card);
  constexpr int64_t kManyParts = int64_t{1} << 40;  // beyond any card: the larger half stands for both
  if (first.lengths[axis] == second.lengths[axis] || longest > kManyParts) return b;
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
  Iterator it;
  std::vector<bool> reduced(static_cast<size_t>(lengths.n), axes.empty());
  for (int axis : axes) reduced[static_cast<size_t>(axis)] = true;
  int64_t running = 1;
  for (int i = lengths.n - 1; i >= 0; --i) {  // the output is contiguous, reduced axes have stride 0
    const bool gone = reduced[static_cast<size_t>(i)];
    it.out.insert(it.out.begin(), gone ? 0 : running * kernel.output_bytes);
    it.in.insert(it.in.begin(), strides[i] * kernel.input_bytes);
    it.lengths.insert(it.lengths.begin(), lengths[i]);
    if (!gone) running *= std::max<int64_t>(lengths[i], 1);
  }
  if (it.numel() == 0 || it.numel() == std::numeric_limits<int64_t>::max()) return {};
  Reorder(it);
  Coalesce(it);
  ReduceBlocks blocks = ConfigureParts(it, kernel, card);
  if (!kernel.accumulates_in_output && kernel.output_bytes < kernel.accumulator_bytes && !FitsIn32Bits(it)) {
    int64_t elements = 1;
    for (size_t i = 0; i < it.lengths.size(); ++i) {
      elements = std::max(elements, it.lengths[i] * it.out[i] / kernel.output_bytes);
    }
    blocks.accumulation = Bytes::Of(elements * kernel.accumulator_bytes);
  }
  return blocks;
}

}  // namespace vramplan::eager
