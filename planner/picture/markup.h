// Markup: HTML and SVG as text. Names of tensors and modules come from files that anybody may have written, so nothing
// reaches a page but through here, and everything is escaped on its way.
//
//   Markup page;
//   page.Open("p", {{"class", "fact"}}).Text("a < b").Close();      <p class="fact">a &lt; b</p>
//
// Invariant: every element that is opened is closed, in order (CHECKed).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/report/writing/json.h"

namespace vramplan {

class Markup {
 public:
  struct Attribute {
    std::string_view name;
    std::string value;
  };
  using Attributes = std::vector<Attribute>;

  Markup& Open(std::string_view tag, const Attributes& attributes = {});
  Markup& Close();
  // An element without content: a void one in HTML, a closed one in SVG.
  Markup& Empty(std::string_view tag, const Attributes& attributes = {});
  Markup& Text(std::string_view text);
  // Open, Text, Close.
  Markup& Element(std::string_view tag, const Attributes& attributes, std::string_view text);
  // What is finished already.
  Markup& Append(const Markup& other);
  // A style or a script of ours: literals of this room.
  Markup& Literal(std::string_view ours);
  // Data for the script, which cannot end its element.
  Markup& Data(std::string_view id, const Json& json);

  bool empty() const { return text_.empty(); }
  // Everything; nothing is open any more.
  const std::string& text() const;

 private:
  void Begin(std::string_view tag, const Attributes& attributes);
  std::string text_;
  std::vector<std::string> open_;
};

// `text` for element content and attribute values: one line of printable UTF-8, with & < > " ' as references.
std::string Escaped(std::string_view text);

}  // namespace vramplan
