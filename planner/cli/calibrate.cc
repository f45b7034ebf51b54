#include "planner/calibration/calibrate.h"

#include <algorithm>
#include <string_view>

#include "planner/answers/choose_device.h"
#include "planner/answers/prepare.h"
#include "planner/answers/profile_store.h"
#include "planner/cli/verbs.h"
#include "planner/report/calibration.h"
#include "planner/report/json/profile_json.h"

namespace vramplan {
namespace {

// At a batch between two of these the next larger one's answer is taken (spec/measured_workspaces.h).
constexpr int64_t kLargestTried = 64;

Result<std::vector<ConvolutionQuestion>> Questions(const Options& options, Capability capability, Notes* notes) {
  std::vector<ConvolutionQuestion> questions;
  if (options.model.empty()) return questions;
  const Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  notes->Append(prepared->notes);
  std::vector<int64_t> batches;
  if (prepared->head.batch_given || !prepared->head.model.has_batch) {
    batches = {prepared->head.batch};
  } else {
    for (int64_t batch = 1; batch <= kLargestTried; batch *= 2) batches.push_back(batch);
  }
  for (const int64_t batch : batches) {
    for (ConvolutionQuestion& question : ConvolutionsOf(prepared->layers, batch, capability))
      questions.push_back(std::move(question));
  }
  if (questions.empty()) {
    notes->Add(
        {"no-convolutions", Severity::kNote, options.model, "has no convolutions that cuDNN could be asked about", ""});
  }
  return questions;
}

}  // namespace

Result<Outcome> RunCalibrate(const Options& options, const Style& style, Probe* machine) {
  if (!options.gpu.empty() && !IsAuto(options.gpu)) {
    return Error{ErrorCode::kUsage, "--gpu", "calibrate measures a card of this machine: auto, or auto:1 for card 1",
                 "vramplan probe shows them"};
  }
  const Result<CardFacts> facts = PickCard(options.gpu, machine);
  if (!facts.ok()) return facts.error();
  CalibrationReport report;
  report.file = options.out;
  if (options.out.empty()) {
    const Result<std::string> store = StorePath(*facts);
    if (!store.ok()) return store.error();
    report.file = *store;
  }
  Outcome outcome;
  const Capability capability{facts->capability_major, facts->capability_minor};
  const Result<std::vector<ConvolutionQuestion>> questions = Questions(options, capability, &outcome.notes);
  if (!questions.ok()) return questions.error();
  report.said = ContextOf(capability, options.spec.framework);
  report.catalogue = CatalogueCardOf(*facts);
  report.model = options.model;
  Result<Calibration> made = Calibrate(machine, *facts, report.said, *questions, Today());
  if (!made.ok()) return made.error();
  report.made = *std::move(made);

  const std::string profile = Print(ToJson(report.made.profile));
  outcome.text = options.format == Format::kJson || options.out == "-" ? profile : PrintCalibration(report, style);
  if (options.out == "-") return outcome;
  outcome.stream = profile;
  if (options.out.empty()) outcome.store = report.file;
  return outcome;
}

}  // namespace vramplan
