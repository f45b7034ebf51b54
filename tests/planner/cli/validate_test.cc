// validate, as it is typed, on fake cards: every way in which it can end, and nothing stays taken.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/command_line.h"
#include "tests/support/fake_probe.h"

namespace vramplan::testing {
namespace {

// A small card, so that few bytes of tests are laid out: 4 GiB, as a framework has it with 350 MiB of context.
FakeScript Card() {
  FakeScript script{.cards = {FakeT4()}};
  FakeCard& card = script.cards[0];
  card.facts.total = Bytes::GiB(4) + Bytes::MiB(100);
  card.facts.usable = Bytes::GiB(4);
  card.context = Bytes::MiB(248);
  return script;
}

struct Ran {
  Said said;
  Bytes held;
  std::vector<std::string> calls;
  int sessions() const { return static_cast<int>(std::count(calls.begin(), calls.end(), "close")); }
};

Ran Validate(FakeScript script, const std::string& options = "--batch 2") {
  const ScratchStore store("validate");
  FakeProbe machine(std::move(script));
  Ran ran;
  ran.said = Do("validate MODELS/unet.onnx " + options, &machine);
  ran.held = machine.held();
  ran.calls = machine.calls();
  return ran;
}

TEST_CASE("validate: a card that does as predicted") {
  const Ran ran = Validate(Card());
  INFO(ran.said.out);
  INFO(ran.said.err);
  CHECK(ran.said.exit_code == 0);
  CHECK(ran.held == Bytes());
  CHECK(ran.sessions() == 1);
  CHECK(Says(ran.said.FirstLine(), "unet.onnx at batch 2 on Tesla T4: agrees: "));
  CHECK(Says(ran.said.FirstLine(), "(0 %); largest batch 6, 6 predicted"));
  for (const char* what : {"every byte of ", "256.00 MiB of the free memory is left for others (--reserve)",
                           "all of it was given back", "device, from outside (NVML)", "batch 7 fails in the "}) {
    CAPTURE(what);
    CHECK(Says(ran.said.out, what));
  }
  CHECK(ran.said.out == vramplan::testing::Golden("validate/t4", ran.said.out));
  // What the right guess costs: the batch that was asked for, the largest, and the one that fails.
  CHECK(Says(ran.said.out, "(tried 6 7)"));
}

TEST_CASE("validate: without --batch it is replayed at the largest that is predicted; JSON has everything") {
  const Ran ran = Validate(Card(), "--format json");
  CHECK(ran.said.exit_code == 0);
  CHECK(ran.said.err.empty());
  for (const char* what :
       {"\"schema\": \"vramplan.validate/1\"", "\"verdict\": \"agrees\"", "\"batch\": 6", "\"first_failing_batch\": 7",
        "\"cause\": \"margin\"", "\"moment\": \"peak\"", "\"left_behind\": 0", "\"max_bytes\": null"}) {
    CAPTURE(what);
    CHECK(Says(ran.said.out, what));
  }
}

TEST_CASE("validate: how it ends") {
  struct Row {
    const char* what;
    FakeScript script;
    std::string options;
    int exit_code;
    const char* says;
  };
  FakeScript pieces = Card(), lost = Card(), grabbed = Card(), left = Card(), large = Card(), bare = Card(),
             hidden = Card(), old = Card(), refused = Card(), none = Card(), full = Card();
  pieces.cards[0].largest_piece = Bytes::MiB(8);
  lost.lost_at = 400;
  grabbed.neighbour = {{12, Bytes::GiB(3)}};
  left.neighbour = {{12, Bytes() - Bytes::MiB(500)}};
  large.cards[0].context = Bytes::MiB(900);
  bare.cards[0].has_cudnn = false;
  hidden.hides_used = true;
  old.driver = Error{ErrorCode::kNoCard, "driver", "is too old: it runs CUDA 11.2", "install a newer one"};
  refused.open = Error{ErrorCode::kNoCard, "card 0", "insufficient permissions", "is it in your group?"};
  none.cards.clear();
  full.cards[0].facts.holders[0].bytes = Bytes::GiB(4) - Bytes::MiB(100);
  const Row rows[] = {
      {"out of memory in the middle, as predicted", Card(), "--batch 40", 0,
       "it fails there; largest batch 6, 6 predicted"},
      {"a limit", Card(), "--batch 2 --max-bytes 2GiB", 0, "above the limit of --max-bytes"},
      {"fragmented", pieces, "--batch 2", 3, "but not in one piece"},
      {"device lost", lost, "--batch 2", 4, "stopped card: the card no longer answers"},
      {"a neighbour grabs memory between two calls", grabbed, "--batch 6", 4,
       "other programs took 3.00 GiB of the card"},
      {"a neighbour gives memory back", left, "--batch 2", 4, "other programs gave back 500.00 MiB of the card"},
      {"a large context", large, "--batch 2", 3, "was predicted"},
      {"no cuDNN here", bare, "--batch 2", 0, "cuDNN not installed"},
      {"nothing is said from outside", hidden, "--batch 2", 0, "not said"},
      {"driver too old", old, "--batch 2", 4, "is too old: it runs CUDA 11.2"},
      {"insufficient permissions", refused, "--batch 2", 4, "insufficient permissions"},
      {"no card", none, "--batch 2", 4, "the driver finds no card"},
      {"no room for a context", full, "--batch 2", 4, "no memory is left for a context"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.what));
    const Ran ran = Validate(row.script, row.options);
    INFO(ran.said.out);
    INFO(ran.said.err);
    CHECK(ran.said.exit_code == row.exit_code);
    CHECK(Says(ran.said.out + ran.said.err, row.says));
    CHECK(ran.held == Bytes());
  }
}

TEST_CASE("validate --dry-run touches no card, and needs none") {
  for (const char* card : {"--gpu t4", "--gpu-memory 4GiB", ""}) {
    CAPTURE(std::string(card));
    FakeScript script = Card();
    if (*card != '\0') script.cards.clear();
    const Ran ran = Validate(script, std::string("--batch 2 --dry-run ") + card);
    INFO(ran.said.err);
    CHECK(ran.said.exit_code == 0);
    CHECK(ran.sessions() == 0);
    CHECK(Says(ran.said.FirstLine(), ": would take "));
    CHECK(Says(ran.said.out, " allocations of 3 steps; "));
    CHECK(Says(ran.said.out, "take two tries, or at most 40 if the card disagrees"));
    CHECK(Says(ran.said.out, "a dry run: nothing was taken"));
  }
}

TEST_CASE("validate refuses what it cannot replay, and says why") {
  struct Row {
    const char* options;
    const char* says;
  };
  const Row rows[] = {
      {"--allocator-conf expandable_segments:True", "expandable segments map pages instead"},
      {"--framework onnxruntime",
       "vramplan knows every single allocation of a step only for PyTorch, not for onnxruntime"},
      {"--gpu t4", "validate runs on a card of this machine"},
      {"--gpu auto:7", "is not a card of this machine"},
      {"--gpu-memory 4GiB", "the size of a real card cannot be chosen"},
      {"--max-bytes many", "--max-bytes"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.options));
    const Ran ran = Validate(Card(), row.options);
    CHECK(ran.said.exit_code == 2);
    CHECK(Says(ran.said.err, row.says));
    CHECK(ran.said.out.empty());
    CHECK(ran.sessions() == 0);
  }
}

TEST_CASE("validate: on this machine, which has no probe or no card in a build without one") {
  if (BuiltWithProbe()) return;
  const Said said = Do("validate MODELS/mlp.onnx --batch 1");
  CHECK(said.exit_code == 4);
  CHECK(said.out.empty());
}

}  // namespace
}  // namespace vramplan::testing
