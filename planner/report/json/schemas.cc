#include "planner/report/json/schemas.h"

namespace vramplan {
namespace {

constexpr SchemaRow kSchemas[] = {
    {"diff", DiffSchema},         {"estimate", EstimateSchema}, {"explain", ExplainSchema}, {"fit", FitSchema},
    {"gpus", GpusSchema},         {"inspect", InspectSchema},   {"models", ModelsSchema},   {"plan", PlanSchema},
    {"probe", ProbeSchema},       {"profile", ProfileSchema},   {"record", RecordSchema},   {"replay", ReplaySchema},
    {"run", RunSchema},           {"solve", SolveSchema},       {"sweep", SweepSchema},     {"trace", TraceSchema},
    {"validate", ValidateSchema}, {"watch", WatchSchema},
};

}  // namespace

std::span<const SchemaRow> AnswerSchemas() { return kSchemas; }

}  // namespace vramplan
