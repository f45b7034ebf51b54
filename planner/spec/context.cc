#include "planner/spec/context.h"

namespace vramplan {
namespace {

// Until calibrated on cards. `low` is the smallest seen, `likely` a context plus some 100 MiB of kernels and library
// handles after a training step, `high` the largest seen with lazily loaded kernels. Seen: bytes outside PyTorch in its
// own out-of-memory messages (total of the process less reserved), and the sightings named in the row.
struct ContextRow {
  Capability from;        // holds up to the next row
  int low, likely, high;  // MiB
  const char* source;
};
constexpr ContextRow kContextRows[] = {
    {{0, 0}, 165, 300, 450, "K80 173 MB (onnxruntime#15098); Pascal by analogy"},
    {{7, 0}, 300, 450, 600, "V100 300-400 MB (pytorch#20532), 0.38 GiB in an OOM message"},
    {{7, 5},
     131,
     350,
     450,
     "T4 131 MiB after a matmul, 135 after a convolution (torch 2.11, torch-preflight); T4 376 MB (onnxruntime#15098), "
     "2080 Ti 0.19 GiB in an OOM message"},
    {{8, 0}, 430, 530, 700, "A100 0.49 GiB in an OOM message"},
    {{8, 6}, 205, 400, 600, "A4000 0.20 GiB in an OOM message; ~400 MB (pytorch#107667)"},
    {{8, 9},
     426,
     530,
     650,
     "RTX 6000 Ada 426 MiB before the first kernel (unsloth-zoo#1053), 4090 0.51 GiB in an OOM message"},
    {{9, 0},
     520,
     750,
     975,
     "H200 751 MiB after steps of an MLP, 771 after ResNet-50 (torch 2.11, measured); H200 0.65, H100 NVL 0.66, H100 "
     "0.95 GiB in OOM messages"},
    {{10, 0}, 305, 550, 975, "5090 0.30 GiB in an OOM message; B200 by analogy with H100"},
};

// A context with lazily loaded kernels and one tensor under CUDA 11.7 and 12.1, which PyTorch was built for up to 2.3:
// 287,047,680 B (pytorch#86509). With CUDA 13.0 (2.10) it is 426 MiB (unsloth-zoo#1053): the rows above.
constexpr Bytes kSmallContext = Bytes::Of(287'047'680);
constexpr Framework kLastSmallContext{2, 3};

}  // namespace

ContextBand ContextOf(Capability capability, Framework framework, bool nvidia) {
  if (!nvidia) {
    return {Bytes::MiB(200), Bytes::MiB(500), Bytes::MiB(1000), "not measured on AMD: the band seen on NVIDIA cards"};
  }
  const ContextRow* chosen = kContextRows;
  for (const ContextRow& row : kContextRows) {
    if (row.from <= capability) chosen = &row;
  }
  ContextBand band{Bytes::MiB(chosen->low), Bytes::MiB(chosen->likely), Bytes::MiB(chosen->high), chosen->source};
  if (framework <= kLastSmallContext && band.low > kSmallContext) {
    band.low = kSmallContext;
    band.source += "; 287,047,680 B with PyTorch 1.13 (pytorch#86509), ~300 MB with 2.0 (pytorch#107667)";
  }
  return band;
}

ContextBand GivenContext(Bytes bytes) { return {bytes, bytes, bytes, "given with --context"}; }

}  // namespace vramplan
