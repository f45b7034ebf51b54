#include "graph/lift/onnxruntime/call_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace vramplan {
namespace {

using Path = std::vector<std::string>;

Path PlainPath(const ModulePath& path) {
  Path plain;
  for (const ModuleFrame& frame : path) plain.push_back(frame.path);
  return plain;
}

bool StartsWith(const Path& path, const Path& prefix) {
  return path.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

// What could come next, by its modules: those inside one module are neighbours.
class Ready {
 public:
  void Add(const Path& path, size_t item) { items_[path].insert(item); }
  bool empty() const { return items_.empty(); }

  // The first item of the innermost module around `last` that has one.
  size_t Take(Path last) {
    for (;; last.pop_back()) {
      auto best = items_.end();
      for (auto at = items_.lower_bound(last); at != items_.end() && StartsWith(at->first, last); ++at) {
        if (best == items_.end() || *at->second.begin() < *best->second.begin()) best = at;
      }
      if (best == items_.end()) continue;  // the empty path holds all
      const size_t item = *best->second.begin();
      best->second.erase(best->second.begin());
      if (best->second.empty()) items_.erase(best);
      return item;
    }
  }

 private:
  std::map<Path, std::set<size_t>> items_;
};

}  // namespace

std::vector<size_t> CallOrder(const std::vector<std::vector<size_t>>& needs, const std::vector<ModulePath>& paths) {
  const size_t count = needs.size();
  std::vector<std::vector<size_t>> users(count);
  std::vector<size_t> missing(count);
  std::vector<Path> plain;
  plain.reserve(count);
  Ready ready;
  for (size_t i = 0; i < count; ++i) {
    plain.push_back(PlainPath(paths[i]));
    missing[i] = needs[i].size();
    for (const size_t need : needs[i]) users[need].push_back(i);
    if (missing[i] == 0) ready.Add(plain[i], i);
  }
  std::vector<size_t> order;
  std::vector<bool> done(count);
  while (!ready.empty()) {
    const size_t item = ready.Take(order.empty() ? Path() : plain[order.back()]);
    order.push_back(item);
    done[item] = true;
    for (const size_t user : users[item]) {
      if (--missing[user] == 0) ready.Add(plain[user], user);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (!done[i]) order.push_back(i);
  }
  return order;
}

}  // namespace vramplan
