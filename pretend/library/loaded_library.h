// Libraries that the process has loaded, and which version of them: told by their files. Asking them is not always
// possible: some look for a driver first, which is us.
#pragma once

#include <optional>
#include <string>

namespace pretend {

// The path of a loaded library whose file name begins so: "libcudart" for libcudart.so.12, and for
// libcudart-d0da41ae.so.11.0 as wheels rename it. Empty: there is none.
std::string LoadedLibrary(const char* beginning);

struct PackageVersion {
  int major = 0, minor = 0, patch = 0;
};

// Of the Python package that the library came in: site-packages/nvidia/cudnn/lib/libcudnn.so.9 lies beside
// site-packages/nvidia_cudnn_cu12-9.10.2.21.dist-info, which says 9, 10, 2.
std::optional<PackageVersion> VersionOfPackage(const std::string& library);

}  // namespace pretend
