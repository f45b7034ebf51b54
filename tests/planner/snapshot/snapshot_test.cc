// --format snapshot and compare: what PyTorch's viewer is given, and what it recorded.
#include "planner/snapshot/snapshot.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "planner/snapshot/recorded_step.h"
#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

int64_t Number(const std::string& json, const std::string& from, const std::string& member) {
  const size_t at = json.find("\"" + member + "\": ", json.find(from));
  REQUIRE_NE(at, std::string::npos);
  return std::stoll(json.substr(at + member.size() + 4));
}

const std::string kSnapshot = VRAMPLAN_SOURCE_DIR "/tests/data/snapshots/mlp.pickle";
const std::string kModel = VRAMPLAN_SOURCE_DIR "/tests/data/zoo/mlp.dynamo-train.onnx";

}  // namespace

TEST_CASE("snapshot: its entries peak at requested, its segments are what is reserved") {
  for (const std::string options :
       {"MODELS/unet.onnx --batch 4", "MODELS/resnet50.onnx --batch 8", "MODELS/unet.onnx --mode infer",
        "MODELS/resnet50.onnx --batch 8 --allocator-conf expandable_segments:True"}) {
    CAPTURE(options);
    const std::string json = Do("estimate " + options + " --format json").out;
    const Result<Pickle> read = ReadPickle(Do("estimate " + options + " --format snapshot").out, "step.pickle");
    REQUIRE(read.ok());
    const Pickle& snapshot = *read;
    const PickleList* devices = snapshot.AsList(snapshot.Member(snapshot.root, "device_traces"));
    REQUIRE(devices != nullptr);
    int64_t level = 0, peak = 0, taken = 0, most_taken = 0;
    std::map<int64_t, int64_t> live;
    for (const PickleId entry : snapshot.AsList(devices->items.at(0))->items) {
      const std::string action = *snapshot.AsText(snapshot.Member(entry, "action"));
      const int64_t address = *snapshot.AsInteger(snapshot.Member(entry, "addr"));
      const int64_t size = *snapshot.AsInteger(snapshot.Member(entry, "size"));
      REQUIRE(snapshot.AsList(snapshot.Member(entry, "frames")) != nullptr);
      if (action == "alloc") {
        CHECK(live.emplace(address, size).second);  // no block lies where another one lives
        level += size;
      } else if (action == "free_requested") {
        CHECK_EQ(live.at(address), size);
        live.erase(address);
        level -= size;
      } else if (action == "segment_alloc" || action == "segment_map") {
        taken += size;
      } else if (action == "segment_free" || action == "segment_unmap") {
        taken -= size;
      } else {
        CHECK_EQ(action, "free_completed");
      }
      peak = std::max(peak, level);
      most_taken = std::max(most_taken, taken);
    }
    CHECK_EQ(peak, Number(json, "\"peak\": {", "requested"));
    CHECK_EQ(most_taken, Number(json, "\"peak\": {", "reserved"));
    // What _memory_viz.py sums and asserts.
    int64_t total = 0, allocated = 0, requested = 0;
    for (const PickleId segment : snapshot.AsList(snapshot.Member(snapshot.root, "segments"))->items) {
      const int64_t size = *snapshot.AsInteger(snapshot.Member(segment, "total_size"));
      int64_t blocks = 0;
      for (const PickleId block : snapshot.AsList(snapshot.Member(segment, "blocks"))->items) {
        const int64_t of_block = *snapshot.AsInteger(snapshot.Member(block, "size"));
        blocks += of_block;
        if (*snapshot.AsText(snapshot.Member(block, "state")) == "active_allocated") allocated += of_block;
        requested += *snapshot.AsInteger(snapshot.Member(block, "requested_size"));
      }
      CHECK_EQ(blocks, size);
      total += size;
    }
    CHECK_EQ(total, taken);
    CHECK_EQ(requested, level);
    CHECK_GE(allocated, requested);
  }
}

TEST_CASE("snapshot: modules are its frames") {
  const std::string bytes = Do("estimate MODELS/resnet50.onnx --format snapshot").out;
  for (const char* text : {"layer4.2.conv3", "step 1, forward", "step 2, backward", "written by vramplan"}) {
    CAPTURE(text);
    CHECK_NE(bytes.find(text), std::string::npos);
  }
}

TEST_CASE("compare: a snapshot of PyTorch 2.10 and the step that ran") {
  const Said equal = Do("compare " + kSnapshot + " --model " + kModel + " --batch 16 --framework pytorch@2.10");
  CHECK_EQ(equal.exit_code, 0);
  CHECK_EQ(equal.FirstLine(),
           "equal: step 3 of mlp.dynamo-train.onnx at batch 16 does what mlp.pickle (its step 3 of 3) recorded, all 54 "
           "events");
  const Said second =
      Do("compare " + kSnapshot + " --model " + kModel + " --batch 16 --framework pytorch@2.10 --step 2 --format json");
  CHECK_NE(second.out.find("\"step\": \"step 2\""), std::string::npos);
  CHECK_NE(second.out.find("\"equal\": true"), std::string::npos);
  // Another optimizer is told by its first request.
  const Said other =
      Do("compare " + kSnapshot + " --model " + kModel + " --batch 16 --framework pytorch@2.10 --optimizer sgd");
  CHECK_EQ(Golden("trace/snapshot", other.out), other.out);
  CHECK(other.out.starts_with("differs: "));
}

TEST_CASE("compare: what cannot be compared is one line") {
  const ScratchFile empty("empty.pickle", "\x80\x04}\x94."), text("notes.txt", "hello\n");
  struct Row {
    std::string line, error;
  };
  for (const auto& [line, error] : {
           Row{"compare " + kSnapshot, "no model is given"},
           Row{"compare " + empty.path() + " --model " + kModel, "not a snapshot of PyTorch's memory"},
           Row{"compare " + text.path() + " --model " + kModel, "not a snapshot of PyTorch's memory"},
           Row{"compare " + kSnapshot + " --model " + kModel + " --step 9", "3 whole optimizer steps, and step 9"},
           Row{"compare " + kSnapshot + " --model " + kModel + " --step 0", "is not a whole number from 1"},
       }) {
    CAPTURE(line);
    const Said said = Do(line);
    CHECK_NE(said.exit_code, 0);
    CHECK_EQ(said.out, "");
    CHECK_NE(said.err.find(error), std::string::npos);
  }
}

// {"segments": [], "device_traces": [entries]}; memo 0 is {"action": "alloc", "addr": 1, "size": size}.
TEST_CASE("compare: a trace of sizes and counts that no card has is refused at once") {
  const auto snapshot = [](const std::string& size, size_t count) {
    std::string bytes =
        "\x80\x02}(X\x08" + std::string(3, '\0') + "segments]X\x0d" + std::string(3, '\0') + "device_traces](](";
    bytes += "}(X\x06" + std::string(3, '\0') + "actionX\x05" + std::string(3, '\0') + "allocX\x04" +
             std::string(3, '\0') + "addrK\x01X\x04" + std::string(3, '\0') + "size" + size + "uq" +
             std::string(1, '\0');
    for (size_t i = 1; i < count; ++i) bytes += std::string("h\0", 2);
    return bytes + "eeu.";
  };
  const ScratchFile huge("huge.pickle", snapshot(std::string("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 10), 3));
  const ScratchFile negative("negative.pickle", snapshot("I-5\n", 3));
  const ScratchFile many("many.pickle", snapshot("K\x10", 4'194'305));
  const ScratchFile plain("plain.pickle", snapshot("K\x10", 3));
  struct Row {
    std::string file, error;
  };
  for (const auto& [file, error] : {
           Row{huge.path(), "entry 1 of its trace has no address or no size that a card could hold"},
           Row{negative.path(), "entry 1 of its trace has no address or no size that a card could hold"},
           Row{many.path(), "its trace has 4194305 entries; at most 4194304 are read"},
           Row{plain.path(), "its entries have no stacks"},
       }) {
    CAPTURE(file);
    const Said said = Do("compare " + file + " --model " + kModel);
    CHECK_EQ(said.exit_code, 1);
    CHECK_NE(said.err.find(error), std::string::npos);
  }
}

// _record_memory_history() without stacks="python" records these around and between Python's, and alone in the threads
// of the autograd engine (PyTorch 2.10, Linux).
TEST_CASE("compare: native frames of a recording change nothing") {
  std::ifstream file(kSnapshot, std::ios::binary);
  const Result<Pickle> read =
      ReadPickle(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()), kSnapshot);
  REQUIRE(read.ok());
  Pickle pickle = *read;
  const auto frame = [&](const char* path, const char* function, int64_t line) {
    PickleDict dict;
    const auto add = [&](const char* name, PickleValue value) {
      const PickleId key = pickle.Add(std::string(name));
      dict.items.emplace_back(key, pickle.Add(std::move(value)));
    };
    add("filename", std::string(path));
    add("name", std::string(function));
    add("line", line);
    return pickle.Add(std::move(dict));
  };
  const PickleId gather = frame("??", "torch::unwind::unwind()", 0);
  const PickleId backward =
      frame("", "torch::autograd::generated::NllLossBackward0::apply(std::vector<at::Tensor>&&)", 0);
  const PickleId eval = frame("/usr/src/python/Python/ceval.c", "_PyEval_EvalFrameDefault", 4891);
  std::set<PickleId> stacks;
  const size_t count = pickle.values.size();
  for (size_t i = 0; i < count; ++i) {
    if (const PickleId stack = pickle.Member(static_cast<PickleId>(i), "frames"); stack >= 0) stacks.insert(stack);
  }
  REQUIRE_GT(stacks.size(), 10u);
  for (const PickleId stack : stacks) {
    auto& frames = std::get<PickleList>(pickle.values[static_cast<size_t>(stack)]).items;
    if (!frames.empty()) frames.insert(frames.begin() + 1, eval);
    frames.insert(frames.begin(), {gather, backward});
    frames.push_back(eval);
  }
  const ScratchFile native("native.pickle", WritePickle(pickle));
  const std::string model = " --model " + kModel + " --batch 16 --framework pytorch@2.10";
  const Said said = Do("compare " + native.path() + model);
  CHECK(said.out.starts_with("equal: step 3 of mlp.dynamo-train.onnx at batch 16 does what "));
  CHECK_NE(said.out.find("recorded, all 54 events\n"), std::string::npos);
  CHECK_EQ(said.exit_code, 0);
  // The places of a step that differs are Python's.
  CHECK_EQ(Do("compare " + native.path() + model + " --optimizer sgd").out.find("??"), std::string::npos);
}
}  // namespace vramplan::testing
