#include "cuda_probe/kernels_image.h"

// The assembler puts the file there: VRAMPLAN_KERNELS is its path, from CMake.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "vramplan_kernels_image:\n"
    ".incbin \"" VRAMPLAN_KERNELS
    "\"\n"
    ".balign 16\n"
    ".popsection\n");
extern "C" const unsigned char vramplan_kernels_image[] __attribute__((visibility("hidden")));

namespace vramplan {

const void* KernelsImage() { return vramplan_kernels_image; }

}  // namespace vramplan
