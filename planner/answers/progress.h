// Progress: what takes longer than a second is not silent on a terminal. One line, rewritten in place, that goes when
// the answer comes.
//
//   vramplan: laying out batch=64, sequence=1024 (18 of 42), 3 s
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>

namespace vramplan {

class Progress {
 public:
  // `to`: null where nobody looks. Nothing is written before `patience` is over.
  explicit Progress(std::ostream* to, std::chrono::milliseconds patience = std::chrono::seconds(1));
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What is being done now, from anywhere below the verb. Without a Progress it does nothing.
  static void Say(const std::string& what);

 private:
  void Watch(std::chrono::milliseconds patience);

  std::ostream* to_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool ended_ = false;
  std::string what_ = "working";
  std::thread thread_;
};

}  // namespace vramplan
