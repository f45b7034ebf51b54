#include "planner/scripts/varied.h"

#include <utility>

#include "planner/scripts/changes.h"
#include "planner/scripts/search.h"

namespace vramplan {

std::vector<ScriptValues> Combinations(const ScriptWishes& wishes) {
  std::vector<ScriptValues> all(1);
  std::vector<ScriptWishes::Choices> vary = wishes.vary;
  if (wishes.ranks) {
    ScriptWishes::Choices gpus{kGpusName, {}};
    for (const int64_t count : wishes.ranks->gpus) gpus.values.push_back(std::to_string(count));
    vary.insert(vary.begin(), std::move(gpus));
  }
  for (const ScriptWishes::Choices& choices : vary) {
    std::vector<ScriptValues> longer;
    for (const ScriptValues& values : all) {
      for (const std::string& value : choices.values) {
        longer.push_back(values);
        longer.back().emplace_back(choices.name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

Result<VariedRun> RunWith(const ScriptRuns& runs, const Script& script, const ScriptValues& values) {
  VariedRun run;
  run.values = values;
  if (script.wishes.largest) {
    Result<SearchedLargest> searched = SearchLargest(runs, script, values);
    if (!searched.ok()) return searched.error();
    run.report = std::move(searched->report);
    run.largest = std::move(searched->largest);
    return run;
  }
  Result<ScriptReport> report = runs.Run(values);
  if (!report.ok()) return report.error();
  run.report = *std::move(report);
  return run;
}

std::vector<ScriptTried> Try(const ScriptRuns& runs, const ScriptValues& values) {
  std::vector<ScriptTried> all;
  for (const ScriptChange& change : kScriptChanges) {
    TellProgress(std::string("running with the change \"") + change.text + "\"");
    ScriptTried tried;
    tried.change = change.text;
    tried.advice = change.advice;
    Result<ScriptReport> report = runs.Run(values, &change);
    if (!report.ok()) {
      tried.changed = "fails with it: " + report.error().text;
    } else if (change.hook == nullptr) {
      tried.changed = "in the environment";
      tried.report = *std::move(report);
    } else if (report->recording.changed.empty()) {
      tried.changed = std::string("nothing: ") + change.otherwise;
    } else {
      for (const std::string& text : report->recording.changed)
        tried.changed += (tried.changed.empty() ? "" : "; ") + text;
      tried.report = *std::move(report);
    }
    all.push_back(std::move(tried));
  }
  return all;
}

}  // namespace vramplan
