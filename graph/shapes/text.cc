// Strings, and encoded images.
#include <algorithm>

#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

void StringConcat(NodeInference& n) { n.Out(0).shape = n.BroadcastInputs(2); }

// Without stop words nothing falls out; else data decides how much of the last axis stays, at least one element (onnx
// StringNormalizer-10).
void StringNormalizer(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape out = *n.ShapeOf(0);
  const auto* stopwords = n.node().attributes.Get<std::vector<std::string>>("stopwords");
  if (stopwords != nullptr && !stopwords->empty() && out.rank() > 0) {
    const Dim most = Maximum(out.FromEnd(1), 1);
    out[out.rank() - 1] = n.Undecided(most.known() ? most : out.FromEnd(1));
  }
  n.SetShape(0, out);
}

// The pieces [.., most pieces of any], and how many each string has (onnx StringSplit-20).
void StringSplit(NodeInference& n) {
  n.Out(1).type = DType::kInt64;
  if (!n.ShapeOf(0)) return;
  std::vector<Dim> out(n.ShapeOf(0)->begin(), n.ShapeOf(0)->end());
  const int64_t splits = n.Int("maxsplit", -1);
  out.push_back(splits >= 0 ? n.Undecided(Dim(splits) + Dim(1)) : Dim::Unknown());
  n.SetShape(0, out);
  n.SetShape(1, *n.ShapeOf(0));
}

// One column a slot of ngram_indexes: [C] becomes [columns], [N, C] becomes [N, columns] (onnx TfIdfVectorizer-9).
void TfIdfVectorizer(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() < 1) return;
  const std::vector<int64_t> slots = n.Ints("ngram_indexes");
  if (slots.empty()) return n.Fail("it lacks ngram_indexes");
  Shape out = *n.ShapeOf(0);
  out[out.rank() - 1] = Dim(*std::max_element(slots.begin(), slots.end())) + Dim(1);
  n.SetShape(0, out);
}

// [height, width, channels], one channel of Grayscale (onnx ImageDecoder-20).
void ImageDecoder(NodeInference& n) {
  n.SetShape(0, Shape{Dim::Unknown(), Dim::Unknown(), n.Text("pixel_format", "RGB") == "Grayscale" ? 1 : 3});
}

constexpr RuleRow kTextRows[] = {
    {"StringConcat", StringConcat},
    {"StringNormalizer", StringNormalizer},
    {"StringSplit", StringSplit},
    {"RegexFullMatch", SameShape, Type::kBool},
    {"ImageDecoder", ImageDecoder, Type::kUint8},
    {"TfIdfVectorizer", TfIdfVectorizer, Type::kFloat32},
};

}  // namespace

constinit const std::span<const RuleRow> kTextRules(kTextRows);

}  // namespace vramplan
