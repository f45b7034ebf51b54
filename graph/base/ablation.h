// Ablation: leaves rules out, so that tests/ablate can measure what each is worth. Nothing else sets it.
//
//   lifetime joined     1,242 answers are right with it, 1,202 without: it stays
//   lifetime decoders   1,242 with it, 1,248 without: it went
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vramplan {

struct Ablation {
  std::vector<std::string> left_out;  // "KIND NAME"
  bool likely_only = false;           // whether the other answers to what is assumed are not laid out
  bool notes = true;                  // whether `acted` is filled, which takes time
  std::set<std::string> acted;        // the rules that did something since it was cleared
};

// Null but while somebody measures.
inline Ablation* ablation = nullptr;

inline bool IsLeftOut(std::string_view kind, std::string_view name) {
  if (ablation == nullptr) return false;
  return std::ranges::any_of(ablation->left_out, [&](std::string_view rule) {
    return rule.size() == kind.size() + 1 + name.size() && rule.starts_with(kind) && rule.ends_with(name);
  });
}
inline bool NotesWhatActs() { return ablation != nullptr && ablation->notes; }
inline void NoteThatItActed(std::string_view kind, std::string_view name) {
  if (NotesWhatActs()) ablation->acted.insert(std::string(kind) + " " + std::string(name));
}
// In front of a step that has no name elsewhere: whether it may run. It counts as one that acted.
inline bool Runs(std::string_view kind, std::string_view name) {
  NoteThatItActed(kind, name);
  return !IsLeftOut(kind, name);
}

}  // namespace vramplan
