// A command line as it is typed, run inside the process.
#pragma once

#include <optional>
#include <string>

#include "cuda_probe/probe.h"

namespace vramplan::testing {

struct Said {
  int exit_code = 0;
  std::string out, err;
  std::string FirstLine() const { return out.substr(0, out.find('\n')); }
};

// Runs the words behind "vramplan", split at spaces where no '...' holds them together; MODELS/ stands for the folder
// of the example graphs. An answer in JSON is held against its schema in docs/schemas. `machine`: whose cards there are; null: this one's.
Said Do(std::string line, Probe* machine = nullptr);

// Whether the text says that; lines are broken where the terminal ends.
bool Says(const std::string& text, const std::string& what);

// The text of tests/golden/NAME.txt; VRAMPLAN_GOLDEN=update makes it `text`, what is said now.
std::string Golden(const std::string& name, const std::string& text);

// A file of these bytes that is gone with the test.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name, const std::string& bytes = "");
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }
  std::string Bytes() const;

 private:
  std::string path_;
};

// A variable of the environment for as long as this lives; nullptr: unset.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value);
  ~ScopedVariable();
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void Set(const char* value);
  const char* name_;
  std::optional<std::string> before_;
};

// An empty folder that is gone with the test, and that XDG_DATA_HOME names meanwhile: profiles are kept there.
class ScratchStore {
 public:
  explicit ScratchStore(const std::string& name);
  ~ScratchStore();
  ScratchStore(const ScratchStore&) = delete;
  ScratchStore& operator=(const ScratchStore&) = delete;
  std::string profiles() const { return folder_ + "/vramplan/profiles"; }
  bool empty() const;  // not even a folder was made

 private:
  std::string folder_;
  ScopedVariable home_, shared_;
};

}  // namespace vramplan::testing
