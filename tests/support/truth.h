// Truth: rows of the tables that PyTorch's own counters filled, and the way from a row to our estimate of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/layers/layers.h"
#include "planner/allocator/replay.h"
#include "planner/spec/spec.h"

namespace vramplan::testing {

// One row of a CSV file, by column.
using Row = std::map<std::string, std::string>;
std::vector<Row> ReadCsv(const std::string& path);  // also .gz. A file that is not there fails the test

std::string DataFolder();  // the repository's tests/data

int64_t Count(const Row& row, const std::string& column);  // -1 when the cell is empty

// The spec of a row of truth/pytorch.csv or truth/checkpoint.csv. Nothing: a configuration that Schedule does not lay
// out yet.
std::optional<TrainingSpec> SpecOf(const Row& row);

// Load, Bind, Infer, and what the runtime makes of it (PyTorch: Lift). `dims` as in the table: "sequence=128;size=64".
Result<Layers> LayersOf(const std::string& path, const std::string& dims, Notes* notes = nullptr,
                        Runtime runtime = Runtime::kPyTorch);

}  // namespace vramplan::testing
