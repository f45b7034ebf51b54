// Workstation cards of NVIDIA. The A6000 and 6000 Ada ship with ECC off; switching it on takes 1/16.
// Bandwidth and rates: vendor data sheets. Multiprocessors: NVIDIA's Turing, GA102, AD102 and RTX Blackwell whitepapers
// and data sheets.
#include "planner/spec/catalogue.h"

namespace vramplan {
namespace {

// clang-format off
constexpr CardRow kWorkstationCards[] = {
    {"quadro-rtx-8000", "Quadro RTX 8000", "rtx-8000", 48, PrintedGiB(47.4), {7, 5}, 72, 672, 16.3, 130,
     "S,K: ~47.4 GiB"},
    {"rtx-a4000", "RTX A4000", "", 16, PrintedGiB(15.61), {8, 6}, 48, 448, 19.2, 77, "O,K: 15.61 GiB in OOM messages"},
    {"rtx-a4500", "RTX A4500", "", 20, PrintedGiB(19.6), {8, 6}, 56, 640, 23.7, 95, "K: ~19.6 GiB"},
    {"rtx-a5000", "RTX A5000", "", 24, Bytes::MiB(24114), {8, 6}, 64, 768, 27.8, 111,
     "O,S: 24114-24138 MiB in device property lines"},
    {"rtx-a6000", "RTX A6000", "", 48, PrintedGiB(47.40), {8, 6}, 84, 768, 38.7, 155,
     "O,S: 47.40-47.53 GiB in OOM messages (older drivers 48676 MiB)"},
    {"rtx-6000-ada", "RTX 6000 Ada", "rtx-6000-ada-generation,6000-ada,a6000-ada", 48, PrintedGiB(47.38), {8, 9}, 142,
     960, 91.1, 364, "O,K: 47.38-47.50 GiB in OOM messages"},
    {"rtx-pro-4500", "RTX PRO 4500 Blackwell", "rtx-pro-4500-blackwell", 32, Bytes::Of(33689829376), {12, 0}, 82, 896,
     0, 0, "O: 33689829376 B (31.38 GiB), ECC on (vllm#51590)"},
    {"rtx-pro-6000", "RTX PRO 6000 Blackwell",
     "rtx-pro-6000-blackwell,rtx-pro-6000-blackwell-workstation-edition,rtx-pro-6000-blackwell-server-edition,rtx-6000-pro",
     96, PrintedGiB(94.96), {12, 0}, 188, 1597, 120, 480, "O,K: 94.96-94.98 GiB in OOM messages, 97250 MiB"},
};
// clang-format on

}  // namespace

std::span<const CardRow> WorkstationCards() { return kWorkstationCards; }

}  // namespace vramplan
