#include "tests/pretend_gpu/machine.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace pretend {
namespace {

std::string TextOfDescription() {
  const char* text = std::getenv("VRAMPLAN_PRETEND_GPU");
  if (text == nullptr) return "";
  if (*text != '@') return text;
  std::ifstream file(text + 1);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The newest child of this process, 0: it has none. "PID (name) state PARENT ..." says /proc/PID/stat.
int64_t Child() {
  int64_t child = 0;
  DIR* const processes = opendir("/proc");
  if (processes == nullptr) return 0;
  while (const dirent* entry = readdir(processes)) {
    const int64_t pid = std::atoll(entry->d_name);
    if (pid <= child) continue;
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    // A process that ends between opening and reading is an error, which getline() keeps to the stream.
    std::string stat;
    std::getline(file, stat, '\0');
    if (stat.find(')') == std::string::npos) continue;
    std::istringstream words(stat.substr(stat.rfind(')') + 1));
    char state = 0;
    int64_t parent = 0;
    if (words >> state >> parent && parent == getpid() && state != 'Z') child = pid;
  }
  closedir(processes);
  return child;
}

}  // namespace

Machine& Machine::This() {
  static Machine machine;
  return machine;
}

Machine::Machine() : description_(Read(TextOfDescription())) {}
Machine::~Machine() {
  for (auto& [card, context] : contexts_) {
    if (context->users == 0 || !context->alive) continue;
    Complain("the context of " + card->name + " was never given back");
    Close(*context);
  }
}

std::vector<Card*> Machine::visible() {
  std::vector<Card*> cards;
  const char* wanted = std::getenv("CUDA_VISIBLE_DEVICES");
  if (wanted == nullptr) {
    for (Card& card : all()) cards.push_back(&card);
    return cards;
  }
  std::istringstream words(wanted);
  for (std::string word; std::getline(words, word, ',');) {
    const auto named = std::ranges::find_if(all(), [&](const Card& card) {
      return ((card.mig ? "MIG-" : "GPU-") + card.uuid).starts_with(word) && !word.empty() && word[0] > '9';
    });
    if (named != all().end()) {
      cards.push_back(&*named);
    } else if (!word.empty() && word[0] <= '9' && std::stoul(word) < all().size()) {
      cards.push_back(&all()[std::stoul(word)]);
    } else {
      break;  // as CUDA does: what comes after a wrong one is not seen either
    }
  }
  return cards;
}

int Machine::Enter(const char* function, int lost) {
  const int call = ++calls_[function];
  const std::optional<Loss>& loss = description_.loss;
  if (!lost_ && loss && loss->function == function && call >= loss->call) Lose(loss->code);
  if (lost_) return lost < 0 ? lost_code_ : lost;
  for (const Failure& failure : description_.failures) {
    if (failure.function == function && call >= failure.from && (failure.to == 0 || call <= failure.to)) {
      return failure.code;
    }
  }
  return 0;
}

void Machine::Lose(int code) {
  lost_ = true;
  lost_code_ = code == 0 ? kLostCard : code;
}

Context& Machine::ContextOf(Card* card) {
  std::unique_ptr<Context>& context = contexts_[card];
  if (context == nullptr) context = std::make_unique<Context>();
  context->card = card;
  return *context;
}

int64_t Machine::Free(Card* card) {
  const Context& context = ContextOf(card);
  int64_t free = card->usable - context.taken - context.others;
  for (const Holder& holder : card->holders) free -= BytesOf(holder);
  return std::max<int64_t>(free, 0);
}

bool Machine::Take(Context& context, int64_t bytes) {
  if (bytes > Free(context.card)) return false;
  context.taken += bytes;
  return true;
}

bool Machine::Inside(const Context& context, uint64_t address, int64_t bytes, const char* doing) {
  const auto after = context.blocks.upper_bound(address);
  if (after != context.blocks.begin()) {
    const auto& [begin, size] = *std::prev(after);
    if (static_cast<int64_t>(address - begin) + bytes <= size) return true;
  }
  Complain(std::string(doing) + " of " + std::to_string(bytes) + " bytes outside of every allocation");
  return false;
}

void Machine::Close(Context& context) {
  // A card that is lost takes everything with it.
  if (!lost_) {
    int64_t left = 0;
    for (const auto& [address, bytes] : context.blocks) left += bytes;
    if (!context.blocks.empty()) {
      Complain(std::to_string(context.blocks.size()) + " allocations of " + std::to_string(left) +
               " bytes were left behind");
    }
    if (context.streams + context.events + context.modules != 0) {
      Complain(std::to_string(context.streams) + " streams, " + std::to_string(context.events) + " events, " +
               std::to_string(context.modules) + " modules were left behind");
    }
  }
  context.alive = context.held_by_library = false;
  context.allocations = context.streams = context.events = context.modules = 0;
  context.blocks.clear();
  context.taken = 0;
  if (current == &context) current = nullptr;
}

int Machine::look() const { return std::max(looks_[0], looks_[1]); }

int64_t Machine::PidOf(const Holder& holder) const { return holder.child ? Child() : holder.pid; }
int64_t Machine::BytesOf(const Holder& holder) const { return PidOf(holder) == 0 ? 0 : holder.BytesAt(look()); }

void Machine::Complain(const std::string& line) {
  const char* file = std::getenv("VRAMPLAN_PRETEND_COMPLAINTS");
  if (file != nullptr) std::ofstream(file, std::ios::app) << line << '\n';
}

}  // namespace pretend
