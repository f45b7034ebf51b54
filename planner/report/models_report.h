// The table of models that are known by their names, as text or as JSON ("vramplan.models/1").
#pragma once

#include <string>
#include <vector>

#include "graph/architectures/named.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

std::string PrintModels(const std::vector<KnownModel>& models, const Style& style);
Json ModelsJson(const std::vector<KnownModel>& models);

}  // namespace vramplan
