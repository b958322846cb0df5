// Where the measuring data lies: ASSAY_DATA, else shared/data beside the repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace assay::test_data {

// nullopt: absent; the caller reports "skipped".
inline std::optional<std::filesystem::path> folder() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const char* given = std::getenv("ASSAY_DATA")) {
    return fs::is_directory(given, ignored) ? std::optional<fs::path>(given) : std::nullopt;
  }
  for (fs::path here : {fs::absolute(__FILE__), fs::current_path() / "x"}) {
    for (; here.has_relative_path(); here = here.parent_path()) {
      if (fs::is_directory(here.parent_path() / "shared" / "data", ignored)) return here.parent_path() / "shared" / "data";
    }
  }
  return std::nullopt;
}

}  // namespace assay::test_data
