#include "graph/architectures/fill.h"

#include <doctest/doctest.h>

#include <string>

namespace vramplan {
namespace {

// Layers that are one linear layer and its activation; the first reads the input, the others what was before them.
constexpr const char* kChain = R"(vramplan template 2
class Chain
default width 4
stack h layers
period 1
recording A float32 train
recording B half train
= parameters
* n0
h.<i>.weight x[width,width]
.
= modules
* n0
h.<i> torch.nn.Linear
.
= given
x x[B,width]
= calls
* n0
in h.<i>
{A1 B1} 0 linear(%x,%.weight) x[B,width]
{A23 B23} 0 linear(%1',%.weight) x[B,width] ;1'
1 relu(%0)!amp="float" x[B,width] ;0
.
in -
{A} 2 sum(%1,[0,<2*width>]) float32[]
{B} 2 sum(%1,[0,<2*width>]) x[] ;*3(1)
= kept
2 1@
= returned
2
)";

std::string Filled(const std::string& text, const std::string& form, int64_t layers) {
  const Template read = Template::Read(text);
  Settings settings;
  settings.Set("layers", layers);
  Result<std::string> filled = read.Fill(read.Complete(settings), form, "train", true);
  return filled ? *filled : filled.error().text;
}

TEST_CASE("fill: blocks, values of the block before, types of the weights, and what a recording alone does") {
  CHECK(
      Filled(kChain, "half", 2) ==
      R"({"schema":"vramplan.facts/1","mode":"train",)"
      R"("parameters":[{"name":"h.0.weight","type":"bfloat16","shape":[4,4]},)"
      R"({"name":"h.1.weight","type":"bfloat16","shape":[4,4]}],"buffers":[],"functions":[],)"
      R"("programs":{"train":{"values":[["bfloat16",[4,4]],["bfloat16",[4,4]],["bfloat16",[[0,1],4]],)"
      R"(["bfloat16",[[0,1],4]],["bfloat16",[[0,1],4]],["bfloat16",[[0,1],4]],["bfloat16",[[0,1],4]],["bfloat16",[]]],)"
      R"("stored":[["h.0.weight",0],["h.1.weight",1]],)"
      R"("modules":[["h.0","torch.nn.Linear",-1],["h.1","torch.nn.Linear",-1]],)"
      R"("calls":[["aten.linear.default",0,["%2","%0"],[3]],["aten.relu.default",0,["%3"],[4]],)"
      R"(["aten.linear.default",1,["%4","%1"],[5]],["aten.relu.default",1,["%5"],[6]],)"
      R"(["aten.sum.default",-1,["%6",[0,8]],[7]]],)"
      R"("ends":[[3,1],[4,2],[5,3],[6,4],[7,-1],[4,-1]],"loose":[],"given":[["x",2]],"returned":[7]}}})");
  const std::string whole = Filled(kChain, "float32", 3);
  CHECK(whole.find(R"(["aten.relu.default",2,["%8"],[9],{"amp":"float"}])") != std::string::npos);
  CHECK(whole.find(R"("ends":[[4,1],[5,2],[6,3],[7,4],[8,5],[10,-1],[5,-1]])") != std::string::npos);
}

TEST_CASE("fill: what a template cannot be filled with") {
  CHECK(Filled(kChain, "half", 1).find("fewer layers than its template can tell apart") != std::string::npos);
  std::string other = kChain;
  other.replace(other.find("default width 4"), 15, "default width layers/7");
  CHECK(Filled(other, "half", 2).find("a whole number for width") != std::string::npos);
  other = kChain;
  other.replace(other.find("period 1"), 8, "period 2");
  CHECK(Filled(other, "half", 3).find("3 layers are no multiple of 2") != std::string::npos);
  other = kChain;
  other.replace(other.find("recording B half train\n"), 23, "");
  CHECK(Filled(other, "half", 2).find("was not recorded") != std::string::npos);
}

TEST_CASE("fill: each so-many-th layer of another kind") {
  std::string text = kChain;
  text.replace(text.find("period 1\n"), 9, "period 1\nevery apart 1\ndefault apart 2\n");
  text.replace(text.find("1 relu(%0)"), 10, "{A4 B4} 1 gelu(%0) x[B,width] ;0\n{A12 B12} 1 relu(%0)");
  const std::string filled = Filled(text, "half", 4);
  const auto count = [&](const std::string& call) {
    int found = 0;
    for (size_t at = filled.find(call); at != std::string::npos; at = filled.find(call, at + 1)) ++found;
    return found;
  };
  CHECK(count("aten.gelu") == 2);
  CHECK(count("aten.relu") == 2);
}

TEST_CASE("template: what the library takes where a config.json says nothing, or null") {
  const Template read = Template::Read(
      "vramplan template 2\ndefault heads 8\ndefault kv heads\nnull kv heads\nwhole heads/kv\nmost sequence rows\n");
  Settings nothing;
  CHECK(read.Complete(nothing).Number("kv") == 8);
  Settings null;
  null.Set("heads", int64_t{6});
  null.Set("kv", nullptr);
  CHECK(read.Complete(null).Number("kv") == 6);
  CHECK(read.Broken(read.Complete(null)) == nullptr);
  null.Set("kv", int64_t{4});
  REQUIRE(read.Broken(read.Complete(null)) != nullptr);
  CHECK(*read.Broken(read.Complete(null)) == "heads/kv");
}

}  // namespace
}  // namespace vramplan
