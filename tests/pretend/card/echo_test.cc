#include "pretend/card/echo.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using pretend::Echo;

namespace {

std::string Read(const Echo& echo, uint64_t from, size_t bytes) {
  std::string text(bytes, '?');
  return echo.Read(text.data(), from, bytes) ? text : "nothing";
}

TEST_CASE("what was told to all ranks can be read, and nothing else") {
  Echo echo;
  echo.Write(100, "abcd", 4);
  CHECK(Read(echo, 100, 4) == "nothing");  // a kernel may have written there
  echo.Send(200, 100, 4, 3);
  CHECK(Read(echo, 200, 4) == "abcd");
  CHECK(Read(echo, 209, 2) == "bc");
  CHECK(Read(echo, 206, 4) == "cdab");  // of two ranks
  CHECK(Read(echo, 200, 12) == "abcdabcdabcd");
  CHECK(Read(echo, 210, 4) == "nothing");  // beyond the last
  CHECK(Read(echo, 212, 1) == "nothing");
  echo.Send(100, 100, 4, 1);  // a broadcast in place
  CHECK(Read(echo, 100, 4) == "abcd");
  echo.Move(300, 205, 2);
  CHECK(Read(echo, 300, 2) == "bc");
  echo.Write(302, "xy", 2);
  CHECK(Read(echo, 300, 2) == "bc");
  echo.Write(201, "z", 1);  // over a part of it
  CHECK(Read(echo, 200, 1) == "nothing");
  CHECK(Read(echo, 200, 8) == "nothing");
  CHECK(Read(echo, 204, 4) == "abcd");
  echo.Forget();
  CHECK(Read(echo, 204, 4) == "nothing");
}

TEST_CASE("what is old is not believed") {
  Echo echo;
  echo.Write(100, "abcd", 4);
  echo.Send(200, 100, 4, 2);
  const uint64_t fresh = Echo::kFreshLaunches + 2 * Echo::kFreshLaunchesOfRank;
  for (uint64_t i = 0; i < fresh; ++i) echo.Launched();
  CHECK(Read(echo, 204, 4) == "abcd");
  echo.Move(300, 200, 4);  // a new word
  echo.Launched();
  CHECK(Read(echo, 204, 4) == "nothing");
  CHECK(Read(echo, 300, 4) == "abcd");
}

TEST_CASE("tensors are not kept, and what is kept has an end") {
  Echo echo;
  const std::vector<char> tensor(Echo::kMostBytes + 1, 'x');
  echo.Write(0, tensor.data(), tensor.size());
  echo.Send(0, 0, tensor.size(), 1);
  CHECK(Read(echo, 0, 1) == "nothing");
  echo.Send(8, 8, 4, 2);  // never written
  CHECK(Read(echo, 8, 1) == "nothing");
  echo.Write(0, "a", 1);
  echo.Send(0, 0, 1, 1);
  for (uint64_t i = 1; i <= Echo::kMostKept / Echo::kMostBytes + 2; ++i)
    echo.Write(i * Echo::kMostBytes, tensor.data(), Echo::kMostBytes);
  CHECK(Read(echo, 0, 1) == "nothing");
}

}  // namespace
