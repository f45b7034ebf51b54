#include "planner/cli/read_size.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "planner/cli/typed_values.h"
#include "planner/spec/device.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

// "16GB", "500 mb": what a box says, in powers of ten. ParseBytes takes them for powers of two, as messages mean them.
std::optional<Bytes> Decimal(std::string_view text) {
  const size_t unit = text.find_first_not_of("0123456789. ");
  if (unit == text.npos || text.size() - unit != 2) return std::nullopt;
  const auto lower = [&](size_t at) { return static_cast<char>(std::tolower(static_cast<unsigned char>(text[at]))); };
  const size_t power = std::string_view("kmgt").find(lower(unit));
  double bytes = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + unit, bytes);
  if (status != std::errc() || lower(unit + 1) != 'b' || power == std::string_view::npos) return std::nullopt;
  for (size_t i = 0; i <= power; ++i) bytes *= 1000;
  if (bytes >= 9.2e18) return std::nullopt;
  return Bytes::Of(static_cast<int64_t>(bytes));
}

// The whole GB or GiB that it is, as on a box: 16 of 16GB and of 16GiB.
std::optional<int> Marketed(Bytes bytes) {
  constexpr int64_t kDecimal = 1'000'000'000;
  for (const int64_t unit : {kDecimal, Bytes::GiB(1).count()}) {
    if (bytes.count() % unit == 0 && bytes.count() / unit < 1024) return static_cast<int>(bytes.count() / unit);
  }
  return std::nullopt;
}

}  // namespace

Result<Bytes> ReadSize(std::string_view flag, std::string_view text, Notes* notes) {
  Result<Bytes> bytes = ParseBytes(text);
  if (!bytes.ok()) return Wrong(flag, InQuotes(text) + " " + bytes.error().text, bytes.error().hint);
  const bool bare = text.find_first_not_of("0123456789.") == text.npos;
  if (bare && *bytes > Bytes() && *bytes < Bytes::MiB(1)) {
    // "--gpu-memory 8": nobody means so few bytes.
    constexpr int64_t kMostGiB = 256;
    return Wrong(flag, InQuotes(text) + " is " + ToString(*bytes) + ": its unit is missing",
                 "type " + std::string(flag) + " " + std::string(text) +
                     (*bytes <= Bytes::Of(kMostGiB) ? "GiB" : "MiB") +
                     (flag == "--context" ? "; so many tokens are --dim sequence=" + std::string(text) : ""));
  }
  if (const std::optional<Bytes> decimal = Decimal(text)) {
    bytes = *decimal;
    std::string binary(text);
    binary.insert(binary.size() - 1, "i");
    notes->Add({"decimal-size", Severity::kNote, std::string(flag),
                std::string(text) + " is decimal: " + std::to_string(bytes->count()) + " bytes, " + ToString(*bytes),
                "type " + binary + " for powers of two"});
  }
  return bytes;
}

Result<Bytes> ReadCardSize(const std::string& text, Notes* notes) {
  constexpr std::string_view kFlag = "--gpu-memory";
  Result<Bytes> bytes = ReadSize(kFlag, text, notes);
  if (!bytes.ok()) return bytes;
  if (*bytes == Bytes())
    return Wrong(kFlag, "a card has more memory than " + InQuotes(text), "type --gpu-memory 16GiB");
  return bytes;
}

void NoteMarketedSize(Bytes size, Notes* notes) {
  const std::optional<int> marketed = Marketed(size);
  const Card *least = nullptr, *most = nullptr;
  for (const Card& card : Cards()) {
    if (!card.nvidia || marketed != card.marketed_gb) continue;
    if (least == nullptr || card.usable < least->usable) least = &card;
    if (most == nullptr || card.usable > most->usable) most = &card;
  }
  if (least == nullptr || least->usable >= size) return;
  const auto shown = [](const Card& card) { return ToString(card.usable) + " (" + card.id + ")"; };
  const std::string gb = std::to_string(*marketed);
  notes->Add({"marketed-size", Severity::kNote, "--gpu-memory",
              "a card that is sold with " + gb + " GB gives a program less: " +
                  (least == most ? shown(*least) : shown(*least) + " to " + shown(*most)),
              "name the card: --gpu " + least->id + "; vramplan gpus " + gb + " lists them"});
}

}  // namespace vramplan
