#include "planner/cli/ask_apart.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace vramplan::testing {
namespace {

TEST_CASE("a question is given up when nobody waits for its answer") {
  int ends[2] = {-1, -1};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  CHECK(AskWhileAwaited({"--version"}, "", ends[0]).out.starts_with("vramplan "));
  close(ends[1]);
  const Asked asked = AskWhileAwaited({"fit", "llama-3.2-1b", "--gpu", "t4", "--batch", "64"}, "", ends[0]);
  CHECK(asked.err == "vramplan: internal error: ended by signal 9\n");
  CHECK(asked.exit_code == 70);
  close(ends[0]);
}

}  // namespace
}  // namespace vramplan::testing
