#include "pretend/card/companions.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "pretend/card/description.h"

namespace pretend {
namespace {

constexpr size_t kProcesses = 256;

struct Alive {
  char state = 'X';
  int64_t began = 0;  // in ticks since the machine started: numbers of processes are used again
};

Alive AliveOf(int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat, '\0');
  Alive alive;
  if (stat.find(')') == std::string::npos) return alive;
  std::istringstream words(stat.substr(stat.rfind(')') + 1));
  words >> alive.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) words >> skipped;  // proc(5): starttime is the 22nd
  words >> alive.began;
  return alive;
}

bool HasEnded(const Alive& alive) { return alive.state == 'X' || alive.state == 'Z'; }

// Others write between two looks of this process; a file is locked by whoever opened it, so each has its own.
class Locked {
 public:
  explicit Locked(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~Locked() {
    if (file_ >= 0) close(file_);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  int file_;
};

}  // namespace

struct Companions::Table {
  struct Row {
    int64_t pid = 0, began = 0;
    std::array<uint64_t, kMostCards> bytes{};
    std::array<uint64_t, kMostCards> context{};
  };
  std::array<Peak, kMostCards> peaks;
  std::array<uint64_t, kMostCards> highest{};  // of each peak, with its contexts
  std::array<Row, kProcesses> rows;
};

Companions::Table* Companions::Mapped() const {
  if (tried_ || path_.empty()) return table_;
  tried_ = true;
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  // A new file is zeros, which are an empty table.
  if (ftruncate(file, sizeof(Table)) == 0) {
    void* const begin = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (begin != MAP_FAILED) table_ = static_cast<Table*>(begin);
  }
  close(file);
  return table_;
}

void Companions::Hold(int card, uint64_t bytes, uint64_t context) {
  Table* const table = Mapped();
  if (table == nullptr || card < 0 || card >= kMostCards) return;
  const auto at = static_cast<size_t>(card);
  const Locked locked(path_);
  const int64_t own = getpid();
  Table::Row *mine = nullptr, *empty = nullptr;
  Peak now{bytes, context > 0 ? 1 : 0};
  uint64_t sum = bytes + context;
  for (Table::Row& row : table->rows) {
    if (row.pid == 0) {
      if (empty == nullptr) empty = &row;
    } else if (row.pid == own) {
      mine = &row;
    } else if (row.context[at] > 0) {
      const Alive alive = AliveOf(row.pid);
      if (HasEnded(alive) || alive.began != row.began) {
        row = Table::Row();
        continue;
      }
      now.bytes += row.bytes[at];
      ++now.contexts;
      sum += row.bytes[at] + row.context[at];
    }
  }
  if (mine == nullptr) mine = empty;
  if (mine == nullptr) return;
  if (mine->pid != own) mine->began = AliveOf(own).began;
  mine->pid = own;
  mine->bytes[at] = bytes;
  mine->context[at] = context;
  if (sum <= table->highest[at]) return;
  table->highest[at] = sum;
  table->peaks[at] = now;
}

Companions::Peak Companions::Together(int card) const {
  const Table* const table = Mapped();
  return table == nullptr || card < 0 || card >= kMostCards ? Peak() : table->peaks[static_cast<size_t>(card)];
}

}  // namespace pretend
