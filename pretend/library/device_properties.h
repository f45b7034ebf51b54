// cudaDeviceProp as programs of CUDA 11.8, 12.x and 13.x know it. The fields that a framework reads, by their place:
// CUDA 12 added fields at the end of 11's, CUDA 13 took four out of the middle (clockRate, deviceOverlap,
// kernelExecTimeoutEnabled, computeMode ...).
//
// Places: offsetof() with the headers of nvidia-cuda-runtime-cu11 11.8.89, -cu12 12.8.90 and toolkit 13.0
// (tests/pretend/structures.c asks the same of a program).
#pragma once

#include <array>
#include <cstddef>

#include "pretend/card/description.h"

namespace pretend {

// Bytes of the structure: 728, 1032, 1008.
size_t SizeOfProperties(int cuda_version);

// Writes the whole structure: fields that are not known are 0.
void WriteProperties(const Card& card, int cuda_version, void* properties);

// 16 bytes, as NVML writes them in hexadecimal digits.
std::array<char, 16> UuidOf(const Card& card);

// cudaDeviceAttr and CUdevice_attribute, which have the same numbers. What nobody asks is 0.
int AttributeOf(const Card& card, int attribute);

}  // namespace pretend
