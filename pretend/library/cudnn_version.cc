#include "pretend/library/cudnn_version.h"

#include <dirent.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

namespace pretend {
namespace {

// torch 2.1 for CUDA 11.8: 8.7.0; torch 2.10 for CUDA 12.8: 9.10.2 (torch.backends.cudnn.version()).
constexpr int kEight = 8700, kNine = 91002;

int Number(int major, int minor, int patch) {
  return major >= 9 ? major * 10000 + minor * 100 + patch : major * 1000 + minor * 100 + patch;
}

int FindCudnn(dl_phdr_info* object, size_t, void* found) {
  const char* const slash = std::strrchr(object->dlpi_name, '/');
  const char* const name = slash == nullptr ? object->dlpi_name : slash + 1;
  if (std::strncmp(name, "libcudnn", 8) != 0) return 0;
  *static_cast<std::string*>(found) = object->dlpi_name;
  return 1;
}

// site-packages/nvidia/cudnn/lib/libcudnn.so.9 lies beside site-packages/nvidia_cudnn_cu12-9.10.2.21.dist-info.
int VersionOfPackage(const std::string& library) {
  const size_t package = library.rfind("/nvidia/cudnn/");
  if (package == std::string::npos) return 0;
  DIR* const folder = opendir(library.substr(0, package).c_str());
  if (folder == nullptr) return 0;
  int version = 0;
  while (const dirent* entry = readdir(folder)) {
    int cuda = 0, major = 0, minor = 0, patch = 0;
    if (std::sscanf(entry->d_name, "nvidia_cudnn_cu%d-%d.%d.%d", &cuda, &major, &minor, &patch) == 4) {
      version = Number(major, minor, patch);
    }
  }
  closedir(folder);
  return version;
}

}  // namespace

int CudnnVersion() {
  static std::atomic<int> known{0};
  if (known != 0) return known;
  std::string library;
  dl_iterate_phdr(FindCudnn, &library);
  if (library.empty()) return kNine;
  const int version = VersionOfPackage(library);
  if (version != 0) return known = version;
  return known = library.find(".so.8") != std::string::npos ? kEight : kNine;
}

}  // namespace pretend
