// What a program takes of a card beside its tensors: the CUDA context, and what the first use of kernels, cuBLAS and
// cuDNN adds.
//
//   before 624 MiB | Open: 824 | first kernel: 826 | cuBLAS: 866 | cuDNN: 926 | closed: 624
//   context      200             2                   40            60
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cuda_probe/probe.h"
#include "planner/calibration/profile.h"

namespace vramplan {

struct SeenLoads {
  MeasuredLoads loads;
  std::vector<std::string> unknown;  // "cuDNN: not installed", "context: the driver does not say ..."
  Bytes drift;                       // what others took meanwhile; negative: gave back; nothing within 2 MiB
  std::optional<Error> failed;       // what ended it; what stands in `loads` was measured before
};

// Opens a context on the card and closes it again. The context is what the card's used bytes grew by, seen from
// outside; where the driver does not say those, what its free bytes shrank by. Afterwards the card is as before, or our
// context is still there (cuBLAS and cuDNN may hold on to it until the program ends); if neither, others took or gave
// back memory meanwhile. To be called before any other session of this program: a context is made once. So whoever
// measures more does it in `with_all`, on the same session when all is loaded.
SeenLoads MeasureLoads(Probe* machine, const CardFacts& card,
                       const std::function<Status(CardSession*)>& with_all = nullptr);

// "context and libraries: exactly, for others took 64.00 MiB meanwhile"
std::string DriftText(Bytes drift);

}  // namespace vramplan
