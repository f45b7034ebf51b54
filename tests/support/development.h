// Development: the files that rules were written with (tests/data/zoo, pt2, adapters), each with a row of PyTorch's own
// counters for every mode, precision and length: the one with the largest batch.
#pragma once

#include <string>
#include <vector>

#include "tests/support/truth.h"

namespace vramplan::testing {

struct DevelopmentFile {
  std::string name, path;  // "t5_small.dynamo-train", "t5_small.pt2"
  std::vector<Row> rows;
};
std::vector<DevelopmentFile> DevelopmentFiles();

// Of each row, how far the requested peak of its worst step is from the truth, as a share of it; 1: no answer.
std::vector<double> ErrorsOf(const DevelopmentFile& file);

}  // namespace vramplan::testing
