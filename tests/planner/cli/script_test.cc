// vramplan run, without torch: the command is a shell script that writes what the hook would have written.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "tests/support/command_line.h"
#include "tests/support/fake_probe.h"

using namespace vramplan;
using vramplan::testing::Do;
using vramplan::testing::Golden;
using vramplan::testing::Said;
using vramplan::testing::ScopedVariable;
using vramplan::testing::ScratchFile;

namespace {

constexpr const char* kRecording =
    "vramplan.recording/1\n"
    "python\t3.11.7\t/usr/bin/python3\n"
    "torch\t2.10.0+cu128\t12.8\t\n"
    "argv\ttrain.py\n"
    "rank\t0\t1\n"
    "mark\tbackward\t3\t/x/train.py\t11\tmain\n"
    "mark\tafter-backward\t4\t/x/train.py\t11\tmain\n"
    "mark\tupdate\t4\t/x/train.py\t12\tmain\n"
    "mark\tafter-update\t5\t/x/train.py\t12\tmain\n"
    "step\t1\t5\t700000000\t710000000\t800000000\t600000000\t610000000\t800000000\t1.5\n"
    "last\t5\t700000000\t710000000\t800000000\t600000000\t610000000\t800000000\t600000000\t610000000\t800000000\t0\n"
    "frame\t0\t6\tmain\t/x/train.py\n"
    "frame\t1\t20\tforward\t/v/lib/site-packages/timm/layers.py\n"
    "stack\t0\t0\n"
    "stack\t1\t1,0\n"
    "stack\t2\t\n"
    "s\t4096\t800000000\n"
    "a\t1000000000\t200000000\t0\t\n"
    "a\t2000000000\t60000000\t1\tblocks.0\n"
    "a\t3000000000\t40000000\t1\tblocks.1\n"
    "a\t4000000000\t200000000\t2\t\n"
    "a\t5000000000\t200000000\t0\t\n"
    "f\t2000000000\t60000000\n"
    "f\t3000000000\t40000000\n";

// The words behind `vramplan run`, of a script that writes these files and ends as `rest` does.
struct Script {
  std::string recording, card;
  std::string rest = "true";
};

Said Run(const std::string& options, const Script& script, const std::string& arguments = "",
         Probe* machine = nullptr) {
  const ScopedVariable path("VRAMPLAN_PRETEND_PATH",
                            (std::filesystem::path(VRAMPLAN_BINARY).parent_path() / "pretend").c_str());
  const ScratchFile recording("script.recording", script.recording), card("script.card", script.card);
  std::string text = "#!/bin/sh\n";
  if (!script.recording.empty()) text += "cp " + recording.path() + " $VRAMPLAN_RECORDING/$$.recording\n";
  if (!script.card.empty()) text += "cp " + card.path() + " $VRAMPLAN_RECORDING/$$.card\n";
  const ScratchFile file("train.sh", text + script.rest + "\n");
  return Do("run " + options + " -- /bin/sh " + file.path() + arguments, machine);
}

// The command has a path of this machine.
std::string WithoutPaths(std::string text) {
  const std::string folder = std::filesystem::temp_directory_path().string() + "/";
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
  return std::regex_replace(text, std::regex("\"pid\": [0-9]+"), "\"pid\": 1");
}

const std::string kWhole = std::string(kRecording) + "end\tsteps\t2.0\n";
const std::string kFull =
    std::string(kRecording) +
    "out-of-memory\t5\t900000000\t2000000000\t300000000\t600000000\t610000000\t800000000\t/x/train.py\t9\tmain\n"
    "o\t0\t900000000\nfailed\ttorch.OutOfMemoryError\tCUDA out of memory. Tried to allocate 858.31 MiB.\n"
    "end\texit\t2.0\n";
constexpr const char* kCard = "vramplan.card/1\ncard\t0\t2000000000\t0\t800000000\n";

TEST_CASE("a script that fits, one that does not, and one without a card") {
  struct Row {
    const char* golden;
    const char* options;
    Script script;
    int exit_code;
  };
  const Row rows[] = {
      {"run/fits", "--gpu t4", {kWhole, kCard}, 0},
      {"run/no_card", "", {kWhole, kCard}, 0},
      {"run/oom", "--gpu-memory 2000000000B", {kFull, std::string(kCard) + "refused\t0\t2\t901775360\n", "exit 1"}, 3},
      {"run/json", "--gpu t4 --format json", {kWhole, kCard}, 0},
      {"run/cudnn",
       "--gpu-memory 1200MiB",
       {kWhole, std::string(kCard) + "cudnn\tused\nuncovered\tcudaArrayGetInfo\n"},
       0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.golden);
    const Said said = Run(row.options, row.script);
    CHECK(said.exit_code == row.exit_code);
    const std::string out = WithoutPaths(said.out);
    CHECK(out == Golden(row.golden, out));
  }
}

// A script whose samples take 100 MB each, seven of which fit. Its batch stands in the command, a variable or a file.
Script OfBatch(const std::string& batch) {
  std::string text = "b=" + batch + "\nif [ $b -gt 7 ]; then cat >full <<'end_of_file'\n" + kFull +
                     "end_of_file\nelse cat >full <<'end_of_file'\n" + kWhole + "end_of_file\nfi\n";
  text = "cd $VRAMPLAN_RECORDING\n" + text +
         "sed \"s/^\\(a.4000000000.\\)200000000/\\1$((b * 100000000))/;"
         "s/7\\([01]\\)0000000/$((b + 2))\\10000000/g\" full >$$.recording\n"
         "printf '" +
         std::string("vramplan.card/1\\ncard\\t0\\t2000000000\\t0\\t800000000\\n") + "' >$$.card\n[ $b -le 7 ]";
  return {"", "", text};
}

TEST_CASE("the largest number that runs, and a table of values") {
  const ScratchFile config("config.yaml", "seed: 1\ndata:\n  batch: 2  # samples\n");
  struct Row {
    const char* golden;
    std::string options, batch, arguments;
    int exit_code = 0;
  };
  const std::string in_file = "--largest-in " + config.path() + ":data.batch";
  const Row rows[] = {
      {"run/largest", "--gpu-memory 2GiB --largest batch=1:64", "$1", " {batch}"},
      {"run/largest_json", "--gpu-memory 2GiB --largest batch=1:64 --format json", "$batch", ""},
      {"run/largest_in", "--gpu-memory 2GiB --largest batch=1:4 " + in_file,
       "$(sed -n 's/  batch: \\([0-9]*\\).*/\\1/p' $1)", " " + config.path()},
      {"run/largest_none", "--gpu-memory 2GiB --largest batch=8:9", "$1", " {batch}", 3},
      {"run/vary", "--gpu-memory 2GiB --vary batch=2,9 --vary sleep=0,1", "$1", " {batch} {sleep}"},
      {"run/vary_largest", "--gpu-memory 2GiB --vary extra=0,3 --largest batch=1:64", "$(($1 + $2))",
       " {batch} {extra}"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.golden);
    const Said said = Run(row.options, OfBatch(row.batch), row.arguments);
    CHECK(said.exit_code == row.exit_code);
    CHECK(said.err == "");
    const std::string out = WithoutPaths(said.out);
    CHECK(out == Golden(row.golden, out));
  }
  CHECK(config.Bytes() == "seed: 1\ndata:\n  batch: 2  # samples\n");
}

// A script of 100 MB a card and 600 MB that its ranks share: a rank of one alone is too large.
Script OfRanks() {
  return {"", "",
          "cd $VRAMPLAN_RECORDING\nif [ $WORLD_SIZE -lt 2 ]; then cat >full <<'end_of_file'\n" + kFull +
              "end_of_file\nelse cat >full <<'end_of_file'\n" + kWhole +
              "end_of_file\nfi\nsed \"s/^rank.*/rank\\t$RANK\\t$WORLD_SIZE/;"
              "s/7\\([01]\\)0000000/$((600 / WORLD_SIZE + 400))000000/g\" full >$$.recording\n"
              "printf 'vramplan.card/1\\ncard\\t0\\t2000000000\\t0\\t800000000\\n' >$$.card\n[ $WORLD_SIZE -ge 2 ]"};
}

TEST_CASE("one rank of many") {
  struct Row {
    const char* golden;
    const char* options;
  };
  const Row rows[] = {
      {"run/gpus", "--gpu-memory 2GiB --gpus 1,2,4,8"},
      {"run/rank", "--gpu-memory 2GiB --gpus 4 --nodes 2 --rank 3"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.golden);
    const Said said = Run(row.options, OfRanks());
    CHECK(said.exit_code == 0);
    const std::string out = WithoutPaths(said.out);
    CHECK(out == Golden(row.golden, out));
  }
  CHECK(Run("--gpu t4 --gpus 4", OfRanks()).err ==
        "note: rank 0: ran alone: the other ranks are taken to do what it does, and NCCL's own buffers are not counted "
        "(hint: --rank R runs another one)\n");
  // What the script says of its ranks is what counts.
  CHECK(Run("--gpu t4 --gpus 4", {kWhole, kCard})
            .err.starts_with("warning: --gpus 4: the script ran as one of 1 ranks\n"));
}

TEST_CASE("what a rank is given") {
  struct Row {
    const char* options;
    const char* words;
    const char* expected;  // alone, rank, of, here, of these, machine, machines, cards
  };
  const Row rows[] = {
      {"--gpus 8", "", "0 0 8 0 8 0 1 0,1,2,3,4,5,6,7 8"},
      {"--gpus 4 --nodes 2 --rank 3", "", "3 3 4 1 2 1 2 0,1 2"},
      // A launcher sets its own.
      {"--gpus 2 --rank 1", " torchrun --nproc-per-node {gpus}", "1 - - - - - - 0,1 2"},
      {"--gpus 2 --all-ranks", " accelerate launch", "- - - - - - - 0,1 2"},
  };
  const std::string seen = (std::filesystem::temp_directory_path() / "vramplan_test_seen").string();
  for (const Row& row : rows) {
    CAPTURE(row.options);
    const ScopedVariable visible("CUDA_VISIBLE_DEVICES", nullptr);
    Run(std::string("--gpu t4 ") + row.options,
        {kWhole, kCard,
         "echo ${VRAMPLAN_ALONE--} ${RANK--} ${WORLD_SIZE--} ${LOCAL_RANK--} ${LOCAL_WORLD_SIZE--} ${GROUP_RANK--} "
         "${GROUP_WORLD_SIZE--} $CUDA_VISIBLE_DEVICES $(echo \"$VRAMPLAN_PRETEND_GPU\" | grep -c card) >" +
             seen},
        row.words);
    std::ifstream file(seen);
    std::string text;
    std::getline(file, text);
    CHECK(text == row.expected);
    std::filesystem::remove(seen);
  }
}

// Under --try: no foreach saves 100 MB, checkpointing changes nothing, and 8-bit Adam breaks it.
TEST_CASE("changes are tried, and what they really changed is told") {
  const Script script{"", "",
                      "cd $VRAMPLAN_RECORDING\ncat >whole <<'end_of_file'\n" + kWhole +
                          "end_of_file\n"
                          "[ \"$VRAMPLAN_TRY\" = 8-bit ] && exit 4\n"
                          "if [ \"$VRAMPLAN_TRY\" = foreach ]; then sed \"s/7\\([01]\\)0000000/6\\10000000/g\" whole\n"
                          "printf 'changed\\tAdamW(foreach=False)\\n'; else cat whole; fi >$$.recording\n"
                          "echo \"${VRAMPLAN_TRY--} ${PYTORCH_CUDA_ALLOC_CONF--}\" >>" +
                          (std::filesystem::temp_directory_path() / "vramplan_test_seen").string() +
                          "\nprintf 'vramplan.card/1\\ncard\\t0\\t2000000000\\t0\\t800000000\\n' >$$.card"};
  const std::string seen = (std::filesystem::temp_directory_path() / "vramplan_test_seen").string();
  std::filesystem::remove(seen);
  const ScopedVariable own("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64");
  for (const auto& [golden, options] :
       {std::pair("run/try", "--gpu t4 --try"), std::pair("run/try_json", "--gpu-memory 1GiB --try --format json")}) {
    CAPTURE(golden);
    const Said said = Run(options, script);
    CHECK(said.exit_code == 0);
    const std::string out = WithoutPaths(said.out);
    CHECK(out == Golden(golden, out));
  }
  std::ifstream file(seen);
  std::string lines, line;
  for (int i = 0; i < 4 && std::getline(file, line); ++i) lines += line + "\n";
  CHECK(lines ==
        "- max_split_size_mb:64\n- max_split_size_mb:64,expandable_segments:True\n"
        "foreach max_split_size_mb:64\ncheckpoint max_split_size_mb:64\n");
  std::filesystem::remove(seen);
  CHECK(Run("--gpu t4 --try --gpus 1,2", {kWhole, kCard}).err ==
        "vramplan: --try: is about one run, and --vary, --largest and a list of --gpus make several (hint: leave one "
        "of them out)\n");
}

// On the real card nothing is preloaded, and this script takes 100 MB more there.
TEST_CASE("a run on the card of this machine, beside the pretend one") {
  FakeProbe machine({.cards = {FakeT4()}});
  const std::string differs =
      "cd $VRAMPLAN_RECORDING\ncat >whole <<'end_of_file'\n" + kWhole +
      "end_of_file\nif [ -n \"$VRAMPLAN_REAL\" ]; then [ -z \"$VRAMPLAN_PRETEND_GPU$LD_PRELOAD\" ] || exit 1\n"
      "sed \"s/7\\([01]\\)0000000/8\\10000000/g\" whole; else cat whole; fi >$$.recording";
  const ScopedVariable preload("LD_PRELOAD", nullptr);
  const Said said = Run("--real", {"", "", differs}, "", &machine);
  CHECK(said.exit_code == 0);
  const std::string out = WithoutPaths(said.out);
  CHECK(out == Golden("run/real", out));
  CHECK(Run("--real", {kWhole, kCard}, "", &machine).out.find("agree to the byte") != std::string::npos);
  CHECK(
      Run("--real --format json", {kWhole, kCard}, "", &machine).out.find("\"real\": {\n    \"card\": \"Tesla T4\"") !=
      std::string::npos);
  FakeProbe none({.driver = Error{ErrorCode::kNoCard, "driver", "is not there", ""}});
  CHECK(Run("--real", {kWhole, kCard}, "", &none).exit_code == 4);
  CHECK(Run("--real --gpus 2", {kWhole, kCard}, "", &machine).err ==
        "vramplan: --real: compares one run on one card, and --vary, --largest, --try and --gpus are about more (hint: "
        "leave them out)\n");
}

TEST_CASE("a shape that comes from values is told with its line") {
  std::string recording = kRecording;
  for (const char* line : {"9", "10", "11", "12"})
    recording += std::string("by-value\tnonzero()\t4\t/x/train.py\t") + line + "\tmain\n";
  const Said said = Run("--gpu t4", {recording + "end\tsteps\t2.0\n", kCard});
  CHECK(
      said.err ==
      "warning: train.py:9: nonzero() gives a shape that depends on values, which are zeros here (hint: check what "
      "these lines make of real values)\n"
      "warning: train.py:10: nonzero() gives a shape that depends on values, which are zeros here (hint: check what "
      "these lines make of real values)\n"
      "warning: train.py:11: nonzero() gives a shape that depends on values, which are zeros here; the same holds for "
      "1 of the other lines (hint: check what these lines make of real values)\n");
  const Said json = Run("--gpu t4 --format json", {recording + "end\tsteps\t2.0\n", kCard});
  CHECK(json.out.find("\"value_dependent\": [\n    {\n      \"file\": \"/x/train.py\",\n      \"line\": 9,\n      "
                      "\"function\": \"main\",\n      \"what\": \"nonzero()\",\n      \"times\": 4\n    }") !=
        std::string::npos);
}

TEST_CASE("what was recorded can be replayed") {
  const ScratchFile stream("stream.csv");
  const std::string expected =
      "op,id,bytes,step,phase,category,element,module,file,line,function\n"
      "alloc,0,200000000,0,setup,inputs,,,/x/train.py,6,main\n"
      "alloc,1,60000000,0,setup,inputs,,blocks.0,/v/lib/site-packages/timm/layers.py,20,forward\n"
      "alloc,2,40000000,0,setup,inputs,,blocks.1,/v/lib/site-packages/timm/layers.py,20,forward\n"
      "alloc,3,200000000,0,setup,inputs,,,,,\n"
      "alloc,4,200000000,0,setup,inputs,,,/x/train.py,6,main\n"
      "free,1,60000000,0,setup,,,,,,\n"
      "free,2,40000000,0,setup,,,,,,\n";
  CHECK(Run("--gpu t4 --force --record " + stream.path(), {kWhole, kCard}).exit_code == 0);
  CHECK(stream.Bytes() == expected);
  CHECK(Do("replay " + stream.path()).out.find("667.57 MiB") != std::string::npos);
  // A cache that the script gave back, segment by segment; then one that the card took back. An earlier record is ours.
  const std::string gone = std::string(kRecording) + "u\t4096\t1\nu\t4097\t1\nend\tsteps\t2.0\n";
  Run("--gpu t4 --record " + stream.path(), {gone, kCard});
  CHECK(stream.Bytes() == expected + "empty_cache,,,0,setup,,,,,,\n");
  Run("--gpu-memory 2GB --record " + stream.path(), {kFull, kCard, "exit 1"});
  CHECK(stream.Bytes() == expected);
  // A file of somebody else's stays.
  const ScratchFile other("other.csv", "mine\n");
  CHECK(Run("--gpu t4 --record " + other.path(), {kWhole, kCard}).err ==
        "vramplan: --record " + other.path() +
            ": the file exists, and nothing in it shows that vramplan wrote it (hint: name another file, or add "
            "--force to overwrite it)\n");
  CHECK(other.Bytes() == "mine\n");
  CHECK(Run("--gpu t4 --vary a=1,2 --record x.csv", {kWhole, kCard}).err ==
        "vramplan: --record: is about one run, and --vary makes several (hint: leave one of them out)\n");
}

TEST_CASE("what is typed behind --largest and --vary") {
  struct Row {
    const char* options;
    const char* says;
    int exit_code = 2;
  };
  const Row rows[] = {
      {"--largest batch=1:8",
       "--largest: is about a card, and none is named (hint: add --gpu t4, or --gpu-memory 24GiB)"},
      {"--gpu t4 --largest batch=8",
       "--largest: \"batch=8\" is not a name and a range of whole numbers (hint: type --largest batch=1:512 and write "
       "{batch} in the command)"},
      {"--gpu t4 --largest batch=8:4",
       "--largest: the range of \"batch=8:4\" is empty (hint: type the lower number first)"},
      {"--gpu t4 --largest-in c.yaml:b",
       "--largest-in: goes with --largest (hint: type --largest batch=1:512 beside it)"},
      {"--gpu t4 --largest b=1:2 --largest-in c.yaml",
       "--largest-in: \"c.yaml\" is not a file and a key (hint: type --largest-in config.yaml:data.batch_size)"},
      {"--gpu t4 --largest b=1:2 --largest-in no.yaml:b", "no.yaml with b=2: is no file that can be read", 1},
      {"--gpu t4 --vary seq",
       "--vary: \"seq\" is not a name and its values (hint: type --vary seq=512,1024 and write {seq} in the command)"},
      {"--gpu t4 --vary b=1,2 --vary b=3",
       "--vary: \"b\" is named twice (hint: give every value in one list: NAME=A,B,C)"},
      {"--gpu t4 --vary a=1,2,3,4,5,6,7,8,9 --vary b=1,2,3,4,5,6,7,8",
       "--vary: asks for 72 runs (hint: give at most 64)"},
      {"--gpu t4 --vary gpus=1,2",
       "--vary: \"gpus=1,2\" is not a name and its values (hint: type --vary seq=512,1024 and write {seq} in the "
       "command)"},
      {"--gpu t4 --gpus 0", "--gpus: \"0\" is not a number from 1 to 65536 (hint: type --gpus 8, or a list: 1,2,4,8)"},
      {"--gpu t4 --nodes 2", "--nodes: goes with --gpus (hint: add the number of cards: --gpus 8)"},
      {"--gpu t4 --gpus 6 --nodes 4",
       "--nodes: 6 cards cannot be shared evenly by 4 machines (hint: --gpus is the number of all cards together)"},
      {"--gpu t4 --gpus 2,4 --rank 2", "--rank: there is no rank 2 of 2 (hint: ranks are counted from 0)"},
      {"--gpu t4 --gpus 2 --rank 1 --all-ranks", "--rank: does not go with --all-ranks (hint: leave one of them out)"},
      {"--gpu t4 --gpus 2 --all-ranks",
       "--all-ranks: nothing in the command starts a process for each rank (hint: put torchrun --nproc-per-node {gpus} "
       "before the script)"},
      {"--gpu t4 --one-process", "--one-process: goes with --gpus (hint: add the number of cards: --gpus 8)"},
      {"--gpu t4 --gpus 2 --one-process --rank 1",
       "--one-process: has no ranks, and --nodes, --rank and --all-ranks are about them (hint: leave them out, or "
       "--one-process)"},
      {"--gpu t4 --gpus 1,2 --record x.csv",
       "--record: is about one run, and --gpus makes several (hint: name one number of cards)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.options);
    const Said said = Run(row.options, {kWhole, kCard});
    CHECK(said.err == "vramplan: " + std::string(row.says) + "\n");
    CHECK(said.exit_code == row.exit_code);
  }
  // The script's own failure is told with the number that it had.
  CHECK(Run("--gpu t4 --largest batch=1:8", {"", "", "exit 5"}).err ==
        "vramplan: vramplan_test_train.sh with batch=4: ended with exit code 5 and imported no torch (hint: its own "
        "output stands above; is it the right python?)\n");
}

TEST_CASE("one process with two cards: a row for each, and no ranks") {
  const std::string two = std::string(kRecording) + "on-card\t0\t500000000\t500000000\t600000000\n" +
                          "on-card\t1\t700000000\t710000000\t800000000\nend\tsteps\t2.0\n";
  // No rank in the environment.
  const Said said = Run("--gpu t4 --gpus 2 --one-process", {two, kCard, "test -z \"$RANK\""});
  CHECK(said.exit_code == 0);
  CHECK(said.out.find("cuda:0      1  476.84 MiB  476.84 MiB  572.20 MiB") != std::string::npos);
  CHECK(said.out.find("cuda:1      1  667.57 MiB  677.11 MiB  762.94 MiB") != std::string::npos);
  CHECK(said.err.find("rank") == std::string::npos);
  const std::string failed =
      std::string(kRecording) + "failed\ttorch.AcceleratorError\tCUDA error: invalid device ordinal\nend\texit\t1\n";
  CHECK(Run("--gpu t4", {failed, kCard, "exit 1"}).err ==
        "vramplan: vramplan_test_train.sh: ended with exit code 1 after 1 steps: torch.AcceleratorError: CUDA error: "
        "invalid device ordinal (hint: the pretend machine has 1 card: --gpus 2 --one-process gives two to one "
        "process)\n");
}

TEST_CASE("what cannot be answered is one line") {
  struct Row {
    const char* options;
    Script script;
    const char* says;
    int exit_code = 1;
  };
  const std::string failed = std::string(kRecording) + "failed\tbuiltins.TypeError\tnot callable\nend\texit\t2.0\n";
  const Row rows[] = {
      {"--gpu t4",
       {"", "", "exit 5"},
       "vramplan_test_train.sh: ended with exit code 5 and imported no torch (hint: its own output stands above; is it "
       "the right python?)"},
      {"--gpu t4",
       {"", "", "exit 127"},
       "vramplan_test_train.sh: the command was not found (hint: type the command after --, as you would without "
       "vramplan)"},
      {"--gpu t4",
       {"", kCard},
       "vramplan_test_train.sh: used the card, but the hook did not run in it (hint: leave out python -I, -E and -S, "
       "which keep sitecustomize away)"},
      {"--gpu t4",
       {"vramplan.recording/1\ntorch\t2.10.0+cpu\t\t\nend\texit\t1\n"},
       "vramplan_test_train.sh: torch 2.10.0+cpu is built without CUDA (hint: install a CUDA wheel, which needs no "
       "GPU: python -m venv cuda && cuda/bin/pip install torch)"},
      {"--gpu t4",
       {"vramplan.recording/1\ntorch\t2.10.0+rocm7\t\t7.0\nend\texit\t1\n"},
       "vramplan_test_train.sh: torch 2.10.0+rocm7 is built for ROCm, and the pretend card is one of CUDA (hint: "
       "install a CUDA wheel next to it: python -m venv cuda && cuda/bin/pip install torch)"},
      {"--gpu t4",
       {"vramplan.recording/1\ntorch\t2.10.0\t12.8\t\nend\texit\t1\n"},
       "vramplan_test_train.sh: ended with exit code 0 and never used the card (hint: does it choose its device by an "
       "option, such as --device cuda?)"},
      {"--gpu t4",
       {failed, kCard, "exit 1"},
       "vramplan_test_train.sh: ended with exit code 1 after 1 steps: builtins.TypeError: not callable (hint: its own "
       "output stands above)"},
      {"--gpu t4",
       {failed + "by-value\tunique()\t1\t/x/loss.py\t402\tloss\n", kCard, "exit 1"},
       "vramplan_test_train.sh: ended with exit code 1 after 1 steps: builtins.TypeError: not callable (hint: its own "
       "output stands above; unique() at /x/loss.py:402 gave a shape that depends on values, which are zeros here)"},
      {"--gpu t4",
       {kRecording, kCard, "kill -9 $$"},
       "vramplan_test_train.sh: was ended by signal 9 after 1 steps (hint: its own output stands above)"},
      {"--gpu-memory 100MiB",
       {kWhole, kCard},
       "a card of 100.00 MiB: its context alone takes 350.00 MiB of 100.00 MiB: nothing is left (hint: name a larger "
       "card, or --context SIZE)"},
      {"--gpu t4 --steps 0",
       {kWhole, kCard},
       "--steps: \"0\" is not a number of steps from 1 to a million (hint: type --steps 3)",
       2},
      {"--gpu t4 --steps 2 --until-exit",
       {kWhole, kCard},
       "--until-exit: does not go with --steps (hint: leave one of them out)",
       2},
      {"--gpu rx-7900-xtx",
       {kWhole, kCard},
       "--gpu: Radeon RX 7900 XTX is not a card of CUDA, which is what run pretends (hint: vramplan gpus shows others)",
       2},
  };
  for (const Row& row : rows) {
    CAPTURE(row.options);
    const Said said = Run(row.options, row.script);
    CHECK(said.err == "vramplan: " + std::string(row.says) + "\n");
    CHECK(said.out == "");
    CHECK(said.exit_code == row.exit_code);
  }
  CHECK(Do("run --gpu t4").err ==
        "vramplan: run: no command is given (hint: type vramplan run --gpu t4 -- python train.py)\n");
  CHECK(Do("run python").err ==
        "vramplan: python: the command comes after -- (hint: type vramplan run --gpu t4 -- python ...)\n");
  const ScopedVariable hidden("CUDA_VISIBLE_DEVICES", "");
  CHECK(Run("--gpu t4", {kWhole, kCard}).err ==
        "vramplan: CUDA_VISIBLE_DEVICES: hides every card from the script (hint: type unset CUDA_VISIBLE_DEVICES)\n");
}

TEST_CASE("nothing is left: no file, no process; and stdout is the answer alone") {
  const std::string seen = (std::filesystem::temp_directory_path() / "vramplan_test_seen").string();
  const Said said = Run(
      "--gpu t4",
      {kWhole, kCard, "echo $VRAMPLAN_RECORDING >" + seen + "; (sleep 600 & echo $! >>" + seen + "); echo chatter"});
  CHECK(said.exit_code == 0);
  CHECK(said.out.find("chatter") == std::string::npos);
  std::ifstream file(seen);
  std::string folder, pid;
  file >> folder >> pid;
  CHECK(folder.find("vramplan_run_") != std::string::npos);
  CHECK(!std::filesystem::exists(folder));
  // A process that was killed may wait to be reaped: it does not run.
  std::ifstream status("/proc/" + pid + "/stat");
  std::string number, name, state;
  status >> number >> name >> state;
  CHECK((state.empty() || state == "Z" || state == "X"));
  std::filesystem::remove(seen);
}

TEST_CASE("what the script is given") {
  const std::string seen = (std::filesystem::temp_directory_path() / "vramplan_test_seen").string();
  const ScopedVariable preload("LD_PRELOAD", nullptr), python("PYTHONPATH", "own/modules"),
      visible("CUDA_VISIBLE_DEVICES", "3");
  Run("--gpu t4 --steps 7", {kWhole, kCard,
                             "{ echo \"$VRAMPLAN_PRETEND_GPU\"; echo $VRAMPLAN_STEPS $CUDA_VISIBLE_DEVICES; "
                             "echo ${PYTHONPATH##*/pretend/}; echo ${LD_PRELOAD##*/}; } >" +
                                 seen});
  std::ifstream file(seen);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text ==
        "card Tesla T4\ncapability 7.5\nmultiprocessors 40\ntotal 15633680957\nusable 15633680957\ncontext "
        "367001600\n\n7 0\nhook:own/modules\nlibnvidia-ml.so.1\n");
  std::filesystem::remove(seen);
}

}  // namespace
