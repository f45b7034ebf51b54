#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "graph/base/text.h"
#include "graph/layers/trained.h"
#include "planner/lifetimes/rules.h"

namespace vramplan {
namespace {

// One value that a layer made, as its frame sees it.
struct NameUse {
  ModuleId frame;  // of maker and readers together
  Statement made;  // in it
  Statement read;  // in it: the only one
  int readers = 0;
};

class BoundNames {
 public:
  BoundNames(const Frames& frames, Holds& holds) : layers_(frames.layers()), frames_(frames), holds_(holds) {}

  void Hold() {
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      HoldFactors(layers_.layers[l]);
      HoldScaled(layers_.layers[l], static_cast<int>(l));
      HoldAroundFunction(layers_.layers[l], static_cast<int>(l));
      HoldAroundJoin(layers_.layers[l], static_cast<int>(l));
    }
    HoldTuples();
    HoldStates();
    for (size_t v = 0; v < layers_.values.size(); ++v) {
      // Masks and positions are mostly written into one another, by helpers that transformers compose.
      if (IsFloating(layers_.values[v].type)) HoldIfWaiting(ValueId::At(v));
      HoldIfSkipping(ValueId::At(v));
    }
  }

 private:
  void Raise(ValueId id, int until, ModuleId frame) { holds_.Lengthen(id, frames_.Named(until, frame)); }

  int PlaceOf(ValueId made) const { return frames_.MakerOf(made); }
  bool Made(ValueId id) const { return frames_.IsMade(id); }
  const Layer& MakerOf(ValueId id) const { return frames_.At(PlaceOf(id)); }
  std::span<const int32_t> ReadersOf(ValueId id) const { return frames_.uses().LayersReading(id); }
  // Of its maker and its readers together.
  ModuleId FrameOf(ValueId id) const {
    ModuleId frame = MakerOf(id).module;
    for (const int reader : ReadersOf(id)) frame = frames_.Common(frame, frames_.At(reader).module);
    return frame;
  }
  // By one layer, however often.
  bool IsReadByOne(ValueId id) const {
    const std::span<const int32_t> readers = ReadersOf(id);
    return !readers.empty() && readers.front() == readers.back();
  }

  // Attention is written in names, by whichever library: q, k, v; attn, v.
  void HoldFactors(const Layer& layer) {
    const bool product = layer.op == "matmul" || layer.op == "bmm" || (layer.op == "einsum" && Attends(layer));
    if (!product && layer.op != "scaled_dot_product_attention") return;
    if (product && (layer.inputs.size() != 2 || !Made(layer.inputs[0]) || !Made(layer.inputs[1]))) return;
    for (const ValueId id : layer.inputs) {
      if (Made(id) && !IsNormalized(id) && !IsScaledOnTheSpot(id, layer) && !IsTurned(id, layer))
        Raise(id, frames_.EndOf(layer.module), layer.module);
    }
  }

  // An einsum in front of a softmax or behind one; others are as often written over their operand (x = einsum(x, w)).
  bool Attends(const Layer& layer) const {
    constexpr int kMostBetween = 8;
    for (const ValueId input : layer.inputs) {
      const ValueId weights = frames_.uses().Behind({"dropout"}, input);
      if (Made(weights) && MakerOf(weights).op == "softmax") return true;
    }
    ValueId id = layer.outputs[0];
    for (int between = 0; between < kMostBetween && id.valid() && !ReadersOf(id).empty(); ++between) {
      const Layer& reader = frames_.At(ReadersOf(id).back());
      if (reader.op == "softmax") return true;
      if (reader.module != layer.module || reader.op == "einsum") return false;
      id = reader.outputs[0];
    }
    return false;
  }

  // Not of the batch: made of parameters and numbers alone.
  bool IsOfOne(ValueId id) const {
    const Shape& shape = layers_[id].shape;
    return std::ranges::all_of(shape, [](const Dim& length) { return length.IsConstant(); });
  }

  // y = (x - mu) / (var + eps).sqrt(); return weight * y + bias: what stands behind a parameter is a name, an
  // expression stands in front of it (LayerNorm of facebookresearch/ConvNeXt's models/convnext.py, of NAFNet's
  // arch_util.py).
  void HoldScaled(const Layer& layer, int index) {
    if (layer.op != "mul" || layer.inputs.size() != 2 || !layer.inputs[0].valid() || !Made(layer.inputs[1])) return;
    if (!IsOfOne(layer.inputs[0]) || !IsReadByOne(layer.inputs[1])) return;
    const std::span<const int32_t> readers = ReadersOf(layer.outputs[0]);
    const Layer& quotient = MakerOf(layer.inputs[1]);
    if (!IsReadByOne(layer.outputs[0]) || quotient.op != "div" || quotient.module != layer.module) return;
    const Layer& sum = frames_.At(readers[0]);
    const bool shifts = sum.op == "add" && sum.module == layer.module && sum.inputs.size() == 2 &&
                        sum.inputs[0] == layer.outputs[0] && sum.inputs[1].valid() && IsOfOne(sum.inputs[1]);
    if (shifts && readers[0] > index) Raise(layer.inputs[1], readers[0], layer.module);
  }

  // F.normalize(q) @ F.normalize(k): written where it is multiplied.
  bool IsNormalized(ValueId id) const {
    const Uses& uses = frames_.uses();
    const Layer* quotient = uses.MakerOf(uses.Behind({"transpose", "permute"}, id));
    if (quotient == nullptr || quotient->op != "div") return false;
    const Layer* length = uses.MakerOf(uses.Behind({"expand", "clamp"}, Uses::In(quotient, 1)));
    return length != nullptr && length->op == "norm";
  }

  // x = torch.bmm(x, trans), as PointNets turn their points (fxia22/pointnet.pytorch, pointnet/model.py): a product of
  // the first factor's own shape takes its name. Not attn @ v, though there may be as many tokens as channels.
  bool IsTurned(ValueId id, const Layer& product) const {
    if (product.op != "bmm" || id != product.inputs[0]) return false;
    if (layers_[id].shape != layers_[product.outputs[0]].shape) return false;
    const Layer* maker = frames_.uses().MakerOf(frames_.uses().Behind({"transpose"}, id));
    return maker == nullptr || !IsOneOf(maker->op, {"softmax", "dropout"});
  }

  // (q * self.scale) @ k, where q itself is read again later: else the product is written q = q * self.scale.
  bool IsScaledOnTheSpot(ValueId id, const Layer& product) const {
    const Layer& scale = MakerOf(id);
    if (scale.op != "mul" || !scale.attributes.Has("scalar") || scale.module != product.module) return false;
    return Made(scale.inputs[0]) && ReadersOf(scale.inputs[0]).back() > PlaceOf(product.outputs[0]);
  }

  // x = F.relu(self.norm(self.conv(x))): a function around calls is one statement with them, and x keeps its value
  // until the whole of it is done. So with transformers' activations, which were functions once.
  void HoldAroundFunction(const Layer& layer, int index) {
    if (!IsOneOf(layer.op, {"relu", "leaky_relu", "elu", "gelu", "silu", "sigmoid", "tanh", "hardtanh", "selu"}))
      return;
    ModuleId frame = layer.module;
    if (frame.valid() && layers_[frame].path.ends_with(".activation_fn")) frame = layers_[frame].parent;
    if (frame.valid() && frames_.FirstOf(frame) >= 0 && frames_.At(frames_.FirstOf(frame)).op == "batch_norm") {
      return;  // pre-activated (kuangliu/pytorch-cifar, chrischute/real-nvp): it goes with the convolution behind it
    }
    ValueId value = layer.inputs[0];
    Statement inner = frames_.StatementOf(index, frame);
    for (bool weights = false; Made(value) && !weights;) {  // back to the convolution or projection
      if (!frames_.IsInside(MakerOf(value).module, frame)) break;
      const Statement made = frames_.StatementOf(PlaceOf(value), frame);
      if (made.last + 1 != inner.first || !IsReadByOne(value)) break;
      const Layer& first = frames_.At(made.first);
      // F.relu(F.max_pool2d(self.conv(x), 2)), as in pytorch/tutorials, spatial_transformer_tutorial.py
      if (!made.call.valid() && !first.op.starts_with("max_pool")) break;
      weights = first.op.starts_with("conv") || first.op == "linear";
      inner = made;
      value = first.inputs.empty() ? ValueId() : first.inputs[0];
    }
    if (inner.first >= index) return;
    if (Made(value)) Raise(value, index, frame);
    if (layer.module == frame) HoldAroundNorms(frame);
  }

  // out = F.relu(self.bn1(self.conv1(x))); out = self.bn2(self.conv2(out)): who nests one convolution nests the other,
  // as in kuangliu/pytorch-cifar, models/resnet.py.
  void HoldAroundNorms(ModuleId frame) {
    if (!nesting_.insert(frame).second) return;
    const std::vector<Statement> run = frames_.StatementsOf(frame);
    for (size_t s = 1; s < run.size(); ++s) {
      const Statement &conv = run[s - 1], &norm = run[s];
      if (!conv.call.valid() || !norm.call.valid() || conv.first != conv.last || norm.first != norm.last) continue;
      const Layer& inner = frames_.At(conv.first);
      const Layer& outer = frames_.At(norm.first);
      if (!inner.op.starts_with("conv") || outer.op != "batch_norm" || outer.inputs[0] != inner.outputs[0]) continue;
      if (Made(inner.inputs[0])) Raise(inner.inputs[0], norm.last, frame);
    }
  }

  // x = block(cat([x, skips.pop()], 1)), x = block(cat([skip, self.up(x)], 1)): the forward of a whole model, unlike
  // that of its blocks, mostly joins where it calls; x keeps its value until the call is back.
  void HoldAroundJoin(const Layer& join, int index) {
    if (join.op != "cat" || join.inputs.size() != 2 || !Made(join.inputs[0]) || !Made(join.inputs[1])) return;
    const ModuleId frame = join.module;
    const bool whole = !frame.valid() || frames_.EndOf(frame) + 1 == static_cast<int>(layers_.layers.size());
    if (!whole || (frame.valid() && frames_.FirstOf(frame) > 0)) return;
    const std::span<const int32_t> readers = ReadersOf(join.outputs[0]);
    if (readers.empty()) return;
    const Statement call = frames_.StatementOf(readers.front(), frame);
    if (!call.call.valid() || call.first != index + 1 || readers.back() > call.last) return;
    if (layers_[join.outputs[0]].shape.rank() >= 4 && !frames_.IsOfList(call)) {
      HoldLevel(join, index, call, frame);
      return;
    }
    for (const bool second : {false, true}) {
      const ValueId operand = join.inputs[second ? 1 : 0];
      if (!IsReadByOne(operand) || !frames_.IsInside(MakerOf(operand).module, frame)) continue;
      const Statement made = frames_.StatementOf(PlaceOf(operand), frame);
      if (made.last + 1 != index) continue;  // the skip
      if (!second) {
        Raise(operand, call.last, frame);
      } else if (made.call.valid()) {
        for (const ValueId id : frames_.At(made.first).inputs) {
          if (Made(id) && PlaceOf(id) < made.first && ReadersOf(id).front() >= made.first) Raise(id, call.last, frame);
        }
      }
    }
  }

  // d3 = self.up3(d4); d3 = cat([d3, e3], 1); d3 = self.dec3(d3); d2 = self.up2(d3): decoders that name their levels
  // write the level's name anew until the level is done, and then no more (mateuszbuda/brain-segmentation-pytorch,
  // unet.py; LeeJunHyun/Image_Segmentation, network.py). A function has a name for what it resized: hx2up =
  // _upsample_like(hx2, hx1) (xuebinqin/U-2-Net, model/u2net.py).
  void HoldLevel(const Layer& join, int index, const Statement& call, ModuleId frame) {
    const int end = frames_.EndOf(frame);
    for (const ValueId id : frames_.At(call.last).outputs) {
      if (Made(id)) Raise(id, end, frame);
    }
    for (const ValueId id : join.inputs) {
      if (PlaceOf(id) + 1 == index && MakerOf(id).op.starts_with("upsample") && MakerOf(id).module == frame)
        Raise(id, end, frame);
    }
  }

  std::optional<NameUse> UseOf(ValueId id) const {
    if (!Made(id) || ReadersOf(id).empty()) return {};
    NameUse use;
    use.frame = FrameOf(id);
    use.made = frames_.StatementOf(PlaceOf(id), use.frame);
    use.read = frames_.StatementOf(ReadersOf(id).front(), use.frame);
    for (const int reader : ReadersOf(id)) {
      if (frames_.StatementOf(reader, use.frame) != use.read) return {};
    }
    return use;
  }

  // A weight that a parametrization makes when its module is called: no argument of it.
  bool IsOfParameters(const Layer& layer) const {
    return std::ranges::all_of(layer.inputs, [&](ValueId id) { return !id.valid() || IsStored(layers_[id]); });
  }

  // x, k = block(x): of two results of one call that the frame reads each has a name, which the next turn of a loop
  // writes anew. But what one call alone reads, which gives as many, is one tuple: x = block(x) of a Sequential.
  void HoldTuples() {
    struct Result {
      ValueId id;
      ModuleId frame;
      Statement made;
    };
    std::map<ModuleId, std::vector<Result>> results;  // by call
    for (size_t v = 0; v < layers_.values.size(); ++v) {
      const ValueId id = ValueId::At(v);
      if (!Made(id) || ReadersOf(id).empty() || holds_[id.index()].after < 0) continue;
      const ModuleId frame = FrameOf(id);
      const Statement made = frames_.StatementOf(PlaceOf(id), frame);
      // What the call itself reads too may be one tensor of several, in calls of their own, that the export merged.
      if (made.call.valid() && ReadersOf(id).front() > made.last) results[made.call].push_back({id, frame, made});
    }
    const auto handed_on = [&](const std::vector<Result>& made) {
      const Statement read = frames_.StatementOf(ReadersOf(made[0].id).front(), made[0].frame);
      const auto next = results.find(read.call);
      const bool alike = read.call.valid() && next != results.end() && next->second.size() == made.size();
      return alike && std::ranges::all_of(made, [&](const Result& one) {
               return ReadersOf(one.id).front() >= read.first && ReadersOf(one.id).back() <= read.last;
             });
    };
    for (const auto& [call, made] : results) {
      if (made.size() < 2 || handed_on(made)) continue;
      for (const Result& one : made) Raise(one.id, frames_.EndOfName(PlaceOf(one.id), one.frame), one.frame);
    }
  }

  // for x in xs: h, c = self.cell(x, (h, c)): each turn writes both names anew, and they outlive the last turn, whoever
  // reads them then. Told by what any turn's results were read for outside of the call.
  void HoldStates() {
    std::map<std::pair<ModuleId, std::string>, std::vector<Statement>> turns;  // by frame and module
    for (const ModuleId frame : frames_.All()) {
      for (const Statement& statement : frames_.StatementsOf(frame)) {
        if (statement.call.valid() && !frames_.IsOfList(statement))
          turns[{frame, frames_.KindOf(statement)}].push_back(statement);
      }
    }
    for (const auto& [module, calls] : turns) {
      constexpr size_t kFewest = 3;  // two calls may be one for each of a pair: self.encode(a), self.encode(b)
      if (calls.size() >= kFewest) HoldStatesOf(calls, module.first);
    }
  }

  // Where a call makes a value: layers counted from its last.
  struct Place {
    int layer, output;
    auto operator<=>(const Place&) const = default;
  };
  template <typename Visit>
  void VisitValues(const std::vector<Statement>& calls, Visit&& visit) const {
    for (const Statement& call : calls) {
      for (int l = call.first; l <= call.last; ++l) {
        const std::vector<ValueId>& outputs = frames_.At(l).outputs;
        for (size_t o = 0; o < outputs.size(); ++o) {
          if (outputs[o].valid()) visit(call, outputs[o], Place{call.last - l, static_cast<int>(o)});
        }
      }
    }
  }

  void HoldStatesOf(const std::vector<Statement>& calls, ModuleId frame) {
    std::map<Place, size_t> read_in;  // by how many turns' results
    bool hands_on = false;            // the next turn reads what this one made
    VisitValues(calls, [&](const Statement& call, ValueId id, const Place& place) {
      if (ReadersOf(id).empty() || ReadersOf(id).back() <= call.last) return;
      ++read_in[place];
      for (const int reader : ReadersOf(id)) {
        if (hands_on || reader <= call.last || reader > frames_.EndOf(frame)) continue;
        const Statement next = frames_.StatementOf(reader, frame);
        hands_on = next.call.valid() && layers_[next.call].path == layers_[call.call].path;
      }
    });
    // A mask that the export computed in the first turn alone is no result of any.
    std::erase_if(read_in, [&](const auto& entry) { return entry.second + 1 < calls.size(); });
    if (read_in.size() < 2 || !hands_on) return;
    VisitValues(calls, [&](const Statement&, ValueId id, const Place& place) {
      if (read_in.contains(place)) Raise(id, frames_.EndOfName(PlaceOf(id), frame), frame);
    });
  }

  // acc = acc + f(h), acc = torch.maximum(acc, y): what an operator made, or zeros, is read by the same operator again:
  // the name of the sum is written anew by each turn.
  bool IsAccumulated(ValueId id, const Statement& read) const {
    if (!Made(id) || read.call.valid()) return false;
    const Layer &maker = MakerOf(id), &sum = frames_.At(read.first);
    if (!IsOneOf(sum.op, {"add", "sub", "mul", "maximum", "minimum"})) return false;
    if (maker.module != sum.module || layers_[id].shape != layers_[sum.outputs[0]].shape) return false;
    return maker.op == sum.op || maker.op == "zeros" || maker.op == "ones" || maker.op == "full";
  }

  // A value that is read once, by a statement that takes more than one: did it wait while something was made that
  // outlives that statement? Python's stack gives up first what came last, so it cannot have been there. Parts that
  // were taken apart into names wait for their turn, and may be written anew then: q = self.pool_q(q).
  void HoldIfWaiting(ValueId id) {
    if (holds_[id.index()].after < 0) return;
    if (Made(id) && (MakerOf(id).op == "unbind" || MakerOf(id).op == "split")) return;
    const std::optional<NameUse> use = UseOf(id);
    if (!use || frames_.Carries(use->made, use->read)) return;
    if (IsAccumulated(id, use->read)) return;
    const bool call = use->read.call.valid();
    if (!call) {
      const Layer& reader = frames_.At(use->read.first);
      if (std::ranges::count_if(reader.inputs, [&](ValueId input) { return Made(input); }) < 2) return;
    }
    bool waits = false;
    for (int l = use->made.last + 1; l < use->read.first && !waits; ++l) {
      if (IsOfParameters(frames_.At(l))) continue;
      for (const ValueId other : frames_.At(l).outputs) {
        if (!other.valid() || ReadersOf(other).empty()) continue;
        const int last = ReadersOf(other).back();
        // Outlives it; what other frames read is one tensor of several that the export merged.
        if (last > use->read.last && last <= frames_.EndOf(use->frame)) waits = true;
        if (call && last >= use->read.first && last <= use->read.last) waits = true;  // another argument
      }
    }
    if (waits) Raise(id, frames_.EndOfName(PlaceOf(id), use->frame), use->frame);
  }

  // x1 = self.stem(x); x2 = self.down(x1); ...; self.up(x2, x1): what jumps over other modules into a cat or a call was
  // given a name by U-Nets that name their levels. Those that keep levels in a list of modules push and pop.
  void HoldIfSkipping(ValueId id) {
    if (holds_[id.index()].after < 0 || !Made(id) || ReadersOf(id).empty() || IsReadByOne(id)) return;
    const int first = ReadersOf(id).front(), last = ReadersOf(id).back();
    const ModuleId frame = FrameOf(id);
    const Statement made = frames_.StatementOf(PlaceOf(id), frame);
    const Statement join = frames_.StatementOf(last, frame);
    if (!made.call.valid() || (frames_.IsOfList(made) && !MeetsEnlarged(id, join))) return;
    if (frames_.StatementOf(first, frame) == join || frames_.Carries(made, join)) return;
    const bool joins = frames_.At(last).op == "cat" || MeetsEnlarged(id, join);
    if (join.call.valid() ? !Meets(join, first) : !joins) return;
    Raise(id, frames_.EndOfName(PlaceOf(id), frame), frame);
  }

  // x = up(x); x = cat((x, skips[-(u + 1)]), 1) or x = x + skip: a list that a level's map is picked from, unlike one
  // that each block pops from, keeps it to the end of the frame (nnU-Net's generic_UNet.py, NAFNet's zip(..,
  // encs[::-1])).
  bool MeetsEnlarged(ValueId skip, const Statement& join) const {
    const Layer& layer = frames_.At(join.first);
    if (join.call.valid() || (layer.op != "cat" && layer.op != "add") || layer.inputs.size() != 2) return false;
    const ValueId other = layer.inputs[layer.inputs[0] == skip ? 1 : 0];
    if (!Made(other)) return false;
    const std::string& op = MakerOf(other).op;
    return op.starts_with("conv_transpose") || op.starts_with("upsample") || op == "pixel_shuffle";
  }

  // Whether the call is given something that was made by this layer or behind it.
  bool Meets(const Statement& call, int layer) const {
    for (int l = call.first; l <= call.last; ++l) {
      for (const ValueId id : frames_.At(l).inputs) {
        if (Made(id) && PlaceOf(id) >= layer && PlaceOf(id) < call.first) return true;
      }
    }
    return false;
  }

  const Layers& layers_;
  const Frames& frames_;
  Holds& holds_;
  std::set<ModuleId> nesting_;  // frames
};

}  // namespace

void HoldBoundNames(const Frames& frames, Holds& holds) { BoundNames(frames, holds).Hold(); }

}  // namespace vramplan
