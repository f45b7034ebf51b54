#include "planner/oom/message.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "graph/base/check.h"
#include "graph/base/text.h"
#include "planner/oom/forms.h"

namespace vramplan {
namespace {

// Longer than any message; the text after it belongs to something else.
constexpr size_t kLongest = 8192;
// Two wordings this close belong to one message, of which the upper row of the table knows more.
constexpr size_t kTogether = 256;
// Messages of one log that are looked at for one with a size.
constexpr size_t kMostLookedAt = 64;

struct Place {
  const Form* form;
  size_t at;          // where the message begins
  size_t knows_more;  // where the wording of `form` stands
};

bool IsOwnWord(std::string_view line, size_t at, size_t length) {
  const auto letter = [&](size_t i) {
    return i < line.size() && std::isalpha(static_cast<unsigned char>(line[i])) != 0;
  };
  const bool capital = std::isupper(static_cast<unsigned char>(line[at])) != 0;
  return capital && !letter(at + length) && (at == 0 || !letter(at - 1));
}

// Whether a sentence that names no size only speaks of such messages: "if you encounter CUDA out of memory, use a smaller
// tile".
bool IsAdvice(std::string_view lower, size_t at, size_t length) {
  constexpr std::string_view kSpeaks[] = {"if you ",  "if there is ", "avoid ",    "encounter",
                                          "prevent ", "in case of ",  "run into ", "running into ",
                                          "to fix ",  "to reduce ",   "reduces "};
  constexpr size_t kSentence = 48;
  if (lower.substr(at + length, kSentence).find("allocate") != lower.npos) return false;
  std::string_view before = lower.substr(at - std::min(at, kSentence), std::min(at, kSentence));
  for (const std::string_view end : {". ", "error: "})
    if (const size_t ends = before.rfind(end); ends != before.npos) before.remove_prefix(ends + end.size());
  return std::ranges::any_of(kSpeaks, [&](std::string_view words) { return before.find(words) != before.npos; });
}

// Where the wordings of the lowest rank begin, in the order of the text.
std::vector<Place> FindForms(std::string_view line, std::string_view lower) {
  std::array<std::vector<const Form*>, 256> by_first;
  for (const Form& form : Forms()) by_first[static_cast<unsigned char>(form.words.front())].push_back(&form);
  std::vector<Place> found;
  FormRank lowest = FormRank::kWords;
  for (size_t at = 0; at < lower.size(); ++at) {
    for (const Form* form : by_first[static_cast<unsigned char>(lower[at])]) {
      if (form->rank > lowest || !lower.substr(at).starts_with(form->words)) continue;
      if (form->own_word && !IsOwnWord(line, at, form->words.size())) continue;
      if (IsAdvice(lower, at, form->words.size())) continue;
      if (form->rank < lowest) found.clear();
      lowest = form->rank;
      if (found.size() < kMostLookedAt) found.push_back({form, at, at});
    }
  }
  return found;
}

int64_t WidthOf(std::string_view type) {
  struct Width {
    std::string_view type;
    int64_t bytes;
  };
  // tensorflow/core/framework/types.proto
  constexpr auto kWidths = std::to_array<Width>({
      {"float", 4},  {"double", 8},        {"half", 2},        {"bfloat16", 2},  {"int8", 1},
      {"uint8", 1},  {"int16", 2},         {"uint16", 2},      {"int32", 4},     {"uint32", 4},
      {"int64", 8},  {"uint64", 8},        {"bool", 1},        {"qint8", 1},     {"quint8", 1},
      {"qint32", 4}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1}, {"complex64", 8}, {"complex128", 16},
  });
  const auto* found = std::ranges::find(kWidths, type, &Width::type);
  return found == kWidths.end() ? 0 : found->bytes;
}

// "shape[32,3840,10,10] and type float": the bytes are not in the message. Before TensorFlow 1.9 the type is only in
// the operator, "[[Node: ... = Mul[T=DT_FLOAT, ...".
void ReadShape(const Words& words, OutOfMemory* message) {
  const std::string dims = words.Between("tensor with shape[", "]");
  if (dims.empty()) return;
  std::string type = words.Between("] and type ", " ");
  if (type.empty()) type = LowerCase(words.Between("[t=dt_", ","));
  message->shape = "shape[" + dims + "]" + (type.empty() ? "" : " and type " + type);
  double bytes = static_cast<double>(WidthOf(type));
  const char* const end = dims.data() + dims.size();
  for (const char* begin = dims.data(); begin < end;) {
    double dim = 0;
    const auto read = std::from_chars(begin, end, dim);
    if (read.ec != std::errc()) return;
    bytes *= dim;
    begin = read.ptr + 1;
  }
  if (bytes > 0) message->tried = bytes < 9.2e18 ? Bytes::Of(static_cast<int64_t>(bytes)) : Bytes::Max();
}

// "Process 3419336 has 470.64 MiB memory in use.", of the system or of this process as the container numbers it.
void ReadProcesses(std::string_view text, std::string_view lower, OutOfMemory* message) {
  constexpr std::string_view kProcess = "process ", kHas = " has ";
  for (size_t at = lower.find(kProcess); at != lower.npos; at = lower.find(kProcess, at + 1)) {
    const size_t begin = at + kProcess.size();
    const size_t has = lower.find_first_not_of("0123456789", begin);
    if (has == begin || has == lower.npos || !lower.substr(has).starts_with(kHas)) continue;
    const Words words(text, lower, at);
    const std::optional<int64_t> pid = words.NumberAfter(kProcess);
    const std::optional<Bytes> bytes = Words(text, lower, has).SizeAfter(kHas);
    if (pid && bytes == Bytes()) ++message->unread_processes;
    if (pid && bytes > Bytes()) message->processes.push_back({*pid, *bytes});
  }
}

// A difference that was printed after it fell below zero is missing (microsoft/WSL#11050), and so is a card of no size.
void DropImpossible(OutOfMemory* message) {
  for (const SizeWords& row : SizesOfForms()) {
    std::optional<Bytes>& size = message->*row.means;
    if (row.means != &OutOfMemory::tried && size && *size >= kBeyondAnyMachine) size.reset();
  }
  const auto is_of_no_card = [](const std::optional<Bytes>& size) { return size && *size >= kBeyondAnyCard; };
  if (message->place == MemoryPlace::kCard) {
    if (message->capacity == Bytes() || is_of_no_card(message->capacity)) message->capacity.reset();
    for (std::optional<Bytes>* held :
         {&message->allocated, &message->reserved, &message->unallocated, &message->in_use})
      if (is_of_no_card(*held)) held->reset();
  }
  if (message->free && message->capacity && *message->free > *message->capacity + kRounding) message->free.reset();
  if (message->in_use == Bytes() && message->allocated > Bytes()) message->in_use.reset();
  // A size in whole gibibytes that are none says nothing.
  if (message->tried == Bytes()) message->tried.reset();
  if (message->gpu && *message->gpu >= 1024) message->gpu.reset();
  std::erase_if(message->processes,
                [](const OutOfMemoryProcess& process) { return process.in_use >= kBeyondAnyMachine; });
}

// The class OutOfMemoryError came with 1.13, and the hint about max_split_size_mb with 1.10.
bool IsBefore2(const Words& words, std::string_view in_front) {
  if (!words.Has(" total capacity;")) return false;
  const bool whole = words.Has(" reserved in total by pytorch)") || words.Has(" cached)");
  return in_front.ends_with("runtimeerror: ") || (whole && !words.Has("if reserved memory is"));
}

// Of an operator of TensorFlow's, by its name: "gradients/conv1/...", "training/Adam/mul_23".
RunPart PartOfGraph(std::string_view lower) {
  for (const std::string_view words : {"adam", "adagrad", "rmsprop", "momentum", "gradientdescent", "optimizer"})
    if (lower.find(words) != lower.npos && lower.find("gradients/") == lower.npos) return RunPart::kOptimizer;
  return lower.find("gradients/") != lower.npos || lower.find("gradient_tape/") != lower.npos ? RunPart::kBackward
                                                                                              : RunPart::kUnknown;
}

// What is raised has its class in front of it; what was caught is logged with words of its own, and what goes on says so.
bool IsRaised(std::string_view lower, size_t at, const Form& form) {
  constexpr std::string_view kCaught[] = {"warning:", "with exception:", "caught", " failed: ", "skipping "};
  constexpr std::string_view kGoesOn[] = {"retrying", "skipping tactic", "attempting to free up memory"};
  constexpr size_t kNear = 96, kSoon = 512;
  std::string_view in_front = lower.substr(0, at);
  while (in_front.ends_with(' ')) in_front.remove_suffix(1);
  if (in_front.ends_with("error:")) return true;
  in_front.remove_prefix(in_front.size() - std::min(in_front.size(), kNear));
  const auto is_in = [](std::string_view text) {
    return [text](std::string_view words) { return text.find(words) != text.npos; };
  };
  return (form.kind != "pytorch" || std::ranges::none_of(kCaught, is_in(in_front))) &&
         std::ranges::none_of(kGoesOn, is_in(lower.substr(at, kSoon)));
}

// A path such as "C:\me\train.py".
bool IsOfWindows(std::string_view lower) {
  for (const std::string_view says :
       {"system: windows", "windows-10", "windows-11", "set commandline_args=", "..\\c10"})
    if (lower.find(says) != lower.npos) return true;
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (size_t path = lower.find(":\\"); path != lower.npos; path = lower.find(":\\", path + 1))
    if (path > 0 && is_part(lower[path - 1]) && (path == 1 || !is_part(lower[path - 2]))) return true;
  return false;
}

// In a container the message names this process by its number, like the others: it is the one that holds what PyTorch
// reserved and a context, or the one that must, because the card is too small for both. Where a process that is not
// named would leave less of the card unexplained, it is none of them.
void FindOwnProcess(OutOfMemory* message) {
  if (message->in_use || !message->reserved) return;
  const Bytes reserved = *message->reserved;
  Bytes named = message->free.value_or(Bytes());
  OutOfMemoryProcess* own = nullptr;
  for (OutOfMemoryProcess& process : message->processes) {
    named += process.in_use;
    if (process.in_use >= reserved - kRounding && (own == nullptr || process.in_use < own->in_use)) own = &process;
  }
  if (own == nullptr) return;
  const Bytes left = message->capacity.value_or(named) - named;
  const bool no_room_for_both = message->capacity && left - reserved < Bytes() - kRounding;
  const bool explained_without = left > kMostContext && left - reserved <= kMostContext;
  if (!no_room_for_both && (explained_without || own->in_use > reserved + kMostContext)) return;
  own->own = true;
  message->in_use = own->in_use;
}

// Numbers that follow from others: which of them are printed depends on the version.
void Derive(OutOfMemory* message) {
  std::optional<Bytes>& reserved = message->reserved;
  if (message->allocated && message->unallocated && !reserved) reserved = *message->allocated + *message->unallocated;
  // What is printed as allocated has the free blocks of the pools of graphs in it (c10/cuda/CUDACachingAllocator.cpp, 2.10:
  // allocated_bytes + allocated_in_private_pools, which sums block->size of pool.blocks).
  if (message->allocated && message->private_pools)
    message->allocated = std::max(Bytes(), *message->allocated - *message->private_pools);
  if (message->allocated && reserved && !message->unallocated)
    message->unallocated = std::max(Bytes(), *reserved - *message->allocated);
  // What Metal's limit leaves.
  if (message->backend == "MPS" && message->capacity && reserved && message->outside && !message->free)
    message->free = std::max(Bytes(), *message->capacity - *reserved - *message->outside);
  if (message->used && message->free && !message->capacity) message->capacity = *message->used + *message->free;
  FindOwnProcess(message);
  if (message->in_use && reserved && !message->outside && *message->in_use >= *reserved - kRounding)
    message->outside = std::max(Bytes(), *message->in_use - *reserved);
}

OutOfMemory ReadAt(std::string_view line, std::string_view lower, const Place& place) {
  const Form& form = *place.form;
  OutOfMemory message;
  message.kind = form.kind;
  message.place = form.place;
  message.backend = form.backend;
  message.remark = form.remark;
  message.pool = PoolOf(form.kind, form.backend);
  // The message goes on until the next one begins.
  const size_t begin = place.at - std::min(place.at, InFrontOf(form.kind));
  const size_t next = lower.find(form.words, place.knows_more + form.words.size());
  const size_t length = std::min(next, place.knows_more + kLongest) - begin;
  const std::string_view text = line.substr(begin, length), small = lower.substr(begin, length);
  Words words(text, small, place.at - begin);
  if (form.kind == "pytorch") words.NeedUnits();
  for (const SizeWords& row : SizesOfForms()) {
    std::optional<Bytes>& size = message.*row.means;
    if (row.kind == form.kind && !size) size = (words.*row.find)(row.words);
  }
  for (const CountWords& row : CountsOfForms()) {
    std::optional<int64_t>& count = message.*row.means;
    if (row.kind == form.kind && !count) count = words.NumberAfter(row.words);
  }
  for (const NameWords& row : NamesOfForms()) {
    std::string& name = message.*row.means;
    if (row.kind == form.kind && name.empty()) name = words.Between(row.left, row.right);
  }
  for (const PartWords& row : PartsOfForms()) {
    if (row.kind != form.kind) continue;
    if (const std::optional<Bytes> bytes = words.SizeAfter(row.words); bytes && *bytes > Bytes())
      message.parts.push_back({row.name, *bytes});
  }
  for (const PlaceWords& row : PlacesOfForms()) {
    if (row.kind == form.kind && words.Has(row.words)) message.place = row.place;
  }
  if (form.kind == "pytorch") {
    message.before_2 = IsBefore2(words, lower.substr(0, place.at));
    const bool begins = words.Has("including non-pytorch memory") || words.Has(" is free");
    message.cut = message.capacity && !message.allocated && !message.in_use && begins;
    message.before_2_1 = (message.backend == "CUDA" || message.backend == "HIP") && words.Has(" total capacity;");
    ReadProcesses(text, small, &message);
  }
  // What the kernel counts for a process that it killed.
  if (form.kind == "host" && message.in_use) {
    for (const std::string_view other : {"file-rss:", "shmem-rss:"})
      *message.in_use += words.SizeAfter(other).value_or(Bytes());
  }
  // Others than llama.cpp say "cudaMalloc failed: out of memory", too.
  if (form.kind == "llama.cpp" && lower.find("llama") == lower.npos && lower.find("ggml") == lower.npos) {
    message.kind = "device";
    message.remark = RemarkOfDriver();
  }
  message.raised = IsRaised(lower, place.at, form);
  if (message.raised) message.failure = FailureIn(line, place.at);
  // torch/utils/data/_utils/pin_memory.py: batch.pin_memory()
  if (form.kind == "device" && message.failure.pins) {
    message.kind = "host";
    message.place = MemoryPlace::kHost;
    message.remark = RemarkOfPinning();
  }
  if (form.kind == "tensorflow") {
    ReadShape(words, &message);
    const RunPart part = PartOfGraph(LowerCase(message.node));
    if (part != RunPart::kUnknown) message.failure.part = part;
  }
  DropImpossible(&message);
  Derive(&message);
  return message;
}

}  // namespace

std::string_view Name(MemoryPlace place) {
  switch (place) {
    case MemoryPlace::kCard:
      return "card";
    case MemoryPlace::kHost:
      return "host";
    case MemoryPlace::kOnChip:
      return "on-chip";
    case MemoryPlace::kKeyValue:
      return "key-value";
  }
  FailCheck(__FILE__, __LINE__, "unknown place");
}

namespace {

// What a message of PyTorch since 2.1 has that is whole; of older ones none has as many.
constexpr int kNumbersOfWhole = 7;

// How many numbers a message has.
int NumbersOf(const OutOfMemory& message) {
  int numbers = 0;
  for (const std::optional<Bytes>& size :
       {message.tried, message.capacity, message.free, message.allocated, message.reserved, message.in_use})
    numbers += size ? 1 : 0;
  return numbers + (message.gpu ? 1 : 0);
}

// What the rest of the log says of the machine and the program.
OutOfMemory WithSurroundings(OutOfMemory message, std::string_view lower) {
  const auto has = [&](std::string_view words) { return lower.find(words) != lower.npos; };
  message.windows = IsOfWindows(lower);
  message.loads_data = has("dataloader") || has("worker");
  // PyTorch warns so of a build without the driver's API of virtual memory, as those for Windows are
  // (c10/cuda/CUDAAllocatorConfig.cpp, PYTORCH_C10_DRIVER_API_SUPPORTED, PyTorch 2.10).
  message.no_expandable = message.kind == "pytorch" && (message.windows || has("expandable_segments not supported"));
  return message;
}

Result<OutOfMemory> ReadLine(std::string_view subject, const std::string& line) {
  const std::string lower = LowerCase(line);
  std::vector<Place> places = FindForms(line, lower);
  if (places.empty()) {
    return Error{ErrorCode::kBadInput, std::string(subject), "there is no out-of-memory message in it",
                 "paste the line that says \"out of memory\", with the sentences after it"};
  }
  for (Place& place : places) {
    for (const Place& other : places) {
      const bool together = other.at >= place.at && other.at <= place.at + kTogether;
      if (together && other.form < place.form) place.form = other.form, place.knows_more = other.at;
    }
  }
  std::stable_partition(places.begin(), places.end(), [](const Place& place) { return !place.form->warning; });
  std::optional<OutOfMemory> sized;
  int messages = 0;
  const Place* last = nullptr;
  for (const Place& place : places) {
    OutOfMemory message = ReadAt(line, lower, place);
    if (!message.tried) continue;
    const bool same = last != nullptr && (place.knows_more == last->knows_more ||
                                          (place.form != last->form && place.at <= last->at + kTogether));
    messages += same ? 0 : 1;
    last = &place;
    if (!sized || (message.raised && !sized->raised)) sized = std::move(message);
  }
  if (!sized) return WithSurroundings(ReadAt(line, lower, places.front()), lower);
  sized->messages = messages;
  return WithSurroundings(*std::move(sized), lower);
}

}  // namespace

Result<OutOfMemory> ReadOutOfMemory(std::string_view subject, std::string_view text) {
  Result<OutOfMemory> message = ReadLine(subject, Unwrapped(text));
  const bool other = message.ok() && message->kind != "pytorch" && message->tried;
  if (text.find('\n') == text.npos || other || (message.ok() && NumbersOf(*message) >= kNumbersOfWhole)) return message;
  // What was broken at a width, within words and numbers.
  Result<OutOfMemory> joined = ReadLine(subject, Unwrapped(text, /*within_words=*/true));
  if (!joined.ok() || joined->kind != "pytorch") return message;
  return !message.ok() || NumbersOf(*joined) > NumbersOf(*message) ? joined : message;
}

}  // namespace vramplan
