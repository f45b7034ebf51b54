#include <doctest/doctest.h>

#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

TEST_CASE("a stack of the exporter, outermost first") {
  Graph graph;
  graph.nodes.resize(3);
  graph.nodes[0].provenance.stack_trace =
      "File \"/a/net, in.py\", line 57, in forward\n    x = self.stem(x)\n  File \"/lib/container.py\", line 253, in "
      "forward\n    input = module(input)\n";
  graph.nodes[2].provenance.stack_trace =
      "  File \"/a/net, in.py\", line 57, in forward\n    x = self.stem(x)\n  File \"gone.py\", line 3, in helper\n";
  const Source source = ReadSource(graph);
  CHECK(source.lines == std::vector<SourceLine>{{{"/a/net, in.py", 57, "forward"}, "x = self.stem(x)"},
                                                {{"/lib/container.py", 253, "forward"}, "input = module(input)"},
                                                {{"gone.py", 3, "helper"}, ""}});
  CHECK(source.stacks == std::vector<std::vector<int32_t>>{{0, 1}, {}, {0, 2}});
}

TEST_CASE("no stacks, and text that is none") {
  Graph graph;
  graph.nodes.resize(1);
  CHECK(ReadSource(graph).stacks.empty());
  graph.nodes[0].provenance.stack_trace = "File \"x\", line y, in z\nFile \"\nhello";
  CHECK(ReadSource(graph).stacks == std::vector<std::vector<int32_t>>{{}});
}

}  // namespace
}  // namespace vramplan
