// trace and replay as they are typed.
#include "planner/allocator/trace.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "planner/allocator/stream.h"
#include "tests/support/command_line.h"
#include "tests/support/expectation.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScratchFile;

const std::string kSource = VRAMPLAN_SOURCE_DIR;
const std::string kRecorded = kSource + "/tests/data/truth/events/mlp.b64.adam-foreach.csv.gz";
const std::string kFile = "trace " + kSource + "/tests/data/zoo/mlp.ts-train.onnx";
const std::string kMlp = kFile + " --batch 64 --framework pytorch@2.10";

// VRAMPLAN_GOLDEN=update writes what is said now.
void CheckGolden(const std::string& name, const std::string& text) {
  const std::string path = kSource + "/tests/golden/trace/" + name + ".txt";
  if (testing::UpdatesGolden()) std::ofstream(path) << text;
  std::ifstream file(path);
  CAPTURE(path);
  CHECK_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST_CASE("trace: CSV on stdout, notes on stderr; to a file plain or gzipped by its name") {
  const Said said = Do(kMlp);
  CHECK_EQ(said.exit_code, 0);
  CHECK_EQ(said.FirstLine(),
           "event,block,bytes,phase,module,autograd_node,operator,inner_operator,allocated_after,onnx_node");
  CHECK(said.err.starts_with("note: --loss: assumed cross-entropy"));
  CHECK_EQ(Do(kMlp + " --out -").out, said.out);
  const ScratchFile plain("stream.csv"), packed("stream.csv.gz");
  CHECK_EQ(Do(kMlp + " --out " + plain.path()).out, "");
  CHECK_EQ(plain.Bytes(), said.out);
  CHECK_EQ(Do(kMlp + " --out " + packed.path()).exit_code, 0);
  CHECK(packed.Bytes().starts_with("\x1f\x8b"));
  CHECK_EQ(ReadStream(packed.path()).value(), said.out);
}

TEST_CASE("trace: steps") {
  CHECK_EQ(Do(kMlp + " --step 2").out, Do(kMlp).out);
  CHECK_NE(Do(kMlp + " --step 1").out, Do(kMlp).out);
  CHECK_EQ(Do(kMlp + " --step 3").out, Do(kMlp).out);  // steady
  CHECK(Do(kMlp + " --step all").out.find("\nalloc,0,8000000,setup,") != std::string::npos);
  CHECK_EQ(Do(kMlp + " --mode infer --step 2").exit_code, 0);
  const Said third = Do(kMlp + " --mode infer --step 3");
  CHECK_EQ(third.exit_code, 2);
  CHECK(third.err.find("--step: this run has 2 steps (hint: type --step 2)") != std::string::npos);
}

// The phases of a trace in their order, each run of events once.
std::string PhasesOf(const std::string& csv) {
  std::string phases, last;
  const Trace trace = ParseTrace(csv, "").value();
  for (const TraceEvent& event : trace) {
    if (event.phase != last) phases += (phases.empty() ? "" : " ") + event.phase;
    last = event.phase;
  }
  return phases;
}

TEST_CASE("trace: the parts of the loop, wherever gradients are let go") {
  CHECK_EQ(PhasesOf(Do(kMlp).out), "forward loss backward update zero_grad");
  CHECK_EQ(PhasesOf(Do(kMlp + " --zero-grad start").out), "zero_grad forward loss backward update");
  CHECK_EQ(PhasesOf(Do(kMlp + " --zero-grad after-forward").out), "forward loss zero_grad backward update");
  CHECK_EQ(PhasesOf(Do(kMlp + " --accumulate 2").out), "forward loss backward forward loss backward update zero_grad");
  CHECK_EQ(PhasesOf(Do(kMlp + " --mode infer").out), "forward");
}

TEST_CASE("trace --compare: golden reports") {
  CheckGolden("equal", Do(kMlp + " --compare " + kRecorded).out);
  // A PyTorch that keeps no cuBLAS workspaces, and another batch.
  CheckGolden("framework", Do(kFile + " --batch 64 --framework pytorch@2.15 --compare " + kRecorded).out);
  CheckGolden("batch", Do(kFile + " --framework pytorch@2.10 --batch 8192 --compare " + kRecorded).out);
  CheckGolden("json", Do(kFile + " --batch 64 --framework pytorch@2.15 --format json --compare " + kRecorded).out);
}

TEST_CASE("no text answer is wider than 100 columns but for the verdict") {
  for (const char* name : {"equal", "framework", "batch", "replay-differs", "replay-equal", "replay-trace"}) {
    std::ifstream file(kSource + "/tests/golden/trace/" + name + ".txt");
    std::string line;
    REQUIRE(std::getline(file, line));
    while (std::getline(file, line)) {
      CAPTURE(line);
      CHECK_LE(line.size(), 100);
    }
  }
}

TEST_CASE("trace --compare: a report is no failure; with --out the stream is written beside it") {
  const ScratchFile stream("beside.csv");
  const Said said = Do(kMlp + " --optimizer sgd --compare " + kRecorded + " --out " + stream.path());
  CHECK_EQ(said.exit_code, 0);
  CHECK(said.FirstLine().starts_with("differs: step 2 of mlp.ts-train.onnx at batch 64 leaves mlp.b64."));
  CHECK_EQ(stream.Bytes(), Do(kMlp + " --optimizer sgd").out);
  // What was written is what was compared.
  CHECK(Do(kMlp + " --optimizer sgd --compare " + stream.path()).FirstLine().starts_with("equal: "));
}

TEST_CASE("one event less in the recording: found where it is, and only there") {
  const std::string text = ReadStream(kRecorded).value();
  std::string less = text;
  const size_t at = less.find("alloc,25,40448");  // a temporary of the optimizer, its death too
  less.erase(at, less.find('\n', at) + 1 - at);
  const size_t death = less.find("free,25,40448");
  less.erase(death, less.find('\n', death) + 1 - death);
  const ScratchFile recorded("less.csv", less);
  const Said said = Do(kMlp + " --compare " + recorded.path());
  CHECK(said.FirstLine().ends_with("at line 42, in update"));
  CHECK(said.out.find("where they differ\n") != std::string::npos);
  CHECK(said.out.find("1 x 39.50 KiB") != std::string::npos);
  CHECK(said.out.find("100.00 % of bytes agree") != std::string::npos);  // 39.5 KiB is no large block
}

TEST_CASE("replay: golden reports; a check is an exit code") {
  const std::string folder = kSource + "/tests/data/";
  const std::string recorded = "replay " + folder + "truth/allocator/default-2GiB.csv.gz";
  const Said equal = Do(recorded + " --gpu-memory 2GiB --check");
  CHECK_EQ(equal.exit_code, 0);
  CheckGolden("replay-equal", equal.out);
  const Said differs = Do(recorded + " --check");
  CHECK_EQ(differs.exit_code, 1);
  CheckGolden("replay-differs", differs.out);
  const Said small = Do(recorded + " --gpu-memory 1GiB");
  CHECK_EQ(small.exit_code, 3);
  CheckGolden("replay-out-of-memory", small.out);
  CheckGolden("replay-trace", Do("replay " + kRecorded).out);
  CheckGolden("replay-json", Do(recorded + " --gpu-memory 1GiB --format json").out);
  const std::string training = "replay " + folder + "allocator/training-resnet50.csv.gz";
  CHECK_EQ(Do(training).FirstLine(), "training-resnet50.csv.gz reserves at most 1.14 GiB for 1023.96 MiB allocated");
  CHECK_EQ(Do(training + " --allocator-conf expandable_segments:True --gpu-memory 2GiB").FirstLine(),
           "training-resnet50.csv.gz reserves at most 1.04 GiB for 1011.56 MiB allocated (fits on 2.00 GiB)");
}

TEST_CASE("replay takes what trace writes: the same peak of allocated") {
  const ScratchFile stream("resnet.csv.gz");
  const std::string model = kSource + "/models/resnet50.onnx --batch 8";
  REQUIRE_EQ(Do("trace " + model + " --step all --out " + stream.path()).exit_code, 0);
  const Trace trace = ParseTrace(ReadStream(stream.path()).value(), "").value();
  Bytes peak;
  for (const TraceEvent& event : trace) peak = std::max(peak, *event.allocated_after);
  const auto replayed =
      ReplayStream(ReadStream(stream.path()).value(), "", AllocatorConfig(), Bytes::Max(), StreamCheck::kOff);
  REQUIRE(replayed);
  CHECK_EQ(replayed->rows, static_cast<int64_t>(trace.size()));
  CHECK_EQ(replayed->before, Levels{});
  // Sizes are those of blocks, slack included: at least as much is allocated, and a little more.
  CHECK_GE(replayed->peak.allocated, peak);
  CHECK_LE(static_cast<double>(replayed->peak.allocated.count()), 1.01 * static_cast<double>(peak.count()));
}

TEST_CASE("--allocator-conf reaches estimate and fit") {
  const auto reserved = [](const std::string& options) {
    const std::string out = Do("estimate " + kSource + "/models/resnet50.onnx --batch 8 --format json" + options).out;
    return std::stoll(out.substr(out.find("\"reserved\": ") + 12));
  };
  CHECK_LT(reserved(" --allocator-conf expandable_segments:True"), reserved(""));
  const Said said = Do("estimate " + kSource + "/models/mlp.onnx --allocator-conf expandable_segments:True");
  CHECK(said.out.find("allocator-conf expandable_segments:True") != std::string::npos);
}

TEST_CASE("a fraction is of the card, not of what the context leaves") {
  // 2 GiB, of which 1 GiB is context: half of the card is all that is left; a quarter of it binds.
  const auto largest = [](const std::string& options) {
    const std::string out =
        Do("fit " + kSource + "/models/resnet50.onnx --gpu-memory 2GiB --context 1GiB --format json --precision fp32" +
           options)
            .out;
    return std::stoll(out.substr(out.find("\"largest_batch\": ") + 17));
  };
  const int64_t all = largest("");
  CHECK_GT(all, 1);
  CHECK_EQ(largest(" --allocator-conf per_process_memory_fraction:0.5"), all);
  CHECK_LT(largest(" --allocator-conf per_process_memory_fraction:0.4"), all);
  CHECK_EQ(largest(" --allocator-conf per_process_memory_fraction:0.99"), all);
}

TEST_CASE("bad input of trace and replay: one line, the right exit code") {
  const ScratchFile text("text.csv", "hello\n"), empty("empty.csv"), cut("cut.csv.gz", "\x1f\x8b\x08");
  const struct {
    std::string line;
    int exit_code;
    const char* says;
  } rows[] = {
      {"trace nowhere.onnx", 1, "nowhere.onnx: cannot be read"},
      {kMlp + " --compare nowhere.csv", 1, "nowhere.csv: cannot be read: No such file or directory (hint: "},
      {kMlp + " --compare " + text.path(), 1, "text.csv:1: the first line has no column 'event'"},
      {kMlp + " --compare " + empty.path(), 1, "empty.csv:1: the first line has no column 'event'"},
      {kMlp + " --compare " + cut.path(), 1, "cut.csv.gz: it is a gzip file that ends too early"},
      {kMlp + " --step 0", 2, "--step: \"0\" is not a step from 1 to 3, or all"},
      {kMlp + " --step two", 2, "--step: \"two\" is not a step"},
      {kMlp + " --format json", 2, "--format: the stream is always CSV; json is for the answer of --compare"},
      {kMlp + " --out - --compare " + kRecorded, 2, "--out: the comparison already goes to the terminal"},
      {kMlp + " --out /nowhere/at/all.csv.gz", 1, "/nowhere/at/all.csv.gz: cannot be written"},
      {kMlp + " --allocator-conf max_split:3", 2, "unknown option 'max_split'"},
      {kMlp + " --check", 2, "--check: trace does not have this option"},
      {"replay", 2, "replay: no file is given (hint: type vramplan replay FILE.csv)"},
      {"replay nowhere.csv", 1, "nowhere.csv: cannot be read: No such file or directory"},
      {"replay " + text.path(), 1, "text.csv:1: the first line has no column 'op'"},
      {"replay " + kRecorded + " --batch 3", 2, "--batch: replay does not have this option"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.line);
    const Said said = Do(row.line);
    CHECK_EQ(said.exit_code, row.exit_code);
    CHECK_EQ(said.out, "");
    CAPTURE(said.err);
    CHECK(said.err.find(row.says) != std::string::npos);
    CHECK(said.err.find(" (hint: ") != std::string::npos);
    CHECK_EQ(said.err.find('\n'), said.err.size() - 1);
  }
}

}  // namespace
}  // namespace vramplan
