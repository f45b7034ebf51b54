#include "planner/report/json/schemas.h"

namespace vramplan {
namespace {

constexpr SchemaRow kSchemas[] = {
    {"estimate", EstimateSchema}, {"explain", ExplainSchema}, {"fit", FitSchema},       {"gpus", GpusSchema},
    {"models", ModelsSchema},     {"plan", PlanSchema},       {"record", RecordSchema}, {"replay", ReplaySchema},
    {"solve", SolveSchema},       {"sweep", SweepSchema},
};

}  // namespace

std::span<const SchemaRow> AnswerSchemas() { return kSchemas; }

}  // namespace vramplan
