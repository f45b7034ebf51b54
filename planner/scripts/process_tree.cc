#include "planner/scripts/process_tree.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <system_error>
#include <utility>

namespace vramplan {

ProcessTree::ProcessTree(int64_t root, std::string proc) : root_(root), proc_(std::move(proc)) {
  if (const std::optional<Row> row = Read(std::to_string(root_))) root_started_ = row->started;
}

// proc(5): "pid (name) state ppid ..."; the 22nd field is the start. The name may hold anything, also ") R 1".
std::optional<ProcessTree::Row> ProcessTree::Read(const std::string& pid) const {
  std::ifstream file(proc_ + "/" + pid + "/stat");
  // A process that ends between opening and reading is an error of read(2), which read() keeps to the stream.
  constexpr std::streamsize kLongest = 4096;
  std::string text(kLongest, '\0');
  file.read(text.data(), kLongest);
  text.resize(static_cast<size_t>(file.gcount()));
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  std::istringstream fields(text.substr(close + 1));
  std::string state, skipped;
  Row row;
  row.name = text.substr(open + 1, close - open - 1);
  fields >> state >> row.parent;
  constexpr int kParentField = 4, kStartField = 22;
  for (int field = kParentField + 1; field < kStartField; ++field) fields >> skipped;
  fields >> row.started;
  if (!fields || state == "Z" || state == "X") return std::nullopt;
  return row;
}

std::string ProcessTree::Name() const {
  const std::optional<Row> row = Read(std::to_string(root_));
  return row ? row->name : "";
}

std::vector<int64_t> ProcessTree::Pids() {
  const std::optional<Row> root = Read(std::to_string(root_));
  if (!root || root->started != root_started_) return {};
  std::map<int64_t, Row> all;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(proc_, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    if (const std::optional<Row> row = Read(name)) all[std::stoll(name)] = *row;
  }
  std::erase_if(known_, [&](const auto& one) {
    const auto row = all.find(one.first);
    return row == all.end() || row->second.started != one.second;
  });
  // Parents may come after their children: until nothing is added.
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [pid, row] : all) {
      if (pid == root_ || known_.contains(pid)) continue;
      if (row.parent != root_ && !known_.contains(row.parent)) continue;
      known_[pid] = row.started;
      grew = true;
    }
  }
  std::vector<int64_t> pids = {root_};
  for (const auto& [pid, started] : known_) pids.push_back(pid);
  return pids;
}

}  // namespace vramplan
