// embed OUT.cc FILES...: writes files as deflated arrays, which graph/architectures/data.cc reads.
#include <zlib.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::ofstream out(argv[1]);
  out << "#include \"graph/architectures/embedded.h\"\nnamespace vramplan {\n";
  std::string table;
  for (int i = 2; i < argc; ++i) {
    const std::string path = argv[i];
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) {
      std::cerr << path << ": cannot be read\n";
      return 1;
    }
    uLongf length = compressBound(text.size());
    std::vector<unsigned char> bytes(length);
    if (compress2(bytes.data(), &length, reinterpret_cast<const Bytef*>(text.data()), text.size(), 9) != Z_OK) return 1;
    const std::string name = "kFile" + std::to_string(i - 2);
    out << "static const unsigned char " << name << "[] = {";
    for (uLongf at = 0; at < length; ++at) out << (at % 32 == 0 ? "\n" : "") << int{bytes[at]} << ',';
    out << "};\n";
    table += "    {\"" + path.substr(path.rfind('/') + 1) + "\", " + name + ", " + std::to_string(length) + ", " +
             std::to_string(text.size()) + "},\n";
  }
  out << "const EmbeddedFile kEmbeddedFiles[] = {\n"
      << table << "};\nconst unsigned long kEmbeddedFileCount = " << argc - 2 << ";\n}  // namespace vramplan\n";
  return out.good() ? 0 : 1;
}
