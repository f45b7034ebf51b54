#include <cmath>

#include "graph/base/text_table.h"
#include "planner/report/explain.h"
#include "planner/report/parts/bottleneck.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string OrSome(const std::optional<Bytes>& bytes) { return bytes ? ToString(*bytes) : "some memory"; }

std::string WhereText(const OutOfMemory& message) {
  if (message.kind == OutOfMemoryKind::kHost) return "";
  std::string text = message.gpu ? " on card " + std::to_string(*message.gpu) : "";
  if (message.capacity) text += (text.empty() ? " on a card of " : " of ") + ToString(*message.capacity);
  return text;
}

std::string ExplainVerdictLine(const ExplainReport& report) {
  const OutOfMemory& message = report.message;
  std::string line = "out of memory" + WhereText(message) + ": ";
  if (message.tried) line += ToString(*message.tried) + " more did not fit, ";
  switch (report.cause) {
    case OutOfMemoryCause::kHostMemory:
      return line + "host memory ran out, not a card's";
    case OutOfMemoryCause::kBeyondCard:
      return line + "one request is larger than the card";
    case OutOfMemoryCause::kLimit:
      return line + "the process is limited to " + OrSome(message.allowed);
    case OutOfMemoryCause::kFragmentation:
      return line + "though " + OrSome(report.shares.unallocated) + " lie unused between live tensors" +
             (report.shares.unallocated >= message.tried ? "" : " and " + OrSome(message.free) + " are free") +
             ": fragmentation";
    case OutOfMemoryCause::kOthers:
      return line + "other processes hold " +
             OrSome(report.shares.others ? report.shares.others : report.shares.unknown) + " of the card";
    case OutOfMemoryCause::kOutside:
      return line + "the process holds " + OrSome(report.shares.outside) + " outside PyTorch's allocator";
    case OutOfMemoryCause::kRefused:
      return line + "though " + OrSome(message.free) + " were free";
    case OutOfMemoryCause::kFull:
      return line + "the step needs more than the card has";
    case OutOfMemoryCause::kNoNumbers:
      return line + "the message does not say what held the memory";
  }
  return line;
}

// What to do about it, whatever the model.
std::string AdviceText(const ExplainReport& report) {
  switch (report.cause) {
    case OutOfMemoryCause::kHostMemory:
      return "what helps: fewer workers or less prefetching of the data loader, less pinned memory, no offloading";
    case OutOfMemoryCause::kBeyondCard:
      return "that is a batch far too large, a score matrix of attention over all positions, or a shape that is a "
             "mistake (a "
             "broadcast, indices out of range)";
    case OutOfMemoryCause::kLimit:
      return "set_per_process_memory_fraction, or per_process_memory_fraction in PYTORCH_CUDA_ALLOC_CONF, set this "
             "limit";
    case OutOfMemoryCause::kFragmentation:
      return "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets PyTorch use free pieces together; inputs with a "
             "few fixed sizes leave fewer pieces";
    case OutOfMemoryCause::kOthers:
      return "nvidia-smi and vramplan probe name them; a run that died may still hold its memory";
    case OutOfMemoryCause::kOutside:
      return "another library with a pool of its own (TensorFlow, JAX, ONNX Runtime, CuPy, NCCL) shares the process; "
             "limit what each of them takes";
    case OutOfMemoryCause::kRefused:
      return "the number was read after the failure, when another process may have released memory; on Windows and WSL "
             "the "
             "driver keeps part of the card; and a single stretch of this size may not have been free";
    case OutOfMemoryCause::kFull:
      return "what helps: a smaller batch, a lower precision, checkpointed modules, or a smaller optimizer state";
    case OutOfMemoryCause::kNoNumbers:
      return "give the whole message, or run vramplan watch while the script runs";
  }
  return "";
}

// Rows that sum to the card.
std::string PrintShares(const ExplainReport& report, const Style& style) {
  const CardShares& shares = report.shares;
  if (!report.message.capacity || !shares.unknown) return "";
  TextTable table({{"when it failed", kLeft}, {"", kRight}, {"", kRight}});
  const double capacity = static_cast<double>(report.message.capacity->count());
  Bytes sum;
  const auto row = [&](const char* name, const std::optional<Bytes>& bytes) {
    if (!bytes) return;
    sum += *bytes;
    table.AddRow(
        {name, ToString(*bytes), Formatted("%.1f %%", 100.0 * static_cast<double>(bytes->count()) / capacity)});
  };
  row("live tensors", shares.allocated);
  row("reserved, not allocated", shares.unallocated);
  row("this process, not PyTorch's allocator", shares.outside);
  row("other processes", shares.others);
  row("not in the message (context, other processes)", *shares.unknown > Bytes() ? shares.unknown : std::nullopt);
  row("free", shares.free);
  VRAMPLAN_CHECK(sum == *report.message.capacity);
  table.AddRule();
  table.AddRow({"the card", ToString(sum), ""});
  return "\n" + table.Print(style.width);
}

std::string ModelText(const StepQuestion& question) {
  std::string text = FileName(question.model.file);
  if (question.model.has_batch) text += " at batch " + std::to_string(question.batch);
  return text;
}

std::string MatchText(const ExplainReport& report) {
  const ExplainedStep& step = *report.step;
  const std::string model = ModelText(step.question);
  if (!step.match) {
    if (!report.message.tried) return "";
    return model + " never requests " + ToString(*report.message.tried) +
           " at once: the run had another batch, input size, precision or model, or the request came from other code";
  }
  const RequestMatch& match = *step.match;
  std::string text = model + (step.batch_found ? " (found from the message)" : "") + " makes this request " +
                     WhenText(match.request) + ": " + RequestText(match.request);
  if (match.alike > 1 && !match.refused)
    text += " (of " + std::to_string(match.alike) + " requests of this size the closest)";
  if (!report.message.allocated) return text;
  text += "; " + ToString(match.allocated) + " is allocated at that point, and the message says " +
          ToString(*report.message.allocated) + " (" + Formatted("%+.1f %%", 100 * match.difference) + ")";
  if (std::abs(match.difference) <= kClose) return text;
  return text + (match.difference > 0 ? ": the run held more than a step of this model: outputs or losses kept from "
                                        "step to step, another model, a validation without no_grad, other options"
                                      : ": the run held less: another batch, precision or optimizer");
}

std::string RoomText(const ExplainedStep& step) {
  std::string text = "PyTorch could use " + ToString(step.room) + " on that card";
  if (!step.room_told) text += " (the card's size minus a context, because the message does not say)";
  text += ": " + ModelText(step.question);
  if (step.match && step.match->refused) {
    text += " fails at that very request";
  } else {
    text += step.refused ? " fails " + WhenText(*step.refused) + ", at " + RequestText(*step.refused) : " fits";
  }
  if (step.largest && step.question.model.has_batch) {
    text += step.largest->largest_batch == 0 ? "; not even batch 1 fits"
                                             : "; largest batch " + std::to_string(step.largest->largest_batch);
  }
  if (step.expandable_fits) text += "; with expandable_segments:True this batch fits";
  return text;
}

}  // namespace

std::string PrintExplain(const ExplainReport& report, const Style& style) {
  std::string text = Wrapped(ExplainVerdictLine(report), style.width, "  ") + "\n";
  const auto line = [&](const std::string& said) {
    if (!said.empty()) text += "  " + Wrapped(said, style.width - 2, "    ") + "\n";
  };
  const OutOfMemory& message = report.message;
  if (!message.node.empty()) line("requested by " + message.node + (message.op.empty() ? "" : " (" + message.op + ")"));
  line(AdviceText(report));
  if (const std::optional<Bytes> excess = ExcessOf(message)) {
    line("the numbers of the message do not add up: they sum to " + ToString(*message.capacity + *excess) +
         ", and the card has " + ToString(*message.capacity));
  }
  if (const std::optional<Bytes> outside = message.outside(); outside && *outside > Bytes()) {
    line("the process held " + ToString(*outside) +
         " outside PyTorch's allocator: the CUDA context, kernels and libraries (--context " +
         std::to_string(outside->count() >> 20) + "MiB; --save keeps it for this card)");
  }
  if (!report.saved.empty()) line("what the message says about the card is in the profile now: " + report.saved);
  if (!report.step && report.cause != OutOfMemoryCause::kHostMemory) {
    line("--model FILE.onnx tells which request of the model's step failed, and what fits on that card");
  }
  if (report.step) {
    line(MatchText(report));
    if (!report.step->plan.empty()) {
      line(RoomText(*report.step));
      text += "  what to change: " + report.step->plan + "\n";  // never wrapped: it is there to be pasted
    }
    text += PrintSpec(report.step->question.spec, style);
  }
  return text + PrintShares(report, style);
}

}  // namespace vramplan
