// Skipped masks: transformers looks at a mask's values before it passes one to attention and skips those that hide
// nothing or only the future; torch.export cannot look, so the exported graph has masks that never exist in training
// (transformers 5.23, masking_utils.py, _ignore_causal_mask_sdpa and _ignore_bidirectional_mask_sdpa).
//
//   in the file                                               in eager
//   sdpa(q, k, v, le(key, query) [B, 1, 128, 128])            sdpa(q, k, v, is_causal=True)
//   k = repeat_kv(k); sdpa(q, k, v, ...)                      sdpa(q, k, v, ..., enable_gqa=True), without a mask
//   where(ge(query, 0), bias, -inf)                           bias
//   where(le(key, query), bias, -inf)                         the same, compared anew in each call
#pragma once

#include "graph/base/note.h"
#include "graph/layers/layers.h"

namespace vramplan {

// Only in calls of classes of transformers: others pass what they made. Where a file has lost the names of classes
// (`nameless`), a mask that was computed from positions and has an axis for batch and heads each is taken as theirs.
// What the names of folded constants alone tell is noted.
void SkipKnownMasks(Layers* layers, bool nameless = false, Notes* notes = nullptr);

// scaled_dot_product_attention wants the last axis of a mask dense, and code that makes a bias by permute writes
// .contiguous() behind it (transformers' create_position_bias_mask, torchvision's and timm's window attention), which
// no exporter keeps: a permuted mask is made contiguous in front of the call.
void MakeMasksContiguous(Layers* layers);

// The same of window attention's position bias, table[index].reshape(n, n, heads).permute(2, 0, 1).contiguous(), in
// torchvision, timm, transformers and monai alike: the name of the table tells.
void MakePositionBiasesContiguous(Layers* layers);

}  // namespace vramplan
