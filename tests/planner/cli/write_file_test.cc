// What --out may do to the files that are there: nothing is lost that vramplan did not write.
#include "planner/cli/write_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "planner/allocator/stream.h"
#include "tests/support/command_line.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;
using testing::Do;
using testing::Said;

// An empty folder that is gone with the test.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("vramplan_write_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string Text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
void Put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Every name in it, so that no half-written file stays.
std::vector<std::string> Names(const Folder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

constexpr const char* kNotOurs =
    "the file exists, and nothing in it shows that vramplan wrote it (hint: name another "
    "file, or add --force to overwrite it)";
constexpr const char* kRead =
    "it is a file that this command reads (hint: name another file, or add --force to overwrite it)";

TEST_CASE("--out: no input is overwritten, whatever it is called") {
  const Folder folder;
  const std::string model = folder / "mlp.onnx", linked = folder / "linked.onnx", hard = folder / "hard.onnx";
  const std::string models = std::string(VRAMPLAN_SOURCE_DIR) + "/models/";
  fs::copy_file(models + "mlp.onnx", model);
  fs::create_symlink("mlp.onnx", linked);
  fs::create_hard_link(model, hard);
  const std::string recorded = folder / "recorded.csv", profile = folder / "profile.json", log = folder / "log.txt";
  REQUIRE(Do("trace " + model + " --out " + recorded).exit_code == 0);
  fs::copy_file(std::string(VRAMPLAN_SOURCE_DIR) + "/tests/data/oom/t4.log", log);
  Put(profile, "{\n  \"schema\": \"vramplan.profile/1\"\n}\n");
  const std::string values = folder / "values.txt", schedule = folder / "schedule.txt";
  Put(values, "1 0\n1 1\n");
  Put(schedule, "0\n");
  const auto around = [&](const std::string& path) {
    return path.substr(0, path.rfind('/')) + "/../" + folder.path().filename().string() + path.substr(path.rfind('/'));
  };
  struct Row {
    std::string line, out;
  };
  for (const Row& row : std::vector<Row>{
           {"estimate " + model, model},
           {"estimate " + model, around(model)},
           {"estimate " + model, linked},
           {"estimate " + linked, model},
           {"estimate " + model, hard},
           {"estimate " + hard, linked},
           {"fit --gpu t4 " + model, model},
           {"plan --gpu t4 --emit pytorch " + model, model},
           {"inspect " + model, model},
           {"validate --dry-run --gpu t4 " + model, model},
           {"trace " + model + " --compare " + recorded, recorded},
           {"fit " + model + " --profile " + profile, profile},
           {"replay " + recorded, recorded},
           {"solve " + values, values},
           {"explain " + log, log},
           {"explain " + log + " --model " + model, model},
           {"watch 1 --model " + model, model},
           {"calibrate --model " + model, model},
       }) {
    CAPTURE(row.line);
    const std::string before = Text(row.out);
    const Said said = Do(row.line + " --out " + row.out);
    CHECK(said.exit_code == 2);
    CHECK(said.out.empty());
    CHECK(said.err == "vramplan: --out " + row.out + ": " + kRead + "\n");
    CHECK(Text(row.out) == before);
  }
  CHECK(Names(folder) == std::vector<std::string>{"hard.onnx", "linked.onnx", "log.txt", "mlp.onnx", "profile.json",
                                                  "recorded.csv", "schedule.txt", "values.txt"});
}

TEST_CASE("--out: an earlier answer is replaced, anything else is not, and --force replaces both") {
  const Folder folder;
  const std::string out = folder / "out";
  const std::string question = "MODELS/mlp.onnx --gpu t4";
  const std::string plan = "plan " + question + " --batch 8 --emit ";
  const std::string values = folder / "values.txt";
  Put(values, "1 0\n1 1\n");
  struct Row {
    std::string line;
    bool marked;
  };
  for (const Row& row : std::vector<Row>{
           {"fit " + question, true},
           {"fit " + question + " --format json", true},
           {"estimate MODELS/mlp.onnx", true},
           {"gpus", true},
           {"gpus --format json", true},
           {"inspect MODELS/mlp.onnx", true},
           {plan + "pytorch", true},
           {plan + "pytorch-sac", true},
           {plan + "keras", true},
           {plan + "hf --optimizer adamw", true},
           {plan + "accelerate", true},
           {plan + "lightning", true},
           {plan + "env", true},
           {plan + "deepspeed", false},
           {"trace MODELS/mlp.onnx", true},
           {"trace MODELS/mlp.onnx --problem", true},
           {"solve " + values, true},
       }) {
    CAPTURE(row.line);
    fs::remove(out);
    REQUIRE(Do(row.line + " --out " + out).exit_code == 0);
    const std::string first = Text(out);
    CHECK(!first.empty());
    const Said again = Do(row.line + " --out " + out);
    CHECK(again.exit_code == (row.marked ? 0 : 2));
    if (!row.marked) CHECK(again.err == "vramplan: --out " + out + ": " + kNotOurs + "\n");
    CHECK(Text(out) == first);
    CHECK(Do(row.line + " --force --out " + out).exit_code == 0);
    CHECK(Text(out) == first);
  }
  // A gzipped answer has its mark in the header.
  const std::string packed = folder / "step.csv.gz";
  for (int i = 0; i < 2; ++i) CHECK(Do("trace MODELS/mlp.onnx --out " + packed).exit_code == 0);
  CHECK(ReadStream(packed).value() == Do("trace MODELS/mlp.onnx").out);

  for (const std::string text :
       {"import torch\n", "{\"a\": 1}\n", "event,block,bytes\n", "event,block,bytes,phase,module,allocated_after\n",
        "1 0\n1 1\n# by hand\n", "\x1f\x8b\x08\x08zzzzzzname", "\n", "my notes\nwritten by vramplan 0.1.0\nand more\n",
        "# by vramplan, by me\n", "{\n  \"schema\": \"other\"\n}\n"}) {
    CAPTURE(text);
    Put(out, text);
    const Said refused = Do("fit " + question + " --out " + out);
    CHECK(refused.exit_code == 2);
    CHECK(refused.out.empty());
    CHECK(refused.err == "vramplan: --out " + out + ": " + kNotOurs + "\n");
    CHECK(Text(out) == text);
    CHECK(Do("fit " + question + " --force --out " + out).exit_code == 0);
    CHECK(Text(out) == Do("fit " + question).out + "\nwritten by vramplan 0.1.0\n");
  }
  Put(out, "");  // nothing to lose
  CHECK(Do("gpus t4 --out " + out).exit_code == 0);
  CHECK(Names(folder) == std::vector<std::string>{"out", "step.csv.gz", "values.txt"});
}

TEST_CASE("a file is written whole or not at all; links and permissions stay") {
  const Folder folder;
  const std::string file = folder / "answer.txt", link = folder / "link", missing = folder / "missing";
  REQUIRE(WriteFile({.path = file}, Signed("one\n")).ok());
  CHECK(Text(file) == "one\n\nwritten by vramplan 0.1.0\n");
  chmod(file.c_str(), 0640);
  fs::create_symlink("answer.txt", link);
  REQUIRE(WriteFile({.path = link}, Signed("two\n")).ok());
  CHECK(fs::is_symlink(link));
  CHECK(Text(file) == "two\n\nwritten by vramplan 0.1.0\n");
  CHECK((fs::status(file).permissions() & fs::perms::mask) == static_cast<fs::perms>(0640));
  fs::create_symlink("later.txt", missing);
  REQUIRE(WriteFile({.path = missing}, "three\n").ok());
  CHECK(fs::is_symlink(missing));
  CHECK(Text(folder / "later.txt") == "three\n");
  // The name is as long as a name may be.
  const std::string longest = folder / std::string(255, 'n');
  CHECK(WriteFile({.path = longest}, "four\n").ok());
  CHECK(Text(longest) == "four\n");
  CHECK(Names(folder) == std::vector<std::string>{"answer.txt", "later.txt", "link", "missing", std::string(255, 'n')});
}

TEST_CASE("what a place is, and what the system says of it") {
  const Folder folder;
  const std::string pipe = folder / "pipe", file = folder / "file", here = folder.path().string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  Put(file, "text");
  struct Row {
    std::string path, says;
  };
  for (const Row& row : std::vector<Row>{
           {here, "--out " + here + ": it is a directory (hint: name a file in it, as " + here + "/answer.txt)"},
           {here + "/", "--out " + here + "/: it is a directory (hint: name a file in it, as " + here + "/answer.txt)"},
           {folder / "none/at/all.txt", (folder / "none/at/all.txt") +
                                            ": cannot be written: No such file or directory "
                                            "(hint: make its folder first: mkdir -p " +
                                            (folder / "none/at)")},
           {file + "/x", file + "/x: cannot be written: Not a directory (hint: name another file)"},
           {folder / std::string(300, 'n'),
            (folder / std::string(300, 'n')) + ": cannot be written: File name too long (hint: name another file)"},
           {"/dev/full",
            "/dev/full: cannot be written: No space left on device (hint: free some space, or name a file "
            "on another disk)"},
       }) {
    CAPTURE(row.path);
    const Status written = WriteFile({.path = row.path}, "answer");
    REQUIRE(!written.ok());
    CHECK(ToString(written.error()) == row.says);
  }
  if (geteuid() != 0) {  // root writes everywhere
    REQUIRE(WriteFile({.path = folder / "ours"}, Signed("")).ok());
    chmod((folder / "ours").c_str(), 0400);
    CHECK(WriteFile({.path = folder / "ours"}, "answer").error().text == "cannot be written: Permission denied");
    chmod(here.c_str(), 0500);
    CHECK(CheckFileToWrite({.path = folder / "new"}).error().text == "cannot be written: Permission denied");
    chmod(here.c_str(), 0700);
    fs::remove(folder / "ours");
  }
  CHECK(Do("gpus t4 --out /dev/null").out.empty());
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(Do("gpus t4 --out /dev/stdout").out == Do("gpus t4").out);
  CHECK(Do("gpus --out ").exit_code == 2);
  std::string read;
  std::thread reader([&] { read = Text(pipe); });
  CHECK(Do("gpus t4 --out " + pipe).exit_code == 0);
  reader.join();
  CHECK(read == Signed(Do("gpus t4").out));
  CHECK(fs::is_fifo(pipe));
  CHECK(Names(folder) == std::vector<std::string>{"file", "pipe"});
}

}  // namespace
}  // namespace vramplan
