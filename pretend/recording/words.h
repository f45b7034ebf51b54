// Words: the lines of a recording, word by word.
//
//   "frame\t0\t17\tforward\ta\\tb.py"     frame, 0, 17, forward, a<tab>b.py
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vramplan {

class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  bool more() const { return !over_; }
  std::string_view Raw();  // the next word as written; empty at the end
  std::string Text();      // without its escapes
  int64_t Number();        // 0, and bad(): it is none
  double Real();
  bool bad() const { return bad_; }

 private:
  std::string_view rest_;
  bool over_ = false, bad_ = false;
};

}  // namespace vramplan
