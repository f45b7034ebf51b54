// PackedModels: the files FOLDER/NAME.gz of a table of truth, each unpacked when it is first asked about.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/command_line.h"
#include "tests/support/inflated.h"

namespace vramplan::testing {

class PackedModels {
 public:
  explicit PackedModels(std::string folder) : folder_(std::move(folder)) {}

  // Where the file NAME lies unpacked, as long as this lives. Null: the folder does not have it.
  const std::string* PathOf(const std::string& name) {
    const std::string packed = folder_ + "/" + name + ".gz";
    if (!std::filesystem::exists(packed)) return nullptr;
    std::unique_ptr<ScratchFile>& file = files_[name];
    if (file == nullptr) file = std::make_unique<ScratchFile>(name, Inflated(packed));
    return &file->path();
  }

 private:
  std::string folder_;
  std::map<std::string, std::unique_ptr<ScratchFile>> files_;
};

}  // namespace vramplan::testing
