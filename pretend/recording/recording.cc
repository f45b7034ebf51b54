#include "pretend/recording/recording.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pretend/recording/words.h"

namespace vramplan {
namespace {

constexpr std::string_view kFirstLine = "vramplan.recording/1", kFirstCardLine = "vramplan.card/1";

Bytes ReadBytes(Words* words) { return Bytes::Of(words->Number()); }

Levels ReadLevels(Words* words) {
  Levels counters;
  counters.requested = ReadBytes(words);
  counters.allocated = ReadBytes(words);
  counters.reserved = ReadBytes(words);
  return counters;
}

CodePlace ReadPlace(Words* words) {
  CodePlace place;
  place.file = words->Text();
  place.line = words->Number();
  place.function = words->Text();
  return place;
}

// The reader of one file: what a line says goes into the recording.
class Reader {
 public:
  explicit Reader(Recording* into) : into_(into) {}

  // False: the line cannot be read.
  bool Line(std::string_view line) {
    Words words(line);
    const std::string_view word = words.Raw();
    if (word == "a") return Allocation(&words);
    if (word == "f") return Event(HistoryKind::kFree, &words);
    if (word == "s") return Event(HistoryKind::kSegment, &words);
    if (word == "u") return Event(HistoryKind::kSegmentGone, &words);
    if (word == "o") return Event(HistoryKind::kRefused, &words);
    if (word == "frame") return Frame(&words);
    if (word == "stack") return Stack(&words);
    if (word == "mark") return ReadMark(&words);
    if (word == "step") return Step(&words);
    if (word == "in" || word == "out") return Module(word == "in", &words);
    if (word == "at") return ReadLoopMark(&words);
    if (word == "tag") return Tag(&words);
    return Rare(word, &words);
  }

 private:
  bool Event(HistoryKind kind, Words* words) {
    const auto address = static_cast<uint64_t>(words->Number());
    into_->history.push_back({kind, address, ReadBytes(words)});
    return !words->bad();
  }

  bool Allocation(Words* words) {
    const auto address = static_cast<uint64_t>(words->Number());
    HistoryEvent event{HistoryKind::kAllocate, address, ReadBytes(words)};
    event.stack = static_cast<int32_t>(words->Number());
    const std::string_view module = words->more() ? words->Raw() : std::string_view();
    if (!module.empty()) event.module = NumberOf(module);
    into_->history.push_back(event);
    return !words->bad() && event.stack >= 0 && event.stack < static_cast<int64_t>(into_->stacks.size());
  }

  int32_t NumberOf(std::string_view module) {
    const auto [place, fresh] = modules_.try_emplace(std::string(module), static_cast<int32_t>(modules_.size()));
    if (fresh) into_->modules.emplace_back(module);
    return place->second;
  }

  // An event for each address of "4096,8192"; of an empty list none.
  bool Addresses(std::string_view list, const HistoryEvent& event) {
    while (!list.empty()) {
      const size_t end = std::min(list.find(','), list.size());
      Words word(list.substr(0, end));
      into_->history.push_back(event);
      into_->history.back().address = static_cast<uint64_t>(word.Number());
      if (word.bad()) return false;
      list.remove_prefix(std::min(end + 1, list.size()));
    }
    return true;
  }

  bool Module(bool enters, Words* words) {
    HistoryEvent event{enters ? HistoryKind::kEnter : HistoryKind::kLeave};
    event.module = NumberOf(words->Raw());
    HistoryEvent gives = event;
    gives.kind = HistoryKind::kGives;
    if (!enters && !Addresses(words->Raw(), gives)) return false;
    into_->history.push_back(event);
    return !words->bad();
  }

  bool ReadLoopMark(Words* words) {
    static const std::map<std::string_view, LoopMark> kMarks = {
        {"forward", LoopMark::kForward},    {"loss", LoopMark::kLoss},
        {"backward", LoopMark::kBackward},  {"after-backward", LoopMark::kAfterBackward},
        {"update", LoopMark::kUpdate},      {"after-update", LoopMark::kAfterUpdate},
        {"zero-grad", LoopMark::kZeroGrad}, {"after-zero-grad", LoopMark::kAfterZeroGrad},
        {"step", LoopMark::kStep},
    };
    const auto phase = kMarks.find(words->Raw());
    if (phase == kMarks.end()) return false;
    HistoryEvent event{HistoryKind::kLoopMark};
    event.what = static_cast<uint8_t>(phase->second);
    into_->history.push_back(event);
    return true;
  }

  bool Tag(Words* words) {
    static const std::map<std::string_view, TensorUse> kUses = {
        {"parameters", TensorUse::kParameters}, {"frozen", TensorUse::kFrozen},
        {"buffers", TensorUse::kBuffers},       {"gradients", TensorUse::kGradients},
        {"inputs", TensorUse::kInputs},         {"optimizer_state", TensorUse::kOptimizerState},
    };
    const auto use = kUses.find(words->Raw());
    if (use == kUses.end()) return false;
    HistoryEvent event{HistoryKind::kTag};
    event.what = static_cast<uint8_t>(use->second);
    event.bytes = ReadBytes(words);
    return Addresses(words->Raw(), event) && !words->bad();
  }

  bool Frame(Words* words) {
    const int64_t number = words->Number();
    CodePlace place;
    place.line = words->Number();
    place.function = words->Text();
    place.file = words->Text();
    into_->frames.push_back(std::move(place));
    return !words->bad() && number + 1 == static_cast<int64_t>(into_->frames.size());
  }

  bool Stack(Words* words) {
    const int64_t number = words->Number();
    std::string text(words->Raw());
    std::replace(text.begin(), text.end(), ',', '\t');
    Words frames(text);
    std::vector<int32_t> stack;
    while (!text.empty() && frames.more()) {
      stack.push_back(static_cast<int32_t>(frames.Number()));
      if (stack.back() < 0 || stack.back() >= static_cast<int64_t>(into_->frames.size())) return false;
    }
    into_->stacks.push_back(std::move(stack));
    return !words->bad() && !frames.bad() && number + 1 == static_cast<int64_t>(into_->stacks.size());
  }

  bool ReadMark(Words* words) {
    static const std::map<std::string_view, MarkKind> kKinds = {
        {"backward", MarkKind::kBackward},  {"after-backward", MarkKind::kAfterBackward},
        {"update", MarkKind::kUpdate},      {"after-update", MarkKind::kAfterUpdate},
        {"forward", MarkKind::kForward},    {"forward-of-eval", MarkKind::kForwardOfEval},
        {"inference", MarkKind::kInference}};
    const auto kind = kKinds.find(words->Raw());
    if (kind == kKinds.end()) return false;
    Mark mark{kind->second, words->Number()};
    mark.place = ReadPlace(words);
    if (words->more()) mark.module = words->Text();
    mark.steps = static_cast<int64_t>(into_->steps.size());
    into_->marks.push_back(std::move(mark));
    return !words->bad();
  }

  bool Step(Words* words) {
    RecordedStep step;
    step.step = words->Number();
    step.allocations = words->Number();
    step.peak = ReadLevels(words);
    step.after = ReadLevels(words);
    step.seconds = words->Real();
    into_->steps.push_back(step);
    return !words->bad();
  }

  bool Rare(std::string_view word, Words* words) {
    if (word == "python") {
      into_->python = words->Text();
      into_->executable = words->Text();
    } else if (word == "torch") {
      into_->torch = words->Text();
      into_->cuda = words->Text();
      into_->hip = words->Text();
    } else if (word == "argv") {
      while (words->more()) into_->argv.push_back(words->Text());
    } else if (word == "rank") {
      into_->rank = words->Number();
      into_->ranks = words->Number();
    } else if (word == "on-host") {
      Recording::OnHost host;
      host.ran = words->Number();
      host.unknown = words->Number();
      while (words->more()) host.failed.push_back(words->Text());
      into_->on_host = std::move(host);
    } else if (word == "preloaded") {
      into_->preloaded = words->Number() != 0;
    } else if (word == "out-of-memory") {
      RecordedRefusal refusal;
      refusal.allocations = words->Number();
      refusal.asked = ReadBytes(words);
      refusal.total = ReadBytes(words);
      refusal.free = ReadBytes(words);
      refusal.held = ReadLevels(words);
      refusal.place = ReadPlace(words);
      refusal.marks = static_cast<int64_t>(into_->marks.size());
      refusal.steps = static_cast<int64_t>(into_->steps.size());
      into_->refusals.push_back(std::move(refusal));
    } else if (word == "failed") {
      into_->failure = words->Text();
      into_->failure_text = words->Text();
    } else if (word == "last") {
      Recording::Last last;
      last.allocations = words->Number();
      last.run = ReadLevels(words);
      last.peak = ReadLevels(words);
      last.now = ReadLevels(words);
      last.retries = words->Number();
      into_->last = last;
    } else if (word == "on-card") {
      const int64_t card = words->Number();
      into_->cards.emplace_back(card, ReadLevels(words));
    } else if (word == "by-value") {
      ByValue value;
      value.what = words->Text();
      value.times = words->Number();
      value.place = ReadPlace(words);
      into_->by_value.push_back(std::move(value));
    } else if (word == "read") {
      into_->last_read = ReadPlace(words);
    } else if (word == "limit") {
      into_->limit = words->Real();
    } else if (word == "allocator") {
      into_->allocator = words->Text();
    } else if (word == "changed") {
      into_->changed.push_back(words->Text());
    } else if (word == "saved") {
      Recording::Saved saved;
      saved.held = words->Text() == "held";
      saved.path = words->Text();
      saved.place = ReadPlace(words);
      into_->saved.push_back(std::move(saved));
    } else if (word == "stays") {
      const std::string path = words->Text();
      into_->stays.push_back({path, ReadPlace(words)});
    } else if (word == "waits") {
      into_->waiting.push_back(ReadPlace(words));
    } else if (word == "fault") {
      const std::string where = words->Text();
      into_->faults.push_back(where + ": " + words->Text());
    } else if (word == "end") {
      into_->end = words->Text();
      into_->seconds = words->Real();
    }
    // A word of a newer hook is passed over.
    return !words->bad();
  }

  Recording* into_;
  std::map<std::string, int32_t> modules_;
};

// Calls `line` with every line behind the first, which must be `first`.
template <typename F>
Status Lines(const std::string& name, std::string_view text, std::string_view first, F line) {
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view words = text.substr(at, end - at);
    at = end + 1;
    if (++number == 1 && words != first) break;
    // The last line may be cut off.
    if (number > 1 && !words.empty() && !line(words) && end != text.size()) {
      return Error{ErrorCode::kBadInput, name, "line " + std::to_string(number) + " cannot be read",
                   "was it written by another version of vramplan?"};
    }
    if (number == 1 && at >= text.size()) return Done();
  }
  if (number > 1) return Done();
  return Error{ErrorCode::kBadInput, name, "does not begin with " + std::string(first), ""};
}

}  // namespace

Result<Recording> ReadRecording(const std::string& name, std::string_view text) {
  Recording recording;
  Reader reader(&recording);
  const Status read = Lines(name, text, kFirstLine, [&](std::string_view line) { return reader.Line(line); });
  if (!read.ok()) return read.error();
  return recording;
}

Result<CardLog> ReadCardLog(const std::string& name, std::string_view text) {
  CardLog log;
  const Status read = Lines(name, text, kFirstCardLine, [&](std::string_view line) {
    Words words(line);
    const std::string_view word = words.Raw();
    if (word == "card" && words.Number() == 0) {
      log.total = ReadBytes(&words);
      log.used = ReadBytes(&words);
      log.peak = ReadBytes(&words);
    } else if (word == "refused") {
      words.Number();
      log.refused += words.Number();
      log.largest_refused = std::max(log.largest_refused, ReadBytes(&words));
    } else if (word == "together") {
      CardLog::Together together{words.Number(), ReadBytes(&words), 0};
      together.contexts = words.Number();
      log.together.push_back(together);
    } else if (word == "cudnn") {
      log.cudnn = true;
    } else if (word == "managed") {
      log.managed = ReadBytes(&words);
    } else if (word == "workspaces") {
      log.workspaces.push_back(words.Text());
    } else if (word == "uncovered") {
      log.uncovered.push_back(words.Text());
    } else if (word == "static-runtime") {
      log.static_runtimes.push_back(words.Text());
    }
    return !words.bad();
  });
  if (!read.ok()) return read.error();
  return log;
}

}  // namespace vramplan
