// ProcessTree over a made-up /proc, and over our own.
#include "planner/scripts/process_tree.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace vramplan;

namespace {

namespace fs = std::filesystem;

class Proc {
 public:
  Proc() : folder_((fs::temp_directory_path() / ("vramplan_test_proc_" + std::to_string(getpid()))).string()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/self");
    Put(1, "init", 'S', 0, 1);
  }
  ~Proc() { fs::remove_all(folder_); }
  void Put(int pid, const std::string& name, char state, int parent, int started) {
    fs::create_directories(folder_ + "/" + std::to_string(pid));
    // Fields 5 to 21 stand between the parent and the start.
    std::ofstream(folder_ + "/" + std::to_string(pid) + "/stat")
        << pid << " (" << name << ") " << state << " " << parent << " 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 "
        << started << " 23 24\n";
  }
  void End(int pid) { fs::remove_all(folder_ + "/" + std::to_string(pid)); }
  // Can be opened, cannot be read: as that of a process which ends in between.
  void EndWhileRead(int pid) {
    End(pid);
    fs::create_directories(folder_ + "/" + std::to_string(pid) + "/stat");
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

using Pids = std::vector<int64_t>;

TEST_CASE("process tree: descendants, whatever their order, names and parents' ends") {
  Proc proc;
  proc.Put(100, "sh", 'S', 1, 500);
  proc.Put(90, "python) R 1 (x", 'R', 100, 510);
  proc.Put(80, "loader", 'S', 90, 520);
  proc.Put(70, "other", 'S', 1, 400);
  ProcessTree tree(100, proc.folder());
  CHECK(tree.Name() == "sh");
  CHECK(tree.Pids() == Pids{100, 80, 90});
  // The loader outlives its parent, and init takes it.
  proc.End(90);
  proc.Put(80, "loader", 'S', 1, 520);
  CHECK(tree.Pids() == Pids{100, 80});
  // Its number is given to somebody else.
  proc.Put(80, "stranger", 'S', 1, 900);
  CHECK(tree.Pids() == Pids{100});
  proc.Put(85, "dead", 'Z', 100, 910);
  CHECK(tree.Pids() == Pids{100});
  proc.EndWhileRead(85);
  CHECK(tree.Pids() == Pids{100});
}

TEST_CASE("process tree: over when the root is gone, waits to be reaped, or is another one") {
  Proc proc;
  proc.Put(100, "python3", 'S', 1, 500);
  ProcessTree gone(100, proc.folder()), zombie(100, proc.folder()), another(100, proc.folder());
  CHECK(another.Pids() == Pids{100});
  proc.Put(100, "python3", 'S', 1, 700);
  CHECK(another.Pids().empty());
  proc.Put(100, "python3", 'Z', 1, 500);
  CHECK(zombie.Pids().empty());
  proc.End(100);
  CHECK(gone.Pids().empty());
  CHECK(gone.Name().empty());
  CHECK(ProcessTree(4711, proc.folder()).Pids().empty());
}

TEST_CASE("process tree: this process is there") {
  const int64_t self = getpid();
  ProcessTree tree(self);
  CHECK(!tree.Name().empty());
  REQUIRE(!tree.Pids().empty());
  CHECK(tree.Pids().front() == self);
}

}  // namespace
