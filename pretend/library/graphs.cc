// CUDA graphs: a stream knows whether it is recording; a graph knows nothing, and launching it does nothing.
#include "pretend/library/abi.h"

using pretend::Capture;
using pretend::Handle;
using pretend::kSuccess;
using pretend::Process;

namespace {

constexpr int kNone = 0, kActive = 1;     // cudaStreamCaptureStatus
constexpr int kCaptureInvalidated = 901;  // cudaErrorStreamCaptureInvalidated

// Every question about a capture: those that are not asked are null.
int Tell(Handle stream, int* status, unsigned long long* id, Handle* graph) {
  const std::optional<Capture> capture = Process::This().CaptureOf(stream);
  if (status != nullptr) *status = capture ? kActive : kNone;
  if (id != nullptr) *id = capture ? capture->id : 0;
  if (graph != nullptr) *graph = capture ? capture->graph : nullptr;
  return kSuccess;
}

int TellNoDependencies(Handle stream, int* status, unsigned long long* id, Handle* graph, Handle* dependencies,
                       Handle* edges, size_t* count) {
  if (dependencies != nullptr) *dependencies = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = 0;
  return Tell(stream, status, id, graph);
}

}  // namespace

// PyTorch, aten/src/ATen/cuda/CUDAGraph.cpp.
PRETEND_API int cudaStreamBeginCapture(Handle stream, int) {
  return Process::This().BeginCapture(stream, pretend::NewHandle()) ? kSuccess : pretend::kInvalidValue;
}
PRETEND_ALIAS(cudaStreamBeginCapture_ptsz, cudaStreamBeginCapture);
PRETEND_ALIAS(cuStreamBeginCapture, cudaStreamBeginCapture);
PRETEND_ALIAS(cuStreamBeginCapture_v2, cudaStreamBeginCapture);
PRETEND_ALIAS(cuStreamBeginCapture_ptsz, cudaStreamBeginCapture);
// CUDAGraph::capture_end: a handle of a graph, never null; the stream runs again.
PRETEND_API int cudaStreamEndCapture(Handle stream, Handle* graph) {
  const std::optional<Capture> capture = Process::This().EndCapture(stream);
  *graph = capture ? capture->graph : nullptr;
  return capture ? kSuccess : kCaptureInvalidated;
}
PRETEND_ALIAS(cudaStreamEndCapture_ptsz, cudaStreamEndCapture);
PRETEND_ALIAS(cuStreamEndCapture, cudaStreamEndCapture);
// PyTorch, c10/cuda/CUDAGraphsC10Utils.h: asked at every allocation and random number.
PRETEND_API int cudaStreamIsCapturing(Handle stream, int* status) { return Tell(stream, status, nullptr, nullptr); }
PRETEND_ALIAS(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing);
PRETEND_ALIAS(cuStreamIsCapturing, cudaStreamIsCapturing);
// The name stays and the arguments change: three until CUDA 12, seven since 13 (as the third version of 12.3).
PRETEND_API int cudaStreamGetCaptureInfo(Handle stream, int* status, unsigned long long* id, Handle* graph,
                                         Handle* dependencies, Handle* edges, size_t* count) {
  if (pretend::CudaVersion() < 13000) return Tell(stream, status, id, nullptr);
  return TellNoDependencies(stream, status, id, graph, dependencies, edges, count);
}
PRETEND_ALIAS(cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo);
PRETEND_ALIAS(cuStreamGetCaptureInfo, cudaStreamGetCaptureInfo);
// c10/cuda/CUDAGraphsC10Utils.h, built for CUDA 12: status and id, with five arguments more.
PRETEND_API int cudaStreamGetCaptureInfo_v2(Handle stream, int* status, unsigned long long* id, Handle* graph,
                                            Handle* dependencies, size_t* count) {
  return TellNoDependencies(stream, status, id, graph, dependencies, nullptr, count);
}
PRETEND_ALIAS(cudaStreamGetCaptureInfo_v2_ptsz, cudaStreamGetCaptureInfo_v2);
PRETEND_ALIAS(cuStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo_v2);
// The same from 12.3 on, with edges.
PRETEND_API int cudaStreamGetCaptureInfo_v3(Handle stream, int* status, unsigned long long* id, Handle* graph,
                                            Handle* dependencies, Handle* edges, size_t* count) {
  return TellNoDependencies(stream, status, id, graph, dependencies, edges, count);
}
PRETEND_ALIAS(cudaStreamGetCaptureInfo_v3_ptsz, cudaStreamGetCaptureInfo_v3);
PRETEND_ALIAS(cuStreamGetCaptureInfo_v3, cudaStreamGetCaptureInfo_v3);
// PyTorch, CUDAStreamCaptureModeGuard: gives the mode that was there, relaxed (2) or global (0): the argument stays.
PRETEND_API int cudaThreadExchangeStreamCaptureMode(int*) { return kSuccess; }
PRETEND_ALIAS(cuThreadExchangeStreamCaptureMode, cudaThreadExchangeStreamCaptureMode);

// PyTorch, CUDAGraph.cpp: handles of graphs and what they are made executable as.
PRETEND_API int cudaGraphCreate(Handle* graph, unsigned) {
  *graph = pretend::NewHandle();
  return kSuccess;
}
PRETEND_ALIAS(cuGraphCreate, cudaGraphCreate);
// CUDAGraph::instantiate: a handle.
PRETEND_API int cudaGraphInstantiate(Handle* executable, Handle) {
  *executable = pretend::NewHandle();
  return kSuccess;
}
PRETEND_ALIAS(cudaGraphInstantiateWithFlags, cudaGraphInstantiate);
PRETEND_ALIAS(cuGraphInstantiate, cudaGraphInstantiate);
PRETEND_ALIAS(cuGraphInstantiate_v2, cudaGraphInstantiate);
PRETEND_ALIAS(cuGraphInstantiateWithFlags, cudaGraphInstantiate);
// JAX: a handle.
PRETEND_API int cudaGraphInstantiateWithParams(Handle* executable, Handle, const void*) {
  return cudaGraphInstantiate(executable, nullptr);
}
// JAX and llama.cpp: a handle.
PRETEND_API int cudaGraphClone(Handle* clone, Handle) {
  *clone = pretend::NewHandle();
  return kSuccess;
}
// PyTorch warns of a graph without nodes: one.
PRETEND_API int cudaGraphGetNodes(Handle, Handle* nodes, size_t* count) {
  if (nodes != nullptr && *count > 0) nodes[0] = pretend::NewHandle();
  *count = 1;
  return kSuccess;
}
PRETEND_ALIAS(cuGraphGetNodes, cudaGraphGetNodes);
// JAX: its only node.
PRETEND_API int cudaGraphGetRootNodes(Handle graph, Handle* nodes, size_t* count) {
  return cudaGraphGetNodes(graph, nodes, count);
}
// Which has no neighbours, and is a kernel.
PRETEND_API int cudaGraphNodeGetDependencies(Handle, Handle*, size_t* count) {
  *count = 0;
  return kSuccess;
}
// JAX: none.
PRETEND_API int cudaGraphGetEdges(Handle, Handle*, Handle*, size_t* count) {
  *count = 0;
  return kSuccess;
}
// llama.cpp: a kernel.
PRETEND_API int cudaGraphNodeGetType(Handle, int* type) {
  *type = 0;
  return kSuccess;
}
