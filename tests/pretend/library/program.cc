// A program as CUDA 11.8, 12.8 or 13.0 would compile it (-DCUDA_MAJOR=...), without their headers: structures are
// written down here once more, and asked of the pretend card. What it prints stands in library_test.cc.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// cudaDeviceProp, driver_types.h: the fields that frameworks read, and fillers for the rest.
struct Properties {
  char name[256];
  char uuid[16], luid[8];
  unsigned node_mask;
  size_t total_global, shared_block;
  int registers_block, warp;
  size_t pitch;
  int threads_block, block[3], grid[3];
#if CUDA_MAJOR < 13
  int clock;
#endif
  size_t constant;
  int major, minor;
  size_t texture_alignment, texture_pitch;
#if CUDA_MAJOR < 13
  int overlap;
#endif
  int multiprocessors;
#if CUDA_MAJOR < 13
  int kernel_timeout;
#endif
  int integrated, maps_host;
#if CUDA_MAJOR < 13
  int compute_mode;
#endif
#if CUDA_MAJOR < 13
  int texture_linear;
#endif
  int textures[38];
  size_t surface_alignment;
  int concurrent, ecc, bus, device, domain, tcc, engines, unified;
#if CUDA_MAJOR < 13
  int memory_clock;
#endif
  int bus_width, l2, persisting_l2, threads_multiprocessor, priorities, global_l1, local_l1;
  size_t shared_multiprocessor;
  int registers_multiprocessor, managed, multi_gpu, multi_gpu_group, native_atomics;
#if CUDA_MAJOR < 13
  int double_ratio;
#endif
  int pageable, concurrent_managed, preemption, host_pointer, cooperative;
#if CUDA_MAJOR < 13
  int cooperative_multi;
#endif
  size_t shared_optin;
  int page_tables, direct_managed, blocks, window;
  size_t reserved_shared;
#if CUDA_MAJOR >= 12
  int rest[76];
#endif
};

struct Attributes {
  int type, device;
  void *device_pointer, *host_pointer;
#if CUDA_MAJOR >= 13
  long reserved[8];
#endif
};

struct Pages {
  int type, handle_types, location_type, location;
  void* security;
  unsigned char flags[8];
};

struct UniqueId {
  char bytes[128];
};

extern "C" {
int cudaGetDeviceCount(int*);
int cudaRuntimeGetVersion(int*);
#if CUDA_MAJOR == 12
int cudaGetDeviceProperties_v2(Properties*, int);
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#else
int cudaGetDeviceProperties(Properties*, int);
#endif
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void**);
int cudaMalloc(void**, size_t);
int cudaFree(void*);
int cudaMallocHost(void**, size_t);
int cudaFreeHost(void*);
int cudaMemGetInfo(size_t*, size_t*);
int cudaGetLastError();
int cudaPointerGetAttributes(Attributes*, const void*);
int cudaMemcpy(void*, const void*, size_t, int);
int cudaStreamCreate(void**);
int cudaStreamDestroy(void*);
int cudaStreamBeginCapture(void*, int);
int cudaStreamEndCapture(void*, void**);
#if CUDA_MAJOR >= 13
int cudaStreamGetCaptureInfo(void*, int*, unsigned long long*, void**, void**, void**, size_t*);
#else
int cudaStreamGetCaptureInfo(void*, int*, unsigned long long*);
#endif
int cuMemCreate(uint64_t*, size_t, const Pages*, unsigned long long);
int cuMemRelease(uint64_t);
int cuGetProcAddress_v2(const char*, void**, int, uint64_t, int*);
int cuGetProcAddress(const char*, void**, int, uint64_t);
int cudaEventCreate(void**);
int cudaEventDestroy(void*);
int cudaEventElapsedTime(float*, void*, void*);
int cusolverDnCreate(void**);
int cusolverDnSgetrf_bufferSize(void*, int, int, float*, int, int*);
int cudnnCreateRNNDescriptor(void**);
int cudnnDestroyRNNDescriptor(void*);
int cudnnCreateTensorDescriptor(void**);
int cudnnDestroyTensorDescriptor(void*);
int cudnnSetTensorNdDescriptor(void*, int, int, const int*, const int*);
int cudnnGetFilterNdDescriptor(void*, int, int*, int*, int*, int*);
int cudnnSetRNNDescriptor_v6(void*, void*, int, int, void*, int, int, int, int, int);
int cudnnGetRNNParamsSize(void*, void*, void*, size_t*, int);
int cudnnGetRNNLinLayerMatrixParams(void*, void*, int, void*, void*, const void*, int, void*, void**);
int cudnnGetRNNLinLayerBiasParams(void*, void*, int, void*, void*, const void*, int, void*, void**);
int cudnnGetRNNWorkspaceSize(void*, void*, int, void* const*, size_t*);
int cudnnGetRNNTrainingReserveSize(void*, void*, int, void* const*, size_t*);
int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
                   float*, int);
const char* cublasGetStatusString(int);
int cudaArrayGetInfo(void*, void*, unsigned*, void*);
int cuGetExportTable(const void**, const void*);
int ncclCommInitRank(void**, int, UniqueId, int);
int ncclCommSplit(void*, int, int, void**, const void*);
int ncclCommCount(void*, int*);
int ncclCommUserRank(void*, int*);
int ncclAllGather(const void*, void*, size_t, int, void*, void*);
int ncclBroadcast(const void*, void*, size_t, int, int, void*, void*);
int ncclGroupStart();
int ncclGroupEnd();
void vramplan_pretend_split(int);
void vramplan_pretend_forget();
}

int main(int argc, char** argv) {
  int count = 0, version = 0;
  // As importing torch loads the runtime of its wheel.
  if (argc > 1 && std::strstr(argv[1], "libcudart") != nullptr && dlopen(argv[1], RTLD_LAZY) == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  cudaRuntimeGetVersion(&version);
  std::printf("cuda %d, %d bytes of properties\n", version, static_cast<int>(sizeof(Properties)));
  if (cudaGetDeviceCount(&count) != 0) {
    std::printf("no card: %d\n", cudaGetLastError());
    return 0;
  }
  // What is written beyond the structure would change the guard.
  struct {
    Properties properties;
    char guard[8];
  } card;
  std::memcpy(card.guard, "guarded", 8);
  cudaGetDeviceProperties(&card.properties, 0);
  const Properties& p = card.properties;
  std::printf("%s %zu %d.%d %d SM %d threads %zu shared %zu %d blocks %d unified %d l2 %d %s\n", p.name, p.total_global,
              p.major, p.minor, p.multiprocessors, p.threads_multiprocessor, p.shared_multiprocessor, p.shared_optin,
              p.blocks, p.unified, p.l2, p.warp, card.guard);
  // As PyTorch's out-of-memory message asks who fills the card.
  char bus[32];
  void* seen = nullptr;
  std::snprintf(bus, sizeof bus, "%08x:%02x:%02x.0", p.domain, p.bus, p.device);
  const int by_bus = nvmlDeviceGetHandleByPciBusId_v2(bus, &seen);
  std::printf("bus %s %d %d\n", bus, by_bus, seen != nullptr);
  void *first = nullptr, *second = nullptr, *pinned = nullptr;
  const int got = cudaMalloc(&first, 700 << 20), refused = cudaMalloc(&second, 700 << 20);
  const int told = cudaGetLastError();
  std::printf("malloc %d, refused %d told %d then %d\n", got, refused, told, cudaGetLastError());
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  std::printf("free %zu of %zu\n", free, total);
  struct {
    Attributes attributes;
    char guard[8];
  } asked;
  std::memcpy(asked.guard, "guarded", 8);
  cudaMallocHost(&pinned, 100);
  cudaPointerGetAttributes(&asked.attributes, first);
  const int of_card = asked.attributes.type;
  cudaPointerGetAttributes(&asked.attributes, pinned);
  const int of_pinned = asked.attributes.type;
  cudaPointerGetAttributes(&asked.attributes, &asked);
  std::printf("types %d %d %d %s\n", of_card, of_pinned, asked.attributes.type, asked.guard);
  char text[] = "abc";
  cudaMemcpy(first, text, 4, 1);
  cudaMemcpy(text, first, 2, 2);
  std::printf("read %d %d %c\n", text[0], text[1], text[2]);
  void *stream = nullptr, *graph = nullptr;
  int status = -1;
  unsigned long long id = 0;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, 0);
#if CUDA_MAJOR >= 13
  size_t dependencies = 9;
  cudaStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, &dependencies);
  id += dependencies;
#else
  cudaStreamGetCaptureInfo(stream, &status, &id);
#endif
  const int ended = cudaStreamEndCapture(stream, &graph);
  const bool has_graph = graph != nullptr;
  const int again = cudaStreamEndCapture(stream, &graph);
  std::printf("capture %d %llu, ended %d %d, again %d\n", status, id, ended, has_graph, again);
  cudaStreamDestroy(stream);
  const Pages wanted = {1, 0, 1, 0, nullptr, {}};
  uint64_t pages = 0;
  const int created = cuMemCreate(&pages, 4 << 20, &wanted, 0);
  cudaMemGetInfo(&free, &total);
  std::printf("pages %d free %zu released %d\n", created, free, cuMemRelease(pages));
  void *found = nullptr, *missing = stream;
  int result = -1;
  const int by_name = cuGetProcAddress_v2("cuMemAlloc", &found, version, 0, &result);
  const int no_name = cuGetProcAddress("cuNoSuchFunction", &missing, version, 0);
  std::printf("by name %d %d %d, missing %d %d\n", by_name, result, found != nullptr, no_name, missing == nullptr);
  void *begin = nullptr, *end = nullptr, *solver = nullptr;
  float milliseconds = 0;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventElapsedTime(&milliseconds, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  int work = -1;
  cusolverDnCreate(&solver);
  cusolverDnSgetrf_bufferSize(solver, 8, 8, nullptr, 8, &work);
  const int product = cublasSgemm_v2(solver, 0, 0, 8, 8, 8, nullptr, nullptr, 8, nullptr, 8, nullptr, nullptr, 8);
  std::printf("elapsed %d, solver %d %d, product %d, %s\n", milliseconds > 0, solver != nullptr, work, product,
              cublasGetStatusString(1));
  // An LSTM of two layers, both directions, 64 wide with 128 hidden, half precision: weights in one buffer, as the
  // wheels with cuDNN 8 ask for it.
  void *network = nullptr, *input = nullptr, *matrix = nullptr, *address = nullptr;
  const int extents[] = {16, 64, 1}, strides[] = {64, 1, 1};
  size_t weights = 0, workspace = 9, reserve = 9;
  int type = 0, format = 0, dimensions = 0, shape[3] = {};
  cudnnCreateRNNDescriptor(&network);
  cudnnCreateTensorDescriptor(&input);
  cudnnCreateTensorDescriptor(&matrix);
  cudnnSetTensorNdDescriptor(input, 2, 3, extents, strides);
  cudnnSetRNNDescriptor_v6(nullptr, network, 128, 2, nullptr, 0, 1, 2, 0, 0);
  cudnnGetRNNParamsSize(nullptr, network, input, &weights, 2);
  cudnnGetRNNLinLayerMatrixParams(nullptr, network, 2, input, nullptr, first, 4, matrix, &address);
  cudnnGetFilterNdDescriptor(matrix, 3, &type, &format, &dimensions, shape);
  std::printf("lstm %zu, type %d, %d x %d at %td", weights, type, shape[1], shape[2],
              static_cast<char*>(address) - static_cast<char*>(first));
  cudnnGetRNNLinLayerBiasParams(nullptr, network, 0, input, nullptr, first, 1, matrix, &address);
  cudnnGetFilterNdDescriptor(matrix, 3, &type, &format, &dimensions, shape);
  cudnnGetRNNWorkspaceSize(nullptr, network, 50, nullptr, &workspace);
  void* steps[50];
  std::fill_n(steps, 50, input);
  cudnnGetRNNTrainingReserveSize(nullptr, network, 50, steps, &reserve);
  std::printf(", bias %d at %td, %zu %zu\n", shape[1], static_cast<char*>(address) - static_cast<char*>(first),
              workspace, reserve);
  cudnnDestroyRNNDescriptor(network);
  cudnnDestroyTensorDescriptor(input);
  cudnnDestroyTensorDescriptor(matrix);
  // Rank 5 of 8, which is rank 1 of a group of 4; what one rank says all of them say, until the step is over.
  void *world = nullptr, *part = nullptr, *none = world;
  int ranks = 0, of_world = -1, rank = -1;
  ncclCommInitRank(&world, 8, {}, 5);
  ncclCommUserRank(world, &of_world);
  vramplan_pretend_split(4);
  ncclCommSplit(world, 7, 1, &part, nullptr);
  ncclCommSplit(world, -1, 0, &none, nullptr);
  ncclCommCount(part, &ranks);
  ncclCommUserRank(part, &rank);
  char told_back[17] = {};
  cudaMemcpy(first, "told", 4, 1);
  ncclAllGather(first, static_cast<char*>(first) + 64, 4, 0, part, nullptr);
  cudaMemcpy(told_back, static_cast<char*>(first) + 64, 16, 2);
  std::printf("rank %d, in its part %d of %d, %s", of_world, rank, ranks, told_back);
  // A broadcast of each rank of a group of two, of which this one is the second.
  void* two = nullptr;
  char* const here = static_cast<char*>(first) + 128;
  ncclCommInitRank(&two, 2, {}, 1);
  cudaMemcpy(first, "mine", 4, 1);
  ncclGroupStart();
  ncclBroadcast(here, here, 4, 0, 0, two, nullptr);
  ncclBroadcast(first, here + 4, 4, 0, 1, two, nullptr);
  ncclGroupEnd();
  char both[9] = {};
  cudaMemcpy(both, here, 8, 2);
  std::printf(", %s", both);
  vramplan_pretend_forget();
  cudaMemcpy(told_back, static_cast<char*>(first) + 64, 16, 2);
  std::printf(", then %d, part of none %d\n", told_back[0], none != nullptr);
  if (argc > 1 && std::strcmp(argv[1], "uncovered") == 0) {
    unsigned flags = 0;
    const void* table = nullptr;
    cudaArrayGetInfo(nullptr, nullptr, &flags, nullptr);
    std::printf("table %d\n", cuGetExportTable(&table, nullptr));
  }
  cudaFreeHost(pinned);
  return cudaFree(first);
}
