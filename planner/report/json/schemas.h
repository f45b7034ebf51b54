// The schemas of answers, made of their fields (planner/report/writing/fields.h): docs/schemas has them as files.
#pragma once

#include <span>
#include <string_view>

#include "planner/report/writing/json.h"

namespace vramplan {

struct SchemaRow {
  std::string_view answer;  // "fit" of "vramplan.fit/1"
  Json (*schema)();
};
std::span<const SchemaRow> AnswerSchemas();

Json DiffSchema();
Json EstimateSchema();
Json ExplainSchema();
Json FitSchema();
Json GpusSchema();
Json InspectSchema();
Json ModelsSchema();
Json PlanSchema();
Json ProbeSchema();
Json ProfileSchema();
Json RecordSchema();
Json ReplaySchema();
Json RunSchema();
Json SolveSchema();
Json SweepSchema();
Json TraceSchema();
Json ValidateSchema();
Json WatchSchema();

}  // namespace vramplan
