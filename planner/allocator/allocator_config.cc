// PYTORCH_CUDA_ALLOC_CONF as c10/core/AllocatorConfig.cpp and c10/cuda/CUDAAllocatorConfig.cpp read it (PyTorch 2.10;
// limits, the intervals that `>` overwrites and a trailing comma were compared with that build). It is stricter in two
// places where PyTorch accepts anything: text after a number, and a missing comma or colon.
#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "planner/allocator/caching_allocator.h"

namespace vramplan {
namespace {

constexpr size_t kIntervals = 16;  // 1 MiB .. 64 GiB
constexpr std::string_view kSubject = "--allocator-conf";
constexpr const char* kExample = "write it as max_split_size_mb:128,expandable_segments:True";

// Options that do not change how much memory is taken from the device.
constexpr std::string_view kWithoutEffect[] = {"release_lock_on_cudamalloc",     "release_lock_on_hipmalloc",
                                               "pinned_use_cuda_host_register",  "pinned_use_hip_host_register",
                                               "pinned_num_register_threads",    "pinned_use_background_threads",
                                               "pinned_reserve_segment_size_mb", "graph_capture_record_stream_reuse"};

class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) {
    std::string token;
    const auto flush = [&] {
      if (!token.empty()) tokens_.push_back(std::exchange(token, {}));
    };
    for (const char c : text) {
      if (c == ',' || c == ':' || c == '[' || c == ']') {
        flush();
        tokens_.push_back(std::string(1, c));
      } else if (!std::isspace(static_cast<unsigned char>(c))) {
        token += c;
      }
    }
    flush();
  }

  Result<AllocatorConfig> Parse() {
    while (at_ < tokens_.size()) {
      key_ = tokens_[at_++];
      if (key_ == "," || key_ == ":" || key_ == "[" || key_ == "]")
        return Wrong("expected an option before '" + key_ + "'");
      if (!Take(":")) return Wrong("expected ':' and a value after '" + key_ + "'");
      if (!Value()) return error_;
      if (at_ < tokens_.size() && !Take(",")) {
        return Wrong("expected ',' after the value of " + key_ + ", got '" + tokens_[at_] + "'");
      }
    }
    // A block that must not be split has to be a whole segment.
    const Bytes least = config_.large_segment_size;
    if (config_.max_split_size.value_or(least) < least || config_.max_non_split_rounding < least) {
      return Wrong("max_split_size_mb and max_non_split_rounding_mb must be at least large_segment_size_mb");
    }
    return config_;
  }

 private:
  bool Value() {
    if (key_ == "max_split_size_mb") {
      Bytes size;
      if (!Megabytes(20, &size)) return false;
      config_.max_split_size = size;
      return true;
    }
    if (key_ == "max_non_split_rounding_mb") return Megabytes(20, &config_.max_non_split_rounding);
    if (key_ == "large_segment_size_mb") return Megabytes(11, &config_.large_segment_size);
    if (key_ == "garbage_collection_threshold") {
      return Fraction(
          "more than 0 and less than 1", [](double x) { return x > 0 && x < 1; },
          &config_.garbage_collection_threshold);
    }
    if (key_ == "per_process_memory_fraction") {
      return Fraction(
          "from 0 to 1", [](double x) { return x >= 0 && x <= 1; }, &config_.per_process_memory_fraction);
    }
    if (key_ == "expandable_segments") return Boolean(&config_.expandable_segments);
    if (key_ == "roundup_power2_divisions") return Take("[") ? Intervals() : AllIntervals();
    if (key_ == "backend") {
      if (Take("native")) return true;
      return Fail("backend must be native: others (cudaMallocAsync) are not modelled");
    }
    if (std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), key_) != std::end(kWithoutEffect))
      return Skip();
    return Fail("unknown option '" + key_ + "'",
                "known: max_split_size_mb, max_non_split_rounding_mb, large_segment_size_mb, roundup_power2_divisions, "
                "garbage_collection_threshold, per_process_memory_fraction, expandable_segments");
  }

  bool Skip() {
    if (Take("[")) {
      while (at_ < tokens_.size() && tokens_[at_] != "]") ++at_;
      return Take("]") || Fail(key_ + " has a '[' without its ']'");
    }
    std::string ignored;
    return Word("a value", &ignored);
  }

  bool Megabytes(int64_t least, Bytes* result) {
    int64_t count = 0;
    if (!Integer("a whole number of MiB", &count)) return false;
    if (count < least)
      return Fail(key_ + " is " + std::to_string(count) + ", and must be at least " + std::to_string(least));
    *result = Bytes::MiB(count);
    return true;
  }

  template <typename Predicate>
  bool Fraction(const std::string& range, Predicate allowed, double* result) {
    std::string word;
    if (!Word("a fraction, " + range, &word)) return false;
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (end == word.c_str() || *end != '\0' || !allowed(value)) {
      return Fail(key_ + " is '" + word + "', and must be " + range);
    }
    *result = value;
    return true;
  }

  bool Boolean(bool* result) {
    std::string word;
    if (!Word("True or False", &word)) return false;
    if (word != "True" && word != "False") return Fail(key_ + " is '" + word + "', and must be True or False");
    *result = word == "True";
    return true;
  }

  // roundup_power2_divisions:4
  bool AllIntervals() {
    int64_t divisions = 0;
    if (!Integer("a power of two, or a list as [256:1,512:2,>:4]", &divisions)) return false;
    if (!IsPowerOfTwo(divisions))
      return Fail(key_ + " is " + std::to_string(divisions) + ", and must be a power of two");
    config_.roundup_power2_divisions.assign(kIntervals, divisions);
    return true;
  }

  // roundup_power2_divisions:[4:2,16:1,>:8]: the first interval also applies to all below it, `>` to all above the last
  // named one, and intervals between two named ones stay off.
  bool Intervals() {
    std::vector<int64_t>& all = config_.roundup_power2_divisions;
    if (all.empty()) all.assign(kIntervals, 0);
    size_t after_last = 1;  // [>:4] leaves the first interval off
    bool first = true;
    while (!Take("]")) {
      std::string interval;
      int64_t size = 0, divisions = 0;
      if (!Word("pairs as [256:1,512:2,>:4]", &interval)) return false;
      if (interval != ">" && (!ToInteger(interval, &size) || !IsPowerOfTwo(size))) {
        return Fail(key_ + " has the interval '" + interval + "', and must be a power of two (MiB) or >");
      }
      if (!Take(":")) return Fail(key_ + " expects ':' after the interval " + interval);
      if (!Integer("a power of two or 0 after each interval", &divisions)) return false;
      if (divisions != 0 && !IsPowerOfTwo(divisions)) {
        return Fail(key_ + " divides the interval " + interval + " by " + std::to_string(divisions) +
                    ", and must be a power of two, or 0 for off");
      }
      if (interval == ">") {
        std::fill(all.begin() + static_cast<std::ptrdiff_t>(after_last), all.end(), divisions);
      } else {
        const size_t index =
            std::min(kIntervals - 1, static_cast<size_t>(std::bit_width(static_cast<uint64_t>(size)) - 1));
        if (first) std::fill(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(index), divisions);
        all[index] = divisions;
        after_last = index + 1;
        first = false;
      }
      if (!Take(",") && (at_ >= tokens_.size() || tokens_[at_] != "]"))
        return Fail(key_ + " has a '[' without its ']'");
    }
    if (std::all_of(all.begin(), all.end(), [](int64_t d) { return d == 0; })) all.clear();
    return true;
  }

  static bool IsPowerOfTwo(int64_t n) { return n > 0 && std::has_single_bit(static_cast<uint64_t>(n)); }
  static bool ToInteger(const std::string& word, int64_t* value) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
    return error == std::errc() && end == word.data() + word.size();
  }

  bool Take(std::string_view token) {
    if (at_ >= tokens_.size() || tokens_[at_] != token) return false;
    ++at_;
    return true;
  }
  bool Word(const std::string& expected, std::string* word) {
    if (at_ >= tokens_.size() || std::string_view(",:[]").find(tokens_[at_]) != std::string_view::npos) {
      return Fail(key_ + " expects " + expected);
    }
    *word = tokens_[at_++];
    return true;
  }
  bool Integer(const std::string& expected, int64_t* value) {
    std::string word;
    if (!Word(expected, &word)) return false;
    return ToInteger(word, value) || Fail(key_ + " is '" + word + "', and must be " + expected);
  }
  Error Wrong(std::string text, std::string hint = kExample) {
    return Error{ErrorCode::kUsage, std::string(kSubject), std::move(text), std::move(hint)};
  }
  bool Fail(std::string text, std::string hint = kExample) {
    error_ = Wrong(std::move(text), std::move(hint));
    return false;
  }

  std::vector<std::string> tokens_;
  size_t at_ = 0;
  std::string key_;
  AllocatorConfig config_;
  Error error_;
};

}  // namespace

Result<AllocatorConfig> ParseAllocatorConfig(std::string_view text) { return ConfigReader(text).Parse(); }

}  // namespace vramplan
