#include "graph/base/result.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace vramplan {
namespace {

TEST_CASE("a result is a value or an error") {
  const Result<int> seven = 7;
  CHECK(seven.ok());
  CHECK(*seven == 7);
  const Error error{ErrorCode::kUsage, "--gpu", "there is no card called t5", "t4"};
  const Result<int> none = error;
  CHECK(!none);
  CHECK(none.error() == error);
  Result<std::unique_ptr<int>> moved = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = *std::move(moved);
  CHECK(*taken == 3);
}

TEST_CASE("an error is one line") {
  CHECK(ToString(Error{ErrorCode::kBadInput, "unet.onnx", "truncated", "copy it again"}) ==
        "unet.onnx: truncated (hint: copy it again)");
  CHECK(ToString(Error{ErrorCode::kBadInput, "unet.onnx", "truncated", ""}) == "unet.onnx: truncated");
  CHECK(ToString(Error{ErrorCode::kBadInput, "", "truncated", ""}) == "truncated");
}

// The exit code of a process that does this and nothing else.
int ExitCodeOf(void (*act)()) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("our own bugs end the process with 70") {
  CHECK(ExitCodeOf([] { VRAMPLAN_CHECK(1 + 1 == 2); }) == 0);
  CHECK(ExitCodeOf([] { VRAMPLAN_CHECK(1 + 1 == 3); }) == 70);
  CHECK(ExitCodeOf([] { (void)Result<int>(Error{}).value(); }) == 70);
  CHECK(ExitCodeOf([] { (void)Result<int>(1).error(); }) == 70);
}

}  // namespace
}  // namespace vramplan
