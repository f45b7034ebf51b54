#include <doctest/doctest.h>

#include <string>

#include "graph/layers/trained.h"
#include "graph/lift/recorded/recorded.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// A file whose lists are: parameters head.weight, offset; buffers mean. A layer reads head.weight and offset.
struct File {
  LayersByHand hand;
  ValueId head, offset, mean;
  File() {
    const Shape matrix{4, 8};
    head = Stored("head.weight", matrix, Role::kParameter);
    offset = Stored("offset", Shape{8}, Role::kParameter);
    mean = Stored("mean", Shape{8}, Role::kBuffer);
    hand.layers.parameters = {head, offset};
    hand.layers.buffers = {mean};
    hand.layers.outputs = {hand.Add("linear", {hand.Input("x", {Dim::Batch(), 8}), head, offset}, {Dim::Batch(), 4})};
  }
  ValueId Stored(const char* name, const Shape& shape, Role role) {
    return hand.layers.Add({name, DType::kFloat32, shape, role});
  }
  // "head.weight, pos | mean; frozen: pos": what is on the card.
  std::string Taking(std::vector<RecordedTensor> parameters, std::vector<RecordedTensor> buffers) {
    Facts facts;
    facts.parameters = std::move(parameters);
    facts.buffers = std::move(buffers);
    Layers& layers = hand.layers;
    TakeRecordedTensors(facts, &layers);
    std::string text, frozen;
    for (const ValueId id : layers.parameters) {
      text += layers[id].name + " ";
      if (!IsTrained(layers, id)) frozen += " " + layers[id].name;
    }
    text += "|";
    for (const ValueId id : layers.buffers) text += " " + layers[id].name;
    return text + ";" + frozen;
  }
};

const RecordedTensor kHead{"head.weight", DType::kFloat32, {4, 8}, true, ""};
const RecordedTensor kOffset{"offset", DType::kFloat32, {8}, true, ""};
const RecordedTensor kMean{"mean", DType::kFloat32, {8}, true, ""};

TEST_CASE("tensors of the facts: the same as the file's") {
  File file;
  CHECK(file.Taking({kHead, kOffset}, {kMean}) == "head.weight offset | mean;");
  CHECK(file.hand.layers.told.tensors);
}

TEST_CASE("tensors of the facts: what the file calls a parameter is a buffer, what is frozen has no gradient") {
  RecordedTensor frozen = kHead;
  frozen.trained = false;
  CHECK(File().Taking({frozen}, {kMean, kOffset}) == "head.weight | mean offset; head.weight");
}

TEST_CASE("tensors of the facts: what the file lost is added") {
  const RecordedTensor lost{"count", DType::kInt64, {}, true, ""};
  CHECK(File().Taking({kHead, kOffset}, {kMean, lost}) == "head.weight offset | mean count;");
}

TEST_CASE("tensors of the facts: one tensor under two names is one") {
  File file;
  const RecordedTensor embed{"embed.weight", DType::kFloat32, {4, 8}, true, ""};
  const RecordedTensor head{"head.weight", DType::kUndefined, {}, true, "embed.weight"};
  CHECK(file.Taking({embed, kOffset, head}, {kMean}) == "embed.weight offset | mean;");
  const ValueId read = file.hand.layers.layers[0].inputs[1];
  CHECK(file.hand.layers[read].name == "embed.weight");
}

TEST_CASE("tensors of the facts: a matrix that an exporter renamed") {
  File file;
  file.hand.layers.values[file.head.index()].name = "onnx::MatMul_7";
  file.hand.layers.values[file.head.index()].shape = Shape{8, 4};
  CHECK(file.Taking({kHead, kOffset}, {kMean}) == "onnx::MatMul_7 offset | mean;");
}

TEST_CASE("tensors of the facts: a table that is none of them is made in the forward") {
  File file;
  const ValueId table = file.Stored("val_3", Shape{8}, Role::kConstant);
  file.hand.layers.layers[0].inputs[2] = table;
  file.Taking({kHead, kOffset}, {kMean});
  CHECK(OperatorsOf(file.hand.layers) == "arange linear");
  CHECK(file.hand.layers.layers[0].outputs == std::vector<ValueId>{table});
  CHECK(file.hand.layers[table].role == Role::kActivation);
}

TEST_CASE("no list of tensors: the file's stay") {
  File file;
  Facts facts;
  TakeRecordedTensors(facts, &file.hand.layers);
  CHECK(!file.hand.layers.told.tensors);
  CHECK(file.hand.layers.parameters == std::vector<ValueId>{file.head, file.offset});
}

}  // namespace
}  // namespace vramplan
