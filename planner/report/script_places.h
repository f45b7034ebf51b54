// Lines of Python as a reader looks for them: the script's own before a library's, names of files cut in the middle of
// their folders and never of themselves.
//
//   /v/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py:214 forward, called by train.py:9
//   own place  train.py:9 <module>      text  train.py:9
#pragma once

#include <string>

#include "pretend/recording/recording.h"

namespace vramplan {

// Whether a file is of a package or of Python itself, or generated: nobody's own.
bool IsOfLibrary(const std::string& file);

// The innermost line of a stack that is the user's own; where there is none, the innermost that is not PyTorch's.
CodePlace OwnPlaceOf(const Recording& recording, int32_t stack);

// "transformers/trainer.py" of ".../site-packages/transformers/trainer.py"; of the user's own files the name.
std::string ShortFile(const std::string& file);
// "train.py:12".
std::string LineText(const CodePlace& place);
// The same in at most `width` columns, if that can be: "transformers/.../modeling_gpt2.py:214".
std::string LineText(const CodePlace& place, size_t width);

}  // namespace vramplan
