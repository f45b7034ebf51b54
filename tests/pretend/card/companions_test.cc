#include "pretend/card/companions.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "pretend/card/process.h"

using pretend::Companions;
using pretend::Process;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "vramplan_companions_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

// Another process that does so, and holds it while `then` runs here.
template <typename Do, typename Then>
void Beside(Do act, Then then) {
  int ready[2], over[2];
  REQUIRE(pipe(ready) == 0);
  REQUIRE(pipe(over) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(over[1]);
    act();
    char byte = 'r';
    if (write(ready[1], &byte, 1) == 1 && read(over[0], &byte, 1) >= 0) _exit(0);
    _exit(1);
  }
  char byte = 0;
  CHECK(read(ready[0], &byte, 1) == 1);
  then();
  for (const int end : {ready[0], ready[1], over[0], over[1]}) close(end);
  waitpid(child, nullptr, 0);
}

TEST_CASE("what processes hold of a card at once is added up, contexts apart; what one held before is not") {
  const Folder folder;
  Companions own(folder.path + "/cards");
  own.Hold(0, 0, 300);
  Beside([&] { Companions(folder.path + "/cards").Hold(0, 9000, 300); },
         [&] {
           own.Hold(0, 5000, 300);
           own.Hold(1, 70, 300);  // another card
         });
  CHECK(own.Together(0).bytes == 14000);
  CHECK(own.Together(0).contexts == 2);
  CHECK(own.Together(1).bytes == 70);
  CHECK(own.Together(1).contexts == 1);
  // The other one has ended.
  own.Hold(0, 14100, 300);
  CHECK(own.Together(0).contexts == 2);
  own.Hold(0, 14400, 300);
  CHECK(own.Together(0).bytes == 14400);
  CHECK(own.Together(0).contexts == 1);
}

TEST_CASE("a process tells what it allocates and frees") {
  const Folder folder;
  const pretend::Description machine = pretend::Read("card A; usable 15GiB; context 300MiB");
  Process own(machine, nullptr, folder.path);
  const uint64_t address = own.Allocate(0, 500 * kMiB);
  Beside(
      [&] {
        Process other(machine, nullptr, folder.path);
        other.Allocate(0, 100 * kMiB);
      },
      [] {});
  CHECK(own.Together(0).bytes == 600 * kMiB);
  own.Free(address);
  Beside(
      [&] {
        Process other(machine, nullptr, folder.path);
        other.CreatePages(0, 580 * kMiB);
      },
      [] {});
  CHECK(own.Together(0).bytes == 600 * kMiB);
  CHECK(own.Together(0).contexts == 2);
}

TEST_CASE("alone, or where no file can be made, nothing is told") {
  Companions alone(""), nowhere("/proc/no/such/folder/cards");
  for (Companions* each : {&alone, &nowhere}) {
    each->Hold(0, 5, 5);
    CHECK(each->Together(0).contexts == 0);
  }
}

}  // namespace
