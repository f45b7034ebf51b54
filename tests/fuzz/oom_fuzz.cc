// Any bytes as a pasted message: numbers or an error of one line; sizes are never negative, and what is read does not
// depend on how the text is wrapped.
#include <cstdint>
#include <string>

#include "graph/base/check.h"
#include "planner/oom/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramplan;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Result<OutOfMemory> read = ReadOutOfMemory("fuzz", text);
  if (!read.ok()) {
    CHECK(ToString(read.error()).find('\n') == std::string::npos);
    return 0;
  }
  for (const auto& bytes :
       {read->tried, read->capacity, read->free, read->allowed, read->allocated, read->private_pools, read->reserved,
        read->unallocated, read->in_use, read->outside, read->used, read->total}) {
    CHECK(!bytes || *bytes >= Bytes());
  }
  std::string wrapped;
  for (const char c : text) wrapped += c == ' ' ? std::string("\n   ") : std::string(1, c);
  const Result<OutOfMemory> again = ReadOutOfMemory("fuzz", wrapped);
  CHECK(again.ok());
  CHECK(*again == *read);
  return 0;
}
