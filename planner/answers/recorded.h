// What fit and plan answer about a script's run that was recorded: its requests replayed on the cards that are asked about,
// as they are and with what could be changed. The question's card and allocator count, and nothing else of it.
#pragma once

#include <string>

#include "graph/base/result.h"
#include "planner/answers/choose_device.h"
#include "planner/answers/question.h"
#include "planner/record/record.h"
#include "planner/report/record.h"

namespace vramplan {

// `file`: where the record was read. `planned`: every change, and the smallest card that holds it as it is.
RecordReport RecordReportOf(const Record& record, const std::string& file, const Question& question,
                            const ChosenDevice& chosen, bool planned);
// On every card that is asked about; of "all" those that the framework runs on, the smallest first.
Result<RecordMatrix> RecordMatrixOf(const Record& record, const std::string& file, const Question& question);

}  // namespace vramplan
