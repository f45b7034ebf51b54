// AMD cards. `capability` is what PyTorch for ROCm answers to get_device_capability() (gfx90a: 9.0, gfx942: 9.4,
// gfx950: 9.5, gfx1100: 11.0, gfx1151: 11.5): not a CUDA one. Multiprocessors: compute units of AMD's data sheets.
#include "planner/spec/catalogue.h"

namespace vramplan {
namespace {

// clang-format off
constexpr CardRow kAmdCards[] = {
    {"mi210", "Instinct MI210", "", 64, Bytes::MiB(65520), {9, 0}, 104, 1638, 22.6, 181, "O,S: 65520 MiB, gfx90a"},
    {"mi250", "Instinct MI250 (one die)", "", 64, Bytes::MiB(65520), {9, 0}, 104, 1638, 22.6, 181,
     "O,S: 65520 MiB per die, gfx90a"},
    {"mi250x", "Instinct MI250X (one die)", "", 64, Bytes::MiB(65520), {9, 0}, 110, 1638, 23.9, 191,
     "O,S: 65520 MiB (63.98 GiB) per die, gfx90a"},
    {"mi300x", "Instinct MI300X", "", 192, PrintedGiB(191.98), {9, 4}, 304, 5300, 163, 1307,
     "O,K: 191.98 GiB (196592 MiB), gfx942"},
    {"mi325x", "Instinct MI325X", "", 256, PrintedGiB(255.98), {9, 4}, 304, 6000, 163, 1307, "O,K: 255.98 GiB, gfx942"},
    {"mi350x", "Instinct MI350X", "", 288, PrintedGiB(287.98), {9, 5}, 256, 8000, 144, 2300, "O,K: 287.98 GiB, gfx950"},
    {"mi355x", "Instinct MI355X", "", 288, PrintedGiB(287.98), {9, 5}, 256, 8000, 157, 2500, "O,K: 287.98 GiB, gfx950"},
    {"rx-7900-xtx", "Radeon RX 7900 XTX", "7900xtx", 24, PrintedGiB(23.98), {11, 0}, 96, 960, 61, 123,
     "O,S: 23.98 GiB (ROCm/TheRock#1054), gfx1100"},
    {"strix-halo", "Strix Halo 8060S (unified memory)", "8060s,ryzen-ai-max-395", 128, Bytes::MiB(80065), {11, 5}, 40,
     256, 0, 0, "O: 80065 MiB on Windows (128.00 GiB and a misreported 15.24 GiB seen elsewhere), gfx1151"},
};
// clang-format on

}  // namespace

std::span<const CardRow> AmdCards() { return kAmdCards; }

}  // namespace vramplan
