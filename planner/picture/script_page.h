// The answers about a script as pages: run, and fit and plan of a run that was recorded.
#pragma once

#include <string>

#include "planner/picture/step_pictures.h"
#include "planner/report/record.h"
#include "planner/report/run_answer.h"

namespace vramplan {

// `pictures`: of the first run; a table of runs has none.
std::string PrintRunPage(const RunAnswer& answer, const StepPictures* pictures);

std::string PrintRecordPage(const RecordReport& report, const StepPictures& pictures);
std::string PrintRecordMatrixPage(const RecordMatrix& matrix);

}  // namespace vramplan
