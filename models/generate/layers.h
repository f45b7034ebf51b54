// PyTorch modules and functions as the TorchScript exporter writes them in training mode: which operators, in which
// order, with which constants. Each function takes the module (or, for a function, the module that calls it) and gives
// its output.
#pragma once

#include <cstdint>
#include <vector>

#include "models/generate/module_writer.h"

namespace vramplan::models {

struct Conv {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, padding = 0;
};
Value Conv2d(const Module& m, const Value& x, const Conv& conv);  // without bias, as before a BatchNorm
Value Conv2dWithBias(const Module& m, const Value& x, const Conv& conv);
Value ConvTranspose2d(const Module& m, const Value& x, const Conv& conv);  // with bias
Value BatchNorm2d(const Module& m, const Value& x, int64_t channels);
Value MaxPool2d(const Module& m, const Value& x, int64_t kernel, int64_t stride, int64_t padding);

// nn.Linear on a matrix is one Gemm; on [batch, sequence, features] it is Transpose, MatMul, Add.
Value LinearOnMatrix(const Module& m, const Value& x, int64_t in, int64_t out);
Value LinearOnSequence(const Module& m, const Value& x, int64_t in, int64_t out);
Value Project(const Module& m, const Value& x, const Value& weight);  // without bias, the weight given

Value Embedding(const Module& m, const Value& indices, int64_t count, int64_t features);
Value LayerNorm(const Module& m, const Value& x, int64_t features, float epsilon);
Value Dropout(const Module& m, const Value& x, float ratio);
Value Gelu(const Module& m, const Value& x);  // by erf

// The shape arithmetic that dynamic axes leave in a graph.
Value SizeOf(const Module& m, const Value& x, int64_t axis);     // x.size(axis)
Value Slice(const Module& m, const std::vector<Value>& inputs);  // data, starts, ends, axes, steps
enum class Scoped { kYes, kNo };                                 // whether its constants carry the module's path
Value StackSizes(const Module& m, const std::vector<Value>& sizes, Scoped scoped);  // scalars into one shape vector
Value ExpandTo(const Module& m, const Value& x, const Value& shape);                // x.expand(shape), -1 kept
Value Reshape(const Module& m, const Value& x, const Value& shape);
Value Transpose(const Module& m, const Value& x, const Dims& permutation);
Value Cast(const Module& m, const Value& x, onnx::TensorProto_DataType type);

}  // namespace vramplan::models
