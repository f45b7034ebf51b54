#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("strings and encoded images") {
  CheckNodes({
      {"StringConcat", "", "s[B,1] s[7]", "s[B,7]"},
      {"StringNormalizer", "", "s[9]", "s[9]"},
      {"StringNormalizer", "stopwords=[monday]", "s[1,9]", "s[1,?]"},
      {"StringNormalizer", "stopwords=[monday] bounds=1", "s[1,9]", "s[1,9]"},
      {"StringSplit", "", "s[B,2]", "s[B,2,?] i[B,2]"},
      {"StringSplit", "maxsplit=3 bounds=1", "s[B,2]", "s[B,2,4] i[B,2]"},
      {"RegexFullMatch", "pattern=a", "s[B,2]", "b[B,2]"},
      {"ImageDecoder", "", "u[?]", "u[?,?,3]"},
      {"ImageDecoder", "pixel_format=Grayscale", "u[?]", "u[?,?,1]"},
      {"TfIdfVectorizer", "ngram_indexes=[0,1,6,2]", "i[B,12]", "f[B,7]"},
      {"TfIdfVectorizer", "ngram_indexes=[0,1,6,2]", "s[12]", "f[7]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
