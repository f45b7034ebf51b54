// What a real card said (tests/data/truth/real): streams of three training steps, cuDNN's workspaces among them, as PyTorch
// requested them on an H200, and its counters there.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "planner/allocator/stream.h"

namespace vramplan {
namespace {

struct CardRow {
  std::string model, batch, precision;
  Levels peak;
};

std::string Folder() { return VRAMPLAN_SOURCE_DIR "/tests/data/truth/real/h200/"; }

std::vector<CardRow> Rows() {
  std::ifstream file(Folder() + "peaks.csv");
  std::vector<CardRow> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    CardRow row;
    std::string requested, allocated, reserved;
    for (std::string* cell : {&row.model, &row.batch, &row.precision, &requested, &allocated, &reserved})
      std::getline(cells, *cell, ',');
    row.peak = {Bytes::Of(std::stoll(requested)), Bytes::Of(std::stoll(allocated)), Bytes::Of(std::stoll(reserved))};
    rows.push_back(std::move(row));
  }
  return rows;
}

Levels PeakOf(const CardRow& row, AddressOrder order) {
  const std::string name = row.model + "-" + row.precision + "-" + row.batch + ".csv.gz";
  const auto text = ReadStream(Folder() + name);
  REQUIRE(text);
  AllocatorConfig config;
  config.addresses = order;
  const auto replayed = ReplayStream(*text, name, config, Bytes::GiB(139), StreamCheck::kOff);
  REQUIRE(replayed);
  return replayed->peak;
}

TEST_CASE(
    "accuracy: streams of a real H200 give its peaks, to the byte where segments fall as its driver places them") {
  const std::vector<CardRow> rows = Rows();
  REQUIRE(rows.size() == 16);
  int falling_exact = 0, rising_exact = 0;
  for (const CardRow& row : rows) {
    CAPTURE(row.model);
    const Levels falling = PeakOf(row, AddressOrder::kFalling), rising = PeakOf(row, AddressOrder::kRising);
    falling_exact += falling == row.peak;
    rising_exact += rising == row.peak;
    for (const Levels& ours : {falling, rising}) {
      CHECK(ours.requested == row.peak.requested);
      CHECK(ours.allocated.count() == doctest::Approx(row.peak.allocated.count()).epsilon(0.001));
      CHECK(ours.reserved.count() == doctest::Approx(row.peak.reserved.count()).epsilon(0.032));
    }
  }
  // The one that differs, vit_b_16, had a free hole low in the address space: -0.6 % of reserved.
  CHECK(falling_exact == 15);
  CHECK(rising_exact == 6);
}

}  // namespace
}  // namespace vramplan
