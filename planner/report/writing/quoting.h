// Quoting: text that the user or a file gave, written so that the language it stands in takes it for text.
//
//   InPython(`a".b`)           "a\".b"
//   InDocstring(`"""\nx`)      \"\"\"\x0ax     between the quotes of a docstring
//   InComment("a\nimport os")  a\x0aimport os
//   InShell("[256:1,512:2]")   '[256:1,512:2]'
#pragma once

#include <string>

namespace vramplan {

// A string of Python, with its quotes.
std::string InPython(const std::string& text);
// Inside the quotes of one, of three or of one.
std::string InDocstring(const std::string& text);
// Behind a # of Python, YAML or the shell.
std::string InComment(const std::string& text);
// One word of a command line.
std::string InShell(const std::string& text);

}  // namespace vramplan
