// Expectation: what vramplan is known to say of each measured row, kept as text in tests/accuracy/expected/NAME.txt, so
// that a change of any value fails until the file is written anew on purpose, and shows in the review:
//
//   ts-train batch 8, fp32 adam/foreach, pytorch@2.10, capability 7.5: exact
//   ts-train batch 8, fp32 sgd/foreach, pytorch@2.10, capability 7.5:
//     step 2 reserved: truth 864026624, ours 843055104, difference -20971520 (-2.427 %)
//
// Invariant: a row without lines below it is the truth in every value that was measured.
// VRAMPLAN_ACCURACY=update writes the files; any other value is an error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace vramplan::testing {

struct Measured {
  std::string value;  // "step 2 reserved"
  int64_t truth = 0, ours = 0;
  double Error() const { return static_cast<double>(ours - truth) / static_cast<double>(truth); }
};

class Expectation {
 public:
  explicit Expectation(std::string name) : name_(std::move(name)) {}

  // The row's values; those that are the truth leave no line. CHECKs that a row is added once.
  void Add(const std::string& row, const std::vector<Measured>& values);
  // The same with lines of the caller's: nothing measured in bytes, but as much a part of what is expected.
  void AddLines(const std::string& row, const std::vector<std::string>& lines);

  // Compares with the file, or writes it. `all` is false when only some of the file's rows were run.
  void Check(bool all = true) const;

 private:
  std::string name_;
  std::vector<std::pair<std::string, std::string>> rows_;  // in order of Add: row, and all its lines
};

// True when VRAMPLAN_ACCURACY says so, or VRAMPLAN_GOLDEN for golden files. A value other than "update" fails the test.
bool UpdatesExpectations();
bool UpdatesGolden();

// A text that is kept in tests/accuracy/expected as a whole, such as a summary.
void CheckWhole(const std::string& name, const std::string& text);

}  // namespace vramplan::testing
