// The code that runs on the card. It includes only the plain header: device code is compiled once for every
// architecture that the toolkit knows, so it must compile quickly.
//
// Instructions: PTX ISA, "Floating Point Instructions: fma" and "Warp-level Matrix Instructions: wmma".
#include "cuda_probe/kernels.h"

using vramplan::kernels::kFmaChains;
using vramplan::kernels::kTensorChains;
using Size = unsigned long long;

namespace {

__device__ Size ThreadIndex() { return static_cast<Size>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ Size ThreadCount() { return static_cast<Size>(gridDim.x) * blockDim.x; }

// Bytes before the first multiple of 16 at or after `address`.
__device__ Size BytesToVector(const void* address) { return (16 - (reinterpret_cast<Size>(address) & 15)) & 15; }

}  // namespace

extern "C" __global__ void vramplan_touch(unsigned char* to, Size bytes, unsigned value) {
  const Size start = ThreadIndex(), step = ThreadCount();
  const Size head = min(BytesToVector(to), bytes), vectors = (bytes - head) / 16;
  const Size tail = head + vectors * 16;
  const unsigned word = (value & 0xff) * 0x01010101u;
  uint4* const body = reinterpret_cast<uint4*>(to + head);
  for (Size i = start; i < vectors; i += step) body[i] = make_uint4(word, word, word, word);
  for (Size i = start; i < head; i += step) to[i] = static_cast<unsigned char>(value);
  for (Size i = tail + start; i < bytes; i += step) to[i] = static_cast<unsigned char>(value);
}

extern "C" __global__ void vramplan_copy(unsigned char* to, const unsigned char* from, Size bytes) {
  const Size start = ThreadIndex(), step = ThreadCount();
  // Vectors need both ranges at the same offset from a multiple of 16.
  const bool alike = BytesToVector(to) == BytesToVector(from);
  const Size head = alike ? min(BytesToVector(to), bytes) : bytes;
  const Size vectors = (bytes - head) / 16, tail = head + vectors * 16;
  uint4* const body = reinterpret_cast<uint4*>(to + head);
  const uint4* const source = reinterpret_cast<const uint4*>(from + head);
  for (Size i = start; i < vectors; i += step) body[i] = source[i];
  for (Size i = start; i < head; i += step) to[i] = from[i];
  for (Size i = tail + start; i < bytes; i += step) to[i] = from[i];
}

extern "C" __global__ void vramplan_fma_fp32(float* to, unsigned iterations) {
  const float factor = 1.0f + 1e-7f * threadIdx.x;
  float chain[kFmaChains];
  for (int i = 0; i < kFmaChains; ++i) chain[i] = static_cast<float>(i);
  for (unsigned n = 0; n < iterations; ++n) {
#pragma unroll
    for (int i = 0; i < kFmaChains; ++i) chain[i] = fmaf(chain[i], factor, 1e-6f);
  }
  float sum = 0;
  for (int i = 0; i < kFmaChains; ++i) sum += chain[i];
  // This never happens, but the compiler does not know that and has to compute the sum.
  if (iterations == 0) to[ThreadIndex()] = sum;
}

extern "C" __global__ void vramplan_fma_fp16(unsigned* to, unsigned iterations) {
#if __CUDA_ARCH__ >= 530
  const unsigned factor = 0x3c003c00u + threadIdx.x, term = 0x00010001u;  // a pair of halves near 1, a pair near 0
  unsigned chain[kFmaChains];
  for (int i = 0; i < kFmaChains; ++i) chain[i] = 0x3c003c00u + i;
  for (unsigned n = 0; n < iterations; ++n) {
#pragma unroll
    for (int i = 0; i < kFmaChains; ++i) asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(chain[i]) : "r"(factor), "r"(term));
  }
  unsigned sum = 0;
  for (int i = 0; i < kFmaChains; ++i) sum += chain[i];
  if (iterations == 0) to[ThreadIndex()] = sum;
#endif
}

// One tensor kernel: CHAINS accumulators of 8 floats in each thread; A and B stay in registers, 4 or 8 words each.
#define VRAMPLAN_ACCUMULATOR(c) \
  "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
#define VRAMPLAN_TENSOR_LOOP(instruction, ...)                                  \
  float chain[kTensorChains][8];                                                \
  for (int i = 0; i < kTensorChains; ++i) {                                     \
    for (int j = 0; j < 8; ++j) chain[i][j] = 0;                                \
  }                                                                             \
  for (unsigned n = 0; n < iterations; ++n) {                                   \
    _Pragma("unroll") for (int i = 0; i < kTensorChains; ++i) {                 \
      asm volatile(instruction : VRAMPLAN_ACCUMULATOR(chain[i]) : __VA_ARGS__); \
    }                                                                           \
  }                                                                             \
  float sum = 0;                                                                \
  for (int i = 0; i < kTensorChains; ++i) {                                     \
    for (int j = 0; j < 8; ++j) sum += chain[i][j];                             \
  }                                                                             \
  if (iterations == 0) to[ThreadIndex()] = sum

extern "C" __global__ void vramplan_tensor_fp16(float* to, unsigned iterations) {
#if __CUDA_ARCH__ >= 700
  const unsigned a = 0x3c003c00u, b = 0x00010001u + threadIdx.x;
  VRAMPLAN_TENSOR_LOOP(
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %8, %8, %8, %8, %8, %8, "
      "%8},"
      " {%9, %9, %9, %9, %9, %9, %9, %9}, {%0, %1, %2, %3, %4, %5, %6, %7};",
      "r"(a), "r"(b));
#endif
}

extern "C" __global__ void vramplan_tensor_bf16(float* to, unsigned iterations) {
#if __CUDA_ARCH__ >= 800
  const unsigned a = 0x3f803f80u, b = 0x00010001u + threadIdx.x;
  VRAMPLAN_TENSOR_LOOP(
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %8, %8, %8},"
      " {%9, %9, %9, %9}, {%0, %1, %2, %3, %4, %5, %6, %7};",
      "r"(a), "r"(b));
#endif
}

extern "C" __global__ void vramplan_tensor_tf32(float* to, unsigned iterations) {
#if __CUDA_ARCH__ >= 800
  const unsigned a = 0x3f800000u, b = 0x00002000u + threadIdx.x;
  VRAMPLAN_TENSOR_LOOP(
      "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %8, %8, %8},"
      " {%9, %9, %9, %9}, {%0, %1, %2, %3, %4, %5, %6, %7};",
      "r"(a), "r"(b));
#endif
}
