// The pretend card from outside: programs of three versions of CUDA that use it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

namespace fs = std::filesystem;

// A folder that is gone with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "vramplan_library_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* kCard = "card Pretend T4; capability 7.5; multiprocessors 40; usable 1GiB; context 100MiB";

// What the program of this major version prints, both streams.
std::string RunProgram(const std::string& major, const std::string& environment, const std::string& arguments) {
  const Folder folder;
  // What the program itself forgets is no fault of the library's.
  const std::string command = "env ASAN_OPTIONS=detect_leaks=0 " + environment + " " +
                              VRAMPLAN_PRETEND_PROGRAMS "/pretend_program_" + major + " " + arguments + " >" +
                              (folder.path() / "out").string() + " 2>&1";
  const int status = std::system(command.c_str());
  CHECK(status == 0);
  return Read(folder.path() / "out");
}

std::string Run(const std::string& version, const std::string& environment, const std::string& arguments = "") {
  return RunProgram(version.substr(0, version.find('.')), "VRAMPLAN_PRETEND_CUDA=" + version + " " + environment,
                    arguments);
}

std::string WithCard(const std::string& card) { return "VRAMPLAN_PRETEND_GPU='" + card + "'"; }

TEST_CASE("a program of each major version") {
  struct Row {
    const char* version;
    const char* first;
  };
  const Row rows[] = {{"11.8", "cuda 11080, 728 bytes of properties\n"},
                      {"12.8", "cuda 12080, 1032 bytes of properties\n"},
                      {"13.0", "cuda 13000, 1008 bytes of properties\n"}};
  for (const Row& row : rows) {
    CAPTURE(row.version);
    CHECK(Run(row.version, WithCard(kCard)) ==
          std::string(row.first) +
              "Pretend T4 1073741824 7.5 40 SM 1024 threads 65536 shared 65536 16 blocks 1 unified 4194304 l2 32 "
              "guarded\n"
              "bus 00000000:01:00.0 0 1\n"
              "malloc 0, refused 2 told 2 then 0\n"
              "free 234881024 of 1073741824\n"
              "types 2 1 0 guarded\n"
              "read 0 0 c\n"
              "capture 1 1, ended 0 1, again 901\n"
              "pages 0 free 230686720 released 0\n"
              "by name 0 0 1, missing 500 1\n"
              "elapsed 1, solver 1 0, product 0, an error of a pretend card\n"
              "lstm 1187840, type 2, 128 x 128 at 655360, bias 128 at 1179904, 0 4505856\n"
              "rank 5, in its part 1 of 4, toldtoldtoldtold, minemine, then 0, part of none 0\n");
  }
}

TEST_CASE("the version is that of the runtime which the wheel brings") {
  struct Row {
    const char* major;
    const char* library;  // where a wheel has it
    const char* package;  // what else lies beside it
    const char* says;
  };
  const Row rows[] = {
      {"11", "nvidia/cuda_runtime/lib/libcudart.so.11.0", "nvidia_cuda_runtime_cu11-11.7.99.dist-info", "cuda 11070,"},
      {"11", "nvidia/cuda_runtime/lib/libcudart.so.11.0", "nvidia_cublas_cu11-11.10.3.66.dist-info", "cuda 11080,"},
      {"11", "torch/lib/libcudart-d0da41ae.so.11.0", "torch-2.1.2.dist-info", "cuda 11080,"},
      {"12", "nvidia/cuda_runtime/lib/libcudart.so.12", "nvidia_cuda_runtime_cu12-12.6.77.dist-info", "cuda 12060,"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.library);
    const Folder packages;
    const fs::path library = packages.path() / row.library;
    fs::create_directories(library.parent_path());
    fs::create_directories(packages.path() / row.package);
    fs::copy_file(fs::path(VRAMPLAN_PRETEND_PROGRAMS) / "pretend_runtime.so", library);
    const std::string out = RunProgram(row.major, WithCard(kCard), library.string());
    CHECK(out.substr(0, out.find(' ', 5)) == row.says);
  }
}

TEST_CASE("no card: none is described, or none is visible") {
  const char* const none = "cuda 12080, 1032 bytes of properties\nno card: 100\n";
  CHECK(Run("12.8", "") == none);
  CHECK(Run("12.8", "CUDA_VISIBLE_DEVICES= " + WithCard(kCard)) == none);
}

TEST_CASE("what the card saw is written at the end, with what it could not do") {
  const Folder folder;
  const std::string out = Run("12.8", WithCard(kCard) + " VRAMPLAN_RECORDING=" + folder.path().string(), "uncovered");
  CHECK(out.find("pretend_program_12 has the CUDA runtime linked into it, which a pretend card cannot serve") !=
        std::string::npos);
  CHECK(out.find("table 500\n") != std::string::npos);
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().extension() != ".card") continue;  // what the processes of a run share
    ++files;
    CHECK(Read(entry.path()) ==
          "vramplan.card/1\n"
          "cuda\t12080\n"
          "card\t0\t1073741824\t0\t738197504\n"
          "refused\t0\t1\t734003200\n"
          "workspaces\tcuSOLVER\n"
          "uncovered\tcudaArrayGetInfo\n"
          "static-runtime\t" VRAMPLAN_PRETEND_PROGRAMS "/pretend_program_12\n");
  }
  CHECK(files == 1);
}

TEST_CASE("every body says who calls it and what it must return: a comment right before it") {
  int bodies = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(VRAMPLAN_SOURCE_DIR) / "pretend/library")) {
    if (entry.path().extension() != ".cc") continue;
    std::ifstream file(entry.path());
    std::string before;
    for (std::string line; std::getline(file, line); before = line) {
      const bool declared = line.ends_with(";") && line.find('{') == std::string::npos;
      if (!line.starts_with("PRETEND_API") || declared) continue;
      ++bodies;
      CAPTURE(entry.path().filename().string());
      CAPTURE(line);
      CHECK(before.starts_with("//"));
    }
  }
  CHECK(bodies > 200);
}

}  // namespace
