// Lint: Boost.Interval is instantiated in one trusted file, with the policy that is written there, and in the test
// that shows what its default policy does.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/catch.h"

namespace assay::test {
namespace {

namespace fs = std::filesystem;

// The repository root above the working directory, or above this file; empty if there is none.
fs::path repository_root() {
  for (const fs::path& start : {fs::current_path(), fs::path(__FILE__).parent_path()}) {
    for (fs::path at = fs::absolute(start); at != at.parent_path(); at = at.parent_path()) {
      if (fs::exists(at / "tools/cmake/AssayLayer.cmake")) {
        return at;
      }
    }
  }
  return {};
}

std::vector<std::string> files_with(const fs::path& root, const std::string& needle) {
  std::vector<std::string> found;
  for (const char* folder :
       {"semantics", "kernel", "frontends", "formats", "certificates", "runtime", "gpu", "cli", "tests", "benchmarks", "examples"}) {
    if (!fs::exists(root / folder)) {
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".h" && extension != ".cu") {
        continue;
      }
      std::ifstream file(entry.path());
      const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      if (text.find(needle) != std::string::npos) {
        found.push_back(fs::relative(entry.path(), root).generic_string());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("interval policy: no other file includes the interval library", "[numbers]") {
  const fs::path root = repository_root();
  if (root.empty()) {
    WARN("skipped: the source tree is not here");
    return;
  }
  const std::string needle = std::string("#include <boost/numeric/") + "interval";
  const std::vector<std::string> allowed = {"semantics/numbers/wide_interval.cpp", "tests/semantics/numbers/wide_interval_test.cpp"};
  CHECK(files_with(root, needle) == allowed);
}

TEST_CASE("interval policy: number headers pull in neither Boost nor MPFR nor GMP, private ones apart", "[numbers]") {
  const fs::path root = repository_root();
  if (root.empty()) {
    WARN("skipped: the source tree is not here");
    return;
  }
  std::vector<std::string> headers;
  for (const char* library : {"boost/", "mpfr.h", "gmp.h"}) {
    for (const std::string& file : files_with(root / "", std::string("#include <") + library)) {
      if (file.ends_with(".h")) {
        headers.push_back(file);
      }
    }
  }
  std::sort(headers.begin(), headers.end());
  CHECK(headers == std::vector<std::string>{"semantics/numbers/mpfr_functions.h", "semantics/numbers/rational_access.h"});
}

}  // namespace assay::test
