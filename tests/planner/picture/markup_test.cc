#include "planner/picture/markup.h"

#include <doctest/doctest.h>

#include "planner/report/writing/json.h"

using namespace vramplan;

TEST_CASE("markup: what is put in is escaped, whatever it holds") {
  struct Row {
    const char *text, *escaped;
  };
  for (const auto& [text, escaped] : {
           Row{"conv1", "conv1"},
           Row{"<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"},
           Row{"a&b\"c'd", "a&amp;b&quot;c&#39;d"},
           Row{"</script>", "&lt;/script&gt;"},
       }) {
    CAPTURE(text);
    CHECK_EQ(Escaped(text), escaped);
    Markup page;
    page.Open("p", {{"title", text}}).Text(text).Close();
    CHECK_EQ(page.text(), std::string("<p title=\"") + escaped + "\">" + escaped + "</p>");
  }
  const std::string broken = Escaped("line\nbreak\x1b[2J\xff");
  CHECK_EQ(broken.find('\n'), std::string::npos);
  CHECK_EQ(broken.find('\x1b'), std::string::npos);
  CHECK_EQ(broken.find('\xff'), std::string::npos);
}

TEST_CASE("markup: data cannot end its element") {
  Markup page;
  Json names = Json::Array();
  names.Push("</script><script>alert(1)</script>").Push("<!--").Push("a & b");
  page.Data("step-data", names);
  CHECK_EQ(page.text(),
           "<script type=\"application/json\" id=\"step-data\">[\"\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"
           "\\u003c/script\\u003e\",\"\\u003c!--\",\"a \\u0026 b\"]</script>");
}
