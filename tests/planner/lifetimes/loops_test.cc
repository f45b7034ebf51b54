#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/planner/lifetimes/forward.h"

namespace vramplan {
namespace {

TEST_CASE("acc = acc + f(h): each turn of a loop writes the sum's name anew") {
  // Measured: PyTorch 2.10 lets each sum go when the next one is there.
  ForwardByHand f;
  const ValueId stem = f.Run("stem", "stem", "conv2d", {f.x});
  const ValueId begun = f.Run("begun", "", "zeros", {});
  const ValueId h0 = f.Run("h0", "blocks.0", "conv2d", {stem});
  const ValueId term0 = f.Run("term0", "heads.0", "conv2d", {h0});
  const ValueId sum0 = f.Run("sum0", "", "add", {begun, term0});
  const ValueId h1 = f.Run("h1", "blocks.1", "conv2d", {h0});
  const ValueId term1 = f.Run("term1", "heads.1", "conv2d", {h1});
  const ValueId sum1 = f.Run("sum1", "", "add", {sum0, term1});
  f.layers.outputs = {f.Run("head", "fc", "linear", {sum1})};
  CHECK(f.DiesBehind(begun) == "sum0");
  CHECK(f.DiesBehind(term0) == "sum0");
  CHECK(f.DiesBehind(sum0) == "sum1");
}

TEST_CASE("h, c = self.cell(x, (h, c)): what a turn returns outlives the last turn") {
  // Measured: PyTorch 2.10 keeps both states of a ConvLSTM's encoder while its decoder runs.
  ForwardByHand f;
  std::vector<ValueId> h = {f.Run("h", "", "zeros", {})}, c = {f.Run("c", "", "zeros", {})};
  for (const std::string turn : {"1", "2", "3"}) {
    f.CallAnew("cell");
    const ValueId joined = f.Run("joined" + turn, "cell", "cat", {f.x, h.back()});
    c.push_back(f.Run("c" + turn, "cell", "mul", {joined, c.back()}));
    h.push_back(f.Run("h" + turn, "cell", "tanh", {c.back()}));
  }
  const ValueId decoded = f.Run("decoder", "decoder", "conv2d", {h.back()});
  f.layers.outputs = {f.Run("head", "head", "linear", {decoded})};
  CHECK(f.DiesBehind(c[1]) == "h2");  // written anew when the second turn is back
  CHECK(f.DiesBehind(h[1]) == "h2");
  CHECK(f.DiesBehind(c[3]) == "head");
  CHECK(f.DiesBehind(h[3]) == "head");
}

TEST_CASE("x = a * x + b; ys.append(f(x)): the next state takes the name, whatever the list gathers") {
  // Measured: the selective scan of a Mamba written out holds one state in PyTorch 2.10.
  ForwardByHand f;
  std::vector<ValueId> x = {f.Run("x0", "", "zeros", {})}, y;
  for (const std::string turn : {"1", "2", "3", "4"}) {
    const ValueId decayed = f.Run("decayed" + turn, "", "mul", {x.back(), f.x});
    x.push_back(f.Run("x" + turn, "", "add", {decayed, f.x}));
    y.push_back(f.Run("y" + turn, "", "einsum", {x.back(), f.x}, Shape{Dim(2)}));
  }
  const ValueId all = f.Run("stack", "", "stack", y);
  f.layers.outputs = {f.Run("head", "head", "linear", {all})};
  CHECK(f.DiesBehind(x[1]) == "x2");
  CHECK(f.DiesBehind(x[2]) == "x3");
  CHECK(f.DiesBehind(x[3]) == "x4");
  CHECK(f.DiesBehind(y[0]) == "head");
}

TEST_CASE("at most, what a turn makes beside its chain has a name until the next turn") {
  // h = self.cell(x, h); y = self.other(h, y)
  ForwardByHand f;
  std::vector<ValueId> h = {f.Run("h", "", "zeros", {})}, y = {f.Run("y", "", "zeros", {})};
  for (const std::string turn : {"1", "2"}) {
    f.CallAnew("cell");
    h.push_back(f.Run("h" + turn, "cell", "add", {f.x, f.x}));
    f.CallAnew("other");
    y.push_back(f.Run("y" + turn, "other", "add", {h.back(), y.back()}));
  }
  f.layers.outputs = {f.Run("head", "head", "linear", {y.back()})};
  CHECK(f.DiesBehind(h[1], Naming::kMost) == "h2");
  CHECK(f.DiesBehind(h[1], Naming::kFewest) == "y1");
  CHECK(f.DiesBehind(y[1], Naming::kMost) == "y2");
}

}  // namespace
}  // namespace vramplan
