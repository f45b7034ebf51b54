// Look: files of held-out models, asked as a user asks and judged against PyTorch's own counters. What is off must have
// been said: an assumption with two ends that hold the truth (told), a warning (warned), or what the file cannot say
// and what was taken for it, without a size (named). Named counts only where another export of the same model, or the
// number of its parameters, proves that this is the cause. What is off without any of it is silent.
//
//   Look look = LookAt("tests/data/unseen", 1);   look.All(kIsRight), look.All(kIsSilent) ...
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/packed_models.h"
#include "tests/support/truth.h"

namespace vramplan::testing {

enum Class : uint8_t { kIsRight, kIsTold, kIsWarned, kIsNamed, kIsSilent, kIsRefused };
inline constexpr std::array<const char*, 6> kClasses = {"right", "told", "warned", "named", "silent", "refused"};
using Counts = std::array<int, kClasses.size()>;

struct Look {
  std::map<std::string, Counts> counts;  // by kind of file, and of all
  std::set<std::string> models;
  std::vector<double> apart;                                 // of told answers: the two ends, as a share of the truth
  std::vector<std::pair<std::string, std::string>> answers;  // the question, and what was not right about its answer

  int All(Class kind) const;
  int All() const;
  void Add(const Look& other);
};

// Asks each file of one row's model about it. An assumption that graph/base/ablation.h leaves out is not told.
Look LookAtRow(PackedModels& files, const Row& row);

// The requested peak that each file of the row's model is likely to have, and the codes of what was told with it.
struct Likely {
  std::vector<int64_t> requested;
  std::set<std::string> codes;
};
Likely LikelyOf(PackedModels& files, const Row& row);

// Asks each file of `folder`/models about each row of `folder`/truth.csv, or of every so many rows.
Look LookAt(const std::string& folder, size_t every);

// A line of shares for each kind of file, and one for all; what the ends of told answers are apart.
std::string SummaryOf(const Look& look);

}  // namespace vramplan::testing
