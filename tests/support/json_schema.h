// Answers against the schemas of docs/schemas: the subset of JSON Schema 2020-12 that they use. A schema with any other
// keyword is a violation itself, so that nothing in it goes unchecked.
//
//   {"type": "object", "properties": {"batch": {"type": "integer"}}, "additionalProperties": false}
//   {"batch": 8, "size": 1}      "/size: is not in the schema"
#pragma once

#include <string>

#include "planner/report/writing/json.h"

namespace vramplan::testing {

// Where a value is not as the schema has it, and why; empty: it is.
std::string ViolationOf(const Json& schema, const Json& value);

// The same for the text of an answer, by the schema that it names: docs/schemas/estimate.schema.json for
// "vramplan.estimate/1". Empty also for a text that names none.
std::string ViolationOfAnswer(const std::string& text);

}  // namespace vramplan::testing
