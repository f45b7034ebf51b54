#include "pretend/card/others.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace pretend {
namespace {

// The newest child of this process, 0: it has none. "PID (name) state PARENT ..." says /proc/PID/stat.
int64_t Child() {
  int64_t child = 0;
  DIR* const processes = opendir("/proc");
  if (processes == nullptr) return 0;
  while (const dirent* entry = readdir(processes)) {
    const int64_t pid = std::atoll(entry->d_name);
    if (pid <= child) continue;
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    // A process that ends between opening and reading is an error, which getline() keeps to the stream.
    std::string stat;
    std::getline(file, stat, '\0');
    if (stat.find(')') == std::string::npos) continue;
    std::istringstream words(stat.substr(stat.rfind(')') + 1));
    char state = 0;
    int64_t parent = 0;
    if (words >> state >> parent && parent == getpid() && state != 'Z') child = pid;
  }
  closedir(processes);
  return child;
}

}  // namespace

int64_t PidOf(const Holder& holder) { return holder.child ? Child() : holder.pid; }
int64_t BytesOf(const Holder& holder, int look) { return PidOf(holder) == 0 ? 0 : holder.BytesAt(look); }

int64_t BytesOfHolders(const Card& card, int look) {
  int64_t bytes = 0;
  for (const Holder& holder : card.holders) bytes += BytesOf(holder, look);
  return bytes;
}

}  // namespace pretend
