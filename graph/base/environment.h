// A variable of the environment; empty where it is not set.
#pragma once

#include <cstdlib>
#include <string>

namespace vramplan {

inline std::string EnvironmentVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace vramplan
