#include "planner/allocator/stream.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vramplan {
namespace {

enum Column { kOp, kId, kBytes, kResult, kAllocated, kReserved, kSegments, kAddress, kColumns };
constexpr std::array<std::string_view, kColumns> kStreamNames = {"op",        "id",       "bytes",    "result",
                                                                 "allocated", "reserved", "segments", "address"};
// The names of these columns in a trace.
constexpr std::array<std::string_view, kColumns> kTraceNames = {"event",           "block", "bytes", "",
                                                                "allocated_after", "",      "",      ""};
constexpr std::string_view kOld = "old";
constexpr int64_t kNoRecord = -1;

// Rows of a recorded script (planner/record/record.h) that ask for nothing.
bool IsAbout(std::string_view op) { return op == "enter" || op == "leave" || op == "cudnn" || op == "reserved"; }

std::string_view TakeUntil(std::string_view* text, char end) {
  const size_t at = text->find(end);
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return taken;
}

class StreamPlayer {
 public:
  StreamPlayer(std::string_view text, std::string name, const AllocatorConfig& config, Bytes capacity,
               StreamCheck check)
      : text_(text), name_(std::move(name)), check_(check == StreamCheck::kOn), allocator_(capacity, config) {}

  Result<StreamPeak> Play() {
    if (!ReadHeader()) return error_;
    if (is_trace_ && !LayOutOld()) return error_;
    while (!text_.empty()) {
      if (!ReadRow()) return error_;
      if (Field(kOp).empty() && Field(kId).empty()) continue;  // an empty line
      if (IsAbout(Field(kOp))) continue;
      ++result_.rows;
      before_ = allocator_.statistics();
      address_ = kNoRecord;
      got_memory_ = true;
      if (!Apply()) return error_;
      Measure();
      if (check_ && !Compare()) break;
      recorded_allocated_ = Number(kAllocated).value_or(kNoRecord);
    }
    const AllocatorStatistics& now = allocator_.statistics();
    result_.end = {now.requested, now.allocated, now.reserved};
    result_.retries = now.retries;
    return result_;
  }

 private:
  bool ReadHeader() {
    position_.fill(-1);
    ++line_;
    std::string_view row = TakeUntil(&text_, '\n');
    if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
    is_trace_ = ("," + std::string(row) + ",").find(",event,block,") != std::string::npos;
    const auto& names = is_trace_ ? kTraceNames : kStreamNames;
    for (int i = 0; !row.empty(); ++i) {
      const std::string_view field = TakeUntil(&row, ',');
      const auto at = field.empty() ? names.end() : std::find(names.begin(), names.end(), field);
      if (at != names.end()) position_[static_cast<size_t>(at - names.begin())] = i;
    }
    for (const Column needed : {kOp, kId, kBytes}) {
      if (position_[needed] < 0) {
        return Fail("the first line has no column '" + std::string(kStreamNames[needed]) + "'",
                    "it begins with op,id,bytes");
      }
    }
    if (!check_) return true;
    if (is_trace_) return true;  // the sizes of its blocks are the record
    for (int c = kResult; c < kColumns; ++c) {
      if (position_[static_cast<size_t>(c)] >= 0) return true;
    }
    return Fail("nothing is recorded to check against", "columns result, allocated, reserved, segments, address");
  }

  bool ReadRow() {
    ++line_;
    fields_.clear();
    std::string_view row = TakeUntil(&text_, '\n');
    if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
    while (!row.empty()) fields_.push_back(TakeUntil(&row, ','));
    for (const Column c : {kAllocated, kReserved, kSegments, kAddress}) {
      if (!Field(c).empty() && !Number(c)) return Fail(Quoted(c) + " is not a number");
    }
    return true;
  }

  // Lays out the memory from before the trace. Reads all rows once, then begins again.
  bool LayOutOld() {
    const std::string_view rows = text_;
    const int64_t line = line_;
    std::vector<Bytes> freed;
    Bytes sum, before;
    for (bool first = true; !text_.empty(); first = false) {
      if (!ReadRow()) return false;
      const Bytes bytes = Bytes::Of(Number(kBytes).value_or(0));
      if (first && Number(kAllocated)) {
        const Bytes after = Bytes::Of(*Number(kAllocated));
        before = Field(kOp) == "alloc" ? after - bytes : after + bytes;
      }
      if (Field(kOp) != "free" || Field(kId) != kOld) continue;
      freed.push_back(bytes);
      sum += bytes;
    }
    text_ = rows;
    line_ = line;
    if (before > sum) (void)allocator_.Allocate(before - sum);
    for (const Bytes bytes : freed) {
      const auto allocation = allocator_.Allocate(bytes);
      old_.push_back(allocation ? allocation->handle : -1);
    }
    const AllocatorStatistics& now = allocator_.statistics();
    result_.before = {now.requested, now.allocated, now.reserved};
    Measure();
    result_.peak_line = 0;
    return true;
  }

  bool Apply() {
    const std::string_view op = Field(kOp);
    if (op == "alloc") return Allocate();
    if (op == "free") return Free();
    if (op != "empty_cache") return Fail(Quoted(kOp) + " is not alloc, free or empty_cache");
    allocator_.EmptyCache();
    ++result_.cache_releases;
    return true;
  }

  bool Allocate() {
    const auto bytes = Number(kBytes);
    if (!bytes || *bytes < 0) return Fail(Quoted(kBytes) + " is not a number of bytes");
    const std::string id(Field(kId));
    const auto [place, fresh] = handles_.try_emplace(id);
    if (!fresh) return Fail("block '" + id + "' is allocated twice");
    ++result_.allocations;
    const auto allocation = allocator_.Allocate(Bytes::Of(*bytes));
    got_memory_ = allocation.has_value();
    place->second = -1;
    if (!got_memory_) {
      ++result_.out_of_memory;
      if (result_.refused_line == 0) result_.refused_line = line_;
      return true;
    }
    if (allocation->handle >= 0) {
      if (first_address_ == kNoRecord) first_address_ = allocation->address;
      address_ = allocation->address - first_address_;
    }
    if (Field(kResult) == "oom" && !check_) {  // the recorded run went on without it
      Measure();
      allocator_.Free(allocation->handle);
    } else {
      place->second = allocation->handle;
    }
    for (const CachingAllocator::Handle handle : std::exchange(still_held_, {})) allocator_.Free(handle);
    return true;
  }

  bool Free() {
    if (is_trace_ && Field(kId) == kOld) {
      ++result_.frees;
      allocator_.Free(old_[next_old_++]);
      return true;
    }
    const auto place = handles_.find(std::string(Field(kId)));
    if (place == handles_.end()) return Fail("block '" + std::string(Field(kId)) + "' is freed but not allocated");
    ++result_.frees;
    const bool held = recorded_allocated_ != kNoRecord && Number(kAllocated) == recorded_allocated_;
    if (held) {
      still_held_.push_back(place->second);
    } else {
      allocator_.Free(place->second);
    }
    handles_.erase(place);
    return true;
  }

  void Measure() {
    const AllocatorStatistics& now = allocator_.statistics();
    if (now.allocated > result_.peak.allocated) result_.peak_line = line_;
    result_.peak.requested = std::max(result_.peak.requested, now.requested);
    result_.peak.allocated = std::max(result_.peak.allocated, now.allocated);
    result_.peak.reserved = std::max(result_.peak.reserved, now.reserved);
    result_.segments = std::max(result_.segments, now.segments);
  }

  // False at the first difference.
  bool Compare() {
    const AllocatorStatistics& now = allocator_.statistics();
    const std::string grown =
        got_memory_ ? std::to_string(now.allocated.count() - before_.allocated.count()) : std::string("oom");
    const bool equal = (is_trace_ ? Field(kOp) != "alloc" || Same(kBytes, grown) : Same(kResult, grown)) &&
                       Same(kAllocated, std::to_string(now.allocated.count())) &&
                       Same(kReserved, std::to_string(now.reserved.count())) &&
                       Same(kSegments, std::to_string(now.segments)) &&
                       (address_ == kNoRecord || Same(kAddress, std::to_string(address_)));
    result_.checked += equal;
    return equal;
  }
  bool Same(Column column, const std::string& ours) {
    if (Field(column).empty() || Field(column) == ours) return true;
    result_.difference = StreamDifference{line_, std::string(kStreamNames[column]), std::string(Field(column)), ours};
    return false;
  }

  std::string_view Field(Column column) const {
    const int at = position_[column];
    return at >= 0 && static_cast<size_t>(at) < fields_.size() ? fields_[static_cast<size_t>(at)] : std::string_view();
  }
  std::optional<int64_t> Number(Column column) const {
    const std::string_view field = Field(column);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
    return value;
  }
  std::string Quoted(Column column) const {
    return std::string(kStreamNames[column]) + " '" + std::string(Field(column).substr(0, 40)) + "'";
  }
  bool Fail(std::string text, std::string hint = "vramplan replay --help explains the columns") {
    error_ = Error{ErrorCode::kBadInput, name_ + ":" + std::to_string(line_), std::move(text), std::move(hint)};
    return false;
  }

  std::string_view text_;
  std::string name_;
  bool check_;
  bool is_trace_ = false;
  std::vector<CachingAllocator::Handle> old_;  // old blocks of a trace, in the order in which it frees them
  size_t next_old_ = 0;
  CachingAllocator allocator_;
  std::array<int, kColumns> position_;  // of a column in the file's rows; -1: the file does not have it
  std::vector<std::string_view> fields_;
  int64_t line_ = 0;
  std::unordered_map<std::string, CachingAllocator::Handle> handles_;  // -1: got no memory, or needed none
  std::vector<CachingAllocator::Handle> still_held_;
  int64_t recorded_allocated_ = kNoRecord;  // after the previous row
  int64_t first_address_ = kNoRecord;
  AllocatorStatistics before_;
  int64_t address_ = kNoRecord;
  bool got_memory_ = true;
  StreamPeak result_;
  Error error_;
};

}  // namespace

Result<StreamPeak> ReplayStream(std::string_view text, const std::string& name, const AllocatorConfig& config,
                                Bytes capacity, StreamCheck check) {
  return StreamPlayer(text, name, config, capacity, check).Play();
}

Result<std::string> ReadStream(const std::string& path, Bytes most_unpacked) {
  const bool standard = path == "-";
  const auto wrong = [&](std::string text, std::string hint) {
    return Error{ErrorCode::kBadInput, standard ? "standard input" : path, std::move(text), std::move(hint)};
  };
  const auto system_says = [&](int reason) {
    return wrong(std::string("cannot be read: ") + std::strerror(reason),
                 reason == ENOENT   ? "check the path"
                 : reason == EACCES ? "check the permissions of the file and its folders"
                                    : "give the path of a file");
  };
  errno = 0;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(
      standard ? gzdopen(::dup(STDIN_FILENO), "rb") : gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) return system_says(errno != 0 ? errno : ENOMEM);
  std::string text;
  std::vector<char> buffer(size_t{1} << 18);
  while (true) {
    errno = 0;
    const int count = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
    // A few bytes can unpack to a thousand times as many, so only packed files need a limit.
    if (gzdirect(file.get()) == 0 && static_cast<int64_t>(text.size()) > most_unpacked.count()) {
      return wrong("it unpacks to more than " + ToString(most_unpacked),
                   "unpack the part that matters: zcat " + path + " | tail -c 60M > part");
    }
    if (count == static_cast<int>(buffer.size())) continue;
    int code = Z_OK;
    gzerror(file.get(), &code);
    if (code == Z_ERRNO) return system_says(errno);
    if (count < 0 || code != Z_OK) {
      return wrong(code == Z_BUF_ERROR ? "it is a gzip file that ends too early" : "it is a damaged gzip file",
                   "copy or download it again");
    }
    if (count == 0) return text;
  }
}

}  // namespace vramplan
