// GeForce and Titan cards. CUDA gets 290 to 650 MiB less than nvidia-smi shows; newer drivers take more. Windows
// reports nearly the full size and keeps part of it for the desktop. Half rates accumulate in fp32, as PyTorch does:
// half of the advertised fp16-accumulate rate. Bandwidth and rates: vendor pages. Multiprocessors: NVIDIA's Pascal,
// Turing, GA102, AD102 and RTX Blackwell whitepapers and product pages (CUDA cores / 128; / 64 on Turing and Volta).
#include "planner/spec/catalogue.h"

namespace vramplan {
namespace {

// clang-format off
constexpr CardRow kGeforceCards[] = {
    {"gtx-1060-6gb", "GeForce GTX 1060 6GB", "gtx-1060", 6, Bytes::MiB(6078), {6, 1}, 10, 192, 4.4, 0,
     "O,K: 6078 MiB in nvidia-smi (6144 MiB seen on Windows)"},
    {"gtx-1070", "GeForce GTX 1070", "", 8, Bytes::MiB(8112), {6, 1}, 15, 256, 6.5, 0, "K: ~8112 MiB"},
    {"gtx-1080", "GeForce GTX 1080", "", 8, Bytes::MiB(8111), {6, 1}, 20, 320, 8.9, 0, "O,K: 8111-8119 MiB"},
    {"gtx-1080-ti", "GeForce GTX 1080 Ti", "", 11, PrintedGiB(10.91), {6, 1}, 28, 484, 11.3, 0,
     "O,K: 10.91-10.92 GiB in OOM messages"},
    {"titan-x-pascal", "Titan X (Pascal)", "titan-x", 12, PrintedGiB(11.90), {6, 1}, 28, 480, 11, 0,
     "O,K: 11.90-11.93 GiB in OOM messages"},
    {"titan-xp", "Titan Xp", "", 12, PrintedGiB(11.90), {6, 1}, 30, 548, 12.1, 0,
     "O,K: 11.90-11.93 GiB in OOM messages"},
    {"titan-v", "Titan V", "", 12, Bytes::MiB(12066), {7, 0}, 80, 653, 14.9, 110, "K: ~12066 MiB"},
    {"gtx-1650", "GeForce GTX 1650 4GB", "", 4, PrintedGiB(3.8), {7, 5}, 14, 128, 3.0, 0, "K: 3.8-4.0 GiB"},
    {"gtx-1660-ti", "GeForce GTX 1660 Ti", "", 6, PrintedGiB(5.81), {7, 5}, 24, 288, 5.4, 0,
     "O,K: 5.81 GiB in OOM messages"},
    {"rtx-2060", "GeForce RTX 2060", "", 6, PrintedGiB(5.79), {7, 5}, 30, 336, 6.5, 26,
     "O,K: 5.79 GiB (6.00 on Windows)"},
    {"rtx-2070", "GeForce RTX 2070", "", 8, PrintedGiB(7.79), {7, 5}, 36, 448, 7.5, 30, "K: ~7.79 GiB"},
    {"rtx-2070-super", "GeForce RTX 2070 Super", "", 8, PrintedGiB(7.79), {7, 5}, 40, 448, 9.1, 36, "K: ~7.79 GiB"},
    {"rtx-2080", "GeForce RTX 2080", "", 8, PrintedGiB(7.79), {7, 5}, 46, 448, 10.1, 40, "S,K: ~7.79 GiB"},
    {"rtx-2080-super", "GeForce RTX 2080 Super", "", 8, PrintedGiB(7.79), {7, 5}, 48, 496, 11.2, 45, "S,K: ~7.79 GiB"},
    {"rtx-2080-ti", "GeForce RTX 2080 Ti", "", 11, PrintedGiB(10.73), {7, 5}, 68, 616, 13.4, 54,
     "O,S: 10.73-10.76 GiB in OOM messages, 11019 MiB"},
    {"titan-rtx", "Titan RTX", "", 24, PrintedGiB(23.6), {7, 5}, 72, 672, 16.3, 130, "S,K: 23.6 GiB"},
    {"rtx-3050-8gb", "GeForce RTX 3050 8GB", "rtx-3050", 8, PrintedGiB(7.7), {8, 6}, 20, 224, 9.1, 18, "K: ~7.7 GiB"},
    {"rtx-3060", "GeForce RTX 3060 12GB", "", 12, PrintedGiB(11.63), {8, 6}, 28, 360, 12.7, 25,
     "O,K: 11.63-11.76 GiB in OOM messages, 12053 MiB falling to 11931 with newer drivers"},
    {"rtx-3060-laptop", "GeForce RTX 3060 Laptop", "rtx-3060-mobile", 6, PrintedGiB(5.8), {8, 6}, 30, 336, 10.9, 22,
     "O,K: 5.8-6.0 GiB"},
    {"rtx-3060-ti", "GeForce RTX 3060 Ti", "", 8, PrintedGiB(7.66), {8, 6}, 38, 448, 16.2, 32, "K: 7.66-7.79 GiB"},
    {"rtx-3070", "GeForce RTX 3070", "", 8, PrintedGiB(7.66), {8, 6}, 46, 448, 20.3, 41, "S,K: 7.66-7.79 GiB"},
    {"rtx-3070-ti", "GeForce RTX 3070 Ti", "", 8, PrintedGiB(7.66), {8, 6}, 48, 608, 21.7, 43, "S,K: 7.66-7.79 GiB"},
    {"rtx-3080-10gb", "GeForce RTX 3080 10GB", "rtx-3080", 10, PrintedGiB(9.66), {8, 6}, 68, 760, 29.8, 60,
     "O,S: 9.66-9.78 GiB (10240 MiB on Windows)"},
    {"rtx-3080-12gb", "GeForce RTX 3080 12GB", "rtx-3080", 12, PrintedGiB(11.6), {8, 6}, 70, 912, 30.6, 61,
     "S,K: 11.6-11.76 GiB"},
    {"rtx-3080-ti", "GeForce RTX 3080 Ti", "", 12, PrintedGiB(11.6), {8, 6}, 80, 912, 34.1, 68, "S,K: 11.6-11.76 GiB"},
    {"rtx-3080-laptop", "GeForce RTX 3080 Laptop 8GB", "rtx-3080-mobile", 8, PrintedGiB(7.66), {8, 6}, 48, 448, 19, 38,
     "K: as RTX 3070 (8191 MiB seen on Windows)"},
    {"rtx-3090", "GeForce RTX 3090", "", 24, PrintedGiB(23.50), {8, 6}, 82, 936, 35.6, 71,
     "O,S: 23.50-23.70 GiB in OOM messages, 24268 MiB with older drivers"},
    {"rtx-3090-ti", "GeForce RTX 3090 Ti", "", 24, Bytes::MiB(24114), {8, 6}, 84, 1008, 40.0, 80,
     "O,S: 24114 MiB in device property lines"},
    {"rtx-4060", "GeForce RTX 4060", "", 8, PrintedGiB(7.6), {8, 9}, 24, 272, 15.1, 30, "K: 7.6-7.75 GiB"},
    {"rtx-4060-ti-8gb", "GeForce RTX 4060 Ti 8GB", "rtx-4060-ti", 8, PrintedGiB(7.6), {8, 9}, 34, 288, 22.1, 44,
     "K: 7.6 GiB, as RTX 4060"},
    {"rtx-4060-ti-16gb", "GeForce RTX 4060 Ti 16GB", "rtx-4060-ti", 16, PrintedGiB(15.6), {8, 9}, 34, 288, 22.1, 44,
     "K: 15.6-15.7 GiB"},
    {"rtx-4070", "GeForce RTX 4070", "", 12, PrintedGiB(11.56), {8, 9}, 46, 504, 29.1, 58,
     "O,K: 11.56-11.71 GiB in OOM messages"},
    {"rtx-4070-super", "GeForce RTX 4070 Super", "", 12, PrintedGiB(11.56), {8, 9}, 56, 504, 35.5, 71,
     "O,K: 11.56-11.71 GiB in OOM messages"},
    {"rtx-4070-ti", "GeForce RTX 4070 Ti", "", 12, PrintedGiB(11.73), {8, 9}, 60, 504, 40.1, 80,
     "O,K: 11.73 GiB in OOM messages"},
    {"rtx-4070-ti-super", "GeForce RTX 4070 Ti Super", "", 16, Bytes::MiB(15934), {8, 9}, 66, 672, 44.1, 88,
     "O,K: 15934-15974 MiB in device property lines"},
    {"rtx-4080", "GeForce RTX 4080", "", 16, Bytes::MiB(16049), {8, 9}, 76, 717, 48.7, 97,
     "O,S: 16049 MiB in device property lines"},
    {"rtx-4080-super", "GeForce RTX 4080 Super", "", 16, Bytes::MiB(16049), {8, 9}, 80, 736, 52.2, 104,
     "O,S: 16049 MiB, as RTX 4080"},
    {"rtx-4090", "GeForce RTX 4090", "", 24, PrintedGiB(23.50), {8, 9}, 128, 1008, 82.6, 165,
     "O,S: 23.50-23.68 GiB in OOM messages (24563 MiB on Windows)"},
    {"rtx-4090-laptop", "GeForce RTX 4090 Laptop", "rtx-4090-mobile", 16, PrintedGiB(15.6), {8, 9}, 76, 576, 50, 100,
     "S: ~15.6 GiB"},
    {"rtx-5060-ti-16gb", "GeForce RTX 5060 Ti 16GB", "rtx-5060-ti", 16, Bytes::MiB(15841), {12, 0}, 36, 448, 23.7, 47,
     "O,K: 15841 MiB in device property lines"},
    {"rtx-5070", "GeForce RTX 5070", "", 12, PrintedGiB(11.49), {12, 0}, 48, 672, 30.9, 62,
     "O,S: 11.49 GiB in OOM messages"},
    {"rtx-5070-ti", "GeForce RTX 5070 Ti", "", 16, PrintedGiB(15.47), {12, 0}, 70, 896, 43.9, 88,
     "O,S: 15.47-15.49 GiB in OOM messages"},
    {"rtx-5080", "GeForce RTX 5080", "", 16, PrintedGiB(15.47), {12, 0}, 84, 960, 56.3, 113,
     "O,S: ~15.47 GiB (16302 MiB on Windows)"},
    {"rtx-5090", "GeForce RTX 5090", "", 32, PrintedGiB(31.36), {12, 0}, 170, 1792, 104.8, 210,
     "O,S: 31.36-31.47 GiB in OOM messages, 33677180928 B (open-gpu-kernel-modules fork aikitoria#1)"},
};
// clang-format on

}  // namespace

std::span<const CardRow> GeForceCards() { return kGeforceCards; }

}  // namespace vramplan
