// Script values: what is changed between two runs of a command (--largest, --vary).
//
//   python train.py --batch {batch}     {"batch", "32"}     python train.py --batch 32
//   config.yaml, key data.batch_size    "32"                a copy in which that line says 32; the file stays as it is
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/base/result.h"

namespace vramplan {

// NAME and value, in the order of the line.
using ScriptValues = std::vector<std::pair<std::string, std::string>>;

// `word` with every {NAME} replaced.
std::string WithValues(std::string word, const ScriptValues& values);
// Whether one of the words has {NAME}.
bool HasPlaceholder(const std::vector<std::string>& words, const std::string& name);

// The text of a configuration with the value of `key` replaced, and nothing else: JSON when `file` ends so, else YAML.
// Keys of nested mappings are joined by dots. Errors: no such key; a key that has no plain value.
Result<std::string> WithKey(const std::string& file, const std::string& text, const std::string& key,
                            const std::string& value);

}  // namespace vramplan
