#include "planner/allocator/stream.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace vramplan {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// What PyTorch 2.10's own allocator did, request by request.
struct Recorded {
  const char* file;  // below tests/data
  const char* config;
  int64_t capacity;
  int64_t rows;
  int64_t out_of_memory;
};

constexpr Recorded kRecorded[] = {
    {"truth/allocator/default-2GiB.csv.gz", "", 2 * kGiB, 40000, 197},
    {"truth/allocator/default-8GiB.csv.gz", "", 8 * kGiB, 40000, 12},
    {"truth/allocator/garbage_collection_threshold-0.6.csv.gz", "garbage_collection_threshold:0.6", 8 * kGiB, 30000, 6},
    {"truth/allocator/max_split_size_mb-64.csv.gz", "max_split_size_mb:64", 8 * kGiB, 30000, 0},
    {"truth/allocator/roundup_power2_divisions-8.csv.gz", "roundup_power2_divisions:8", 8 * kGiB, 30000, 4},
    {"allocator/expandable_segments-2GiB.csv.gz", "expandable_segments:True", 2147483648, 6000, 0},
    {"allocator/expandable_segments-1GiB.csv.gz", "expandable_segments:True", 1073741824, 5000, 31},
    {"allocator/expandable_segments-fraction-0.5.csv.gz", "expandable_segments:True,per_process_memory_fraction:0.5",
     4294967296, 4000, 78},
    {"allocator/expandable_segments-max_split_size_mb-64.csv.gz", "expandable_segments:True,max_split_size_mb:64",
     4294967296, 4000, 0},
    {"allocator/expandable_segments-fraction-0.7-garbage-0.4.csv.gz",
     "expandable_segments:True,per_process_memory_fraction:0.7,garbage_collection_threshold:0.4", 2000000001, 4000, 61},
    {"allocator/fraction-0.37-garbage-0.7-max_split_size_mb-128.csv.gz",
     "per_process_memory_fraction:0.37,garbage_collection_threshold:0.7,max_split_size_mb:128", 8589934592, 5000, 372},
    {"allocator/fraction-0.9-garbage-0.5.csv.gz", "garbage_collection_threshold:0.5,per_process_memory_fraction:0.9",
     2147483648, 5000, 29},
    {"allocator/fraction-1.0-garbage-0.5.csv.gz", "garbage_collection_threshold:0.5,per_process_memory_fraction:1.0",
     2147483648, 3000, 8},
    {"allocator/roundup_power2_divisions-list.csv.gz", "roundup_power2_divisions:[1:2,16:8,64:4,256:1,>:16]",
     8589934592, 4000, 0},
    {"allocator/roundup_power2_divisions-list-above.csv.gz", "roundup_power2_divisions:[>:4]", 8589934592, 2000, 0},
    {"allocator/roundup_power2_divisions-list-unordered.csv.gz", "roundup_power2_divisions:[64:8,4:2,>:4]", 8589934592,
     2000, 0},
    {"allocator/max_split_size_mb-20.csv.gz", "max_split_size_mb:20", 1073741824, 5000, 21},
    {"allocator/max_split_size_mb-32-max_non_split_rounding_mb-64.csv.gz",
     "max_split_size_mb:32,max_non_split_rounding_mb:64", 3221225472, 4000, 0},
};

std::string DataFolder() { return VRAMPLAN_SOURCE_DIR "/tests/data/"; }

TEST_CASE("recorded streams are reproduced in every column of every row") {
  for (const Recorded& recorded : kRecorded) {
    CAPTURE(recorded.file);
    const auto text = ReadStream(DataFolder() + recorded.file);
    REQUIRE(text);
    const auto got = ReplayStream(*text, recorded.file, ParseAllocatorConfig(recorded.config).value(),
                                  Bytes::Of(recorded.capacity), StreamCheck::kOn);
    REQUIRE(got);
    if (got->difference) {
      FAIL_CHECK("line " << got->difference->line << ", " << got->difference->column << ": recorded "
                         << got->difference->recorded << ", ours " << got->difference->ours);
    }
    CHECK(got->rows == recorded.rows);
    CHECK(got->checked == recorded.rows);
    CHECK(got->out_of_memory == recorded.out_of_memory);
  }
}

TEST_CASE("what real training steps asked for reaches the peaks that PyTorch counted") {
  // Three steps, fp32, Adam foreach, capability 7.5, recorded by torch.cuda.memory._record_memory_history(); the peaks
  // are memory_stats() of the same run.
  const struct {
    const char* file;
    Levels peak;
  } rows[] = {
      {"allocator/training-resnet50.csv.gz",
       {Bytes::Of(1'060'646'000), Bytes::Of(1'073'702'400), Bytes::Of(1'222'639'616)}},
      {"allocator/training-bert_base.csv.gz",
       {Bytes::Of(2'207'775'820), Bytes::Of(2'219'078'656), Bytes::Of(2'508'193'792)}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.file);
    const auto text = ReadStream(DataFolder() + row.file);
    REQUIRE(text);
    const auto got = ReplayStream(*text, row.file, {}, Bytes::Max(), StreamCheck::kOff);
    REQUIRE(got);
    CHECK(got->peak == row.peak);
  }
}

constexpr char kSmall[] =
    "op,id,bytes,result,allocated,reserved,segments,address\n"
    "alloc,a,1000,1024,1024,2097152,1,0\n"
    "alloc,b,12000000,12582912,12583936,14680064,2,4194304\n"
    "free,b,,,12583936,14680064,2,\n"  // still held by a name
    "alloc,c,600,-12581888,2048,14680064,2,1024\n"
    "free,a,,,1024,14680064,2,\n"
    "empty_cache,,,,1024,2097152,1,\n"
    "alloc,d,99999999,oom,1024,2097152,1,\n";

TEST_CASE("a stream in small") {
  const StreamPeak expected{
      .rows = 7,
      .allocations = 4,
      .frees = 2,
      .cache_releases = 1,
      .out_of_memory = 1,
      .refused_line = 8,
      .retries = 1,
      .peak = {Bytes::Of(12'001'000), Bytes::Of(12'583'936), Bytes::Of(14'680'064)},
      .segments = 2,
      .peak_line = 3,
      .end = {Bytes::Of(600), Bytes::Of(1024), Bytes::Of(2'097'152)},
      .checked = 7,
      .difference = std::nullopt,
  };
  const auto got = ReplayStream(kSmall, "small.csv", {}, Bytes::MiB(64), StreamCheck::kOn);
  REQUIRE(got);
  CHECK(*got == expected);
}

TEST_CASE("the first difference ends a check") {
  std::string text = kSmall;
  text.replace(text.find("14680064,2,\nalloc,c"), 8, "14680065");
  const auto got = ReplayStream(text, "small.csv", {}, Bytes::MiB(64), StreamCheck::kOn);
  REQUIRE(got);
  CHECK(got->difference == StreamDifference{4, "reserved", "14680065", "14680064"});
  CHECK(got->checked == 2);
  const auto unchecked = ReplayStream(text, "small.csv", {}, Bytes::MiB(64), StreamCheck::kOff);
  REQUIRE(unchecked);
  CHECK(unchecked->rows == 7);
  CHECK(!unchecked->difference);
}

TEST_CASE("a larger card than the recorded one: what got no memory then does not stay") {
  const auto got = ReplayStream(kSmall, "small.csv", {}, Bytes::GiB(1), StreamCheck::kOff);
  REQUIRE(got);
  CHECK(got->out_of_memory == 0);
  CHECK(got->peak.requested == Bytes::Of(600 + 99'999'999));
  CHECK(got->end.requested == Bytes::Of(600));
}

TEST_CASE("streams without records, and with other columns") {
  const auto got = ReplayStream("phase,op,id,bytes\r\nforward,alloc,7,100\r\nbackward,free,7,\r\n\r\n", "s.csv", {},
                                Bytes::GiB(1), StreamCheck::kOff);
  REQUIRE(got);
  CHECK(got->rows == 2);
  CHECK(got->end == Levels{Bytes(), Bytes(), Bytes::MiB(2)});
}

TEST_CASE("streams that are no streams") {
  const struct {
    const char* text;
    const char* error;
  } rows[] = {
      {"", "s.csv:1: the first line has no column 'op' (hint: it begins with op,id,bytes)"},
      {"op,id\n", "s.csv:1: the first line has no column 'bytes' (hint: it begins with op,id,bytes)"},
      {"op,id,bytes\nalloc,1,x\n",
       "s.csv:2: bytes 'x' is not a number of bytes (hint: vramplan replay --help explains the columns)"},
      {"op,id,bytes\nalloc,1,-5\n",
       "s.csv:2: bytes '-5' is not a number of bytes (hint: vramplan replay --help explains the columns)"},
      {"op,id,bytes\nalloc,1,5\nalloc,1,5\n",
       "s.csv:3: block '1' is allocated twice (hint: vramplan replay --help explains the columns)"},
      {"op,id,bytes\nfree,1,\n",
       "s.csv:2: block '1' is freed but not allocated (hint: vramplan replay --help explains the columns)"},
      {"op,id,bytes\nmalloc,1,5\n",
       "s.csv:2: op 'malloc' is not alloc, free or empty_cache (hint: vramplan replay --help explains the columns)"},
      {"op,id,bytes,reserved\nalloc,1,5,much\n",
       "s.csv:2: reserved 'much' is not a number (hint: vramplan replay --help explains the columns)"},
  };
  for (const auto& row : rows) {
    const auto got = ReplayStream(row.text, "s.csv", {}, Bytes::GiB(1), StreamCheck::kOff);
    REQUIRE(!got);
    CHECK(ToString(got.error()) == std::string(row.error));
  }
  const auto nothing = ReplayStream("op,id,bytes\n", "s.csv", {}, Bytes::GiB(1), StreamCheck::kOn);
  REQUIRE(!nothing);
  CHECK(nothing.error().text == "nothing is recorded to check against");
  CHECK(!ReadStream(DataFolder() + "nowhere.csv.gz"));
}

}  // namespace
}  // namespace vramplan
