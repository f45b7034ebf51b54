#include <algorithm>
#include <array>
#include <cmath>

#include "graph/base/text_table.h"
#include "planner/report/explain.h"
#include "planner/report/parts/bottleneck.h"
#include "planner/report/text/explain_advice.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

// A size, or that there is none like it: what was below zero and was printed as unsigned.
std::string SizeText(Bytes bytes) {
  if (bytes == Bytes::Max()) return "a size below zero or beyond 63 bits";
  const double exbibytes = static_cast<double>(bytes.count()) / static_cast<double>(int64_t{1} << 60);
  return bytes < kBeyondAnyMachine ? ToString(bytes) : Formatted("%.3g EiB", exbibytes);
}

std::string WhereText(const OutOfMemory& message) {
  if (message.place != MemoryPlace::kCard) return "";
  std::string text = message.gpu ? " on card " + std::to_string(*message.gpu) : "";
  if (!message.capacity) return text;
  if (!message.pool.empty())
    return text + ", within " + std::string(message.pool) + " of " + ToString(*message.capacity);
  return text + (text.empty() ? " on a card of " : " of ") + ToString(*message.capacity);
}

std::string PiecesText(const ExplainReport& report) {
  const OutOfMemory& message = report.message;
  const std::string pieces = OrSome(report.shares.unallocated);
  if (!message.pool.empty()) return "though " + pieces + " of it are unused, in pieces: fragmentation";
  const bool alone = report.shares.unallocated >= message.tried;
  return "though " + pieces + " lie unused between live tensors" +
         (alone ? ", in pieces that are too small one by one" : " and " + OrSome(message.free) + " are free") +
         ": fragmentation";
}

std::string KeyValueText(const OutOfMemory& message) {
  std::string text = "the server has too little memory left for its key/value cache";
  if (!message.tokens && !message.tried) return text;
  text += ": one request";
  if (message.tokens) text += " of " + std::to_string(*message.tokens) + " tokens";
  if (message.tried)
    return text + " needs " + ToString(*message.tried) +
           (message.free ? ", and " + ToString(*message.free) + " is left" : ", and the cache has less");
  return message.tokens_fit ? text + ", and room for " + std::to_string(*message.tokens_fit) : text;
}

// Where a card is full, and what lies in pieces would have served this one request.
bool HadPieces(const ExplainReport& report) {
  const OutOfMemory& message = report.message;
  const Bytes pieces = report.shares.unallocated.value_or(Bytes());
  return report.cause == OutOfMemoryCause::kFull && message.kind == "pytorch" && message.tried &&
         message.tried != Bytes::MiB(2) && message.pool.empty() && pieces > Bytes() &&
         pieces + message.free.value_or(Bytes()) >= *message.tried;
}

std::string FullText(const ExplainReport& report) {
  const OutOfMemory& message = report.message;
  if (message.total && message.capacity) return "one compiled program takes " + ToString(*message.total) + " in all";
  if (HadPieces(report))
    return "only " + (message.free > Bytes() ? OrSome(message.free) + " are free, and " : "") +
           OrSome(report.shares.unallocated) + " lie unused in pieces";
  const std::string need = std::string(SubjectOf(message.failure.part)) +
                           (message.pool.empty() ? " needs more than the card has" : " needs more than that");
  if (!message.capacity && message.free) return "and " + ToString(*message.free) + " were free";
  if (report.shares.undivided && message.pool.empty())
    return "this process holds " + ToString(*report.shares.undivided) + ": " + need;
  return need;
}

std::string ExplainVerdictLine(const ExplainReport& report) {
  const OutOfMemory& message = report.message;
  std::string line = "out of memory" + WhereText(message) + ": ";
  const bool not_of_the_card = message.place == MemoryPlace::kOnChip || message.place == MemoryPlace::kKeyValue;
  if (message.tried && !not_of_the_card) line += SizeText(*message.tried) + " more did not fit, ";
  switch (report.cause) {
    case OutOfMemoryCause::kHostMemory:
      if (message.tried && message.free)
        return line + ToString(*message.free) + " were free: host memory ran out, not a card's";
      return line + (message.tried || message.in_use ? "host memory ran out, not a card's"
                                                     : "host memory ran out, most likely, and not a card's");
    case OutOfMemoryCause::kOnChip:
      return "not the card's memory: one kernel wants " + OrSome(message.tried) +
             " of shared memory in a multiprocessor, and may have " + OrSome(message.capacity);
    case OutOfMemoryCause::kKeyValue:
      return line + KeyValueText(message);
    case OutOfMemoryCause::kImpossible:
      return line + "which no machine has: the size is a mistake in the program";
    case OutOfMemoryCause::kBeyondCard:
      if (!message.capacity) return line + "one request is larger than any card";
      return line + (message.tried == message.capacity ? "one request is as large as the card"
                                                       : "one request is larger than the card");
    case OutOfMemoryCause::kPagedOut:
      return line + "PyTorch holds " + OrSome(message.reserved ? message.reserved : message.allocated) +
             ", more than the card has: Windows pages the rest to the host's memory";
    case OutOfMemoryCause::kLimit:
      return line + (message.tried > message.allowed ? "single requests are" : "the process is") + " limited to " +
             OrSome(message.allowed);
    case OutOfMemoryCause::kGraphs:
      return line + "though " + OrSome(report.shares.graphs) +
             " are idle in the pools of CUDA graphs, which nothing else may use";
    case OutOfMemoryCause::kFragmentation:
      return line + PiecesText(report);
    case OutOfMemoryCause::kOthers:
      return line + "other processes hold " + OrSome(report.shares.others) + " of the card";
    case OutOfMemoryCause::kOutside:
      return line + "the process holds " + OrSome(report.shares.outside) + " outside PyTorch's allocator";
    case OutOfMemoryCause::kRefused:
      return line + "though " + OrSome(message.free) + " were free";
    case OutOfMemoryCause::kUnnamed:
      return line + OrSome(report.shares.unknown) + " of the card are not named by the message" +
             (message.in_use || message.reserved
                  ? ": other processes, or what this one holds beside PyTorch's allocator (NCCL, other libraries)"
                  : ": this process, or others");
    case OutOfMemoryCause::kFull:
      return line + FullText(report);
    case OutOfMemoryCause::kNoNumbers:
      if (message.total) return line + "one compiled program takes " + ToString(*message.total) + " in all";
      return line + "the message does not say what held the memory";
  }
  return line;
}

// Processes that hold a context each: a rank of the same run makes one on the first card when it touches that before its
// own.
std::string SiblingsText(const OutOfMemory& message) {
  int64_t count = 0;
  Bytes most;
  for (const OutOfMemoryProcess& process : message.processes) {
    if (process.own) continue;
    ++count;
    most = std::max(most, process.in_use);
  }
  const bool alike = std::ranges::all_of(message.processes, [&](const OutOfMemoryProcess& process) {
    return process.own || process.in_use >= most - kRounding;
  });
  if (count < 2 || !alike || most > kMostContext) return "";
  return std::to_string(count) + " processes hold " + ToString(most) +
         " each, about a CUDA context: if they are ranks of this run, torch.cuda.set_device(local_rank) before "
         "anything "
         "else on the card keeps them off it";
}

// What PyTorch asks the driver for where a tensor is smaller (c10/core/AllocatorConfig.h, kSmallBuffer and kLargeBuffer).
std::string SegmentText(const OutOfMemory& message) {
  if (message.kind != "pytorch" || message.backend == "MPS") return "";
  if (message.tried == Bytes::MiB(2)) return "2.00 MiB is what PyTorch asks for where a tensor has 1 MiB or less";
  if (message.tried == Bytes::MiB(20)) return "20.00 MiB is what PyTorch asks for where a tensor has 1 to 10 MiB";
  return "";
}

// Beside a context and libraries a process holds no more than this for a run of its own; more is of this run.
constexpr Bytes kMostOfCard = Bytes::GiB(2);

// What else the numbers say, a sentence each.
std::vector<std::string> Remarks(const ExplainReport& report) {
  const OutOfMemory& message = report.message;
  std::vector<std::string> lines;
  if (!message.remark.empty()) lines.emplace_back(message.remark);
  if (message.cut) lines.emplace_back("the message is cut off: the sentences behind it say what this process holds");
  if (!message.raised)
    lines.emplace_back("it was logged, not raised: the run went on, and may have ended by something else");
  if (message.messages > 1)
    lines.push_back("the text has " + std::to_string(message.messages) + " such messages; this is the first" +
                    (message.raised ? " that was raised" : ""));
  if (!message.shape.empty()) lines.push_back("it is a tensor of " + message.shape);
  if (const std::string segment = SegmentText(message); !segment.empty()) lines.push_back(segment);
  if (HadPieces(report) && !message.no_expandable && !message.before_2_1)
    lines.emplace_back(
        "expandable_segments:True in PYTORCH_CUDA_ALLOC_CONF may have found room for this request; what comes after "
        "it may not fit");
  std::string parts;
  for (const OutOfMemoryPart& part : message.parts)
    parts += (parts.empty() ? "" : ", ") + ToString(part.bytes) + " " + std::string(part.name);
  if (message.unread_processes > 1)
    lines.push_back(std::to_string(message.unread_processes) +
                    " processes use this card, and a container does not see how much: if they are ranks of this run, "
                    "torch.cuda.set_device(local_rank) before anything else on the card keeps them off it");
  if (!parts.empty()) lines.push_back("of " + OrSome(message.total) + " in all: " + parts);
  if (const std::string siblings = SiblingsText(message); !siblings.empty()) lines.push_back(siblings);
  const bool names_this_one = message.in_use || message.reserved;
  for (const OutOfMemoryProcess& process : message.processes) {
    const std::string name = "process " + std::to_string(process.pid);
    if (process.own) lines.push_back(name + " is this one: a container numbers its processes separately");
    if (!names_this_one) lines.push_back(name + " holds " + ToString(process.in_use) + ", and may be this one");
  }
  if (message.place == MemoryPlace::kHost && message.in_use)
    lines.push_back("the process that was killed held " + ToString(*message.in_use));
  if (!message.capacity && message.reserved) lines.push_back("its pool held " + ToString(*message.reserved));
  const Bytes unknown = report.shares.unknown.value_or(Bytes());
  if (report.cause == OutOfMemoryCause::kFull && message.reserved && !message.outside && unknown > kRounding)
    lines.push_back(ToString(unknown) + " is not named by the message: " + (message.free ? "" : "what was free, ") +
                    (unknown > kMostContext
                         ? "what this process holds beside PyTorch's allocator (NCCL, other libraries)"
                     : message.backend == "CUDA" ? "the CUDA context of this process, which takes up to 1.2 GiB (up to "
                                                   "1.5 GiB with PyTorch before CUDA 11.7)"
                                                 : "the context of this process") +
                    ", or other processes");
  const std::optional<Bytes> excess = message.pool.empty() ? ExcessOf(message) : std::nullopt;
  if (excess && IsPagedOut(message)) {
    lines.push_back(ToString(*excess) + " of it lay in the host's memory");
  } else if (excess) {
    lines.push_back("the numbers of the message do not add up: they sum to " + ToString(*message.capacity + *excess) +
                    ", and the card has " + ToString(*message.capacity));
  }
  if (message.outside && *message.outside > Bytes() && message.pool.empty())
    lines.push_back("the process held " + ToString(*message.outside) +
                    " outside PyTorch's allocator: the CUDA context, kernels and libraries" +
                    (*message.outside > kMostOfCard ? ", such as NCCL and captured graphs"
                     : !report.step                 ? ""
                                                    : " (--context " + std::to_string(message.outside->count() >> 20) +
                                          "MiB; --save keeps it for this card)"));
  return lines;
}

std::string PrintShares(const ExplainReport& report, const Style& style) {
  const std::vector<ShareRow> rows = ShareRows(report);
  if (rows.empty()) return "";
  TextTable table({{"when it failed", kLeft}, {"", kRight}, {"", kRight}});
  for (const ShareRow& row : rows)
    table.AddRow({row.name, ToString(row.bytes), PartText(row.bytes, *report.message.capacity)});
  table.AddRule();
  const std::string whole = report.message.pool.empty() ? "the card" : std::string(report.message.pool);
  table.AddRow({whole, ToString(*report.message.capacity), ""});
  return "\n" + table.Print(style.width);
}

std::string ModelText(const AnswerHead& head) {
  std::string text = FileName(head.model.file);
  if (head.model.has_batch) text += " at batch " + std::to_string(head.batch);
  return text;
}

std::string MatchText(const ExplainReport& report) {
  const ExplainedStep& step = *report.step;
  const std::string model = ModelText(step.head);
  if (!step.match) {
    if (!report.message.tried) return "";
    return model + " never requests " + SizeText(*report.message.tried) +
           " at once: the run had another batch, input size, precision or model, or the request came from other code";
  }
  const RequestMatch& match = *step.match;
  const bool close = std::abs(match.difference) <= kClose;
  const char* const found = close ? " (found from the message)" : " (the closest to the message)";
  std::string text = model + (step.batch_found ? found : "") + " makes this request " + WhenText(match.request) + ": " +
                     RequestText(match.request);
  if (match.alike > 1 && !match.refused)
    text += " (of " + std::to_string(match.alike) + " requests of this size the closest)";
  if (!report.message.allocated) return text;
  text += "; " + ToString(match.allocated) + " is allocated at that point, and the message says " +
          ToString(*report.message.allocated) + " (" + Formatted("%+.1f %%", 100 * match.difference) + ")";
  if (close) return text;
  return text + (match.difference > 0 ? ": the run held more than a step of this model: outputs or losses kept from "
                                        "step to step, another model, a validation without no_grad, other options"
                                      : ": the run held less: another batch, precision or optimizer");
}

std::string RoomText(const ExplainedStep& step) {
  std::string text = "PyTorch could use " + ToString(step.room) + " on that card";
  if (!step.room_told) text += " (the card's size minus a context, because the message does not say)";
  text += ": " + ModelText(step.head);
  if (step.match && step.match->refused) {
    text += " fails at that very request";
  } else {
    text += step.refused ? " fails " + WhenText(*step.refused) + ", at " + RequestText(*step.refused) : " fits";
  }
  if (step.largest && step.head.model.has_batch) {
    text += step.largest->largest_batch == 0 ? "; not even batch 1 fits"
                                             : "; largest batch " + std::to_string(step.largest->largest_batch);
  }
  if (step.expandable_fits) text += "; with expandable_segments:True this batch fits";
  return text;
}

// Where a model may say more: its step is what filled the card, or tried to.
bool AsksForModel(const ExplainReport& report) {
  using enum OutOfMemoryCause;
  constexpr std::array kOfStep{kFull, kFragmentation, kBeyondCard, kPagedOut};
  return report.message.kind == "pytorch" && std::ranges::find(kOfStep, report.cause) != kOfStep.end();
}

}  // namespace

std::vector<ShareRow> ShareRows(const ExplainReport& report) {
  const CardShares& shares = report.shares;
  std::vector<ShareRow> rows;
  if (!report.message.capacity || report.message.place != MemoryPlace::kCard) return rows;
  const auto add = [&](const char* name, const std::optional<Bytes>& bytes, const char* color) {
    if (bytes) rows.push_back({name, *bytes, color});
  };
  const bool pool = !report.message.pool.empty();
  add("live tensors", shares.allocated, "p4");
  add(pool ? "not in use" : "reserved, not allocated", shares.unallocated, "p9");
  add("idle, in pools of CUDA graphs", shares.graphs, "p3");
  add("this process, not PyTorch's allocator", shares.outside, "p10");
  add(shares.outside ? "PyTorch's allocator" : "this process", shares.undivided, "p2");
  add("other processes", shares.others, "p7");
  if (shares.unknown > Bytes()) {
    const bool of_others = shares.outside || pool;
    add(of_others     ? "not named by the message"
        : shares.free ? "not named by the message (context, other processes)"
                      : "not named by the message (free, context, other processes)",
        shares.unknown, "p8");
  }
  add("free", shares.free, "good");
  // The rest of the card alone says nothing.
  if (rows.size() == 1 && shares.unknown == report.message.capacity) rows.clear();
  return rows;
}

std::string PrintExplain(const ExplainReport& report, const Style& style) {
  std::string text = ExplainVerdictLine(report) + "\n";
  const auto line = [&](const std::string& said) {
    if (!said.empty()) text += Indented(said, style);
  };
  const OutOfMemory& message = report.message;
  if (!message.node.empty()) line("requested by " + message.node + (message.op.empty() ? "" : " (" + message.op + ")"));
  line(FailedInText(message.failure));
  line(LargeText(report));
  line(AdviceText(report));
  line(OwnAdvice(report));
  for (const std::string& remark : Remarks(report)) line(remark);
  if (!report.saved.empty()) line("what the message says about the card is in the profile now: " + report.saved);
  if (message.kind == "vllm") {
    if (!report.served) {
      line("vramplan fit NAME --gpu CARD --engine vllm tells whether vLLM starts with a model, and with which context");
    } else {
      line("with what the message says: " + report.served->verdict);
      text += "  what to ask: " + report.served->command + "\n";  // never wrapped: it is there to be pasted
    }
  } else if (!report.step && AsksForModel(report)) {
    line(
        "--model FILE.onnx, or a name such as llama-3.1-8b, tells which request of the model's step failed, and what "
        "fits on that card");
  }
  if (report.step) {
    line(MatchText(report));
    if (!report.step->plan.empty()) {
      line(RoomText(*report.step));
      const bool trains = report.step->head.mode == Mode::kTrain;
      text += (trains ? "  what to change: " : "  what fits there: ") + report.step->plan +
              "\n";  // never wrapped: it is there to be pasted
    }
    text += PrintSpec(report.step->head.spec, style);
  }
  return text + PrintShares(report, style);
}

}  // namespace vramplan
