#include "planner/oom/message.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "graph/base/check.h"

namespace vramplan {
namespace {

// Longer than any message; the text after it belongs to something else.
constexpr size_t kLongest = 8192;

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Terminals and logs wrap and indent, so every run of white space becomes one blank.
std::string Unwrapped(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    if (!IsSpace(c)) {
      line.push_back(c);
    } else if (!line.empty() && line.back() != ' ') {
      line.push_back(' ');
    }
  }
  return line;
}

// One message, whose sizes and numbers are found by the words next to them.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  bool Has(std::string_view words) const { return text_.find(words) != text_.npos; }

  // "Tried to allocate |2.26 GiB|"; TensorFlow omits the blank, older forms omit the unit.
  std::optional<Bytes> SizeAfter(std::string_view words) const {
    const size_t at = text_.find(words);
    return at == text_.npos ? std::nullopt : SizeAt(at + words.size());
  }
  // "|3.14 GiB| already allocated"
  std::optional<Bytes> SizeBefore(std::string_view words) const {
    const size_t at = text_.find(words);
    if (at == text_.npos) return std::nullopt;
    size_t begin = at;
    const auto back = [&](auto is) {
      while (begin > 0 && is(text_[begin - 1])) --begin;
    };
    back(IsSpace);
    back(IsLetter);
    back(IsSpace);
    back([](char c) { return IsDigit(c) || c == '.'; });
    return SizeAt(begin);
  }
  std::optional<int64_t> NumberAfter(std::string_view words) const {
    const size_t at = text_.find(words);
    return at == text_.npos ? std::nullopt : NumberAt(at + words.size());
  }
  // The text between two words: "running |Conv| node"
  std::string Between(std::string_view left, std::string_view right) const {
    const size_t at = text_.find(left);
    if (at == text_.npos) return "";
    const size_t begin = at + left.size(), end = text_.find(right, begin);
    return end == text_.npos ? "" : std::string(text_.substr(begin, end - begin));
  }

  // All of "Process 3419336 has 470.64 MiB memory in use."
  std::vector<OutOfMemoryProcess> Processes() const {
    constexpr std::string_view kProcess = "Process ", kHas = " has ";
    std::vector<OutOfMemoryProcess> found;
    for (size_t at = text_.find(kProcess); at != text_.npos; at = text_.find(kProcess, at + 1)) {
      const size_t begin = at + kProcess.size();
      const std::optional<int64_t> pid = NumberAt(begin);
      const size_t has = text_.find(kHas, begin);
      if (!pid || has == text_.npos || text_.find_first_not_of("0123456789", begin) != has) continue;
      if (const std::optional<Bytes> bytes = SizeAt(has + kHas.size())) found.push_back({*pid, *bytes});
    }
    return found;
  }

 private:
  std::optional<int64_t> NumberAt(size_t begin) const {
    int64_t number = 0;
    const char* first = text_.data() + begin;
    const auto [end, status] = std::from_chars(first, text_.data() + text_.size(), number);
    if (status != std::errc() || number < 0) return std::nullopt;
    return number;
  }
  // Nothing also for sizes that no card has: negative differences are printed as 17179869184.00 GiB
  // (microsoft/WSL#11050).
  std::optional<Bytes> SizeAt(size_t begin) const {
    size_t end = begin;
    while (end < text_.size() && (IsDigit(text_[end]) || text_[end] == '.')) ++end;
    if (end == begin) return std::nullopt;
    const size_t digits = end;
    if (end < text_.size() && text_[end] == ' ') ++end;
    const size_t unit = end;
    while (end < text_.size() && IsLetter(text_[end])) ++end;
    std::string_view name = text_.substr(unit, end - unit);
    if (name == "bytes" || name == "byte") name = "B";
    const std::string number(text_.substr(begin, digits - begin));
    // A number without a unit may be followed by another word: "8388608000 expr=".
    const bool has_unit = !name.empty() && name.back() == 'B';
    const Result<Bytes> size = ParseBytes(has_unit ? number + std::string(name) : number);
    return size.ok() ? std::optional(*size) : std::nullopt;
  }

  std::string_view text_;
};

void ReadPyTorch(const Words& words, OutOfMemory* message) {
  message->kind = OutOfMemoryKind::kPyTorch;
  message->tried = words.SizeAfter("Tried to allocate ");
  if (const auto gpu = words.NumberAfter("GPU "); gpu && *gpu < 1024) message->gpu = static_cast<int>(*gpu);
  message->allowed = words.SizeBefore(" allowed;");
  if (words.Has(
          " total capacity;")) {  // until 2.0: (GPU 0; A total capacity; B already allocated; C free; D reserved ...)
    message->capacity = words.SizeBefore(" total capacity;");
    message->allocated = words.SizeBefore(" already allocated");
    message->free = words.SizeBefore(" free;");
    message->reserved = words.SizeBefore(" reserved in total by PyTorch");
    // PyTorch 1.0 to 1.3 print `amount_cached - amount_allocated` here (c10/cuda/CUDACachingAllocator.cpp), the cached
    // bytes on top of the allocated ones. Since 1.4 the message has "reserved in total" instead.
    const std::optional<Bytes> cached = words.SizeBefore(" cached)");
    if (!message->reserved && cached && message->allocated) message->reserved = *message->allocated + *cached;
    return;
  }
  // 2.1 wrote "capacty".
  message->capacity = words.SizeAfter("has a total capacity of ");
  if (!message->capacity) message->capacity = words.SizeAfter("has a total capacty of ");
  message->free = words.SizeAfter(" of which ");
  message->processes = words.Processes();
  message->in_use = words.SizeAfter("this process has ");
  message->allocated = words.SizeAfter("Of the allocated memory ");
  message->private_pools = words.SizeBefore(" allocated in private pools");
  const std::optional<Bytes> unallocated = words.SizeBefore(" is reserved by PyTorch but unallocated");
  if (message->allocated && unallocated) {
    message->reserved = *message->allocated + message->private_pools.value_or(Bytes()) + *unallocated;
  }
}

void ReadTensorFlow(const Words& words, OutOfMemory* message) {
  message->kind = OutOfMemoryKind::kTensorFlow;
  message->tried = words.SizeAfter("ran out of memory trying to allocate ");
  message->capacity = words.SizeAfter("Limit: ");
  message->allocated = words.SizeAfter("InUse: ");
  message->node = words.Between("[[{{node ", "}}");
  if (message->node.empty()) message->node = words.Between("requested by op ", " ");
}

void ReadOnnxRuntime(const Words& words, OutOfMemory* message) {
  message->kind = OutOfMemoryKind::kOnnxRuntime;
  message->tried = words.SizeAfter("requested buffer of size ");
  message->op = words.Between("while running ", " node");
  message->node = words.Between("Name:'", "'");
}

// How each form begins, and the function that reads it.
struct Form {
  std::string_view words;
  OutOfMemoryKind kind;
  void (*read)(const Words&, OutOfMemory*) = nullptr;
};
constexpr auto kForms = std::to_array<Form>({
    {"CUDA out of memory.", OutOfMemoryKind::kPyTorch, ReadPyTorch},
    {"HIP out of memory.", OutOfMemoryKind::kPyTorch, ReadPyTorch},
    {"XPU out of memory.", OutOfMemoryKind::kPyTorch, ReadPyTorch},
    {"cuda runtime error (2) : out of memory", OutOfMemoryKind::kDevice},
    {"error=2 : out of memory", OutOfMemoryKind::kDevice},
    {"CUDA error: out of memory", OutOfMemoryKind::kDevice},
    {"CUDA failure 2: out of memory", OutOfMemoryKind::kDevice},
    {"DefaultCPUAllocator: ", OutOfMemoryKind::kHost,
     [](const Words& words, OutOfMemory* message) { message->tried = words.SizeAfter("you tried to allocate "); }},
    {"OOM when allocating tensor", OutOfMemoryKind::kTensorFlow, ReadTensorFlow},
    {"_bfc) ran out of memory trying to allocate", OutOfMemoryKind::kTensorFlow, ReadTensorFlow},
    {"Out of memory while trying to allocate ", OutOfMemoryKind::kXla,
     [](const Words& words, OutOfMemory* message) {
       message->tried = words.SizeAfter("Out of memory while trying to allocate ");
     }},
    {"Out of memory allocating ", OutOfMemoryKind::kXla,
     [](const Words& words, OutOfMemory* message) { message->tried = words.SizeAfter("Out of memory allocating "); }},
    {"Failed to allocate memory for requested buffer of size ", OutOfMemoryKind::kOnnxRuntime, ReadOnnxRuntime},
    {"Unable to find a valid cuDNN algorithm", OutOfMemoryKind::kLibrary},
    {"CUDNN_STATUS_ALLOC_FAILED", OutOfMemoryKind::kLibrary},
    {"CUBLAS_STATUS_ALLOC_FAILED", OutOfMemoryKind::kLibrary},
});

}  // namespace

std::string_view Name(OutOfMemoryKind kind) {
  switch (kind) {
    case OutOfMemoryKind::kPyTorch:
      return "pytorch";
    case OutOfMemoryKind::kDevice:
      return "device";
    case OutOfMemoryKind::kHost:
      return "host";
    case OutOfMemoryKind::kTensorFlow:
      return "tensorflow";
    case OutOfMemoryKind::kXla:
      return "xla";
    case OutOfMemoryKind::kOnnxRuntime:
      return "onnxruntime";
    case OutOfMemoryKind::kLibrary:
      return "library";
  }
  FailCheck(__FILE__, __LINE__, "unknown kind");
}

std::optional<Bytes> OutOfMemory::outside() const {
  if (!in_use || !reserved || *in_use < *reserved) return std::nullopt;
  return *in_use - *reserved;
}

Result<OutOfMemory> ReadOutOfMemory(std::string_view subject, std::string_view text) {
  const std::string unwrapped = Unwrapped(text);
  const std::string_view line = unwrapped;
  const Form* found = nullptr;
  size_t first = line.npos;
  for (const Form& form : kForms) {
    const size_t at = line.find(form.words);
    if (at >= first) continue;
    first = at;
    found = &form;
  }
  if (found == nullptr) {
    return Error{ErrorCode::kBadInput, std::string(subject), "there is no out-of-memory message in it",
                 "paste the line that says \"out of memory\", with the sentences after it"};
  }
  OutOfMemory message;
  message.kind = found->kind;
  for (const char* backend : {"CUDA", "HIP", "XPU"}) {
    if (found->words.starts_with(backend)) message.backend = backend;
  }
  // ONNX Runtime names the node before the message. The other forms go on until the next message begins.
  const bool in_front = found->kind == OutOfMemoryKind::kOnnxRuntime;
  const size_t begin = in_front ? first - std::min(first, kLongest) : first;
  const size_t next = line.find(found->words, first + found->words.size());
  const size_t end = std::min(next, first + kLongest);
  if (found->read != nullptr) found->read(Words(line.substr(begin, end - begin)), &message);
  return message;
}

}  // namespace vramplan
