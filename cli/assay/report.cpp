#include "cli/assay/report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace assay::cli {

bool write_json(const JsonTarget& target, const std::string& text) {
  if (target.empty()) return true;
  if (target == "-") {
    std::printf("%s\n", text.c_str());
    return true;
  }
  std::FILE* file = std::fopen(target.c_str(), "wb");
  bool written = file != nullptr && std::fprintf(file, "%s\n", text.c_str()) >= 0;
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (!written) std::fprintf(stderr, "assay: cannot write %s: %s\n", target.c_str(), std::strerror(errno));
  return written;
}

int refuse(const std::string& schema, const JsonTarget& json, const Rejection& why) {
  print_rejection(stderr, "assay", why);
  if (!json.empty() && !write_json(json, rejection_json(schema, why))) return kExitUnwritten;
  return exit_code(why.kind);
}

}  // namespace assay::cli
