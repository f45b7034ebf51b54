// Lines of Python as text: names are cut in the middle of their folders and never of themselves.
//
//   lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py:214   transformers/.../modeling_gpt2.py:214
//   src/train.py:9                                                                train.py:9
#pragma once

#include <string>

#include "pretend/recording/recording.h"

namespace vramplan {

// "transformers/trainer.py" of ".../site-packages/transformers/trainer.py"; of the user's own files the name.
std::string ShortFile(const std::string& file);
// "train.py:12".
std::string LineText(const CodePlace& place);
// " main"; "" of what no function holds.
std::string FunctionText(const CodePlace& place);
// The same in at most `width` columns, if that can be: "transformers/.../modeling_gpt2.py:214".
std::string LineText(const CodePlace& place, size_t width);
// "...attn.c_attn" of "transformer.h.*.attn.c_attn": whole parts, the last one always.
std::string CutInMiddle(const std::string& name, char between, size_t width);

}  // namespace vramplan
