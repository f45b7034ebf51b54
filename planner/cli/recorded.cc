#include "planner/cli/recorded.h"

#include <algorithm>
#include <set>

#include "planner/allocator/stream.h"
#include "planner/answers/recorded.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/step_alone.h"
#include "planner/picture/script_page.h"
#include "planner/report/request.h"

namespace vramplan {
namespace {

// The step stands in the record, whatever the command line says of it.
Status OnlyAboutCards(const Options& options) {
  static const std::set<std::string> kOfCards = {"gpu",      "gpu-memory", "reserve", "context", "allocator-conf",
                                                 "profile",  "format",     "verbose", "out",     "force",
                                                 "framework"};
  for (const std::string& given : options.spec.given) {
    if (kOfCards.contains(given)) continue;
    return Error{ErrorCode::kUsage, "--" + given, "the step of a recorded run is as it was recorded",
                 "leave it out, or run the script again with vramplan run"};
  }
  return Done();
}

Result<Outcome> RunRecordMatrix(const Record& record, const Options& options, const Style& style) {
  const Result<RecordMatrix> matrix = RecordMatrixOf(record, options.file, options);
  if (!matrix.ok()) return matrix.error();
  const bool any =
      std::ranges::any_of(matrix->cards, [](const auto& card) { return card.way.verdict != Verdict::kDoesNotFit; });
  const int code = any ? 0 : kExitDoesNotFit;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(*matrix)), code, Notes()};
  if (options.format == Format::kAll) {
    return Outcome{AllForms(ToJson(*matrix), PrintRecordMatrix(*matrix, style), PrintRecordMatrixPage(*matrix)), code,
                   Notes()};
  }
  if (options.format == Format::kHtml) return Outcome{PrintRecordMatrixPage(*matrix), code, Notes()};
  return Outcome{PrintRecordMatrix(*matrix, style), code, matrix->notes};
}

}  // namespace

Result<Record> ReadRecordFile(const std::string& path) {
  const Result<std::string> text = ReadStream(path);
  if (!text.ok()) return text.error();
  return ReadRecord(*text, path);
}

Result<Outcome> RunRecorded(const Options& options, const Style& style, Probe* machine) {
  if (const Status only = OnlyAboutCards(options); !only) return only.error();
  const Result<Record> record = ReadRecordFile(options.file);
  if (!record.ok()) return record.error();
  if (AsksOfMany(options.gpu)) return RunRecordMatrix(*record, options, style);
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  const RecordReport report = RecordReportOf(*record, options.file, options, **chosen, options.verb == Verb::kPlan);
  const auto fits = [](const RecordedWay& way) { return way.verdict != Verdict::kDoesNotFit; };
  const bool good = report.planned ? std::ranges::any_of(report.ways, fits) : fits(report.ways.front());
  const int code = good ? 0 : kExitDoesNotFit;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(report)), code, Notes()};
  if (options.format == Format::kRequest) {
    const std::string text = PrintRecordReport(report, kWholeLines);
    const Request request{text.substr(0, text.find('\n')), report.ways.front().band.device(), std::nullopt};
    return Outcome{PrintRequest(request), code, report.notes};
  }
  if (IsPicture(options.format)) {
    const std::string title = report.file + " on " + report.device.name;
    const ContextBand& context = report.device.context;
    std::string text =
        IsStepAlone(options.format)
            ? RecordAlone(options.format, *record, title, report.device, context, options.allocator)
            : PrintRecordPage(report, RecordPictures(*record, title, report.device, context, options.allocator));
    if (options.format == Format::kAll)
      text = AllForms(ToJson(report), PrintRecordReport(report, style), std::move(text));
    return Outcome{std::move(text), code, Notes()};
  }
  return Outcome{PrintRecordReport(report, style), code, report.notes};
}

}  // namespace vramplan
