// A machine whose cards answer what the test tells them to: counts bytes, records calls, fails where scripted.
//
//   FakeProbe machine({.cards = {FakeT4()}, .neighbour = {{3, Bytes::GiB(4)}}});
//   ... before the third Allocate() another process takes 4 GiB ...
//   machine.calls()   {"open 0", "allocate 2097152", "touch 2097152", ...}
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda_probe/probe.h"

namespace vramplan {

struct FakeCard {
  CardFacts facts;  // `free` and the holders' bytes are kept up with what happens
  Bytes context = Bytes::MiB(200), kernel = Bytes::MiB(2), cublas = Bytes::MiB(40), cudnn = Bytes::MiB(60);
  bool has_cublas = true, has_cudnn = true;
  double bandwidth = 240e9;                                                                      // bytes a second
  std::map<Arithmetic, double> rates = {{Arithmetic::kFp32, 7e12}, {Arithmetic::kFp16, 40e12}};  // FLOP a second
  double launch = 5e-6;                // seconds that every kernel takes beside its work
  Bytes workspace = Bytes::MiB(3);     // of every convolution
  std::optional<Bytes> largest_piece;  // fragmented: no single allocation above this
};
FakeCard FakeT4();  // 15 GiB usable, 600 MiB of it held by pid 4121 (python3)

struct FakeScript {
  std::vector<FakeCard> cards;
  std::optional<Error> driver, open;  // what Driver(), Cards() and Open() fail with
  std::map<int, Bytes>
      neighbour;               // before the n-th Allocate (from 1) another process takes this much (negative: gives)
  std::optional<int> lost_at;  // the n-th call on a session (from 1), and every one after it: the card is lost
  bool hides_used = false;     // Used() and Holders() say nothing
};

class FakeProbe final : public Probe {
 public:
  explicit FakeProbe(FakeScript script);
  ~FakeProbe() override;

  Result<DriverFacts> Driver() override;
  Result<std::vector<CardFacts>> Cards() override;
  Result<std::unique_ptr<CardSession>> Open(int card) override;
  Result<std::optional<Bytes>> Used(int card) override;
  Result<std::optional<std::vector<Holder>>> Holders(int card) override;
  void Wait(double seconds) override;

  std::vector<std::string> calls() const;  // in order
  Bytes held() const;                      // by sessions of ours, contexts included: zero when all was given back
  double waited() const;                   // seconds

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace vramplan
