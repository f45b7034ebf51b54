#include "planner/semantics/tensor.h"

#include <algorithm>

namespace vramplan::eager {

bool Ints::operator==(const Ints& other) const {
  return n == other.n && std::equal(v.begin(), v.begin() + n, other.v.begin());
}

int64_t TensorImpl::numel() const {
  int64_t product = 1;
  for (int i = 0; i < lengths.n; ++i) product = SaturatingMultiply(product, lengths[i]);
  return product;
}

Ints ContiguousStrides(const Ints& lengths) {
  Ints strides;
  strides.n = lengths.n;
  int64_t running = 1;
  for (int i = lengths.n - 1; i >= 0; --i) {
    strides[i] = running;
    running = SaturatingMultiply(running, std::max<int64_t>(lengths[i], 1));
  }
  return strides;
}

namespace {

bool LieContiguous(const Ints& lengths, const Ints& strides) {
  int64_t expected = 1;
  bool contiguous = true;
  for (int i = lengths.n - 1; i >= 0; --i) {
    if (lengths[i] == 0) return true;
    if (lengths[i] == 1) continue;
    contiguous = contiguous && strides[i] == expected;
    expected = SaturatingMultiply(expected, lengths[i]);
  }
  return contiguous;
}

bool LieDense(const Ints& lengths, const Ints& strides) {
  std::array<int, Shape::kMaxRank> order{};
  int n = 0;
  for (int i = 0; i < lengths.n; ++i) {
    if (lengths[i] == 0) return true;
    if (lengths[i] != 1) order[static_cast<size_t>(n++)] = i;
  }
  std::sort(order.begin(), order.begin() + n, [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (int k = 0; k < n; ++k) {
    const int axis = order[static_cast<size_t>(k)];
    if (strides[axis] != expected) return false;
    expected = SaturatingMultiply(expected, lengths[axis]);
  }
  return true;
}

}  // namespace

Layout::Layout(const Shape& shape, const Ints& at_batch, const Ints& apart)
    : sizes(shape),
      lengths(at_batch),
      strides(apart),
      elements(shape.Elements()),
      contiguous(LieContiguous(lengths, strides)),
      dense(LieDense(lengths, strides)),
      plain(strides == ContiguousStrides(lengths)) {}

GradNode& GradNode::Save(const Tensor& input) {
  saved.push_back(input);
  if (hooks == nullptr) return *this;
  const bool is_tensor = input && (input->storage->memory != nullptr || input->dim() > 0);
  packed.push_back(is_tensor ? hooks->Pack(&saved.back()) : Ref<PackedTensor>());
  if (packed.back()) saved.back() = Tensor();
  return *this;
}

GradNode& GradNode::SaveOutput(const Tensor& output) {
  return Save(MakeRef<TensorImpl>(output->storage, output->layout, output->dtype));
}

void GradNode::Unpack() {
  for (size_t i = 0; i < packed.size(); ++i) {
    if (packed[i]) saved[i] = packed[i]->Unpack();
  }
}

void GradNode::DropUnpacked() {
  for (size_t i = packed.size(); i-- > 0;) {  // locals die in reverse
    if (packed[i]) saved[i] = Tensor();
  }
}

void GradNode::Release() {
  saved.clear();
  packed.clear();
}

// A long chain of entries is let go one by one: recursion would be as deep as the model.
GradNode::~GradNode() {
  std::vector<Ref<GradNode>> pending;
  const auto take = [&pending](GradNode& node) {
    for (Tensor& tensor : node.saved) {
      if (tensor && tensor.get()->use_count() == 1 && tensor->grad_fn) pending.push_back(std::move(tensor->grad_fn));
    }
    for (Edge& edge : node.edges) {
      if (edge.node) pending.push_back(std::move(edge.node));
    }
  };
  take(*this);
  while (!pending.empty()) {
    const Ref<GradNode> node = std::move(pending.back());
    pending.pop_back();
    if (node->use_count() == 1) take(*node);
  }
}

}  // namespace vramplan::eager
