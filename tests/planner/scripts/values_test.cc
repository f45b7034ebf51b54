#include "planner/scripts/values.h"

#include <doctest/doctest.h>

using namespace vramplan;

namespace {

TEST_CASE("values go into words") {
  CHECK(WithValues("--batch={batch},{seq},{other}", {{"batch", "{seq}"}, {"seq", "8"}}) == "--batch=8,8,{other}");
  CHECK(WithValues("plain", {{"batch", "1"}}) == "plain");
  CHECK(HasPlaceholder({"python", "--b={batch}"}, "batch"));
  CHECK(!HasPlaceholder({"python", "batch"}, "batch"));
}

TEST_CASE("a key of a configuration is replaced, and nothing else") {
  constexpr const char* kYaml =
      "# batch_size: 1\n"
      "model:\n"
      "  name: unet\n"
      "  batch_size: 2\n"
      "data:\n"
      "  'batch_size':  8   # samples\n"
      "  path: http://x/y\n"
      "  sizes:\n"
      "    - batch_size: 3\n"
      "last: \"a b\"\n";
  struct Row {
    const char* file;
    std::string text, key, value, expected;  // or the error
  };
  std::string yaml = kYaml;
  std::string changed = yaml;
  changed.replace(changed.find("8   #"), 1, "64");
  std::string last = yaml;
  last.replace(last.find("\"a b\""), 5, "7");
  const Row rows[] = {
      {"c.yaml", yaml, "data.batch_size", "64", changed},
      {"c.yml", yaml, "last", "7", last},
      {"c.yaml", yaml, "batch_size", "64", "c.yaml: has no key 'batch_size'"},
      {"c.yaml", yaml, "data", "64", "c.yaml: key 'data' has no plain value on its line"},
      {"c.yaml", "a: 1\na: 2\n", "a", "3", "c.yaml: has key 'a' 2 times"},
      {"c.json", R"({"a": {"b":  1, "c": "x"}, "d": [2]})", "a.b", "5", R"({"a": {"b":  5, "c": "x"}, "d": [2]})"},
      {"c.json", R"({"d": [{"a": 1}, "}\""], "b": {"a": 2}, "a" : 1e-5
})",
       "a", "8", R"({"d": [{"a": 1}, "}\""], "b": {"a": 2}, "a" : 8
})"},
      {"c.json", R"({"a": "auto"})", "a", "fp16", R"({"a": "fp16"})"},
      {"c.json", R"({"a": 1})", "b", "5", "c.json: has no key 'b'"},
      {"c.json", R"({"a": 1})", "a.b", "5", "c.json: has no key 'b'"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.key);
    const Result<std::string> got = WithKey(row.file, row.text, row.key, row.value);
    CHECK((got.ok() ? *got : got.error().subject + ": " + got.error().text) == row.expected);
  }
}

}  // namespace
