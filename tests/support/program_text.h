// Files of torch.export.save, written inside a test: the JSON of a program, and the zip archive around it.
//
//   ProgramText program;
//   program.Parameter("p_fc_weight", "fc.weight", "4, 8");
//   program.Input("x", "s0, 8");
//   program.Call("torch.ops.aten.linear.default", {Operand("input", "x"), Operand("weight", "p_fc_weight")}, "linear", "s0, 4");
//   program.Returns("linear");
//   const std::string bytes = program.Archive();
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vramplan::testing {

// A zip archive of these entries, stored or deflated.
std::string ZipOf(const std::vector<std::pair<std::string, std::string>>& entries, bool deflated = false);

// Arguments of a call, as JSON.
std::string Argument(const std::string& name, const std::string& json, bool keyword = false);
std::string Operand(const std::string& name, const std::string& tensor);
std::string Operands(const std::string& name, const std::vector<std::string>& tensors);
std::string Int(const std::string& name, int64_t value);
std::string Real(const std::string& name, double value);
std::string Flag(const std::string& name, bool value);
std::string Ints(const std::string& name, const std::vector<int64_t>& values);
std::string Absent(const std::string& name);

class ProgramText {
 public:
  // `dims`: "s0, 3, 8": numbers, symbols, and expressions as srepr prints them.
  void Parameter(const std::string& placeholder, const std::string& target, const std::string& dims,
                 bool trained = true);
  void Buffer(const std::string& placeholder, const std::string& target, const std::string& dims, int dtype = 7);
  void Constant(const std::string& placeholder, const std::string& target, const std::string& dims);
  void Input(const std::string& name, const std::string& dims, int dtype = 7);
  void Call(const std::string& target, const std::vector<std::string>& arguments, const std::string& output,
            const std::string& dims, const std::string& modules = "", const std::string& called_as = "",
            const std::string& line = "");
  void CallOfSeveral(const std::string& target, const std::vector<std::string>& arguments,
                     const std::vector<std::pair<std::string, std::string>>& outputs);
  // A call of a higher-order operator around the calls of `body`, whose inputs have these names; `before`: arguments in
  // front of the body.
  void Wrapped(const std::string& target, const std::vector<std::string>& before, const ProgramText& body,
               const std::vector<std::string>& given, const std::vector<std::string>& outputs);
  void Returns(const std::string& name) { outputs_.push_back(name); }
  void Describe(const std::string& name, const std::string& dims, int dtype = 7, bool requires_grad = false);

  std::string Json() const;
  // As PyTorch 2.8 and later lay it out; `more` are further entries.
  std::string Archive(const std::vector<std::pair<std::string, std::string>>& more = {}, bool deflated = false) const;

 private:
  std::string Graph() const;
  std::vector<std::string> specs_, graph_inputs_, nodes_, tensors_, outputs_;
};

}  // namespace vramplan::testing
