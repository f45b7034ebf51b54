#include "planner/report/gpus_report.h"

#include "graph/base/text_table.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

std::string Short(double number) {
  if (number == 0) return "-";
  return Formatted("%.4g", number);
}

}  // namespace

std::string PrintCards(const std::vector<Card>& cards, const Style& style) {
  using enum TextTable::Align;
  TextTable table({{"--gpu"},
                   {"card", kLeft, true},
                   {"GB", kRight},
                   {"usable", kRight},
                   {"cc", kRight},
                   {"SMs", kRight},
                   {"GB/s", kRight},
                   {"fp32", kRight},
                   {"fp16", kRight}});
  for (const Card& card : cards) {
    table.AddRow({card.id, card.name, std::to_string(card.marketed_gb), ToString(card.usable),
                  card.nvidia ? ToString(card.capability) : "amd", std::to_string(card.multiprocessors),
                  Short(card.bandwidth_gb_s), Short(card.fp32_tflops), Short(card.half_tflops)});
  }
  return Counted(static_cast<int64_t>(cards.size()), "card") +
         "; usable is the smallest total that a CUDA program has been seen to get; rates in TFLOP/s\n\n" +
         table.Print(style.width, 0);
}

}  // namespace vramplan
