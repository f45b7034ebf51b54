#include "tests/support/pretend_gpu.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace vramplan::testing {
namespace {

namespace fs = std::filesystem;

// Defined where the pretend libraries are built.
#ifdef VRAMPLAN_STRICT_DRIVER
constexpr const char* kStrictDriver = VRAMPLAN_STRICT_DRIVER;
constexpr const char* kWindows = VRAMPLAN_PRETEND_WINDOWS;
constexpr const char* kAskCard = VRAMPLAN_ASK_CARD;
constexpr const char* kMisuse = VRAMPLAN_MISUSE;
#else
constexpr const char* kStrictDriver = "";
constexpr const char* kWindows = "";
constexpr const char* kAskCard = "";
constexpr const char* kMisuse = "";
#endif

// A folder of this run; gone with it.
class Scratch {
 public:
  Scratch() : path_(fs::temp_directory_path() / "vramplan_pretend_XXXXXX") {
    std::string name = path_.string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::string Read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  fs::path path_;
};

std::string Quoted(const std::string& word) { return "'" + word + "'"; }

}  // namespace

bool HasPretendGpu() { return *kStrictDriver != '\0'; }

PretendRun OnPretendGpu(const PretendMachine& machine, const std::string& command) {
  const Scratch scratch;
  const fs::path libraries = scratch / "libraries";
  fs::create_directory(libraries);
  // What is not installed is an empty file, so that one of this machine is not found in its place.
  const auto install = [&](bool installed, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (installed && name == *names.begin()) {
        fs::create_symlink(kStrictDriver, libraries / name);
      } else {
        std::ofstream(libraries / name).flush();
      }
    }
  };
  install(machine.driver, {"libcuda.so.1"});
  install(machine.nvml, {"libnvidia-ml.so.1"});
  install(machine.cublas, {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"});
  install(machine.cudnn, {"libcudnn.so.9", "libcudnn.so.8"});
  std::ofstream(scratch / "description") << "cuda 13.0\n" << machine.description;

  std::string line = "env -u CUDA_VISIBLE_DEVICES LD_LIBRARY_PATH=" + Quoted(libraries.string()) +
                     " VRAMPLAN_PRETEND_GPU=" + Quoted("@" + (scratch / "description").string()) +
                     " VRAMPLAN_PRETEND_COMPLAINTS=" + Quoted((scratch / "complaints").string()) + ' ' +
                     machine.environment;
  if (machine.windows) {
    // The sanitizers' runtime wants to be the first library, and works as the second too.
    line += " ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" + Quoted(kWindows);
  }
  line += ' ' + command + " >" + Quoted((scratch / "out").string()) + " 2>" + Quoted((scratch / "err").string());
  const int status = std::system(line.c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = scratch.Read("out"),
          .err = scratch.Read("err"),
          .complaints = scratch.Read("complaints")};
}

std::string Vramplan(const std::string& words) {
  std::string line = Quoted(VRAMPLAN_BINARY) + ' ' + words;
  const std::string models = std::string(VRAMPLAN_SOURCE_DIR) + "/models/";
  for (size_t at = line.find("MODELS/"); at != std::string::npos; at = line.find("MODELS/"))
    line.replace(at, 7, models);
  return line;
}

std::string AskCard(const std::vector<std::string>& questions) {
  std::string line = Quoted(kAskCard);
  for (const std::string& question : questions) line += ' ' + Quoted(question);
  return line;
}

std::string Misuse(const std::string& how) { return Quoted(kMisuse) + ' ' + how; }

}  // namespace vramplan::testing
