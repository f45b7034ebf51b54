// StreamOf: the requests of a script's run, for `replay`: how the same run lies in memory on another card, or under
// other allocator options, without running it again.
//
//   op,id,bytes,file,line,function,module
//   alloc,0,512000,/home/me/train.py,17,forward,blocks.0
//   free,0,512000,,,,
//   empty_cache,,,,,,
//
// The cache that PyTorch gave back because the card was full is not in it: the other card decides that for itself. A
// cache that the script gave back is.
#pragma once

#include <string>
#include <string_view>

#include "pretend/recording/recording.h"

namespace vramplan {

// The first line; no other stream has these columns.
inline constexpr std::string_view kScriptColumns = "op,id,bytes,file,line,function,module";

std::string StreamOf(const Recording& recording);

}  // namespace vramplan
