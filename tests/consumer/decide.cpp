// decide MODEL PROPERTY CERTIFICATE: a program that decides a certificate through assay::check.
#include <cstdio>

#include "assay/check.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const assay::check::Report report = assay::check::check_certificate(argv[1], argv[2], argv[3]);
  std::printf("%s\n", assay::check::word(report.verdict));
  if (report.theorem) std::printf("%s", assay::check::theorem_text(*report.theorem, true).c_str());
  if (report.why) std::printf("%s\n", report.why->to_text().c_str());
  return report.theorem ? 0 : 1;
}
