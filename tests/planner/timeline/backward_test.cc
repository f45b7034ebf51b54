#include "planner/timeline/backward.h"

#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

using eager::Tensor;

TEST_CASE("fan-in: in place into a fresh gradient that nobody else holds (input_buffer.cpp)") {
  Trial trial;
  Tensor x = trial.Given("x:f[8,64]", "x");
  Tensor a = trial.Run1("gelu", "", {x}, "f[8,64]"), b = trial.Run1("silu", "", {x}, "f[8,64]");
  Tensor sum = trial.Run1("add", "", {a, b}, "f[8,64]");
  Tensor loss = trial.LossOf({sum});
  x = a = b = sum = Tensor();
  trial.Events();
  // silu (the later entry) first: 4; then gelu: 5, added into 4 and gone. g is shared by both and dies with the second.
  CHECK(trial.Backward(loss) == "4+2048 5+2048 g- x- 5- 4-");
}

TEST_CASE("tied weights: one .grad, the first gradient waits for the second") {
  // gpt2, EmbeddingBackward0 "+155189248 embedding_backward ... +155189248 add -155189248 -155189248": the linear's
  // gradient is a view (of mm's result, transposed), so the sum is a new tensor.
  Trial trial;
  Tensor x = trial.Given("x:f[4,8]", "x");
  const Tensor w = trial.Given("p:f[8,8]", "w");
  Tensor y = trial.Run1("linear", "", {x, w, Tensor()}, "f[4,8]");
  Tensor z = trial.Run1("linear", "", {y, w, Tensor()}, "f[4,8]");
  CHECK(trial.Events() == "1+128 2+8519680 3+128");
  Tensor loss = trial.LossOf({z});
  x = y = z = Tensor();
  trial.Events();
  CHECK(trial.Backward(loss) == "4+256 5+8519680 6+128 g- 1- 7+256 8+128 6- x- 9+256 4- 7- 9=.grad 8-");
  CHECK(w->grad->storage->bytes.At(1) == Bytes::Of(256));
}

TEST_CASE("a gradient becomes .grad when nobody else holds it, else it is copied (accumulate_grad.h)") {
  Trial trial;  // a + b of two parameters: both get the same tensor
  const Tensor a = trial.Given("p:f[4,8]", "a"), b = trial.Given("p:f[4,8]", "b");
  Tensor sum = trial.Run1("add", "", {a, b}, "f[4,8]");
  Tensor loss = trial.LossOf({sum});
  sum = Tensor();
  trial.Events();
  // The first copies while the other still waits with it; the last takes it over.
  CHECK(trial.Backward(loss) == "2+128 2=.grad g=.grad");
  CHECK_FALSE(a->grad->storage == b->grad->storage);
}

TEST_CASE("an expanded gradient is copied into the parameter's layout") {
  Trial trial;  // mean's gradient is a new tensor, but sum's is expanded: AccumulateGrad, new_empty_strided
  const Tensor w = trial.Given("p:f[4,8]", "w");
  Tensor y = trial.Run1("permute", "dims=[1,0]", {w}, "f[8,4]");
  Tensor z = trial.Run1("contiguous", "", {y}, "f[8,4]");
  CHECK(trial.Events() == "1+128");
  Tensor loss = trial.LossOf({z});
  y = z = Tensor();
  trial.Events();
  // Contiguous as [8, 4], it arrives at w with strides (1, 4).
  CHECK(trial.Backward(loss) == "2+128 2=.grad g-");
}

TEST_CASE("a second backward adds into .grad in place") {
  Trial trial;
  const Tensor w = trial.Given("p:f[8,64]", "w");
  for (const char* expected : {"2+2048 g- 1- 2=.grad", "4+2048 g- 3- 4-"}) {
    Tensor y = trial.Run1("relu", "", {w}, "f[8,64]");
    Tensor loss = trial.LossOf({y});
    y = Tensor();
    trial.Events();
    CHECK(trial.Backward(loss) == expected);
  }
}

TEST_CASE("validate_outputs: broadcast gradients are summed and converted before the entry lets go of its own") {
  Trial trial;  // bert_base, AddBackward0 "+393216 sum" of the position embeddings
  Tensor x = trial.Given("x:f[2,8,16]", "x"), position = trial.Given("x:f[1,8,16]", "position");
  Tensor half = trial.Given("x:h[2,8,16]", "half");
  Tensor sum = trial.Run1("add", "", {x, position}, "f[2,8,16]");
  Tensor mixed = trial.Run1("add", "", {sum, half}, "f[2,8,16]");
  Tensor loss = trial.LossOf({mixed});
  x = position = half = sum = mixed = Tensor();
  trial.Events();
  CHECK(trial.Backward(loss) == "3+512 4+512 3- 4- g-");
}

TEST_CASE("entries run from the last recorded to the first, leaves before them") {
  Trial trial;
  Tensor x = trial.Given("x:f[8,64]", "x");
  const Tensor w = trial.Given("p:f[8,64]", "w");
  Tensor early = trial.Run1("mul", "", {x, w}, "f[8,64]");      // 1
  Tensor late = trial.Run1("sigmoid", "", {early}, "f[8,64]");  // 2
  Tensor side = trial.Run1("tanh", "", {x}, "f[8,64]");         // 3
  Tensor loss = trial.LossOf({late, side});
  x = early = late = side = Tensor();
  trial.Events();
  // tanh was recorded last: 4, waits at x; sigmoid 5; mul 6 (w, its other) and 7 (x): w's before x's sums are
  // done.
  CHECK(trial.Backward(loss) == "4+2048 g2- 3- 5+2048 g- 2- 6+2048 7+2048 5- x- 7- 6=.grad 4-");
}

TEST_CASE("what the loss does not depend on gets nothing") {
  Trial trial;
  Tensor x = trial.Given("x:f[8,64]", "x");
  const Tensor w = trial.Given("p:f[8,64]", "w"), unused = trial.Given("p:f[8,64]", "unused");
  Tensor used = trial.Run1("add", "", {x, w}, "f[8,64]"), dead = trial.Run1("mul", "", {x, unused}, "f[8,64]");
  Tensor loss = trial.LossOf({used});
  used = Tensor();
  trial.Events();
  trial.Backward(loss);
  CHECK(w->grad);
  CHECK_FALSE(unused->grad);
}

TEST_CASE("blocks made in the backward are temporaries of the autograd thread, named by their entry") {
  Trial trial;
  Tensor x = trial.Given("x:f[16,8]", "x"), y = trial.Given("x:f[8,4]", "y");
  trial.log.asked.clear();
  Tensor z = trial.Run1("mm", "", {x, y}, "f[16,4]");
  Tensor loss = trial.LossOf({z});
  trial.Backward(loss);
  CHECK(trial.log.asked == std::vector<std::string>{"1 activations aten::mm", "2 workspace aten::mm", " activations ",
                                                    " temporaries ", "g temporaries Loss", "3 temporaries aten::mm",
                                                    "4 workspace aten::mm", "5 temporaries aten::mm"});
  CHECK(trial.e.grad_mode);
  CHECK(trial.e.thread == eager::Eager::Thread::kMain);
  CHECK(trial.e.category == Category::kActivations);
}

TEST_CASE("a write into a view goes through its base (CopySlices)") {
  // autoencoder, elu_ on the view that instance_norm returns: AsStridedBackward0 new_zeros, CopySlices
  // new_empty_strided and clone, then elu_backward; only the first copy goes on.
  Trial trial;
  Tensor x = trial.Given("x:f[8,64]", "x");
  Tensor y = trial.Run1("gelu", "", {x}, "f[8,64]");
  Tensor view = trial.Run1("reshape", "", {y}, "f[512]");
  Tensor z = trial.Run1("elu", "inplace=1", {view}, "f[512]");
  CHECK(trial.Events() == "1+2048");
  CHECK(z->storage == y->storage);
  Tensor loss = trial.LossOf({z});
  x = y = view = z = Tensor();
  trial.Events();
  CHECK(trial.Backward(loss) == "2+2048 g- 3+2048 4+2048 5+2048 4- 5- 2- 1- 6+2048 3- x- 6-");
}

}  // namespace
}  // namespace vramplan::testing
