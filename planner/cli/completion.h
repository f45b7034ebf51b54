// What shells and `man` are told about the command line, made of the rows of OptionRows() like parser and help.
//
//   source <(vramplan completion bash)      vramplan fit --pre<Tab>  ->  --precision
#pragma once

#include <string>
#include <string_view>

#include "graph/base/result.h"

namespace vramplan {

// A script for bash, zsh or fish. Error: another shell.
Result<std::string> CompletionText(std::string_view shell);

// The manual page, as man(7) reads it.
std::string ManualText();

}  // namespace vramplan
