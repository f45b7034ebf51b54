// make_names OUT.cc NAMES.txt...: writes the functions that have no body of their own.
//
// A line of a list is a name and what the function writes; arguments are counted from 0:
//
//   cublasSgemm_v2                        nothing: it works on device memory, and nothing is computed
//   cublasCreate_v2 handle:0              a handle that no other object has
//   cusolverDnSgetrf_bufferSize int:5     an int of 0 (=N: of N); size: 64 bits; pointer: null; number: a handle as int
//   cublasGetStatusString text            gives a text back
//   cudaArrayGetInfo ?                    something that nobody has looked up: told when it was called
//   @workspaces cuSOLVER bufferSize       functions of this list with that in their name are asked how large a workspace is
//
// All arguments are whole numbers or pointers, which a caller passes alike whatever their types: only the place counts.
// The functions are weak: a body in a source file of this folder goes before its line here.
#include <cctype>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Output {
  std::string kind, value;
  int argument = 0;
};

bool Parse(const std::string& word, Output* output) {
  const size_t colon = word.find(':');
  if (colon == std::string::npos) return false;
  output->kind = word.substr(0, colon);
  const size_t equals = word.find('=', colon);
  output->value = equals == std::string::npos ? "0" : word.substr(equals + 1);
  output->argument = std::stoi(word.substr(colon + 1));
  return output->kind == "int" || output->kind == "size" || output->kind == "pointer" || output->kind == "handle" ||
         output->kind == "number";
}

std::string BodyOf(const Output& output) {
  const std::string argument = "a" + std::to_string(output.argument);
  const std::string type = output.kind == "int" || output.kind == "number" ? "int" : "long";
  const bool fresh = output.kind == "handle" || output.kind == "number";
  const std::string value = fresh ? "(long)pretend::NewHandle()" : output.value;
  return "if (" + argument + " != 0) *(" + type + "*)" + argument + " = (" + type + ")(" + value + "); ";
}

// What was called is told by name when the program ends.
void WriteTable(std::ostream& out, const std::string& flags, const std::string& table,
                const std::vector<std::string>& names) {
  out << "namespace {\nunsigned char " << flags << "[" << names.size() + 1 << "];\nconst char* const " << flags
      << "_names[] = {\n";
  for (const std::string& name : names) out << "\"" << name << "\",\n";
  out << "nullptr};\n}  // namespace\nnamespace pretend {\nconst UncoveredNames " << table << " = {" << flags
      << "_names, " << flags << ", " << names.size() << "};\n}  // namespace pretend\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "make_names OUT.cc NAMES.txt...\n";
    return 2;
  }
  std::ofstream out(argv[1]);
  out << "// Made by pretend/library/make_names.cc of pretend/names.\n"
         "#include \"pretend/library/abi.h\"\n#include \"pretend/library/uncovered.h\"\n"
         "#define NAME(name) extern \"C\" __attribute__((visibility(\"default\"), weak)) long name\n"
         "namespace { extern unsigned char called[], sized[]; }\n";
  std::vector<std::string> uncovered, libraries;
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i]);
    std::string asked;  // a part of names
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string name;
      if (!(words >> name) || name[0] == '#') continue;
      if (name == "@workspaces") {
        libraries.emplace_back();
        words >> libraries.back() >> asked;
        continue;
      }
      std::string body, result = "0";
      if (!asked.empty() && name.find(asked) != std::string::npos)
        body = "sized[" + std::to_string(libraries.size() - 1) + "] = 1; ";
      int arguments = 0;
      for (std::string word; words >> word;) {
        Output output;
        if (word == "?") {
          body += "called[" + std::to_string(uncovered.size()) + "] = 1; ";
          uncovered.push_back(name);
        } else if (word == "text") {
          result = "(long)\"an error of a pretend card\"";
        } else if (Parse(word, &output)) {
          body += BodyOf(output);
          arguments = std::max(arguments, output.argument + 1);
        } else {
          std::cerr << argv[i] << ": " << name << ": cannot read " << word << "\n";
          return 1;
        }
      }
      out << "NAME(" << name << ")(";
      for (int a = 0; a < arguments; ++a) {
        const bool used = body.find("a" + std::to_string(a) + " ") != std::string::npos;
        out << (a == 0 ? "long" : ", long") << (used ? " a" + std::to_string(a) : "");
      }
      out << ") { " << body << "return " << result << "; }\n";
    }
  }
  WriteTable(out, "called", "kUncovered", uncovered);
  WriteTable(out, "sized", "kSized", libraries);
  return out ? 0 : 1;
}
