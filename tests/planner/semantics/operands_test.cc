#include "planner/semantics/operands.h"

#include <doctest/doctest.h>

#include "tests/support/memory_log.h"
#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

// What becomes of one layer on tensors of these sizes: "fits", or the note of RunUnknown.
std::string Run(const char* op, Attributes attributes, const std::vector<Shape>& inputs, const Shape& output) {
  MemoryLog log;
  const TrainingSpec spec = SpecFromWords("");
  Notes notes;
  eager::Eager e(log, spec, 1, &notes);
  Layers layers;
  layers.values.push_back({"y", DType::kFloat32, output, Role::kActivation});
  Layer layer;
  layer.op = op;
  layer.attributes = std::move(attributes);
  layer.outputs = {ValueId{0}};
  std::vector<eager::Tensor> tensors;
  for (const Shape& sizes : inputs) {
    tensors.push_back(e.Empty(sizes, DType::kFloat32));
    tensors.back()->requires_grad = true;
  }
  eager::Call call(e, layers, layer, std::move(tensors));
  RunCall(eager::FindRule(op), call);
  CHECK(static_cast<bool>(call.outputs[0]));
  return notes.all().empty() ? "fits" : notes.all()[0].text.substr(0, notes.all()[0].text.find(':'));
}

Attributes With(const char* name, AttributeValue value) {
  Attributes attributes;
  attributes.Set(name, std::move(value));
  return attributes;
}

TEST_CASE("a layer that does not look as its rule expects runs as unknown, and says so") {
  const std::string misfit = " has operands that its memory rule does not expect";
  CHECK(Run("bmm", {}, {{4, 8, 16}, {4, 16, 8}}, {4, 8, 8}) == "fits");
  CHECK(Run("bmm", {}, {{4, 8, 16}, {16, 8}}, {4, 8, 8}) == "operator bmm" + misfit);
  CHECK(Run("bmm", {}, {{4, 3, 8, 16}, {4, 3, 16, 8}}, {4, 3, 8, 8}) == "operator bmm" + misfit);
  CHECK(Run("bmm", {}, {{4, 8, 16}}, {4, 8, 8}) == "operator bmm" + misfit);
  CHECK(Run("conv2d", {}, {{4, 8}, {4, 8, 3, 3}}, {4, 8}) == "operator conv2d" + misfit);
  CHECK(Run("batch_norm", {}, {{4}}, {4}) == "operator batch_norm" + misfit);
  CHECK(Run("softmax", With("dim", int64_t{3}), {{4, 8}}, {4, 8}) == "operator softmax" + misfit);
  CHECK(Run("sum", With("dim", std::vector<int64_t>{-3}), {{4, 8}}, {4}) == "operator sum" + misfit);
  CHECK(Run("permute", With("dims", std::vector<int64_t>{1, 0}), {{4, 8}}, {8, 4}) == "fits");
  CHECK(Run("permute", With("dims", std::vector<int64_t>{1, 1}), {{4, 8}}, {8, 4}) == "operator permute" + misfit);
  CHECK(Run("cat", With("dim", int64_t{0}), {{4, 8}, {4, 8, 1}}, {8, 8}) == "operator cat" + misfit);
  CHECK(Run("stack", With("dim", int64_t{2}), {{4, 8}, {4, 8}}, {4, 8, 2}) == "fits");
  CHECK(Run("max_pool2d", {}, {{4, 8, 6, 6}}, {4, 8}) == "operator max_pool2d" + misfit);
  CHECK(Run("relu", {}, {}, {4}) == "operator relu" + misfit);
  CHECK(Run("einsum", With("equation", std::string("ij,jk->ik")), {{4, 8}, {8, 6}}, {4, 6}) == "fits");
  CHECK(Run("einsum", With("equation", std::string("ij,jk->iz")), {{4, 8}, {8, 6}}, {4, 6}) ==
        "operator einsum has an equation that does not fit its operands");
  CHECK(Run("none such", {}, {{4}}, {4}) == "operator none such has no memory rule");
}

}  // namespace
}  // namespace vramplan::testing
