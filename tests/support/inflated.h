// The bytes of a gzip file.
#pragma once

#include <doctest/doctest.h>
#include <zlib.h>

#include <memory>
#include <string>

namespace vramplan::testing {

inline std::string Inflated(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  REQUIRE_MESSAGE(file != nullptr, path);
  std::string bytes;
  char buffer[1 << 16];
  for (int n = gzread(file.get(), buffer, sizeof buffer); n > 0; n = gzread(file.get(), buffer, sizeof buffer))
    bytes.append(buffer, static_cast<size_t>(n));
  REQUIRE_MESSAGE(!bytes.empty(), path);
  return bytes;
}

}  // namespace vramplan::testing
