// The answer of fit as a page: about one card, or all of them.
#pragma once

#include <string>

#include "planner/picture/batch_chart.h"
#include "planner/picture/step_pictures.h"
#include "planner/report/fit.h"

namespace vramplan {

// `pictures`: of the batch that was asked for, else of the largest.
std::string PrintFitPage(const Fit& fit, const StepPictures& pictures, const BatchChart& batches);
std::string PrintFitMatrixPage(const FitMatrix& matrix);

Mood MoodOf(Verdict verdict);
std::string BadgeOf(Verdict verdict);  // "fits", "tight", "does not fit"

}  // namespace vramplan
