// The schemas of docs/schemas, which are in the program.
#pragma once

namespace vramplan {

extern const char* const kFitSchema;
extern const char* const kPlanSchema;
extern const char* const kRecordSchema;
extern const char* const kExplainSchema;
extern const char* const kModelsSchema;
extern const char* const kGpusSchema;

}  // namespace vramplan
