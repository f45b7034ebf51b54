// Request: an answer as what a scheduler is asked for ("--format request"): the high end of the band, in its own words.
//
//   GPU_MEMORY_BYTES=1281359872         rounded up:  GPU_MEMORY_MIB=1222
//   #SBATCH --gres=gpu:1                             a card is asked for whole
//   ... memory.compareTo(quantity('1222Mi')) >= 0    Kubernetes' DRA chooses one that is large enough
#pragma once

#include <optional>
#include <string>

#include "planner/report/parts/device_band.h"

namespace vramplan {

struct Request {
  std::string verdict;       // the first line of the answer
  Band device;               // of one card
  std::optional<Band> host;  // RAM beside the card; nothing: not known
  int64_t gpus = 1;
};

// Lines for a shell, a batch script and a manifest; everything else in them is a comment.
std::string PrintRequest(const Request& request);

}  // namespace vramplan
