// The compiled kernels inside this program: a fat binary with code for every architecture that the toolkit knows, and
// PTX for later ones.
#pragma once

namespace vramplan {

const void* KernelsImage();

}  // namespace vramplan
