#include "planner/report/writing/sparkline.h"

#include <doctest/doctest.h>

#include "tests/support/timelines.h"

using namespace vramplan;

TEST_CASE("sparkline: signs by share of the highest, with an ASCII fallback") {
  const std::vector<Bytes> levels = {Bytes(), Bytes::MiB(2), Bytes::MiB(8), Bytes::MiB(4)};
  CHECK_EQ(Sparkline(levels, {.unicode = true}), "▁▃█▅");
  CHECK_EQ(Sparkline(levels, {.unicode = false}), " :#=");
  CHECK_EQ(Sparkline({}, {}), "");
  CHECK_EQ(Sparkline({Bytes(), Bytes()}, {.unicode = false}), "  ");
  const std::vector<Bytes> none;
  const std::vector<Course> courses = {{"steps", &levels}, {"batch 1 to 4", &levels, 3}, {"none", &none}};
  const Style blocks = {.unicode = true};
  CHECK_EQ(PrintCourses(courses, kAnyRoom, blocks), "\n  steps         ▁▃█▅\n  batch 1 to 4  ▁▃█|▅\n");
  CHECK_EQ(PrintCourses(courses, 3, blocks), PrintCourses(courses, kAnyRoom, blocks));
  CHECK_EQ(PrintCourses(courses, 2, blocks), "\n  batch 1 to 4  ▁▃█|▅\n");
  CHECK_EQ(PrintCourses(courses, 1, blocks), "");
  CHECK_EQ(PrintCourses(courses, -7, blocks), "");
  CHECK_EQ(RoomLeft("a\nb\n", blocks), kBriefLines - 2);
  CHECK_EQ(RoomLeft("a\nb\n", {.verbose = true}), kAnyRoom);
}

TEST_CASE("sparkline: no peak of the steps is lost") {
  const Timeline timeline = TimelineText(
      "setup + 0 parameters 4096\n"
      "forward + 1 activations 1000*B\n"
      "forward + 2 temporaries 9000\n"
      "forward - 2\n"
      "forward |\n"
      "backward - 1\n"
      "backward |\n"
      "update |\n");
  for (const size_t stretches : {1, 2, 3, 100}) {
    const std::vector<Bytes> course = StepCourse(timeline, 2, stretches);
    CHECK_LE(course.size(), stretches);
    CHECK_EQ(*std::max_element(course.begin(), course.end()), Bytes::Of(4096 + 2000 + 9000));
  }
  CHECK_EQ(BatchCourse(timeline, 4, 2),
           std::vector<Bytes>{Bytes::Of(4096 + 2000 + 9000), Bytes::Of(4096 + 4000 + 9000)});
}
