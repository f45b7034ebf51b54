#include "tests/support/fake_probe.h"

#include <algorithm>
#include <set>
#include <utility>

namespace vramplan {

struct FakeProbe::State {
  FakeScript script;
  std::vector<std::string> calls;
  std::vector<Bytes> ours, others;  // by card
  int allocations = 0, session_calls = 0;
  double waited = 0;

  FakeCard& card(int index) { return script.cards[static_cast<size_t>(index)]; }
  Bytes Free(int index) {
    const auto i = static_cast<size_t>(index);
    return card(index).facts.usable - ours[i] - others[i];
  }
  bool Take(int index, Bytes bytes) {
    if (bytes > Free(index)) return false;
    ours[static_cast<size_t>(index)] += bytes;
    return true;
  }
};

namespace {

constexpr int64_t kAddressBase = int64_t{1} << 40;

Error Lost() {
  return {ErrorCode::kNoCard, "card", "the card no longer answers (CUDA_ERROR_DEVICE_UNAVAILABLE)", "see dmesg"};
}

class FakeSession final : public CardSession {
 public:
  FakeSession(std::shared_ptr<FakeProbe::State> state, int card) : state_(std::move(state)), card_(card) {}
  ~FakeSession() override {
    state_->calls.emplace_back("close");
    state_->ours[static_cast<size_t>(card_)] -= taken_;
  }
  bool TakeContext() { return Hold(card().context); }

  Result<Memory> Free() override {
    if (Called("free memory")) return Lost();
    return Memory{state_->Free(card_), card().facts.usable};
  }
  Result<std::optional<uint64_t>> Allocate(Bytes bytes) override {
    const auto grab = state_->script.neighbour.find(++state_->allocations);
    if (grab != state_->script.neighbour.end()) state_->others[static_cast<size_t>(card_)] += grab->second;
    if (Called("allocate " + std::to_string(bytes.count()))) return Lost();
    const int64_t unit = card().facts.granularity.count();
    const Bytes rounded = Bytes::Of((bytes.count() + unit - 1) / unit * unit);
    if (card().largest_piece && rounded > *card().largest_piece) return std::optional<uint64_t>();
    if (!Hold(rounded)) return std::optional<uint64_t>();
    const uint64_t address = next_;
    next_ += static_cast<uint64_t>(rounded.count());
    blocks_[address] = rounded;
    return std::optional(address);
  }
  Status Release(uint64_t address) override {
    if (Called("release")) return Lost();
    const auto block = blocks_.find(address);
    if (block == blocks_.end()) return Error{ErrorCode::kNoCard, "card", "released what was not allocated", ""};
    taken_ -= block->second;
    state_->ours[static_cast<size_t>(card_)] -= block->second;
    blocks_.erase(block);
    return Done();
  }
  Result<TimedWork> Touch(uint64_t address, Bytes bytes) override {
    if (Called("touch " + std::to_string(bytes.count()))) return Lost();
    if (!Inside(address, bytes)) return Error{ErrorCode::kNoCard, "card", "touched what was not allocated", ""};
    return Moved(bytes);
  }
  Result<TimedWork> Copy(uint64_t to, uint64_t from, Bytes bytes) override {
    if (Called("copy " + std::to_string(bytes.count()))) return Lost();
    if (!Inside(to, bytes) || !Inside(from, bytes)) {
      return Error{ErrorCode::kNoCard, "card", "copied what was not allocated", ""};
    }
    return Moved(bytes * 2);
  }
  Result<std::optional<TimedWork>> Compute(Arithmetic arithmetic, double flop) override {
    if (Called("compute " + std::string(Name(arithmetic)))) return Lost();
    const auto rate = card().rates.find(arithmetic);
    if (rate == card().rates.end()) return std::optional<TimedWork>();
    return std::optional(TimedWork{flop, card().launch + flop / rate->second});
  }
  Result<bool> Load(CardLibrary library) override {
    if (Called("load " + std::string(Name(library)))) return Lost();
    if (library == CardLibrary::kCublas && !card().has_cublas) return false;
    if (library == CardLibrary::kCudnn && !card().has_cudnn) return false;
    if (!loaded_.insert(library).second) return true;
    const Bytes bytes = library == CardLibrary::kKernel   ? card().kernel
                        : library == CardLibrary::kCublas ? card().cublas
                                                          : card().cudnn;
    if (!Hold(bytes)) {
      return Error{ErrorCode::kNoCard, std::string(Name(library)), "no memory is left on the card to load it", ""};
    }
    return true;
  }
  Result<std::optional<Bytes>> Workspace(const ConvolutionCall&) override {
    if (Called("workspace")) return Lost();
    return card().has_cudnn ? std::optional(card().workspace) : std::nullopt;
  }

 private:
  FakeCard& card() { return state_->card(card_); }
  // True: the card is lost.
  bool Called(std::string call) {
    state_->calls.push_back(std::move(call));
    return state_->script.lost_at && ++state_->session_calls >= *state_->script.lost_at;
  }
  bool Hold(Bytes bytes) {
    if (!state_->Take(card_, bytes)) return false;
    taken_ += bytes;
    return true;
  }
  bool Inside(uint64_t address, Bytes bytes) const {
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return false;
    --block;
    return Bytes::Of(static_cast<int64_t>(address - block->first)) + bytes <= block->second;
  }
  TimedWork Moved(Bytes bytes) {
    const auto moved = static_cast<double>(bytes.count());
    return {moved, card().launch + moved / card().bandwidth};
  }

  std::shared_ptr<FakeProbe::State> state_;
  int card_;
  Bytes taken_;
  uint64_t next_ = kAddressBase;
  std::map<uint64_t, Bytes> blocks_;
  std::set<CardLibrary> loaded_;
};

}  // namespace

FakeCard FakeT4() {
  FakeCard card;
  card.facts = {.name = "Tesla T4",
                .uuid = "GPU-11111111-2222-3333-4444-555555555555",
                .pci = "0000:00:04.0",
                .capability_major = 7,
                .capability_minor = 5,
                .multiprocessors = 40,
                .total = Bytes::GiB(16),
                .usable = Bytes::GiB(15),
                .reserved = Bytes::MiB(400),
                .granularity = Bytes::MiB(2),
                .ecc = true,
                .display = false,
                .holders = {{.pid = 4121, .name = "python3", .bytes = Bytes::MiB(600), .compute = true}}};
  return card;
}

FakeProbe::FakeProbe(FakeScript script) : state_(std::make_shared<State>()) {
  state_->script = std::move(script);
  int index = 0;
  for (FakeCard& card : state_->script.cards) {
    card.facts.index = index++;
    Bytes others;
    for (const Holder& holder : card.facts.holders) others += holder.bytes.value_or(Bytes());
    state_->others.push_back(others);
    state_->ours.emplace_back();
  }
}
FakeProbe::~FakeProbe() = default;

Result<DriverFacts> FakeProbe::Driver() {
  state_->calls.emplace_back("driver");
  if (state_->script.driver) return *state_->script.driver;
  return DriverFacts{.driver = "580.95.05", .cuda = "13.0", .toolkit = "13.0", .wsl = false};
}

Result<std::vector<CardFacts>> FakeProbe::Cards() {
  state_->calls.emplace_back("cards");
  if (state_->script.driver) return *state_->script.driver;
  std::vector<CardFacts> cards;
  for (FakeCard& card : state_->script.cards) {
    cards.push_back(card.facts);
    if (!state_->script.hides_used) cards.back().free = state_->Free(card.facts.index);
  }
  if (cards.empty()) return Error{ErrorCode::kNoCard, "cuda_probe", "the driver finds no card", "name one, --gpu t4"};
  return cards;
}

Result<std::unique_ptr<CardSession>> FakeProbe::Open(int card) {
  state_->calls.push_back("open " + std::to_string(card));
  if (state_->script.open) return *state_->script.open;
  auto session = std::make_unique<FakeSession>(state_, card);
  if (!session->TakeContext()) {
    return Error{ErrorCode::kNoCard, "card " + std::to_string(card), "no memory is left for a context", ""};
  }
  return std::unique_ptr<CardSession>(std::move(session));
}

Result<std::optional<Bytes>> FakeProbe::Used(int card) {
  state_->calls.emplace_back("used");
  if (state_->script.driver) return *state_->script.driver;
  if (state_->script.hides_used) return std::optional<Bytes>();
  const CardFacts& facts = state_->card(card).facts;
  return std::optional(facts.total - facts.usable + (facts.usable - state_->Free(card)));
}

Result<std::optional<std::vector<Holder>>> FakeProbe::Holders(int card) {
  state_->calls.emplace_back("holders");
  if (state_->script.driver) return *state_->script.driver;
  if (state_->script.hides_used) return std::optional<std::vector<Holder>>();
  return std::optional(state_->card(card).facts.holders);
}

void FakeProbe::Wait(double seconds) { state_->waited += seconds; }

std::vector<std::string> FakeProbe::calls() const { return state_->calls; }
Bytes FakeProbe::held() const {
  Bytes held;
  for (const Bytes ours : state_->ours) held += ours;
  return held;
}
double FakeProbe::waited() const { return state_->waited; }

}  // namespace vramplan
