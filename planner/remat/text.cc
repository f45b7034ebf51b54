#include "planner/remat/text.h"

#include <charconv>
#include <optional>

namespace vramplan {
namespace {

struct Pair {
  int64_t first = 0, second = 0;
};

// Lines of two whole numbers of 0 or more. Lines that begin with # are comments.
class PairReader {
 public:
  PairReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  // The next line. `what` it should hold, for the error.
  std::optional<Pair> Next(const char* what) {
    SkipComments();
    ++line_;
    if (rest_.empty()) {
      Fail("ends before all lines are there", "this one should hold " + std::string(what));
      return std::nullopt;
    }
    const size_t length = std::min(rest_.find('\n'), rest_.size());
    std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    Pair pair;
    if (TakeNumber(&text, &pair.first) && TakeNumber(&text, &pair.second) && SkipSpace(&text)) return pair;
    Fail("is not two whole numbers of 0 or more", "this one should hold " + std::string(what));
    return std::nullopt;
  }
  // Nothing but white space and comments is left.
  bool AtEnd() {
    SkipComments();
    return rest_.find_first_not_of(" \t\r\n") == std::string_view::npos;
  }
  void Fail(std::string text, std::string hint) {
    error_ = {ErrorCode::kBadInput, file_, "line " + std::to_string(line_) + " " + std::move(text), std::move(hint)};
  }
  const Error& error() const { return error_; }
  void Skip() { ++line_; }

 private:
  void SkipComments() {
    for (; rest_.starts_with('#'); ++line_) {
      const size_t length = std::min(rest_.find('\n'), rest_.size());
      rest_.remove_prefix(std::min(length + 1, rest_.size()));
    }
  }
  // True when nothing is left.
  static bool SkipSpace(std::string_view* text) {
    text->remove_prefix(std::min(text->find_first_not_of(" \t\r"), text->size()));
    return text->empty();
  }
  static bool TakeNumber(std::string_view* text, int64_t* number) {
    if (SkipSpace(text)) return false;
    const auto [end, status] = std::from_chars(text->data(), text->data() + text->size(), *number);
    if (status != std::errc() || *number < 0) return false;
    text->remove_prefix(static_cast<size_t>(end - text->data()));
    return text->empty() || text->front() == ' ' || text->front() == '\t' || text->front() == '\r';
  }

  std::string_view rest_;
  const std::string& file_;
  int64_t line_ = 0;
  Error error_;
};

}  // namespace

Result<RematProblem> ReadProblem(std::string_view text, const std::string& file) {
  PairReader reader(text, file);
  const std::optional<Pair> counts = reader.Next("the numbers of nodes and of edges");
  if (!counts) return reader.error();
  if (counts->first == 0 || counts->first > RematProblem::kMostNodes) {
    reader.Fail("states " + std::to_string(counts->first) + " nodes",
                "from 1 to " + std::to_string(RematProblem::kMostNodes) + " are taken");
    return reader.error();
  }
  std::vector<RematNode> nodes;
  int64_t cost = 0, bytes = 0;
  while (static_cast<int64_t>(nodes.size()) < counts->first) {
    const std::optional<Pair> node = reader.Next("cost and bytes of a node");
    if (!node) return reader.error();
    if (node->first > RematProblem::kMostInAll - cost || node->second > RematProblem::kMostInAll - bytes) {
      reader.Fail("makes the sum of all nodes more than 2^62", "give costs or bytes in a larger unit");
      return reader.error();
    }
    cost += node->first;
    bytes += node->second;
    nodes.push_back({node->first, node->second});
  }
  std::vector<RematProblem::Edge> edges;
  while (static_cast<int64_t>(edges.size()) < counts->second) {
    const std::optional<Pair> edge = reader.Next("source and target of an edge");
    if (!edge) return reader.error();
    if (edge->first >= counts->first || edge->second >= counts->first) {
      reader.Fail("names a node that does not exist",
                  "nodes are numbered from 0 to " + std::to_string(counts->first - 1));
      return reader.error();
    }
    if (edge->first >= edge->second) {
      reader.Fail("goes from node " + std::to_string(edge->first) + " to node " + std::to_string(edge->second),
                  "a node reads only nodes before it");
      return reader.error();
    }
    edges.emplace_back(static_cast<int32_t>(edge->first), static_cast<int32_t>(edge->second));
  }
  if (!reader.AtEnd()) {
    reader.Skip();
    reader.Fail("is one too many", "line 1 states how many there are");
    return reader.error();
  }
  return RematProblem(std::move(nodes), std::move(edges));
}

std::string WriteProblem(const RematProblem& problem) {
  std::string text = std::to_string(problem.size()) + " " + std::to_string(problem.edges()) + "\n";
  for (int32_t node = 0; node < problem.size(); ++node)
    text += std::to_string(problem[node].cost) + " " + std::to_string(problem[node].bytes) + "\n";
  for (int32_t node = 0; node < problem.size(); ++node) {
    for (const int32_t read : problem.Reads(node)) text += std::to_string(read) + " " + std::to_string(node) + "\n";
  }
  return text;
}

std::string WriteSchedule(const RematSchedule& schedule) {
  std::string text;
  for (const int32_t node : schedule) text += (text.empty() ? "" : " ") + std::to_string(node);
  return text + "\n";
}

}  // namespace vramplan
