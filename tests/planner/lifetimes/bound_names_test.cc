#include <doctest/doctest.h>

#include <string>

#include "tests/planner/lifetimes/forward.h"

namespace vramplan {
namespace {

TEST_CASE("what the root made waits for no call that does not take it") {
  ForwardByHand f;
  const ValueId act = f.Run("act", "", "abs", {f.x});
  const ValueId conv = f.Run("conv", "conv", "conv2d", {act});
  f.Run("head", "head", "linear", {conv});
  CHECK(f.DiesBehind(act) == "conv");
}

TEST_CASE("a value that waited beside another was a name") {
  // x1, x2 = self.f1(x), self.f2(x); y = self.act(x1) * x2; return self.g(y)      (timm's starnet.Block)
  ForwardByHand f;
  const ValueId x1 = f.Run("f1", "block.f1", "conv2d", {f.x}), x2 = f.Run("f2", "block.f2", "conv2d", {f.x});
  const ValueId act = f.Run("act", "block.act", "relu6", {x1});
  const ValueId y = f.Run("mul", "block", "mul", {act, x2});
  const ValueId g = f.Run("g", "block.g", "conv2d", {y});
  f.Run("head", "head", "linear", {g});
  CHECK(f.DiesBehind(x1) == "g");
  CHECK(f.DiesBehind(x2) == "mul");  // may have waited on the stack
  CHECK(f.DiesBehind(y) == "g");
}

TEST_CASE("an argument that waited while another argument was made was a name") {
  // a = self.a(x); b = self.b(x); c = self.join(a, b); return self.last(c)
  ForwardByHand f;
  const ValueId a = f.Run("a", "block.a", "conv2d", {f.x}), b = f.Run("b", "block.b", "conv2d", {f.x});
  const ValueId c = f.Run("join", "block.join", "add", {a, b});
  const ValueId last = f.Run("last", "block.last", "conv2d", {c});
  f.Run("head", "head", "linear", {last});
  CHECK(f.DiesBehind(a) == "last");
  CHECK(f.DiesBehind(c) == "last");
}

TEST_CASE("what attention multiplies are names, to the end of its frame") {
  // attn = q @ k; attn = attn.softmax(-1); x = attn @ v; return self.proj(x)
  ForwardByHand f;
  const ValueId q = f.Run("q", "attn.q", "linear", {f.x}), k = f.Run("k", "attn.k", "linear", {f.x});
  const ValueId scores = f.Run("scores", "attn", "matmul", {q, k});
  const ValueId soft = f.Run("soft", "attn", "softmax", {scores});
  const ValueId v = f.Run("v", "attn.v", "linear", {f.x});
  const ValueId mixed = f.Run("mixed", "attn", "matmul", {soft, v});
  const ValueId proj = f.Run("proj", "attn.proj", "linear", {mixed});
  f.Run("head", "head", "linear", {proj});
  for (const ValueId name : {q, k, soft, v}) CHECK(f.DiesBehind(name) == "proj");
  CHECK(f.DiesBehind(scores) == "soft");
}

TEST_CASE("so are those of attention that is written with einsum, but not of any einsum") {
  // transformers' XLNet: attn_score = (torch.einsum(..., q, k) + bd) * scale; attn_prob = softmax(attn_score, dim=3)
  for (const bool attends : {true, false}) {
    ForwardByHand f;
    const ValueId q = f.Run("q", "attn.q", "linear", {f.x}), k = f.Run("k", "attn.k", "linear", {f.x});
    const ValueId scores = f.Run("scores", "attn", "einsum", {q, k});
    const ValueId scaled = f.Run("scaled", "attn", "mul", {scores});
    const ValueId soft = f.Run("soft", "attn", attends ? "softmax" : "abs", {scaled});
    const ValueId proj = f.Run("proj", "attn.proj", "linear", {soft});
    f.Run("head", "head", "linear", {proj});
    CHECK(f.DiesBehind(k) == (attends ? "proj" : "scores"));
  }
}

TEST_CASE("attention by einsum, with names too; an edge matrix of no sample is no factor") {
  ForwardByHand f;
  const Shape sample{Dim::Batch(), Dim(4), Dim(4)}, edges{Dim(4), Dim(4)};
  const ValueId soft = f.Run("soft", "attn", "softmax", {f.x}, sample),
                v = f.Run("v", "attn.v", "linear", {f.x}, sample);
  const ValueId mixed = f.Run("mixed", "attn", "einsum", {soft, v}, sample);
  const ValueId edge = f.Run("edge", "attn", "relu", {f.Run("made", "attn", "ones", {}, edges)}, edges);
  const ValueId passed = f.Run("passed", "attn", "einsum", {mixed, edge}, sample);
  const ValueId proj = f.Run("proj", "attn.proj", "linear", {passed}, sample);
  f.Run("head", "head", "linear", {proj}, sample);
  for (const ValueId name : {soft, v}) CHECK(f.DiesBehind(name) == "proj");
  CHECK(f.DiesBehind(mixed) == "passed");
}

TEST_CASE("what a parameter stands in front of was a name, a quotient that stands in front of it was none") {
  // y = (x - mu) / std; return weight * y + bias    and    return (x - mu) / std * weight + bias
  const auto dies = [](bool in_front) {
    ForwardByHand f;
    const Shape sample{Dim::Batch(), Dim(4)}, one{Dim(4)};
    const ValueId weight = f.Value(Role::kParameter, one), bias = f.Value(Role::kParameter, one);
    const ValueId x = f.Run("x", "norm", "sub", {f.x}, sample), std = f.Run("std", "norm", "sqrt", {x}, sample);
    const ValueId y = f.Run("y", "norm", "div", {x, std}, sample);
    const ValueId scaled =
        f.Run("scaled", "norm", "mul", in_front ? std::vector{weight, y} : std::vector{y, weight}, sample);
    f.Run("head", "head", "linear", {f.Run("shifted", "norm", "add", {scaled, bias}, sample)}, sample);
    return f.DiesBehind(y);
  };
  CHECK(dies(true) == "shifted");
  CHECK(dies(false) == "scaled");
}

TEST_CASE("a loop that begins with a name binds it anew") {
  // skip = self.skip(x); for block in self.blocks: x = block(x); return self.out(skip + x)
  ForwardByHand f;
  for (const char* path : {"blocks.0", "blocks.1"}) f.layers.modules.push_back({path, "", ModuleId{0}});
  const ValueId x = f.Run("x", "conv", "conv2d", {f.x}), skip = f.Run("skip", "skip", "conv2d", {x});
  const ValueId one = f.Run("one", "blocks.0", "conv2d", {x}), two = f.Run("two", "blocks.1", "conv2d", {one});
  f.Run("out", "out", "conv2d", {f.Run("sum", "", "add", {skip, two})});
  CHECK(f.DiesBehind(x) == "one");
}

TEST_CASE("a list that a level's map is picked from keeps it, one that is popped from does not") {
  // for enc in self.encoders: x = enc(x); encs.append(x)        x = up(x) + skip, or x = cat([conv(x), skips.pop()])
  const auto dies = [](const std::string& enlarge) {
    ForwardByHand f;
    f.layers.modules.push_back({"encoders.0", "", ModuleId{0}});
    const ValueId map = f.Run("map", "encoders.0", "conv2d", {f.x}), low = f.Run("low", "down", "conv2d", {map});
    const ValueId large = f.Run("large", "", enlarge, {low});
    const ValueId joined = f.Run("joined", "", "add", {large, map});
    f.Run("head", "head", "conv2d", {f.Run("last", "last", "conv2d", {joined})});
    return f.DiesBehind(map);
  };
  CHECK(dies("conv_transpose2d") == "head");
  CHECK(dies("abs") == "joined");
}

TEST_CASE("normalized where they are multiplied: no names") {
  // attn = F.normalize(q) @ k; torchvision's ShiftedWindowAttentionV2
  ForwardByHand f;
  const ValueId q = f.Run("q", "attn.q", "linear", {f.x}), norm = f.Run("norm", "attn", "norm", {q});
  const ValueId unit = f.Run("unit", "attn", "div", {q, norm});
  const ValueId k = f.Run("k", "attn.k", "linear", {f.x});
  const ValueId scores = f.Run("scores", "attn", "matmul", {unit, k});
  const ValueId proj = f.Run("proj", "attn.proj", "linear", {scores});
  f.Run("head", "head", "linear", {proj});
  CHECK(f.DiesBehind(unit) == "scores");
}

TEST_CASE("a loop binds its names anew") {
  // for block in self.blocks: x, skip = block(x); total = total + skip
  ForwardByHand f;
  ValueId x = f.x, total = f.Run("zero", "", "zeros", {});
  std::vector<ValueId> xs, totals;
  for (const std::string i : {"0", "1", "2"}) {
    x = f.Run("x" + i, "blocks." + i, "conv1d", {x});
    const ValueId skip = f.Run("skip" + i, "blocks." + i + ".skip", "conv1d", {x});
    total = f.Run("total" + i, "", "add", {total, skip});
    xs.push_back(x);
    totals.push_back(total);
  }
  f.Run("head", "head", "linear", {total});
  CHECK(f.DiesBehind(totals[0]) == "total1");
  CHECK(f.DiesBehind(xs[0]) == "skip1");
}

TEST_CASE("two results of one call have names") {
  // x, skip = block(x): gated residual blocks of a list; the skip waits for its sum and for the next turn
  ForwardByHand f;
  ValueId x = f.x, total = f.Run("zero", "", "zeros", {});
  std::vector<ValueId> skips;
  for (const std::string i : {"0", "1"}) {
    f.layers.modules.push_back({"blocks." + i, "", f.Call("")});
    const ValueId skip = f.Run("skip" + i, "blocks." + i + ".skip", "conv1d", {x});
    x = f.Run("x" + i, "blocks." + i + ".res", "conv1d", {x});
    total = f.Run("total" + i, "", "add", {total, skip});
    skips.push_back(skip);
  }
  f.Run("head", "head", "linear", {f.Run("sum", "", "add", {total, x})});
  CHECK(f.DiesBehind(skips[0]) == "x1");
  CHECK(f.DiesBehind(skips[1]) == "head");
}

TEST_CASE("results that one call alone reads, which gives as many, are one tuple") {
  // a Sequential of blocks that give (residual, dense): input = module(input)
  ForwardByHand f;
  const ValueId a = f.Run("a", "b1.r", "abs", {f.x}), b = f.Run("b", "b1.d", "neg", {f.x});
  const ValueId c = f.Run("c", "b2.j", "cat", {a, b});
  const ValueId d = f.Run("d", "b2.r", "abs", {c}), e = f.Run("e", "b2.d", "neg", {c});
  f.Run("head", "head", "linear", {f.Run("g", "", "mul", {d, e})});
  CHECK(f.DiesBehind(a) == "e");
  CHECK(f.DiesBehind(b) == "e");
  CHECK(f.DiesBehind(d) == "head");  // d, e = b2(..): the root reads them
  CHECK(f.DiesBehind(e) == "head");
}

TEST_CASE("a weight that is made when its module is called is no argument that waited") {
  // y = self.res(y), torch.nn.utils.weight_norm around res
  ForwardByHand f;
  const ValueId y = f.Run("y", "block", "mul", {f.x});
  const ValueId g = f.Value(Role::kParameter, Shape{Dim(1)}), v = f.Value(Role::kParameter, Shape{Dim(1)});
  const ValueId weight = f.Run("weight", "block", "weight_norm", {v, g});
  const ValueId res = f.Run("res", "block.res", "conv1d", {y, weight});
  f.Run("end", "block", "div", {f.Run("sum", "block", "add", {f.x, res})});
  CHECK(f.DiesBehind(y) == "res");
}

TEST_CASE("decoders that name their levels write the level anew until it is done") {
  // d2 = self.up2(b); d2 = cat([d2, e], 1); d2 = self.dec2(d2); d1 = self.up1(d2)     brain-segmentation-pytorch
  // hx2up = _upsample_like(hx2, hx1): the name of a function's result stays           U-2-Net
  const Shape map{Dim(1), Dim(8), Dim(16), Dim(16)};
  for (const bool function : {false, true}) {
    ForwardByHand f;
    const ValueId e = f.Run("e", "enc", "conv2d", {f.x}, map), b = f.Run("b", "mid", "conv2d", {e}, map);
    const ValueId up =
        f.Run("up", function ? "" : "up2", function ? "upsample_bilinear2d" : "conv_transpose2d", {b}, map);
    const ValueId joined = f.Run("joined", "", "cat", {up, e}, map);
    const ValueId level = f.Run("level", "dec2", "conv2d", {joined}, map);
    const ValueId next = f.Run("next", "up1", "conv_transpose2d", {level}, map);
    f.Run("head", "head", "conv2d", {next}, map);
    CHECK(f.DiesBehind(up) == (function ? "head" : "joined"));
    CHECK(f.DiesBehind(joined) == "level");
    CHECK(f.DiesBehind(level) == "head");
  }
}

TEST_CASE("a pooling function stands within the statement") {
  // x = self.stem(x); x = F.relu(F.max_pool2d(self.conv(x), 2)): pytorch/tutorials, spatial_transformer_tutorial.py
  ForwardByHand f;
  const ValueId stem = f.Run("stem", "stem", "conv2d", {f.x}), conv = f.Run("conv", "conv", "conv2d", {stem});
  const ValueId pool = f.Run("pool", "", "max_pool2d", {conv});
  f.Run("head", "head", "linear", {f.Run("relu", "", "relu", {pool})});
  CHECK(f.DiesBehind(stem) == "relu");
  CHECK(f.DiesBehind(conv) == "pool");
}

TEST_CASE("who nests one norm nests the other") {
  // out = F.relu(self.bn1(self.conv1(x))); out = self.bn2(self.conv2(out)): kuangliu/pytorch-cifar
  for (const bool function : {true, false}) {
    ForwardByHand f;
    const ValueId conv1 = f.Run("conv1", "b.conv1", "conv2d", {f.x});
    const ValueId bn1 = f.Run("bn1", "b.bn1", "batch_norm", {conv1});
    const ValueId out = f.Run("relu", function ? "b" : "b.relu", "relu", {bn1});
    const ValueId conv2 = f.Run("conv2", "b.conv2", "conv2d", {out});
    const ValueId bn2 = f.Run("bn2", "b.bn2", "batch_norm", {conv2});
    f.Run("head", "head", "linear", {f.Run("sum", "b", "add", {bn2, f.x})});
    CHECK(f.DiesBehind(out) == (function ? "bn2" : "conv2"));
  }
}

TEST_CASE("scaled where it is multiplied: q itself is read again") {
  // attn = (q * self.scale) @ k; x = attn @ v; x = x + q, torchvision's and timm's MViT; else q = q * self.scale
  for (const bool again : {true, false}) {
    ForwardByHand f;
    const ValueId q = f.Run("q", "attn.q", "linear", {f.x}), k = f.Run("k", "attn.k", "linear", {f.x});
    const ValueId scaled = f.Run("scaled", "attn", "mul", {q});
    f.layers.layers.back().attributes.Set("scalar", 0.5);
    const ValueId scores = f.Run("scores", "attn", "matmul", {scaled, k});
    const ValueId sum = f.Run("sum", "attn", "add", {scores, again ? q : f.x});
    const ValueId proj = f.Run("proj", "attn.proj", "linear", {sum});
    f.Run("head", "head", "linear", {proj});
    CHECK(f.DiesBehind(scaled) == (again ? "scores" : "proj"));
  }
}

TEST_CASE("a product of the first factor's shape takes its name") {
  // x = torch.bmm(x, trans), fxia22/pointnet.pytorch; but attn of attn @ v is a name, whatever its shape
  for (const std::string op : {"relu", "softmax"}) {
    ForwardByHand f;
    const ValueId x = f.Run("x", "net", op, {f.x}), trans = f.Run("trans", "net.stn", "linear", {f.x});
    const ValueId turned = f.Run("turned", "net", "bmm", {x, trans});
    const ValueId conv = f.Run("conv", "net.conv", "conv1d", {turned});
    f.Run("head", "head", "linear", {conv});
    CHECK(f.DiesBehind(x) == (op == "relu" ? "turned" : "conv"));
    CHECK(f.DiesBehind(trans) == "conv");
  }
}

TEST_CASE("a U-Net that names its levels") {
  // x1 = self.stem(x); x2 = self.down(x1); u = self.up(x2, x1); y = self.last(u)
  ForwardByHand f;
  const ValueId x1 = f.Run("stem", "stem", "conv2d", {f.x}), x2 = f.Run("down", "down", "conv2d", {x1});
  const ValueId up = f.Run("up", "up.conv", "conv_transpose2d", {x2});
  const ValueId cat = f.Run("cat", "up", "cat", {up, x1});
  f.Run("last", "last", "conv2d", {cat});
  f.Run("head", "head", "conv2d", {f.layers.layers.back().outputs[0]});
  CHECK(f.DiesBehind(x1) == "head");
}

TEST_CASE("a function around calls is one statement with them") {
  // x = self.stem(x); x = F.relu(self.norm(self.conv(x)))
  ForwardByHand f;
  const ValueId stem = f.Run("stem", "stem", "conv2d", {f.x});
  const ValueId conv = f.Run("conv", "conv", "conv2d", {stem});
  const ValueId norm = f.Run("norm", "norm", "batch_norm", {conv});
  const ValueId relu = f.Run("relu", "", "relu", {norm});
  f.Run("head", "head", "linear", {relu});
  CHECK(f.DiesBehind(stem) == "relu");
  CHECK(f.DiesBehind(conv) == "norm");
}

TEST_CASE("in a pre-activated block a function is none with the calls in front of it") {
  // x = F.relu(self.bn1(x)); x = self.conv1(x); x = F.relu(self.bn2(x)); x = self.conv2(x)
  ForwardByHand f;
  const ValueId first = f.Run("bn1", "block.bn1", "batch_norm", {f.x}), relu = f.Run("relu1", "block", "relu", {first});
  const ValueId conv = f.Run("conv1", "block.conv1", "conv2d", {relu});
  const ValueId second = f.Run("bn2", "block.bn2", "batch_norm", {conv}),
                again = f.Run("relu2", "block", "relu", {second});
  f.Run("head", "head", "linear", {f.Run("conv2", "block.conv2", "conv2d", {again})});
  CHECK(f.DiesBehind(relu) == "conv1");
}

TEST_CASE("a whole model joins where it calls: what it had keeps its name until the call is back") {
  // x = block(cat([x, skips.pop()], 1)); then x = block(cat([skip, self.up(x)], 1)), ddpm and unet3d by hand, recorded
  ForwardByHand f;
  const ValueId first = f.Run("first", "enc", "conv2d", {f.x});
  const ValueId second = f.Run("second", "mid", "conv2d", {first});
  const ValueId large = f.Run("large", "", "upsample_nearest2d", {second});
  const ValueId joined = f.Run("joined", "", "cat", {large, first});
  const ValueId inner = f.Run("inner", "dec.conv", "conv2d", {joined});
  const ValueId third = f.Run("third", "dec.norm", "batch_norm", {inner});
  const ValueId up = f.Run("up", "up", "conv_transpose2d", {third});
  const ValueId again = f.Run("again", "", "cat", {first, up});
  const ValueId last = f.Run("last", "dec2.conv", "conv2d", {again});
  f.Run("out", "dec2.norm", "batch_norm", {last});
  CHECK(f.DiesBehind(large) == "third");
  CHECK(f.DiesBehind(joined) == "third");
  CHECK(f.DiesBehind(third) == "out");
  CHECK(f.DiesBehind(up) == "again");
}

TEST_CASE("a block that joins first keeps only the join") {
  ForwardByHand f;
  const ValueId skip = f.Run("skip", "enc", "conv2d", {f.x});
  const ValueId large = f.Run("large", "dec", "upsample_nearest2d", {skip});
  const ValueId joined = f.Run("joined", "dec", "cat", {large, skip});
  const ValueId inner = f.Run("inner", "dec.conv", "conv2d", {joined});
  f.Run("out", "dec.norm", "batch_norm", {inner});
  CHECK(f.DiesBehind(large) == "joined");
}

TEST_CASE("what attends has no place in an encoder's list") {
  // Mix transformers' softmax of [heads, queries, keys] is no smaller image
  ForwardByHand f;
  f.layers.inputs = {f.x};
  f.layers.values[0].shape = Shape{Dim(1), Dim(3), Dim(32), Dim(32)};
  const Shape map{Dim(1), Dim(8), Dim(16), Dim(16)}, scores{Dim(1), Dim(1), Dim(256), Dim(4)};
  const ValueId one = f.Run("one", "encoder.layer1", "conv2d", {f.x}, map);
  const ValueId weights = f.Run("weights", "encoder.layer1.attn", "add", {one}, scores);
  const ValueId two = f.Run("two", "encoder.layer1.proj", "linear", {weights}, map);
  const ValueId decoded = f.Run("decoded", "decoder", "conv2d", {two}, map);
  f.Run("mask", "segmentation_head", "conv2d", {decoded}, map);
  CHECK(f.DiesBehind(weights) == "two");
  CHECK(f.DiesBehind(two) == "mask");
}

TEST_CASE("parts that are called one after another are written anew") {
  // q, k = qkv.unbind(0); k = self.pool_k(k); q = self.pool_q(q); q @ k, of torchvision's MViT: each call reads its
  // part twice
  ForwardByHand f;
  f.Call("attn.pool_k");
  f.Call("attn.pool_q");
  const ValueId qkv = f.Run("qkv", "attn.qkv", "linear", {f.x});
  Layer unbind;
  unbind.op = unbind.name = "unbind";
  unbind.module = f.Call("attn");
  unbind.inputs = {qkv};
  unbind.outputs = {f.Value(Role::kActivation, Shape{Dim(1)}), f.Value(Role::kActivation, Shape{Dim(1)})};
  f.layers.layers.push_back(unbind);
  const auto pool = [&](const std::string& name, ValueId part) {
    const ValueId token = f.Run(name + ".token", "attn." + name, "slice", {part});
    const ValueId rest = f.Run(name + ".rest", "attn." + name, "slice", {part});
    return f.Run(name, "attn." + name, "cat", {token, rest});
  };
  const ValueId k = pool("pool_k", unbind.outputs[1]), q = pool("pool_q", unbind.outputs[0]);
  const ValueId scores = f.Run("scores", "attn", "matmul", {q, k});
  f.Run("softmax", "attn", "softmax", {scores});
  CHECK(f.DiesBehind(unbind.outputs[1]) == "pool_k");
  CHECK(f.DiesBehind(unbind.outputs[0]) == "pool_q");
}

}  // namespace
}  // namespace vramplan
