// PrivateFolder: where files lie that were given to the page, each in a folder of its own under the name that it had. Nobody
// else may look into it, and it is gone at the end.
//
//   Place("../a b/unet.onnx")    /tmp/vramplan-Xq3fKl/1/unet.onnx
#pragma once

#include <string>

#include "graph/base/result.h"

namespace vramplan {

class PrivateFolder {
 public:
  PrivateFolder() = default;
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  // A path at which nothing lies yet. The folder is made when it is first asked for. Errors: it cannot be; no name for a file.
  Result<std::string> Place(const std::string& name);

 private:
  std::string folder_;  // empty: not made
  int placed_ = 0;
};

}  // namespace vramplan
