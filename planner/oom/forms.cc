#include "planner/oom/forms.h"

#include <array>

namespace vramplan {
namespace {

using enum FormRank;
using enum MemoryPlace;

constexpr std::string_view kKilled =
    "a process that ends with signal 9 was killed, and the kernel does that when the RAM of the machine, or of its "
    "container, is full";
constexpr std::string_view kWorkspace =
    "the library found no memory on the card for its own handle or workspace: too little is left beside the tensors";
constexpr std::string_view kNoAlgorithm =
    "most often because no algorithm of the convolution found room for its workspace beside the tensors; a type or a "
    "layout that cuDNN does not take says the same";
constexpr std::string_view kPinned = "page-locked memory of the host, for copies to the card";
constexpr std::string_view kOfDriver =
    "the driver refused and gives no sizes: the card is full, because of this process or others; or, "
    "where it was for page-locked memory, the host has none left; vramplan watch shows which while the script runs";

constexpr std::string_view kOfCard =
    "the driver refused and gives no sizes: the card is full, because of this process or others; vramplan watch shows "
    "which while the script runs";

constexpr std::string_view kNoSizes =
    "what asked for the memory printed no sizes: vramplan watch shows them while it runs";
constexpr std::string_view kNoNvml =
    "PyTorch found the card full, and then could not ask NVML who holds it, as in slices of MIG, on Jetson and in "
    "some containers: so there are no sizes";
constexpr std::string_view kNotStarted =
    "the library could not start, mostly because no memory was left on the card; a driver that does not fit says the "
    "same";
constexpr std::string_view kWarmUp =
    "vLLM tries max_num_seqs sequences when it starts: lower it (--max-num-seqs), or its share of the card "
    "(--gpu-memory-utilization)";
constexpr std::string_view kOfWorkers =
    "workers pass batches through /dev/shm, which a container makes small (64 MiB with Docker): --shm-size or "
    "--ipc=host there, or num_workers=0";
constexpr std::string_view kOneBuffer = "Metal refuses single buffers beyond a limit, however much is free";
constexpr std::string_view kOfXla =
    "JAX takes three quarters of the card when it starts (XLA_PYTHON_CLIENT_MEM_FRACTION), and other arrays of the "
    "process or other processes hold the rest";
constexpr std::string_view kOfLlama =
    "what helps with llama.cpp: fewer layers on the card (-ngl), a shorter context (-c), an 8-bit cache (-ctk, -ctv), "
    "a smaller -ub";

// Sources: c10/cuda/CUDACachingAllocator.cpp, c10/xpu/XPUCachingAllocator.cpp, aten/src/ATen/mps/MPSAllocator.mm,
// c10/core/impl/alloc_cpu.cpp; tensorflow/core/framework/op_kernel.cc, tsl/framework/bfc_allocator.cc,
// stream_executor/cuda/cuda_driver.cc, xla/service/buffer_assignment.cc; onnxruntime/core/framework/bfc_arena.cc;
// cupy/cuda/memory.pyx; paddle/fluid/memory/allocation/cuda_allocator.cc; ggml/src/ggml-cuda/ggml-cuda.cu,
// ggml/src/ggml-backend.cpp; vllm/v1/core/kv_cache_utils.py, vllm/worker/worker.py; mm/oom_kill.c; and the threads that
// tests/planner/oom names.
constexpr auto kForms = std::to_array<Form>({
    {"cuda out of memory occurred when warming up", "vllm", kMessage, kCard, "CUDA", kWarmUp},
    {"cuda out of memory", "pytorch", kMessage, kCard, "CUDA"},
    {"hip out of memory", "pytorch", kMessage, kCard, "HIP"},
    {"would exceed allowed memory", "pytorch", kMessage, kCard, "CUDA"},
    {"xpu out of memory", "pytorch", kMessage, kCard, "XPU"},
    {"npu out of memory", "pytorch", kMessage, kCard, "NPU"},
    {"mps backend out of memory", "pytorch", kMessage, kCard, "MPS",
     "PYTORCH_MPS_HIGH_WATERMARK_RATIO sets this limit (1.7 times what Metal recommends); what is not in PyTorch's "
     "allocator is Metal's own for this process, such as compiled graphs"},
    {"can not allocate memory block with size larger than", "pytorch", kMessage, kCard, "XPU",
     "the runtime of the card refuses single blocks of more than 4 GiB, however much is free"},
    {"invalid buffer size: ", "mlx", kMessage, kCard, "MPS", kOneBuffer},
    {"defaultcpuallocator: ", "host", kMessage, kHost},
    {"buy new ram!", "host", kMessage, kHost},
    {"unable to allocate array with shape", "host", kMessage, kHost},
    {"for an array with shape", "host", kMessage, kHost, "", "that is an array of NumPy"},
    {"unable to mmap", "host", kMessage, kHost},
    {"failed to allocate cpu memory", "host", kMessage, kHost},
    {"pinned host memory", "host", kMessage, kHost, "", kPinned},
    {"cudahostalloc failed", "host", kMessage, kHost, "", kPinned},
    {"rmm failure", "rmm", kMessage, kCard, "",
     "RMM's pool on the card is at its limit: give it more, let cuDF spill to the host, or use managed memory"},
    {"oom when allocating tensor", "tensorflow"},
    {"resource exhausted: failed to allocate memory", "tensorflow"},
    {"the caller indicates that this is not a failure", "tensorflow", kError, kCard, "",
     "that is a warning: cuDNN then took an algorithm with a smaller workspace", false, true},
    {"_bfc) ran out of memory trying to allocate", "tensorflow", kError},
    {"bytes) from device: ", "tensorflow", kError, kCard, "",
     "TensorFlow takes most of the card when it starts, and then tries again with less: alone this is a warning that "
     "another process holds a part of the card"},
    {"bytes on host: cuda_error", "host", kError, kHost, "", kPinned},
    {"cupy.cuda.memory.outofmemoryerror", "cupy"},
    {"(allocated so far: ", "cupy"},
    {"out of memory while trying to allocate ", "xla", kMessage, kCard, "", kOfXla},
    {"out of memory allocating ", "xla", kMessage, kCard, "", kOfXla},
    {"failed to allocate request for ", "xla", kMessage, kCard, "", kOfXla},
    {"ran out of memory in memory space ", "xla"},
    {"that was not possible. there are ", "xla"},
    {"failed to allocate memory for requested buffer of size ", "onnxruntime"},
    {"is smaller than requested bytes of ", "onnxruntime", kMessage, kCard, "",
     "the arena has a limit (gpu_mem_limit of the CUDA provider), and \"available\" is what is left below that limit"},
    {"out of memory error on gpu", "paddle"},
    {"model requires more system memory", "ollama", kMessage, kHost},
    {"model requires more gpu memory", "ollama"},
    {"cudamalloc failed: out of memory", "llama.cpp", kMessage, kCard, "", kOfLlama},
    {"hipmalloc failed: out of memory", "llama.cpp", kMessage, kCard, "", kOfLlama},
    {"failed to allocate buffer of size ", "llama.cpp"},
    {"failed to allocate cuda", "llama.cpp", kError},
    {"failed to allocate rocm", "llama.cpp", kError},
    {"failed to allocate vulkan", "llama.cpp", kError},
    {"failed to allocate cpu buffer", "llama.cpp", kError},
    {"ggml_aligned_malloc: insufficient memory", "host"},
    {"device memory allocation of size ", "llama.cpp"},
    {"kv cache is needed", "vllm", kMessage, kKeyValue},
    {"number of tokens that can be stored in kv cache", "vllm", kMessage, kKeyValue},
    {"no available memory for the cache blocks", "vllm", kMessage, kKeyValue},
    {"is less than desired gpu memory utilization", "vllm", kMessage, kCard, "",
     "vLLM takes a share of the whole card (gpu_memory_utilization), and other processes hold a part of that share"},
    {"memory for kv cache", "sglang", kMessage, kKeyValue},
    {"memory for the kv cache", "sglang", kMessage, kKeyValue},
    {"must be large enough to process at least 1 sequence", "tensorrt-llm", kMessage, kKeyValue},
    {"increase --mem-fraction-static", "sglang", kMessage, kKeyValue},
    {"not enough memory to handle", "tgi", kMessage, kKeyValue},
    {"[metal::malloc]", "mlx", kMessage, kCard, "", kOneBuffer},
    {"could not allocate tensor with ", "directml"},
    {"requested amount of gpu memory (", "tensorrt"},
    {"requested amount of memory (", "tensorrt"},
    {"error code 2: outofmemory", "tensorrt"},
    {"user allocator error allocating ", "tensorrt"},
    {"memory allocation error on worker", "xgboost"},
    {"alloc fail type ", "faiss"},
    {"memory isn't enough and alloc failed", "mindspore"},
    {"exceeded max size of memory object allocation", "openvino", kMessage, kCard, "",
     "the runtime of the card refuses single buffers beyond a limit, however much is free"},
    {"out of resource: shared memory", "triton", kMessage, kOnChip},
    {"uses too much shared data", "triton", kMessage, kOnChip},
    {"unable to find a valid cudnn algorithm", "library", kError, kCard, "", kNoAlgorithm},
    {"was unable to find an engine to execute", "library", kError, kCard, "", kNoAlgorithm},
    {"_alloc_failed", "library", kError, kCard, "", kWorkspace},
    {"magma_err_device_alloc", "library", kError, kCard, "", kWorkspace},
    {"miopenstatusallocfailed", "library", kError, kCard, "", kWorkspace},
    {"cuda failure 2: out of memory", "device", kError, kCard, "CUDA", kOfDriver},
    {"cuda failure 2 'out of memory'", "library", kError, kCard, "", kWorkspace},
    {"cuda failure 'out of memory'", "library", kError, kCard, "", kWorkspace},
    {"nvml_success == r", "device", kError, kCard, "CUDA", kNoNvml},
    {"cudnn_status_not_initialized", "library", kError, kCard, "", kNotStarted},
    {"cublas_status_not_initialized", "library", kError, kCard, "", kNotStarted},
    {"allocation on device", "pytorch", kError, kCard, "", kNoSizes},
    {"torch.outofmemoryerror", "pytorch", kError},
    {"torch.cuda.outofmemoryerror", "pytorch", kError, kCard, "CUDA"},
    {"cumemcreate", "device", kError, kCard, "CUDA", kOfCard},
    {"std::bad_alloc: out_of_memory", "device", kError, kCard, "", kOfDriver},
    {"cuda_error_out_of_memory", "device", kError, kCard, "", kOfDriver},
    {"cudaerrormemoryallocation", "device", kError, kCard, "", kOfDriver},
    {"cuda driver error: out of memory", "device", kError, kCard, "CUDA", kOfDriver},
    {"cuda runtime error: out of memory", "device", kError, kCard, "CUDA", kOfDriver},
    {"cuda error: out of memory", "device", kError, kCard, "CUDA", kOfDriver},
    {"cuda error 2", "device", kError, kCard, "CUDA", kOfDriver},
    {"cuda runtime error (2) : out of memory", "device", kError, kCard, "CUDA", kOfDriver},
    {"error=2 : out of memory", "device", kError, kCard, "CUDA", kOfDriver},
    {"(2 vs. 0) out of memory", "device", kError, kCard, "CUDA", kOfDriver},
    {"cuda_malloc(): out of memory", "device", kError, kCard, "CUDA", kOfCard},
    {"cumemalloc failed: out of memory", "device", kError, kCard, "CUDA", kOfCard},
    {"error out of memory at line", "device", kError, kCard, "CUDA", kOfDriver},
    {"cudamalloc retry failed: out of memory", "device", kError, kCard, "CUDA", kOfCard},
    {"hip error: out of memory", "device", kError, kCard, "HIP", kOfDriver},
    {"hiperroroutofmemory", "device", kError, kCard, "HIP", kOfDriver},
    {"result_error_out_of_host_memory", "host", kError, kHost},
    {"error_out_of_device_memory", "device", kError, kCard, "", kOfCard},
    {"erroroutofdevicememory", "device", kError, kCard, "", kOfCard},
    {"error_out_of_resources", "device", kError, kCard, "XPU", kOfDriver},
    {"kiogpucommandbuffercallbackerroroutofmemory", "device", kError, kCard, "Metal",
     "Metal had no memory for the buffers of a command: on a Mac the card and the host share their memory"},
    {"mem_object_allocation_failure", "device", kError, kCard, "OpenCL", kOfDriver},
    {"memory object allocation failure", "device", kError, kCard, "OpenCL", kOfDriver},
    {"cl_out_of_resources", "device", kError, kCard, "OpenCL", kOfDriver},
    {"workers are out of shared memory", "host", kError, kHost, "", kOfWorkers},
    {"insufficient shared memory", "host", kError, kHost, "", kOfWorkers},
    {"memory cgroup out of memory", "host", kSymptom, kHost, "",
     "the container, or the job of the cluster, has a limit of RAM, and the kernel killed the process that passed it"},
    {"out of memory: kill", "host", kSymptom, kHost, "", "the kernel killed the process that held the most RAM"},
    {"oom-kill event", "host", kSymptom, kHost, "",
     "the job of the cluster has a limit of RAM, and was killed when it passed it: ask for more (--mem)"},
    {"oom_kill event", "host", kSymptom, kHost, "",
     "the job of the cluster has a limit of RAM, and was killed when it passed it: ask for more (--mem)"},
    {"oom-kill:", "host", kSymptom, kHost, "", "the kernel killed the process that held the most RAM"},
    {"exceeded job memory limit", "host", kSymptom, kHost},
    {"using all available ram", "host", kSymptom, kHost},
    {"tried to allocate more memory than is available", "host", kSymptom, kHost},
    {"oomkilled", "host", kSymptom, kHost, "", "the container has a limit of RAM, and was killed when it passed it"},
    {"oom killer", "host", kSymptom, kHost, "", kKilled},
    {"due to memory pressure", "host", kSymptom, kHost},
    {"node running low on memory", "host", kSymptom, kHost},
    {"killed by signal: killed", "host", kSymptom, kHost, "", kKilled},
    {"signal 9", "host", kSymptom, kHost, "", kKilled},
    {"(sigkill)", "host", kSymptom, kHost, "", kKilled},
    {"signals.sigkill", "host", kSymptom, kHost, "", kKilled},
    {"exitcode: -9", "host", kSymptom, kHost, "", kKilled},
    {"exitcode : -9", "host", kSymptom, kHost, "", kKilled},
    {"return code = -9", "host", kSymptom, kHost, "", kKilled},
    {"low memory! at or below", "host", kSymptom, kHost, "", "earlyoom ended the process that held the most RAM"},
    {"exit code 137", "host", kSymptom, kHost, "", kKilled},
    {"exit code: 137", "host", kSymptom, kHost, "", kKilled},
    {"exited with code 137", "host", kSymptom, kHost, "", kKilled},
    {"exit status 137", "host", kSymptom, kHost, "", kKilled},
    {"memoryerror: allocation of ", "other", kError},
    {"winerror 1455", "host", kSymptom, kHost, "",
     "Windows promises memory only as far as RAM and the paging file reach: make the paging file larger"},
    {"java heap space", "host", kSymptom, kHost},
    {"std::bad_alloc", "host", kSymptom, kHost},
    {"memoryerror", "host", kSymptom, kHost, "", "", true},
    {"cannot allocate memory", "host", kSymptom, kHost},
    {"can't allocate memory", "host", kSymptom, kHost},
    // Any other sentence.
    {"out of memory", "other", kWords},
    {"outofmemory", "other", kWords},
    {"out of gpu memory", "other", kWords},
    {"not enough memory", "other", kWords},
    {"not enough gpu", "other", kWords},
    {"enough gpu memory", "other", kWords},
    {"enough memory", "other", kWords},
    {"insufficient memory", "other", kWords},
    {"insufficient gpu memory", "other", kWords},
    {"resource_exhausted", "other", kWords},
    {"resource exhausted", "other", kWords},
    {"memory allocation failed", "other", kWords},
    {"failed to allocate", "other", kWords},
    {"unable to allocate", "other", kWords},
    {"out of gpu and shared host memory", "device", kWords, kCard, "",
     "neither the card nor what it may take of the host's memory had room"},
    {"out of vram", "other", kWords},
    {"not enough vram", "other", kWords},
    {"low on memory", "other", kWords},
    {"make sure you have enough gpu ram", "other", kWords, kCard, "",
     "the weights do not fit on the card, and device_map put a part of them on the host"},
    {"killed", "host", kWords, kHost, "", kKilled, true},
    // What shells of other languages say.
    {"get\xc3\xb6tet", "host", kWords, kHost, "", kKilled},
    {"\xe5\xb7\xb2\xe6\x9d\x80\xe6\xad\xbb", "host", kWords, kHost, "", kKilled},
    {"\xe5\xbc\xb7\xe5\x88\xb6\xe7\xb5\x82\xe4\xba\x86", "host", kWords, kHost, "", kKilled},
    {"no executable batch size found", "other", kWords, kCard, "",
     "every batch that was tried ran out of memory, down to the smallest"},
});

constexpr auto kAfter = &Words::SizeAfter;
constexpr auto kBefore = &Words::SizeBefore;
using O = OutOfMemory;

constexpr auto kSizes = std::to_array<SizeWords>({
    {"pytorch", &O::tried, kAfter, "tried to allocate more than "},
    {"pytorch", &O::tried, kAfter, "tried to allocate "},
    {"pytorch", &O::allowed, kAfter, "block with size larger than "},
    {"pytorch", &O::allowed, kBefore, " allowed;"},
    // 0.4.1 to 2.0: (GPU 0; A total capacity; B already allocated; C free; D reserved in total by PyTorch). 1.0 to 1.3
    // end with "D cached)", which is what is cached beside the allocated bytes: amount_cached - amount_allocated.
    {"pytorch", &O::capacity, kBefore, " total capacity;"},
    {"pytorch", &O::allocated, kBefore, " already allocated"},
    {"pytorch", &O::free, kBefore, " free;"},
    {"pytorch", &O::reserved, kBefore, " reserved in total by pytorch"},
    {"pytorch", &O::unallocated, kBefore, " cached)"},
    // Since 2.1, which wrote "capacty".
    {"pytorch", &O::capacity, kAfter, "has a total capacity of "},
    {"pytorch", &O::capacity, kAfter, "has a total capacty of "},
    {"pytorch", &O::free, kAfter, " of which "},
    {"pytorch", &O::in_use, kAfter, "this process has "},
    {"pytorch", &O::allocated, kAfter, "of the allocated memory "},
    {"pytorch", &O::private_pools, kBefore, " allocated in private pools"},
    {"pytorch", &O::unallocated, kBefore, " is reserved by pytorch but unallocated"},
    // The backend cudaMallocAsync.
    {"pytorch", &O::allocated, kAfter, "currently allocated : "},
    {"pytorch", &O::tried, kAfter, "requested : "},
    {"pytorch", &O::capacity, kAfter, "device limit : "},
    {"pytorch", &O::free, kAfter, "free (according to cuda): "},
    {"pytorch", &O::allowed, kAfter, "user-supplied memory fraction) : "},
    // MPS: what Metal counts for this process is in heaps of PyTorch's allocator, or not.
    {"pytorch", &O::reserved, kAfter, "(mps allocated: "},
    {"pytorch", &O::outside, kAfter, "other allocations: "},
    {"pytorch", &O::capacity, kAfter, "max allowed: "},
    {"mlx", &O::tried, kAfter, "invalid buffer size: "},
    {"host", &O::tried, kAfter, "you tried to allocate "},
    {"host", &O::tried, kAfter, "attempted to allocate "},
    {"host", &O::tried, kAfter, "unable to mmap "},
    {"host", &O::tried, kAfter, "unable to allocate "},
    {"host", &O::tried, kAfter, "memory of size: "},
    {"host", &O::tried, kBefore, " on host: cuda_error"},
    {"host", &O::in_use, kAfter, "anon-rss:"},
    {"tensorflow", &O::tried, kAfter, "ran out of memory trying to allocate "},
    {"tensorflow", &O::tried, kBefore, ") from device: "},
    {"tensorflow", &O::capacity, kAfter, " limit: "},
    {"tensorflow", &O::allocated, kAfter, " inuse: "},
    {"xla", &O::tried, kAfter, "out of memory while trying to allocate "},
    {"xla", &O::tried, kAfter, "out of memory allocating "},
    {"xla", &O::tried, kAfter, "failed to allocate request for "},
    {"xla", &O::tried, kAfter, "attempting to reserve "},
    {"xla", &O::tried, kAfter, "attempting to allocate "},
    {"xla", &O::free, kAfter, "there are "},
    {"xla", &O::total, kAfter, "total allocation: "},
    {"xla", &O::total, kAfter, " hbm. used "},
    {"xla", &O::capacity, kBefore, " hbm. exceeded"},
    {"onnxruntime", &O::tried, kAfter, "requested buffer of size "},
    {"onnxruntime", &O::tried, kAfter, "requested bytes of "},
    {"onnxruntime", &O::free, kAfter, "available memory of "},
    {"cupy", &O::tried, kAfter, "out of memory allocating "},
    {"cupy", &O::tried, kAfter, "out of memory to allocate "},
    {"cupy", &O::reserved, kAfter, "(allocated so far: "},
    {"cupy", &O::reserved, kAfter, "(total "},
    {"cupy", &O::allowed, kAfter, "limit set to: "},
    {"cupy", &O::allowed, kAfter, "limit set to "},
    {"paddle", &O::tried, kAfter, "cannot allocate "},
    {"paddle", &O::used, kBefore, " memory has been allocated"},
    {"paddle", &O::free, kAfter, "available memory is only "},
    {"ollama", &O::tried, kAfter, "memory ("},
    {"ollama", &O::free, kAfter, "available ("},
    {"llama.cpp", &O::tried, kAfter, "alloc_buffer: allocating "},
    {"llama.cpp", &O::tried, kAfter, "buffer of size "},
    {"llama.cpp", &O::tried, kAfter, "allocation of size "},
    {"vllm", &O::tried, kBefore, " kv cache is needed"},
    {"vllm", &O::free, kAfter, "available kv cache memory ("},
    {"vllm", &O::tried, &Words::SecondSizeAfter, "gpu memory utilization ("},
    {"vllm", &O::capacity, kBefore, ") on startup"},
    {"vllm", &O::free, &Words::SizeBeforeSlash, ") on startup"},
    {"mlx", &O::tried, kAfter, "attempting to allocate "},
    {"mlx", &O::allowed, kAfter, "maximum allowed buffer size of "},
    {"directml", &O::tried, kAfter, "could not allocate tensor with "},
    {"tensorrt", &O::tried, kAfter, "requested amount of gpu memory ("},
    {"tensorrt", &O::tried, kAfter, "requested amount of memory ("},
    {"tensorrt", &O::tried, kAfter, "requested size was "},
    {"tensorrt", &O::tried, kAfter, "error allocating "},
    {"xgboost", &O::tried, kAfter, "requested memory: "},
    {"xgboost", &O::free, kAfter, "free memory: "},
    {"faiss", &O::tried, kAfter, " size "},
    {"mindspore", &O::tried, kAfter, "alloc size: "},
    {"openvino", &O::tried, kAfter, "allocation: requested "},
    {"openvino", &O::allowed, kAfter, "supported by device is "},
    {"triton", &O::tried, kAfter, "required: "},
    {"triton", &O::capacity, kAfter, "hardware limit: "},
    {"other", &O::tried, kAfter, "tried to allocate "},
    {"other", &O::tried, kAfter, "trying to allocate "},
    {"other", &O::tried, kAfter, "failed to allocate "},
    {"other", &O::tried, kAfter, "unable to allocate "},
    {"other", &O::tried, kAfter, "cannot allocate "},
    {"other", &O::tried, kAfter, "allocation of "},
    {"other", &O::tried, kAfter, "allocating "},
    {"other", &O::tried, kAfter, "requested "},
    {"other", &O::tried, kAfter, "of size "},
});

constexpr auto kCounts = std::to_array<CountWords>({
    {"pytorch", &O::gpu, "gpu "},
    {"pytorch", &O::gpu, "(npu "},
    {"tensorflow", &O::gpu, "device:gpu:"},
    {"tensorflow", &O::gpu, "allocator (gpu_"},
    {"xla", &O::gpu, "device ordinal "},
    {"paddle", &O::gpu, "on gpu "},
    {"llama.cpp", &O::gpu, "on device "},
    {"llama.cpp", &O::gpu, "allocate cuda"},
    {"llama.cpp", &O::gpu, "allocate rocm"},
    {"mindspore", &O::gpu, "device(id:"},
    {"vllm", &O::gpu, "on device cuda:"},
    {"vllm", &O::tokens, "max seq len ("},
    {"vllm", &O::tokens_fit, "stored in kv cache ("},
    {"vllm", &O::tokens_fit, "estimated maximum model length is "},
});

constexpr auto kNames = std::to_array<NameWords>({
    {"tensorflow", &O::node, "[[{{node ", "}}"},
    {"tensorflow", &O::node, "[[node: ", " = "},
    {"tensorflow", &O::node, "[[node ", " "},
    {"tensorflow", &O::node, "requested by op ", " "},
    {"onnxruntime", &O::op, "while running ", " node"},
    {"onnxruntime", &O::node, "name:'", "'"},
});

// What a program of XLA takes at the same time. "maybe live out" is what may be returned.
constexpr auto kParts = std::to_array<PartWords>({
    {"xla", "outputs", "maybe_live_out allocation: "},
    {"xla", "temporaries", "preallocated temp allocation: "},
    {"xla", "parameters", "parameter allocation: "},
    {"xla", "constants", "constant allocation: "},
});

constexpr auto kPlaces = std::to_array<PlaceWords>({
    {"tensorflow", "device:cpu:", kHost},
    {"tensorflow", "by allocator cpu", kHost},
    {"tensorflow", "host_bfc) ran out", kHost},
    {"llama.cpp", "cpu_buffer_type_alloc_buffer", kHost},
    {"llama.cpp", "allocate cpu buffer", kHost},
    {"xgboost", "host memory", kHost},
    {"other", "memory on the host", kHost},
    {"other", "host memory", kHost},
    {"other", "system memory", kHost},
});

}  // namespace

std::span<const Form> Forms() { return kForms; }
std::string_view RemarkOfDriver() { return kOfDriver; }
std::string_view RemarkOfPinning() { return kPinned; }
std::span<const SizeWords> SizesOfForms() { return kSizes; }
std::span<const CountWords> CountsOfForms() { return kCounts; }
std::span<const NameWords> NamesOfForms() { return kNames; }
std::span<const PartWords> PartsOfForms() { return kParts; }
std::span<const PlaceWords> PlacesOfForms() { return kPlaces; }

std::string_view PoolOf(std::string_view kind, std::string_view backend) {
  if (kind == "tensorflow") return "TensorFlow's pool";
  if (kind == "triton") return "a multiprocessor";
  return backend == "MPS" ? "Metal's limit" : "";
}

size_t InFrontOf(std::string_view kind) {
  constexpr size_t kSentences = 1024, kStatistics = size_t{64} << 10;
  // The statistics of TensorFlow's pool and the warning stand in front of the error.
  if (kind == "tensorflow") return kStatistics;
  return kind == "pytorch" ? 0 : kSentences;
}

}  // namespace vramplan
