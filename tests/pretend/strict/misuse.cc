// Uses the pretend driver wrongly, in the way that its one word says: what it must notice.
#include <cuda.h>

#include <array>
#include <string>

#include "cuda_probe/kernels.h"

namespace {

constexpr size_t kBytes = 3 << 20;

void Write(CUdeviceptr to, unsigned long long bytes) {
  const std::array<unsigned, 2> image = {0xba55ed50u, 0};
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  cuModuleLoadData(&module, image.data());
  cuModuleGetFunction(&function, module, vramplan::kernels::kTouch);
  unsigned long long address = to;
  unsigned value = 1;
  std::array<void*, 3> arguments = {&address, &bytes, &value};
  cuLaunchKernel(function, 1, 1, 1, vramplan::kernels::kThreads, 1, 1, 0, nullptr, arguments.data(), nullptr);
}

void Copy(CUdeviceptr to, CUdeviceptr from, unsigned long long bytes) {
  const std::array<unsigned, 2> image = {0xba55ed50u, 0};
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  cuModuleLoadData(&module, image.data());
  cuModuleGetFunction(&function, module, vramplan::kernels::kCopy);
  unsigned long long target = to, source = from;
  std::array<void*, 3> arguments = {&target, &source, &bytes};
  cuLaunchKernel(function, 1, 1, 1, vramplan::kernels::kThreads, 1, 1, 0, nullptr, arguments.data(), nullptr);
  cuModuleUnload(module);
}

}  // namespace

int main(int, char** words) {
  const std::string how = words[1];
  CUcontext context = nullptr;
  CUdeviceptr block = 0, other = 0;
  cuInit(0);
  if (how == "without-context") return static_cast<int>(cuMemAlloc_v2(&block, kBytes));
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuMemAlloc_v2(&block, kBytes);
  if (how == "abandon") return 0;
  if (how == "free-twice") {
    cuMemFree_v2(block);
    cuMemFree_v2(block);
  }
  if (how == "leave-blocks") cuMemAlloc_v2(&other, 1);
  if (how == "write-outside") Write(block, kBytes + 1);
  if (how == "copy-onto-itself") Copy(block + 1, block, kBytes - 1);
  if (how == "leave-stream") {
    CUstream stream = nullptr;
    cuStreamCreate(&stream, 0);
  }
  if (how != "leave-blocks") cuMemFree_v2(block);
  cuDevicePrimaryCtxRelease_v2(0);
  if (how == "release-twice") cuDevicePrimaryCtxRelease_v2(0);
  return 0;
}
