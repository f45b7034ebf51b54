#include "planner/record/changes.h"

#include <doctest/doctest.h>

#include "planner/record/played.h"

using namespace vramplan;

namespace {

const std::string kHead = std::string(kRecordColumns) + "\n";

// Two layers of a norm and a linear: the norm's result (1, 5) and a number beside it (2, 6) are kept for the backward;
// what a layer gives (3, 7) is the next one's.
const std::string kTwoLayers = kHead +
                               "alloc,0,1000,0,setup,inputs,,,,,\n"
                               "enter,,,1,forward,,,net,,,\n"
                               "enter,,,1,forward,,,layers.0,,,\n"
                               "enter,,,1,forward,,,layers.0.norm,,,\n"
                               "alloc,1,1000,1,forward,activations,,layers.0.norm,,,\n"
                               "alloc,2,10,1,forward,activations,,layers.0.norm,,,\n"
                               "leave,1,,1,forward,,,layers.0.norm,,,\n"
                               "enter,,,1,forward,,,layers.0.linear,,,\n"
                               "alloc,3,1000,1,forward,activations,,layers.0.linear,,,\n"
                               "leave,3,,1,forward,,,layers.0.linear,,,\n"
                               "leave,3,,1,forward,,,layers.0,,,\n"
                               "enter,,,1,forward,,,layers.1,,,\n"
                               "enter,,,1,forward,,,layers.1.norm,,,\n"
                               "alloc,5,1000,1,forward,activations,,layers.1.norm,,,\n"
                               "alloc,6,10,1,forward,activations,,layers.1.norm,,,\n"
                               "leave,5,,1,forward,,,layers.1.norm,,,\n"
                               "enter,,,1,forward,,,layers.1.linear,,,\n"
                               "alloc,7,1000,1,forward,activations,,layers.1.linear,,,\n"
                               "leave,7,,1,forward,,,layers.1.linear,,,\n"
                               "leave,7,,1,forward,,,layers.1,,,\n"
                               "leave,7,,1,forward,,,net,,,\n"
                               "alloc,8,1000,1,backward,temporaries,,,,,\n"
                               "free,7,1000,1,backward,,,,,,\n"
                               "free,5,1000,1,backward,,,,,,\n"
                               "free,6,10,1,backward,,,,,,\n"
                               "free,3,1000,1,backward,,,,,,\n"
                               "free,1,1000,1,backward,,,,,,\n"
                               "free,2,10,1,backward,,,,,,\n"
                               "free,8,1000,1,backward,,,,,,\n";

std::string Rows(const Record& record) {
  std::string text;
  const std::string printed = PrintRecord(record);
  for (size_t at = kHead.size(); at < printed.size();) {
    const size_t end = printed.find('\n', at);
    std::string line = printed.substr(at, end - at);
    // op, id, phase
    const size_t first = line.find(','), second = line.find(',', first + 1), third = line.find(',', second + 1),
                 fourth = line.find(',', third + 1);
    const std::string op = line.substr(0, first);
    if (op == "alloc" || op == "free") {
      text += (text.empty() ? "" : " ") + std::string(op == "alloc" ? "+" : "-") +
              line.substr(first + 1, second - first - 1) + line.substr(fourth + 1, 1);
    }
    at = end + 1;
  }
  return text;
}

TEST_CASE("lists of modules, and what they keep for the backward") {
  const Record record = ReadRecord(kTwoLayers, "r").value();
  CHECK(ModuleListsOf(record) == std::vector<ModuleList>{{"layers.*", 2, Bytes::Of(2020)}});
}

TEST_CASE("a checkpointed layer lets go of what it keeps, and computes it again where its backward begins") {
  const Record record = ReadRecord(kTwoLayers, "r").value();
  const Record changed = WithCheckpoints(record, ModuleListsOf(record));
  // The norm's result goes when the linear has run, what the norm gives nobody when the norm has. Blocks are numbered
  // anew: 4 to 6 are the second layer's. The linear has nothing that the backward wants, so it does not run again.
  CHECK(Rows(record) == "+0s +1f +2f +3f +4f +5f +6f +7b -6b -4b -5b -3b -1b -2b -7b");
  CHECK(Rows(changed) ==
        "+0s +1f +2f -2f +3f -1f +4f +5f -5f +6f -4f +7b -6b +10b +11b -10b -11b -3b +8b +9b -8b -9b -7b");
  const auto requested = [](const Record& of) {
    return Replay(Played(of).timeline, 1, AllocatorConfig(), Bytes::Max()).peak.requested;
  };
  CHECK(requested(record) == Bytes::Of(6020));
  CHECK(requested(changed) == Bytes::Of(4010));
}

TEST_CASE(
    "states of 8 bits: a quarter, a number for 256 elements, two tables; what the update made on the way is gone") {
  const std::string text = kHead +
                           "alloc,0,65536,1,update,optimizer_state,4,,,,\n"
                           "alloc,1,8192,1,update,optimizer_state,4,,,,\n"   // below 4096 elements
                           "alloc,2,65536,1,update,optimizer_state,2,,,,\n"  // halves are as they are
                           "alloc,3,65536,1,update,temporaries,,,,,\n"
                           "free,3,65536,1,update,,,,,,\n"
                           "free,0,65536,2,update,,,,,,\n";
  CHECK(PrintRecord(WithSmallStates(ReadRecord(text, "r").value())) ==
        std::string(kRecordColumns) + std::string(kCallerColumn) + "\n" +
            "alloc,0,16384,1,update,optimizer_state,1,,,,,\n"
            "alloc,5,1024,1,update,optimizer_state,4,,,,,\n"
            "alloc,6,1024,1,update,optimizer_state,4,,,,,\n"
            "alloc,4,256,1,update,optimizer_state,4,,,,,\n"
            "alloc,1,8192,1,update,optimizer_state,4,,,,,\n"
            "alloc,2,65536,1,update,optimizer_state,2,,,,,\n"
            "free,0,16384,2,update,,,,,,,\n"
            "free,4,256,2,update,,,,,,,\n");
}

}  // namespace
