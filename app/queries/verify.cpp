#include "app/queries/verify.h"

#include <new>
#include <utility>

#include "api/check/vacuity.h"
#include "certificates/check/meter.h"

namespace assay::queries {

using search::Answer;

Outcome<search::Result> verify(const std::shared_ptr<const logic::Problem>& problem, const search::Options& options,
                               certificate::Writer* writer) {
  search::Result unknown;
  try {
    auto result = search::search(problem, options, writer);
    if (result || result.rejection().code != "propagate_box.S3") return result;
    const Rejection& why = result.rejection();  // at some points of the box the network may have no value
    unknown.reason = "the network may have no value in the box: " + why.place + ", " + why.required;
  } catch (const std::bad_alloc&) {
    unknown.reason = "out of memory: more than --memory allows, or than there is";
  }
  return unknown;
}

search::Result violated_at(const std::shared_ptr<const logic::Problem>& problem, const logic::Witness& witness,
                           certificate::Writer* writer) {
  search::Result result;
  auto theorem = logic::satisfiable(problem, witness, certificate::exact_work_of(certificate::Costs(*problem)));
  if (!theorem) return result;
  result.answer = Answer::satisfiable;
  result.theorem = std::move(theorem).value();
  if (writer == nullptr) return result;
  writer->witness(result.theorem->witness());
  if (auto written = writer->finish(); !written) result.unwritten = written.rejection();
  return result;
}

std::uint64_t search_memory(std::uint64_t most) { return most / 4 * 3; }

search::Options::Branching branching_named(const std::string& name) {
  using Branching = search::Options::Branching;
  return name == "input" ? Branching::input : name == "relu" ? Branching::relu : Branching::automatic;
}

std::string other_branching(const search::Result& result) {
  constexpr std::size_t kFewInputs = 20;  // beyond them, halves of boxes seldom get small enough
  const search::Statistics& s = result.statistics;
  if (result.theorem) return "";
  const auto ended_with = [&](const char* words) { return result.reason.find(words) != std::string::npos; };
  if (s.splits_activations) return s.free_inputs <= kFewInputs || ended_with(search::kNoNeuronLeft) ? "input" : "";
  return s.splits_inputs && s.can_split_activations && !ended_with(search::kWideAtPoint) ? "relu" : "";
}

std::string certificate_line(const WrittenCertificate& certificate, std::uint64_t bytes) {
  const auto& [model, property, file, semantics, edits] = certificate;
  return "certificate: " + file + ", " + std::to_string(bytes) + " bytes; check it with: assay-check " + model + " " + property + " " +
         file + edits.words() + (semantics.empty() ? "" : " --semantics '" + semantics + "'");
}

std::string sentence(const search::Result& result) {
  const std::string vacuous = result.theorem ? check::vacuity(*result.theorem) : "";
  if (!vacuous.empty()) return "property HOLDS VACUOUSLY: " + vacuous;
  if (result.answer == Answer::unsatisfiable) return "property HOLDS: no input of the box reaches the unsafe set";
  if (result.answer == Answer::satisfiable) return "property VIOLATED: the input below lies in the box and reaches the unsafe set";
  return "UNDECIDED: " + (result.reason.empty() ? std::string("the search gave up") : result.reason);
}

}  // namespace assay::queries
