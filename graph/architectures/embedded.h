// EmbeddedFile: what the build deflates into the program (models/architectures/embed.cc writes the definitions).
#pragma once

namespace vramplan {

struct EmbeddedFile {
  const char* name;
  const unsigned char* bytes;  // deflated
  unsigned long deflated, inflated;
};
extern const EmbeddedFile kEmbeddedFiles[];
extern const unsigned long kEmbeddedFileCount;

}  // namespace vramplan
