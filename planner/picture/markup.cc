#include "planner/picture/markup.h"

#include "graph/base/check.h"
#include "graph/base/printable.h"

namespace vramplan {

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : OneLine(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

void Markup::Begin(std::string_view tag, const Attributes& attributes) {
  text_ += '<';
  text_ += tag;
  for (const Attribute& attribute : attributes) {
    text_ += ' ';
    text_ += attribute.name;
    text_ += "=\"" + Escaped(attribute.value) + '"';
  }
}

Markup& Markup::Open(std::string_view tag, const Attributes& attributes) {
  Begin(tag, attributes);
  text_ += '>';
  open_.emplace_back(tag);
  return *this;
}

Markup& Markup::Close() {
  CHECK(!open_.empty());
  text_ += "</" + open_.back() + '>';
  open_.pop_back();
  return *this;
}

Markup& Markup::Empty(std::string_view tag, const Attributes& attributes) {
  Begin(tag, attributes);
  text_ += "/>";
  return *this;
}

Markup& Markup::Text(std::string_view text) {
  text_ += Escaped(text);
  return *this;
}

Markup& Markup::Element(std::string_view tag, const Attributes& attributes, std::string_view text) {
  return Open(tag, attributes).Text(text).Close();
}

Markup& Markup::Append(const Markup& other) {
  text_ += other.text();
  return *this;
}

Markup& Markup::Literal(std::string_view ours) {
  CHECK(ours.find("</") == std::string_view::npos);
  text_ += ours;
  return *this;
}

Markup& Markup::Data(std::string_view id, const Json& json) {
  Open("script", {{"type", "application/json"}, {"id", std::string(id)}});
  // In JSON these stand inside strings only, where a reference by number means the same.
  for (const char c : PrintCompact(json)) {
    if (c == '<') {
      text_ += "\\u003c";
    } else if (c == '>') {
      text_ += "\\u003e";
    } else if (c == '&') {
      text_ += "\\u0026";
    } else {
      text_ += c;
    }
  }
  return Close();
}

const std::string& Markup::text() const {
  CHECK(open_.empty());
  return text_;
}

}  // namespace vramplan
