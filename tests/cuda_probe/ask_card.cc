// Asks the boundary of cuda_probe, in order, what the words of the command line say, and prints each answer.
//
//   ask_card driver "open 0" "allocate a 2MiB" "touch a" "compute fp16 1e12" close
//
// Works on a real card too: what it prints there is what the card says.
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>

#include "cuda_probe/probe.h"

namespace vramplan {
namespace {

void Say(const std::string& text) { std::printf("%s\n", text.c_str()); }
std::string Count(Bytes bytes) { return std::to_string(bytes.count()); }
std::string Text(const std::optional<bool>& value) { return !value ? "unknown" : *value ? "on" : "off"; }
std::string Text(const std::optional<Bytes>& value) { return value ? Count(*value) : "unknown"; }

void Print(const Holder& holder) {
  Say("  holder " + std::to_string(holder.pid) + (holder.compute ? " compute" : "") +
      (holder.graphics ? " graphics" : "") + " \"" + holder.name + "\" " + Text(holder.bytes));
}

void Print(const CardFacts& card) {
  Say("card " + std::to_string(card.index) + ": " + card.name + ", " + card.uuid + ", " + card.pci + ", " +
      std::to_string(card.capability_major) + '.' + std::to_string(card.capability_minor) + ", " +
      std::to_string(card.multiprocessors) + " multiprocessors" + (card.mig ? ", a slice" : ""));
  Say("  total " + Count(card.total) + " usable " + Count(card.usable) + " free " + Text(card.free) + " reserved " +
      Text(card.reserved) + " granularity " + Count(card.granularity));
  Say("  ecc " + Text(card.ecc) + " display " + Text(card.display));
  for (const Holder& holder : card.holders) Print(holder);
  for (const std::string& unknown : card.unknown) Say("  unknown " + unknown);
}

void Print(const TimedWork& timed) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g in %.6g s", timed.work, timed.seconds);
  Say(text);
}

class Asker {
 public:
  // False: no such question.
  bool Ask(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "driver") {
      Tell(machine_->Driver(), [](const DriverFacts& facts) {
        Say("driver " + facts.driver + ", cuda " + facts.cuda + (facts.wsl ? ", below Windows" : ""));
      });
    } else if (word == "cards") {
      Tell(machine_->Cards(), [](const std::vector<CardFacts>& cards) {
        std::ranges::for_each(cards, [](const CardFacts& card) { Print(card); });
      });
    } else if (word == "used" || word == "holders") {
      int card = 0;
      words >> card;
      if (word == "used") {
        Tell(machine_->Used(card), [](const std::optional<Bytes>& used) { Say("used " + Text(used)); });
      } else {
        Tell(machine_->Holders(card), [](const std::optional<std::vector<Holder>>& holders) {
          Say(holders ? std::to_string(holders->size()) + " holders" : "holders unknown");
          if (holders) std::ranges::for_each(*holders, [](const Holder& holder) { Print(holder); });
        });
      }
    } else if (word == "wait") {
      double seconds = 0;
      words >> seconds;
      machine_->Wait(seconds);
    } else if (word == "open") {
      int card = 0;
      words >> card;
      Result<std::unique_ptr<CardSession>> opened = machine_->Open(card);
      Tell(opened, [](const auto&) { Say("open"); });
      if (opened.ok()) session_ = std::move(*opened);
    } else if (word == "close") {
      session_.reset();
      Say("closed");
    } else {
      return session_ == nullptr || AskSession(word, words);
    }
    return true;
  }

 private:
  template <typename T, typename Print>
  static void Tell(const Result<T>& result, Print print) {
    if (!result.ok()) {
      Say(ToString(result.error()));
    } else {
      print(*result);
    }
  }

  bool AskSession(const std::string& word, std::istringstream& words) {
    std::string name, more;
    words >> name >> more;
    if (word == "free") {
      Tell(session_->Free(),
           [](const CardSession::Memory& memory) { Say("free " + Count(memory.free) + " of " + Count(memory.total)); });
    } else if (word == "allocate") {
      const Bytes bytes = ParseBytes(more).value();
      Tell(session_->Allocate(bytes), [&](const std::optional<uint64_t>& address) {
        Say(address ? name + " is there" : "out of memory");
        if (address) blocks_[name] = {*address, bytes};
      });
    } else if (word == "release") {
      Tell(session_->Release(blocks_[name].first), [&](Done) { Say(name + " is released"); });
    } else if (word == "touch") {
      // More than the block, where a second size is given.
      const Bytes bytes = more.empty() ? blocks_[name].second : ParseBytes(more).value();
      Tell(session_->Touch(blocks_[name].first, bytes), [](const TimedWork& timed) { Print(timed); });
    } else if (word == "copy") {
      Tell(session_->Copy(blocks_[name].first, blocks_[more].first, blocks_[name].second),
           [](const TimedWork& timed) { Print(timed); });
    } else if (word == "compute") {
      Tell(session_->Compute(ArithmeticOf(name), std::stod(more)), [](const std::optional<TimedWork>& timed) {
        if (timed) Print(*timed);
        if (!timed) Say("the card cannot");
      });
    } else if (word == "load") {
      const CardLibrary library = name == "kernel"   ? CardLibrary::kKernel
                                  : name == "cublas" ? CardLibrary::kCublas
                                                     : CardLibrary::kCudnn;
      Tell(session_->Load(library), [](bool loaded) { Say(loaded ? "loaded" : "not installed"); });
    } else if (word == "workspace") {
      Tell(session_->Workspace(CallOf(name, more)),
           [](const std::optional<Bytes>& bytes) { Say("workspace " + Text(bytes)); });
    } else {
      return false;
    }
    return true;
  }

  static Arithmetic ArithmeticOf(const std::string& name) {
    for (const Arithmetic arithmetic : {Arithmetic::kTf32, Arithmetic::kFp16, Arithmetic::kBf16}) {
      if (Name(arithmetic) == name) return arithmetic;
    }
    return Arithmetic::kFp32;
  }

  // A convolution of 8 to 16 channels, kernel 3, padding 1, over as many axes as `shape` says: "1d", "2d", "3d";
  // "wrong" is one whose output does not belong to it.
  static ConvolutionCall CallOf(const std::string& pass, const std::string& shape) {
    ConvolutionCall call{.input = {4, 8}, .filter = {16, 8}, .output = {4, 16}};
    call.pass = pass == "input-gradient"    ? ConvolutionCall::Pass::kInputGradient
                : pass == "weight-gradient" ? ConvolutionCall::Pass::kWeightGradient
                                            : ConvolutionCall::Pass::kForward;
    const int axes = shape == "wrong" ? 2 : std::clamp(shape.empty() ? 2 : shape[0] - '0', 1, 3);
    for (int i = 0; i < axes; ++i) {
      call.input.push_back(32);
      call.filter.push_back(3);
      call.output.push_back(shape == "wrong" ? 31 : 32);
      call.padding.push_back(1);
      call.stride.push_back(1);
      call.dilation.push_back(1);
    }
    return call;
  }

  std::unique_ptr<Probe> machine_ = ThisMachine();
  std::unique_ptr<CardSession> session_;
  std::map<std::string, std::pair<uint64_t, Bytes>> blocks_;
};

}  // namespace
}  // namespace vramplan

int main(int count, char** words) {
  vramplan::Asker asker;
  for (int i = 1; i < count; ++i) {
    if (asker.Ask(words[i])) continue;
    std::fprintf(stderr, "ask_card: no such question: %s\n", words[i]);
    return 2;
  }
  return 0;
}
