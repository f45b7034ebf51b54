// PriceAscent: Lagrangian prices of moments, moved by what each moment lacks (Polyak's step towards a value
// that is known to be possible). If nothing better came for a while, it goes back to the best prices at half the pace.
//
//   for (PriceAscent ascent(start, patience); ascent.pace() > ...;) {
//     found = bound at ascent.prices(), which also says what each moment lacks
//     if (!ascent.Note(found, tolerance)) again at ascent.prices()    they are the best ones again
//     if (!ascent.Move(target, found, lacks)) break                   nothing lacks anything
//   }
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace vramplan {

class PriceAscent {
 public:
  PriceAscent(std::vector<double> prices, int patience)
      : prices_(std::move(prices)), best_prices_(prices_), patience_(patience) {}

  const std::vector<double>& prices() const { return prices_; }
  double best() const { return best_; }
  double pace() const { return pace_; }

  // False: it went back to the best prices.
  bool Note(double found, double tolerance) {
    if (found > best_ * (1 + tolerance)) {
      best_ = found;
      best_prices_ = prices_;
      in_vain_ = 0;
    } else if (++in_vain_ == patience_) {
      in_vain_ = 0;
      pace_ /= 2;
      prices_ = best_prices_;
      return false;
    }
    return true;
  }

  // False: no moment that has a price, or could have one, lacks anything.
  bool Move(double target, double found, const std::vector<double>& lacks) {
    double squares = 0;
    for (size_t m = 0; m < prices_.size(); ++m) {
      if (prices_[m] > 0 || lacks[m] > 0) squares += lacks[m] * lacks[m];
    }
    if (squares == 0) return false;
    const double step = pace_ * (target - found) / squares;
    for (size_t m = 0; m < prices_.size(); ++m) prices_[m] = std::max(0.0, prices_[m] + step * lacks[m]);
    return true;
  }

 private:
  std::vector<double> prices_, best_prices_;
  int patience_, in_vain_ = 0;
  double best_ = 0, pace_ = 1;
};

}  // namespace vramplan
