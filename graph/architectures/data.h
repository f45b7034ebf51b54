// The files of models/architectures, which are in the program (models/architectures/embed.cc). One that begins with "as FILE" has
// the lines of that one, but for its changes: "12 3 2" says that the two lines that follow stand for three from line 12 on.
#pragma once

#include <string>
#include <vector>

namespace vramplan {

std::vector<std::string> ArchitectureFiles();           // "llama.template", ..., "names.jsonl"
std::string ArchitectureData(const std::string& file);  // its text; empty: there is none of that name

}  // namespace vramplan
