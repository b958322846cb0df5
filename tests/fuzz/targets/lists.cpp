// The small files of the command line: values for `assay eval` and `record` (JSON), waivers and baselines of gates (JSON), lists of
// certificates. The first byte chooses the reader.
#include "app/gates/certificates.h"
#include "app/gates/gate.h"
#include "app/queries/file_kind.h"
#include "app/queries/values_json.h"
#include "tests/fuzz/targets/target.h"

using namespace assay;

namespace {

// One failure of a softmax, and a case that passed with half of its allowance.
reports::GateReport small_report() {
  reports::GateReport report;
  report.verb = "audit";
  reports::GateCase failed, passed;
  failed.name = "region 0";
  failed.op = "softmax";
  failed.failed = 1;
  failed.findings.push_back({reports::Finding::Kind::failure, "contract.softmax", "y", "outside", {}, 1, {}});
  passed.name = "region 1";
  passed.op = "gemm";
  passed.passed = 4;
  passed.head_room_used = 0.5;
  report.cases = {failed, passed};
  return report;
}

void read_values(std::string_view text) {
  const auto request = queries::read_values(std::string(text));
  if (!request) return;
  for (const auto* part : {&request.value().inputs, &request.value().cotangents}) {
    for (const auto& [name, values] : *part) {
      for (const Interval& value : values) fuzz::expect(value.lo() <= value.hi(), "every value of '" + name + "' has ordered ends");
    }
  }
}

void read_waivers(const std::string& path) {
  constexpr const char* kAfterEveryDate = ":";  // greater than every digit
  for (const char* today : {"2026-01-01", kAfterEveryDate}) {
    reports::GateReport report = small_report();
    const auto done = gates::apply_waivers(report, path, today);
    const std::string& waiver = report.cases[0].findings[0].waiver;
    fuzz::expect(report.waived == (waiver.empty() ? 0 : 1), "waived findings are counted, and none is removed");
    fuzz::expect(waiver.empty() || (done.ok() && today != kAfterEveryDate), "no expired waiver covers anything");
    fuzz::expect(report.cases[0].is_failed() == waiver.empty(), "what no waiver covers fails");
  }
}

void read_baseline(const std::string& path) {
  reports::GateReport report = small_report();
  const auto done = gates::compare_baseline(report, path);
  fuzz::expect(done.ok() || report.troubles.empty(), "a baseline that cannot be read is refused as a whole");
  fuzz::expect(report.cases[0].is_failed(), "no baseline makes a failure pass");
}

void read_certificates(const std::string& path) {
  const auto list = gates::read_certificate_list(path);
  if (!list) return;
  fuzz::expect(!list.value().empty(), "a list names at least one certificate");
  for (const gates::CertificateQuery& one : list.value()) {
    fuzz::expect(!one.model.empty() && !one.property.empty() && !one.certificate.empty(), "all three files are named");
    fuzz::expect(!one.expect || search::is_decided(one.expect), "an answer is sat or unsat");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile kFile;
  if (size == 0) return 0;
  const fuzz::Bounded bounded;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  const std::string& path = kFile.put(text);
  (void)queries::kind_of_file(path);
  switch (data[0] % 4) {
    case 0:
      read_values(text);
      break;
    case 1:
      read_waivers(path);
      break;
    case 2:
      read_baseline(path);
      break;
    default:
      read_certificates(path);
  }
  return 0;
}
