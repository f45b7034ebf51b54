#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("ai.onnx.ml") {
  CheckNodes({
      {"ai.onnx.ml:ArrayFeatureExtractor", "", "f[B,9] i[1,3]", "f[B,3]"},
      {"ai.onnx.ml:ArrayFeatureExtractor", "", "f[9] i[3]", "f[1,3]"},
      {"ai.onnx.ml:Binarizer", "threshold=0.5", "f[B,9]", "f[B,9]"},
      {"ai.onnx.ml:CastMap", "cast_to=TO_INT64 map_form=SPARSE max_map=7", "f", "i[1,7]"},
      {"ai.onnx.ml:CastMap", "cast_to=TO_STRING", "f", "s[1,?]"},
      {"ai.onnx.ml:CategoryMapper", "", "s[B,2]", "i[B,2]"},
      {"ai.onnx.ml:CategoryMapper", "", "i[B,2]", "s[B,2]"},
      {"ai.onnx.ml:DictVectorizer", "string_vocabulary=[a,b,c]", "f", "![1,3]"},
      {"ai.onnx.ml:FeatureVectorizer", "inputdimensions=[2,3]", "i[B,2] i[B,3]", "f[B,5]"},
      {"ai.onnx.ml:Imputer", "", "f[B,9]", "f[B,9]"},
      {"ai.onnx.ml:LabelEncoder", "keys_strings=[a,b] values_int64s=[1,2]", "s[B,2]", "i[B,2]"},
      {"ai.onnx.ml:LabelEncoder", "keys_int64s=[1,2] values_strings=[a,b]", "i[B]", "s[B]"},
      {"ai.onnx.ml:LabelEncoder", "keys_int64s=[1,2] values_floats=[0.5,1.5]", "i[B]", "f[B]"},
      {"ai.onnx.ml:LabelEncoder", "classes_strings=[a,b]", "s[B]", "i[B]"},
      {"ai.onnx.ml:LinearClassifier", "classlabels_ints=[0,1,2]", "f[B,4]", "i[B] f[B,3]"},
      {"ai.onnx.ml:LinearClassifier", "classlabels_strings=[a,b]", "f[B,4]", "s[B] f[B,2]"},
      {"ai.onnx.ml:LinearRegressor", "targets=2", "f[B,4]", "f[B,2]"},
      {"ai.onnx.ml:LinearRegressor", "", "i[4]", "f[1,1]"},
      {"ai.onnx.ml:Normalizer", "norm=L2", "i[B,4]", "f[B,4]"},
      {"ai.onnx.ml:OneHotEncoder", "cats_int64s=[4,5,6]", "i[B,2]", "f[B,2,3]"},
      {"ai.onnx.ml:OneHotEncoder", "cats_strings=[a,b]", "s[B]", "f[B,2]"},
      {"ai.onnx.ml:SVMClassifier", "classlabels_ints=[0,1,2,3] vectors_per_class=[2,2,2,2]", "f[B,4]", "i[B] f[B,6]"},
      {"ai.onnx.ml:SVMClassifier", "classlabels_ints=[0,1] vectors_per_class=[2,2]", "f[B,4]", "i[B] f[B,2]"},
      {"ai.onnx.ml:SVMClassifier", "classlabels_ints=[0,1,2,3] vectors_per_class=[2,2,2,2] prob_a=[0.5,0.5]", "f[B,4]",
       "i[B] f[B,4]"},
      {"ai.onnx.ml:SVMRegressor", "", "f[B,4]", "f[B,1]"},
      {"ai.onnx.ml:Scaler", "offset=[0.5,0.5]", "i[B,2]", "f[B,2]"},
      {"ai.onnx.ml:TreeEnsemble", "n_targets=3", "h[B,4]", "h[B,3]"},
      {"ai.onnx.ml:TreeEnsembleClassifier", "classlabels_int64s=[0,1,2]", "f[B,4]", "i[B] f[B,3]"},
      {"ai.onnx.ml:TreeEnsembleRegressor", "n_targets=2", "i[B,4]", "f[B,2]"},
      {"ai.onnx.ml:ZipMap", "classlabels_strings=[a,b]", "f[B,2]", "f"},
  });
}

}  // namespace
}  // namespace vramplan::testing
