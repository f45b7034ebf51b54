// One answer: tables, pages, CSV, several cards, a trace, an out-of-memory message and a record say what JSON says of the
// same question.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/accuracy/one_answer.h"
#include "tests/planner/cli/script_support.h"

namespace vramplan {
namespace {

using namespace testing;

std::string With(const char* what, int64_t batch) { return std::string(what) + " " + std::to_string(batch); }
std::string Likely(const Json& answer) { return ToString(Bytes::Of(Whole(At(answer, "device"), "likely"))); }

// The words between blanks of the line that begins so; {} without one.
std::vector<std::string> Cells(const std::string& text, const std::string& begins) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> cells;
    for (std::string word; words >> word;) cells.push_back(word);
    if (!cells.empty() && cells.front() == begins) return cells;
  }
  return {};
}
bool HasCells(const std::vector<std::string>& cells, const std::string& said) {
  std::istringstream words(said);
  std::vector<std::string> wanted;
  for (std::string word; words >> word;) wanted.push_back(word);
  return std::ranges::search(cells, wanted).begin() != cells.end();
}

const Json* CardOf(const Json& answer, const std::string& id) {
  for (const Json& card : Items(At(answer, "cards"))) {
    if (Text(card, "id") == id) return &card;
  }
  return nullptr;
}
bool IsHeld(const Json& card) { return Text(card, "verdict") != "does-not-fit"; }

TEST_CASE("one answer: cards that are named together, and each alone") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const int64_t batch = std::max<int64_t>(1, BorderOf(model).largest);
    const std::string line =
        "fit " + PathOf(model) + " " + model.options + With(" --batch", batch) + " --gpu " + model.gpu;
    const Json& several = Answer(line + ",gtx-1650,l4");
    const Said text = Do(line + ",gtx-1650,l4");
    for (const std::string& id : {std::string(model.gpu), std::string("gtx-1650"), std::string("l4")}) {
      CAPTURE(id);
      AskedModel other = model;
      other.gpu = id.c_str();
      const Json& alone = Answer(Asked("fit", other, With("--batch", batch)));
      const Json* card = CardOf(several, id);
      REQUIRE(card != nullptr);
      CHECK(Text(*card, "verdict") == Text(alone, "verdict"));
      CHECK(Whole(*card, "peak_device") == Whole(At(alone, "device"), "likely"));
      CHECK(Whole(*card, "peak_device_high") == Whole(At(alone, "device"), "high"));
      CHECK(Whole(*card, "largest_batch") == Whole(alone, "largest_batch"));
      CHECK(IsNull(At(*card, "safe_batch")) == IsNull(At(alone, "safe_batch")));
      // And the row of the table.
      const std::vector<std::string> cells = Cells(text.out, id);
      CHECK(HasCells(cells, Likely(alone) + " " + Text(alone, "verdict")));
      CHECK(cells.back() ==
            (Whole(alone, "largest_batch") == 0 ? "batch" : std::to_string(Whole(alone, "largest_batch"))));
    }
  }
}

TEST_CASE("one answer: how many cards hold it, and the smallest of them") {
  for (const AskedModel& model : Models(5)) {
    CAPTURE(model.file);
    constexpr int64_t kBatch = 8;
    const std::string line = PathOf(model) + " " + model.options + " --gpu all";
    const Json& all = Answer("fit " + line + With(" --batch", kBatch));
    const Said text = Do("fit " + line + With(" --batch", kBatch));
    const auto held = std::ranges::count_if(Items(At(all, "cards")), IsHeld);
    const auto smallest = std::ranges::find_if(Items(At(all, "cards")), IsHeld);
    REQUIRE(held > 0);
    const std::string of = std::to_string(held) + " of " + std::to_string(Items(At(all, "cards")).size());
    CHECK(text.FirstLine().find(" on " + of + " cards; the smallest is " + Text(*smallest, "name") + ": needs " +
                                ToString(Bytes::Of(Whole(*smallest, "peak_device")))) != std::string::npos);
    CHECK(text.FirstLine().ends_with("(tight)") == (Text(*smallest, "verdict") == "tight"));
    CHECK(Do("fit " + line + With(" --batch", kBatch) + " --format html").out.find("fits on " + of) !=
          std::string::npos);
    const Json& swept = Answer("sweep " + line + " --over batch=" + std::to_string(kBatch));
    CHECK(Text(Items(At(swept, "rows")).front(), "smallest_card") == Text(*smallest, "name"));
  }
}

TEST_CASE("one answer: a sweep's table and its CSV are its JSON") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    std::string list;
    for (const int64_t batch : border.batches()) list += (list.empty() ? "" : ",") + std::to_string(batch);
    const std::string line = Asked("sweep", model, "--over batch=" + list);
    const Json& json = Answer(line);
    const Said text = Do(line), csv = Do(line + " --format csv");
    size_t held = 0, tight = 0;
    for (const Json& row : Items(At(json, "rows"))) {
      const std::string batch = Text(At(row, "values"), "batch"), verdict = Text(row, "verdict");
      held += verdict != "does-not-fit";
      tight += verdict == "tight";
      CHECK(HasCells(Cells(text.out, batch), Likely(row) + " " + verdict));
      const Json& device = At(row, "device");
      std::string numbers = "\n" + batch;
      for (const int64_t bytes : {Whole(row, "requested"), Whole(row, "allocated"), Whole(row, "reserved"),
                                  Whole(device, "low"), Whole(device, "likely"), Whole(device, "high")}) {
        numbers += "," + std::to_string(bytes);
      }
      CHECK(csv.out.find(numbers + "," + verdict + ",") != std::string::npos);
    }
    const size_t asked = border.batches().size();
    const std::string count = held == 0 ? "none" : held == asked ? "all" : std::to_string(held) + " of";
    CHECK(text.FirstLine().find("; " + count) != std::string::npos);
    CHECK(text.FirstLine().ends_with(std::to_string(tight) + " of them tight") == (tight > 0));
  }
}

TEST_CASE("one answer: pages say the bytes and the verdict of their JSON, and exit codes follow it") {
  for (const AskedModel& model : Models(5)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    for (const int64_t batch : border.batches()) {
      CAPTURE(batch);
      const std::string at = With("--batch", batch);
      const Json& fit = Answer(Asked("fit", model, at));
      const std::string verdict = Text(fit, "verdict");
      const std::string badge = verdict == "does-not-fit" ? "does not fit" : verdict;
      const int fails = verdict == "does-not-fit" ? 3 : 0;
      for (const auto& [verb, options, exit_code] : {std::tuple{"fit", at, fails},
                                                     {"estimate", at, fails},
                                                     {"sweep", "--over batch=" + std::to_string(batch), 0}}) {
        CAPTURE(verb);
        const Said page = Do(Asked(verb, model, options + " --format html"));
        CHECK(page.exit_code == exit_code);
        CHECK(page.out.find(Likely(fit)) != std::string::npos);
        CHECK(page.out.find(badge) != std::string::npos);
      }
    }
    const std::string at = With("--batch", border.largest);
    const Json& plan = Answer(Asked("plan", model, at));
    const Said page = Do(Asked("plan", model, at + " --format html")), text = Do(Asked("plan", model, at));
    if (IsNull(At(plan, "chosen"))) continue;
    CHECK(page.out.find(Likely(plan)) != std::string::npos);
    CHECK(text.FirstLine().find(": needs " + Likely(plan)) != std::string::npos);
    CHECK(text.FirstLine().find(Spoken(Text(plan, "verdict"))) != std::string::npos);
  }
}

TEST_CASE("one answer: without a batch the same safe and largest one, and the size of a card instead of its name") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const Border border = BorderOf(model);
    const std::string first = Do(Asked("fit", model, "")).FirstLine();
    if (border.safe > 0 && border.safe < border.largest) {
      CHECK(first.find(": batch " + std::to_string(border.safe) + " is safe, up to " + std::to_string(border.largest) +
                       " may fit") != std::string::npos);
    }
    const Json& named = Answer(Asked("fit", model, With("--batch", border.largest)));
    const Json& gpu = At(named, "gpu");
    const Json& card = Items(At(Answer("gpus " + std::string(model.gpu)), "cards")).front();
    CHECK(Whole(card, "usable_bytes") == Whole(gpu, "usable_bytes"));
    const Json& sized = Answer("fit " + PathOf(model) + " " + model.options + With(" --batch", border.largest) +
                               " --gpu-memory " + std::to_string(Whole(gpu, "usable_bytes")) + " --capability " +
                               Text(card, "capability") + " --context " + std::to_string(Whole(gpu, "context_bytes")));
    CHECK(Whole(At(sized, "peak"), "reserved") == Whole(At(named, "peak"), "reserved"));
    CHECK(Whole(At(sized, "device"), "likely") == Whole(At(named, "device"), "likely"));
    CHECK(Whole(sized, "largest_batch") == border.largest);
  }
}

TEST_CASE("one answer: the parts sum to the whole, and a larger batch takes no less") {
  for (const AskedModel& model : Models(1)) {
    CAPTURE(model.file);
    int64_t before = 0;
    for (const int64_t batch : BorderOf(model).batches()) {
      CAPTURE(batch);
      const Json& fit = Answer(Asked("fit", model, With("--batch", batch)));
      int64_t sum = 0;
      for (const auto& [name, bytes] : std::get<Json::Members>(At(fit, "categories").value()))
        sum += std::get<int64_t>(bytes.value());
      CHECK(sum == Whole(At(fit, "peak"), "allocated"));
      CHECK(Whole(At(fit, "peak"), "device") == Whole(At(fit, "device"), "likely"));
      CHECK(Whole(fit, "on_a_larger_card") >= before);
      before = Whole(fit, "on_a_larger_card");
      const int64_t room = Whole(At(fit, "gpu"), "usable_bytes") - Whole(At(fit, "gpu"), "reserve_bytes");
      CHECK(Whole(fit, "margin_bytes") == room - Whole(At(fit, "device"), "likely"));
      CHECK(Whole(fit, "margin_bytes_high") == room - Whole(At(fit, "device"), "high"));
    }
  }
}

std::vector<std::string> CellsOf(const std::string& line) {
  std::istringstream from(line);
  std::vector<std::string> cells;
  for (std::string cell; std::getline(from, cell, ',');) cells.push_back(cell);
  return cells;
}

// Of a trace.
int64_t HighestAllocated(const std::string& csv) {
  std::istringstream lines(csv);
  int64_t highest = 0;
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);)
    highest = std::max<int64_t>(highest, std::stoll(CellsOf(line)[8]));
  return highest;
}

TEST_CASE("one answer: the trace reaches the peak, inspect has the parameters, and nothing differs from itself") {
  for (const AskedModel& model : Models(3)) {
    CAPTURE(model.file);
    const std::string at = "--batch 8";
    const Json& fit = Answer(Asked("fit", model, at));
    const Json& peak = At(fit, "peak");
    const Said trace = Do(Asked("trace", model, at + With(" --step", Whole(peak, "step"))));
    CHECK(HighestAllocated(trace.out) == Whole(peak, "allocated"));
    const Json& inspected = Answer("inspect " + PathOf(model) + " " + model.options);
    CHECK(Whole(inspected, "parameters") == Whole(At(fit, "model"), "parameters"));
    CHECK(Whole(inspected, "parameter_bytes") == Whole(At(fit, "model"), "parameter_bytes"));
    const std::string diff =
        "diff " + PathOf(model) + " " + PathOf(model) + " " + model.options + " --gpu " + model.gpu + " " + at;
    const Json& same = Answer(diff);
    const Said table = Do(diff + " --format markdown");
    for (const auto& [level, sides] : std::get<Json::Members>(At(same, "peak").value())) {
      CAPTURE(level);
      CHECK(Whole(sides, "old") == Whole(peak, level.c_str()));
      CHECK(Whole(sides, "new") == Whole(peak, level.c_str()));
      CHECK(table.out.find(ToString(Bytes::Of(Whole(peak, level.c_str())))) != std::string::npos);
    }
  }
}

// What PyTorch would print of the first batch that fit says will fail.
TEST_CASE("one answer: the message of the batch that fails leads explain back to it") {
  for (const AskedModel& model : Models(1)) {
    CAPTURE(model.file);
    const Json& fit = Answer(Asked("fit", model, ""));
    if (IsNull(At(fit, "binding"))) continue;
    const Json& binding = At(fit, "binding");
    const int64_t batch = Whole(binding, "batch");
    if (batch > 300) continue;  // two decimals of a card do not tell larger ones apart
    const std::string step = With("--batch", batch) + With(" --step", Whole(binding, "step"));
    // A block is larger than the request, by what is left of the segment at most.
    constexpr int64_t kLeft = 1 << 20;
    int64_t before = 0;
    std::istringstream events(Do(Asked("trace", model, step)).out);
    for (std::string line; before == 0 && std::getline(events, line);) {
      // Of a layer, or of an operator of the framework.
      if (!line.starts_with("alloc,") || line.find("," + Text(binding, "node")) == std::string::npos) continue;
      const std::vector<std::string> cells = CellsOf(line);
      const int64_t bytes = std::stoll(cells[2]), more = bytes - Whole(binding, "bytes");
      if (more >= 0 && more <= kLeft && cells[3] == Text(binding, "phase")) before = std::stoll(cells[8]) - bytes;
    }
    REQUIRE(before > 0);
    // PyTorch names the segment: from 10 MiB on a multiple of 2 MiB.
    constexpr int64_t kSegments = 2 << 20;
    const int64_t asked = (Whole(binding, "bytes") + kSegments - 1) / kSegments * kSegments;
    REQUIRE(asked >= 5 * kSegments);
    const Json& gpu = At(fit, "gpu");
    const auto said = [](int64_t bytes) { return ToString(Bytes::Of(bytes)); };
    const int64_t room = Whole(gpu, "usable_bytes") - Whole(gpu, "context_bytes"), cached = room - before;
    const ScratchFile message(
        "failed.txt", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " + said(asked) +
                          ". GPU 0 has a total capacity of " + said(Whole(gpu, "usable_bytes")) +
                          " of which 0 bytes is free. Including non-PyTorch memory, this process has " +
                          said(Whole(gpu, "usable_bytes")) + " memory in use. Of the allocated memory " + said(before) +
                          " is allocated by PyTorch, and " + said(cached) + " is reserved by PyTorch but unallocated.");
    const std::string line =
        "explain " + message.path() + " --model " + PathOf(model) + " " + model.options + " --gpu " + model.gpu;
    const Json& explained = At(Answer(line), "step");
    CHECK(Whole(explained, "batch") == batch);
    CHECK(Text(At(At(explained, "match"), "request"), "phase") == Text(binding, "phase"));
    CHECK(Whole(explained, "largest_batch") == Whole(fit, "largest_batch"));
    const Said text = Do(line);
    CHECK(Says(text.out, "at batch " + std::to_string(batch) + " (found from the message) makes this request in the " +
                             Text(binding, "phase")));
    CHECK(Says(text.out, "largest batch " + std::to_string(Whole(fit, "largest_batch"))));
  }
}

// A script that was run, what it wrote down, and a page of it.
TEST_CASE("one answer: a run and its record") {
  const ScratchStore store("one_answer");
  for (const char* gpu :
       {"--gpu t4", "--gpu-memory 1150MiB", "--gpu-memory 1300MiB", "--gpu-memory 1150MiB --context 350MiB"}) {
    CAPTURE(gpu);
    const std::string options = gpu;
    const ScratchFile kept("run.csv.gz");
    const Said run = Run(options + " --record " + kept.path() + " --force", {kWhole, kCard});
    const Said json = Run(options + " --format json", {kWhole, kCard});
    const Said page = Run(options + " --format html", {kWhole, kCard});
    const Result<Json> ran = ParseJson("run", json.out);
    REQUIRE(ran);
    const Said record = Do("fit " + kept.path() + " " + options);
    const Json& recorded = Answer("fit " + kept.path() + " " + options);
    const std::string verdict = Text(*ran, "verdict");
    CHECK(Text(recorded, "verdict") == verdict);
    std::string said = run.FirstLine();
    REQUIRE(said.find(Spoken(verdict)) != std::string::npos);
    said = said.substr(said.find(Spoken(verdict)));
    CHECK(Says(record.out, said.insert(said.find(": needs"), " as recorded")));
    CHECK(run.exit_code == record.exit_code);
    CHECK(page.out.find(verdict == "does-not-fit" ? "does not fit" : verdict) != std::string::npos);
  }
}

}  // namespace
}  // namespace vramplan
