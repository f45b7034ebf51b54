// Operators that an exporter took apart and that neither a module's class nor one node names: put back by their form.
//
//   dynamo (torch/_decomp/decompositions.py, torch/_refs, PyTorch 2.10)
//     upsample_linear1d(x)      add(index a of x, mul(sub(index b of x, index a of x), weights))
//     _upsample_nearest_exact   one unchecked index over the last axes
//     adaptive_avg_pool2d(x)    mean of index of x by windows; where they differ, a sum of selects of it, divided
//     affine_grid(theta)        reshape(sum(mul(base grid, unsqueeze(transpose(theta)))))
//     max_unpool2d(x, places)   reshape(index_put(zeros, add(places, mul(arange)), x))
//     alpha_dropout(x)          add(mul(x, mul(noise)), add(mul(add(noise))))
//   TorchScript (torch/onnx/symbolic_opset9.py and later, PyTorch 2.10)
//     unfold(x)                 cat(unsqueeze(transpose(slice(x))), ...), a slice for each window
//     pad(x), circular          cat(slice from the end, x, slice from the beginning), axis by axis
//     var(x), std(x)            mean(mul(d, d)), d = sub(x, mean(x)), perhaps times n / (n - 1)
//     cosine_similarity(x, y)   div(sum(mul(x, y)), maximum(sqrt(mul(sum(mul(x, x)), sum(mul(y, y)))), eps))
//     flip(x)                   slices with a step of -1
//     im2col(x)                 reshape(transpose(index(index(pad(x)))))
//     batch_norm(x, w, b)       without running statistics: with those of the batch, as nodes
//     log_sigmoid, logit, log1p, any, hardshrink, softshrink, rrelu; max pools and max(dim) whose indices are read;
//     local_response_norm
//     cdist(a, b), p            pow(sum(pow(sub(unsqueeze(a), unsqueeze(b)), p)), 1 / (p + 1e-6))
//   both
//     nan_to_num(x)             where or masked_fill, three times
//     cdist(a, b)               sqrt(clamp(matmul(cat(mul(a), sum(a ** 2), ones), cat(b, ones, sum(b ** 2)))))
#pragma once

#include "graph/base/note.h"
#include "graph/layers/layers.h"

namespace vramplan {

void GatherDecomposedCalls(Layers* layers);

// A TorchScript file writes amax(dim) and max(dim)[0] alike. The note says as which it was taken.
bool IsAmbiguousMaximum(const Layer& layer);
void NoteMaxima(const Layers& layers, Notes* notes);

}  // namespace vramplan
