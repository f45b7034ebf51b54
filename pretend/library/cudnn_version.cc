#include "pretend/library/cudnn_version.h"

#include <atomic>
#include <optional>
#include <string>

#include "pretend/library/loaded_library.h"

namespace pretend {
namespace {

// torch 2.1 for CUDA 11.8: 8.7.0; torch 2.10 for CUDA 12.8: 9.10.2 (torch.backends.cudnn.version()).
constexpr int kEight = 8700, kNine = 91002;

int Number(const PackageVersion& version) {
  return version.major * (version.major >= 9 ? 10000 : 1000) + version.minor * 100 + version.patch;
}

}  // namespace

int CudnnVersion() {
  static std::atomic<int> known{0};
  if (known != 0) return known;
  const std::string library = LoadedLibrary("libcudnn");
  if (library.empty()) return kNine;
  if (const std::optional<PackageVersion> version = VersionOfPackage(library)) return known = Number(*version);
  return known = library.find(".so.8") != std::string::npos ? kEight : kNine;
}

}  // namespace pretend
