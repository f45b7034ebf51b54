// Companions: the processes of one command, which share the cards of the pretend machine. Each counts its own memory only;
// what they hold together is written down in a file that all of them map.
//
//   Companions a("/tmp/run/cards"), b("/tmp/run/cards")     in two processes
//   a.Hold(0, 9 GiB, 350 MiB); b.Hold(0, 5 GiB, 350 MiB)    of card 0 of the machine, with a context each
//   a.Together(0)                                           {14 GiB, 2 contexts}: the highest so far
//
// A process that has ended holds nothing any more, whether it said so or was killed.
#pragma once

#include <cstdint>
#include <string>

namespace pretend {

class Companions {
 public:
  // The file, which is made where it is not there. Empty, or a file that cannot be had: this process is alone.
  explicit Companions(std::string path) : path_(std::move(path)) {}

  // This process holds so much of a card now, and its context there takes so much beside; 0: it has none.
  void Hold(int card, uint64_t bytes, uint64_t context);

  struct Peak {
    uint64_t bytes = 0;
    int64_t contexts = 0;
  };
  // The highest sum so far, contexts included.
  Peak Together(int card) const;

 private:
  struct Table;
  Table* Mapped() const;

  std::string path_;
  mutable Table* table_ = nullptr;
  mutable bool tried_ = false;
};

}  // namespace pretend
