#include "planner/semantics/tensor.h"

#include <doctest/doctest.h>

#include "planner/semantics/concat.h"
#include "planner/semantics/view.h"
#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

using eager::Ints;
using eager::Tensor;
using eager::TensorImpl;

Ints Of(std::initializer_list<int64_t> values) {
  Ints ints;
  for (int64_t v : values) ints[ints.n++] = v;
  return ints;
}

std::string Text(const Ints& ints) {
  std::string text;
  for (int i = 0; i < ints.n; ++i) text += (i > 0 ? "," : "") + std::to_string(ints[i]);
  return text;
}

Tensor Laid(std::initializer_list<int64_t> lengths, std::initializer_list<int64_t> strides) {
  Shape sizes;
  for (int64_t length : lengths) sizes.Append(length);
  return MakeRef<TensorImpl>(eager::Storage(), MakeRef<eager::Layout>(sizes, Of(lengths), Of(strides)),
                             DType::kFloat32);
}

struct Layout {
  std::initializer_list<int64_t> lengths, strides;
  bool contiguous, dense, channels_last;
};

TEST_CASE("layouts (c10/core/TensorImpl.cpp, MemoryFormat.h)") {
  const Layout rows[] = {
      {{2, 3, 4, 5}, {60, 20, 5, 1}, true, true, false},
      {{2, 3, 4, 5}, {60, 1, 15, 3}, false, true, true},
      {{2, 3, 4, 5}, {120, 20, 5, 1}, false, false, false},  // half of a concatenation
      {{3, 4}, {1, 3}, false, true, false},                  // transposed
      {{3, 4}, {0, 1}, false, false, false},                 // expanded
      {{1, 4}, {99, 1}, true, true, false},                  // an axis of length 1 does not matter
      {{2, 1, 4, 4}, {16, 1, 4, 1}, true, true, true},       // one channel lies either way
      {{0, 4}, {7, 9}, true, true, false},                   // empty
      {{}, {}, true, true, false},
  };
  for (const Layout& row : rows) {
    const Tensor made = Laid(row.lengths, row.strides);
    const TensorImpl& t = *made;
    CAPTURE(Text(t.lengths) + " / " + Text(t.strides));
    CHECK(eager::IsContiguous(t) == row.contiguous);
    CHECK(eager::IsNonOverlappingAndDense(t) == row.dense);
    CHECK(eager::IsChannelsLast(t) == row.channels_last);
  }
  CHECK(Text(eager::ContiguousStrides(Of({2, 3, 4}))) == "12,4,1");
  CHECK(Text(eager::ChannelsLastStrides(Of({2, 3, 4, 5}))) == "60,1,15,3");
}

TEST_CASE("strides of a view (aten/src/ATen/TensorUtils.cpp computeStride)") {
  struct Case {
    std::initializer_list<int64_t> lengths, strides, wanted;
    const char* answer;
  };
  const Case rows[] = {
      {{2, 8, 16}, {128, 16, 1}, {16, 16}, "16,1"},
      {{2, 8, 16}, {128, 16, 1}, {2, 2, 4, 16}, "128,64,16,1"},
      {{2, 16, 8}, {128, 1, 16}, {32, 8}, "none"},             // across a transposed pair
      {{2, 16, 8}, {128, 1, 16}, {2, 4, 4, 8}, "128,4,1,16"},  // inside one axis of it
      {{4, 16}, {0, 1}, {4, 4, 4}, "0,4,1"},                   // an expanded axis stays
      {{4, 16}, {0, 1}, {64}, "none"},
      {{1, 16}, {500, 1}, {16}, "1"},
      {{}, {}, {1, 1}, "1,1"},
  };
  for (const Case& row : rows) {
    const Tensor made = Laid(row.lengths, row.strides);
    const TensorImpl& t = *made;
    const auto strides = eager::ViewStrides(t, Of(row.wanted));
    CAPTURE(Text(t.lengths) + " / " + Text(t.strides) + " as " + Text(Of(row.wanted)));
    CHECK((strides ? Text(*strides) : "none") == std::string(row.answer));
  }
}

TEST_CASE("a long tape is let go without recursion") {
  Trial trial;
  Tensor t = trial.Given("x:f[1]", "x");
  for (int i = 0; i < 200000; ++i) t = trial.Run1("view", "", {t}, "f[1]");
  t = Tensor();
  CHECK(trial.Events() == "x-");
}

}  // namespace
}  // namespace vramplan::testing
