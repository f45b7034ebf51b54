#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>

#include "planner/allocator/trace.h"

namespace vramplan {
namespace {

enum TraceColumn {
  kEventColumn,
  kBlockColumn,
  kBytesColumn,
  kPhaseColumn,
  kModuleColumn,
  kNodeColumn,
  kOperatorColumn,
  kInnerOperatorColumn,
  kAllocatedAfterColumn,
  kTraceColumns
};
constexpr std::array<std::string_view, kTraceColumns> kColumnNames = {
    "event", "block", "bytes", "phase", "module", "autograd_node", "operator", "inner_operator", "allocated_after"};
// Written and not read: what PyTorch records has no such column, so it also tells our files from recorded ones.
constexpr std::string_view kOnnxNode = "onnx_node";
constexpr std::array<std::string_view, 6> kPhases = {"forward", "loss", "backward", "update", "zero_grad", "setup"};

// A cell as Python's csv module writes it.
std::string Cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// The cells of a line, quoted as Cell writes them. Line breaks within quotes are not supported, since no name has one.
std::vector<std::string> Cells(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

std::optional<int64_t> Count(const std::string& text) {
  int64_t count = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (status != std::errc() || end != text.data() + text.size() || count < 0) return std::nullopt;
  return count;
}

class TraceReader {
 public:
  TraceReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<Trace> Parse() {
    if (!Header()) return error_;
    Trace trace;
    while (!text_.empty()) {
      cells_ = Cells(NextLine());
      if (cells_.size() == 1 && cells_[0].empty()) continue;
      TraceEvent event;
      if (!Row(&event)) return error_;
      trace.push_back(std::move(event));
    }
    if (trace.empty()) Fail("no event follows the header", "is the file whole?");
    if (trace.empty()) return error_;
    return trace;
  }

 private:
  std::string_view NextLine() {
    const size_t end = std::min(text_.find('\n'), text_.size());
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line_;
    return line;
  }

  bool Header() {
    const std::vector<std::string> header = Cells(NextLine());
    position_.fill(header.size());
    for (size_t c = 0; c < kTraceColumns; ++c) {
      position_[c] = static_cast<size_t>(std::find(header.begin(), header.end(), kColumnNames[c]) - header.begin());
      if (c <= kPhaseColumn && position_[c] == header.size()) {
        return Fail("the first line has no column '" + std::string(kColumnNames[c]) + "'",
                    "it begins with event,block,bytes,phase");
      }
    }
    columns_ = header.size();
    return true;
  }

  bool Row(TraceEvent* event) {
    if (cells_.size() != columns_) {
      return Fail(std::to_string(cells_.size()) + " cells where the first line has " + std::to_string(columns_),
                  "is the file whole?");
    }
    if (Text(kEventColumn) != "alloc" && Text(kEventColumn) != "free")
      return Fail(Quoted(kEventColumn) + " is not alloc or free");
    event->birth = Text(kEventColumn) == "alloc";
    event->line = line_;
    const std::optional<int64_t> bytes = Count(Text(kBytesColumn));
    if (!bytes) return Fail(Quoted(kBytesColumn) + " is not a number of bytes");
    event->bytes = Bytes::Of(*bytes);
    if (std::find(kPhases.begin(), kPhases.end(), Text(kPhaseColumn)) == kPhases.end())
      return Fail(Quoted(kPhaseColumn) + " is not one of forward, loss, backward, update or zero_grad");
    event->phase = Text(kPhaseColumn);
    event->module = Text(kModuleColumn);
    event->autograd_node = Text(kNodeColumn);
    event->op = Text(kOperatorColumn);
    event->inner_op = Text(kInnerOperatorColumn);
    if (const std::string& level = Text(kAllocatedAfterColumn); !level.empty()) {
      const std::optional<int64_t> count = Count(level);
      if (!count) return Fail(Quoted(kAllocatedAfterColumn) + " is not a number of bytes");
      event->allocated_after = Bytes::Of(*count);
    }
    return Block(event);
  }

  bool Block(TraceEvent* event) {
    if (Text(kBlockColumn) == "old") {
      return !event->birth || Fail("block 'old' is allocated", "old is what was there before the step");
    }
    event->block = Count(Text(kBlockColumn));
    if (!event->block) return Fail(Quoted(kBlockColumn) + " is not a number, or old");
    if (event->birth) return born_.insert(*event->block).second || Fail(Quoted(kBlockColumn) + " is allocated twice");
    if (born_.count(*event->block) == 0) {
      return Fail(Quoted(kBlockColumn) + " is freed but not allocated", "what was there before the step is called old");
    }
    return died_.insert(*event->block).second || Fail(Quoted(kBlockColumn) + " is freed twice");
  }

  const std::string& Text(TraceColumn column) const {
    static const std::string kAbsent;
    return position_[column] < cells_.size() ? cells_[position_[column]] : kAbsent;
  }
  std::string Quoted(TraceColumn column) const {
    return std::string(kColumnNames[column]) + " '" + Text(column).substr(0, 40) + "'";
  }
  bool Fail(std::string text, std::string hint = "see vramplan trace --help") {
    error_ = {ErrorCode::kBadInput, name_ + ":" + std::to_string(line_), std::move(text), std::move(hint)};
    return false;
  }

  std::string_view text_;
  const std::string& name_;
  int64_t line_ = 0;
  size_t columns_ = 0;
  std::array<size_t, kTraceColumns> position_{};
  std::vector<std::string> cells_;
  std::unordered_set<int64_t> born_, died_;
  Error error_;
};

}  // namespace

std::string PrintTrace(const Trace& trace) {
  std::string text;
  for (const std::string_view name : kColumnNames) text += std::string(name) + ",";
  text += std::string(kOnnxNode) + "\n";
  for (const TraceEvent& event : trace) {
    text += event.birth ? "alloc," : "free,";
    text += (event.block ? std::to_string(*event.block) : "old") + "," + std::to_string(event.bytes.count()) + ",";
    for (const std::string* cell : {&event.phase, &event.module, &event.autograd_node, &event.op, &event.inner_op})
      text += Cell(*cell) + ",";
    if (event.allocated_after) text += std::to_string(event.allocated_after->count());
    text += "," + Cell(event.layer) + "\n";
  }
  return text;
}

Result<Trace> ParseTrace(std::string_view text, const std::string& name) { return TraceReader(text, name).Parse(); }

}  // namespace vramplan
