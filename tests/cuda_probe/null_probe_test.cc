// The twin of builds without a toolkit never makes up a number: one clear line that ends with exit code 4.
#include <doctest/doctest.h>

#include "cuda_probe/probe.h"

using namespace vramplan;

TEST_CASE("probe: without a card every question has the same kind of answer") {
  // Where a toolkit was there at build time, this machine may have a card.
  if (BuiltWithProbe()) return;
  const std::unique_ptr<Probe> machine = ThisMachine();
  REQUIRE(machine != nullptr);
  CHECK(machine->Driver().error().code == ErrorCode::kNoCard);
  CHECK(machine->Cards().error().code == ErrorCode::kNoCard);
  CHECK(machine->Open(0).error().code == ErrorCode::kNoCard);
  CHECK(machine->Used(0).error().code == ErrorCode::kNoCard);
  CHECK(machine->Holders(0).error().code == ErrorCode::kNoCard);
  CHECK(machine->Cards().error().text.find("toolkit") != std::string::npos);
  CHECK(machine->Cards().error().hint.find("--gpu t4") != std::string::npos);
}
