#include "tests/support/memory_log.h"

#include <algorithm>

#include "graph/base/check.h"

namespace vramplan::testing {

void MemoryLog::Write(BlockId block, const std::string& what) {
  const std::string& name = names_.at(block.value);
  if (name.empty()) return;
  text_ += (text_.empty() ? "" : " ") + name + what;
}

BlockId MemoryLog::Allocate(SizeExpr bytes, Category category, const Origin& origin) {
  const BlockId block{born_++};
  std::string name;
  if (!next_.empty()) {
    name = next_.front();
    next_.erase(next_.begin());
  } else {
    name = std::to_string(++unnamed_);
  }
  names_[block.value] = name;
  alive_[block.value] = true;
  asked.push_back(name + " " + std::string(Name(category)) + " " + origin.op);
  Write(block, "+" + std::to_string(bytes.At(batch_).count()));
  return block;
}

void MemoryLog::Free(BlockId block) {
  VRAMPLAN_CHECK(alive_.at(block.value));  // dies once
  alive_[block.value] = false;
  Write(block, "-");
}

void MemoryLog::Retag(BlockId block, Category category) {
  VRAMPLAN_CHECK(alive_.at(block.value));
  Write(block, category == Category::kGradients ? "=.grad" : "=" + std::string(Name(category)));
}

std::string MemoryLog::Take() {
  std::string text;
  text.swap(text_);
  return text;
}

std::string MemoryLog::Alive(const std::vector<std::string>& without) const {
  std::string text;
  for (const auto& [block, alive] : alive_) {
    const std::string& name = names_.at(block);
    if (!alive || name.empty() || std::find(without.begin(), without.end(), name) != without.end()) continue;
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

}  // namespace vramplan::testing
