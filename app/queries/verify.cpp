#include "app/queries/verify.h"

#include <new>
#include <utility>

#include "api/check/vacuity.h"

namespace assay::queries {
namespace {

const char* word_of(search::Result::Answer answer) {
  switch (answer) {
    case search::Result::Answer::unsatisfiable:
      return "unsat";
    case search::Result::Answer::satisfiable:
      return "sat";
    case search::Result::Answer::unknown:
      return "unknown";
    case search::Result::Answer::timed_out:
      return "timed-out";
    case search::Result::Answer::split:
      return "split";
  }
  return "unknown";
}

}  // namespace

Outcome<Verified> verify(const std::shared_ptr<const kernel::Problem>& problem, const search::Options& options,
                         certificate::Writer* writer) {
  auto result = [&]() -> Outcome<search::Result> {
    try {
      return search::search(problem, options, writer);
    } catch (const std::bad_alloc&) {
      search::Result none;
      none.reason = "out of memory: more than --memory allows, or than there is";
      return none;
    }
  }();
  Verified verified;
  if (!result && result.rejection().code == "propagate_box.S3") {  // at some points of the box the network may have no value
    const Rejection& why = result.rejection();
    verified.answer = "unknown";
    verified.reason = "the network may have no value in the box: " + why.place + ", " + why.required;
    return verified;
  }
  if (!result) return result.rejection();
  verified.answer = word_of(result.value().answer);
  verified.reason = std::move(result.value().reason);
  verified.unfinished = std::move(result.value().unfinished);
  verified.theorem = std::move(result.value().theorem);
  verified.statistics = result.value().statistics;
  verified.nearest = std::move(result.value().nearest);
  verified.disputed = result.value().disputed;
  verified.unwritten = std::move(result.value().unwritten);
  verified.open = std::move(result.value().open);
  return verified;
}

Verified violated_at(const std::shared_ptr<const kernel::Problem>& problem, const kernel::Witness& witness, certificate::Writer* writer) {
  Verified verified;
  auto theorem = kernel::satisfiable(problem, witness);
  if (!theorem) return verified;
  verified.answer = "sat";
  verified.theorem = std::move(theorem).value();
  if (writer == nullptr) return verified;
  writer->witness(verified.theorem->witness());
  if (auto written = writer->finish(); !written) verified.unwritten = written.rejection();
  return verified;
}

std::uint64_t search_memory(std::uint64_t most) { return most / 4 * 3; }

std::string sentence(const Verified& verified) {
  const std::string vacuous = verified.theorem ? check::vacuity(*verified.theorem) : "";
  if (!vacuous.empty()) return "property HOLDS VACUOUSLY: " + vacuous;
  if (verified.answer == "unsat") return "property HOLDS: no input of the box reaches the unsafe set";
  if (verified.answer == "sat") return "property VIOLATED: the input below lies in the box and reaches the unsafe set";
  return "UNDECIDED: " + (verified.reason.empty() ? std::string("the search gave up") : verified.reason);
}

}  // namespace assay::queries
