// Shapes of parameters and buffers that no operator of the file uses.
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/ablation.h"
#include "graph/habits/habits.h"
#include "graph/lift/dynamo/signature.h"

namespace vramplan {
namespace {

// The numbers in a name, with where they stand: "layer3.0.conv1.weight" has 3, 0 and 1.
struct Number {
  size_t begin, end;
  int value;
};
std::vector<Number> NumbersIn(const std::string& target) {
  std::vector<Number> numbers;
  for (size_t i = 0; i < target.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(target[i])) == 0) continue;
    size_t end = i;
    while (end < target.size() && std::isdigit(static_cast<unsigned char>(target[end])) != 0) ++end;
    const bool ends_word = end < target.size() && target[end] == '.';
    if (ends_word && end - i < 4) numbers.push_back({i, end, std::stoi(target.substr(i, end - i))});
    i = end;
  }
  return numbers;
}
std::string With(const std::string& target, const Number& number, int value) {
  return target.substr(0, number.begin) + std::to_string(value) + target.substr(number.end);
}

// By what factor the first length grows from one shape to the other, or the second where the first stays; 0: by no whole
// number.
int64_t Growth(const Shape& from, const Shape& to) {
  int64_t growth = 0;
  for (int i = 0; i < std::min(2, from.rank()) && growth < 2; ++i) {
    if (from.rank() != to.rank() || !from[i].IsConstant() || !to[i].IsConstant() || from[i].c0() <= 0) return growth;
    if (to[i].c0() % from[i].c0() != 0) return growth;
    growth = to[i].c0() / from[i].c0();
  }
  return growth;
}

// By how much each length of the second shape is greater; nothing where they have not as many.
std::optional<std::vector<int64_t>> Step(const Shape& from, const Shape& to) {
  if (from.rank() != to.rank()) return std::nullopt;
  std::vector<int64_t> step;
  for (int i = 0; i < from.rank(); ++i) {
    if (!from[i].IsConstant() || !to[i].IsConstant()) return std::nullopt;
    step.push_back(to[i].c0() - from[i].c0());
  }
  return step;
}

// What comes after `last` where `to` came after `from`.
std::optional<Shape> After(const Shape& last, const Shape& from, const Shape& to) {
  const std::optional<std::vector<int64_t>> step = Step(from, to);
  if (!step || last.rank() != to.rank()) return std::nullopt;
  Shape next;
  for (int i = 0; i < last.rank(); ++i) {
    if (!last[i].IsConstant() || last[i].c0() + (*step)[static_cast<size_t>(i)] <= 0) return std::nullopt;
    next.Append(last[i].c0() + (*step)[static_cast<size_t>(i)]);
  }
  return next;
}

}  // namespace

// What the modules of the frameworks register beside what is known.
bool Signature::ShapeByHabit(const std::string& target) {
  if (!Runs("read", "unused_parameters ShapeByHabit")) return false;
  const ValueId value = ByTarget(target);
  const std::pair<std::string, std::string> split = SplitTarget(target);
  const std::string &module = split.first, &name = split.second;
  const bool is_buffer = builder_->At(value).role == Role::kBuffer;
  if (is_buffer && name == "num_batches_tracked") {
    SetShape(value, DType::kInt64, Shape());  // torch/nn/modules/batchnorm.py: torch.tensor(0, dtype=torch.long)
    return true;
  }
  const auto known = [&](const std::string& sibling) -> ValueId {
    const ValueId found = ByTarget(module.empty() ? sibling : module + "." + sibling);
    return found.valid() && ShapeIsKnown(found) ? found : ValueId{};
  };
  // torch/nn/modules/rnn.py: bias_ih_l0 and bias_hh_l0 are as long as the weights of that name are high.
  if (name.starts_with("bias_ih_l") || name.starts_with("bias_hh_l")) {
    const ValueId weight = known("weight_" + name.substr(5));
    if (!weight.valid() || builder_->At(weight).shape.rank() != 2) return false;
    SetShape(value, builder_->At(weight).type, Shape{builder_->At(weight).shape[0]});
    return true;
  }
  ValueId sibling;
  // peft keeps the module as it was beside modules_to_save.NAME, the copy that runs (utils/other.py 0.21.2).
  constexpr std::string_view kOriginal = ".original_module.", kSaved = ".modules_to_save.";
  if (const size_t at = target.find(kOriginal); at != std::string::npos) {
    const std::string copies = target.substr(0, at) + std::string(kSaved);
    for (const std::string& other : order_) {
      if (!other.starts_with(copies) || !ShapeIsKnown(ByTarget(other))) continue;
      const size_t dot = other.find('.', copies.size());
      if (dot != std::string::npos && other.substr(dot + 1) == target.substr(at + kOriginal.size()))
        sibling = ByTarget(other);
    }
  }
  for (const NameHabit& habit : NamesWith(NameHabit::Of::kShapedLike)) {
    const ValueId like = name == habit.name ? known(std::string(habit.with)) : ValueId();
    if (like.valid()) sibling = like;
  }
  for (const NameHabit& habit : NamesWith(NameHabit::Of::kNumbersRowsOf)) {
    const ValueId table = is_buffer && name == habit.name ? known(std::string(habit.with)) : ValueId();
    if (!table.valid()) continue;
    SetShape(value, DType::kInt64, Shape{Dim(1), builder_->At(table).shape[0]});
    return true;
  }
  // A copy of another buffer of its module is called after it: original_inv_freq (modeling_llama.py, transformers 5).
  for (const std::string& other : order_) {
    const auto [other_module, other_name] = SplitTarget(other);
    const ValueId candidate = ByTarget(other);
    if (is_buffer && other_module == module && builder_->At(candidate).role == Role::kBuffer &&
        ShapeIsKnown(candidate) && name.ends_with(other_name))
      sibling = candidate;
  }
  if (!sibling.valid()) return false;
  SetShape(value, builder_->At(sibling).type, builder_->At(sibling).shape);
  return true;
}

// Of rotary embeddings: one for two channels of a head, of which 128 are usual.
bool Signature::ShapeOfFrequencies(const std::string& target) {
  if (!Runs("read", "unused_parameters ShapeOfFrequencies")) return false;
  constexpr int64_t kUsualHead = 128;
  const ValueId value = ByTarget(target);
  const std::string name = SplitTarget(target).second;
  const auto is_called = [&](const NameHabit& habit) { return habit.name == name; };
  if (builder_->At(value).role != Role::kBuffer ||
      std::ranges::none_of(NamesWith(NameHabit::Of::kFrequencies), is_called))
    return false;
  SetShape(value, DType::kFloat32, Shape{Dim(kUsualHead / 2)});
  return true;
}

// layer3.0.conv1 is to layer2.0.conv1 what that is to layer1.0.conv1: as large, or with channels that grow alike. Where
// a stage has no such pair before it, it grows as its other parameters do. Channels that did not grow before do not now,
// and those that grow from layer to layer of a dense block go on. Of a longer list, block4 to block12 of an
// Xception, they are as large as the last one that is known: only stages grow, and those are few.
bool Signature::ShapeFromBefore(const std::string& target, std::unordered_map<std::string, int64_t>* growth) {
  if (!Runs("read", "unused_parameters ShapeFromBefore")) return false;
  const ValueId value = ByTarget(target);
  const auto known = [&](const std::string& name) -> const Shape* {
    const ValueId found = ByTarget(name);
    return found.valid() && ShapeIsKnown(found) && builder_->At(found).role == builder_->At(value).role
               ? &builder_->At(found).shape
               : nullptr;
  };
  const auto scaled = [](const Shape& shape, int64_t factor, const Shape* before) {
    Shape result;
    for (int i = 0; i < shape.rank(); ++i) {
      const bool stays = before != nullptr && before->rank() == shape.rank() && shape[i] == (*before)[i];
      result.Append(i < 2 && !shape[i].Is(1) && !stays ? shape[i] * factor : shape[i]);
    }
    return result;
  };
  const std::vector<Number> numbers = NumbersIn(target);
  for (auto inner = numbers.rbegin(); inner != numbers.rend(); ++inner) {
    const Number& number = *inner;
    const bool is_index = number.begin == 0 || target[number.begin - 1] == '.';
    const Shape* last = known(With(target, number, number.value - 1));
    const Shape* before = known(With(target, number, number.value - 2));
    if (last == nullptr || before == nullptr || !is_index || !(*last == *before)) continue;
    SetShape(value, builder_->At(value).type, *last);
    return true;
  }
  for (const Number& number : numbers) {
    const Shape* last = known(With(target, number, number.value - 1));
    const bool ends_module = target.find('.', number.end + 1) != std::string::npos;
    if (last == nullptr || !ends_module) continue;
    // As this list went on, or as that of the stage before did.
    const Shape *to = last, *from = known(With(target, number, number.value - 2));
    const Shape* further = known(With(target, number, number.value - 3));
    if (from == nullptr || further == nullptr || !(Step(*from, *to) == Step(*further, *from))) {
      to = from = nullptr;
      for (const Number& stage : numbers) {
        if (stage.begin >= number.begin) break;
        const std::string same = With(target, stage, stage.value - 1);
        const auto shift = static_cast<std::ptrdiff_t>(same.size()) - static_cast<std::ptrdiff_t>(target.size());
        Number moved = number;
        moved.begin = static_cast<size_t>(static_cast<std::ptrdiff_t>(number.begin) + shift);
        moved.end = static_cast<size_t>(static_cast<std::ptrdiff_t>(number.end) + shift);
        to = known(same);
        from = known(With(same, moved, number.value - 1));
      }
    }
    const std::optional<Shape> next = from == nullptr || to == nullptr ? std::nullopt : After(*last, *from, *to);
    if (!next) continue;
    SetShape(value, builder_->At(value).type, *next);
    return true;
  }
  for (const Number& number : numbers) {
    const std::string stage = target.substr(0, number.end);
    const Shape* last = known(With(target, number, number.value - 1));
    const Shape* before = known(With(target, number, number.value - 2));
    const bool ends_module = target.find('.', number.end + 1) != std::string::npos;
    if (last == nullptr || !ends_module || last->rank() == 0 || !(*last)[0].IsConstant()) continue;
    if (builder_->At(value).role == Role::kBuffer && last->rank() > 1) continue;  // a table, not channels
    constexpr int kFurtherStages = 3;
    const bool of_list = ByTarget(With(target, number, number.value + kFurtherStages)).valid();
    if (const int64_t grown = before == nullptr ? 0 : Growth(*before, *last); grown > 0)
      growth->emplace(stage, of_list ? 1 : grown);
    if (!growth->contains(stage)) growth->emplace(stage, GrowthOf(stage, number.value));
    if (growth->at(stage) == 0) continue;
    SetShape(value, builder_->At(value).type, scaled(*last, growth->at(stage), before));
    return true;
  }
  return false;
}

// By how much the first lengths of a stage's known parameters are larger than those of the stage before, where all
// agree; 0: they do not, or there are none. `stage`: "features.transition2", whose number is 2.
int64_t Signature::GrowthOf(const std::string& stage, int number) {
  const std::string last = stage.substr(0, stage.size() - std::to_string(number).size()) + std::to_string(number - 1);
  int64_t growth = 0;
  for (const std::string& target : order_) {
    if (!target.starts_with(stage + ".") || !ShapeIsKnown(ByTarget(target))) continue;
    const ValueId before = ByTarget(last + target.substr(stage.size()));
    if (!before.valid() || !ShapeIsKnown(before)) continue;
    const Shape &shape = builder_->At(ByTarget(target)).shape, &smaller = builder_->At(before).shape;
    if (shape.rank() == 0 || smaller.rank() == 0 || !shape[0].IsConstant() || !smaller[0].IsConstant()) continue;
    const int64_t from = smaller[0].c0(), to = shape[0].c0();
    if (from <= 0 || to % from != 0 || (growth != 0 && growth != to / from)) return 0;
    growth = to / from;
  }
  return growth;
}

// Linears that never ran are built from the same configuration as others: encoder_attn.k_proj beside self_attn.k_proj
// (transformers, modeling_bart.py), head.mlp.fc1 beside encoder.layers.0.mlp.fc1 (modeling_siglip.py). So they are as
// large as those of the same name, and a norm is as large as those in the same module, if they agree; those that share
// most of the path count. Packed projections are three times the one behind attention
// (torch/nn/modules/activation.py, MultiheadAttention).
bool Signature::ShapeFromNamesake(const std::string& target) {
  if (!Runs("read", "unused_parameters ShapeFromNamesake")) return false;
  const ValueId value = ByTarget(target);
  const auto [module, leaf] = SplitTarget(target);
  if (leaf == "in_proj_weight" || leaf == "in_proj_bias") {
    const std::string behind = module + ".out_proj" + leaf.substr(leaf.rfind('_')).replace(0, 1, ".");
    const ValueId projection = ByTarget(behind);
    if (!projection.valid() || (!ShapeIsKnown(projection) && !ShapeFromNamesake(behind))) return false;
    Shape packed;
    for (int i = 0; i < builder_->At(projection).shape.rank(); ++i)
      packed.Append(builder_->At(projection).shape[i] * (i == 0 ? 3 : 1));
    SetShape(value, builder_->At(value).type, packed);
    return true;
  }
  if (leaf != "weight" && leaf != "bias") return false;
  const auto [around, name] = SplitTarget(module);
  const auto is_linear = [&](const std::string& path) {
    const ValueId weight = ByTarget(path + ".weight");
    return weight.valid() && ShapeIsKnown(weight) && builder_->At(weight).shape.rank() == 2;
  };
  const Value* namesake = nullptr;
  size_t most = 0;
  bool agree = true;
  for (const std::string& other : order_) {
    const ValueId candidate = ByTarget(other);
    if (!ShapeIsKnown(candidate) || builder_->At(candidate).role != builder_->At(value).role) continue;
    const auto [other_module, other_leaf] = SplitTarget(other);
    const auto [other_around, other_name] = SplitTarget(other_module);
    const bool norms = name.ends_with("norm") && other_name.ends_with("norm") && other_around == around;
    const bool linears = !name.empty() && other_name == name && is_linear(other_module);
    if (other_leaf != leaf || (!linears && !norms)) continue;
    const size_t common = SharedPath(target, other);
    if (common < most) continue;
    agree = common == most && namesake != nullptr ? agree && builder_->At(candidate).shape == namesake->shape : true;
    most = common;
    namesake = &builder_->At(candidate);
  }
  if (namesake == nullptr || !agree) return false;
  SetShape(value, namesake->type, Shape(namesake->shape));
  return true;
}

// What the file's facts say about tensors that no operator uses (docs/facts.md).
void Signature::TakeShapesOf(const std::optional<std::vector<RecordedTensor>>& tensors) {
  if (!tensors) return;
  for (const RecordedTensor& tensor : *tensors) {
    const ValueId value = ByTarget(tensor.name);
    if (!value.valid() || ShapeIsKnown(value) || !tensor.same_as.empty()) continue;
    Shape shape;
    for (const int64_t length : tensor.shape) shape.Append(length);
    SetShape(value, tensor.type, shape);
  }
}

void Signature::Finish(Notes* notes) {
  if (const std::optional<Facts>& facts = builder_->graph().facts) {
    TakeShapesOf(facts->parameters);
    TakeShapesOf(facts->buffers);
  }
  std::unordered_map<std::string, int64_t> growth;
  std::vector<std::string>& assumed = builder_->guesses().assumed_shapes;
  for (const std::string& target : order_) {
    const ValueId value = ByTarget(target);
    if (ShapeIsKnown(value) || ShapeByHabit(target)) continue;
    builder_->At(value).type = DType::kFloat32;
    if (!ShapeOfFrequencies(target) && !ShapeFromBefore(target, &growth) && !ShapeFromNamesake(target)) continue;
    assumed.push_back(target);
  }
  if (!assumed.empty()) {
    notes->Add({.code = "assumed-shape",
                .subject = assumed.front(),
                .text = "the file lists " + std::to_string(assumed.size()) +
                        " parameters and buffers from here on that no operator uses, without their shapes; they are "
                        "assumed to continue the pattern of the stages, blocks and modules beside them",
                .hint = "remove layers that never run from the model, or export a step that runs them"});
  }
  std::vector<std::string> unknown;
  for (const std::string& target : order_) {
    const ValueId value = ByTarget(target);
    if (ShapeIsKnown(value)) continue;
    // What was used before the export folded it away: a length of 0 would empty whatever it is broadcast with.
    const bool used = !IsUnreferenced(target);
    SetShape(value, DType::kFloat32, used ? Shape() : Shape{0});
    if (!used) {
      unknown.push_back(target);
      continue;
    }
    notes->Add({.code = "unknown-parameter",
                .severity = Severity::kWarning,
                .subject = target,
                .text = "the file lists it but does not give its shape; it counts as one number",
                .side = Side::kTooLow});
  }
  if (!unknown.empty()) {
    const size_t more = unknown.size() - 1;
    const std::string others = more == 0 ? "" : more == 1 ? " and one more" : " and " + std::to_string(more) + " more";
    notes->Add({.code = "unknown-parameter",
                .severity = Severity::kWarning,
                .subject = unknown.front(),
                .text = "the file lists it" + others + " but neither gives " +
                        (more == 0 ? "its shape" : "their shapes") + " nor uses " +
                        (more == 0 ? "it; it counts" : "them; they count") + " as 0 B",
                .side = Side::kTooLow});
  }
}

}  // namespace vramplan
