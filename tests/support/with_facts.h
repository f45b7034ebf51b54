// A model's bytes with facts in its metadata (docs/facts.md).
#pragma once

#include <string>
#include <string_view>

namespace vramplan {

// `model`: a serialized ModelProto, as OnnxBytes gives it.
inline std::string WithFacts(std::string model, std::string_view facts) {
  const auto field = [](int number, std::string_view payload) {
    std::string bytes(1, static_cast<char>(number << 3 | 2));
    size_t length = payload.size();
    for (; length >= 0x80; length >>= 7) bytes.push_back(static_cast<char>((length & 0x7f) | 0x80));
    bytes.push_back(static_cast<char>(length));
    return bytes.append(payload);
  };
  // ModelProto.metadata_props is field 14; an entry has key 1 and value 2.
  return model + field(14, field(1, "vramplan.facts") + field(2, facts));
}

}  // namespace vramplan
