// How near to its bound Solve comes on problems (vramplan trace --problem writes those of models), at 90 to 30 % of
// what keeping everything takes; or on pairs of problem and budget, beside a cost found by others.
//
//   remat_bench SECONDS FILE...
//   remat_bench SECONDS FILE=BUDGET=COST...
//   resnet50.txt  0.60   cost 37 221 077   bound 37 207 909   gap 0.04 %   0.7 s
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "planner/remat/solve.h"
#include "planner/remat/text.h"

namespace {

using vramplan::RematAnswer;
using vramplan::RematProblem;

int feasible = 0, within_one = 0, within_two = 0;

void Show(const std::string& file, const RematProblem& problem, int64_t budget, double seconds, double published) {
  const auto begin = std::chrono::steady_clock::now();
  const RematAnswer answer = Solve(problem, {.budget = budget, .seconds = seconds});
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double part = static_cast<double>(budget) / static_cast<double>(answer.keep_all);
  const std::string name = file.substr(file.rfind('/') + 1);
  if (answer.impossible()) {
    std::printf("%-28s %5.2f  below the working set\n", name.c_str(), part);
    return;
  }
  ++feasible;
  if (!answer.outcome) {
    std::printf("%-28s %5.2f  nothing found\n", name.c_str(), part);
    return;
  }
  within_one += answer.gap() <= 0.01 ? 1 : 0;
  within_two += answer.gap() <= 0.02 ? 1 : 0;
  std::printf("%-28s %5.2f  cost %15lld  bound %15lld  gap %6.2f %%  %.1f s", name.c_str(), part,
              static_cast<long long>(answer.outcome->cost), static_cast<long long>(answer.bound), 100 * answer.gap(),
              took);
  if (published > 0)
    std::printf("  %+.2f %% of the other's", 100 * (static_cast<double>(answer.outcome->cost) / published - 1));
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  for (int i = 2; i < argc; ++i) {
    std::string file = argv[i];
    int64_t budget = 0;
    double published = 0;
    if (const size_t equals = file.find('='); equals != std::string::npos) {
      char* rest = nullptr;
      budget = std::strtoll(file.c_str() + equals + 1, &rest, 10);
      if (*rest == '=') published = std::atof(rest + 1);
      file.resize(equals);
    }
    std::ifstream stream(file);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    const vramplan::Result<RematProblem> problem = vramplan::ReadProblem(text, file);
    if (!problem.ok()) {
      std::printf("%s\n", ToString(problem.error()).c_str());
      return 1;
    }
    if (budget > 0) {
      Show(file, *problem, budget, seconds, published);
      continue;
    }
    const int64_t keep_all = Simulate(*problem, KeepAll(*problem))->peak;
    for (int percent = 90; percent >= 30; percent -= 10) Show(file, *problem, keep_all / 100 * percent, seconds, 0);
  }
  std::printf("%d feasible, %d within 1 %%, %d within 2 %%\n", feasible, within_one, within_two);
  return 0;
}
