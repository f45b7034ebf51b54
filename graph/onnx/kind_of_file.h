// What a file that is no ONNX model is instead, told by its first bytes: people hand in what they have at hand.
//
//   KindOfFile("version https://git-lfs...")   {"a git-lfs pointer, not the model itself", "run: git lfs pull"}
#pragma once

#include <optional>
#include <string_view>

namespace vramplan {

struct FileKind {
  std::string_view what;  // continues "not an ONNX model: it is "
  std::string_view hint;
};

// Nothing when the first bytes are of no known other kind; the file may still be no ONNX model.
std::optional<FileKind> KindOfFile(std::string_view bytes);

}  // namespace vramplan
