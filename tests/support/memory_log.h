// MemoryLog: a Memory that writes down what the rules ask of it, so that tests compare whole event lists as text:
//
//   "1+8192 2+512 2- 1=.grad"   block 1 of 8192 B is born, block 2 of 512 B, block 2 dies, block 1 becomes a gradient
//
// Blocks are numbered in order of birth from the last Restart; those named by Call(...) keep their name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "planner/semantics/memory.h"

namespace vramplan::testing {

class MemoryLog : public Memory {
 public:
  explicit MemoryLog(int64_t batch = 1) : batch_(batch) {}

  BlockId Allocate(SizeExpr bytes, Category category, const Origin& origin) override;
  void Free(BlockId block) override;
  void Retag(BlockId block, Category category) override;

  // The name of the next births, in order; an empty name keeps a block out of the text.
  void CallNext(std::string name) { next_.push_back(std::move(name)); }
  // Names a living block.
  void Call(BlockId block, std::string name) { names_[block.value] = std::move(name); }

  // The events since the last Take, and forgets them.
  std::string Take();
  // Names of what is alive, in order of birth, without those whose name is in `without`.
  std::string Alive(const std::vector<std::string>& without = {}) const;
  // Names, categories and operators of the births, for tests of who asks: "1 activations aten::mm".
  std::vector<std::string> asked;

 private:
  void Write(BlockId block, const std::string& what);
  int64_t batch_;
  int32_t born_ = 0, unnamed_ = 0;
  std::vector<std::string> next_;
  std::map<int32_t, std::string> names_;
  std::map<int32_t, bool> alive_;
  std::string text_;
};

}  // namespace vramplan::testing
