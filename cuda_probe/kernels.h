// The kernels of kernels.cu as the host sees them: names, arguments, and the work of a thread.
//
//   kTouch   (to, bytes, value)    writes every byte of [to, to + bytes)
//   kCopy    (to, from, bytes)     reads and writes every byte
//   the others (to, iterations)    compute; they write only if iterations is 0, so `to` may be 0
#pragma once

namespace vramplan::kernels {

inline constexpr const char* kTouch = "vramplan_touch";
inline constexpr const char* kCopy = "vramplan_copy";
inline constexpr const char* kFma = "vramplan_fma_fp32";
inline constexpr const char* kHalfFma = "vramplan_fma_fp16";        // capability 5.3 and newer
inline constexpr const char* kHalfTensor = "vramplan_tensor_fp16";  // 7.0
inline constexpr const char* kBf16Tensor = "vramplan_tensor_bf16";  // 8.0
inline constexpr const char* kTf32Tensor = "vramplan_tensor_tf32";  // 8.0

inline constexpr unsigned kThreads = 256;  // in a block, for every kernel

// Independent chains in a thread: each operation takes 4 to 6 clocks, and a chain waits for its own results.
inline constexpr int kFmaChains = 8, kTensorChains = 4;

// FLOP of one thread in one iteration. A multiplication and an addition are two; half FMAs work on pairs. A warp of 32
// multiplies 16x16x16 (fp16, bf16) or 16x16x8 (tf32) in one tensor instruction.
inline constexpr double kFmaFlop = 2.0 * kFmaChains;
inline constexpr double kHalfFmaFlop = 4.0 * kFmaChains;
inline constexpr double kTensorFlop = 2.0 * 16 * 16 * 16 / 32 * kTensorChains;
inline constexpr double kTf32TensorFlop = kTensorFlop / 2;

}  // namespace vramplan::kernels
