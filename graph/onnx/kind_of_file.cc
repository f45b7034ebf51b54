#include "graph/onnx/kind_of_file.h"

#include <algorithm>

namespace vramplan {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kExport =
    "export it to ONNX: torch.onnx.export(model, args, \"model.onnx\", external_data=True)";

constexpr std::string_view kExportOrCompare =
    "export the model to ONNX with torch.onnx.export; vramplan compare reads snapshots of PyTorch's memory";

struct Mark {
  size_t offset;
  std::string_view bytes;
  FileKind kind;
};

constexpr Mark kMarks[] = {
    {0, "version https://git-lfs"sv, {"a git-lfs pointer, not the model itself", "type git lfs pull"}},
    {0, "<!"sv, {"a web page", "download the file itself, by its raw link"}},
    {0, "<h"sv, {"a web page", "download the file itself, by its raw link"}},
    {0, "<H"sv, {"a web page", "download the file itself, by its raw link"}},
    {0, "<?xml"sv, {"an XML file", "give the .onnx file that it was made from"}},
    {0, "\x1f\x8b"sv, {"compressed with gzip", "unpack it with gunzip"}},
    {0, "\x28\xb5\x2f\xfd"sv, {"compressed with zstd", "unpack it with zstd -d"}},
    {0,
     "\xfd"
     "7zXZ"sv,
     {"compressed with xz", "unpack it with unxz"}},
    {0, "\x80\x02"sv, {"a Python pickle, as torch.save writes it", kExport}},
    {0, "\x80\x03"sv, {"a Python pickle", kExportOrCompare}},
    {0, "\x80\x04"sv, {"a Python pickle", kExportOrCompare}},
    {0, "\x80\x05"sv, {"a Python pickle", kExportOrCompare}},
    {0, "\x89HDF"sv, {"an HDF5 file (Keras)", "export it to ONNX with tf2onnx"}},
    {0, "\x93NUMPY"sv, {"a NumPy array", kExport}},
    {0, "GGUF"sv, {"a GGUF file", kExport}},
    {4, "TFL3"sv, {"a TensorFlow Lite model", "export it to ONNX with tf2onnx"}},
    {4, "ORTM"sv, {"an ONNX Runtime .ort model", "give the .onnx file that it was made from"}},
    {0, "ptrt"sv, {"a TensorRT engine", "give the .onnx file that it was made from"}},
    {0, "ftrt"sv, {"a TensorRT engine", "give the .onnx file that it was made from"}},
    {0,
     "\x7f"
     "ELF"sv,
     {"a program", "give the path of an .onnx file"}},
    {0, "%PDF"sv, {"a PDF document", "give the path of an .onnx file"}},
    {8, "{\""sv, {"a safetensors file: weights without a graph", kExport}},
};

// A model begins with the field of its version, a control character, or has one soon.
bool IsText(std::string_view bytes) {
  constexpr size_t kLooked = 512;
  const std::string_view head = bytes.substr(0, kLooked);
  return std::all_of(head.begin(), head.end(),
                     [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; });
}

}  // namespace

std::optional<FileKind> KindOfFile(std::string_view bytes) {
  if (bytes.empty()) return FileKind{"empty", "copy, download or export it again"};
  if (bytes.starts_with("PK\x03\x04"sv)) {
    // torch.save names its first entry NAME/data.pkl or NAME/byteorder; torch.jit.save and torch.export.save do alike.
    const std::string_view head = bytes.substr(0, 256);
    if (head.find("data.pkl") != head.npos || head.find("/byteorder") != head.npos ||
        head.find("/version") != head.npos) {
      return FileKind{"a PyTorch checkpoint, as torch.save writes it", kExport};
    }
    return FileKind{"a zip archive", "unzip it, or if torch.save wrote it, export the model with torch.onnx.export"};
  }
  for (const Mark& mark : kMarks) {
    if (bytes.size() > mark.offset && bytes.substr(mark.offset).starts_with(mark.bytes)) return mark.kind;
  }
  if (IsText(bytes)) return FileKind{"a text file", "give the .onnx file that torch.onnx.export wrote"};
  return std::nullopt;
}

}  // namespace vramplan
