// What vramplan run refuses, and what it says of scripts that say nothing.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/planner/cli/script_support.h"

namespace vramplan::testing {
namespace {

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
      {"--gpu t4 --largest b=1:2 --largest-in no.yaml:b", "no.yaml with b=2: is not a file that can be read", 1},
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
      {"--gpu t4 --values real", "--values: \"real\" is not one of zeros or host (hint: type --values host)"},
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
        "vramplan: vramplan_test_train.sh with batch=4: ended with exit code 5 and imported no torch (hint: see its "
        "output above; is it the right python?)\n");
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
       "vramplan_test_train.sh: ended with exit code 5 and imported no torch (hint: see its output above; is it the "
       "right python?)"},
      {"--gpu t4",
       {"", "", "exit 127"},
       "vramplan_test_train.sh: ended with exit code 127 and imported no torch (hint: see its output above; is it the "
       "right python?)"},
      {"--gpu t4",
       {"", "", ": >$VRAMPLAN_RECORDING/$$.began; kill -9 $$"},
       "vramplan_test_train.sh: was ended by signal 9 before it could say what it took (hint: was the host's memory "
       "full? --steps 1 ends it earlier)"},
      {"--gpu t4",
       {"", "", ": >$VRAMPLAN_RECORDING/$$.began"},
       "vramplan_test_train.sh: ended with exit code 0 before it could say what it took (hint: was it "
       "killed by its parent? --steps 1 ends it earlier)"},
      {"--gpu t4",
       {"vramplan.recording/1\npreloaded\t0\ntorch\t2.10.0\t12.8\t\nend\texit\t1\n", "", "exit 1"},
       "vramplan_test_train.sh: ran without the pretend card: something in the command takes LD_PRELOAD away (hint: "
       "keep LD_PRELOAD, as sudo, env -i and some shells' profiles do not)"},
      {"--gpu t4",
       {"vramplan.recording/1\ntorch\t2.10.0\t12.8\t\nfailed\tbuiltins.RuntimeError\tNo CUDA GPUs are available\n"
        "end\texit\t1\n",
        "", "exit 1"},
       "vramplan_test_train.sh: failed before it used the card: it hides the card from itself (hint: does it set "
       "CUDA_VISIBLE_DEVICES? the pretend card is number 0)"},
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
       {"vramplan.recording/1\ntorch\t2.10.0\t12.8\t\nend\tseconds\t1\n"},
       "vramplan_test_train.sh: had not used the card when its time was up (hint: give it more time with --seconds)"},
      {"--gpu t4",
       {failed, kCard, "exit 1"},
       "vramplan_test_train.sh: ended with exit code 1 after 1 step: builtins.TypeError: not callable (hint: see its "
       "output above)"},
      {"--gpu t4",
       {failed + "by-value\tunique()\t1\t/x/loss.py\t402\tloss\n", kCard, "exit 1"},
       "vramplan_test_train.sh: ended with exit code 1 after 1 step: builtins.TypeError: not callable (hint: see its "
       "output above; unique() at /x/loss.py:402 gave a shape that depends on values, which are zeros here)"},
      {"--gpu t4",
       {kRecording, kCard, "kill -9 $$"},
       "vramplan_test_train.sh: was ended by signal 9 after 1 step (hint: see its output above)"},
      {"--gpu-memory 100MiB",
       {kWhole, kCard},
       "a card of 100.00 MiB: its context alone takes 350.00 MiB of 100.00 MiB: nothing is left (hint: name a larger "
       "card, or --context SIZE)"},
      {"--gpu t4 --steps 0",
       {kWhole, kCard},
       "--steps: \"0\" is not a whole number from 1 to 1000000 (hint: type --steps 3)",
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
  const ScopedVariable path("VRAMPLAN_PRETEND_PATH",
                            (std::filesystem::path(VRAMPLAN_BINARY).parent_path() / "pretend").c_str());
  CHECK(Do("run --gpu t4 -- nopython train.py").err ==
        "vramplan: nopython: the command was not found (hint: type the command after --, as you would without "
        "vramplan)\n");
  CHECK(Do("run --gpu t4").err ==
        "vramplan: run: no command is given (hint: type vramplan run --gpu t4 -- python train.py)\n");
  CHECK(Do("run python").err ==
        "vramplan: python: the command comes after -- (hint: type vramplan run --gpu t4 -- python ...)\n");
  const ScopedVariable hidden("CUDA_VISIBLE_DEVICES", "");
  CHECK(Run("--gpu t4", {kWhole, kCard}).err ==
        "vramplan: CUDA_VISIBLE_DEVICES: hides every card from the script (hint: type unset CUDA_VISIBLE_DEVICES)\n");
}

}  // namespace
}  // namespace vramplan::testing
