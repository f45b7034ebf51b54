// Data-centre cards of NVIDIA. GDDR boards run with ECC on, which takes 1/16 of the memory (T4, A10, A10G, A40, L4,
// L40S). Bandwidth and rates: vendor data sheets. Multiprocessors: NVIDIA's architecture whitepapers (Kepler GK210 to
// Blackwell) and data sheets; A10G: multi_processor_count as PyTorch prints it on AWS g5. "H100" alone is the SXM board,
// which clouds rent (nvidia-smi: "NVIDIA H100 80GB HBM3"); of the boards of 80 GB it has the least memory.
#include "planner/spec/catalogue.h"

namespace vramplan {
namespace {

// clang-format off
constexpr CardRow kDatacentreCards[] = {
    {"k80", "Tesla K80 (one half)", "tesla-k80,p2", 12, Bytes::MiB(11441), {3, 7}, 13, 240, 4.4, 0,
     "O,S: 11441 MiB in device property lines"},
    {"m40", "Tesla M40 12GB", "tesla-m40", 12, Bytes::MiB(11448), {5, 2}, 24, 288, 6.8, 0, "S,K: ~11448 MiB"},
    {"p4", "Tesla P4", "tesla-p4", 8, Bytes::MiB(7606), {6, 1}, 20, 192, 5.5, 0, "K: ~7606 MiB"},
    {"p40", "Tesla P40", "tesla-p40", 24, Bytes::MiB(22919), {6, 1}, 30, 346, 11.8, 0,
     "O,K: 22919 MiB in nvidia-smi with ECC on (23.88 GiB seen with ECC off)"},
    {"p100", "Tesla P100 16GB", "tesla-p100,tesla-p100-pcie-16gb,tesla-p100-sxm2-16gb,kaggle-p100", 16,
     Bytes::MiB(16280), {6, 0}, 56, 732, 9.3, 18.7, "O,S: 16280 MiB (15.90 GiB) in device property lines"},
    {"v100-16gb", "Tesla V100 16GB", "v100,tesla-v100-sxm2-16gb,tesla-v100-pcie-16gb,p3,colab-v100", 16,
     PrintedGiB(15.75), {7, 0}, 80, 900, 14.0, 112, "O,S: 15.75-15.78 GiB in OOM messages"},
    {"v100-32gb", "Tesla V100 32GB", "v100,tesla-v100-sxm2-32gb,tesla-v100-sxm3-32gb,tesla-v100-pcie-32gb,v100s,p3dn",
     32, PrintedGiB(31.73), {7, 0}, 80, 900, 14.0, 112, "O,S: 31.73-31.75 GiB in OOM messages"},
    {"t4", "Tesla T4", "tesla-t4,g4dn,colab-t4,kaggle-t4", 16, PrintedGiB(14.56), {7, 5}, 40, 320, 8.1, 65,
     "O,S: 14.56-14.76 GiB in OOM messages, 15655829504 B (bottlerocket#3798)"},
    {"a2", "A2", "nvidia-a2", 16, PrintedGiB(14.6), {8, 6}, 10, 200, 4.5, 18, "K: ~14.6 GiB"},
    {"a10", "A10", "nvidia-a10", 24, PrintedGiB(22.1), {8, 6}, 72, 600, 31.2, 125,
     "O,S: 23028 MiB in nvidia-smi (modal-client#2797), ~22.1 GiB for CUDA"},
    {"a10g", "A10G", "nvidia-a10g,g5", 24, Bytes::MiB(22587), {8, 6}, 80, 600, 31.5, 70,
     "O,S: 22587 MiB in device property lines (older drivers 22723)"},
    {"a16", "A16 (one of four)", "nvidia-a16", 16, PrintedGiB(14.6), {8, 6}, 10, 200, 4.5, 18, "K: ~14.6 GiB"},
    {"a30", "A30", "nvidia-a30", 24, PrintedGiB(23.53), {8, 0}, 56, 933, 10.3, 165, "O,K: 23.53 GiB in OOM messages"},
    {"a40", "A40", "nvidia-a40", 48, PrintedGiB(44.34), {8, 6}, 84, 696, 37.4, 150,
     "O,S: 44.34-44.56 GiB in OOM messages, 45416 MiB"},
    {"a100-40gb", "A100 40GB", "a100,a100-sxm4-40gb,a100-pcie-40gb,p4d,colab-a100", 40, PrintedGiB(39.39), {8, 0}, 108,
     1555, 19.5, 312, "O,S: 39.39-39.59 GiB in OOM messages, 42298834944 B (bottlerocket#3873)"},
    {"a100-80gb", "A100 80GB", "a100,a100-sxm4-80gb,a100-pcie-80gb,a100-80gb-pcie,p4de", 80, PrintedGiB(79.14), {8, 0},
     108, 1935, 19.5, 312, "O,S: 79.14-79.33 GiB in OOM messages (SXM and PCIe; mixbench#47)"},
    {"a800-80gb", "A800 80GB", "a800,a800-sxm4-80gb,a800-80gb-pcie", 80, PrintedGiB(79.14), {8, 0}, 108, 1935, 19.5,
     312, "O,S: as A100 80GB"},
    {"l4", "L4", "nvidia-l4,g6,colab-l4", 24, PrintedGiB(22.03), {8, 9}, 58, 300, 30.3, 121,
     "O,S: 22.03-22.07 GiB in OOM messages (modal-client#2797 for nvidia-smi)"},
    {"l40", "L40", "nvidia-l40", 48, PrintedGiB(44.4), {8, 9}, 142, 864, 90.5, 181, "S: ~44.4 GiB"},
    {"l40s", "L40S", "nvidia-l40s,g6e", 48, PrintedGiB(44.39), {8, 9}, 142, 864, 91.6, 362,
     "O,S: 44.39-44.47 GiB in OOM messages, 45589 MiB"},
    {"h100-pcie", "H100 PCIe 80GB", "h100-80gb-pcie", 80, Bytes::MiB(81008), {9, 0}, 114, 2000, 51.2, 756,
     "O,S: 81008 MiB in device property lines"},
    {"h100-sxm", "H100 SXM 80GB", "h100,h100-80gb-hbm3,h100-sxm5,h100-sxm5-80gb,p5", 80, PrintedGiB(79.10), {9, 0}, 132,
     3350, 66.9, 989, "O,S: 79.10-79.19 GiB in OOM messages, 81082 MiB"},
    {"h100-nvl", "H100 NVL 94GB", "", 94, PrintedGiB(93.00), {9, 0}, 132, 3938, 60, 835,
     "O,S: 93.00-93.02 GiB in OOM messages"},
    {"h20", "H20 96GB", "nvidia-h20", 96, PrintedGiB(95.0), {9, 0}, 78, 4000, 44, 148, "O,S: 95.0 GiB, 97285 MiB"},
    {"h200", "H200", "nvidia-h200,h200-sxm,p5e", 141, PrintedGiB(139.72), {9, 0}, 132, 4800, 67, 989,
     "O,S: 139.72-139.81 GiB in OOM messages, 143156 MiB"},
    {"gh200", "GH200 96GB", "gh200-480gb,grace-hopper", 96, PrintedGiB(94.50), {9, 0}, 132, 4000, 67, 989,
     "O?,K: 94.50 GiB, one sighting without a name"},
    {"b200", "B200", "nvidia-b200,p6", 180, PrintedGiB(178.35), {10, 0}, 148, 7672, 75, 2250,
     "O,S: 178.35-178.36 GiB (pytorch/ao#4002)"},
};
// clang-format on

}  // namespace

std::span<const CardRow> DataCentreCards() { return kDatacentreCards; }

}  // namespace vramplan
