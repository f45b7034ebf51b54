#include "planner/report/parts/host.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "graph/base/text_table.h"

namespace vramplan {
namespace {

// The measurements of host.h.
constexpr Bytes kProcess = Bytes::Of(669'000'000);
constexpr Bytes kWorker = Bytes::Of(7'900'000);
struct Times {
  double likely, high;
};
constexpr Bytes kFirstStep = Bytes::Of(30'000'000);
constexpr Times kHoles{0.7, 2.5};

Bytes Scaled(Bytes bytes, double by) { return Bytes::Of(std::llround(static_cast<double>(bytes.count()) * by)); }

HostRow Sure(std::string name, Bytes bytes) { return {std::move(name), bytes, bytes, bytes}; }

std::vector<HostRow> LoaderRows(const HostQuestion& question) {
  std::vector<HostRow> rows;
  const LoaderQuestion& loader = question.loader;
  rows.push_back(Sure("the batch that the step takes", loader.sample * question.batch));
  if (loader.workers == 0) return rows;
  rows.push_back(Sure(std::to_string(loader.workers) + " workers' own", kWorker * loader.workers));
  rows.push_back(Sure("batches that wait, in shared memory", WaitingBatches(loader, question.batch)));
  if (loader.pinned) rows.push_back(Sure("the same batches, pinned", PinnedBatches(loader, question.batch)));
  return rows;
}

}  // namespace

Band HostMemory::Sum(const std::vector<HostRow>& rows) const {
  Band sum;
  for (const HostRow& row : rows) sum += {row.low, row.likely, row.high};
  return sum;
}

Bytes WaitingBatches(const LoaderQuestion& loader, int64_t batch) {
  return loader.sample * batch * loader.workers * loader.prefetch;
}

Bytes PinnedBatches(const LoaderQuestion& loader, int64_t batch) {
  const auto one = static_cast<uint64_t>(std::max<int64_t>(1, (loader.sample * batch).count()));
  const Bytes block = Bytes::Of(static_cast<int64_t>(std::bit_ceil(std::min<uint64_t>(one, uint64_t{1} << 61))));
  return block * std::max<int64_t>(1, loader.workers * loader.prefetch);
}

HostMemory HostMemoryOf(const HostQuestion& question) {
  HostMemory host;
  const HostRow process = Sure("Python and PyTorch, imported", kProcess);
  const std::vector<HostRow> loader = LoaderRows(question);
  host.beside = {process, Sure("the model, until it is moved", question.model)};
  host.beside.insert(host.beside.end(), loader.begin(), loader.end());
  host.on_cpu = {process,
                 {"threads and code of the first step", Bytes(), kFirstStep, kFirstStep},
                 Sure("tensors of the step", question.tensors),
                 {"holes between them in malloc's heap", Bytes(), Scaled(question.passing, kHoles.likely),
                  Scaled(question.passing, kHoles.high)}};
  for (const HostRow& row : loader) {
    // The step's own batch is among its tensors, and nothing is pinned for a card that is not used.
    if (row.name.starts_with("the batch") || row.name.find("pinned") != std::string::npos) continue;
    host.on_cpu.push_back(row);
  }
  return host;
}

std::string CauseText(const CardBytes& card, const HostMemory& host) {
  const Bytes on_cpu = host.Sum(host.on_cpu).likely;
  std::vector<std::pair<Bytes, std::string>> parts = {{card.context, "the CUDA context"},
                                                      {card.allocator, "the allocator's cache and rounding"},
                                                      {card.workspaces, "workspaces of the GPU's libraries"},
                                                      {card.update, "temporaries of the foreach update"}};
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = "of the card's " + ToString(card.needs) + " the host does not need";
  const char* before = " ";
  Bytes without;
  for (const auto& [bytes, name] : parts) {
    if (bytes <= Bytes()) continue;
    text += before + name + " (" + ToString(bytes) + ")";
    before = ", ";
    without += bytes;
  }
  if (without == Bytes()) text = "the host needs everything that the card needs, " + ToString(card.needs);
  if (card.needs <= card.has) return text;
  const Bytes over = card.needs - card.has;
  text += "; the card has " + ToString(card.has) + ", " + ToString(over) + " too little";
  text += without >= over ? ": without these it would fit" : ": the card would be too small even without these";
  return text + " (the host: likely " + ToString(on_cpu) + ")";
}

std::string PrintHost(const HostMemory& host, const Style& style) {
  using enum TextTable::Align;
  std::string text;
  const auto add = [&](const char* title, const std::vector<HostRow>& rows) {
    TextTable table({{title, kLeft, true}, {"low", kRight}, {"likely", kRight}, {"high", kRight}});
    for (const HostRow& row : rows)
      table.AddRow({row.name, ToString(row.low), ToString(row.likely), ToString(row.high)});
    const Band sum = host.Sum(rows);
    table.AddRule();
    table.AddRow({"RAM", ToString(sum.low), ToString(sum.likely), ToString(sum.high)});
    text += table.Print(style.width);
  };
  add("on the host, beside the card", host.beside);
  text += "\n";
  add("the whole step on the CPU", host.on_cpu);
  if (!host.cause.empty()) text += "\n" + Wrapped(host.cause, style.width, "  ") + "\n";
  return text;
}

}  // namespace vramplan
