// ReadSize: a size that the user typed, with what is said about how it was read.
//
//   14.56GiB    15'633'680'957 B
//   16GB        16'000'000'000 B, and a note: decimal, 14.90 GiB
//   8           an error: its unit is missing
#pragma once

#include <string>
#include <string_view>

#include "graph/base/bytes.h"
#include "graph/base/note.h"
#include "graph/base/result.h"

namespace vramplan {

// `flag`: "--reserve". Errors are of usage.
Result<Bytes> ReadSize(std::string_view flag, std::string_view text, Notes* notes);

// --gpu-memory: above 0.
Result<Bytes> ReadCardSize(const std::string& text, Notes* notes);
// "16GB", "16GiB": a size that cards are sold with is more than they give a program.
void NoteMarketedSize(Bytes size, Notes* notes);

}  // namespace vramplan
