// A uses over a folder of ONNX models, each beside what it is known to give: the stored outputs of its data sets
// (output_*.pb) and what the ONNX library's own strict shape inference says.
//
//   node/test_add/model.onnx, test_data_set_0/{input_0,input_1,output_0}.pb   ->   complete
//
// Declarations of the file beyond its inputs are taken away first: what is compared is what the rules find.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vramplan::testing {

enum class Verdict {
  kComplete,  // type and shape of every output, and they are right
  kPartial,   // something of an output is not known that could be
  kByDesign,  // what is not known, only values of tensors tell (NonZero, Reshape to an input)
  kWrong,     // does not load, or infers another shape or type than is known
};

struct WalkedModel {
  std::string name;  // relative to the folder
  Verdict verdict = Verdict::kComplete;
  std::string why;  // empty when complete
};

struct Uses {
  std::vector<WalkedModel> models;
  int strict = 0;   // outputs whose concrete shape by ONNX's strict inference was compared
  int stored = 0;   // stored outputs that were compared
  int told = 0;     // models unknown by design that are complete, and right, once their small inputs are constants
  int untold = 0;   // those that are not
  int bounded = 0;  // lengths of stored outputs that were compared with the bounds of what data decides

  int Count(Verdict verdict) const;
  // "1060 complete, 2 partial, 10 unknown by design, 0 wrong of 1072; compared ..."
  std::string Summary() const;
};

// All model files (*.onnx) below `folder`, in the order of their names.
Uses WalkModels(const std::filesystem::path& folder);

}  // namespace vramplan::testing
