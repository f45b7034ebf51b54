// Judge: prediction and observation in, verdict out.
#include "planner/calibration/validation.h"

#include <doctest/doctest.h>

#include <functional>

using namespace vramplan;

namespace {

Prediction Predicted() {
  Prediction prediction;
  prediction.batch = 38;
  prediction.peak.peak = {Bytes::GiB(12), Bytes::GiB(13), Bytes::GiB(14)};
  prediction.context = {Bytes::MiB(200), Bytes::MiB(350), Bytes::MiB(450), "by generation"};
  prediction.fits = {true, true, true};
  prediction.largest = {39, 38, 37};
  return prediction;
}

Observation Seen() {
  Observation seen;
  seen.run.batch = 38;
  seen.run.peak.peak = Predicted().peak.peak;
  seen.inside = seen.outside = Bytes::GiB(14) + Bytes::MiB(300);
  seen.found = {.largest = 38, .failed = 39, .tried = {39}};
  seen.largest_predicted = 38;
  return seen;
}

void Full(CardTry* tried, Refusal::Cause cause) {
  tried->end = CardTry::End::kFull;
  tried->at = Bottleneck{tried->batch, 2, Phase::kBackward, "/conv", "gradient of x", Bytes::MiB(100)};
  tried->refusal = Refusal{cause, Bytes::MiB(100), Bytes::MiB(60), Bytes()};
}

TEST_CASE("judge: what agrees, what differs, what cannot be said") {
  struct Row {
    const char* what;
    std::function<void(Prediction*, Observation*)> change;
    Agreement agreement;
    std::string reason;
  };
  const Row rows[] = {
      {"as predicted", [](Prediction*, Observation*) {}, Agreement::kAgrees, ""},
      {"less context than any framework", [](Prediction*, Observation* s) { s->inside = Bytes::GiB(14); },
       Agreement::kAgrees, ""},
      {"more than the band", [](Prediction*, Observation* s) { s->outside = Bytes::GiB(15); }, Agreement::kDiffers,
       "seen from outside it took 15.00 GiB, at most 14.44 GiB was predicted"},
      {"fails where it surely fits", [](Prediction*, Observation* s) { Full(&s->run, Refusal::Cause::kFragmented); },
       Agreement::kDiffers,
       "it was predicted to fit: batch 38 fails in the backward of step 2: 100.00 MiB for gradient of x, at /conv: a "
       "segment of 100.00 MiB, and 60.00 MiB is free, but not in one piece"},
      {"fails where it was tight",
       [](Prediction* f, Observation* s) {
         f->fits.high = false;
         Full(&s->run, Refusal::Cause::kCard);
         s->found = {.largest = 37, .failed = 38, .tried = {37}};
       },
       Agreement::kAgrees, ""},
      {"runs where it cannot",
       [](Prediction* f, Observation*) {
         f->fits = {false, false, false};
       },
       Agreement::kDiffers, "batch 38 runs, though it was predicted not to fit"},
      {"another largest batch",
       [](Prediction*, Observation* s) {
         s->found = {.largest = 30, .failed = 31, .tried = {31, 30}};
       },
       Agreement::kDiffers, "the largest batch that runs is 30, predicted was 37 to 39"},
      {"a largest batch that the seen context explains",
       [](Prediction*, Observation* s) {
         s->found = {.largest = 40, .failed = 41, .tried = {40, 41}};
         s->largest_predicted = 40;
       },
       Agreement::kAgrees, ""},
      {"the card is lost",
       [](Prediction*, Observation* s) {
         s->error = Error{ErrorCode::kNoCard, "card", "no longer answers", ""};
       },
       Agreement::kStopped, "card: no longer answers"},
      {"a neighbour took memory",
       [](Prediction*, Observation* s) {
         Full(&s->run, Refusal::Cause::kNeighbour);
         s->disturbed = Bytes::GiB(4);
       },
       Agreement::kStopped, "other programs took 4.00 GiB of the card meanwhile, so there is nothing to compare"},
      {"a neighbour gave memory back", [](Prediction*, Observation* s) { s->disturbed = Bytes() - Bytes::GiB(1); },
       Agreement::kStopped, "other programs gave back 1.00 GiB of the card meanwhile, so there is nothing to compare"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Prediction prediction = Predicted();
    Observation seen = Seen();
    row.change(&prediction, &seen);
    const Judgement judged = Judge(prediction, seen);
    CHECK(Name(judged.agreement) == Name(row.agreement));
    CHECK(judged.reason == row.reason);
  }
}

}  // namespace
