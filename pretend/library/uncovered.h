// What the library could not do, told when the program ends: names that were called and have no body, though a caller
// may read what they should have written; and modules that carry a CUDA runtime of their own.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace pretend {

// The generated table of names that are only told (make_names.cc). Nothing here runs when one is called but a store.
struct UncoveredNames {
  const char* const* names;
  const unsigned char* called;  // 1: it was
  int count;
};
extern const UncoveredNames kUncovered;
// Libraries that were asked how large a workspace is, and said none.
extern const UncoveredNames kSized;

std::vector<std::string> CalledOf(const UncoveredNames& table);

// `caller`: an address in the module. It is told once on stderr.
void RefuseStaticRuntime(const void* caller);
std::set<std::string> StaticRuntimes();

}  // namespace pretend
