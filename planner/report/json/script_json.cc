#include "planner/report/json/parts.h"
#include "planner/report/json/places.h"
#include "planner/report/json/schemas.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/run_answer.h"
#include "planner/report/script_growth.h"
#include "planner/report/script_holders.h"
#include "planner/report/script_next.h"
#include "planner/report/script_seen.h"

namespace vramplan {
namespace {

constexpr char kRunSchema[] = "vramplan.run/1";

const std::optional<ScriptLargest> kNoLargest;

struct RunOf {
  const ScriptReport* report;
  const std::optional<ScriptLargest>* largest = &kNoLargest;
};
RunOf OfVaried(const VariedRun& run) { return {&run.report, &run.largest}; }
struct OneRun {
  const RunAnswer* answer;
};
struct RunTable {
  const RunAnswer* answer;
};

const Recording& RecordingOf(const RunOf& of) { return of.report->recording; }

// The line of what holds the most of a card that is never full.
std::optional<HeldPart> LargestPart(const ScriptNext& next) {
  const std::vector<HeldPart> parts = PartsOf(next.moment.rows);
  return parts.empty() ? std::nullopt : std::optional(parts.front());
}

}  // namespace

template <>
struct Described<RecordedStep> {
  static constexpr const char* kName = "";
  static Fields<RecordedStep> Make() {
    return Fields<RecordedStep>()
        .Has("step", "", &RecordedStep::step)
        .All<Levels>(&RecordedStep::peak)
        .Has("left", "", &RecordedStep::after);
  }
};

template <>
struct Described<GrownLine> {
  static constexpr const char* kName = "";
  static Fields<GrownLine> Make() {
    return Fields<GrownLine>().All<CodePlace>(&GrownLine::place).Has("bytes", "", &GrownLine::each);
  }
};

template <>
struct Described<ScriptGrowth> {
  static constexpr const char* kName = "";
  static Fields<ScriptGrowth> Make() {
    return Fields<ScriptGrowth>()
        .Has("each_step", "", &ScriptGrowth::each)
        .Has("full_in_step", "null: no card was named, or the run came to that step", &ScriptGrowth::full)
        .Has("lines", "", &ScriptGrowth::lines);
  }
};

template <>
struct Described<Recording::Saved> {
  static constexpr const char* kName = "";
  static Fields<Recording::Saved> Make() {
    using S = Recording::Saved;
    return Fields<S>().Has("path", "", &S::path).Has("held", "", &S::held).All<LineOf>(&S::place, As<LineOf>);
  }
};

template <>
struct Described<Recording::Stays> {
  static constexpr const char* kName = "";
  static Fields<Recording::Stays> Make() {
    using S = Recording::Stays;
    return Fields<S>().All<LineOf>(&S::place, As<LineOf>).Has("path", "", &S::path);
  }
};

template <>
struct Described<HeldPart> {
  static constexpr const char* kName = "";
  static Fields<HeldPart> Make() {
    return Fields<HeldPart>()
        .Has("kind", "", &HeldPart::kind)
        .Has("bytes", "", &HeldPart::bytes)
        .All<LineOf>([](const HeldPart& part) { return LineOf{&part.lines.front().place}; });
  }
};

template <>
struct Described<ScriptNext> {
  static constexpr const char* kName = "";
  static Fields<ScriptNext> Make() {
    return Fields<ScriptNext>()
        .Has("needs", "", &ScriptNext::needs)
        .Has("needs_high", "", &ScriptNext::high)
        .Has("steps", "", &ScriptNext::steps)
        .Has("largest_part", "", LargestPart)
        .Has("smallest_card", "", &ScriptNext::smallest);
  }
};

template <>
struct Described<ScriptProcess> {
  static constexpr const char* kName = "";
  static Fields<ScriptProcess> Make() {
    using P = ScriptProcess;
    return Fields<P>()
        .All<Levels>(&P::peak)
        .Has("pid", "", &P::pid)
        .Has("rank", "", &P::rank)
        .Has("ranks", "", &P::ranks)
        .Has("card", "", &P::card)
        .Has("steps", "", &P::steps)
        .Has("categories", "", Where(&P::replayed, As<CategoriesOf>));
  }
};

template <>
struct Described<CardLog::Together> {
  static constexpr const char* kName = "";
  static Fields<CardLog::Together> Make() {
    using T = CardLog::Together;
    return Fields<T>().Has("processes", "", &T::contexts).Has("held", "", &T::bytes);
  }
};

template <>
struct Described<ScriptTry> {
  static constexpr const char* kName = "";
  static Fields<ScriptTry> Make() {
    return Fields<ScriptTry>()
        .Has("value", "", &ScriptTry::value)
        .Has("fits", "", &ScriptTry::fits)
        .All<Levels>(&ScriptTry::peak);
  }
};

template <>
struct Described<ScriptLargest> {
  static constexpr const char* kName = "";
  static Fields<ScriptLargest> Make() {
    return Fields<ScriptLargest>()
        .Has("name", "", &ScriptLargest::name)
        .Has("largest", "", &ScriptLargest::largest)
        .Has("first_failing", "", &ScriptLargest::first_failing)
        .Has("laws", "", [](const ScriptLargest& largest) { return LawsOf(largest); })
        .Has("tried", "", &ScriptLargest::tried);
  }
};

template <>
struct Described<ByValue> {
  static constexpr const char* kName = "";
  static Fields<ByValue> Make() {
    return Fields<ByValue>()
        .All<CodePlace>(&ByValue::place)
        .Has("what", "", &ByValue::what)
        .Has("times", "", &ByValue::times);
  }
};

template <>
struct Described<RunOf> {
  static constexpr const char* kName = "run";
  static Fields<RunOf> Make() {
    using R = RunOf;
    const auto refused = [](const R& of) { return of.report->oom.has_value(); };
    return Fields<R>()
        .Has("schema", kRunSchema, [](const R&) { return std::string_view(kRunSchema); })
        .Has("command", "", &R::report, &ScriptReport::command)
        .Has("exit", "of the command; null: a signal ended it", &R::report, &ScriptReport::exit_code)
        .Has("ended_by", "", RecordingOf, &Recording::end)
        .Has("framework", "", [](const R& of) { return "pytorch " + RecordingOf(of).torch; })
        .Group("gpu", "null: none was named, and the card is never full",
               Fields<R>()
                   .Has("name", "", &R::report, &ScriptReport::device, &Device::name)
                   .Has("usable", "", &R::report, &ScriptReport::device, &Device::usable)
                   .Has("capability", "", &R::report, &ScriptReport::capability)
                   .Has("available", "", &R::report, &ScriptReport::device, &Device::available),
               [](const R& of) { return of.report->card_given; })
        .Has("verdict", "null: no card was named",
             [](const R& of) { return of.report->card_given ? std::optional(of.report->verdict) : std::nullopt; })
        .Has("on_a_larger_card", kOnALargerCard, &R::report, &ScriptReport::on_a_larger_card)
        .Has("steps", "", RecordingOf, &Recording::steps)
        .Group("peak", "",
               Fields<R>()
                   .All<Levels>(RecordingOf, &Recording::peak)
                   .Has("device", "", &R::report, &ScriptReport::band)
                   .Has("step", "", &R::report, &ScriptReport::moment, &HighMoment::step)
                   .Has("phase", "", &R::report, &ScriptReport::moment, &HighMoment::phase))
        .Has("places", "", &R::report, &ScriptReport::moment, &HighMoment::rows)
        .Has("growth", "what is left on the card more after each step", &R::report, GrowthOf)
        .Group("seen", "",
               Fields<R>()
                   .Has("evaluation", "whether one ran; null: nobody can know", RecordingOf, Evaluated)
                   .Has("saved", "checkpoints, which hold zeros here; held: not written, because a file has the name",
                        RecordingOf, &Recording::saved)
                   .Has("stays", "files that the script removed or renamed, which were there before the run and stay",
                        RecordingOf, &Recording::stays)
                   .Has("waiting", "where optimizers were made that never stepped",
                        [](const R& of) {
                          std::vector<LineOf> lines;
                          for (const CodePlace& place : RecordingOf(of).waiting) lines.push_back({&place});
                          return lines;
                        }))
        .Group("oom", "the request that ended it; null: it did not run out of memory",
               Fields<R>()
                   .Has("asked", "", &R::report, &ScriptReport::oom, &RecordedRefusal::asked)
                   .Has("free", "", &R::report, &ScriptReport::oom, &RecordedRefusal::free)
                   .Has("held", "", &R::report, &ScriptReport::oom, &RecordedRefusal::held)
                   .Has("place", "", &R::report, &ScriptReport::oom, &RecordedRefusal::place)
                   .Has("step", "", &R::report, &ScriptReport::moment, &HighMoment::step)
                   .Has("phase", "", &R::report, &ScriptReport::moment, &HighMoment::phase)
                   .Has("with_gradients", "of an evaluation: it keeps what a backward would want", &R::report,
                        &ScriptReport::moment, &HighMoment::keeps_graphs)
                   .Has("largest_refused", "", &R::report, &ScriptReport::card, &CardLog::largest_refused),
               refused)
        .Has("next", "of one that ran out of memory: a second run, on a card that is never full", &R::report,
             &ScriptReport::next)
        .Has("ranks", "", &R::report, &ScriptReport::processes)
        .Has("together", "what several processes held of one card at once, beside a context each", &R::report,
             &ScriptReport::together)
        .Has(
            "largest", "of --largest", [](const R& of) -> const auto& { return *of.largest; })
        .Has("uncovered", "", &R::report, &ScriptReport::card, &CardLog::uncovered)
        .Has("value_dependent", "", RecordingOf, &Recording::by_value)
        .Has("notes", "", &R::report, &ScriptReport::notes);
  }
};

template <>
struct Described<RealRun> {
  static constexpr const char* kName = "";
  static Fields<RealRun> Make() {
    return Fields<RealRun>().Has("card", "", &RealRun::card).Has("run", "", &RealRun::report, As<RunOf>);
  }
};

template <>
struct Described<ScriptTried> {
  static constexpr const char* kName = "";
  static Fields<ScriptTried> Make() {
    return Fields<ScriptTried>()
        .Has("change", "", &ScriptTried::change)
        .Has("changed", "", &ScriptTried::changed)
        .Has("run", "", Where(&ScriptTried::report, As<RunOf>));
  }
};

template <>
struct Described<VariedRun> {
  static constexpr const char* kName = "";
  static Fields<VariedRun> Make() {
    return Fields<VariedRun>().Has("values", "", &VariedRun::values).Has("run", "", OfVaried);
  }
};

template <>
struct Described<OneRun> {
  static constexpr const char* kName = "one";
  static Fields<OneRun> Make() {
    return Fields<OneRun>()
        .All<RunOf>(&OneRun::answer, &RunAnswer::first, OfVaried)
        .May("real", "the same command on a card that is there", &OneRun::answer, &RunAnswer::real)
        .May("tried", "the command with changes", &OneRun::answer, &RunAnswer::tried)
        .May("advice", "of --try: which change to make", [](const OneRun& of) {
          const RunAnswer& answer = *of.answer;
          return answer.tried ? std::optional(TriedAdvice(*answer.tried, answer.first().report)) : std::nullopt;
        });
  }
};

template <>
struct Described<RunTable> {
  static constexpr const char* kName = "table";
  static Fields<RunTable> Make() {
    return Fields<RunTable>()
        .Has("schema", kRunSchema, [](const RunTable&) { return std::string_view(kRunSchema); })
        .Has("vary", "", &RunTable::answer, &RunAnswer::runs)
        .Has("laws", "", [](const RunTable& of) { return LawsOf(of.answer->runs); });
  }
};

Json ToJson(const RunAnswer& answer) { return answer.is_table ? JsonOf(RunTable{&answer}) : JsonOf(OneRun{&answer}); }

Json RunSchema() {
  SchemaParts parts;
  Json::Items kinds = {JsonType<OneRun>::Schema(&parts), JsonType<RunTable>::Schema(&parts)};
  return EitherSchema(kRunSchema, "what a script took on a pretend card", kinds, parts);
}

}  // namespace vramplan
