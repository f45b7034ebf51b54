// The store of profiles: where calibrate puts what it measured, and where --gpu auto finds it again. By the XDG base
// directory specification: $XDG_DATA_HOME (without it ~/.local/share), which is written, then $XDG_DATA_DIRS, which an
// administrator may have filled.
//
//   ~/.local/share/vramplan/profiles/GPU-11111111-2222-3333-4444-555555555555.json
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda_probe/facts.h"
#include "graph/base/note.h"
#include "planner/calibration/profile.h"

namespace vramplan {

// Those to read, the one to write first. Paths that are not absolute do not count, as the specification wants.
std::vector<std::string> ProfileFolders();
// Error: neither XDG_DATA_HOME nor HOME says where.
Result<std::string> StorePath(const CardFacts& card);

struct StoredProfile {
  std::string file;
  Profile profile;
};
// That of this very card (its UUID), else of one of the same name and capability. A file that cannot be read is
// noted and passed over.
std::optional<StoredProfile> FindStoredProfile(const CardFacts& card, const std::vector<std::string>& folders,
                                               Notes* notes);

// The date that a profile carries, as 2026-01-31. SOURCE_DATE_EPOCH (reproducible-builds.org) stands for the clock
// where it is set.
std::string Today();

}  // namespace vramplan
