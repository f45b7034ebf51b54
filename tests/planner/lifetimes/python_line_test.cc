#include "planner/lifetimes/python_line.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

using PythonLineNames = std::vector<std::string>;

TEST_CASE("what a line of Python binds") {
  struct Row {
    const char* text;
    PythonLineNames targets;
  };
  const Row rows[] = {
      {"x = self.norm(x)", {"x"}},
      {"x=self.norm(x, eps=1e-6)", {"x"}},
      {"out += identity", {"out"}},
      {"x //= 2", {"x"}},
      {"q, k, v = self.qkv(x).chunk(3, dim=-1)", {"q", "k", "v"}},
      {"(q, k, v) = parts", {"q", "k", "v"}},
      {"out, (h, c) = self.lstm(x)", {"out", "h", "c"}},
      {"first, *rest = self.stages(x)", {"first", "rest"}},
      {"y: Tensor = f(x)", {"y"}},
      {"a = b = f(x)", {"a", "b"}},
      {"self.cache, outs[i], y = f(x)", {"", "", "y"}},
      {"for block in self.blocks: x = block(x)", {"x"}},
      {"if self.proj is not None: x = self.proj(x)", {"x"}},
      {"mask = a == b", {"mask"}},
      {"x = x if a <= b else self.f(x)", {"x"}},
      {"s = 'a = b, c'  # d = e", {"s"}},
      {"return self.head(x)", {}},
      {"def forward(self, x): return self.net(x)", {}},
      {"self.f(x)", {}},
      {"dim=1)", {}},  // of a call that began on a line before
      {"self.k(x, n=3),", {}},
      {"", {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(ReadPythonLine(row.text).targets == row.targets);
  }
}

TEST_CASE("what else a line says") {
  CHECK(ReadPythonLine("feats.append(self.stage(x))").collects);
  CHECK(ReadPythonLine("states += (x,)").collects);
  CHECK(!ReadPythonLine("x += self.f(x)").collects);
  CHECK(ReadPythonLine("q, k = [f(x) for f in self.fs]").comprehension);
  CHECK(ReadPythonLine("return x").returns);
  CHECK(!ReadPythonLine("a = f(x); b = g(x)").clear);
  CHECK(!ReadPythonLine("for y in self.parts(x):").clear);
  CHECK(ReadPythonLine("out = torch.cat([self.a(x),").open == 2);
  CHECK(!ReadPythonLine("out = torch.cat([self.a(x),").goes_on);
  CHECK(ReadPythonLine("self.b(x)], 1)").goes_on);
  CHECK(ReadPythonLine("self.b(x),").goes_on);
  // the last line of arguments: nobody binds a name to the left of a call's result, or writes a tuple for nothing
  CHECK(ReadPythonLine("self.norm1(x), mask, is_causal=is_causal").goes_on);
  CHECK(ReadPythonLine("self.norm1(x), mask").goes_on);
  CHECK(!ReadPythonLine("x, (h, c) = self.lstm(x)").goes_on);
  CHECK(!ReadPythonLine("out[f(i)] = x").goes_on);
  CHECK(!ReadPythonLine("return x, mask").goes_on);
}

TEST_CASE("names that a call is given behind the first argument") {
  CHECK(FurtherArguments("x = self.mid(x, output)") == PythonLineNames{"output"});
  CHECK(FurtherArguments("x = f(self.g(x), cache=feats, 3, None, y.size(0), *rest)") == PythonLineNames{"feats"});
  CHECK(FurtherArguments("x = self.mid(x)").empty());
}

TEST_CASE("names stand on their own") {
  CHECK(NamesIn("x1 = self.norm(x) + x.view(1, 2) # y") == PythonLineNames{"x1", "self", "x"});
  CHECK(Mentions("f(x)", "x"));
  CHECK(!Mentions("self.x + x1", "x"));
}

}  // namespace
}  // namespace vramplan
