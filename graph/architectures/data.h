// The files of models/architectures, which are in the program (models/architectures/embed.cc). One that begins with "as FILE" has
// the lines of that one, but for those that it gives, each after its number.
#pragma once

#include <string>
#include <vector>

namespace vramplan {

std::vector<std::string> ArchitectureFiles();           // "llama.template", ..., "names.jsonl"
std::string ArchitectureData(const std::string& file);  // its text; empty: there is none of that name

}  // namespace vramplan
