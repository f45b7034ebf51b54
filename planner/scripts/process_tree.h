// ProcessTree: a process and its descendants, as /proc shows them.
//
//   1204 sh -- 1205 python -- 1290 python (a data loader)      Pids() == {1204, 1205, 1290}
//
// A descendant whose parent ended is still one. A number that was given to another process since is not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/calibration/watch.h"

namespace vramplan {

class ProcessTree final : public WatchedRun {
 public:
  // `proc`: where the kernel shows its processes.
  explicit ProcessTree(int64_t root, std::string proc = "/proc");
  // Empty: the root is over (a process that waits to be reaped is).
  std::vector<int64_t> Pids() override;
  // As `ps` has it: "python3"; empty: it is not there.
  std::string Name() const;

 private:
  struct Row {
    int64_t parent = 0;
    uint64_t started = 0;  // since boot: tells two processes of one number apart
    std::string name;
  };
  std::optional<Row> Read(const std::string& pid) const;

  int64_t root_;
  std::string proc_;
  std::optional<uint64_t> root_started_;
  std::map<int64_t, uint64_t> known_;  // descendants, with their start
};

}  // namespace vramplan
