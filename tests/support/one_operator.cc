#include "tests/support/one_operator.h"

#include <doctest/doctest.h>

#include <sstream>

#include "planner/semantics/table.h"
#include "planner/timeline/backward.h"

namespace vramplan::testing {
namespace {

using eager::GradContext;
using eager::GradNode;
using eager::Tensor;

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<int64_t> Numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<int64_t> numbers;
  for (std::string part; std::getline(stream, part, ',');) numbers.push_back(std::stoll(part));
  return numbers;
}

DType OneOperatorTypeOf(char letter) {
  switch (letter) {
    case 'f':
      return DType::kFloat32;
    case 'd':
      return DType::kFloat64;
    case 'z':
      return DType::kComplex64;
    case 'h':
      return DType::kFloat16;
    case 'y':
      return DType::kBFloat16;
    case 'i':
      return DType::kInt64;
    case 'j':
      return DType::kInt32;
    case 'b':
      return DType::kBool;
  }
  VRAMPLAN_CHECK(letter == 'f');
  return DType::kUndefined;
}

struct Facts {
  DType type;
  Shape shape;
  std::vector<int64_t> order;  // axes from the slowest to the fastest; empty: contiguous
};

Facts OneOperatorFactsOf(const std::string& text) {
  Facts facts{OneOperatorTypeOf(text[0]), Shape(), {}};
  const size_t close = text.find(']');
  for (int64_t length : Numbers(text.substr(2, close - 2))) facts.shape.Append(length);
  const size_t at = text.find('@');
  if (at != std::string::npos) facts.order = Numbers(text.substr(at + 1));
  return facts;
}

AttributeValue OneOperatorAttribute(const std::string& text) {
  if (text[0] == '[') return Numbers(text.substr(1, text.size() - 2));
  if (text.find_first_not_of("-0123456789.") != std::string::npos) return text;
  if (text.find('.') != std::string::npos) return std::stod(text);
  return static_cast<int64_t>(std::stoll(text));
}

}  // namespace

TrainingSpec SpecFromWords(const std::string& words) {
  TrainingSpec spec;
  spec.framework = {2, 10};
  spec.capability = {7, 5};
  spec.cudnn_workspace = Bytes();
  for (const std::string& word : Words(words)) {
    if (word == "infer") {
      spec.mode = Mode::kInfer;
    } else if (word.starts_with("cc")) {
      spec.capability = ParseCapability(word.substr(2)).value();
    } else if (word.starts_with("pytorch@")) {
      spec.framework = ParseFramework(word).value();
    } else if (word == "inplace-off") {
      spec.inplace = Inplace::kOff;
    } else if (const auto impl = ParseOptimizerImpl(word)) {
      spec.optimizer_impl = *impl;
    } else if (const auto optimizer = ParseOptimizer(word)) {
      spec.optimizer = *optimizer;
    } else if (word.starts_with("wd=")) {
      spec.weight_decay = std::stod(word.substr(3));
    } else {
      spec.precision = ParsePrecision(word).value();
    }
  }
  return spec;
}

Trial::Trial(TrainingSpec given) : spec(std::move(given)), e(log, spec, 1, nullptr) {
  e.grad_mode = spec.mode == Mode::kTrain;
  source_ = e.Empty(Shape{Dim(0)}, DType::kFloat32);
  source_->requires_grad = true;
}

Tensor Trial::Given(const std::string& text, const std::string& name) {
  if (text == "-") return Tensor();
  const Facts facts = OneOperatorFactsOf(text.substr(2));
  log.CallNext(name);
  Tensor t;
  if (facts.order.empty()) {
    t = e.Empty(facts.shape, facts.type);
  } else {
    eager::Ints strides;
    strides.n = facts.shape.rank();
    int64_t running = 1;
    for (auto axis = facts.order.rbegin(); axis != facts.order.rend(); ++axis) {
      strides[static_cast<int>(*axis)] = running;
      running *= e.At(facts.shape[static_cast<int>(*axis)]);
    }
    t = e.EmptyStrided(facts.shape, strides, facts.type);
  }
  if (text[0] == 'p') t->requires_grad = true;
  if (text[0] == 'x') {
    if (GradNode* node = e.Record("Source", {source_}, {t})) node->Backward([](GradContext&) {});
  }
  log.Take();
  return t;
}

std::vector<Tensor> Trial::Run(const std::string& op, const std::string& attributes, std::vector<Tensor> inputs,
                               const std::string& outputs) {
  Layers layers;
  Layer layer;
  layer.op = op;
  layer.name = op;
  for (const std::string& word : Words(attributes)) {
    const size_t equals = word.find('=');
    layer.attributes.Set(word.substr(0, equals), OneOperatorAttribute(word.substr(equals + 1)));
  }
  for (const std::string& word : Words(outputs)) {
    const Facts facts = OneOperatorFactsOf(word);
    layers.values.push_back({"", facts.type, facts.shape, Role::kActivation});
    layer.outputs.push_back(ValueId{static_cast<int32_t>(layers.values.size()) - 1});
  }
  const eager::OpRule* rule = eager::FindRule(op);
  REQUIRE_MESSAGE(rule != nullptr, op);
  eager::Call call(e, layers, layer, std::move(inputs));
  rule->run(call);
  return std::move(call.outputs);
}

Tensor Trial::LossOf(const std::vector<Tensor>& outputs) {
  log.CallNext("");
  Tensor loss = e.Empty(Shape(), DType::kFloat32);
  std::vector<Tensor> like;  // sizes and strides without the storage
  for (const Tensor& t : outputs) {
    like.push_back(MakeRef<eager::TensorImpl>(eager::Storage(), t->layout, t->dtype));
  }
  if (GradNode* node = e.Record("Loss", outputs, {loss})) {
    node->Backward([this, like](GradContext& g) {
      for (size_t i = 0; i < like.size(); ++i) {
        if (!g.Needs(static_cast<int>(i))) continue;
        log.CallNext(i == 0 ? "g" : "g" + std::to_string(i + 1));
        g.Set(static_cast<int>(i), g.e.EmptyLike(like[i]));
      }
      log.Take();
    });
  }
  return loss;
}

std::string Trial::Backward(Tensor loss) {
  if (!loss->grad_fn) return "";
  log.CallNext("");  // ones_like(loss)
  vramplan::Backward(e, loss);
  return log.Take();
}

OperatorEvents EventsOf(const OperatorCase& row) {
  Trial trial(row.spec);
  std::vector<Tensor> inputs;
  std::vector<std::string> parameters;
  int activations = 0, constants = 0;
  for (const std::string& word : Words(row.inputs)) {
    const char* const kNames[] = {"xyzuq", "wbvmn", "cdehijkaflopr"};
    std::string name(1, '-');
    if (word[0] == 'x') name = kNames[0][activations++];
    if (word[0] == 'p') name = kNames[1][parameters.size()];
    if (word[0] == 'c') name = kNames[2][constants++];
    if (word[0] == 'p') parameters.push_back(name);
    inputs.push_back(trial.Given(word, name));
  }
  std::vector<Tensor> held = inputs;  // the parameters stay with the model
  std::vector<Tensor> outputs = trial.Run(row.op, row.attributes, std::move(inputs), row.outputs);
  OperatorEvents answer;
  answer.forward = trial.Events();
  Tensor loss = trial.LossOf(outputs);
  outputs.clear();
  for (Tensor& t : held) {
    if (t && !t->requires_grad) t = Tensor();
  }
  trial.Events();
  answer.kept = trial.log.Alive(parameters);
  answer.backward = trial.Backward(loss);
  return answer;
}

void CheckOperator(const OperatorCase& row) {
  const OperatorEvents answer = EventsOf(row);
  const std::string title = std::string(row.op) + " (" + row.attributes + ") " + row.inputs + " " + row.spec;
  CAPTURE(title);
  CHECK(answer.forward == std::string(row.forward));
  CHECK(answer.kept == std::string(row.kept));
  CHECK(answer.backward == std::string(row.backward));
}

void CheckOperators(std::initializer_list<OperatorCase> rows) {
  for (const OperatorCase& row : rows) CheckOperator(row);
}

}  // namespace vramplan::testing
