#include "cli/check.h"

#include <cstdio>
#include <string_view>
#include <vector>

#include "api/assay/check.h"
#include "api/check/vacuity.h"

namespace assay::cli {
namespace {

bool ends(std::string_view path, std::string_view ending) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  return path.ends_with(ending);
}

}  // namespace

CheckReport check_files(const std::string& model, const std::string& property, const std::string& certificate, const LoadOptions& options) {
  if (property.empty()) return check::check_statement(model, certificate, limiting(options));
  return check::check_certificate(model, property, certificate, limiting(options));
}

std::string misplaced(const std::string& command, const std::string& model, const std::string& property, const std::string& certificate) {
  std::vector<std::string> models, properties, others;
  for (const std::string& path : {model, property, certificate}) {
    if (!path.empty()) (ends(path, ".onnx") ? models : ends(path, ".vnnlib") ? properties : others).push_back(path);
  }
  if (models.size() > 1 || properties.size() > 1 || models.size() + properties.size() == 0 || others.size() > 1) return "";
  const auto path_of = [](const std::vector<std::string>& paths, const char* name) { return paths.empty() ? name : paths[0]; };
  const std::string m = path_of(models, "MODEL"), p = path_of(properties, "PROPERTY"), c = path_of(others, "CERTIFICATE");
  if (m == model && p == property && c == certificate) return "";
  const std::string files = " " + m + " " + p, write = "write `" + command + files + " " + c + "`";
  if (others.empty()) return "the certificate is missing: make one by `assay verify" + files + " --proof " + c + "`, then " + write;
  if (models.empty()) return "the model is missing, of which " + p + " is a property; " + write;
  if (properties.empty()) return "the property is missing, which says what is claimed about " + m + "; " + write;
  return model + " stands where the model does, and " + property + " where the property does; " + write;
}

int exit_code(const CheckReport& report) {
  if (report.verdict == check::Verdict::accepted) return report.theorem ? kExitYes : kExitInternal;
  return report.why ? exit_code(report.why->kind) : kExitInternal;
}

void print_report(const char* program, const CheckReport& report, bool full, const std::string& meaning) {
  std::printf("%s\n", check::word(report.verdict));
  if (report.theorem) {
    const std::string text = check::theorem_text(*report.theorem, full);
    if (const std::string why = check::vacuity(*report.theorem); !why.empty()) std::printf("vacuous: %s\n", why.c_str());
    std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
    print_notes(stdout, report.notes);
  }
  std::fflush(stdout);
  if (report.why) print_rejection(stderr, program, *report.why, meaning);
  std::fprintf(stderr, "check cpu seconds: %.6f\n", report.cpu_seconds);
}

}  // namespace assay::cli
