// The domain ai.onnx.ml: what scikit-learn and tree libraries export. X is [N, F], or [F] for one example.
#include <algorithm>

#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

int64_t Count(const NodeInference& n, const char* name) {
  const Attributes& attributes = n.node().attributes;
  if (const auto* integers = attributes.Get<std::vector<int64_t>>(name)) return static_cast<int64_t>(integers->size());
  if (const auto* reals = attributes.Get<std::vector<double>>(name)) return static_cast<int64_t>(reals->size());
  const auto* strings = attributes.Get<std::vector<std::string>>(name);
  return strings != nullptr ? static_cast<int64_t>(strings->size()) : 0;
}

std::optional<Dim> Examples(const NodeInference& n) {
  if (!n.ShapeOf(0)) return std::nullopt;
  return n.ShapeOf(0)->rank() < 2 ? Dim(1) : (*n.ShapeOf(0))[0];
}

void Columns(NodeInference& n, int64_t columns) {
  if (const auto examples = Examples(n)) n.SetShape(0, Shape{*examples, columns});
}

void Targets(NodeInference& n) { Columns(n, n.Int("n_targets", 1)); }        // TreeEnsemble-5, TreeEnsembleRegressor
void LinearRegressor(NodeInference& n) { Columns(n, n.Int("targets", 1)); }  // LinearRegressor-1
void OneColumn(NodeInference& n) { Columns(n, 1); }                          // SVMRegressor-1

// The best class of each example, and `scores` numbers an example.
void Classified(NodeInference& n, const char* integer_labels, int64_t scores) {
  n.Out(0).type = n.node().attributes.Has("classlabels_strings") ? DType::kString : DType::kInt64;
  if (n.node().attributes.Has(integer_labels)) n.Out(0).type = DType::kInt64;
  n.Out(1).type = DType::kFloat32;
  const auto examples = Examples(n);
  if (!examples) return;
  n.SetShape(0, Shape{*examples});
  n.SetShape(1, Shape{*examples, scores > 0 ? Dim(scores) : Dim::Unknown()});
}

int64_t Labels(const NodeInference& n, const char* integer_labels) {
  return std::max(Count(n, integer_labels), Count(n, "classlabels_strings"));
}

void LinearClassifier(NodeInference& n) { Classified(n, "classlabels_ints", Labels(n, "classlabels_ints")); }
void TreeClassifier(NodeInference& n) { Classified(n, "classlabels_int64s", Labels(n, "classlabels_int64s")); }

// Without probabilities a machine of support vectors scores every pair of classes; a pair alone is given both ways
// (ONNX Runtime, core/providers/cpu/ml/svmclassifier.cc).
void SvmClassifier(NodeInference& n) {
  const int64_t labels = Labels(n, "classlabels_ints");
  const bool pairs = Count(n, "vectors_per_class") > 0 && Count(n, "prob_a") == 0 && labels > 2 && labels < 1 << 20;
  Classified(n, "classlabels_ints", pairs ? labels * (labels - 1) / 2 : labels);
}

// Values of the type that "values_*" has; version 1 turns strings into integers and integers into strings.
void LabelEncoder(NodeInference& n) {
  const Attributes& attributes = n.node().attributes;
  n.Out(0).type = n.In(0).type == DType::kString ? DType::kInt64 : DType::kString;
  if (attributes.Has("values_int64s")) n.Out(0).type = DType::kInt64;
  if (attributes.Has("values_strings")) n.Out(0).type = DType::kString;
  if (attributes.Has("values_floats")) n.Out(0).type = DType::kFloat32;
  if (const auto* values = attributes.Get<StoredTensor>("values_tensor")) n.Out(0).type = values->type;
  n.Out(0).shape = n.ShapeOf(0);
}

void CategoryMapper(NodeInference& n) {
  n.Out(0).type = n.In(0).type == DType::kString ? DType::kInt64 : DType::kString;
  n.Out(0).shape = n.ShapeOf(0);
}

// The columns of X that Y names; a vector is one row (onnx ArrayFeatureExtractor-1).
void ArrayFeatureExtractor(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || n.ShapeOf(0)->rank() == 0) return;
  Shape out = *n.ShapeOf(0);
  if (out.rank() == 1) out.Insert(0, 1);
  out[out.rank() - 1] = n.ShapeOf(1)->Elements();
  n.SetShape(0, out);
}

void OneHotEncoder(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  std::vector<Dim> out(n.ShapeOf(0)->begin(), n.ShapeOf(0)->end());
  out.push_back(std::max(Count(n, "cats_int64s"), Count(n, "cats_strings")));
  n.SetShape(0, out);
}

// Side by side; a vector is one row (onnx FeatureVectorizer-1).
void FeatureVectorizer(NodeInference& n) {
  Dim columns(0);
  for (int i = 0; i < n.inputs(); ++i) {
    if (!n.ShapeOf(i) || n.ShapeOf(i)->rank() < 1 || n.ShapeOf(i)->rank() > 2) return;
    columns = columns + n.ShapeOf(i)->FromEnd(1);
  }
  if (const auto examples = Examples(n)) n.SetShape(0, Shape{*examples, columns});
}

// The values of a map, one column a word of the vocabulary; the map's type is the declared one (onnx DictVectorizer-1).
void DictVectorizer(NodeInference& n) {
  n.SetShape(0, Shape{1, std::max(Count(n, "string_vocabulary"), Count(n, "int64_vocabulary"))});
}

// A map as one row: of max_map columns, or of as many as the map has (onnx CastMap-1).
void CastMap(NodeInference& n) {
  const std::string to = n.Text("cast_to", "TO_FLOAT");
  n.Out(0).type = to == "TO_STRING" ? DType::kString : to == "TO_INT64" ? DType::kInt64 : DType::kFloat32;
  const bool sparse = n.Text("map_form", "DENSE") == "SPARSE";
  n.SetShape(0, Shape{1, sparse ? Dim(n.Int("max_map", 1)) : Dim::Unknown()});
}

void ZipMap(NodeInference& n) { n.Out(0).is_tensor = false; }  // a sequence of maps

constexpr RuleRow kClassicRows[] = {
    {"ArrayFeatureExtractor", ArrayFeatureExtractor},
    {"Binarizer", SameShape},
    {"CastMap", CastMap, Type::kRule},
    {"CategoryMapper", CategoryMapper, Type::kRule},
    {"DictVectorizer", DictVectorizer, Type::kRule},
    {"FeatureVectorizer", FeatureVectorizer, Type::kFloat32},
    {"Imputer", SameShape},
    {"LabelEncoder", LabelEncoder, Type::kRule},
    {"LinearClassifier", LinearClassifier, Type::kRule},
    {"LinearRegressor", LinearRegressor, Type::kFloat32},
    {"Normalizer", SameShape, Type::kFloat32},
    {"OneHotEncoder", OneHotEncoder, Type::kFloat32},
    {"SVMClassifier", SvmClassifier, Type::kRule},
    {"SVMRegressor", OneColumn, Type::kFloat32},
    {"Scaler", SameShape, Type::kFloat32},
    {"TreeEnsemble", Targets},
    {"TreeEnsembleClassifier", TreeClassifier, Type::kRule},
    {"TreeEnsembleRegressor", Targets, Type::kFloat32},
    {"ZipMap", ZipMap},
};

}  // namespace

constinit const std::span<const RuleRow> kMlRules(kClassicRows);

}  // namespace vramplan
