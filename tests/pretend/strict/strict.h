// The strict driver: stands before the product's pretend card (pretend/library) and hands every call on to it. What it
// adds is what only tests want: calls fail and cards are lost where the description says so, misuse is complained about,
// and work takes the time that the description gives it.
//
// Memory, cards, contexts and everything that is told about them are the product's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pretend/card/description.h"

namespace strict {

constexpr int kLostCard = 46;  // CUDA_ERROR_DEVICE_UNAVAILABLE, where the description says no other

// The context of a card: what was made in it, so that what is left behind is seen, and a clock.
struct Context {
  const pretend::Card* card = nullptr;
  int device = 0;
  bool alive = false;
  bool held_by_library = false;  // the runtime inside cuBLAS and cuDNN holds it until the program ends
  int users = 0, streams = 0, events = 0, modules = 0;
  std::map<uint64_t, int64_t> blocks;  // address: bytes asked for
  double clock = 0;                    // seconds of work so far
};

class Machine {
 public:
  static Machine& This();
  ~Machine();

  // Every entry point begins with this. 0, or the code that the description wants of this call; a lost card answers
  // `lost`, or what the description says where that is negative.
  int Enter(const char* function, int lost = -1);
  void Lose(int code);

  Context& ContextOf(int device) { return contexts_.try_emplace(device).first->second; }
  const pretend::Card* CardOf(int device) const;
  Context* current = nullptr;

  // Of the block that holds the range; false, and a complaint: none does.
  bool Inside(const Context& context, uint64_t address, int64_t bytes, const char* doing);
  // The context ends: complains about what is left in it.
  void Close(Context& context);
  void Complain(const std::string& line);

 private:
  Machine();
  pretend::Description description_;
  std::vector<int> visible_;
  std::map<std::string, int> calls_;
  std::map<int, Context> contexts_;
  bool lost_ = false;
  int lost_code_ = kLostCard;
};

// Whose they are.
std::map<const void*, Context*>& Streams();

// The product's function of this name.
void* Find(const char* name);
template <typename Function>
Function* Product(const char* name) {
  return reinterpret_cast<Function*>(Find(name));
}
// In the product's words: what a kernel or a library takes of the card beside allocations. 0: the card has no room.
uint64_t TakeBytes(int device, int64_t bytes);
void GiveBytes(uint64_t taken);

}  // namespace strict
