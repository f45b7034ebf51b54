// What the aten schema alone does not say about a call: lists of the right length, axes counted from the front, calls
// that did nothing. Used by the table in aten.cc. Operands and outputs of the call are resolved when these run.
#pragma once

#include "graph/programs/aten.h"

namespace vramplan {

// conv2d(.., 1, 0) -> stride [1, 1], padding [0, 0], kernel_size from the weight; convolution -> conv2d or
// conv_transpose2d.
void ShapeConvolution(AtenCall& call, const LayerBuilder& builder);
void ShapePool(AtenCall& call, const LayerBuilder& builder);
void ShapeBatchNormInference(AtenCall& call, const LayerBuilder& builder);
void ShapeBatchNormWithoutStatistics(AtenCall& call, const LayerBuilder& builder);
void ShapeLayerNorm(AtenCall& call, const LayerBuilder& builder);
// dim, dim0, dim1 and dims: -1 -> rank - 1.
void ShapeDims(AtenCall& call, const LayerBuilder& builder);
void ShapeDiagonal(AtenCall& call, const LayerBuilder& builder);
void ShapeTranspose(AtenCall& call, const LayerBuilder& builder);
void ShapeSlice(AtenCall& call, const LayerBuilder& builder);
void ShapePad(AtenCall& call, const LayerBuilder& builder);
void ShapeReflect(AtenCall& call, const LayerBuilder& builder);
void ShapeReplicate(AtenCall& call, const LayerBuilder& builder);
void ShapeUncheckedIndex(AtenCall& call, const LayerBuilder& builder);
void ShapeUnfold(AtenCall& call, const LayerBuilder& builder);
void ShapeAlias(AtenCall& call, const LayerBuilder& builder);
void ShapeClone(AtenCall& call, const LayerBuilder& builder);
void ShapeTo(AtenCall& call, const LayerBuilder& builder);
void ShapePromotion(AtenCall& call, const LayerBuilder& builder);
void ShapeBroadcast(AtenCall& call, const LayerBuilder& builder);
void ShapePow(AtenCall& call, const LayerBuilder& builder);
void ShapeDropout(AtenCall& call, const LayerBuilder& builder);
// slice_scatter is what functionalisation makes of `x[a:b] = v` (torch/_functorch, PyTorch 2.10): the program wrote in
// place.
void ShapeWriteInPlace(AtenCall& call, const LayerBuilder& builder);
void ShapeLoss(AtenCall& call, const LayerBuilder& builder);
void ShapeRecurrent(AtenCall& call, const LayerBuilder& builder);

}  // namespace vramplan
