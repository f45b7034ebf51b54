// RecordingMemory: what rules ask for, as text. OperatorBench: one operator on a card, without a model.
//
//   OperatorBench bench;                                             // fp32, T4, PyTorch 2.10
//   Tensor x = bench.Parameter({4, 6});                              // not recorded
//   Tensor y = bench.Run("relu", {x});
//   CHECK(bench.Take() == "+96");                                    // requests in bytes, in order; a free is "-"
//   bench.Backward(y);
//   CHECK(bench.Take() == "+96 +96 -96");                            // the arriving gradient, then as PyTorch
#pragma once

#include <string>
#include <vector>

#include "planner/semantics/eager.h"
#include "planner/semantics/memory.h"
#include "planner/semantics/table.h"
#include "planner/timeline/backward.h"

namespace vramplan {

class RecordingMemory : public Memory {
 public:
  explicit RecordingMemory(int64_t batch = 1) : batch_(batch) {}

  BlockId Allocate(SizeExpr bytes, Category, const Origin&) override {
    sizes_.push_back(bytes.At(batch_).count());
    Write("+" + std::to_string(sizes_.back()));
    return BlockId{static_cast<int32_t>(sizes_.size()) - 1};
  }
  void Free(BlockId block) override { Write("-" + std::to_string(sizes_[static_cast<size_t>(block.value)])); }
  void Retag(BlockId, Category) override {}

  // What happened since the last call.
  std::string Take() { return std::exchange(text_, std::string()); }

 private:
  void Write(const std::string& event) { text_ += (text_.empty() ? "" : " ") + event; }
  int64_t batch_;
  std::vector<int64_t> sizes_;
  std::string text_;
};

struct BenchCard {
  Capability capability{7, 5};
  int multiprocessors = 40;
};

class OperatorBench {
 public:
  using Tensor = eager::Tensor;

  explicit OperatorBench(BenchCard card = {}, Precision precision = Precision::kFp32, Framework framework = {2, 10})
      : eager(memory, Spec(card, precision, framework), 1, nullptr) {}

  // A leaf with a gradient; one without; memory that was there before is not recorded.
  Tensor Parameter(const Shape& sizes, DType type = DType::kFloat32) {
    Tensor t = Constant(sizes, type);
    t->requires_grad = true;
    return t;
  }
  Tensor Constant(const Shape& sizes, DType type = DType::kFloat32) {
    Tensor t = eager.Empty(sizes, type);
    memory.Take();
    return t;
  }

  // The first output of a row of the table; `sizes` as shape inference would give them (by default the first input's).
  Tensor Run(const char* op, const std::vector<Tensor>& inputs, Shape sizes = {}, Attributes attributes = {},
             size_t outputs = 1) {
    const eager::OpRule* rule = eager::FindRule(op);
    VRAMPLAN_CHECK(rule != nullptr);
    Layers layers;
    Layer layer;
    layer.op = op;
    layer.attributes = std::move(attributes);
    for (size_t i = 0; i < outputs; ++i) {
      layers.values.push_back({"output", DType::kFloat32, sizes.rank() == 0 && !scalar ? inputs[0]->sizes : sizes});
      layer.outputs.push_back(ValueId{static_cast<int32_t>(i)});
    }
    eager::Call call(eager, layers, layer, inputs);
    rule->run(call);
    others = {call.outputs.begin() + 1, call.outputs.end()};
    return call.outputs[0];
  }

  void Backward(const Tensor& output) { vramplan::Backward(eager, output); }
  std::string Take() { return memory.Take(); }

  RecordingMemory memory;
  eager::Eager eager;
  std::vector<Tensor> others;  // further outputs of the last Run
  bool scalar = false;         // the next outputs have no axes

 private:
  static TrainingSpec Spec(BenchCard card, Precision precision, Framework framework) {
    TrainingSpec spec;
    spec.precision = precision;
    spec.framework = framework;
    spec.capability = card.capability;
    spec.multiprocessors = card.multiprocessors;
    return spec;
  }
};

}  // namespace vramplan
