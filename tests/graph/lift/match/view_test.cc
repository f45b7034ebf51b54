#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("views: names, axes, and what sizes they are made of") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4, 6] x) => (float[batch, 24] y) {
      i0 = Constant <value = int64 {0}> ()
      ax0 = Constant <value = int64[1] {0}> ()
      rest = Constant <value = int64[1] {-1}> ()
      t = Transpose <perm = [0, 2, 1]> (x)
      u = Unsqueeze (t, ax0)
      p = Transpose <perm = [1, 2, 0, 3]> (u)
      f = Flatten <axis = 1> (p)
      s = Shape (x)
      b = Gather (s, i0)
      bs = Unsqueeze (b, ax0)
      target = Concat <axis = 0> (bs, rest)
      y = Reshape (f, target)
    })") == Lines{"transpose(x) -> [B, 6, 4] dim0=1 dim1=2", "unsqueeze(t) -> [1, B, 6, 4]",
                  "permute(u) -> [B, 6, 1, 4] dims=[1,2,0,3]", "reshape(p) -> [B, 24]", "reshape(f) -> [B, 24]"});
}

TEST_CASE("a Slice of two axes is two slices") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4, 6] x) => (float[batch, 2, 3] y) {
      starts = Constant <value = int64[2] {1, 0}> ()
      ends = Constant <value = int64[2] {3, 6}> ()
      axes = Constant <value = int64[2] {1, 2}> ()
      steps = Constant <value = int64[2] {1, 2}> ()
      y = Slice (x, starts, ends, axes, steps)
    })") ==
        Lines{"slice(x) -> [B, 2, 6] dim=1 start=1 step=1", "slice(Slice_4.slice) -> [B, 2, 3] dim=2 start=0 step=2"});
}

TEST_CASE("pieces of a sequence are views: split's, or unbind's where their axis is gone") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4, 6] x) => (float[batch, 2, 6] y, float[batch, 6] z) {
      i0 = Constant <value = int64 {0}> ()
      i1 = Constant <value = int64 {1}> ()
      two = Constant <value = int64 {2}> ()
      pieces = SplitToSequence <axis = 1> (x, two)
      a = SequenceAt (pieces, i0)
      b = SequenceAt (pieces, i1)
      y = Add (a, b)
      rows = SplitToSequence <axis = 1, keepdims = 0> (x)
      row = SequenceAt (rows, i1)
      z = Relu (row)
    })") == Lines{"split(x) -> [B, 2, 6] [B, 2, 6] dim=1", "add(a, b) -> [B, 2, 6]", "unbind(x) -> [B, 6] dim=1",
                  "relu(row) -> [B, 6]"});
}

TEST_CASE("torch.chunk ends each part where the next starts; hand-written slices have two numbers") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 2] y) {
      one = Constant <value = int64[1] {1}> ()
      two = Constant <value = int64[1] {2}> ()
      zero = Constant <value = int64[1] {0}> ()
      s = Shape (x)
      n = Gather (s, one)
      half = Div (n, two)
      all = Mul (half, two)
      a = Slice (x, zero, half, one)
      b = Slice (x, half, all, one)
      y = Add (a, b)
    })") == Lines{"split(x) -> [B, 2] [B, 2] dim=1", "add(a, b) -> [B, 2]"});
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 2] y) {
      one = Constant <value = int64[1] {1}> ()
      two = Constant <value = int64[1] {2}> ()
      four = Constant <value = int64[1] {4}> ()
      zero = Constant <value = int64[1] {0}> ()
      a = Slice (x, zero, two, one)
      b = Slice (x, two, four, one)
      y = Add (a, b)
    })") == Lines{"slice(x) -> [B, 2] dim=1 start=0 step=1", "slice(x) -> [B, 2] dim=1 start=2 step=1",
                  "add(a, b) -> [B, 2]"});
}

TEST_CASE("split and unbind") {
  CHECK(LiftedLines(R"(
    agraph (float[3, batch, 4] x, float[batch, 6] z) => (float[batch, 4] y, float[batch, 2] w) {
      ones = Constant <value = int64[3] {1, 1, 1}> ()
      parts = Constant <value = int64[2] {2, 4}> ()
      ax0 = Constant <value = int64[1] {0}> ()
      a, b, c = Split <axis = 0> (x, ones)
      as = Squeeze (a, ax0)
      bs = Squeeze (b, ax0)
      y = Add (bs, as)
      w, rest = Split <axis = 1> (z, parts)
    })") == Lines{"unbind(x) -> [B, 4] [B, 4] - dim=0", "add(bs, as) -> [B, 4]", "split(z) -> [B, 2] [B, 4] dim=1"});
}

TEST_CASE("Expand of a number makes a tensor; of a tensor it is a view") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[2, 4] y, float[3, batch, 4] z) {
      one = Constant <value = float {1.0}> ()
      shape = Constant <value = int64[2] {2, 4}> ()
      three = Constant <value = int64[3] {3, 1, 1}> ()
      y = Expand (one, shape)
      z = Expand (x, three)
    })") == Lines{"ones() -> [2, 4]", "expand(x) -> [3, B, 4]"});
}

}  // namespace
}  // namespace vramplan
