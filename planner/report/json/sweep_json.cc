#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/sweep.h"

namespace vramplan {
namespace {

struct SweptOf {
  const SweepReport* report;
  const SweepRow* row;
};

// What there was an answer for.
const std::optional<Levels>& Answered(const SweptOf& of) { return of.row->levels; }

}  // namespace

template <>
struct Described<SweptOf> {
  static constexpr const char* kName = "";
  static Fields<SweptOf> Make() {
    return Fields<SweptOf>()
        .Has("values", "by axis",
             [](const SweptOf& of) {
               std::vector<std::pair<std::string, std::string>> values;
               for (size_t i = 0; i < of.row->values.size(); ++i)
                 values.emplace_back(of.report->axes[i], of.row->values[i]);
               return values;
             })
        .May("requested", "", Where(Answered, &Levels::requested))
        .May("allocated", "", Where(Answered, &Levels::allocated))
        .May("reserved", "", Where(Answered, &Levels::reserved))
        .May("device", "how sure the bytes on the device are",
             [](const SweptOf& of) { return of.row->levels ? std::optional(of.row->band) : std::nullopt; })
        .May("failure", "why there is no answer",
             [](const SweptOf& of) { return of.row->levels ? std::nullopt : std::optional(of.row->failure); })
        .May("verdict", "fits, tight or does-not-fit, where a card is named", &SweptOf::row, &SweepRow::verdict)
        .May("on_a_larger_card", kOnALargerCard,
             [](const SweptOf& of) {
               if (!of.row->verdict) return std::optional<Bytes>();
               return std::optional(of.row->band.device().likely + (of.row->roomy - of.row->levels->reserved));
             })
        .May("smallest_card", "of --gpu all; null: none holds it", [](const SweptOf& of) {
          using Name = std::optional<std::string>;
          const Name& card = of.row->card;
          if (!card) return std::optional<Name>();
          return std::optional<Name>(card->empty() ? Name() : card);
        });
  }
};

template <>
struct Described<SweepReport> {
  static constexpr const char *kName = "", *kAnswer = "sweep", *kTitle = "many answers, and how the memory grows";
  static Fields<SweepReport> Make() {
    return Fields<SweepReport>()
        .Has("model", "", &SweepReport::head, &AnswerHead::model)
        .Has("spec", "of the first answer", &SweepReport::head, &AnswerHead::spec)
        .Has("axes", "", &SweepReport::axes)
        .Has("laws", "along each axis of whole numbers", &SweepReport::laws)
        .Has("rows", "",
             [](const SweepReport& of) {
               std::vector<SweptOf> rows;
               for (const SweepRow& row : of.rows) rows.push_back({&of, &row});
               return rows;
             })
        .Has("notes", "", &SweepReport::notes);
  }
};

Json ToJson(const SweepReport& report) { return AnswerJson(report); }
Json SweepSchema() { return AnswerSchema<SweepReport>(); }

}  // namespace vramplan
