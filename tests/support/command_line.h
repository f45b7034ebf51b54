// A command line as it is typed, run inside the process.
#pragma once

#include <string>

namespace vramplan::testing {

struct Said {
  int exit_code = 0;
  std::string out, err;
  std::string FirstLine() const { return out.substr(0, out.find('\n')); }
};

// Runs the words behind "vramplan", split at spaces; MODELS/ stands for the folder of the example graphs.
Said Do(std::string line);

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

}  // namespace vramplan::testing
