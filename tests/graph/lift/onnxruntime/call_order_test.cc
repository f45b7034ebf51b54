#include "graph/lift/onnxruntime/call_order.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

ModulePath PathTo(const std::vector<std::string>& names) {
  ModulePath path;
  for (const std::string& name : names) path.push_back({.path = name, .class_name = ""});
  return path;
}

using Order = std::vector<size_t>;

TEST_CASE("an encoder runs before the decoder that a tool mixed it with") {
  const ModulePath encoder = PathTo({"enc"}), decoder = PathTo({"dec"});
  CHECK(CallOrder({{}, {}, {0}, {1, 2}}, {encoder, decoder, encoder, decoder}) == Order{0, 2, 1, 3});
  CHECK(CallOrder({{}, {}, {0}, {1, 2}}, {decoder, encoder, decoder, encoder}) == Order{0, 2, 1, 3});
}

TEST_CASE("the innermost module that has something to run goes on, the first of it in front") {
  const ModulePath root, block = PathTo({"b"}), norm = PathTo({"b", "b.norm"}), other = PathTo({"b", "b.other"});
  CHECK(CallOrder({{}, {}, {}, {}}, {norm, root, other, norm}) == Order{0, 3, 2, 1});
  CHECK(CallOrder({{}, {0}, {0}, {0}}, {block, other, root, block}) == Order{0, 1, 3, 2});
}

TEST_CASE("what waits for itself comes last, as it was") {
  const ModulePath root;
  CHECK(CallOrder({{1}, {0}, {}}, {root, root, root}) == Order{2, 0, 1});
}

}  // namespace
}  // namespace vramplan
