#include "pretend/card/description.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace pretend {
namespace {

[[noreturn]] void Stop(const std::string& line) {
  std::fprintf(stderr, "VRAMPLAN_PRETEND_GPU: cannot read \"%s\"\n", line.c_str());
  std::_Exit(70);
}

// "600", "4KiB", "2MiB", "15GiB"
int64_t BytesOf(const std::string& text, const std::string& line) {
  size_t end = 0;
  int64_t bytes = 0;
  try {
    bytes = std::stoll(text, &end);
  } catch (...) {
    Stop(line);
  }
  const std::string unit = text.substr(end);
  if (unit.empty() || unit == "B") return bytes;
  if (unit == "KiB") return bytes << 10;
  if (unit == "MiB") return bytes << 20;
  if (unit == "GiB") return bytes << 30;
  Stop(line);
}

std::optional<bool> OnOrOff(const std::string& text, const std::string& line) {
  if (text == "on") return true;
  if (text == "off") return false;
  if (text != "unknown") Stop(line);
  return std::nullopt;
}

// PID|child compute|graphics|both NAME|- [?]BYTES [LOOK:BYTES ...]
Holder ReadHolder(std::istringstream& words, const std::string& line) {
  Holder holder;
  std::string pid, kind, bytes;
  if (!(words >> pid >> kind >> holder.name >> bytes)) Stop(line);
  holder.child = pid == "child";
  if (!holder.child) holder.pid = BytesOf(pid, line);
  holder.compute = kind != "graphics";
  holder.graphics = kind != "compute";
  if (holder.name == "-") holder.name.clear();
  if (bytes.front() == '?') {
    holder.told = false;
    bytes.erase(0, 1);
  }
  holder.bytes[0] = BytesOf(bytes, line);
  for (std::string step; words >> step;) {
    const size_t colon = step.find(':');
    if (colon == std::string::npos) Stop(line);
    holder.bytes[std::atoi(step.c_str())] = BytesOf(step.substr(colon + 1), line);
  }
  return holder;
}

// A card of which only the name was said: a T4 with round numbers, nobody on it.
Card Plain(const std::string& name, size_t index) {
  Card card;
  card.name = name;
  char text[48];
  std::snprintf(text, sizeof text, "%02zx", index + 1);
  card.pci = "0000:" + std::string(text) + ":00.0";
  if (index + 1 < 16) {
    for (const size_t length : {8, 4, 4, 4, 12})
      card.uuid += (card.uuid.empty() ? "" : "-") + std::string(length, text[1]);
  } else {
    std::snprintf(text, sizeof text, "00000000-0000-0000-0000-%012zx", index + 1);
    card.uuid = text;
  }
  card.total = int64_t{16} << 30;
  card.usable = int64_t{15} << 30;
  card.granularity = card.kernel = int64_t{2} << 20;
  card.context = int64_t{200} << 20;
  card.cublas = int64_t{40} << 20;
  card.cudnn = int64_t{60} << 20;
  card.ecc = true;
  card.display = false;
  card.bandwidth = 240e9;
  card.launch = 5e-6;
  card.rates = {{"fp32", 7e12}, {"fp16", 40e12}};
  for (const char* pass : {"forward", "input-gradient", "weight-gradient"}) card.workspaces[pass] = int64_t{3} << 20;
  return card;
}

// False: no word of a card.
bool ReadCardWord(const std::string& word, std::istringstream& words, const std::string& line, Card& card) {
  const auto text = [&] {
    std::string next;
    if (!(words >> next)) Stop(line);
    return next;
  };
  const std::map<std::string, int64_t*> sizes = {
      {"total", &card.total},     {"usable", &card.usable}, {"granularity", &card.granularity},
      {"context", &card.context}, {"kernel", &card.kernel}, {"cublas", &card.cublas},
      {"cudnn", &card.cudnn}};
  const auto size = sizes.find(word);
  if (size != sizes.end())
    *size->second = BytesOf(text(), line);
  else if (word == "uuid")
    card.uuid = text();
  else if (word == "pci")
    card.pci = text();
  else if (word == "capability")
    std::sscanf(text().c_str(), "%d.%d", &card.major, &card.minor);
  else if (word == "multiprocessors")
    card.multiprocessors = std::stoi(text());
  else if (word == "mig")
    card.mig = true;
  else if (word == "ecc")
    card.ecc = OnOrOff(text(), line);
  else if (word == "display")
    card.display = OnOrOff(text(), line);
  else if (word == "holder")
    card.holders.push_back(ReadHolder(words, line));
  else if (word == "largest-piece")
    card.largest_piece = BytesOf(text(), line);
  else if (word == "bandwidth")
    card.bandwidth = std::stod(text());
  else if (word == "launch")
    card.launch = std::stod(text());
  else if (word == "neighbour") {
    const int allocation = std::stoi(text());
    card.neighbour[allocation] = BytesOf(text(), line);
  } else if (word == "rate") {
    const std::string arithmetic = text();
    card.rates[arithmetic] = std::stod(text());
  } else if (word == "workspace") {
    const std::string pass = text();
    card.workspaces[pass] = BytesOf(text(), line);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int64_t Holder::BytesAt(int look) const { return std::prev(bytes.upper_bound(look))->second; }

Description Read(const std::string& text) {
  Description machine;
  std::string lines = text;
  for (char& c : lines) c = c == ';' ? '\n' : c;
  int spare = 0;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word.front() == '#') continue;
    if (word == "driver") {
      words >> machine.driver;
    } else if (word == "cuda") {
      int major = 0, minor = 0;
      char dot = 0;
      words >> major >> dot >> minor;
      machine.cuda = major * 1000 + minor * 10;
    } else if (word == "spare") {
      words >> spare;
    } else if (word == "wsl") {
      machine.wsl = true;
    } else if (word == "fail") {
      Failure failure;
      words >> failure.function >> failure.code >> failure.from >> failure.to;
      if (failure.from == 0) failure.from = 1;
      machine.failures.push_back(failure);
    } else if (word == "lost") {
      Loss loss;
      words >> loss.function >> loss.call >> loss.code;
      machine.loss = loss;
    } else if (word == "card") {
      std::string name;
      std::getline(words >> std::ws, name);
      machine.cards.push_back(Plain(name, machine.cards.size()));
    } else if (machine.cards.empty() || !ReadCardWord(word, words, line, machine.cards.back())) {
      Stop(line);
    }
  }
  for (; spare > 0 && !machine.cards.empty() && machine.cards.size() < kMostCards; --spare) {
    const Card named = Plain("", machine.cards.size());
    machine.cards.push_back(machine.cards.front());
    machine.cards.back().pci = named.pci;
    machine.cards.back().uuid = named.uuid;
    machine.cards.back().spare = true;
  }
  // What is not usable is the driver's.
  for (Card& card : machine.cards) card.total = std::max(card.total, card.usable);
  return machine;
}

Description DescriptionOfEnvironment() {
  const char* text = std::getenv("VRAMPLAN_PRETEND_GPU");
  if (text == nullptr) return {};
  if (*text != '@') return Read(text);
  std::ifstream file(text + 1);
  return Read({std::istreambuf_iterator<char>(file), {}});
}

std::vector<int> VisibleCards(const std::vector<Card>& all, const char* visible) {
  std::vector<int> cards;
  if (visible == nullptr) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].spare) cards.push_back(static_cast<int>(i));
    }
    return cards;
  }
  std::istringstream words(visible);
  for (std::string word; std::getline(words, word, ',');) {
    const bool number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos && word.size() < 6;
    const auto card = number ? (std::stoul(word) < all.size() ? all.begin() + std::stol(word) : all.end())
                             : std::ranges::find_if(all, [&](const Card& each) {
                                 return !word.empty() && ((each.mig ? "MIG-" : "GPU-") + each.uuid).starts_with(word);
                               });
    if (card == all.end()) break;
    cards.push_back(static_cast<int>(card - all.begin()));
  }
  return cards;
}

int CardsSeen(const std::vector<Card>& all, const char* visible) {
  int seen = static_cast<int>(std::ranges::count(all, false, &Card::spare));
  for (const int card : VisibleCards(all, visible)) seen = std::max(seen, card + 1);
  return seen;
}

}  // namespace pretend
