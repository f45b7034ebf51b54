// vramplan run, without torch: the command is a shell script that writes what the hook would have written.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "tests/planner/cli/script_support.h"
#include "tests/support/fake_probe.h"

namespace vramplan::testing {
namespace {

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

TEST_CASE("that a script was ended may look like a crash to what started it") {
  const Said said = Run("--gpu t4", {kWhole, kCard, "exit 1"});
  CHECK(said.exit_code == 0);
  CHECK((said.out + said.err).find("ended with exit code 1: vramplan ended the script after its last step") !=
        std::string::npos);
  // A process that began and told nothing is a crash.
  const std::string silent = "cd $VRAMPLAN_RECORDING; : >1.began; : >2.began; exit 1";
  CHECK(Run("--gpu t4", {kWhole, kCard, silent}).err ==
        "vramplan: vramplan_test_train.sh: ended with exit code 1 after 1 step (hint: see its output above)\n");
}

TEST_CASE("why a script was over") {
  struct Row {
    const char* end;
    const char* said;
  };
  const Row rows[] = {
      {"steps", "1 step, then it was ended;"},
      {"seconds", "1 step, then its time was up;"},
      {"loop", "1 step, then it was stopped in a loop that only reads values (they are all zero here);"},
      {"exit", "1 step, then it ended by itself;"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.end);
    std::string recording = kWhole;
    const size_t place = recording.find("\nend\t") + 5;
    recording.replace(place, recording.find('\t', place) - place, row.end);
    const Said said = Run("--gpu t4", {recording, kCard});
    CHECK(said.exit_code == 0);
    CHECK(std::regex_replace(said.out, std::regex("\\s+"), " ").find(row.said) != std::string::npos);
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
      {"run/vary_laws", "--gpu-memory 2GiB --vary batch_size=1,2,4,9 --vary sleep=0,1", "$1", " {batch_size} {sleep}"},
      {"run/vary_laws_json", "--gpu-memory 2GiB --vary n=1,2,3,4,5,6,7,8 --format json", "$((($1 + 3) / 4))", " {n}"},
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
        "note: rank 0: ran alone: the other ranks are assumed to do the same, and NCCL's own buffers are not counted "
        "(hint: --rank R runs another one)\n");
  // What the script says of its ranks is what counts.
  CHECK(Run("--gpu t4 --gpus 4", {kWhole, kCard})
            .err.starts_with("warning: --gpus 4: the script ran as one of 1 ranks\n"));
}

TEST_CASE("the bytes of a rank by category, as fit gives them of its record") {
  const std::string script =
      "[ \"$VRAMPLAN_DETAILS\" = 1 ] || exit 9\ncd $VRAMPLAN_RECORDING\n"
      "cat >of_rank <<'end_of_file'\n" +
      kWhole +
      "end_of_file\n"
      "rank() { sed \"s/^rank.*/rank\\t$1\\t$WORLDS/\" of_rank >$$0$1.recording\n"
      "printf 'vramplan.card/1\\ncard\\t0\\t2000000000\\t0\\t800000000\\n' >$$0$1.card; }\n";
  struct Row {
    const char* golden;
    const char* options;
    const char* ranks;
    const char* arguments = "";
  };
  const Row rows[] = {
      {"run/categories", "--gpu t4 --gpus 8 --rank 3", "WORLDS=8; rank 3"},
      {"run/categories_all", "--gpu t4 --gpus 2 --all-ranks", "WORLDS=2; rank 0; rank 1", " torchrun"},
      {"run/categories_table", "--gpu t4 --gpus 2,4", "WORLDS=$WORLD_SIZE; rank 0"},
      {"run/categories_json", "--gpu t4 --gpus 8 --format json", "WORLDS=8; rank 0"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.golden);
    const Said said = Run(row.options, {"", "", script + row.ranks}, row.arguments);
    CHECK(said.exit_code == 0);
    std::string out = WithoutPaths(said.out);
    out = std::regex_replace(out, std::regex("\n  [0-9]+ +([01] of 2 +cuda)"), "\n  1 $1");
    CHECK(out == Golden(row.golden, out));
  }
  // fit of the same run's record says the same.
  const ScratchFile record("rank.csv");
  CHECK(Run("--gpu t4 --gpus 8 --force --record " + record.path(), {"", "", script + "WORLDS=8; rank 0"}).exit_code ==
        0);
  const std::string fit = Do("fit " + record.path() + " --gpu t4 --format json").out;
  const std::string run = Run("--gpu t4 --gpus 8 --format json", {"", "", script + "WORLDS=8; rank 0"}).out;
  const auto categories = [](const std::string& json) {
    const size_t at = json.find("\"categories\": {");
    return std::regex_replace(json.substr(at, json.find('}', at) - at), std::regex("\\s+"), " ");
  };
  CHECK(categories(fit).find("\"parameters\": 200000000") != std::string::npos);
  CHECK(categories(run) == categories(fit));
  // Several cards of one process have one history.
  CHECK(Run("--gpu t4", {kWhole, kCard}).out.find("by category") == std::string::npos);
  CHECK(Run("--gpu t4 --gpus 2 --one-process", {kWhole, kCard}).out.find("by category") == std::string::npos);
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
  for (int i = 0; i < 6 && std::getline(file, line); ++i) lines += line + "\n";
  CHECK(lines ==
        "- max_split_size_mb:64\n- max_split_size_mb:64,expandable_segments:True\n"
        "foreach max_split_size_mb:64\ncheckpoint max_split_size_mb:64\n"
        "half max_split_size_mb:64\namp max_split_size_mb:64\n");
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
      "warning: train.py:9: nonzero() gives a shape that depends on values, which are zeros here (hint: --values host "
      "computes small tensors on the host)\n"
      "warning: train.py:10: nonzero() gives a shape that depends on values, which are zeros here (hint: --values host "
      "computes small tensors on the host)\n"
      "warning: train.py:11: nonzero() gives a shape that depends on values, which are zeros here; the same holds for "
      "1 of the other lines (hint: --values host computes small tensors on the host)\n");
  const Said json = Run("--gpu t4 --format json", {recording + "end\tsteps\t2.0\n", kCard});
  CHECK(json.out.find("\"value_dependent\": [\n    {\n      \"file\": \"/x/train.py\",\n      \"line\": 9,\n      "
                      "\"function\": \"main\",\n      \"what\": \"nonzero()\",\n      \"times\": 4\n    }") !=
        std::string::npos);
}

TEST_CASE("what was recorded can be replayed") {
  const ScratchFile stream("stream.csv");
  const std::string expected =
      "op,id,bytes,step,phase,category,element,module,file,line,function,caller\n"
      "reserved,,800000000,0,setup,,,,,,,\n"
      "alloc,0,200000000,0,setup,parameters,4,,/x/train.py,6,main,\n"
      "alloc,1,60000000,1,forward,activations,,blocks.0,/v/lib/site-packages/timm/layers.py,20,forward,/x/train.py:6\n"
      "alloc,2,40000000,1,forward,activations,,blocks.1,/v/lib/site-packages/timm/layers.py,20,forward,/x/train.py:6\n"
      "alloc,3,200000000,1,backward,gradients,4,,/x/train.py,11,main,\n"
      "alloc,4,200000000,1,update,optimizer_state,4,,/x/train.py,6,main,\n"
      "free,1,60000000,1,update,,,,,,,\n"
      "free,2,40000000,1,update,,,,,,,\n";
  CHECK(Run("--gpu t4 --force --record " + stream.path(), {kWhole, kCard}).exit_code == 0);
  CHECK(stream.Bytes() == expected);
  CHECK(Do("replay " + stream.path()).out.find("667.57 MiB") != std::string::npos);
  // A cache that the script gave back, segment by segment; then one that the card took back. An earlier record is ours.
  const std::string gone = std::string(kRecording) + "u\t4096\t1\nu\t4097\t1\nend\tsteps\t2.0\n";
  Run("--gpu t4 --record " + stream.path(), {gone, kCard});
  CHECK(stream.Bytes() == expected + "empty_cache,,,1,update,,,,,,,\n");
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

TEST_CASE("values on the host: asked for in the environment, and what it could not do is told") {
  const std::string recording = std::string(kRecording) + "on-host\t900\t12\taten::foo\taten::bar.out\n" +
                                "by-value\titem() of an unknown value\t1\t/x/loss.py\t402\tloss\nend\tsteps\t2.0\n";
  const Said said = Run("--gpu t4 --values host", {recording, kCard, "test \"$VRAMPLAN_VALUES\" = host"});
  CHECK(said.exit_code == 0);
  CHECK(said.err ==
        "warning: loss.py:402: item() of an unknown value: the host does not know it, it is read as zeros, and a shape "
        "may come from it (hint: check what these lines make of real values)\n"
        "note: --values host: 900 operators on small tensors ran on the host too, 12 did not: what goes into them is "
        "large, random or follows from such; the host cannot run aten::foo, aten::bar.out\n");
  CHECK(Run("--gpu t4", {kWhole, kCard, "test -z \"$VRAMPLAN_VALUES\""}).exit_code == 0);
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
        "vramplan: vramplan_test_train.sh: ended with exit code 1 after 1 step: torch.AcceleratorError: CUDA error: "
        "invalid device ordinal (hint: the pretend machine has 1 card: --gpus 2 --one-process gives two to one "
        "process)\n");
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
        "367001600\nspare 64\n\n7 0\nhook:own/modules\nlibnvidia-ml.so.1\n");
  std::filesystem::remove(seen);
}

}  // namespace
}  // namespace vramplan::testing
