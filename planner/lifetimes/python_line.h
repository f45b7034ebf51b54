// PythonLine: what one line of Python says about names. A line is looked at, not parsed: a file has the lines in which
// operators ran, and of a statement of several lines only those.
//
//   q, k, v = self.qkv(x).chunk(3, dim=-1)    binds q, k, v
//   x += self.pos                             binds x
//   feats.append(self.stage(x))               puts what it made into a list
//   out = torch.cat([self.a(x),               binds out; goes on, 2 brackets being open
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramplan {

struct PythonLine {
  std::vector<std::string> targets;  // names that it binds, in order; "": not a name (self.x, a[i])
  bool collects = false;             // a list keeps what it made
  bool comprehension = false;
  bool returns = false;
  bool clear = true;     // false: two statements, or the head of a loop: nobody knows which part ran
  int open = 0;          // brackets that stay open; below 0: it closes those of lines before
  bool goes_on = false;  // of a statement that began on a line before
  bool operator==(const PythonLine&) const = default;
};

PythonLine ReadPythonLine(std::string_view text);

// Whether a name stands in the text, as a name of its own: x in f(x), not in self.x or x1.
bool Mentions(std::string_view text, std::string_view name);
// The names of a text that stand on their own, each once.
std::vector<std::string> NamesIn(std::string_view text);
// What stands behind the first `=`; all of it where there is none.
std::string_view RightOf(std::string_view text);
// The name of the list that a call puts something into: outs of outs.append(x); empty: none, or not a name of its own.
std::string ListIn(std::string_view text);
// The names that a call is given alone and not as the first: output of self.mid(x, output), cache of f(x, cache=cache).
std::vector<std::string> FurtherArguments(std::string_view text);
// Whether the text may have asked for this operator: softmax in F.softmax(x), add in a + b.
bool IsWritten(std::string_view op, std::string_view text);
// Whether it takes this attribute of something: conv in self.conv(x).
bool HasAttribute(std::string_view text, std::string_view name);
// How often it calls what is no attribute: block(x), blocks[0](x).
int CallsOfVariables(std::string_view text);

}  // namespace vramplan
