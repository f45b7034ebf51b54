// The pretend machine while it runs: what is taken of each card, a clock for each, and what its user did wrong. Memory
// is counted, nothing is allocated; addresses are made up; time passes only by the work that is put on a card.
//
// It lives in libcuda.so.1; the other pretend libraries ask for it there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pretend/card/description.h"

namespace pretend {

constexpr int kLostCard = 46;  // CUDA_ERROR_DEVICE_UNAVAILABLE, where the description says no other

// A CUDA context: the primary one of its card.
struct Context {
  Card* card = nullptr;
  bool alive = false;
  bool held_by_library = false;  // the runtime inside cuBLAS and cuDNN holds it until the program ends
  int users = 0, allocations = 0, streams = 0, events = 0, modules = 0;
  std::map<uint64_t, int64_t> blocks;  // address: bytes asked for
  int64_t taken = 0;                   // of the card: everything
  int64_t others = 0;                  // what neighbours came to take
  double clock = 0;                    // seconds of work so far
};

class Machine {
 public:
  // As VRAMPLAN_PRETEND_GPU says: a text, or @FILE. Unset: a machine without cards.
  static Machine& This();
  ~Machine();

  const Description& description() const { return description_; }
  std::vector<Card*> visible();  // CUDA_VISIBLE_DEVICES applied
  std::vector<Card>& all() { return description_.cards; }

  // Every entry point begins with this. 0, or the code that the description wants of this call; a lost card answers
  // `lost`, or what the description says where that is negative.
  int Enter(const char* function, int lost = -1);
  bool is_lost() const { return lost_; }
  void Lose(int code);

  Context& ContextOf(Card* card);
  Context* current = nullptr;

  int64_t Free(Card* card);  // of usable
  bool Take(Context& context, int64_t bytes);
  // Of the block that holds the range; false, and a complaint: none does.
  bool Inside(const Context& context, uint64_t address, int64_t bytes, const char* doing);
  // The context ends: complains about what is left in it.
  void Close(Context& context);

  // How often somebody looked at the cards from outside; `list` tells the two ways apart.
  void Look(bool list) { ++looks_[list ? 1 : 0]; }
  int64_t BytesOf(const Holder& holder) const;  // now
  int64_t PidOf(const Holder& holder) const;    // 0: it is not there

  void Complain(const std::string& line);

 private:
  Machine();
  int look() const;
  Description description_;
  std::map<std::string, int> calls_;
  std::map<Card*, std::unique_ptr<Context>> contexts_;
  int looks_[2] = {0, 0};
  bool lost_ = false;
  int lost_code_ = kLostCard;
};

}  // namespace pretend
