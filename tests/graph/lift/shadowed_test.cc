// Order is meaning in the tables of forms: the first row that matches is taken. A row whose every instance a row before
// it takes, without a condition that could refuse, is never reached.
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/base/text.h"
#include "graph/lift/any_export/decomposed.h"
#include "graph/lift/match/source.h"
#include "tests/support/form_instance.h"

namespace vramplan {
namespace {

using testing::FormInstance;
using testing::InstancesOf;

bool Matches(const std::string& form, const FormInstance& instance) {
  Match match;
  return Form(form).Matches(instance, instance.root(), &match);
}

// Which of `rows`, each a form and whether it has a condition, stand in the shadow of those before.
struct FormRow {
  std::string form;
  bool has_condition;
  Exporter exporter = Exporter::kAny;
};
std::vector<std::string> Shadowed(const std::vector<FormRow>& rows, bool of_layers) {
  std::vector<std::string> shadowed;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<FormInstance> instances = InstancesOf(rows[i].form, of_layers);
    const auto is_taken = [&](const FormInstance& instance) {
      return std::any_of(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(i), [&](const FormRow& before) {
        const bool stands_in_its_way = before.exporter == Exporter::kAny || before.exporter == rows[i].exporter;
        return !before.has_condition && stands_in_its_way && Matches(before.form, instance);
      });
    };
    if (std::ranges::all_of(instances, is_taken)) shadowed.push_back(rows[i].form);
  }
  return shadowed;
}

TEST_CASE("rows: an instance of a form is what the form matches, in each of its alternatives") {
  std::vector<std::string> forms;
  for (const PatternRow& row : AllPatterns())
    if (!row.form.empty()) forms.push_back(row.form);
  REQUIRE(forms.size() > 40);
  for (const std::string& form : forms)
    for (const FormInstance& instance : InstancesOf(form, false)) CHECK_MESSAGE(Matches(form, instance), form);
  for (const DecomposedTable* table : {&DecomposedCalls(), &DecomposedLosses(), &DecomposedWeightNorms()}) {
    REQUIRE(!table->rows().empty());
    for (const DecomposedRow& row : table->rows())
      for (const FormInstance& instance : InstancesOf(row.form, true))
        CHECK_MESSAGE(Matches(row.form, instance), row.form);
  }
  CHECK(InstancesOf("Mul(x, (Sigmoid|Tanh(x) | Erf(x)))", false).size() == 3);
}

TEST_CASE("rows: a wider one in front of a narrower one is found") {
  const std::vector<FormRow> wide_first = {{"Mul(x, gate)", false}, {"Mul(x, Sigmoid(x))", false}};
  CHECK(Shadowed(wide_first, false) == std::vector<std::string>{"Mul(x, Sigmoid(x))"});
  CHECK(Shadowed({wide_first[1], wide_first[0]}, false).empty());
  CHECK(Shadowed({{"Mul(x, gate)", true}, wide_first[1]}, false).empty());
  CHECK(Shadowed({{"Mul(x, Tanh(x))", false}, {"Mul(x, (Tanh(x) | Erf(x)))", false}}, false).empty());
}

TEST_CASE("rows: none of the tables of forms stands in the shadow of another") {
  std::vector<FormRow> nodes;
  for (const PatternRow& row : AllPatterns())
    if (!row.form.empty()) nodes.push_back({row.form, row.has_condition});
  CHECK(Shadowed(nodes, false) == std::vector<std::string>{});
  for (const DecomposedTable* table : {&DecomposedCalls(), &DecomposedLosses(), &DecomposedWeightNorms()}) {
    std::vector<FormRow> rows;
    for (const DecomposedRow& row : table->rows()) rows.push_back({row.form, row.finish != nullptr, row.exporter});
    CHECK(Shadowed(rows, true) == std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace vramplan
