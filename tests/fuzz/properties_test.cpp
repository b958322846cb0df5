// Properties by seeded rules, with nested disjunctions, extreme numbers and repeated parts, and such texts bent byte by byte: each is read
// into a statement that the kernel opens, or refused, within its budget.
#include <algorithm>
#include <map>

#include "certificates/check/session.h"
#include "frontends/vnnlib/read.h"
#include "tests/fuzz/fuzz.h"
#include "tests/search/graphs.h"

using namespace assay;

namespace {

std::string number(fuzz::Random& random) {
  static const std::vector<std::string> kNumbers{"0",  "1",  "-1", "0.5", "-0.25", "1e-3", "1e400", "1e99999",
                                                 "-0", "3.", ".5", "1e",  "+1",    "0x10", "NaN"};
  if (fuzz::below(random, 50) == 0) return std::string(1 + fuzz::below(random, 3000), '9');
  return kNumbers[fuzz::below(random, fuzz::below(random, 6) == 0 ? kNumbers.size() : 6)];
}

std::string variable(fuzz::Random& random) {
  return (fuzz::below(random, 2) == 0 ? "X_" : "Y_") + std::to_string(fuzz::below(random, fuzz::below(random, 20) == 0 ? 1000 : 2));
}

std::string expression(fuzz::Random& random, int depth) {
  if (depth == 0 || fuzz::below(random, 3) == 0) return fuzz::below(random, 2) == 0 ? number(random) : variable(random);
  static const std::vector<std::string> kOperators{"+", "-", "*"};
  std::string text = "(" + kOperators[fuzz::below(random, 3)];
  for (std::size_t operands = 1 + fuzz::below(random, 3); operands > 0; --operands) text += " " + expression(random, depth - 1);
  return text + ")";
}

std::string formula(fuzz::Random& random, int depth) {
  static const std::vector<std::string> kComparisons{"<=", ">=", "<", ">", "=", "!="};
  if (depth == 0 || fuzz::below(random, 4) == 0)
    return "(" + kComparisons[fuzz::below(random, fuzz::below(random, 5) == 0 ? 6 : 2)] + " " + expression(random, 2) + " " +
           expression(random, 2) + ")";
  std::string text = fuzz::below(random, 2) == 0 ? "(and" : "(or";
  const std::string part = formula(random, depth - 1);
  const bool same = fuzz::below(random, 3) == 0;
  const std::size_t most = same ? std::min<std::size_t>(40, 1 + 200'000 / part.size()) : 3;  // texts of some megabytes at most
  for (std::size_t operands = 1 + fuzz::below(random, most); operands > 0; --operands)
    text += " " + (same ? part : formula(random, depth - 1));
  return text + ")";
}

std::string property(fuzz::Random& random) {
  std::string text = "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n";
  for (const char* x : {"X_0", "X_1"}) text += std::string("(assert (<= ") + x + " 1))\n(assert (>= " + x + " -1))\n";
  for (std::size_t asserts = 1 + fuzz::below(random, 4); asserts > 0; --asserts) text += "(assert " + formula(random, 5) + ")\n";
  if (fuzz::below(random, 40) == 0) text += "(assert " + std::string(1 + fuzz::below(random, 3000), '(');
  return text;
}

// The code of the refusal, or "swept".
std::string outcome_of(const std::string& text, const Graph& graph) {
  const vnnlib::NetworkShape shape{"", &graph};
  auto read = vnnlib::read_property_text(text, "p.vnnlib", std::span(&shape, 1));
  if (!read) return read.rejection().code;
  auto problem = logic::Problem::open({graph, std::move(read.value().property), ExecutionModel{}, {}});
  if (!problem) return problem.rejection().code;
  certificate::Session session(problem.value(), {fuzz::kWork, fuzz::kMemory});
  for (std::size_t group = 0; group < 1; ++group) {
    if (auto begun = session.begin_group(group); !begun) return begun.rejection().code;
    if (auto swept = session.sweep(0, false); !swept) return swept.rejection().code;
    std::vector<logic::CaseMultipliers> cases;
    for (std::uint32_t k = 0; k < problem.value()->group_cases(group).size(); ++k) {
      const std::size_t rows = problem.value()->statement().property.cases[problem.value()->group_cases(group)[k]].rows.size();
      cases.push_back({k, std::vector<float>(rows, 1.0F)});
    }
    (void)session.conclude(cases, {});
  }
  return "opened";
}

}  // namespace

TEST_CASE("bent properties: read and opened, or refused", "[fuzz]") {
  const Graph graph = search_test::random_network({2, 3, 2}, 5);
  std::map<std::string, std::size_t> codes;
  fuzz::run("properties", fuzz::cases(400), [&](fuzz::Random& random) {
    std::string text = property(random);
    if (fuzz::below(random, 3) == 0) text = fuzz::bent(text, property(random), random);
    ++codes[outcome_of(text, graph)];
  });
  for (const auto& [code, count] : codes) std::fprintf(stderr, "  %-28s %zu\n", code.c_str(), count);
  CHECK(codes["opened"] > 0);
  CHECK(codes.size() > 8);
}
