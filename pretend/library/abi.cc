#include "pretend/library/abi.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "pretend/library/loaded_library.h"

namespace pretend {
namespace {

constexpr int kUsualVersion = 12080, kLastOfEleven = 11080;

int VersionOf(const char* text) {
  int major = 0, minor = 0;
  return std::sscanf(text, "%d.%d", &major, &minor) < 1 ? kUsualVersion : major * 1000 + minor * 10;
}

// That of CUDA 11 is told by its file: asked for its version, the runtime of 11 starts itself and asks the driver,
// which is us, for the driver's (those of 12 and 13 only say what they are). Its file name has no minor version, and
// what wheels bring without a package of its own is 11.8.
int LoadedVersion() {
  const std::string path = LoadedLibrary("libcudart");
  if (path.empty()) return 0;
  if (path.find(".so.11") != std::string::npos) {
    const std::optional<PackageVersion> version = VersionOfPackage(path);
    return version ? version->major * 1000 + version->minor * 10 : kLastOfEleven;
  }
  // By its handle: the name alone is ours.
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  using Ask = int (*)(int*);
  const auto ask = reinterpret_cast<Ask>(dlsym(library, "cudaRuntimeGetVersion"));
  int version = 0;
  if (ask != nullptr) ask(&version);
  return version;
}

}  // namespace

ThreadState& Thread() {
  static thread_local ThreadState state;
  return state;
}

int Told(int code) {
  if (code != kSuccess) Thread().last_error = code;
  return code;
}

Handle NewHandle() {
  static std::atomic<uint64_t> last{0x10000};
  return PointerTo(last += 16);
}

int CudaVersion() {
  // What is not found yet may be loaded later.
  static std::atomic<int> known{0};
  if (known != 0) return known;
  const char* const given = std::getenv("VRAMPLAN_PRETEND_CUDA");
  const int version = given != nullptr ? VersionOf(given) : LoadedVersion();
  if (version == 0) return kUsualVersion;
  return known = version;
}

int DriverVersion() {
  const int said = Process::This().description().cuda;
  return said != 0 ? said : CudaVersion();
}

}  // namespace pretend
