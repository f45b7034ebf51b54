// Edit: how a pass changes a list of layers.
//
//   Edit edit(layers);                             until Apply the list is as it was: places and Uses stay true
//   edit.InsertBehind(place of permute, contiguous(permute), as large as the permutation)
//   edit.Rename(permute's result, its result)      whoever read the permutation reads the copy, but not the copy itself
//   edit.Apply();
//
//   PutCalls({mean's place: bce_logits(x, y)})     the mean became the call; what nobody reads any more is gone
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/layers/layers.h"

namespace vramplan {

class Edit {
 public:
  explicit Edit(Layers* layers) : layers_(*layers) {}

  // Layers that are put in front of one place stand in the order in which they were given.
  void InsertBefore(size_t place, Layer layer) { inserted_.emplace(place, std::move(layer)); }
  void InsertBehind(size_t place, Layer layer) { InsertBefore(place + 1, std::move(layer)); }
  // With a result of its own: `made`, by the layer's name.
  ValueId InsertBefore(size_t place, Layer layer, Value made);
  ValueId InsertBehind(size_t place, Layer layer, Value made) {
    return InsertBefore(place + 1, std::move(layer), std::move(made));
  }
  void Remove(size_t place) { removed_.insert(place); }
  void Rename(ValueId from, ValueId to) { renamed_[from] = to; }
  void Apply();

 private:
  Layers& layers_;
  std::multimap<size_t, Layer> inserted_;  // by the place that they stand in front of
  std::set<size_t> removed_;
  std::map<ValueId, ValueId> renamed_;
};

// A call in the place of `last`, whose results it makes.
Layer CallInPlaceOf(const Layer& last, std::string op, std::vector<ValueId> inputs, Attributes attributes = {});

// A call of the same module, "beside.op", that nothing of the file stands for.
Layer CallBeside(const Layer& beside, const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {});

// Each call takes the place of a layer; the layers at `gone`, whose results calls make now, go, and so do those that
// were read only by what is gone.
void PutCalls(Layers* layers, std::map<size_t, Layer> calls, const std::set<size_t>& gone = {});

// Of layers that `may_go` agrees to, those whose results nobody reads go; then those that only these read.
void DropUnread(Layers* layers, const std::function<bool(const Layer&)>& may_go);

}  // namespace vramplan
