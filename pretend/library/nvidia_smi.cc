// nvidia-smi, as far as scripts ask it: `vramplan run` puts its folder first into PATH. It says what NVML says, whose
// functions are those of the pretend card; memory that this command's other processes hold is not known to it.
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
int nvmlInit_v2();
int nvmlSystemGetDriverVersion(char* text, unsigned length);
int nvmlSystemGetCudaDriverVersion_v2(int* version);
int nvmlDeviceGetCount_v2(unsigned* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device);
int nvmlDeviceGetName(void* device, char* text, unsigned length);
int nvmlDeviceGetUUID(void* device, char* text, unsigned length);
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory);
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor);
}

namespace {

struct Card {
  unsigned index = 0;
  std::string name, uuid, driver, capability;
  unsigned long long memory[3] = {0, 0, 0};  // total, free, used
};

std::string Mebibytes(unsigned long long bytes, bool units) {
  return std::to_string(bytes >> 20) + (units ? " MiB" : "");
}

std::string Answer(const Card& card, unsigned count, const std::string& field, bool units) {
  if (field == "index") return std::to_string(card.index);
  if (field == "count") return std::to_string(count);
  if (field == "name" || field == "gpu_name") return card.name;
  if (field == "uuid" || field == "gpu_uuid") return card.uuid;
  if (field == "driver_version") return card.driver;
  if (field == "compute_cap") return card.capability;
  if (field == "memory.total") return Mebibytes(card.memory[0], units);
  if (field == "memory.free") return Mebibytes(card.memory[1], units);
  if (field == "memory.used") return Mebibytes(card.memory[2], units);
  if (field == "utilization.gpu" || field == "utilization.memory") return units ? "0 %" : "0";
  return "[N/A]";
}

std::vector<Card> Cards() {
  std::vector<Card> cards;
  unsigned count = 0;
  char driver[80] = "", text[96] = "";
  if (nvmlInit_v2() != 0 || nvmlDeviceGetCount_v2(&count) != 0) return cards;
  nvmlSystemGetDriverVersion(driver, sizeof driver);
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    if (nvmlDeviceGetHandleByIndex_v2(i, &device) != 0) continue;
    Card card;
    card.index = i;
    card.driver = driver;
    if (nvmlDeviceGetName(device, text, sizeof text) == 0) card.name = text;
    if (nvmlDeviceGetUUID(device, text, sizeof text) == 0) card.uuid = text;
    nvmlDeviceGetMemoryInfo(device, card.memory);
    int major = 0, minor = 0;
    nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
    card.capability = std::to_string(major) + "." + std::to_string(minor);
    cards.push_back(card);
  }
  return cards;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    const size_t first = word.find_first_not_of(' ');
    words.push_back(first == std::string::npos ? "" : word.substr(first, word.find_last_not_of(' ') - first + 1));
  }
  return words;
}

std::string HeadOf(const std::string& field, bool units) {
  if (units && field.starts_with("memory.")) return field + " [MiB]";
  return units && field.starts_with("utilization.") ? field + " [%]" : field;
}

void PrintRow(const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) std::printf("%s%s", i == 0 ? "" : ", ", cells[i].c_str());
  std::printf("\n");
}

void PrintTable(const std::vector<Card>& cards) {
  int version = 0;
  nvmlSystemGetCudaDriverVersion_v2(&version);
  std::printf("NVIDIA-SMI (a pretend card of vramplan)   Driver Version: %s   CUDA Version: %d.%d\n",
              cards.front().driver.c_str(), version / 1000, version % 1000 / 10);
  for (const Card& card : cards) {
    std::printf("| %3u  %-40s | %6lluMiB / %6lluMiB | 0%% |\n", card.index, card.name.c_str(), card.memory[2] >> 20,
                card.memory[0] >> 20);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Card> cards = Cards();
  if (cards.empty()) {
    std::printf("No devices were found\n");
    return 6;
  }
  const unsigned count = static_cast<unsigned>(cards.size());
  std::vector<std::string> fields, chosen;
  bool head = true, units = true, list = false, others = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    const std::string value = equals == std::string::npos ? (i + 1 < argc ? argv[i + 1] : "") : word.substr(equals + 1);
    if (word.starts_with("--query-gpu")) fields = Split(value);
    if (word.starts_with("--query-compute-apps")) others = true;
    if (word == "-i" || word.starts_with("--id")) chosen = Split(value);
    if (word == "-L" || word == "--list-gpus") list = true;
    if (word.starts_with("--format") && word.find("noheader") != std::string::npos) head = false;
    if (word.starts_with("--format") && word.find("nounits") != std::string::npos) units = false;
  }
  if (!chosen.empty()) {
    std::erase_if(cards, [&](const Card& card) {
      for (const std::string& id : chosen) {
        if (id == std::to_string(card.index) || id == card.uuid) return false;
      }
      return true;
    });
  }
  if (others || cards.empty()) return 0;
  if (fields.empty() && !list) PrintTable(cards);
  for (const Card& card : list ? cards : std::vector<Card>())
    std::printf("GPU %u: %s (UUID: %s)\n", card.index, card.name.c_str(), card.uuid.c_str());
  if (fields.empty()) return 0;
  std::vector<std::string> cells;
  for (const std::string& field : fields) cells.push_back(HeadOf(field, units));
  if (head) PrintRow(cells);
  for (const Card& card : cards) {
    cells.clear();
    for (const std::string& field : fields) cells.push_back(Answer(card, count, field, units));
    PrintRow(cells);
  }
}
