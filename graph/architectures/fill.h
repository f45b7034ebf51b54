// FillTemplate: the lines of a template become the facts of one model (docs/facts.md, as JSON).
//
//   * n0                                                     once for each block of the first stack's layers
//   in model.layers.<i>.self_attn                            the module of the calls that follow
//   {A12 B} 12 mul.Tensor(%.weight,%9'3) x[B,sequence] ;9'3  only recording A in first and middle blocks, and all of B
//
// A value is named by the label of the line that makes it: 12 is the newest, 12@ the one of the first block, 12' the one of
// the block before, and 12'3 the same but in the first block, where it is 3. `;` has those that die with the call.
#pragma once

#include <string>
#include <string_view>

#include "graph/architectures/settings.h"
#include "graph/architectures/template.h"
#include "graph/base/result.h"

namespace vramplan {

// Settings are complete, and have the lengths. `in_amp`: also the program under autocast, where it is another one.
// Error: a setting that it needs is missing or does not fit.
Result<std::string> FillTemplate(const Template& of, const Settings& settings, std::string_view form,
                                 std::string_view mode, bool in_amp);

}  // namespace vramplan
