// What the pretend machine is: read from a text. A statement a line (or between semicolons); README.md lists them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pretend {

// A process of somebody else. Its bytes may change from one look at the card to the next.
struct Holder {
  int64_t pid = 0;
  bool child = false;  // whatever process is this one's newest child, as long as it lives
  std::string name;    // empty: may not be seen
  bool compute = true, graphics = false, told = true;  // told: the driver says how much it holds
  std::map<int, int64_t> bytes;                        // from this look on (from 0)
  int64_t BytesAt(int look) const;
};

// A machine with more is none that anybody has.
constexpr int kMostCards = 64;

struct Card {
  std::string name, uuid, pci = "0000:00:04.0";
  int major = 7, minor = 5, multiprocessors = 40;
  bool mig = false, hides_processes = false;
  bool spare = false;                              // only there for who names it by CUDA_VISIBLE_DEVICES
  int64_t total = 0, usable = 0, granularity = 0;  // bytes, as all the following
  int64_t context = 0, kernel = 0, cublas = 0, cudnn = 0;
  std::optional<int64_t> largest_piece;
  std::optional<bool> ecc, display;
  std::vector<Holder> holders;
  std::map<int, int64_t> neighbour;           // before this allocation (from 1) somebody takes so much more
  double bandwidth = 0, launch = 0;           // bytes a second; seconds of every kernel beside its work
  std::map<std::string, double> rates;        // FLOP a second, by "fp32", "tf32", "fp16", "bf16"
  std::map<std::string, int64_t> workspaces;  // by "forward", "input-gradient", "weight-gradient"
};

// The calls of a function, from the `from`th to the `to`th, answer with this code.
struct Failure {
  std::string function;
  int code = 0, from = 1, to = 0;  // to 0: for ever
};

// From this call of a function on the card is lost: every driver call answers with this code.
struct Loss {
  std::string function;
  int call = 1, code = 0;
};

struct Description {
  std::string driver = "580.95.05";
  int cuda = 0;  // 13000: of the driver; 0: as new as the program wants it
  bool wsl = false;
  std::vector<Card> cards;
  std::vector<Failure> failures;
  std::optional<Loss> loss;
};

// Ends the process with a line on stderr where the text cannot be read: people write it by hand for tests only.
Description Read(const std::string& text);

// What VRAMPLAN_PRETEND_GPU says: a text, or @FILE. Unset: a machine without cards.
Description DescriptionOfEnvironment();

// CUDA_VISIBLE_DEVICES as CUDA reads it: indices and the beginnings of UUIDs; what comes after a wrong one is not seen.
// Null: all but the spare ones. Gives indices of `all`.
std::vector<int> VisibleCards(const std::vector<Card>& all, const char* visible);

// How many cards the machine has for who looks from outside: those that are not spare, and up to the last one named.
int CardsSeen(const std::vector<Card>& all, const char* visible);

}  // namespace pretend
