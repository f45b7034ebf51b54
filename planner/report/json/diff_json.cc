#include "planner/report/diff.h"
#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"

namespace vramplan {
namespace {

// A row whose name is that of the member.
struct ChangeOf {
  DiffRow row;
};

auto PeakOf(size_t level) {
  return [level](const Diff& diff) { return ChangeOf{PeakRows(diff)[level]}; };
}

}  // namespace

template <>
struct Described<ChangeOf> {
  static constexpr const char* kName = "change";
  static Fields<ChangeOf> Make() {
    using C = ChangeOf;
    return Fields<C>()
        .Has("old", "", &C::row, &DiffRow::before)
        .Has("new", "", &C::row, &DiffRow::after)
        .Has("change", "", &C::row, &DiffRow::change);
  }
};

template <>
struct Described<DiffRow> {
  static constexpr const char* kName = "row";
  static Fields<DiffRow> Make() {
    return Fields<DiffRow>().Has("name", "", &DiffRow::name).All<ChangeOf>([](const DiffRow& row) {
      return ChangeOf{row};
    });
  }
};

template <>
struct Described<DiffSide> {
  static constexpr const char* kName = "side";
  static Fields<DiffSide> Make() {
    using S = DiffSide;
    return Fields<S>()
        .Has("file", "", &S::file)
        .Has("answer", "its schema", &S::schema)
        .Has("phase", "where the peak is", &S::phase)
        .Has("node", "", &S::node)
        .Has("options", "", &S::options);
  }
};

template <>
struct Described<OptionChange> {
  static constexpr const char* kName = "";
  static Fields<OptionChange> Make() {
    using C = OptionChange;
    return Fields<C>()
        .Has("old", "empty: only the other has it", &C::before)
        .Has("new", "empty: only the other has it", &C::after);
  }
};

template <>
struct Described<GrowthBudget> {
  static constexpr const char* kName = "";
  static Fields<GrowthBudget> Make() {
    using B = GrowthBudget;
    return Fields<B>().Has("percent", "", &B::percent).Has("bytes", "", [](const B& budget) {
      return budget.percent ? std::nullopt : std::optional(budget.bytes);
    });
  }
};

template <>
struct Described<Diff> {
  static constexpr const char *kName = "", *kAnswer = "diff", *kTitle = "two answers beside each other";
  static Fields<Diff> Make() {
    return Fields<Diff>()
        .Has("old", "", &Diff::before)
        .Has("new", "", &Diff::after)
        .Has("budget", "", &Diff::budget)
        .Has("within", "true without a budget", &Diff::within)
        .Group("peak", "",
               Fields<Diff>()
                   .Has("requested", "", PeakOf(0))
                   .Has("allocated", "", PeakOf(1))
                   .Has("reserved", "", PeakOf(2))
                   .Has("device", "", PeakOf(3)))
        .Has("categories", "at the peak, those that changed", CategoryRows)
        .Has("modules", "by path, those that changed", ModuleRows)
        .Has("options", "of the answers, those that changed", OptionChanges)
        .Has("notes", "", &Diff::notes);
  }
};

Json ToJson(const Diff& diff) { return AnswerJson(diff); }
Json DiffSchema() { return AnswerSchema<Diff>(); }

}  // namespace vramplan
