#include "planner/report/json/parts.h"
#include "planner/report/json/places.h"
#include "planner/report/json/schemas.h"
#include "planner/report/record.h"

namespace vramplan {
namespace {

struct RecordLevels {
  const RecordedWay* way;
};
struct CardOfRecord {
  std::string id;
  const Device* device;
};
// Of one card, or of many.
struct RecordAnswer {
  const RecordReport* one = nullptr;
  const RecordMatrix* many = nullptr;
};
template <typename... Path>
auto OfOne(Path... path) {
  return Where(&RecordAnswer::one, path...);
}

}  // namespace

template <>
struct Described<RecordLevels> {
  static constexpr const char* kName = "record_levels";
  static Fields<RecordLevels> Make() {
    using L = RecordLevels;
    return Fields<L>()
        .All<Levels>(&L::way, &RecordedWay::peak, &Peak::peak)
        .Has("device", "how sure the bytes on the device are", &L::way, &RecordedWay::band);
  }
};

template <>
struct Described<RecordedWay> {
  static constexpr const char* kName = "";
  static Fields<RecordedWay> Make() {
    return Fields<RecordedWay>()
        .Has("change", "", &RecordedWay::change)
        .Has("how", "what to type or to write; empty: nothing", &RecordedWay::how)
        .Has("verdict", "fits, tight or does-not-fit", &RecordedWay::verdict)
        .Has("peak", "", As<RecordLevels>)
        .Has("on_a_larger_card", kOnALargerCard, &RecordedWay::OnALargerCard);
  }
};

template <>
struct Described<CardOfRecord> {
  static constexpr const char* kName = "card";
  static Fields<CardOfRecord> Make() {
    using C = CardOfRecord;
    return Fields<C>()
        .Has("id", "of the catalogue; empty for a bare size", &C::id)
        .Has("name", "", &C::device, &Device::name)
        .Has("usable", "that a program can get", &C::device, &Device::usable)
        .Has("available", "less what is held and to be left free", &C::device, &Device::available);
  }
};

template <>
struct Described<RecordMoment> {
  static constexpr const char* kName = "moment";
  static Fields<RecordMoment> Make() {
    return Fields<RecordMoment>()
        .Has("step", "0: before the first", &RecordMoment::step)
        .Has("phase", "", &RecordMoment::phase)
        .Has("asked", "", &RecordMoment::asked)
        .Has("place", "the line of the code; empty: not known", &RecordMoment::place)
        .Has("module", "empty: not known", &RecordMoment::module);
  }
};

template <>
struct Described<RecordMatrix::Row> {
  static constexpr const char* kName = "";
  static Fields<RecordMatrix::Row> Make() {
    using R = RecordMatrix::Row;
    return Fields<R>()
        .Has("gpu", "",
             [](const R& row) {
               return CardOfRecord{row.id, &row.device};
             })
        .Has("verdict", "", &R::way, &RecordedWay::verdict)
        .Has("peak", "", &R::way, As<RecordLevels>);
  }
};

template <>
struct Described<RecordAnswer> {
  static constexpr const char *kName = "", *kAnswer = "record", *kTitle = "whether a recorded run fits a card";
  static Fields<RecordAnswer> Make() {
    using R = RecordReport;
    const auto first = [](const R& of) -> const auto& { return of.ways.front(); };
    return Fields<RecordAnswer>()
        .Has("record", "its file",
             [](const RecordAnswer& of) { return of.one != nullptr ? of.one->file : of.many->file; })
        .May("steps", "", OfOne(&R::steps))
        .May("gpu", "", OfOne([](const R& of) {
               return CardOfRecord{of.id, &of.device};
             }))
        .May("verdict", "as recorded: fits, tight or does-not-fit", OfOne(first, &RecordedWay::verdict))
        .May("ways", "the first: as recorded", OfOne(&R::ways))
        .May("categories", "bytes at the peak by what they are", OfOne(first, &RecordedWay::peak, As<CategoriesOf>))
        .May("peak", "", OfOne(&R::peak))
        .May("places", "the lines of the code that hold the peak", OfOne(&R::holders))
        .May("refused", "what the card refuses; null: nothing", OfOne(&R::refused, OrNull))
        .May("smallest_card", "that holds it as recorded", OfOne(&R::smallest_card, OrNull))
        .May("cards", "of --gpu all", Where(&RecordAnswer::many, &RecordMatrix::cards))
        .Has("notes", "", [](const RecordAnswer& of) { return of.one != nullptr ? of.one->notes : of.many->notes; });
  }
};

Json ToJson(const RecordReport& report) { return AnswerJson(RecordAnswer{.one = &report}); }
Json ToJson(const RecordMatrix& matrix) { return AnswerJson(RecordAnswer{.many = &matrix}); }
Json RecordSchema() { return AnswerSchema<RecordAnswer>(); }

}  // namespace vramplan
