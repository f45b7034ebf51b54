#include "planner/answers/progress.h"

#include <doctest/doctest.h>

#include <sstream>
#include <thread>

using namespace vramplan;

TEST_CASE("progress: silent before its time, then one line that goes") {
  std::ostringstream quick, slow;
  {
    const Progress progress(&quick, std::chrono::seconds(60));
    Progress::Say("card 1");
  }
  CHECK_EQ(quick.str(), "");
  {
    const Progress progress(&slow, std::chrono::milliseconds(1));
    Progress::Say("card 2");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  CHECK_NE(slow.str().find("\r\x1b[Kvramplan: card 2, 0 s"), std::string::npos);
  CHECK(slow.str().ends_with("\r\x1b[K"));
  CHECK_EQ(slow.str().find('\n'), std::string::npos);
  Progress::Say("nobody looks");
  const Progress nobody(nullptr);
}
