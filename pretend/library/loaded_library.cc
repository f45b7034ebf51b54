#include "pretend/library/loaded_library.h"

#include <dirent.h>
#include <link.h>

#include <cstdio>
#include <cstring>
#include <string_view>

namespace pretend {
namespace {

struct Wanted {
  const char* beginning;
  std::string path;
};

int FindLibrary(dl_phdr_info* object, size_t, void* wanted_pointer) {
  auto* const wanted = static_cast<Wanted*>(wanted_pointer);
  const char* const slash = std::strrchr(object->dlpi_name, '/');
  const char* const name = slash == nullptr ? object->dlpi_name : slash + 1;
  if (std::strncmp(name, wanted->beginning, std::strlen(wanted->beginning)) != 0) return 0;
  wanted->path = object->dlpi_name;
  return 1;
}

}  // namespace

std::string LoadedLibrary(const char* beginning) {
  Wanted wanted{beginning, {}};
  dl_iterate_phdr(FindLibrary, &wanted);
  return wanted.path;
}

std::optional<PackageVersion> VersionOfPackage(const std::string& library) {
  constexpr std::string_view kFolder = "/nvidia/";
  const size_t packages = library.rfind(kFolder);
  if (packages == std::string::npos) return std::nullopt;
  const size_t name = packages + kFolder.size(), end = library.find('/', name);
  if (end == std::string::npos) return std::nullopt;
  const std::string form = "nvidia_" + library.substr(name, end - name) + "_cu";
  DIR* const folder = opendir(library.substr(0, packages).c_str());
  if (folder == nullptr) return std::nullopt;
  std::optional<PackageVersion> version;
  while (const dirent* entry = readdir(folder)) {
    int cuda = 0;
    PackageVersion found;
    if (std::strncmp(entry->d_name, form.c_str(), form.size()) != 0) continue;
    if (std::sscanf(entry->d_name + form.size(), "%d-%d.%d.%d", &cuda, &found.major, &found.minor, &found.patch) == 4)
      version = found;
  }
  closedir(folder);
  return version;
}

}  // namespace pretend
