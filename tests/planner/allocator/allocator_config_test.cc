#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "planner/allocator/caching_allocator.h"

namespace vramplan {
namespace {

TEST_CASE("configurations that PyTorch reads") {
  const struct {
    const char* text;
    AllocatorConfig config;
  } rows[] = {
      {"", {}},
      {"max_split_size_mb:64", {.max_split_size = Bytes::MiB(64)}},
      {" max_split_size_mb : 20 , expandable_segments:True,",
       {.max_split_size = Bytes::MiB(20), .expandable_segments = true}},
      {"expandable_segments:True,expandable_segments:False", {}},  // the last one counts
      {"max_non_split_rounding_mb:40", {.max_non_split_rounding = Bytes::MiB(40)}},
      {"large_segment_size_mb:12", {.large_segment_size = Bytes::MiB(12)}},
      {"garbage_collection_threshold:0.6,per_process_memory_fraction:0.25",
       {.garbage_collection_threshold = 0.6, .per_process_memory_fraction = 0.25}},
      {"roundup_power2_divisions:8", {.roundup_power2_divisions = std::vector<int64_t>(16, 8)}},
      // Recorded with 2.10: the first value counts for what is below it, '>' for what is above the last.
      {"roundup_power2_divisions:[4:2,16:8,>:4]",
       {.roundup_power2_divisions = {2, 2, 2, 0, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}}},
      {"roundup_power2_divisions:[>:4]",
       {.roundup_power2_divisions = {0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}}},
      {"roundup_power2_divisions:[64:1]",
       {.roundup_power2_divisions = {1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}}},
      {"roundup_power2_divisions:[]", {}},
      {"backend:native,pinned_use_background_threads:True,release_lock_on_cudamalloc:False", {}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const auto got = ParseAllocatorConfig(row.text);
    if (!got)
      FAIL_CHECK(ToString(got.error()));
    else
      CHECK(*got == row.config);
  }
}

TEST_CASE("configurations that are refused") {
  const struct {
    const char* text;
    const char* error;
  } rows[] = {
      {"max_split_size_mb:19", "max_split_size_mb is 19, and must be at least 20"},
      {"max_split_size_mb:-1", "max_split_size_mb is -1, and must be at least 20"},
      {"max_split_size_mb:64MB", "max_split_size_mb is '64MB', and must be a whole number of MiB"},
      {"max_split_size_mb:99999999999999999999",
       "max_split_size_mb is '99999999999999999999', and must be a whole number of MiB"},
      {"max_split_size_mb", "expected ':' and a value after 'max_split_size_mb'"},
      {"max_split_size_mb:", "max_split_size_mb expects a whole number of MiB"},
      {"max_split_size_mb:64 garbage_collection_threshold:0.5",
       "max_split_size_mb is '64garbage_collection_threshold', and must be a whole number of MiB"},
      {"expandable_segments:true", "expandable_segments is 'true', and must be True or False"},
      {"garbage_collection_threshold:1.0",
       "garbage_collection_threshold is '1.0', and must be more than 0 and less than 1"},
      {"garbage_collection_threshold:nan",
       "garbage_collection_threshold is 'nan', and must be more than 0 and less than 1"},
      {"per_process_memory_fraction:1.5", "per_process_memory_fraction is '1.5', and must be from 0 to 1"},
      {"roundup_power2_divisions:3", "roundup_power2_divisions is 3, and must be a power of two"},
      {"roundup_power2_divisions:[3:4]",
       "roundup_power2_divisions has the interval '3', and must be a power of two (MiB) or >"},
      {"roundup_power2_divisions:[4:3]",
       "roundup_power2_divisions divides the interval 4 by 3, and must be a power of two, or 0 for off"},
      {"roundup_power2_divisions:[4:2", "roundup_power2_divisions has a '[' without its ']'"},
      {"roundup_power2_divisions:[4", "roundup_power2_divisions expects ':' after the interval 4"},
      {"large_segment_size_mb:40,max_split_size_mb:20",
       "max_split_size_mb and max_non_split_rounding_mb must be at least large_segment_size_mb"},
      {"backend:cudaMallocAsync", "backend must be native: others (cudaMallocAsync) are not modelled"},
      {"max_split:64", "unknown option 'max_split'"},
      {",", "expected an option before ','"},
      {"expandable_segments:True]", "expected ',' after the value of expandable_segments, got ']'"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const auto got = ParseAllocatorConfig(row.text);
    REQUIRE(!got);
    CHECK(got.error().code == ErrorCode::kUsage);
    CHECK(got.error().text == std::string(row.error));
  }
}

}  // namespace
}  // namespace vramplan
