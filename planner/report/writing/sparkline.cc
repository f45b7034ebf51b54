#include "planner/report/writing/sparkline.h"

#include <algorithm>
#include <array>

#include "planner/allocator/replay.h"

namespace vramplan {

std::string Sparkline(const std::vector<Bytes>& levels, const Style& style) {
  static constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<const char*, 8> kSigns = {" ", ".", ":", "-", "=", "+", "*", "#"};
  const std::array<const char*, 8>& signs = style.unicode ? kBlocks : kSigns;
  Bytes highest;
  for (const Bytes level : levels) highest = std::max(highest, level);
  std::string line;
  for (const Bytes level : levels) {
    const double share =
        highest > Bytes() ? static_cast<double>(level.count()) / static_cast<double>(highest.count()) : 0;
    line += signs[std::min<size_t>(7, static_cast<size_t>(std::max(0.0, share) * 8))];
  }
  return line;
}

std::string PrintCourses(std::vector<Course> courses, int room, const Style& style) {
  std::erase_if(courses, [](const Course& course) { return course.levels->empty(); });
  const size_t lines = room < 2 ? 0 : std::min(courses.size(), static_cast<size_t>(room) - 1);
  courses.erase(courses.begin(), courses.end() - static_cast<std::ptrdiff_t>(lines));
  size_t widest = 0;
  for (const Course& course : courses) widest = std::max(widest, course.name.size());
  std::string text = courses.empty() ? "" : "\n";
  for (const Course& course : courses) {
    const std::string line = Sparkline(*course.levels, style);
    // A block is three bytes of UTF-8, a sign of ASCII one.
    const size_t at = course.mark * (line.size() / course.levels->size());
    text += "  " + course.name + std::string(widest - course.name.size() + 2, ' ') + line.substr(0, at);
    text += (course.mark > 0 ? "|" : "") + line.substr(at) + "\n";
  }
  return text;
}

std::vector<Bytes> StepCourse(const Timeline& timeline, int64_t batch, size_t stretches) {
  constexpr int kSteps = 2;
  std::vector<Bytes> levels;  // after each event of these steps
  levels.reserve(timeline.events.size());
  Bytes level;
  for (const Event& event : timeline.events) {
    if (event.step > kSteps) break;
    const Bytes bytes = event.block.valid() ? timeline[event.block].bytes.At(batch) : Bytes();
    if (event.block.valid() && bytes == Bytes()) continue;  // a workspace that is likely not there
    if (event.kind == EventKind::kAllocate) level += bytes;
    if (event.kind == EventKind::kFree) level -= bytes;
    if (event.step >= 1) levels.push_back(level);
  }
  std::vector<Bytes> course(std::min(stretches, levels.size()));
  for (size_t i = 0; i < levels.size() && !course.empty(); ++i) {
    Bytes& highest = course[i * course.size() / levels.size()];
    highest = std::max(highest, levels[i]);
  }
  return course;
}

std::vector<Bytes> BatchCourse(const Timeline& timeline, int64_t last, size_t count) {
  std::vector<Bytes> course;
  const int64_t points = std::min<int64_t>(static_cast<int64_t>(count), last);
  for (int64_t i = 1; i <= points; ++i)
    course.push_back(RequestedPeak(timeline, std::max<int64_t>(1, last * i / points)));
  return course;
}

}  // namespace vramplan
