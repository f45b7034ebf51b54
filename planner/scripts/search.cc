#include "planner/scripts/search.h"

#include "planner/scripts/largest_value.h"

namespace vramplan {
namespace {

// Two runs that took the same in each phase and ended alike. One that fails before its first step says nothing: the
// model alone may be too large.
bool SameWhatever(const TriedValue& a, const TriedValue& b) {
  constexpr auto kSetup = static_cast<size_t>(Phase::kSetup);
  bool began = false;
  for (size_t phase = 0; phase < b.phases.size(); ++phase) began |= phase != kSetup && b.phases[phase] > Bytes();
  return (b.fits || began) && a.fits == b.fits && a.requested == b.requested && a.allocated == b.allocated &&
         a.reserved == b.reserved && a.phases == b.phases;
}

Error NobodyUses(const std::string& option, const std::string& name, const std::string& a, const std::string& b) {
  return {ErrorCode::kUsage, option,
          "nobody uses " + name + ": the command has no {" + name + "}, but the script takes the same with " + name +
              "=" + a + " and with " + b + " in its environment",
          "write {" + name + "} in the command where the value stands" +
              (option == "--largest" ? ", or name its key with --largest-in" : "")};
}

// Nothing: the two runs differ in more than this value, or in nothing.
std::optional<std::pair<std::string, std::string>> OnlyDifference(const VariedRun& a, const VariedRun& b,
                                                                  const std::string& name) {
  std::optional<std::pair<std::string, std::string>> only;
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (a.values[i] == b.values[i]) continue;
    if (a.values[i].first != name) return std::nullopt;
    only = {a.values[i].second, b.values[i].second};
  }
  return only;
}

bool TookTheSame(const VariedRun& a, const VariedRun& b) {
  return a.report.verdict == b.report.verdict && a.report.recording.peak() == b.report.recording.peak() &&
         PhasePeaks(a.report.recording) == PhasePeaks(b.report.recording) &&
         (!a.largest || a.largest->largest == b.largest->largest);
}

}  // namespace

Result<SearchedLargest> SearchLargest(const ScriptRuns& runs, const Script& script, const ScriptValues& others) {
  const ScriptWishes::Range& range = *script.wishes.largest;
  // Whether the script reads the variable cannot be seen, only that two numbers make no difference.
  const bool by_variable = !script.wishes.largest_in && !HasPlaceholder(script.command, range.name);
  SearchedLargest searched;
  std::optional<TriedValue> before;
  searched.largest.name = range.name;
  std::optional<ScriptReport> fits, fails;  // the nearest to the end so far
  const auto run = [&](int64_t value) -> Result<TriedValue> {
    ScriptValues values = others;
    values.emplace_back(range.name, std::to_string(value));
    TellProgress("running with " + range.name + "=" + std::to_string(value));
    Result<ScriptReport> report = runs.Run(values);
    if (!report.ok()) {
      Error error = report.error();
      error.subject += " with " + range.name + "=" + std::to_string(value);
      return error;
    }
    TriedValue tried;
    tried.value = value;
    // A script that goes on after it was refused memory has not done what it was told.
    tried.fits = report->recording.refusals.empty();
    const Levels peak = report->recording.peak();
    tried.requested = peak.requested;
    tried.allocated = peak.allocated;
    tried.reserved = peak.reserved;
    tried.phases = PhasePeaks(report->recording);
    if (!tried.fits) {
      const Levels& held = report->recording.refusals.back().held;
      tried.stuck = held.reserved - held.requested;
    }
    if (by_variable && before && SameWhatever(*before, tried))
      return NobodyUses("--largest", range.name, std::to_string(before->value), std::to_string(value));
    before = tried;
    searched.largest.tried.push_back({value, tried.fits, peak});
    (tried.fits ? fits : fails) = *std::move(report);
    return tried;
  };
  const Device& device = runs.card().device;
  const Result<LargestValue> found = FindLargestValue(range.low, range.high, device.available(), run);
  if (!found.ok()) return found.error();
  searched.largest.largest = found->largest;
  searched.largest.first_failing = found->first_failing;
  searched.report = fits ? *fits : *fails;
  if (found->first_failing) searched.largest.failure = std::move(fails);
  const ScriptTry &a = searched.largest.tried.front(), &b = searched.largest.tried.back();
  if (a.value != b.value && a.peak == b.peak) {
    searched.report.notes.Add({"nothing-changed", Severity::kWarning, range.name,
                               "the script takes the same memory whatever this number is",
                               "write {" + range.name + "} in the command where the number stands"});
  }
  return searched;
}

Status CheckVaried(const Script& script, const std::vector<VariedRun>& runs) {
  for (const ScriptWishes::Choices& choices : script.wishes.vary) {
    if (HasPlaceholder(script.command, choices.name)) continue;
    std::optional<std::pair<std::string, std::string>> same;
    bool used = false;
    for (size_t i = 0; i < runs.size(); ++i) {
      for (size_t j = i + 1; j < runs.size() && !used; ++j) {
        const auto values = OnlyDifference(runs[i], runs[j], choices.name);
        if (!values) continue;
        used = !TookTheSame(runs[i], runs[j]);
        if (!same) same = values;
      }
    }
    if (same && !used) return NobodyUses("--vary", choices.name, same->first, same->second);
  }
  return Done();
}

}  // namespace vramplan
