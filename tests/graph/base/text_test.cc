#include "graph/base/text.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("text: the parts of a path") {
  CHECK(PartsOf("layer.0.conv") == std::vector<std::string_view>{"layer", "0", "conv"});
  CHECK(PartsOf("fc") == std::vector<std::string_view>{"fc"});
  CHECK(PartsOf("") == std::vector<std::string_view>{""});
  CHECK(PartsOf("a..b.") == std::vector<std::string_view>{"a", "", "b", ""});
}

TEST_CASE("text: digits, lists, axes") {
  CHECK(WithoutDigits("/layer.12/Add_3") == "/layer./Add_");
  CHECK(IsOneOf("relu", {"silu", "relu"}));
  CHECK_FALSE(IsOneOf("rel", {"silu", "relu"}));
  CHECK(Ranked("conv", 2) == "conv2d");
}

}  // namespace
}  // namespace vramplan
