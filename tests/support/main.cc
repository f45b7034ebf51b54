#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

// Files of the tests, and of the programs that they start, lie in a folder of this process: two trees can be tested at
// the same time.
int main(int argc, char** argv) {
  std::string folder = (std::filesystem::temp_directory_path() / "vramplan_tests_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("TMPDIR", folder.c_str(), 1);
  setenv("HF_HUB_OFFLINE", "1", 1);  // no test asks a network
  const int result = doctest::Context(argc, argv).run();
  std::filesystem::remove_all(folder);
  return result;
}
