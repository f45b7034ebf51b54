// One answer: at the border of the card every verb says the same bytes and the same verdict.
#include "tests/accuracy/one_answer.h"

#include <doctest/doctest.h>

#include <string>

namespace vramplan {
namespace {

using namespace testing;

TEST_CASE("one answer: fit, estimate and sweep give the same bytes and verdict at every batch around the border") {
  for (const AskedModel& model : Models(1)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    std::string list;
    for (const int64_t batch : border.batches()) list += (list.empty() ? "" : ",") + std::to_string(batch);
    const Json& sweep = Answer(Asked("sweep", model, "--over batch=" + list));
    size_t row = 0;
    for (const int64_t batch : border.batches()) {
      CAPTURE(batch);
      const std::string at = "--batch " + std::to_string(batch);
      const Json &fit = Answer(Asked("fit", model, at)), &estimate = Answer(Asked("estimate", model, at));
      const BatchAnswer asked = AnswerOf(fit, At(fit, "peak"));
      CHECK(AnswerOf(estimate, At(estimate, "peak")) == asked);
      const Json& swept = Items(At(sweep, "rows"))[row++];
      CHECK(AnswerOf(swept, swept) == asked);
      CHECK(asked.likely <= asked.larger);
      CHECK(asked.low <= asked.likely);
      CHECK(asked.likely <= asked.high);
    }
  }
}

TEST_CASE(
    "one answer: the safe batch is the same whatever batch was asked, and what fits has its high end on the card") {
  for (const AskedModel& model : Models(1)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    CHECK(border.safe <= border.largest);
    for (const int64_t batch : border.batches()) {
      CAPTURE(batch);
      const Json& fit = Answer(Asked("fit", model, "--batch " + std::to_string(batch)));
      const Json& gpu = At(fit, "gpu");
      const int64_t usable = Whole(gpu, "usable_bytes") - Whole(gpu, "reserve_bytes") - Whole(gpu, "held_bytes");
      const std::string verdict = Text(fit, "verdict");
      if (border.safe > 0) CHECK(Whole(fit, "safe_batch") == border.safe);
      CHECK(Whole(fit, "largest_batch") == border.largest);
      CHECK(verdict == (batch <= border.safe ? "fits" : batch <= border.largest ? "tight" : "does-not-fit"));
      if (verdict == "fits") CHECK(Whole(At(fit, "device"), "high") <= usable);
      if (verdict != "does-not-fit") CHECK(Whole(At(fit, "device"), "likely") <= usable);
    }
  }
}

TEST_CASE("one answer: the text says the bytes and the verdict of the JSON") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    for (const int64_t batch : border.batches()) {
      CAPTURE(batch);
      const std::string at = "--batch " + std::to_string(batch);
      const Json& fit = Answer(Asked("fit", model, at));
      const std::string verdict = Text(fit, "verdict");
      const std::string likely = ToString(Bytes::Of(Whole(At(fit, "device"), "likely")));
      const std::string first = Do(Asked("fit", model, at)).FirstLine();
      CHECK(first.find(": needs " + likely + " of ") != std::string::npos);
      CHECK(first.find(Spoken(verdict)) != std::string::npos);
      const std::string estimated = Do(Asked("estimate", model, at)).FirstLine();
      CHECK(estimated.find(": needs " + likely + " of ") != std::string::npos);
      CHECK(estimated.find(Spoken(verdict)) != std::string::npos);
      const int64_t larger = Whole(fit, "on_a_larger_card");
      const bool gives_back = verdict != "does-not-fit" && larger > Whole(At(fit, "device"), "likely");
      CHECK(Says(Do(Asked("fit", model, at)).out, "on a larger card it would take " + ToString(Bytes::Of(larger))) ==
            gives_back);
      const Said page = Do(Asked("fit", model, at + " --format html"));
      CHECK(page.out.find(likely) != std::string::npos);
      CHECK(page.exit_code == (verdict == "does-not-fit" ? 3 : 0));
    }
  }
}

TEST_CASE("one answer: a card of --gpu all, of several, and alone") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const Json& alone = Answer(Asked("fit", model, "--batch 8"));
    const Json& all = Answer("fit " + PathOf(model) + " " + model.options + " --gpu all --batch 8");
    bool found = false;
    for (const Json& card : Items(At(all, "cards"))) {
      if (Text(card, "id") != model.gpu) continue;
      found = true;
      CHECK(Text(card, "verdict") == Text(alone, "verdict"));
      CHECK(Whole(card, "largest_batch") == Whole(alone, "largest_batch"));
      CHECK(Whole(card, "safe_batch") == Whole(alone, "safe_batch"));
      CHECK(Whole(card, "peak_device") == Whole(At(alone, "device"), "likely"));
      CHECK(Whole(card, "peak_device_high") == Whole(At(alone, "device"), "high"));
    }
    CHECK(found);
  }
}

TEST_CASE("one answer: a plan that changes nothing has the verdict of fit, and holds what stands above it together") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    for (const int64_t batch : {std::max<int64_t>(1, border.safe), border.largest}) {
      CAPTURE(batch);
      // Fused adam has no temporaries of its own: asked alike.
      const std::string at = "--batch " + std::to_string(batch) + " --precision fp32 --optimizer-impl for-loop";
      const Json &fit = Answer(Asked("fit", model, at)), &plan = Answer(Asked("plan", model, at));
      const Json& chosen = At(plan, "chosen");
      if (IsNull(chosen) || !Items(At(chosen, "checkpoint")).empty()) continue;
      CHECK(Text(plan, "verdict") == Text(fit, "verdict"));
      CHECK(Whole(At(plan, "device"), "likely") == Whole(At(fit, "device"), "likely"));
      CHECK(Whole(At(plan, "device"), "high") == Whole(At(fit, "device"), "high"));
      CHECK(Whole(plan, "safe_batch") == Whole(fit, "safe_batch"));
    }
  }
}

TEST_CASE("one answer: what can only lower the peak stands below the table, and is no doubt above it") {
  const Said plan = Do("plan MODELS/unet.onnx --gpu t4 --batch 64 --verbose");
  CHECK_FALSE(Says(plan.out, "together they put"));
  CHECK(Says(plan.out, "requested, if this is not so: every parameter is trained"));
  const size_t table = plan.out.find("  plan "), suggestion = plan.out.find("if this is not so");
  CHECK(table < suggestion);
}

}  // namespace
}  // namespace vramplan
