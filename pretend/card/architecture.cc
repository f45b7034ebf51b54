#include "pretend/card/architecture.h"

namespace pretend {

Architecture ArchitectureOf(int major, int minor) {
  struct Row {
    int major, minor;
    Architecture architecture;
  };
  static constexpr Row kRows[] = {
      {3, 7, {2048, 16, 112 << 10, 48 << 10}},   {5, 0, {2048, 32, 64 << 10, 48 << 10}},
      {5, 2, {2048, 32, 96 << 10, 48 << 10}},    {6, 0, {2048, 32, 64 << 10, 48 << 10}},
      {6, 1, {2048, 32, 96 << 10, 48 << 10}},    {7, 0, {2048, 32, 96 << 10, 96 << 10}},
      {7, 5, {1024, 16, 64 << 10, 64 << 10}},    {8, 0, {2048, 32, 164 << 10, 163 << 10}},
      {8, 6, {1536, 16, 100 << 10, 99 << 10}},   {8, 7, {1536, 16, 164 << 10, 163 << 10}},
      {8, 9, {1536, 24, 100 << 10, 99 << 10}},   {9, 0, {2048, 32, 228 << 10, 227 << 10}},
      {10, 0, {2048, 32, 228 << 10, 227 << 10}}, {12, 0, {1536, 24, 100 << 10, 99 << 10}},
  };
  Architecture found;
  for (const Row& row : kRows) {
    if (row.major < major || (row.major == major && row.minor <= minor)) found = row.architecture;
  }
  return found;
}

}  // namespace pretend
