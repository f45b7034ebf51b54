// vramplan check: a schedule judged from the files alone, without code of the solver's, not even its reader.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "planner/cli/verbs.h"

namespace vramplan {
namespace {

__extension__ typedef __int128 Integer;  // for sums of 64-bit numbers

struct CheckedNode {
  int64_t cost = 0, bytes = 0;
  std::vector<int64_t> reads;
};

Error BadProblem(const std::string& file, std::string text) {
  return {ErrorCode::kBadInput, file, std::move(text), "vramplan solve --help explains the files"};
}

// The lines that do not begin with #.
Result<std::istringstream> WithoutComments(const std::string& path) {
  std::ifstream file(path);
  if (!file) return BadProblem(path, std::string("cannot be read: ") + std::strerror(errno));
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) text += line + "\n";
  }
  return std::istringstream(text);
}

Result<std::vector<CheckedNode>> ReadNodes(const std::string& path) {
  Result<std::istringstream> lines = WithoutComments(path);
  if (!lines.ok()) return lines.error();
  std::istringstream& file = *lines;
  int64_t nodes = 0, edges = 0;
  if (!(file >> nodes >> edges) || nodes < 1 || edges < 0)
    return BadProblem(path, "does not begin with the numbers of nodes and edges");
  std::vector<CheckedNode> read;
  for (int64_t node = 0; node < nodes; ++node) {
    CheckedNode& one = read.emplace_back();
    if (!(file >> one.cost >> one.bytes) || one.cost < 0 || one.bytes < 0)
      return BadProblem(path, "has no cost and bytes for node " + std::to_string(node));
  }
  for (int64_t edge = 0; edge < edges; ++edge) {
    int64_t source = 0, target = 0;
    if (!(file >> source >> target) || source < 0 || source >= target || target >= nodes)
      return BadProblem(path, "edge " + std::to_string(edge) + " does not lead from a node to a later one");
    read[static_cast<size_t>(target)].reads.push_back(source);
  }
  std::string more;
  if (file >> more) return BadProblem(path, "has more numbers than its first line announces");
  return read;
}

Result<std::vector<int64_t>> ReadOrder(const std::string& path, int64_t nodes) {
  Result<std::istringstream> lines = WithoutComments(path);
  if (!lines.ok()) return lines.error();
  std::istringstream& file = *lines;
  std::vector<int64_t> order;
  int64_t fresh = 0;
  for (int64_t node = 0; file >> node; order.push_back(node)) {
    if (node < 0 || node > fresh || node >= nodes)
      return BadProblem(path, "number " + std::to_string(order.size() + 1) + " is node " + std::to_string(node) +
                                  ", and the next node that is not computed yet is " + std::to_string(fresh));
    if (node == fresh) ++fresh;
  }
  if (!file.eof())
    return BadProblem(path, "has something other than numbers after " + std::to_string(order.size()) + " of them");
  if (fresh < nodes) return BadProblem(path, "never computes node " + std::to_string(fresh));
  return order;
}

std::string WholeText(Integer number) {
  std::string digits;
  for (; number > 0 || digits.empty(); number /= 10)
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(number % 10)));
  return digits;
}

}  // namespace

Result<Outcome> RunCheck(const Options& options, const Style& /*style*/, Probe* /*machine*/) {
  const Result<std::vector<CheckedNode>> nodes = ReadNodes(options.file);
  if (!nodes.ok()) return nodes.error();
  const Result<std::vector<int64_t>> order = ReadOrder(options.schedule, static_cast<int64_t>(nodes->size()));
  if (!order.ok()) return order.error();

  // Backwards: a value must be held from here back to where it was computed, once a use of it was met.
  std::vector<bool> held(nodes->size(), false);
  Integer level = 0, peak = 0, cost = 0;
  for (size_t at = order->size(); at-- > 0;) {
    const size_t node = static_cast<size_t>((*order)[at]);
    const CheckedNode& runs = (*nodes)[node];
    const auto hold = [&](size_t value) {
      if (!held[value]) level += (*nodes)[value].bytes;
      held[value] = true;
    };
    hold(node);
    for (const int64_t read : runs.reads) hold(static_cast<size_t>(read));
    peak = level > peak ? level : peak;
    cost += runs.cost;
    level -= runs.bytes;
    held[node] = false;
  }
  const bool fits = peak <= *options.remat.budget;
  return Outcome{.text = std::string(fits ? "fits" : "does not fit") + ": peak " + WholeText(peak) + ", budget " +
                         std::to_string(*options.remat.budget) + ", cost " + WholeText(cost) + "\n",
                 .exit_code = fits ? 0 : 3};
}

}  // namespace vramplan
