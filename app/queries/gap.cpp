#include "app/queries/gap.h"

#include <filesystem>

#include "certificates/edit/gap.h"
#include "semantics/statement/words.h"

namespace assay::queries {

void name_gap(check::Report& report, const std::string& certificate) {
  std::error_code error;
  if (!report.why || report.why->code != "certificate.open" || !report.problem || !report.statistics.open_case) return;
  if (!std::filesystem::is_regular_file(certificate, error)) return;  // a pipe is read only once
  const auto reader = certificate::Reader::open(certificate);
  if (!reader) return;
  const Graph& graph = report.problem->graph();
  const auto [group, position] = *report.statistics.open_case;
  const auto gap = certificate::find_gap(*reader.value(), graph, group, position);
  if (!gap || !gap.value()) return;
  const std::uint64_t others = gap.value()->others;
  report.why->found += ", since the branch" + statement::where_text(graph, gap.value()->splits) + ", which ends with step " +
                       std::to_string(gap.value()->step) + " at byte " + std::to_string(gap.value()->byte) + ", does not conclude it";
  if (others > 0) report.why->found += others == 1 ? ", nor does one more branch" : ", nor do " + std::to_string(others) + " more branches";
  report.why->advice = "conclude the case in this branch, or split it further; a record states the first n cases as 2n+1, not as n";
}

}  // namespace assay::queries
