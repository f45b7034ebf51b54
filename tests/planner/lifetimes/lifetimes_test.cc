#include "planner/lifetimes/lifetimes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace vramplan {
namespace {

// Layers by hand. Values are called by their number; a module call by its path.
struct Model {
  Layers layers;

  ValueId Value(Role role = Role::kActivation) {
    layers.values.push_back({std::to_string(layers.values.size()), DType::kFloat32, Shape{Dim(1)}, role});
    return ValueId{static_cast<int32_t>(layers.values.size()) - 1};
  }
  ModuleId Module(const char* path, ModuleId parent = ModuleId()) {
    layers.modules.push_back({path, "", parent});
    return ModuleId{static_cast<int32_t>(layers.modules.size()) - 1};
  }
  ValueId Layer(ModuleId module, std::vector<ValueId> inputs, const char* op = "op") {
    vramplan::Layer layer;
    layer.op = op;
    layer.module = module;
    layer.inputs = std::move(inputs);
    layer.outputs = {Value()};
    layers.layers.push_back(layer);
    return layer.outputs[0];
  }
  // "1; 2 3; -": what dies after each layer.
  std::string Releases(Naming naming = Naming::kLikely) const {
    std::string text;
    for (const auto& after : ReleasesAfter(layers, naming)) {
      if (!text.empty()) text += "; ";
      if (after.empty()) text += "-";
      for (size_t i = 0; i < after.size(); ++i) text += (i > 0 ? " " : "") + std::to_string(after[i].value);
    }
    return text;
  }
};

TEST_CASE("a chain in one Sequential: each result dies when the next is there") {
  Model m;
  const ModuleId root = m.Module(""), seq = m.Module("net", root);
  const ValueId x = m.Value(Role::kInput);
  const ValueId a = m.Layer(m.Module("net.0", seq), {x});  // 1
  const ValueId b = m.Layer(m.Module("net.1", seq), {a});  // 2
  m.layers.outputs = {m.Layer(m.Module("net.2", seq), {b})};
  CHECK(m.Releases() == "-; 1; 2");
}

TEST_CASE("a call holds its arguments until it returns") {
  Model m;
  const ModuleId root = m.Module("");
  const ValueId x = m.Value(Role::kInput);
  const ValueId stem = m.Layer(m.Module("stem", root), {x});  // 1, used early inside block, held to its end
  const ModuleId block = m.Module("block", root), inner = m.Module("block.inner", block);
  const ValueId a = m.Layer(m.Module("block.inner.conv", inner), {stem});  // 2
  const ValueId b = m.Layer(m.Module("block.inner.norm", inner), {a});     // 3
  const ValueId c = m.Layer(m.Module("block.act", block), {b});  // 4: b was inner's result, held by nobody once used
  m.layers.outputs = {m.Layer(m.Module("head", root), {c})};
  CHECK(m.Releases() == "-; -; 2; 3 1; 4");
}

TEST_CASE("a local of a forward function dies with its last use there") {
  Model m;  // y = self.conv(x); return y + x
  const ModuleId root = m.Module(""), block = m.Module("block", root);
  const ValueId x = m.Layer(m.Module("stem", root), {m.Value(Role::kInput)});  // 1
  const ValueId y = m.Layer(m.Module("block.conv", block), {x});               // 2
  const ValueId sum = m.Layer(block, {y, x});                                  // 3
  m.layers.outputs = {m.Layer(m.Module("head", root), {sum})};
  CHECK(m.Releases() == "-; -; 2 1; 3");
}

TEST_CASE("two calls of one module are two calls") {
  Model m;
  const ModuleId root = m.Module("");
  const ValueId x = m.Value(Role::kInput);
  const ValueId a = m.Layer(m.Module("shared", root), {x});
  const ValueId b = m.Layer(m.Module("shared", root), {a});
  m.layers.outputs = {m.Layer(root, {b})};
  CHECK(m.Releases() == "-; 1; 2");
}

TEST_CASE("without modules a value dies with its last use; one nobody uses at once; the model's outputs never") {
  Model m;
  const ValueId x = m.Value(Role::kInput), w = m.Value(Role::kParameter);
  const ValueId a = m.Layer(ModuleId(), {x, w});  // 2
  m.Layer(ModuleId(), {a, w});                    // 3: unused
  const ValueId c = m.Layer(ModuleId(), {a, ValueId()});
  m.layers.outputs = {c, a};
  CHECK(m.Releases() == "-; 3; -");
  m.layers.outputs = {c};
  CHECK(m.Releases() == "-; 3; 2");
}

TEST_CASE("a name that several statements read stays bound until their results have joined") {
  // textcnn: cat([conv(x) for conv in self.convs]): the embedding outlives the last convolution.
  //   x ----+--------+
  //   a     +----+   |         join = cat(a, b)
  //   b          +---+
  Model m;
  const ModuleId root = m.Module("");
  const ValueId x = m.Layer(m.Module("embed", root), {m.Value(Role::kInput)});  // 1
  const ValueId a = m.Layer(m.Module("convs.0", root), {x});                    // 2
  const ValueId b = m.Layer(m.Module("convs.1", root), {x});                    // 3
  const ValueId act = m.Layer(root, {b});                                       // 4
  const ValueId join = m.Layer(root, {a, act});                                 // 5
  m.layers.outputs = {m.Layer(m.Module("head", root), {join})};
  CHECK(m.Releases() == "-; -; -; 3; 2 4 1; 5");
}

TEST_CASE("an argument that a call reads twice has one reader in the caller's frame") {
  Model m;  // x = block(x), with a residual inside
  const ModuleId root = m.Module(""), block = m.Module("block", root);
  const ValueId x = m.Layer(m.Module("stem", root), {m.Value(Role::kInput)});  // 1
  const ValueId y = m.Layer(m.Module("block.conv", block), {x});               // 2
  const ValueId sum = m.Layer(block, {x, y});                                  // 3
  m.layers.outputs = {m.Layer(m.Module("head", root), {sum})};
  CHECK(m.Releases() == "-; -; 2 1; 3");
}

TEST_CASE("timm's patches keep their name while a method puts the class token and the positions to them") {
  // deit_tiny; recorded: the convolution's result dies behind the sum, not behind the cat.
  for (const char* path : {"patch_embed", "conv_proj"}) {
    Model m;
    const ModuleId root = m.Module("");
    const ValueId patches = m.Layer(m.Module(path, root), {m.Value(Role::kInput)});     // 1
    const ValueId joined = m.Layer(root, {m.Value(Role::kParameter), patches}, "cat");  // 2 3
    const ValueId sum = m.Layer(root, {joined, m.Value(Role::kParameter)}, "add");      // 4 5
    m.layers.outputs = {m.Layer(m.Module("blocks.0", root), {sum})};
    CHECK(m.Releases() == (path == std::string("patch_embed") ? "-; -; 3 1; 5" : "-; 1; 3; 5"));
  }
}

TEST_CASE(
    "fewest names, most names: a result dies with its reader, or with its frame; a chain of a list does not wait") {
  //   time ->    a      b      blocks.0   blocks.1   head
  //   x    a     [fewest][most ..........................]
  Model m;
  const ModuleId root = m.Module("");
  const ValueId a = m.Layer(m.Module("a", root), {m.Value(Role::kInput)});  // 1
  const ValueId b = m.Layer(m.Module("b", root), {a});                      // 2
  const ValueId c = m.Layer(m.Module("blocks.0", root), {b});               // 3
  const ValueId d = m.Layer(m.Module("blocks.1", root), {c});               // 4
  m.layers.outputs = {m.Layer(m.Module("head", root), {d})};
  CHECK(m.Releases(Naming::kFewest) == "-; 1; 2; 3; 4");
  CHECK(m.Releases(Naming::kLikely) == "-; 1; 2; 3; 4");
  CHECK(m.Releases(Naming::kMost) == "-; -; 2; 3; 1 4");  // x = self.b(a); for block in self.blocks: x = block(x)
}

TEST_CASE("most names: a loop that looks results up may have all of them in a list") {
  // for i, layer in enumerate(self.layers): x = cat([outs[0], x]) if i == 2 else layer(x); outs.append(x)
  for (const bool looks_up : {true, false}) {
    Model m;
    const ModuleId root = m.Module("");
    const ValueId a = m.Layer(m.Module("layers.0", root), {m.Value(Role::kInput)});     // 1
    const ValueId b = m.Layer(m.Module("layers.1", root), {a});                         // 2
    const ValueId c = m.Layer(m.Module("layers.2", root), {b});                         // 3
    const ValueId d = m.Layer(root, {looks_up ? a : m.Value(Role::kInput), c}, "cat");  // 4
    const ValueId e = m.Layer(m.Module("layers.3", root), {d});                         // 5
    m.layers.outputs = {m.Layer(m.Module("head", root), {e})};
    const std::string releases = m.Releases(Naming::kMost);
    CHECK(releases == (looks_up ? "-; -; -; -; -; 1 2 3 4 5" : "-; 1; 2; -; 3; 5 6"));
  }
}

TEST_CASE("tokens that are parameters make no list of a join") {
  // timm's DeiT, distilled: x = torch.cat((cls_token, dist_token, x), dim=1); x = x + self.pos_embed
  Model m;
  const ModuleId root = m.Module("");
  const ValueId patches = m.Layer(m.Module("patch_embed", root), {m.Value(Role::kInput)});
  const ValueId joined = m.Layer(root, {m.Value(Role::kParameter), m.Value(Role::kParameter), patches}, "cat");
  const ValueId sum = m.Layer(root, {joined, m.Value(Role::kParameter)}, "add");
  m.layers.outputs = {m.Layer(m.Module("blocks.0", root), {sum})};
  CHECK(m.Releases() == "-; -; 4 1; 6");
}

TEST_CASE("parts of a copy leave the projection its name") {
  // qkv = self.qkv(x).reshape(...).permute(...); q, k, v = qkv.reshape(...).unbind(0)    segment_anything
  for (const char* copy : {"reshape", "clone"}) {
    Model m;
    const ModuleId root = m.Module(""), attn = m.Module("attn", root);
    const ValueId qkv = m.Layer(m.Module("attn.qkv", attn), {m.Value(Role::kInput)}, "linear");  // 1
    const ValueId parts = m.Layer(attn, {m.Layer(attn, {qkv}, "reshape")}, "permute");           // 2 3
    const ValueId q = m.Layer(attn, {m.Layer(attn, {parts}, copy)}, "unbind");                   // 4 5
    m.layers.layers.back().outputs.push_back(m.Value());                                         // 6
    const ValueId product = m.Layer(attn, {q, m.layers.layers.back().outputs[1]}, "matmul");     // 7
    const ValueId proj = m.Layer(m.Module("attn.proj", attn), {product}, "linear");              // 8
    m.layers.outputs = {m.Layer(m.Module("head", root), {proj})};
    const auto after = ReleasesAfter(m.layers);
    CHECK((std::find(after[6].begin(), after[6].end(), qkv) != after[6].end()) == (copy == std::string("reshape")));
  }
}

TEST_CASE("what is joined by the dozen was a list of its frame") {
  // deeplabv3's ASPP: `_res` lives while self.project(torch.cat(_res, dim=1)) runs; two operands are no list.
  for (const size_t parts : {2, 3}) {
    Model m;
    const ModuleId root = m.Module(""), aspp = m.Module("aspp", root);
    const ValueId x = m.Value(Role::kInput);
    std::vector<ValueId> results;
    for (size_t i = 0; i < parts; ++i) results.push_back(m.Layer(m.Module("aspp.conv", aspp), {x}));
    const ValueId joined = m.Layer(aspp, results);
    m.layers.layers.back().op = "cat";
    m.layers.outputs = {m.Layer(m.Module("head", root), {m.Layer(m.Module("aspp.project", aspp), {joined})})};
    CHECK(m.Releases() == (parts == 2 ? "-; -; 1 2; 3; 4" : "-; -; -; -; 4 1 2 3; 5"));
  }
}

TEST_CASE("every second pixel of one tensor is gathered on the spot") {
  // swin: x = pad(x); x = cat([x[:, 0::2], x[:, 1::2], ...]); recorded: the padded input dies with the gathering.
  for (const int64_t step : {1, 2}) {
    Model m;
    const ModuleId root = m.Module(""), merging = m.Module("merging", root);
    const ValueId x = m.Value(Role::kInput);
    const ValueId padded = m.Layer(merging, {x});  // 1
    std::vector<ValueId> pieces;
    for (int i = 0; i < 3; ++i) {
      pieces.push_back(m.Layer(merging, {padded}, "slice"));  // 2 3 4
      m.layers.layers.back().attributes.Set("step", step);
    }
    const ValueId joined = m.Layer(merging, pieces, "cat");  // 5
    m.layers.outputs = {
        m.Layer(m.Module("head", root), {m.Layer(m.Module("merging.norm", merging), {joined})})};  // 6 7
    CHECK(m.Releases() == (step == 2 ? "-; -; -; -; 2 3 4 1; 5; 6" : "-; -; -; -; -; 5 1 2 3 4; 6"));
  }
}

TEST_CASE("what is made without any input has a name of its own") {
  // swin: bias = table[index].permute().contiguous(); recorded: it dies when the block's forward returns.
  Model m;
  const ModuleId root = m.Module(""), attn = m.Module("attn", root);
  const ValueId x = m.Layer(m.Module("stem", root), {m.Value(Role::kInput)});       // 1
  const ValueId table = m.Value(Role::kParameter);                                  // 2
  const ValueId bias = m.Layer(attn, {m.Layer(attn, {table})});                     // 3 4: only 4 is named
  const ValueId scores = m.Layer(attn, {x});                                        // 5
  const ValueId biased = m.Layer(attn, {scores, bias});                             // 6
  m.layers.outputs = {m.Layer(m.Module("head", root), {m.Layer(attn, {biased})})};  // 7 8
  // What the call was given goes last: the caller holds it until the call is back.
  CHECK(m.Releases() == "-; -; 3; -; 5; 6 4 1; 7");
}

TEST_CASE("what a list of branches reads keeps its name behind the list") {
  // textcnn: return self.fc(torch.cat([conv(x) for conv in self.convs], 1)); of two operands, x = cat([a, b]) is usual.
  for (const size_t branches : {2, 3}) {
    Model m;
    const ModuleId root = m.Module("");
    const ValueId x = m.Layer(m.Module("embed", root), {m.Value(Role::kInput)});  // 1
    std::vector<ValueId> results;
    for (size_t i = 0; i < branches; ++i) results.push_back(m.Layer(m.Module("convs.0", root), {x}));
    const ValueId joined = m.Layer(root, results, "cat");
    const ValueId dropped = m.Layer(m.Module("drop", root), {joined});
    m.layers.outputs = {m.Layer(m.Module("fc", root), {dropped})};
    CHECK(m.Releases() == (branches == 2 ? "-; -; -; 2 3 1; 4; 5" : "-; -; -; -; -; 5; 6 1 2 3 4"));
  }
}

TEST_CASE("what is projected into q, k and v keeps its name until the product writes it anew") {
  // swin: qkv = F.linear(x, ...); x = attn.matmul(v)...; recorded: the windows outlive the softmax.
  for (const char* projection : {"linear", "op"}) {
    Model m;
    const ModuleId root = m.Module(""), attn = m.Module("attn", root);
    const ValueId x = m.Layer(attn, {m.Value(Role::kInput)});                                                 // 1
    const ValueId qkv = m.Layer(attn, {m.Layer(attn, {x}, projection)}, "reshape");                           // 2 3
    const ValueId k = m.Layer(attn, {qkv}, "select"), v = m.Layer(attn, {qkv}, "select");                     // 4 5
    const ValueId scores = m.Layer(attn, {k});                                                                // 6
    const ValueId product = m.Layer(attn, {scores, v});                                                       // 7
    m.layers.outputs = {m.Layer(m.Module("head", root), {m.Layer(m.Module("attn.proj", attn), {product})})};  // 8 9
    const bool held = projection == std::string("linear");
    CHECK(m.Releases() == (held ? "-; -; 2; -; -; -; 6 1 3; 7 4 5; 8" : "-; 1; 2; -; -; -; 6 3; 7 4 5; 8"));
  }
}

TEST_CASE("parts of one tensor are names of their frame; a scaled one takes the name over") {
  // swin: qkv[0], qkv[1], qkv[2]; q = q * scale; recorded: qkv's block dies when attention returns.
  Model m;
  const ModuleId root = m.Module(""), attn = m.Module("attn", root);
  const ValueId qkv = m.Layer(m.Module("attn.qkv", attn), {m.Value(Role::kInput)});      // 1
  const ValueId q = m.Layer(attn, {qkv}, "select"), k = m.Layer(attn, {qkv}, "select");  // 2 3
  const ValueId scaled = m.Layer(attn, {q}, "mul");                                      // 4
  m.layers.layers.back().attributes.Set("scalar", 0.125);
  const ValueId scores = m.Layer(attn, {scaled, k});                                                       // 5
  m.layers.outputs = {m.Layer(m.Module("head", root), {m.Layer(m.Module("attn.proj", attn), {scores})})};  // 6
  CHECK(m.Releases() == "-; -; -; 2; 1; 5 4 3; 6");
}

TEST_CASE("what a block returns through its norm keeps its operands to the end") {
  // BERT: return self.LayerNorm(hidden + residual); recorded under autocast: the half `hidden` outlives the norm.
  // torch.nn's encoder layers end with norm(x + self._ff_block(x)); recorded: what the block returned dies with the
  // sum.
  enum { kReturned, kGoesOn, kShortcutFirst };
  for (const int kind : {kReturned, kGoesOn, kShortcutFirst}) {
    const bool returned = kind != kGoesOn;
    Model m;
    const ModuleId root = m.Module(""), block = m.Module("block", root);
    const ValueId x = m.Layer(m.Module("stem", root), {m.Value(Role::kInput)});  // 1
    const ValueId hidden = m.Layer(m.Module("block.dense", block), {x});         // 2
    const std::vector<ValueId> operands =
        kind == kShortcutFirst ? std::vector<ValueId>{x, hidden} : std::vector<ValueId>{hidden, x};
    const ValueId sum = m.Layer(block, operands, "add");                        // 3
    ValueId out = m.Layer(m.Module("block.norm", block), {sum}, "layer_norm");  // 4
    if (!returned) out = m.Layer(m.Module("block.act", block), {out});          // 5
    m.layers.outputs = {m.Layer(m.Module("head", root), {out})};
    CHECK(m.Releases() == (kind == kReturned ? "-; -; -; 3 2 1; 4"
                           : kind == kGoesOn ? "-; -; -; 3 2; 4 1; 5"
                                             : "-; -; 2; 3 1; 4"));
  }
}

TEST_CASE("what an attention weighs, and with what, has names") {
  // attn = softmax(scores); attn = dropout(attn); attn @ v: recorded of swin_t under autocast and checkpoints, where
  // nothing saves it.
  for (const bool fused : {false, true}) {
    Model m;
    const ModuleId root = m.Module(""), attn = m.Module("attn", root);
    const ValueId q = m.Layer(m.Module("attn.q", attn), {m.Value(Role::kInput)});  // 1
    const ValueId v = m.Layer(m.Module("attn.v", attn), {q});                      // 2
    ValueId product;
    if (fused) {
      product = m.Layer(attn, {q, q, v}, "scaled_dot_product_attention");  // 3
    } else {
      const ValueId weights = m.Layer(attn, {m.Layer(attn, {q}, "softmax")}, "dropout");  // 3 4
      product = m.Layer(attn, {weights, v}, "matmul");                                    // 5
    }
    m.layers.outputs = {m.Layer(m.Module("head", root), {m.Layer(m.Module("attn.proj", attn), {product})})};
    CHECK(m.Releases() == (fused ? "-; -; -; 3 1 2; 4" : "-; -; -; 3; 1; 5 2 4; 6"));
  }
}

TEST_CASE("the statement that writes a projected name anew ends with the product's shape") {
  // x = (attn @ v).transpose(1, 2).reshape(...)
  Model m;
  const ModuleId root = m.Module(""), attn = m.Module("attn", root);
  const ValueId x = m.Layer(m.Module("stem", root), {m.Value(Role::kInput)});                              // 1
  const ValueId folded = m.Layer(attn, {x}, "reshape");                                                    // 2
  const ValueId qkv = m.Layer(attn, {folded}, "linear");                                                   // 3
  const ValueId q = m.Layer(attn, {qkv}, "select"), k = m.Layer(attn, {qkv}, "select");                    // 4 5
  const ValueId product = m.Layer(attn, {q, k});                                                           // 6
  const ValueId shaped = m.Layer(attn, {m.Layer(attn, {product}, "transpose")}, "reshape");                // 7 8
  m.layers.outputs = {m.Layer(m.Module("head", root), {m.Layer(m.Module("attn.proj", attn), {shaped})})};  // 9
  CHECK(m.Releases() == "-; -; -; -; -; 3; 6; 7 2; 8 4 5 1; 9");
}

TEST_CASE("what DenseNet joins lives until the convolution behind norm and activation is done") {
  Model m;
  const ModuleId root = m.Module(""), layer = m.Module("layer", root);
  const ValueId x = m.Value(Role::kInput);
  const ValueId joined = m.Layer(layer, {x, x}, "cat");                                        // 1
  const ValueId norm = m.Layer(m.Module("layer.norm", layer), {joined}, "batch_norm");         // 2
  const ValueId act = m.Layer(m.Module("layer.relu", layer), {norm}, "relu");                  // 3
  const ValueId bottleneck = m.Layer(m.Module("layer.conv", layer), {act}, "conv2d");          // 4: named, too
  const ValueId second = m.Layer(m.Module("layer.norm2", layer), {bottleneck}, "batch_norm");  // 5
  m.layers.outputs = {m.Layer(m.Module("layer.conv2", layer), {second}, "conv2d")};
  CHECK(m.Releases() == "-; -; 2; 3 1; -; 5 4");
}

TEST_CASE("what a forward showed overrides every rule") {
  Model m;
  const ModuleId root = m.Module(""), block = m.Module("block", root);
  const ValueId x = m.Value(Role::kInput);
  const ValueId a = m.Layer(m.Module("stem", root), {x});          // 1, an argument of block
  const ValueId b = m.Layer(m.Module("block.one", block), {a});    // 2
  const ValueId c = m.Layer(m.Module("block.two", block), {b});    // 3
  const ValueId d = m.Layer(m.Module("block.three", block), {c});  // 4
  m.layers.outputs = {m.Layer(m.Module("head", root), {d})};
  CHECK(m.Releases() == "-; -; 2; 3 1; 4");
  m.layers.recorded = {{b, d}, {a, b}};  // block(x) took its argument off a list; b has a name
  for (const Naming naming : {Naming::kFewest, Naming::kLikely, Naming::kMost})
    CHECK(m.Releases(naming).starts_with("-; 1; -; 2 3"));
  m.layers.recorded = {{c, {}}, {a, b}, {b, b}};  // c: to the end; b: to its last reader at least
  CHECK(m.Releases() == "-; 1; 2; -; 3 4");
}

}  // namespace
}  // namespace vramplan
