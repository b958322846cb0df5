#include "api/reports/report.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace assay::reports {

const char* Finding::word() const {
  switch (kind) {
    case Kind::failure:
      return "fail";
    case Kind::undecided:
      return "undecided";
    case Kind::vacuous:
      return "vacuous";
    case Kind::unsupported:
      return "unsupported";
  }
  return "";
}

std::string sentence(Rejection why) {
  why.code.clear();
  return why.to_text();
}

std::string without_digest(const std::string& ops) {
  static constexpr std::string_view kLeft = "+...+";
  constexpr std::size_t kDigest = 6;
  const std::size_t left = ops.find(kLeft), open = ops.find('(', left), colon = ops.find(':', open);
  if (colon == std::string::npos || ops.compare(colon + kDigest + 1, 1, ")") != 0) return ops;
  return ops.substr(0, left) + " ... " + ops.substr(left + kLeft.size(), open - left - kLeft.size()) + " (" +
         ops.substr(open + 1, colon - open - 1) + " operations" + ops.substr(colon + kDigest + 1);
}

std::string Finding::headline() const {
  std::string text = opening == 0 ? message : "";
  for (std::size_t i = 0; i < opening; ++i)
    text += (i == 0 ? "" : "; ") + details[i].substr(std::min(details[i].size(), details[i].find_first_not_of(' ')));
  return text;
}

std::vector<std::string> Finding::below() const {
  std::vector<std::string> lines(details.begin() + static_cast<std::ptrdiff_t>(opening), details.end());
  if (opening > 0) lines.push_back(message);
  return lines;
}

bool GateCase::is_failed() const {
  return std::ranges::any_of(findings, [](const Finding& one) {
    return one.waiver.empty() && (one.kind == Finding::Kind::failure || one.kind == Finding::Kind::undecided);
  });
}

std::string fingerprint(const GateCase& one, const Finding& finding) { return finding.rule + "/" + one.op + "/" + one.model; }

GateCase GateReport::totals() const {
  GateCase sum;
  for (const GateCase& one : cases) sum.add(one);
  return sum;
}

void GateCase::add(const GateCase& one) {
  passed += one.passed;
  failed += one.failed;
  vacuous += one.vacuous;
  unsupported += one.unsupported;
  unsampled += one.unsampled;
  head_room_used = std::fmax(head_room_used, one.head_room_used);
  seconds += one.seconds;
}

std::vector<std::string> GateReport::undecided_ops(double most_undecided) const {
  struct Share {
    std::size_t open = 0, all = 0;
  };
  std::map<std::string, Share> shares;
  const bool has_kinds = std::ranges::any_of(cases, [](const GateCase& one) { return !one.share.empty(); });
  for (const GateCase& one : cases) {
    if (!counts_by_op && has_kinds && one.share.empty()) continue;
    Share& share = shares[counts_by_op ? one.op : has_kinds ? one.share : "all together"];
    share.open += one.vacuous + one.unsupported;
    share.all += one.passed + one.failed + one.vacuous + one.unsupported;
    for (const Finding& finding : one.findings) {
      const bool is_open = finding.rule == kVacuousRule || finding.rule == "audit.opaque" || finding.kind == Finding::Kind::vacuous ||
                           finding.kind == Finding::Kind::unsupported;
      if (is_open && !finding.waiver.empty()) share.open -= finding.elements;
    }
  }
  std::vector<std::string> ops;
  for (const auto& [op, share] : shares) {
    const bool is_one_of_many = schema.empty() && most_undecided > 0 && share.open == 1 && share.all >= kShareOfOne;
    if (!is_one_of_many && static_cast<double>(share.open) > most_undecided * static_cast<double>(share.all)) ops.push_back(op);
  }
  return ops;
}

std::string GateReport::verdict(double most_undecided) const {
  bool undecided = false;
  if (!troubles.empty()) return "failed";
  for (const GateCase& one : cases) {
    for (const Finding& finding : one.findings) {
      if (!finding.waiver.empty()) continue;
      if (finding.kind == Finding::Kind::failure) return "failed";
      undecided = undecided || finding.kind == Finding::Kind::undecided;
    }
  }
  if (undecided || !undecided_ops(most_undecided).empty()) return "undecided";
  return waived > 0 ? "passed with waivers" : "passed";
}

}  // namespace assay::reports
