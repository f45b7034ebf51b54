// ReadFacts: the text of a file's `vramplan.facts` metadata becomes Facts (graph/ir/facts.h, docs/facts.md).
//
//   {"schema": "vramplan.facts/1", "mode": "train"}     training; nothing else is said
#pragma once

#include <string_view>

#include "graph/base/result.h"
#include "graph/ir/facts.h"

namespace vramplan {

inline constexpr std::string_view kFactsKey = "vramplan.facts";
inline constexpr size_t kMaxFacts = size_t{64} << 20;  // bytes; the largest that was seen, of 5,000 calls, has 0.4 MB

// Error: not JSON, another schema, or a part of the wrong form, which it names. Members that are not known are for
// newer readers: they are passed over.
Result<Facts> ReadFacts(std::string_view text);

}  // namespace vramplan
