#include "pretend/library/abi.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace pretend {
namespace {

constexpr int kUsualVersion = 12080;

int VersionOf(const char* text) {
  int major = 0, minor = 0;
  return std::sscanf(text, "%d.%d", &major, &minor) < 1 ? kUsualVersion : major * 1000 + minor * 10;
}

// "libcudart.so.12", or "libcudart-d0da41ae.so.11.0" as wheels rename it.
int FindRuntime(dl_phdr_info* object, size_t, void* found) {
  const char* const slash = std::strrchr(object->dlpi_name, '/');
  const char* const name = slash == nullptr ? object->dlpi_name : slash + 1;
  if (std::strncmp(name, "libcudart", 9) != 0) return 0;
  *static_cast<std::string*>(found) = object->dlpi_name;
  return 1;
}

// The real one says what it is without looking for a driver. It is asked by its handle: the name alone is ours.
int LoadedVersion() {
  std::string path;
  dl_iterate_phdr(FindRuntime, &path);
  if (path.empty()) return 0;
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

}  // namespace pretend
