#include "tests/pretend/strict/strict.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace strict {

using pretend::Failure;
using pretend::Loss;

Machine& Machine::This() {
  static Machine machine;
  return machine;
}

Machine::Machine()
    : description_(pretend::DescriptionOfEnvironment()),
      visible_(pretend::VisibleCards(description_.cards, std::getenv("CUDA_VISIBLE_DEVICES"))) {}
Machine::~Machine() {
  for (auto& [device, context] : contexts_) {
    if (context.users == 0 || !context.alive) continue;
    Complain("the context of " + context.card->name + " was never given back");
    Close(context);
  }
}

const pretend::Card* Machine::CardOf(int device) const {
  if (device < 0 || static_cast<size_t>(device) >= visible_.size()) return nullptr;
  return &description_.cards[static_cast<size_t>(visible_[static_cast<size_t>(device)])];
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
  context.streams = context.events = context.modules = 0;
  context.blocks.clear();
  if (current == &context) current = nullptr;
}

void Machine::Complain(const std::string& line) {
  const char* file = std::getenv("VRAMPLAN_PRETEND_COMPLAINTS");
  if (file != nullptr) std::ofstream(file, std::ios::app) << line << '\n';
}

void* Find(const char* name) {
  // By its path: its name is ours too.
  static void* const product = dlopen(STRICT_PRODUCT, RTLD_NOW | RTLD_LOCAL);
  void* const function = product == nullptr ? nullptr : dlsym(product, name);
  if (function != nullptr) return function;
  std::fprintf(stderr, "strict driver: %s: no %s\n", STRICT_PRODUCT, name);
  std::_Exit(70);
}

namespace {

// CUmemAllocationProp up to its place.
struct Wanted {
  int type = 1, handle_types = 0, location_type = 1, location = 0;
};

}  // namespace

uint64_t TakeBytes(int device, int64_t bytes) {
  const Wanted wanted{.location = device};
  uint64_t taken = 0;
  const auto create = Product<int(uint64_t*, size_t, const Wanted*, unsigned long long)>("cuMemCreate");
  return create(&taken, static_cast<size_t>(bytes), &wanted, 0) == 0 ? taken : 0;
}
void GiveBytes(uint64_t taken) { Product<int(uint64_t)>("cuMemRelease")(taken); }

}  // namespace strict
