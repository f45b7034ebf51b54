// Messages of everything but PyTorch's own allocator on a card: what each wording says. The threads that quote them are
// named.
#include "planner/oom/forms.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/base/text.h"
#include "tests/planner/oom/what_it_says.h"

namespace vramplan {
namespace {

TEST_CASE("out-of-memory messages of other frameworks, libraries and systems: what each wording says") {
  struct Row {
    const char *source, *text, *says;
  };
  constexpr Row kRows[] = {
      {"3DUX-Net#70", "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
       "device CUDA"},
      {"pytorch 2.9",
       "torch.AcceleratorError: CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in the documentation",
       "device"},
      {"numba: NVIDIA/cudf#185", "CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY", "device"},
      {"insightface#1240", "MXNetError: cudaMalloc retry failed: out of memory", "device CUDA"},
      {"older ggml", "CUDA error 2 at ggml-cuda.cu:4883: out of memory", "device CUDA"},
      {"Caffe", "Check failed: error == cudaSuccess (2 vs. 0)  out of memory", "device CUDA"},
      {"bitsandbytes", "Error out of memory at line 380 in file csrc/ops.cu", "device CUDA"},
      {"RMM",
       "MemoryError: std::bad_alloc: out_of_memory: CUDA error at cuda_memory_resource.hpp:70: "
       "cudaErrorMemoryAllocation",
       "device"},
      {"ml-explore/mlx#479",
       "[METAL] Command buffer execution failed: Insufficient Memory "
       "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
       "device Metal"},
      {"onnxruntime of CUDA", "CUDA failure 2: out of memory ; GPU=0 ; hostname=a ; expr=cudaMalloc((void**)&p, size);",
       "device CUDA"},
      {"NCCL", "NCCL WARN Cuda failure 2 'out of memory'", "library"},
      {"cuDNN finds no room for a workspace", "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution",
       "library"},
      {"cublasCreate", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "library"},
      {"pytorch#20618",
       "DefaultCPUAllocator: can't allocate memory: you tried to allocate 132426121216 bytes. Error code 12",
       "host (host), tried 123.33 GiB"},
      {"a size below zero",
       "DefaultCPUAllocator: can't allocate memory: you tried to allocate 18446744073709551608 bytes.",
       "host (host), tried 8589934592.00 GiB"},
      {"PyTorch 0.4 to 1.0",
       "RuntimeError: $ Torch: not enough memory: you tried to allocate 0GB. Buy new RAM! at THGeneral.cpp:201",
       "host (host)"},
      {"NumPy",
       "_ArrayMemoryError: Unable to allocate 1.21 GiB for an array with shape (60000, 224) and data type float32",
       "host (host), tried 1.21 GiB"},
      {"MemoryError", "Traceback (most recent call last):\n  File \"a.py\", line 3\nMemoryError", "host (host)"},
      {"a killed loader", "RuntimeError: DataLoader worker (pid 4131) is killed by signal: Killed. ", "host (host)"},
      {"/dev/shm",
       "RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible that dataloader's "
       "workers are out of shared memory.",
       "host (host)"},
      {"pcyin/tranX#41",
       "Out of memory: Killed process 25315 (python3) total-vm:53312244kB, anon-rss:31451456kB, file-rss:74816kB",
       "host (host), in use 30.07 GiB"},
      {"NervanaSystems/deepspeech#48",
       "Out of memory: Kill process 25635 (python) score 974 or sacrifice child\nKilled process 25635 (python) "
       "total-vm:55518724kB, anon-rss:23902876kB",
       "host (host), in use 22.80 GiB"},
      {"torchrun", "exitcode  : -9 (pid: 4121)\n  traceback : Signal 9 (SIGKILL) received by PID 4121", "host (host)"},
      {"Slurm", "slurmstepd: error: Detected 1 oom_kill event in StepId=23.batch.", "host (host)"},
      {"facenet#236", "Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", "host (host)"},
      {"gpt-2#50417", "100%|####| 1/1 [00:00<00:00, 109.93it/s]\nKilled", "host (host)"},
      {"Ollama", "Error: model requires more system memory (8.4 GiB) than is available (5.2 GiB)",
       "ollama (host), tried 8.40 GiB, free 5.20 GiB"},
      {"nshepperd/gpt-2#61: an allocator of the host",
       "OOM when allocating tensor with shape[1024,50257] and type float on /device:CPU:0 by allocator cpu",
       "tensorflow (host), tried 196.32 MiB, shape[1024,50257] and type float"},
      {"talmolab/sleap#1182",
       "Allocator (GPU_0_bfc) ran out of memory trying to allocate 600.00MiB (rounded to 629145600)requested by op "
       "model/stack0_enc2_act0_relu/Relu\nIf the cause is memory fragmentation",
       "tensorflow gpu 0, tried 600.00 MiB, node model/stack0_enc2_act0_relu/Relu"},
      {"hotosm/fAIr#59",
       "OOM when allocating tensor with shape[16,112,112,147] and type float on /device:GPU:0 by allocator "
       "GPU_0_bfc\n\t [[{{node model/conv/Conv2D}}]]\nLimit: 7449870336\nInUse: 6473138688",
       "tensorflow gpu 0, tried 112.55 MiB, TensorFlow's pool 6.94 GiB, allocated 6.03 GiB, shape[16,112,112,147] and "
       "type float, node model/conv/Conv2D"},
      {"tensorflow#4735: statistics in front, no type",
       "Stats: \nLimit:                 12049707828\nInUse:                 11984328960\nMaxInUse:              "
       "12038083584\nW bfc_allocator.cc:275] Ran out of memory trying to allocate 39.81MiB.  See logs for memory "
       "state.\nW op_kernel.cc:968] Resource exhausted: OOM when allocating tensor with shape[256,832,7,7]",
       "tensorflow, tried 39.81 MiB, TensorFlow's pool 11.22 GiB, allocated 11.16 GiB, shape[256,832,7,7]"},
      {"finetune#339",
       "OOM when allocating tensor with shape[16,12,512,512] and type half on /job:localhost/device:GPU:2 by allocator "
       "GPU_2_bfc",
       "tensorflow gpu 2, tried 96.00 MiB, shape[16,12,512,512] and type half"},
      {"tensorflow#12237",
       "E cuda_driver.cc:924] failed to allocate 1.51G (1617277696 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
       "tensorflow, tried 1.51 GiB"},
      {"a warning in front of the failure",
       "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.60GiB. The caller indicates that this is not a "
       "failure, but may mean that there could be performance gains.\nAllocator (GPU_0_bfc) ran out of memory trying "
       "to allocate 1.10GiB (rounded to 1181116006)requested by op conv/Conv2D",
       "tensorflow gpu 0, tried 1.10 GiB, node conv/Conv2D"},
      {"AFProfile#8",
       "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes.\nBufferAssignment stats:\n  "
       "parameter allocation:  372.76MiB\n   constant allocation:    48.5KiB\n maybe_live_out allocation:    9.64GiB\n "
       "preallocated temp allocation:    4.44GiB\n  total allocation:   14.44GiB\n total fragmentation:  680.30MiB "
       "(4.60%)",
       "xla, tried 4.44 GiB, total 14.44 GiB, outputs 9.64 GiB, temporaries 4.44 GiB, parameters 372.76 MiB, constants "
       "48.50 KiB"},
      {"LLNeRF#9", "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 20029400304 bytes.",
       "xla, tried 18.65 GiB"},
      {"XLA on a TPU",
       "Ran out of memory in memory space hbm. Used 38.92G of 15.48G hbm. Exceeded hbm capacity by 23.44G.",
       "xla, capacity 15.48 GiB, total 38.92 GiB"},
      {"a reservation on a TPU",
       "Attempting to reserve 5.87G at the bottom of memory. That was not possible. There are 4.96G free, 0B reserved",
       "xla, tried 5.87 GiB, free 4.96 GiB"},
      {"onnxruntime#9939",
       "Non-zero status code returned while running Conv node. Name:'Conv_12' Status Message: bfc_arena.cc:376 "
       "AllocateRawInternal(size_t) Failed to allocate memory for requested buffer of size 8388608000",
       "onnxruntime, tried 7.81 GiB, op Conv, node Conv_12"},
      {"ragflow#10295",
       "BFCArena::AllocateRawInternal(size_t, bool) Available memory of 0 is smaller than requested bytes of 135383040",
       "onnxruntime, tried 129.11 MiB, free 0 B"},
      {"cupy#2537",
       "Exception in main training loop: Out of memory allocating 25,600,000 bytes (allocated so far: 3,635,267,072 "
       "bytes).",
       "cupy, tried 24.41 MiB, reserved 3.39 GiB"},
      {"cupy#1912",
       "cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 1073741824 bytes (total 12373894656 bytes)",
       "cupy, tried 1.00 GiB, reserved 11.52 GiB"},
      {"Paddle#42228",
       "Out of memory error on GPU 0. Cannot allocate 98.000244MB memory on GPU 0, 6.000000GB memory has been "
       "allocated and available memory is only 0.000000B.",
       "paddle gpu 0, tried 98.00 MiB, capacity 6.00 GiB, free 0 B"},
      {"PaddleOCR#645",
       "Out of memory error on GPU 0. Cannot allocate 3.125000GB memory on GPU 0, available memory is only "
       "117.750000MB.",
       "paddle gpu 0, tried 3.12 GiB, free 117.75 MiB"},
      {"ollama#6860",
       "alloc_buffer: allocating 144.00 MiB on device 4: cudaMalloc failed: out of memory\nggml_gallocr_reserve_n: "
       "failed to allocate CUDA4 buffer of size 150995968",
       "llama.cpp gpu 4, tried 144.00 MiB"},
      {"ollama#12634", "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 437944320",
       "llama.cpp (host), tried 417.66 MiB"},
      {"Vulkan",
       "ggml_vulkan: Device memory allocation of size 1442316288 failed.\nggml_vulkan: ErrorOutOfDeviceMemory",
       "llama.cpp, tried 1.34 GiB"},
      {"vLLM, new",
       "To serve at least one request with the models's max seq len (262144), (24.0 GiB KV cache is needed, which is "
       "larger than the available KV cache memory (3.18 GiB). Based on the available memory, the estimated maximum "
       "model length is 34736.",
       "vllm (key-value), tried 24.00 GiB, free 3.18 GiB, tokens 262144, fit 34736"},
      {"vLLM, old",
       "The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache "
       "(3664).",
       "vllm (key-value), tokens 4096, fit 3664"},
      {"vllm#2248", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
       "vllm (key-value)"},
      {"pytorch#175666",
       "Free memory on device cuda:1 (19.77/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, "
       "19.84 GiB).",
       "vllm gpu 1, tried 19.84 GiB, capacity 22.05 GiB, free 19.77 GiB"},
      {"ml-explore/mlx: a single buffer",
       "[metal::malloc] Attempting to allocate 48736917632 bytes which is greater than the maximum allowed buffer size "
       "of 30150672384 bytes.",
       "mlx, tried 45.39 GiB, allowed 28.08 GiB"},
      {"DirectML#579",
       "Could not allocate tensor with 234881024 bytes. There is not enough GPU video memory available!",
       "directml, tried 224.00 MiB"},
      {"torch2trt#661",
       "Requested amount of memory (150994944 bytes) could not be allocated. There may not be enough free memory",
       "tensorrt, tried 144.00 MiB"},
      {"yolo-tensorrt#169", "Requested amount of GPU memory (4294967296 bytes) could not be allocated.",
       "tensorrt, tried 4.00 GiB"},
      {"NVIDIA/TensorRT#4254", "autotuning: user allocator error allocating 86114305024-byte buffer",
       "tensorrt, tried 80.20 GiB"},
      {"xgboost#7140",
       "Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n- Free memory: "
       "11310923776\n- Requested memory: 47996",
       "xgboost, tried 46.87 KiB, free 10.53 GiB"},
      {"xgboost#11684",
       "Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\\n- Free memory: "
       "53.1098GB\\n- Requested memory: 64GB\\n",
       "xgboost, tried 64.00 GiB, free 53.11 GiB"},
      {"triton#8182",
       "OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes "
       "or `num_stages` may help.",
       "triton (on-chip), tried 128.00 KiB, a multiprocessor 99.00 KiB"},
      {"triton#384", "out of resource: shared memoryRequired: 110592Hardware limit: 101376",
       "triton (on-chip), tried 108.00 KiB, a multiprocessor 99.00 KiB"},
      {"mindspore#172", "Init] cudaHostAlloc failed, ret[2], out of memory", "host (host)"},
      {"cuDNN's frontend finds no room for a workspace",
       "RuntimeError: GET was unable to find an engine to execute this computation", "library"},
      {"MAGMA", "RuntimeError: MAGMA_ERR_DEVICE_ALLOC", "library"},
      {"a loader without /dev/shm",
       "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
       "host (host)"},
      {"DeepSpeed's launcher",
       "[ERROR] [launch.py:324:sigkill_handler] ['python3', 'train.py', '--local_rank=7'] exits with return code = -9",
       "host (host)"},
      {"earlyoom", "low memory! at or below SIGTERM limits: mem 10.00%, swap 10.00%", "host (host)"},
      {"OpenCL of LightGBM", "lightgbm.basic.LightGBMError: Memory Object Allocation Failure", "device OpenCL"},
      {"MindSpore",
       "RuntimeError: Device(id:0) memory isn't enough and alloc failed, kernel name: Default/Conv2D-op1, alloc size: "
       "822083584B.",
       "mindspore gpu 0, tried 784.00 MiB"},
      {"OpenVINO: a single buffer",
       "RuntimeError: [GPU] Exceeded max size of memory object allocation: requested 4831838208 bytes, but max alloc "
       "size supported by device is 4294959104 bytes.",
       "openvino, tried 4.50 GiB, allowed 4.00 GiB"},
      {"DeepFaceLab#5533", "(1) Resource exhausted: failed to allocate memory\n [[{{node mul_89}}]]",
       "tensorflow, node mul_89"},
      {"dfaker/df#7",
       "Allocator (GPU_0_bfc) ran out of memory trying to allocate 128.00MiB.  Current allocation summary follows.\n"
       "Bin (256):  Total Chunks: 96\nOOM when allocating tensor with shape[32,64,128,128]\n [[Node: conv2d_16/grad = "
       "Conv2D[T=DT_FLOAT, data_format]]]",
       "tensorflow gpu 0, tried 128.00 MiB, shape[32,64,128,128] and type float, node conv2d_16/grad"},
      {"FreeToken-Web#2", "AssertionError: Not enough memory for KV cache, try reducing --num-pages",
       "sglang (key-value)"},
      {"TensorRT-LLM#542", "maxTokensInPagedKvCache must be large enough to process at least 1 sequence to completion",
       "tensorrt-llm (key-value)"},
      {"PyOpenCL", "pyopencl.MemoryError: clEnqueueNDRangeKernel failed: MEM_OBJECT_ALLOCATION_FAILURE",
       "device OpenCL"},
      {"tinygrad", "MemoryError: Allocation of 1.00 GB failed on CUDA.", "other, tried 1.00 GiB"},
      {"faceswap#899", "You do not have enough GPU memory available to train the selected model", "other"},
      {"a sentence that no row knows", "loader: there is not enough memory, trying to allocate 12 MiB more",
       "other, tried 12.00 MiB"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.source);
    CHECK_EQ(testing::WhatItSays(row.text), row.says);
  }
}

TEST_CASE("words inside other words say nothing of memory") {
  for (const char* text :
       {"skilled workers in a room", "the server was killed by hand", "KilledFolder/a.txt", "loss is nan"}) {
    CAPTURE(text);
    CHECK_FALSE(ReadOutOfMemory("pasted", text).ok());
  }
}

TEST_CASE("the words of every row are in lower case, and each row of numbers is of a kind that a form has") {
  const auto lower = [](std::string_view words) { return LowerCase(words) == words; };
  const auto is_kind = [](std::string_view kind) {
    for (const Form& form : Forms())
      if (form.kind == kind) return true;
    return false;
  };
  for (const Form& form : Forms()) CHECK_MESSAGE(lower(form.words), std::string(form.words));
  for (const SizeWords& row : SizesOfForms()) {
    CHECK_MESSAGE(lower(row.words), std::string(row.words));
    CHECK_MESSAGE(is_kind(row.kind), std::string(row.kind));
  }
  for (const CountWords& row : CountsOfForms())
    CHECK_MESSAGE((lower(row.words) && is_kind(row.kind)), std::string(row.words));
  for (const NameWords& row : NamesOfForms())
    CHECK_MESSAGE((lower(row.left) && is_kind(row.kind)), std::string(row.left));
  for (const PartWords& row : PartsOfForms())
    CHECK_MESSAGE((lower(row.words) && is_kind(row.kind)), std::string(row.words));
  for (const PlaceWords& row : PlacesOfForms())
    CHECK_MESSAGE((lower(row.words) && is_kind(row.kind)), std::string(row.words));
}

}  // namespace
}  // namespace vramplan
