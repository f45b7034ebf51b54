// The pretend cards notice misuse, and holders come and go: what the tests of whole programs rely on.
#include "tests/support/pretend_gpu.h"

#include <doctest/doctest.h>

#include <regex>

using namespace vramplan::testing;

TEST_CASE("pretend gpu: every misuse is a line, proper use is none") {
  if (!HasPretendGpu()) return;
  struct Row {
    const char* how;
    std::string complaints;
  };
  for (const Row& row : std::vector<Row>{
           {"none", ""},
           {"without-context", "cuMemAlloc_v2 without a current context\n"},
           {"free-twice", "freed what was not allocated\nfreed what was not allocated\n"},
           {"leave-blocks", "2 allocations of 3145729 bytes were left behind\n"},
           {"leave-stream", "1 streams, 0 events, 0 modules were left behind\n"},
           {"abandon",
            "the context of Tesla T4 was never given back\n1 allocations of 3145728 bytes were left behind\n"},
           {"write-outside", "a write of 3145729 bytes outside of every allocation\n"},
           {"copy-onto-itself", "a copy onto itself\n"},
           {"release-twice", "a context was given back that nobody has\n"},
       }) {
    CAPTURE(row.how);
    CHECK(OnPretendGpu({.description = "card Tesla T4"}, Misuse(row.how)).complaints == row.complaints);
  }
}

TEST_CASE("pretend gpu: a holder's bytes change from look to look") {
  if (!HasPretendGpu()) return;
  const PretendRun run =
      OnPretendGpu({.description = "card Tesla T4; holder 9000001 compute python3 0 2:1GiB 3:2GiB 4:0"},
                   AskCard({"holders 0", "holders 0", "used 0", "holders 0", "used 0", "holders 0"}));
  CHECK(run.out ==
        "0 holders\n1 holders\n  holder 9000001 compute \"python3\" 1073741824\nused 2147483648\n"
        "1 holders\n  holder 9000001 compute \"python3\" 2147483648\nused 3221225472\n0 holders\n");
}

TEST_CASE("pretend gpu: the newest child of the program can be a holder") {
  if (!HasPretendGpu()) return;
  const PretendMachine machine{.description = "card Tesla T4; holder child compute train 1GiB"};
  const std::regex pid("holder [0-9]+");
  CHECK(std::regex_replace(OnPretendGpu(machine, "sh -c \"sleep 1 & exec " + AskCard({"holders 0"}) + '"').out, pid,
                           "holder PID") == "1 holders\n  holder PID compute \"train\" 1073741824\n");
  CHECK(OnPretendGpu(machine, AskCard({"holders 0"})).out == "0 holders\n");
}
