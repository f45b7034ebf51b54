#include "planner/calibration/watch.h"

#include <algorithm>

#include "graph/base/check.h"

namespace vramplan {
namespace {

bool Contains(const std::vector<int64_t>& pids, int64_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

}  // namespace

std::string_view Name(WatchSource source) {
  switch (source) {
    case WatchSource::kProcesses:
      return "processes";
    case WatchSource::kDifference:
      return "difference";
    case WatchSource::kNothing:
      return "nothing";
  }
  return "";
}

std::vector<const WatchedProcess*> Watched::Ours() const {
  std::vector<const WatchedProcess*> ours;
  for (const WatchedProcess& process : processes) {
    if (process.ours && process.highest.value_or(Bytes()) > Bytes()) ours.push_back(&process);
  }
  return ours;
}

void WatchLog::Add(const WatchSample& sample) {
  const bool first = watched_.samples++ == 0;
  watched_.seconds = sample.seconds;
  Bytes sum;
  for (const Holder& holder : sample.holders.value_or(std::vector<Holder>())) {
    auto process = std::find_if(watched_.processes.begin(), watched_.processes.end(),
                                [&](const WatchedProcess& known) { return known.pid == holder.pid; });
    if (process == watched_.processes.end()) {
      watched_.processes.push_back(
          {.pid = holder.pid, .name = holder.name, .appeared = sample.seconds, .first = holder.bytes});
      process = watched_.processes.end() - 1;
    }
    process->ours = process->ours || Contains(sample.ours, holder.pid);
    if (!process->first) process->first = holder.bytes;
    if (holder.bytes) process->highest = std::max(process->highest.value_or(Bytes()), *holder.bytes);
    if (process->ours && holder.bytes) {
      sum += *holder.bytes;
      said_bytes_ = true;
    }
    if (process->ours && first) watched_.there_before = true;
  }
  if (sample.used) {
    said_used_ = true;
    if (!watched_.before) watched_.before = *sample.used - sum;
    if (*sample.used > highest_used_) {
      highest_used_ = *sample.used;
      highest_used_at_ = sample.seconds;
    }
  }
  if (sum <= watched_.peak) return;
  watched_.peak = sum;
  watched_.peak_at = sample.seconds;
  watched_.used_at_peak = sample.used;
  for (WatchedProcess& process : watched_.processes) process.at_peak = Bytes();
  for (const Holder& holder : *sample.holders) {
    for (WatchedProcess& process : watched_.processes) {
      if (process.pid == holder.pid) process.at_peak = holder.bytes.value_or(Bytes());
    }
  }
}

Watched WatchLog::Finish() const {
  Watched watched = watched_;
  std::stable_sort(watched.processes.begin(), watched.processes.end(),
                   [](const WatchedProcess& a, const WatchedProcess& b) { return a.ours > b.ours; });
  if (said_bytes_) {
    watched.source = WatchSource::kProcesses;
  } else if (said_used_ && highest_used_ > *watched.before) {
    watched.source = WatchSource::kDifference;
    watched.peak = highest_used_ - *watched.before;
    watched.peak_at = highest_used_at_;
    watched.used_at_peak = highest_used_;
  }
  return watched;
}

const Watched& WatchResult::busiest() const {
  CHECK(!cards.empty());
  return *std::max_element(cards.begin(), cards.end(), [](const Watched& a, const Watched& b) {
    // What the driver says of the run's processes counts before what may be anybody's.
    const auto rank = [](const Watched& w) { return std::pair(w.source == WatchSource::kProcesses, w.peak); };
    return rank(a) < rank(b);
  });
}

WatchResult Watch(Probe* machine, const std::vector<int>& cards, WatchedRun* run, const WatchWishes& wishes,
                  const std::function<void()>& start, const std::function<double()>& clock,
                  const std::function<bool()>& interrupted) {
  WatchResult result;
  std::vector<WatchLog> logs;
  for (const int card : cards) logs.emplace_back(card);
  const double began = clock();
  const auto look = [&](const std::vector<int64_t>& ours) -> Status {
    for (size_t i = 0; i < cards.size(); ++i) {
      const Result<std::optional<Bytes>> used = machine->Used(cards[i]);
      if (!used.ok()) return used.error();
      Result<std::optional<std::vector<Holder>>> holders = machine->Holders(cards[i]);
      if (!holders.ok()) return holders.error();
      logs[i].Add({clock() - began, *used, *std::move(holders), ours});
    }
    return Done();
  };
  const auto failed = [&](const Status& status) {
    if (status.ok()) return false;
    result.error = status.error();
    result.end = WatchResult::End::kFailed;
    return true;
  };
  bool over = false;
  if (start) {
    over = failed(look({}));
    if (!over) start();
  }
  while (!over) {
    const std::vector<int64_t> ours = run->Pids();
    if (ours.empty()) break;
    if (failed(look(ours))) break;
    if (interrupted()) {
      result.end = WatchResult::End::kInterrupted;
      break;
    }
    if (wishes.seconds && clock() - began >= *wishes.seconds) {
      result.end = WatchResult::End::kTime;
      break;
    }
    machine->Wait(wishes.interval);
  }
  for (const WatchLog& log : logs) result.cards.push_back(log.Finish());
  return result;
}

}  // namespace vramplan
