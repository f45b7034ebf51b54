// Writes: x[a:b] += y and x[a:b] = y are one call in eager; export makes them functional, a slice of x, a new part, and
// one slice_scatter for each axis on the way back:
//
//   s1 = slice(x); s2 = slice(s1); r = add(s2, y)
//   t1 = slice_scatter(s1, r); t0 = slice_scatter(x, t1)        ->   s1, s2 (views); t0 = slice_scatter(x, y)
//   update=add u = slice(t0); ... slice_scatter(t0, u)                     ->   t0: a part put back where it came from
//   slice_scatter(x, number)                                    ->   t0 = slice_scatter(x, -) update=fill
//
// The vocabulary's slice_scatter with inplace 1 is then the one call; "update" says what it did: add, sub, mul, div,
// fill, or copy.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void GatherWrites(Layers* layers);

}  // namespace vramplan
