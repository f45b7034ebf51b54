// LSTM, GRU and RNN as PyTorch runs them on a card: one call of cuDNN for all layers (native/cudnn/RNN.cpp), which is
// its choice wherever cuDNN is built in. Event streams: PyTorch 2.10 with cuDNN's sizes of workspace and reserve set to
// known numbers.
//
//   forward    h0 c0 (when the caller gave none), x [T, N, I], output, h_n, c_n, workspace, reserve; -workspace -x
//   backward   zeros for gradients that did not arrive, x, dy, dx, dh, dc, workspace; -workspace -dy -x;
//              x, dw (all weights in one block, of which the weights' gradients are views), workspace; -workspace -x
#include "planner/semantics/cudnn_recurrent.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/recurrent_cells.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"
#include "pretend/card/architecture.h"

namespace vramplan::eager {
namespace {

constexpr size_t kFirstWeight = 3;  // after input, hx and cx

struct Recurrence {
  RecurrentNetwork network;
  bool batch_first = false, without_biases = false, drops = false;
  Dim steps, samples;
  DType type = DType::kFloat32;
};

struct WeightSizes {
  Shape sizes;
  Ints lengths;
};

Recurrence RecurrenceOf(const Call& c) {
  Recurrence r;
  RecurrentNetwork& n = r.network;
  n.cell = c.layer.op == "lstm"  ? RecurrentCell::kLstm
           : c.layer.op == "gru" ? RecurrentCell::kGru
                                 : RecurrentCell::kRnn;
  n.hidden = c.In(kFirstWeight)->lengths[0] / GatesOf(n.cell);
  n.input = c.In(kFirstWeight)->lengths[1];
  n.projected = c.In(kFirstWeight + 1)->lengths[1];
  n.layers = c.Int("num_layers", 1);
  n.directions = c.Int("bidirectional") != 0 ? 2 : 1;
  r.batch_first = c.Int("batch_first") != 0;
  const auto each = static_cast<int64_t>(c.inputs.size() - kFirstWeight) / (n.layers * n.directions);
  r.without_biases = each < 4;
  const Shape& input = c.In(0)->sizes;
  r.steps = input[r.batch_first ? 1 : 0];
  r.samples = input[r.batch_first ? 0 : 1];
  return r;
}

Shape StateSizes(const Recurrence& r, int64_t length) {
  return Shape{Dim(r.network.layers * r.network.directions), r.samples, Dim(length)};
}

// input.transpose(0, 1) where the batch came first; [T, N, ...] as cuDNN wants it. Off the tape: inside the operator.
Tensor TimeMajor(Eager& e, const Recurrence& r, const Tensor& t) {
  if (!r.batch_first) return t;
  Ints strides = t->strides;
  strides[0] = t->strides[1];
  strides[1] = t->strides[0];
  return e.AsStrided(t, Shape{t->sizes[1], t->sizes[0], t->sizes[2]}, strides);
}

// A copy where `t` is not contiguous, else a second name.
Tensor ContiguousOffTape(Eager& e, const Tensor& t) { return ContiguousIn(e, t, false); }

// A new [T, N, length], transposed in place to the caller's order: no view.
Tensor LaidOut(Eager& e, const Recurrence& r, int64_t length) {
  if (!r.batch_first) return e.Empty(Shape{r.steps, r.samples, Dim(length)}, r.type);
  const int64_t samples = e.At(r.samples);
  Ints strides;
  strides.n = 3;
  strides[0] = length;
  strides[1] = samples * length;
  strides[2] = 1;
  return e.EmptyStrided(Shape{r.samples, r.steps, Dim(length)}, strides, r.type);
}

// --cudnn-workspace 0: none, and no reserve, as on the card that has no cuDNN.
bool TakesSpace(const Eager& e) { return !e.spec().cudnn_workspace || *e.spec().cudnn_workspace != Bytes(); }

Storage Workspace(Eager& e, const Recurrence& r) {
  if (!TakesSpace(e)) return e.Scratch(Bytes(), Category::kWorkspace);
  const Bytes one = Bytes::Of(BitWidth(r.type) / 8);
  Bytes size = one * WorkspaceOf(r.network, e.At(r.samples));
  if (e.spec().cudnn_workspace) size = std::min(size, *e.spec().cudnn_workspace);
  return e.Scratch(size, Category::kWorkspace);
}

Tensor Reserve(Eager& e, const Recurrence& r) {
  if (!TakesSpace(e)) return e.Empty(Shape{Dim(0)}, DType::kUint8);
  const int64_t element = BitWidth(r.type) / 8;
  const Dim numbers = r.steps * r.samples * Dim(ReservePerPosition(r.network) * element);
  const int64_t all = ReserveBytes(r.network, e.At(r.steps * r.samples), element, r.drops);
  return e.Empty(Shape{numbers + Dim(all - e.At(numbers))}, DType::kUint8);  // what is rounded is that of this batch
}

// Each weight's part of the flat block: sizes of the weight, no view of autograd's (Tensor::set_).
std::vector<Tensor> PartsOf(Eager& e, const Tensor& flat, const std::vector<WeightSizes>& weights) {
  std::vector<Tensor> parts;
  for (const WeightSizes& weight : weights) {
    Tensor part = e.AsStrided(flat, weight.sizes, ContiguousStrides(weight.lengths));
    part->base = Tensor();
    parts.push_back(std::move(part));
  }
  return parts;
}

// Autocast (cudnn/AutocastRNN.cpp): all weights are copied to one flat block of the lower type at every call, each copy
// on the tape.
std::vector<Tensor> LowerWeights(Eager& e, const std::vector<Tensor>& weights, const std::vector<WeightSizes>& sizes,
                                 const Tensor& flat) {
  std::vector<Tensor> parts = PartsOf(e, flat, sizes);
  for (size_t i = 0; i < weights.size(); ++i) {
    GradNode* node = e.Record("torch::autograd::CopyBackwards", {weights[i]}, {parts[i]});
    if (node == nullptr) continue;
    node->Backward([type = weights[i]->dtype](GradContext& g) {
      OpScope scope(g.e, "aten::to");
      g.Set(0, g.e.Empty(g.grad()->sizes, type));
    });
  }
  return parts;
}

void Backward(GradContext& g, const Recurrence& r, const std::vector<WeightSizes>& weights) {
  OpScope scope(g.e, "aten::_cudnn_rnn_backward");
  Eager& e = g.e;
  const bool lstm = r.network.cell == RecurrentCell::kLstm;
  const Tensor &cx = g.saved(0), &hx = g.saved(1), &input = g.saved(2), &output = g.saved(3);
  Tensor dy = g.grad(0) ? g.grad(0) : e.Empty(output->sizes, r.type);
  Tensor dh = g.grad(1) ? g.grad(1) : e.Empty(hx->sizes, r.type);
  Tensor dc = !lstm ? Tensor() : g.grad(2) ? g.grad(2) : e.Empty(cx->sizes, r.type);
  Tensor dx, dhx, dcx;
  {
    Tensor x = ContiguousOffTape(e, TimeMajor(e, r, input));
    Tensor y_gradient = ContiguousOffTape(e, TimeMajor(e, r, dy));
    dx = LaidOut(e, r, r.network.input);
    const Tensor h_gradient = ContiguousOffTape(e, dh);
    const Tensor c_gradient = lstm ? ContiguousOffTape(e, dc) : Tensor();
    dhx = e.Empty(hx->sizes, r.type);
    if (lstm) dcx = e.Empty(cx->sizes, r.type);
    { const Storage workspace = Workspace(e, r); }
    y_gradient = Tensor();
    x = Tensor();
  }
  bool wanted = false;
  for (size_t i = 0; i < weights.size(); ++i) wanted |= g.Needs(static_cast<int>(kFirstWeight + i));
  if (wanted) {
    const Tensor x = ContiguousOffTape(e, TimeMajor(e, r, input));
    const Tensor dw = e.Empty(Shape{Dim(WeightSpace(r.network))}, r.type);
    { const Storage workspace = Workspace(e, r); }
    std::vector<Tensor> parts = PartsOf(e, dw, weights);
    if (r.without_biases) {  // their lists differ from cuDNN's, which has biases: copies
      for (Tensor& part : parts) part = e.Empty(part->sizes, r.type);
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      const int edge = static_cast<int>(kFirstWeight + i);
      if (g.Needs(edge)) g.Set(edge, std::move(parts[i]));
    }
  }
  dc = dh = dy = Tensor();
  if (g.Needs(0)) g.Set(0, dx);
  if (g.Needs(1)) g.Set(1, dhx);
  if (lstm && g.Needs(2)) g.Set(2, dcx);
  dx = dhx = dcx = Tensor();
}

// Once, and the seed that it is made from.
void MakeDropoutState(Eager& e) {
  Storage& state = e.handles["cudnn dropout of recurrent networks"];
  if (state) return;
  { const Storage seed = e.Scratch(Bytes::Of(8)); }
  const Capability capability = e.spec().capability;
  const int threads = pretend::ArchitectureOf(capability.major, capability.minor).threads;
  const Bytes bytes = Bytes::Of(DropoutStateBytes(e.spec().multiprocessors, threads));
  state = e.Scratch(TakesSpace(e) ? bytes : Bytes(), Category::kWorkspace);
}

void RunRecurrent(Call& c) {
  Eager& e = c.e;
  Recurrence r = RecurrenceOf(c);
  const bool lstm = r.network.cell == RecurrentCell::kLstm, train = e.spec().mode == Mode::kTrain;
  // torch/nn/modules/rnn.py: zeros of the input's type, which live until the module returns.
  Tensor h0 = c.In(1), c0 = c.In(2);
  if (!h0) {
    OpScope zeros(e, "aten::zeros");
    h0 = e.Empty(StateSizes(r, r.network.projected), c.In(0)->dtype);
    if (lstm) c0 = e.Empty(StateSizes(r, r.network.hidden), c.In(0)->dtype);
  }
  OpScope scope(e, "aten::_cudnn_rnn");
  r.drops = train && c.Real("dropout") > 0;
  if (r.drops) MakeDropoutState(e);
  Tensor input = c.In(0), hx = h0, cx = c0, flat;
  std::vector<Tensor> weights(c.inputs.begin() + kFirstWeight, c.inputs.end());
  std::vector<WeightSizes> sizes;
  for (const Tensor& weight : weights) sizes.push_back({weight->sizes, weight->lengths});
  const Precision precision = e.spec().precision;
  if (IsAutocast(precision)) {
    const DType lower = precision == Precision::kAmpFp16 ? DType::kFloat16 : DType::kBFloat16;
    flat = e.Empty(Shape{Dim(WeightSpace(r.network))}, lower);
    weights = LowerWeights(e, weights, sizes, flat);
    if (lstm) cx = ToType(e, cx, lower);  // arguments of one call: from the last to the first
    hx = ToType(e, hx, lower);
    input = ToType(e, input, lower);
  }
  r.type = input->dtype;
  Tensor x = ContiguousOffTape(e, TimeMajor(e, r, input));
  Tensor output = LaidOut(e, r, r.network.projected * r.network.directions);
  Tensor hy = e.Empty(StateSizes(r, r.network.projected), r.type), cy;
  if (lstm) cy = e.Empty(StateSizes(r, r.network.hidden), r.type);
  Storage workspace = Workspace(e, r);
  const Tensor reserve = train ? Reserve(e, r) : Tensor();
  workspace = Storage();
  x = Tensor();
  std::vector<Tensor> inputs = {input, hx, cx}, outputs = {output, hy};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  if (lstm) outputs.push_back(cy);
  if (GradNode* node = e.Record("CudnnRnnBackward0", inputs, outputs)) {
    node->Save(cx).Save(hx).Save(input).SaveOutput(output).Save(reserve).Save(flat);
    node->Backward([r, sizes](GradContext& g) { Backward(g, r, sizes); });
  }
  c.Return(std::move(output), 0);
  if (c.outputs.size() > 1) c.Return(std::move(hy), 1);
  if (lstm && c.outputs.size() > 2) c.Return(std::move(cy), 2);
  inputs.clear();
  outputs.clear();
  input = Tensor();
  hx = Tensor();
  cx = Tensor();
  weights.clear();
  flat = Tensor();
  h0 = Tensor();
  c0 = Tensor();
}

}  // namespace

std::vector<OpRule> RecurrentRules() {
  // _thnn_fused_*_cell's callers are on autocast's list of the lower type (autocast_mode.h).
  return {{"lstm", RunRecurrent},
          {"gru", RunRecurrent},
          {"rnn", RunRecurrent},
          {"lstm_cell", LstmCell, Cast::kLower},
          {"gru_cell", GruCell, Cast::kLower}};
}

}  // namespace vramplan::eager
