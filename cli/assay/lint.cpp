#include <cstdio>

#include "cli/assay/report.h"

namespace assay::cli {

int lint(const LintOptions& options) {
  const std::vector<Rejection> problems = onnx::lint(options.model);
  if (!write_json(options.json, lint_json(options.model, problems))) return kExitInternal;
  if (options.json == "-") return problems.empty() ? kExitYes : kExitBadInput;
  std::printf("%s\n", problems.empty() ? "supported" : "unsupported");
  for (const Rejection& why : problems) std::printf("%s\n", why.to_text().c_str());
  std::fprintf(stderr, "%s: %s\n", options.model.c_str(),
               problems.empty() ? "every node can be verified" : (std::to_string(problems.size()) + " blocking problems").c_str());
  return problems.empty() ? kExitYes : kExitBadInput;
}

}  // namespace assay::cli
