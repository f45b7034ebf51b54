// Which stored tensors are parameters, which are buffers, and in what order the framework's module tree lists them.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/lift/match/source.h"
#include "graph/lift/simplifiers/fx_names.h"

namespace vramplan {
namespace {

int64_t Elements(const StoredTensor& stored) {
  int64_t elements = 1;
  for (const int64_t length : stored.dims) elements *= length;
  return elements;
}

// Axes that are longer than one: a scale of shape [96, 1, 1] has one.
int LongAxes(const StoredTensor& stored) {
  return static_cast<int>(std::ranges::count_if(stored.dims, [](int64_t d) { return d > 1; }));
}

// optimum's merged decoders number what their branches share: "shared.weight_merged_0"
// (optimum/onnx/graph_transformations.py of optimum-onnx 0.1).
std::string WithoutMergeNumber(const std::string& name) {
  const size_t number = name.rfind("_merged_");
  return number == std::string::npos ? name : name.substr(0, number);
}

// Whether a scope is what is left of a module's path where lists were not called themselves: "m.layers.conv3" of
// "m.res_blocks.d0.layers.denselayer_0.layers.conv3", in a loop of block.forward(x).
bool IsRestOf(std::string_view path, std::string_view scope) {
  if (LeafOf(path) != LeafOf(scope)) return false;
  while (!path.empty() && !scope.empty()) {
    const auto first_of = [](std::string_view words) { return words.substr(0, words.find('.')); };
    const auto drop_first = [](std::string_view* words) {
      words->remove_prefix(std::min(words->find('.'), words->size() - 1) + 1);
    };
    if (first_of(path) == first_of(scope)) drop_first(&scope);
    drop_first(&path);
  }
  return scope.empty();
}

}  // namespace

// The TorchScript exporter in eval stores tensors with equal contents once and puts an Identity where the others were
// (torch/csrc/jit/passes/onnx/deduplicate_initializers.cpp 2.10); tensors that share their storage, true ties, are one
// initializer without an Identity. So a copy is a parameter of its own that was equal by accident: a fresh bias of
// zeros, a layer that nn.TransformerEncoder deep-copied. Only folding can hide a tie behind an Identity: two products
// that each folded the transpose of one shared matrix; copies of layers differ in the layer's number alone.  Kernels are never transposed: equal ones
// of two modules are what norms made of them.
bool PatternSource::IsStoredCopy(TensorId tensor) const {
  const NodeId maker = graph_[tensor].producer;
  if (!maker.valid() || graph_[maker].op != "Identity") return false;
  const StoredTensor* stored = Stored(tensor);
  if (stored == nullptr || !IsInitializer(tensor)) return false;
  if (LongAxes(*stored) <= 1 || HasModulePath(tensor)) return true;
  const NodeId here = first_user_[Index(tensor)], there = first_user_[Index(graph_[maker].inputs[0])];
  if (!here.valid() || !there.valid()) return false;
  const std::string path = ModuleOf(here), other = ModuleOf(there);
  if (graph_[here].op.starts_with("Conv") && path != other) return true;  // zeros of norms whose scale begins at 0
  return WithoutDigits(path) == WithoutDigits(other);
}

// Modules of a list that is not called itself, layers.0["attn"], have scopes without the list, /attn and /attn_1, as if
// one module were called twice. The names of what they own tell them apart: layers.0.attn.proj.bias, layers.1.attn...;
// a child that has such names tells of its parent too. Where the list is the model's, all that no name begins with is of
// it: layers.0["ffn"], whose linear layers have lost their names.
void PatternSource::FindSharedPaths() {
  if (!Runs("read", "stored FindSharedPaths")) return;
  std::map<std::string, std::string> before;  // by module path: what its parameters' names have in front of it
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const std::string path = ModuleOf(NodeId::At(n));
    if (path.empty()) continue;
    for (const TensorId input : graph_.nodes[n].inputs) {
      if (!input.valid() || !HasModulePath(input)) continue;
      const std::string& name = graph_[input].name;
      named_children_.insert(name.substr(0, name.find('.')));
      const size_t at = name.rfind(path + ".");
      const bool behind = at != std::string::npos && at > 0 && name[at - 1] == '.';
      if (!behind && (at == 0 || !IsRestOf(ParentOf(name), path))) continue;
      const std::string front = behind ? name.substr(0, at) : ParentOf(name);
      const auto [known, fresh] = before.try_emplace(path, front);
      if (fresh || known->second == front) continue;
      shared_paths_.insert(path);
      const size_t dot = path.rfind('.');
      shared_paths_.insert(dot == std::string::npos ? "" : path.substr(0, dot));
    }
  }
}

bool PatternSource::IsPathOfSeveral(const std::string& path) const {
  for (size_t end = path.size(); end != std::string::npos; end = path.rfind('.', end - 1)) {
    if (shared_paths_.contains(path.substr(0, end))) return true;
  }
  return shared_paths_.contains("") && !named_children_.contains(path.substr(0, path.find('.')));
}

// A module that is called several times has its transposed weight folded once a call (torch/csrc/jit/passes/onnx/
// constant_fold.cpp 2.10 folds node by node): the same parameter under several made-up names. Calls have scopes of
// their own, so that the n-th matrix of one call is the n-th of the others. Null: there can be no other.
ValueId* PatternSource::TwinOf(TensorId tensor, const Claim& claim) {
  if (!Runs("read", "stored TwinOf")) return nullptr;
  if (claim.role != Role::kParameter || claim.name.empty() || !claim.user.valid()) return nullptr;
  const std::string path = ModuleOf(claim.user);
  if (HasModulePath(tensor) || path.empty() || IsPathOfSeveral(path)) return nullptr;
  const int place = folded_in_scope_[{claim.name, modules_.ScopeOf(claim.user)}]++;
  return &folded_[{claim.name, ToString(claim.shape.has_value() ? *claim.shape : ShapeOf(tensor)), place}];
}

void PatternSource::RegisterOne(TensorId tensor, const Claim& claim) {
  if (builder_.HasValue(tensor)) return;  // the other source did
  if (const auto tie = ties_.find(tensor); tie != ties_.end()) {
    if (const auto own = ClaimOf(tie->second, true)) RegisterOne(tie->second, *own);
    return builder_.SetValueOf(tensor, builder_.ValueOf(tie->second));
  }
  const Tensor& t = graph_[tensor];
  const std::string name = IsModulePath(t.name) || claim.name.empty() ? WithoutMergeNumber(t.name) : claim.name;
  ValueId* twin = TwinOf(tensor, claim);
  if (twin != nullptr && twin->valid()) return builder_.SetValueOf(tensor, *twin);
  if (!claim.shape.has_value() && t.stored.has_value() && name == t.name) {
    builder_.AddStored(tensor, claim.role);
  } else {
    builder_.SetValueOf(tensor, builder_.AddValue({.name = name,
                                                   .type = Stored(tensor)->type,
                                                   .shape = claim.shape.has_value() ? *claim.shape : ShapeOf(tensor),
                                                   .role = claim.role}));
  }
  if (twin != nullptr) *twin = builder_.ValueOf(tensor);
  // Every batch norm that keeps running statistics counts its batches in an int64 scalar on the device, which no
  // export keeps: it takes no part in the forward (torch/nn/modules/batchnorm.py 2.10, _NormBase.__init__).
  constexpr std::string_view kVariance = "running_var";
  if (claim.role == Role::kBuffer && name.ends_with(kVariance)) {
    builder_.AddValue({.name = name.substr(0, name.size() - kVariance.size()) + "num_batches_tracked",
                       .type = DType::kInt64,
                       .shape = Shape{},
                       .role = Role::kBuffer});
  }
}

void PatternSource::RegisterLost(Lost& lost) {
  if (lost.value.valid()) return;
  lost.value = builder_.AddValue({.name = lost.name, .type = lost.type, .shape = lost.shape, .role = Role::kParameter});
}

std::optional<PatternSource::Claim> PatternSource::ClaimOf(TensorId tensor, bool used) const {
  if (taken_apart_.contains(tensor)) return std::nullopt;
  if (const auto claim = claims_.find(tensor); claim != claims_.end()) return claim->second;
  const StoredTensor& stored = *Stored(tensor);
  // A tensor that the trace met but no module owns, and every table of integers, is never trained.
  // transformers registers the bias of a tied output layer as a buffer (modeling_bart.py, transformers 5, and the
  // models after it).
  const std::string name = WithoutMergeNumber(graph_[tensor].name);
  const bool is_buffer = stored.dims.size() == 2 && name.ends_with("final_logits_bias");
  // PyTorch's names of initializers are its state dict; other tools' are not, and leave behind what they folded.
  if (!is_buffer && IsInitializer(tensor) && IsFloating(stored.type) &&
      (from_pytorch_ ? HasModulePath(tensor) : used && Elements(stored) > 1)) {
    return Claim{Role::kParameter, "", std::nullopt, {}};
  }
  // What the export folded from numbers of the program is made on the fly: masks of a window, positions.
  if (!is_buffer && fx_names_ && IsInitializer(tensor) && IsModulePath(name) && !HasModulePath(tensor)) {
    return std::nullopt;
  }
  if ((!used && !is_buffer) || (Elements(stored) <= 1 && !IsInitializer(tensor))) return std::nullopt;  // a literal
  return Claim{Role::kBuffer, "", std::nullopt, {}};
}

// Drafts are in node order here.
void PatternSource::RegisterStored() {
  FindTies();
  FindSharedPaths();
  std::vector<Operand> used;  // stored tensors and lost ones by first use
  std::vector<bool> seen(graph_.tensors.size(), false);
  bool all_named = true;
  for (const Draft& draft : drafts_) {
    for (const Operand& input : draft.inputs) {
      if (input.lost >= 0) used.push_back(input);
      if (!input.tensor.valid() || seen[Index(input.tensor)] || Stored(input.tensor) == nullptr) continue;
      seen[Index(input.tensor)] = true;
      used.push_back(input);
      all_named &= !IsInitializer(input.tensor) || (HasModulePath(input.tensor) && graph_[input.tensor].stored);
    }
  }
  // Where all names are paths the file lists them as the module tree does (the exporter walks the state dict);
  // where it renamed or merged some, the order of use is the best that is left.
  const auto add_used = [&] {
    for (const Operand& operand : used) {
      if (operand.lost >= 0) {
        RegisterLost(lost_[static_cast<size_t>(operand.lost)]);
      } else if (const auto claim = ClaimOf(operand.tensor, true)) {
        RegisterOne(operand.tensor, *claim);
      }
    }
  };
  if (!all_named) add_used();
  for (size_t t = 0; t < graph_.tensors.size(); ++t) {
    const TensorId tensor = TensorId::At(t);
    if (!graph_.tensors[t].stored.has_value() || graph_.tensors[t].stored->literal) continue;
    if (const auto claim = ClaimOf(tensor, seen[t])) RegisterOne(tensor, *claim);
  }
  if (all_named) add_used();
}

// An eval export folds the transpose of a tied output layer (lm_head of gpt2, t5) into a tensor of its own: the tie is
// gone from the file, and may never have been there (llama). The numbers tell it, where they are in the file; else the
// name of the table: tied tensors are one initializer, which may be called as the output layer's.
void PatternSource::FindTies() {
  if (!Runs("read", "stored FindTies")) return;
  for (const Draft& draft : drafts_) {
    if (draft.op != "embedding" || !draft.inputs[0].tensor.valid()) continue;
    const TensorId table = draft.inputs[0].tensor;
    for (const auto& [tensor, claim] : claims_) {
      if (!claim.shape.has_value() || HasModulePath(tensor) || tensor == table || ShapeOf(table) != *claim.shape)
        continue;
      const StoredTensor *kept = Stored(table), *folded = Stored(tensor);
      const std::optional<bool> same =
          kept == nullptr || folded == nullptr ? std::nullopt : IsTransposeOf(*kept, *folded);
      const std::string& name = graph_[table].name;
      if (same.value_or(HasModulePath(table) && IsOutputLayer(name.substr(0, name.rfind('.'))))) {
        ties_[tensor] = table;
      } else if (!same.has_value()) {
        builder_.guesses().maybe_tied.emplace_back(claim.name, name);
        notes_->Add(
            {.code = "maybe-tied",
             .subject = claim.name,
             .text = "it has the shape of the embedding '" + name +
                     "' and is counted as a separate parameter, because the export does not show whether they are tied",
             .hint = "export without constant folding"});
      }
    }
  }
}

}  // namespace vramplan
