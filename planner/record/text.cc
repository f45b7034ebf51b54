#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>

#include "planner/record/record.h"

namespace vramplan {
namespace {

constexpr std::array<Phase, 6> kPhasesOfRecords = {Phase::kSetup,    Phase::kForward, Phase::kLoss,
                                                   Phase::kBackward, Phase::kUpdate,  Phase::kZeroGrad};
constexpr std::array<std::string_view, 5> kOps = {"alloc", "free", "empty_cache", "enter", "leave"};
constexpr size_t kColumns = 12, kColumnsBefore = 11;
constexpr std::string_view kFrozen = "frozen", kOutputs = "outputs";

// A category, or what it says more.
std::string_view WordOf(const RecordBlock& block) {
  if (block.frozen && block.category == Category::kParameters) return kFrozen;
  if (block.outputs && block.category == Category::kActivations) return kOutputs;
  return Name(block.category);
}

bool TakeWord(std::string_view word, RecordBlock* block) {
  block->frozen = word == kFrozen;
  block->outputs = word == kOutputs;
  if (block->frozen) word = Name(Category::kParameters);
  if (block->outputs) word = Name(Category::kActivations);
  for (int c = 0; c < kCategories; ++c) {
    block->category = static_cast<Category>(c);
    if (Name(block->category) == word) return true;
  }
  return false;
}

// Readers split at commas, and names of files may have some.
std::string PlainCell(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '\n' || c == '\r'; }, ';');
  return text;
}

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

class RecordReader {
 public:
  RecordReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<Record> Read() {
    const std::string_view head = NextLine();
    if (head == kRecordColumns) columns_ = kColumnsBefore;
    if (!head.starts_with(kRecordColumns) ||
        (columns_ == kColumns && head.substr(kRecordColumns.size()) != kCallerColumn))
      return Fail("the first line is not the header of a recorded run");
    while (!text_.empty()) {
      const std::string_view line = NextLine();
      if (line.empty()) continue;
      if (std::string wrong = Row(line); !wrong.empty()) return Fail(std::move(wrong));
    }
    if (record_.blocks.empty()) return Fail("nothing was allocated");
    return std::move(record_);
  }

 private:
  Error Fail(std::string text) const {
    return {ErrorCode::kBadInput, name_ + ":" + std::to_string(line_), std::move(text),
            "vramplan run --record writes such files; is this one whole?"};
  }

  std::string_view NextLine() {
    const size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }

  // What is wrong with it; empty: nothing.
  std::string Row(std::string_view line) {
    std::array<std::string_view, kColumns> cells;
    for (size_t c = 0; c < columns_; ++c) {
      const size_t end = std::min(line.find(','), line.size());
      if ((end == line.size()) != (c + 1 == columns_)) return "it does not have " + std::to_string(columns_) + " cells";
      cells[c] = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    if (cells[0] == "cudnn") {
      record_.cudnn = true;
      return "";
    }
    if (cells[0] == "reserved") {
      const auto bytes = WholeNumber(cells[2]);
      if (!bytes) return "its bytes cannot be read";
      record_.reserved = Bytes::Of(*bytes);
      return "";
    }
    RecordRow row;
    const auto op = std::ranges::find(kOps, cells[0]);
    const auto phase = std::ranges::find(kPhasesOfRecords, cells[4], [](Phase of) { return Name(of); });
    const auto step = WholeNumber(cells[3]);
    if (op == kOps.end()) return "'" + std::string(cells[0].substr(0, 40)) + "' is not alloc, free, enter or leave";
    if (phase == kPhasesOfRecords.end() || !step || *step > INT32_MAX) return "its step or phase cannot be read";
    row.kind = static_cast<RowKind>(op - kOps.begin());
    row.phase = *phase;
    row.step = static_cast<int32_t>(*step);
    if (!record_.rows.empty() && row.step < record_.rows.back().step) return "its step is before that of the row above";
    if (!cells[7].empty()) row.module = NumberOf(std::string(cells[7]));
    const bool of_module = row.kind == RowKind::kEnter || row.kind == RowKind::kLeave;
    if (of_module && row.module < 0) return "it names no module";
    if (row.kind == RowKind::kAllocate || row.kind == RowKind::kFree) {
      if (std::string wrong = BlockOf(cells, &row); !wrong.empty()) return wrong;
    } else if (row.kind == RowKind::kLeave) {
      if (!Results(cells[1], &row)) return "'" + std::string(cells[1].substr(0, 40)) + "' are not blocks above it";
    }
    record_.rows.push_back(std::move(row));
    return "";
  }

  std::string BlockOf(const std::array<std::string_view, kColumns>& cells, RecordRow* row) {
    const auto id = WholeNumber(cells[1]), bytes = WholeNumber(cells[2]);
    if (!id || !bytes) return "its block or its bytes cannot be read";
    if (row->kind == RowKind::kFree) {
      const auto live = live_.find(*id);
      if (live == live_.end()) return "block " + std::to_string(*id) + " is freed but not there";
      row->block = live->second;
      live_.erase(live);
      return "";
    }
    row->block = static_cast<int32_t>(record_.blocks.size());
    if (!numbers_.try_emplace(*id, row->block).second) return "block " + std::to_string(*id) + " is allocated twice";
    live_[*id] = row->block;
    RecordBlock block;
    block.bytes = Bytes::Of(*bytes);
    const bool known = TakeWord(cells[5], &block);
    const auto element = cells[6].empty() ? std::optional<int64_t>(0) : WholeNumber(cells[6]);
    const auto line = cells[9].empty() ? std::optional<int64_t>(0) : WholeNumber(cells[9]);
    if (!known || !element || !line) return "its category, element or line cannot be read";
    block.element = *element;
    if (!cells[8].empty()) block.place = PlaceNumber({std::string(cells[8]), *line, std::string(cells[10])});
    if (const size_t colon = cells[11].rfind(':'); colon != std::string_view::npos) {
      const auto number = WholeNumber(cells[11].substr(colon + 1));
      if (!number) return "the line of its caller cannot be read";
      block.caller = PlaceNumber({std::string(cells[11].substr(0, colon)), *number, ""});
    }
    record_.blocks.push_back(block);
    return "";
  }

  bool Results(std::string_view list, RecordRow* row) {
    while (!list.empty()) {
      const size_t end = std::min(list.find(' '), list.size());
      const auto id = WholeNumber(list.substr(0, end));
      const auto block = id ? numbers_.find(*id) : numbers_.end();
      if (block == numbers_.end()) return false;
      row->results.push_back(block->second);
      list.remove_prefix(std::min(end + 1, list.size()));
    }
    return true;
  }

  int32_t NumberOf(const std::string& module) {
    const auto [known, fresh] = modules_.try_emplace(module, static_cast<int32_t>(record_.modules.size()));
    if (fresh) record_.modules.push_back(module);
    return known->second;
  }
  int32_t PlaceNumber(CodePlace place) {
    const auto [known, fresh] = places_.try_emplace(place, static_cast<int32_t>(record_.places.size()));
    if (fresh) record_.places.push_back(std::move(place));
    return known->second;
  }

  std::string_view text_;
  const std::string& name_;
  size_t columns_ = kColumns;
  int64_t line_ = 0;
  Record record_;
  std::map<std::string, int32_t> modules_;
  std::map<CodePlace, int32_t> places_;
  std::map<int64_t, int32_t> numbers_, live_;  // by the id in the file
};

}  // namespace

std::string PrintRecord(const Record& record) {
  std::string text = std::string(kRecordColumns) + std::string(kCallerColumn) + "\n";
  if (record.cudnn) text += "cudnn,,,0,setup,,,,,,,\n";
  if (record.reserved > Bytes()) text += "reserved,," + std::to_string(record.reserved.count()) + ",0,setup,,,,,,,\n";
  for (const RecordRow& row : record.rows) {
    text += kOps[static_cast<size_t>(row.kind)];
    text += ",";
    const RecordBlock* block = row.block < 0 ? nullptr : &record.blocks[static_cast<size_t>(row.block)];
    if (block != nullptr) {
      text += std::to_string(row.block) + "," + std::to_string(block->bytes.count());
    } else {
      for (size_t i = 0; i < row.results.size(); ++i) text += (i == 0 ? "" : " ") + std::to_string(row.results[i]);
      text += ",";
    }
    text += "," + std::to_string(row.step) + "," + std::string(Name(row.phase)) + ",";
    const bool birth = row.kind == RowKind::kAllocate;
    if (birth) text += WordOf(*block);
    text += ",";
    if (birth && block->element > 0) text += std::to_string(block->element);
    text += "," + (row.module < 0 ? "" : PlainCell(record.modules[static_cast<size_t>(row.module)]));
    const auto place_at = [&](int32_t place) {
      return place >= 0 ? &record.places[static_cast<size_t>(place)] : nullptr;
    };
    const CodePlace* const place = birth ? place_at(block->place) : nullptr;
    const CodePlace* const caller = birth ? place_at(block->caller) : nullptr;
    text += ",";
    if (place != nullptr)
      text += PlainCell(place->file) + "," + std::to_string(place->line) + "," + PlainCell(place->function);
    if (place == nullptr) text += ",,";
    text += ",";
    if (caller != nullptr) text += PlainCell(caller->file) + ":" + std::to_string(caller->line);
    text += "\n";
  }
  return text;
}

Result<Record> ReadRecord(std::string_view text, const std::string& name) { return RecordReader(text, name).Read(); }

bool IsRecord(const std::string& path) {
  if (path == "-") return false;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) return false;
  std::array<char, kRecordColumns.size()> head{};
  const int count = gzread(file.get(), head.data(), static_cast<unsigned>(head.size()));
  return count == static_cast<int>(head.size()) && std::string_view(head.data(), head.size()) == kRecordColumns;
}

}  // namespace vramplan
