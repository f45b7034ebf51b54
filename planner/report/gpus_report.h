// The card catalogue as a table or as JSON ("vramplan.gpus/1").
#pragma once

#include <string>
#include <vector>

#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"
#include "planner/spec/device.h"

namespace vramplan {

std::string PrintCards(const std::vector<Card>& cards, const Style& style);
Json CardsJson(const std::vector<Card>& cards);

}  // namespace vramplan
