#include <algorithm>

#include "graph/base/check.h"
#include "planner/cli/verbs.h"

namespace vramplan {
namespace {

// In the order of the help.
constexpr VerbRow kVerbRows[] = {
    {Verb::kFit, "fit", Behind::kFile, "FILE.onnx --gpu t4", false, "fit FILE --gpu NAME",
     "does it fit, and what is the largest batch", "vramplan fit FILE.onnx --gpu NAME [options]",
     "Says whether the model trains (or infers) on a card, the largest batch that fits, and where every MiB goes. FILE "
     "may also be a model's name, or a run of a script that vramplan run --record wrote. Exit code 0: it fits, or is "
     "tight; 3: it does not fit.",
     "  vramplan fit unet.onnx --gpu t4\n"
     "  vramplan fit llama-3.1-8b --lora 16 --dim sequence=2048 --gpu rtx-4090\n"
     "  vramplan fit resnet50.onnx --gpu rtx-3090 --batch 64 --optimizer sgd-momentum\n"
     "  vramplan fit gpt.onnx --gpu-memory 14.56GiB --dim sequence=1024\n"
     "  vramplan fit resnet50.onnx --gpu all --batch 32\n",
     RunFit},
    {Verb::kRun, "run", Behind::kCommand, "--gpu t4 -- python train.py", false, "run -- python train.py",
     "whether a script fits, by running it on a pretend card", "vramplan run [--gpu NAME] [options] -- COMMAND...",
     "Runs a PyTorch script, unmodified and without a GPU, on a pretend card: PyTorch's own allocator counts the "
     "bytes, kernels compute nothing, and every read from the card gives zeros. Prints whether the script fits, what "
     "each step took, and which lines of Python hold the memory at the peak. The script is ended after a few optimizer "
     "steps; what it prints goes to stderr. Exit code 0: it fits (or no card was named); 3: it ran out of memory; 1: "
     "it failed for another reason.",
     "  vramplan run --gpu t4 -- python train.py --batch-size 32\n"
     "  vramplan run --gpu-memory 24GiB --steps 5 -- python -m my_package.train\n"
     "  vramplan run --gpu t4 --largest batch=1:512 -- python train.py --batch-size {batch}\n"
     "  vramplan run --gpu a100-80gb --gpus 1,2,4,8 -- python train_fsdp.py\n"
     "  vramplan run --until-exit --format json -- torchrun --nproc-per-node 1 train.py\n",
     RunScript},
    {Verb::kPlan, "plan", Behind::kFile, "FILE.onnx --gpu t4", false, "plan FILE --gpu NAME",
     "what to change so that it fits and loses the least time", "vramplan plan FILE.onnx --gpu NAME [options]",
     "Says what to change so that the training step fits and loses the least time: batch, precision, optimizer "
     "implementation, accumulation, and which modules to checkpoint. Options that you give are kept; plan chooses the "
     "others. Memory is replayed at the batch of the plan and at the first batch that fails; time is an estimate from "
     "the card's peak rates. For a run that vramplan run --record wrote, plan says what each change would do to it. "
     "Exit code 0: a plan fits; 3: none does.",
     "  vramplan plan unet.onnx --gpu t4\n"
     "  vramplan plan unet.onnx --gpu-memory 8GiB --batch 16 --precision fp32\n"
     "  vramplan plan gpt.onnx --gpu rtx-3090 --dim sequence=1024 --optimizer adamw --effective-batch 512\n",
     RunPlan},
    {Verb::kEstimate, "estimate", Behind::kFile, "FILE.onnx", false, "estimate FILE",
     "how much memory a step takes, and what takes it", "vramplan estimate FILE.onnx [options]",
     "Says how much GPU memory a training or inference step takes, and what takes it. Nothing is run and no GPU is "
     "needed. Exit code 0: done; 3: the step does not fit on the card that --gpu names.",
     "  vramplan estimate resnet50.onnx --batch 32\n"
     "  vramplan estimate bert.onnx --batch 8 --dim sequence=128 --optimizer adamw\n"
     "  vramplan estimate unet.onnx --mode infer --format json\n",
     RunEstimate},
    {Verb::kExplain, "explain", Behind::kFile, "LOG --model FILE.onnx", false, "explain LOG",
     "why a run ran out of memory, and which request of the step failed",
     "vramplan explain LOG|- [--model FILE.onnx] [options]",
     "Reads an out-of-memory message, alone or anywhere in the log of a run, and says what was full and why: other "
     "processes, fragmentation, a limit, another library, or a step that needs more than the card has. With --model it "
     "names the request of the step that failed (phase, tensor, layer), and says what fits on that card and which plan "
     "to ask for. It knows the messages of PyTorch (all versions since 0.4 and all devices), TensorFlow, JAX, CuPy, "
     "Paddle, ONNX Runtime, TensorRT, llama.cpp, vLLM, CUDA and its libraries, and processes that were killed because "
     "the host's RAM was full. Exit code 0: explained; 1: the text does not say that memory ran out.",
     "  vramplan explain train.log\n"
     "  python train.py 2>&1 | tee train.log | vramplan explain - --model unet.onnx\n"
     "  vramplan explain train.log --model gpt.onnx --dim sequence=1024 --optimizer adamw --batch 8\n",
     RunExplain},
    {Verb::kSweep, "sweep", Behind::kFile, "FILE.onnx --over batch=1:256:x2", false, "sweep FILE --over batch=1:64:x2",
     "how memory grows with the batch, a length or an option",
     "vramplan sweep FILE.onnx --over NAME=VALUES [--over NAME=VALUES] [options]",
     "Shows how memory grows: the step under every combination of the values, as a table, CSV, JSON or a page, with "
     "the law of each length (linear, quadratic, steps) and its coefficient. With --gpu NAME each row has its verdict; "
     "with --gpu all, the smallest card that holds it. The exit code is 0 whatever the verdicts are.",
     "  vramplan sweep unet.onnx --over batch=1:64:x2 --gpu t4\n"
     "  vramplan sweep gpt.onnx --over batch=1,4 --over sequence=128:4096:x2 --format html --out gpt.html\n"
     "  vramplan sweep vit.onnx --over precision=fp32,amp-bf16 --over batch=8:64:x2 --gpu all\n",
     RunSweep},
    {Verb::kInspect, "inspect", Behind::kFile, "FILE.onnx", false, "inspect FILE", "what the file says",
     "vramplan inspect FILE.onnx [options]",
     "Shows what the file says: inputs and free dimensions, parameters, operators, and the framework operators that "
     "they stand for.",
     "  vramplan inspect model.onnx\n"
     "  vramplan inspect model.onnx --dump shapes --dim sequence=128\n"
     "  vramplan inspect model.onnx --format json --out model.json\n",
     RunInspect},
    {Verb::kGpus, "gpus", Behind::kWord, "t4", false, "gpus [TEXT]", "the cards that --gpu knows",
     "vramplan gpus [TEXT] [options]",
     "Lists the cards that --gpu knows, and the memory that CUDA really gets on them.",
     "  vramplan gpus\n"
     "  vramplan gpus 3080\n"
     "  vramplan gpus a100 --format json\n",
     RunGpus},
    {Verb::kModels, "models", Behind::kWord, "llama", false, "models [TEXT]",
     "the models that are known by name, such as llama-3.1-8b", "vramplan models [TEXT] [options]",
     "Lists the models that are known by name. Type a name wherever a file is asked for. Other models of these classes "
     "are given by a folder with a config.json, by that file itself, or by ORG/NAME on the Hub.",
     "  vramplan models\n"
     "  vramplan models qwen3\n"
     "  vramplan fit qwen3-8b --gpu rtx-4090 --lora 16 --dim sequence=2048\n",
     RunModels},
    {Verb::kUi, "ui", Behind::kWord, "FILE.onnx", false, "ui [FILE]",
     "a page in the browser that answers while you change batch, card or precision",
     "vramplan ui [FILE|NAME] [--port N]",
     "Serves a page on this machine only and prints its address. The page has controls for card, batch, lengths, "
     "precision, optimizer, LoRA and checkpoints; verdict, pictures and configuration follow each change. It shows the "
     "command line that gives the same answer. Files and out-of-memory messages can be dropped on it. The address "
     "holds a random token, and requests without it are refused. Ctrl-C ends it.",
     "  vramplan ui\n"
     "  vramplan ui unet.onnx\n"
     "  vramplan ui llama-3.1-8b --port 8040\n",
     RunUi},
    {Verb::kDiff, "diff", Behind::kTwoFiles, "OLD.onnx NEW.onnx --budget 2%", false, "diff OLD NEW",
     "what a changed model costs, and whether the peak grew too much", "vramplan diff OLD NEW [--budget 2%] [options]",
     "Says how much more or less memory a changed model takes. Compares estimate of both, level by level, and lists "
     "the categories and modules that changed. OLD and NEW are models, or answers that vramplan estimate or vramplan "
     "run wrote with --format json. Exit code 0: the requested peak is within the budget; 3: it grew by more.",
     "  vramplan diff main.onnx branch.onnx --batch 8 --budget 2%\n"
     "  vramplan diff before.json after.json --budget 100MiB\n"
     "  vramplan diff main.onnx branch.onnx --format markdown >> \"$GITHUB_STEP_SUMMARY\"\n",
     RunDiff},
    {Verb::kProbe, "probe", Behind::kNothing, "", false, "probe", "this machine's cards, and who holds their memory",
     "vramplan probe [options]",
     "Shows this machine's cards, their memory, the processes that hold it, and the driver. Also measures what a CUDA "
     "context and the libraries take, with a context that is opened for it and closed again. Exit code 0: there is a "
     "card; 4: there is no card or no driver (the message says why).",
     "  vramplan probe\n"
     "  vramplan probe --no-context --format json\n",
     RunProbe},
    {Verb::kCalibrate, "calibrate", Behind::kNothing, "--model", false, "calibrate",
     "measure a card of this machine, for --gpu auto and --profile", "vramplan calibrate [--model FILE.onnx] [options]",
     "Measures a card of this machine: what can be allocated, what the context and libraries take, how fast the card "
     "copies and computes, and with --model what cuDNN takes for the model's convolutions. For a moment it takes all "
     "free memory except a margin, and gives it back. The profile is stored, and --gpu auto uses it from then on. Exit "
     "code 0: done; 4: no card, or the card was lost.",
     "  vramplan calibrate\n"
     "  vramplan calibrate --model unet.onnx --batch 16 --out t4.json\n"
     "  vramplan calibrate --gpu auto:1\n",
     RunCalibrate},
    {Verb::kValidate, "validate", Behind::kFile, "FILE.onnx", false, "validate FILE",
     "replay a step on this machine's card, and compare it with the prediction",
     "vramplan validate FILE.onnx [--gpu auto:N] [options]",
     "Replays a step of the model on a card of this machine, allocation by allocation, through vramplan's model of "
     "PyTorch's caching allocator; writes every byte that a tensor gets, and watches the card's memory from inside and "
     "outside. Prints predicted and observed values side by side, level by level; then finds the largest batch that "
     "the card really runs. Without --batch it replays the largest batch that is predicted to fit. It leaves a margin "
     "for other programs, stops if they take memory meanwhile, and gives everything back. Exit code 0: the card "
     "agrees; 3: it does not; 4: no card, or it could not answer.",
     "  vramplan validate unet.onnx\n"
     "  vramplan validate resnet50.onnx --batch 64 --optimizer sgd-momentum --gpu auto:1\n"
     "  vramplan validate unet.onnx --max-bytes 4GiB --format json\n"
     "  vramplan validate unet.onnx --dry-run --gpu t4\n",
     RunValidate},
    {Verb::kWatch, "watch", Behind::kProcess, "PID --model FILE.onnx", false, "watch PID",
     "watch a run, and compare its peak with the prediction",
     "vramplan watch PID | --command TEXT [--model FILE.onnx] [options]",
     "Watches the cards of this machine while a process and its descendants run, and prints the most memory that they "
     "held. With --model it compares that with the prediction of estimate, and says what explains the difference: "
     "context, reserved, allocated, a second process, or others; the options of estimate apply. It ends when the "
     "process does. Exit code 0: within the predicted range (or nothing to compare with); 3: outside; 4: no card, or "
     "the run was not seen on one.",
     "  vramplan watch 4121\n"
     "  vramplan watch 4121 --model unet.onnx --batch 8 --optimizer adamw\n"
     "  vramplan watch --command \"python train.py\" --model unet.onnx --batch 8 --save\n",
     RunWatch},
    {Verb::kTrace, "trace", Behind::kFile, "FILE.onnx", true, "trace FILE",
     "every allocation of a step, as CSV, or where it differs from a recorded one",
     "vramplan trace FILE.onnx [options]",
     "Writes every allocation and free of one step, as PyTorch's caching allocator sees them, as CSV: event (alloc, "
     "free), block (numbered in the step; old: made before it), bytes (of the block), phase (forward, loss, backward, "
     "update, zero_grad), module, autograd_node, operator, inner_operator, allocated_after, onnx_node. With --compare "
     "FILE it prints instead where and how the step differs from a recorded stream, or from a run that vramplan run "
     "--record wrote; the answer begins with equal or differs.",
     "  vramplan trace unet.onnx --batch 4 --out unet.csv.gz\n"
     "  vramplan trace unet.onnx --batch 4 --compare recorded.csv.gz\n"
     "  vramplan trace gpt.onnx --dim sequence=128 --optimizer adamw --step 1 | head\n"
     "  vramplan trace unet.onnx --batch 4 --problem --out unet.txt\n"
     "\nto record a step on your GPU: docs/trace.md has a script that takes it from torch.profiler.\n"
     "Columns after phase may be missing or empty.\n",
     RunTrace},
    {Verb::kCompare, "compare", Behind::kFile, "run.pickle --model FILE.onnx", true, "compare SNAPSHOT",
     "where a step that PyTorch recorded differs from the predicted one",
     "vramplan compare SNAPSHOT --model FILE.onnx [options]",
     "Compares a step that PyTorch recorded on a card with the predicted one, event by event, and says where they "
     "first differ. SNAPSHOT is what torch.cuda.memory._dump_snapshot(\"run.pickle\") wrote after "
     "torch.cuda.memory._record_memory_history(); reading it executes nothing that is in it. Files that trace "
     "--compare reads are accepted too. Give the options of the step that ran. The answer begins with equal or "
     "differs.",
     "  vramplan compare run.pickle --model unet.onnx --batch 4\n"
     "  vramplan compare run.pickle --model gpt.onnx --dim sequence=128 --optimizer adamw --step 2\n",
     RunCompare},
    {Verb::kReplay, "replay", Behind::kFile, "FILE.csv", true, "replay FILE.csv",
     "a stream of requests with another allocator configuration or card", "vramplan replay FILE.csv[.gz] [options]",
     "Feeds a stream of requests to vramplan's model of PyTorch's caching allocator and prints the peaks: what the "
     "same run would take with other allocator options, or on a smaller card. The stream has the columns op, id, bytes "
     "(op: alloc, free, empty_cache), or those that trace writes. With --check every recorded value is compared. Exit "
     "code 3: some requests do not fit.",
     "  vramplan replay recorded.csv.gz --gpu-memory 8GiB --check\n"
     "  vramplan replay recorded.csv.gz --allocator-conf expandable_segments:True\n",
     RunReplay},
    {Verb::kSolve, "solve", Behind::kFile, "FILE", true, "solve FILE",
     "what to compute again so that a graph of values fits a budget, with a bound", "vramplan solve FILE [options]",
     "Rematerialisation on its own: which values to compute again, and when, so that no more than the budget is held "
     "at once and recomputation costs least. FILE is text: a line \"n m\", n lines \"cost bytes\" (whole numbers; "
     "nodes in the order in which they run), m lines \"source target\" (edges; nodes count from 0). Lines that begin "
     "with # are comments. A schedule is a line of node numbers: first occurrences are in order, and a value is held "
     "from each computation to its last use before the next one. Prints its cost, and a lower bound for every schedule "
     "of this order. Without --budget it finds the smallest budget that has a schedule, and the cheapest schedule for "
     "it. It uses one thread and counts work instead of time, so the same --seed and --seconds give the same schedule "
     "unless the machine is too slow. Exit code 0: found; 3: none within the budget.",
     "  vramplan solve resnet50.txt --budget 8GiB --out schedule.txt\n"
     "  vramplan solve resnet50.txt --budget 9129120 --seconds 10 --format json\n"
     "  vramplan solve resnet50.txt\n",
     RunSolve},
    {Verb::kCheck, "check", Behind::kTwoFiles, "FILE SCHEDULE --budget N", true, "check FILE SCHEDULE",
     "whether a schedule of such a graph is valid and fits", "vramplan check FILE SCHEDULE --budget N",
     "Checks that a schedule, from any source, is valid for the problem in FILE and stays within the budget. Shares no "
     "code with solve. Prints its cost and its peak. Exit code 0: it is valid and fits; 3: it takes more; 1: it is not "
     "valid (the message says why).",
     "  vramplan check resnet50.txt schedule.txt --budget 8GiB\n", RunCheck},
};

}  // namespace

std::span<const VerbRow> VerbRows() { return kVerbRows; }

const VerbRow& RowOf(Verb verb) {
  const auto* const row = std::ranges::find(kVerbRows, verb, &VerbRow::verb);
  CHECK(row != std::end(kVerbRows));
  return *row;
}

std::string_view Name(Verb verb) { return RowOf(verb).name; }

bool TakesFile(Verb verb) {
  const Behind behind = RowOf(verb).behind;
  return behind == Behind::kFile || behind == Behind::kTwoFiles;
}

}  // namespace vramplan
