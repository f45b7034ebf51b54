#include "graph/architectures/liger.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/architectures/linear_layers.h"

namespace vramplan {
namespace {

using Argument = RecordedArgument;
using Call = RecordedProgram::Call;

// The norms that are replaced in an instance, by the ends of their paths, and whether their gradient is written over the
// one that arrives (_patch_rms_norm_module, in_place).
struct Patched {
  std::string_view of_class, in_place, beside;
};
constexpr std::string_view kOfLlama = " norm input_layernorm post_attention_layernorm ";
constexpr auto kPatched = std::to_array<Patched>({
    {"LlamaForCausalLM", kOfLlama, ""},
    {"MistralForCausalLM", kOfLlama, ""},
    {"Qwen2ForCausalLM", kOfLlama, ""},
    {"Qwen3ForCausalLM", " norm input_layernorm post_attention_layernorm q_norm k_norm ", ""},
    {"Phi3ForCausalLM", kOfLlama, ""},
    {"SmolLM3ForCausalLM", kOfLlama, ""},
    {"GemmaForCausalLM", kOfLlama, ""},
    {"Gemma2ForCausalLM", "",
     " norm input_layernorm post_attention_layernorm pre_feedforward_layernorm post_feedforward_layernorm "},
    {"Gemma3ForCausalLM", "",
     " norm input_layernorm post_attention_layernorm pre_feedforward_layernorm post_feedforward_layernorm q_norm "
     "k_norm "},
    {"Olmo2ForCausalLM", " norm ", " post_attention_layernorm post_feedforward_layernorm "},
});

const Patched* PatchedOf(const std::string& of_class) {
  const auto* const row = std::ranges::find(kPatched, of_class, &Patched::of_class);
  return row == kPatched.end() ? nullptr : row;
}

bool Names(std::string_view names, const std::string& path) {
  return names.find(" " + LastName(path) + " ") != std::string_view::npos;
}

Argument OfValue(int32_t value) { return {Argument::Kind::kValue, value, 0, "", {}}; }

bool Reads(const Call& call, int32_t value) {
  const std::vector<int32_t> values = ReadBy(call);
  return std::ranges::find(values, value) != values.end();
}

class Fusing {
 public:
  Fusing(const Patched& patched, RecordedProgram* program)
      : patched_(patched), program_(*program), kernel_of_(program->calls.size(), kNone) {}

  // What is wrong; empty: nothing.
  std::string Run() {
    for (size_t i = 0; i < program_.calls.size(); ++i) {
      if (kernel_of_[i] != kNone) continue;
      const bool whole = IsNorm(i) ? FuseNorm(i) : !BeginsRope(i) || FuseRope(i);
      if (!whole) return "its template has no such layers as Liger's kernels replace";
      FuseGate(i);
    }
    if (!FuseLoss()) return "Liger's loss reads the weight of the output layer past an adapter of it";
    Rewrite();
    return "";
  }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();
  struct Kernel {
    Call call;
    size_t at = 0;  // where it runs: the last of the calls that it replaces
  };

  const Call& At(size_t i) const { return program_.calls[i]; }
  const RecordedProgram::Called* ModuleOf(size_t i) const {
    return At(i).module < 0 ? nullptr : &program_.modules[static_cast<size_t>(At(i).module)];
  }

  // What the calls read of others, each once, in order.
  std::vector<int32_t> Operands(const std::vector<size_t>& calls) const {
    std::set<int32_t> made;
    std::vector<int32_t> operands;
    for (const size_t i : calls) {
      for (const int32_t value : ReadBy(At(i)))
        if (!made.contains(value) && std::ranges::find(operands, value) == operands.end()) operands.push_back(value);
      made.insert(At(i).results.begin(), At(i).results.end());
    }
    return operands;
  }

  // What the calls make and others read, in order.
  std::vector<int32_t> Results(const std::vector<size_t>& calls) const {
    std::set<int32_t> read(program_.returned.begin(), program_.returned.end());
    for (size_t i = calls.front(); i < program_.calls.size(); ++i) {
      if (std::ranges::find(calls, i) != calls.end()) continue;
      const std::vector<int32_t> values = ReadBy(At(i));
      read.insert(values.begin(), values.end());
      if (i > calls.back() + kFar) break;
    }
    std::vector<int32_t> results;
    for (const size_t i : calls)
      for (const int32_t value : At(i).results)
        if (value >= 0 && read.contains(value)) results.push_back(value);
    return results;
  }

  void Replace(const std::vector<size_t>& calls, const char* target, const std::vector<int32_t>& operands,
               std::vector<int32_t> results) {
    Kernel kernel;
    kernel.at = calls.back();
    kernel.call.target = target;
    kernel.call.module = At(calls.back()).module;
    for (const int32_t operand : operands) kernel.call.arguments.push_back(OfValue(operand));
    kernel.call.results = std::move(results);
    for (const size_t i : calls) kernel_of_[i] = kernels_.size();
    kernels_.push_back(std::move(kernel));
  }

  bool IsNorm(size_t i) const {
    const RecordedProgram::Called* const module = ModuleOf(i);
    return module != nullptr && module->class_name.ends_with("RMSNorm") &&
           (Names(patched_.in_place, module->path) || Names(patched_.beside, module->path));
  }

  bool FuseNorm(size_t first) {
    std::vector<size_t> calls;
    for (size_t i = first; i < program_.calls.size() && At(i).module == At(first).module; ++i) calls.push_back(i);
    const std::vector<int32_t> operands = Operands(calls), results = Results(calls);
    if (operands.size() != 2 || results.size() != 1) return false;
    Replace(calls, "liger.rms_norm", operands, results);
    const bool over = Names(patched_.in_place, ModuleOf(first)->path);
    kernels_.back().call.keywords.emplace_back("over", IntegerOf(over ? 1 : 0));
    return true;
  }

  // apply_rotary_pos_emb begins with cos.unsqueeze(1) and sin.unsqueeze(1).
  bool BeginsRope(size_t i) const {
    const RecordedProgram::Called* const module = ModuleOf(i);
    return module != nullptr && module->class_name.ends_with("Attention") && i + 1 < program_.calls.size() &&
           At(i).target == "aten.unsqueeze.default" && At(i + 1).target == "aten.unsqueeze.default";
  }

  // It ends with the second sum of q * cos + rotate_half(q) * sin or, where heads are rotated in part, with the cat behind it.
  bool FuseRope(size_t first) {
    std::vector<size_t> calls;
    size_t last = first;
    int sums = 0;
    for (size_t i = first; i < program_.calls.size() && At(i).module == At(first).module; ++i) {
      const bool joins = At(i).target == "aten.cat.default" && Reads(At(i), At(last).results.front());
      if (sums == 2 && (!joins || At(i).arguments.front().items.size() != 2)) break;
      sums += At(i).target == "aten.add.Tensor" ? 1 : 0;
      if (joins || At(i).target == "aten.add.Tensor") last = i;
    }
    for (size_t i = first; i <= last; ++i) calls.push_back(i);
    const std::vector<int32_t> read = Operands(calls), results = Results(calls);
    if (read.size() != 4 || results.size() != 2) return false;
    Replace(calls, "liger.rope", {read[2], read[3], read[0], read[1]}, results);
    // Keys have the type that the values have, under autocast too, and so has what the cache makes of both.
    for (size_t i = last + 1; i < program_.calls.size() && At(i).module == At(first).module; ++i)
      if (At(i).target == "aten.cat.default")
        std::erase_if(program_.calls[i].keywords, [](const auto& keyword) { return keyword.first == "amp"; });
    return true;
  }

  // act_fn(gate) * up
  void FuseGate(size_t i) {
    const RecordedProgram::Called* const module = ModuleOf(i);
    if ((At(i).target != "aten.silu.default" && At(i).target != "aten.gelu.default") || module == nullptr) return;
    const int32_t made = At(i).results.front();
    for (size_t j = i + 1; j < program_.calls.size(); ++j) {
      const std::vector<int32_t> read = ReadBy(At(j));
      if (std::ranges::find(read, made) == read.end()) continue;
      if (At(j).target != "aten.mul.Tensor" || At(j).module != module->parent || read.size() != 2) return;
      Replace({i, j}, "liger.glu", {ReadBy(At(i)).front(), read[0] == made ? read[1] : read[0]}, At(j).results);
      return;
    }
  }

  // From the last linear layer to the loss, all that follows from its result.
  bool FuseLoss() {
    size_t head = program_.calls.size();
    while (head > 0 && !LinearCallOf(At(head - 1))) --head;
    if (head == 0) return false;
    --head;
    const LinearCall linear = *LinearCallOf(At(head));
    std::set<int32_t> follows(At(head).results.begin(), At(head).results.end());
    std::vector<size_t> calls = {head};
    for (size_t i = head + 1; i < program_.calls.size(); ++i) {
      const std::vector<int32_t> read = ReadBy(At(i));
      if (std::ranges::none_of(read, [&](int32_t value) { return follows.contains(value); })) continue;
      calls.push_back(i);
      follows.insert(At(i).results.begin(), At(i).results.end());
    }
    const std::vector<int32_t> judged = ReadBy(At(calls.back()));
    const auto hidden = static_cast<int32_t>(At(head).arguments[linear.input].integer);
    const auto weight = static_cast<int32_t>(At(head).arguments[linear.weight].integer);
    if (At(calls.back()).target != "aten.cross_entropy_loss.default" || judged.size() != 2 || linear.transposed ||
        BiasOf(At(head), linear).kind == Argument::Kind::kValue)
      return false;
    const auto stored = std::ranges::find(program_.stored, weight, &RecordedProgram::Kept::value);
    if (stored == program_.stored.end() || stored->name.find(".lora_") != std::string::npos) return false;
    Replace(calls, "liger.linear_cross_entropy", {hidden, weight, judged[1]}, At(calls.back()).results);
    return true;
  }

  void Rewrite() {
    std::set<int32_t> gone;
    for (size_t i = 0; i < program_.calls.size(); ++i) {
      if (kernel_of_[i] == kNone) continue;
      const std::vector<int32_t>& kept = kernels_[kernel_of_[i]].call.results;
      for (const int32_t value : At(i).results)
        if (std::ranges::find(kept, value) == kept.end()) gone.insert(value);
    }
    std::vector<int32_t> moved(program_.calls.size());
    std::vector<Call> calls;
    for (size_t i = 0; i < program_.calls.size(); ++i) {
      const size_t kernel = kernel_of_[i];
      if (kernel != kNone && kernels_[kernel].at != i) continue;
      moved[i] = static_cast<int32_t>(calls.size());
      calls.push_back(kernel == kNone ? std::move(program_.calls[i]) : std::move(kernels_[kernel].call));
    }
    for (size_t i = 0; i < moved.size(); ++i)
      if (kernel_of_[i] != kNone) moved[i] = moved[kernels_[kernel_of_[i]].at];
    program_.calls = std::move(calls);
    std::erase_if(program_.ends, [&](const RecordedProgram::End& end) { return gone.contains(end.value); });
    for (RecordedProgram::End& end : program_.ends)
      if (end.call >= 0) end.call = moved[static_cast<size_t>(end.call)];
    std::ranges::stable_sort(program_.ends, [](const RecordedProgram::End& a, const RecordedProgram::End& b) {
      return static_cast<uint32_t>(a.call) < static_cast<uint32_t>(b.call);  // with the forward: last
    });
    if (program_.loss >= 0) program_.loss = moved[static_cast<size_t>(program_.loss)];
  }

  static constexpr size_t kFar = 64;  // calls between a kernel and who reads its result

  const Patched& patched_;
  RecordedProgram& program_;
  std::vector<size_t> kernel_of_;
  std::vector<Kernel> kernels_;
};

}  // namespace

bool HasLiger(const std::string& of_class) { return PatchedOf(of_class) != nullptr; }

Status UseLiger(const std::string& of_class, Facts* facts) {
  const Patched* const patched = PatchedOf(of_class);
  if (patched == nullptr) {
    std::string known;
    for (const Patched& row : kPatched) {
      known += known.empty() ? "" : ", ";
      known += row.of_class.substr(0, row.of_class.find("For"));
    }
    return Error{ErrorCode::kUsage, "--liger", "how Liger's kernels run in " + of_class + " is not modelled",
                 "leave it out; it is for " + known};
  }
  for (std::optional<RecordedProgram>* program : {&facts->training_program, &facts->training_program_in_amp}) {
    const std::string wrong = *program ? Fusing(*patched, &**program).Run() : "";
    if (!wrong.empty())
      return Error{ErrorCode::kUsage, "--liger", wrong, "leave the output layer out of --lora, or leave out --liger"};
  }
  return Done();
}

}  // namespace vramplan
