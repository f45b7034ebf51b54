#include "pretend/library/uncovered.h"

#include <dlfcn.h>

#include <cstdio>
#include <mutex>

namespace pretend {
namespace {

std::mutex g_mutex;
std::set<std::string>& Modules() {
  static std::set<std::string>* const modules = new std::set<std::string>();
  return *modules;
}

}  // namespace

std::vector<std::string> CalledOf(const UncoveredNames& table) {
  std::vector<std::string> calls;
  for (int i = 0; i < table.count; ++i) {
    if (table.called[i] != 0) calls.emplace_back(table.names[i]);
  }
  return calls;
}

void RefuseStaticRuntime(const void* caller) {
  Dl_info module;
  const bool known = dladdr(caller, &module) != 0 && module.dli_fname != nullptr;
  const std::string name = known ? module.dli_fname : "a program";
  const std::lock_guard lock(g_mutex);
  if (!Modules().insert(name).second) return;
  std::fprintf(stderr,
               "vramplan: %s has the CUDA runtime linked into it, which a pretend card cannot serve: build it with "
               "--cudart=shared\n",
               name.c_str());
}

std::set<std::string> StaticRuntimes() {
  const std::lock_guard lock(g_mutex);
  return Modules();
}

}  // namespace pretend
