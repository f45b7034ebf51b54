// The answers about a script as pages: run, and fit and plan of a run that was recorded.
#pragma once

#include <string>
#include <vector>

#include "planner/picture/step_pictures.h"
#include "planner/report/record.h"
#include "planner/report/script.h"
#include "planner/report/script_search.h"

namespace vramplan {

// `answer`: the same answer as text, whose words the page takes.
std::string PrintScriptPage(const ScriptReport& report, const StepPictures& pictures, const std::string& answer);
// --largest: how much each number took.
std::string PrintLargestPage(const ScriptLargest& largest, const ScriptReport& report, const StepPictures& pictures);
std::string PrintTriedPage(const std::vector<ScriptTried>& tried, const ScriptReport& report,
                           const StepPictures& pictures);
std::string PrintVariedPage(const std::vector<VariedRun>& runs);

std::string PrintRecordPage(const RecordReport& report, const StepPictures& pictures);
std::string PrintRecordMatrixPage(const RecordMatrix& matrix);

}  // namespace vramplan
