// The compiled kernels (a fat binary: code for every architecture the toolkit knows, PTX for what comes later), as
// they lie in this program.
#pragma once

namespace vramplan {

const void* KernelsImage();

}  // namespace vramplan
