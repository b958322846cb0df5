#include "app/queries/decision.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "app/files/certificate_file.h"
#include "app/queries/verify.h"
#include "search/strategy/stages.h"

namespace assay::queries {
namespace {

using files::Certificate;
using search::Answer;

// The certificate of a theorem takes its place.
void keep(Certificate* certificate, const std::string& proof, const std::optional<Rejection>& unwritten, Decision& decision) {
  if (certificate == nullptr) return;
  if (unwritten)
    decision.why = files::unwritten_certificate(proof, unwritten->found);
  else if (auto kept = certificate->take_place(); !kept)
    decision.why = kept.rejection();
  else
    decision.proof_bytes = kept.value();
}

// An end by the clock or by the search's own limits says what a signal's says: when, how far, and what the search gave up at.
void explain_end(search::Clock::time_point start, Decision& decision) {
  std::array<char, 40> seconds{};
  constexpr double kShort = 0.1;  // below it one digit behind the point says nothing
  const double took = search::seconds_since(start);
  (void)std::snprintf(seconds.data(), seconds.size(), took < kShort ? " after %.2g s; " : " after %.1f s; ", took);
  search::Result& result = decision.result;
  const std::string how = result.answer == Answer::timed_out ? "timed out" : "the search ended";
  const std::string gave_up = result.reason.empty() ? "" : "; " + result.reason;
  result.reason = how + seconds.data() + (decision.progress ? progress_text(*decision.progress) : "no bound yet") + gave_up;
}

// The largest scale, with its certificate and its statement where there is a `proof`.
Outcome<Scaled> scale_down(const std::shared_ptr<const logic::Problem>& problem, const search::Options& options, double seconds,
                           const std::string& proof) {
  std::unique_ptr<Certificate> tried, best;  // a certificate that is not kept removes itself
  ScaleRequest request{.seconds = seconds, .search = options, .open = {}, .keep = [&] { best = std::move(tried); }};
  request.open = [&](const logic::Problem& part) -> Outcome<certificate::Writer*> {
    auto opened = Certificate::open(proof.empty() ? "" : scaled_proof(proof), part);
    if (!opened) return opened.rejection();
    tried = std::move(opened).value();
    return files::writer_of(tried);
  };
  auto scaled = largest_scale(problem, request);
  if (!scaled || !best) return scaled;
  const auto bytes = statement::statement_bytes(scaled.value().problem->statement());
  if (auto failed = files::write_file(scaled_statement(proof), [&](const files::Sink& sink) { sink(bytes); }))
    return files::unwritten_certificate(scaled_statement(proof), "no place for the statement that it proves: " + *failed);
  auto kept = best->take_place();
  if (!kept) return kept.rejection();
  scaled.value().bytes = kept.value();
  return scaled;
}

// Of a property that stayed undecided: the largest scale, or the answer after all, where a try met a point that violates.
Outcome<Done> search_scale(const std::shared_ptr<const logic::Problem>& problem, const DecisionRequest& request, Decision& decision) {
  search::Options options = request.search;
  options.on_progress = request.on_scale;
  auto scaled = scale_down(problem, options, request.scale, request.proof);
  if (!scaled) return scaled.rejection();
  auto certificate = Certificate::open(request.proof, *problem);
  if (!certificate) return certificate.rejection();
  search::Result violated;
  if (const auto& witness = scaled.value().violated) violated = violated_at(problem, *witness, files::writer_of(certificate.value()));
  if (!violated.theorem) {
    decision.scaled = std::move(scaled).value();
    return Done{};
  }
  search::Result& result = decision.result;
  result.answer = violated.answer;
  result.reason.clear();
  result.theorem = std::move(violated.theorem);
  result.unfinished.reset();
  decision.progress.reset();
  keep(certificate.value().get(), request.proof, violated.unwritten, decision);
  return Done{};
}

}  // namespace

Outcome<Decision> decide(const std::shared_ptr<const logic::Problem>& problem, const DecisionRequest& request, const LastProgress& last) {
  auto certificate = Certificate::open(request.proof, *problem);
  if (!certificate) return certificate.rejection();
  auto found = verify(problem, request.search, files::writer_of(certificate.value()));
  if (!found) return found.rejection();
  Decision decision;
  decision.result = std::move(found).value();
  if (decision.result.theorem) {
    if (request.on_theorem) request.on_theorem();
    keep(certificate.value().get(), request.proof, decision.result.unwritten, decision);
    return decision;
  }
  decision.progress = last.get();
  if (request.search.stop.stop_requested()) return decision;
  explain_end(request.start, decision);
  if (request.scale > 0)
    if (auto scaled = search_scale(problem, request, decision); !scaled) decision.why = scaled.rejection();
  return decision;
}

void add_remarks(const logic::Problem& problem, double order_seconds, Decision& decision) {
  search::Result& result = decision.result;
  if (result.answer == Answer::satisfiable) decision.float_run = run_in_float32(*result.theorem);
  if (result.nearest) decision.orders = run_in_orders(problem, *result.nearest, order_seconds);
  if (!result.disputed && !decision.orders.violating) result.nearest.reset();
}

std::string stages_text(const std::vector<search::StageTime>& stages) {
  std::string text;
  for (const search::StageTime& stage : stages) {
    std::array<char, 40> seconds{};
    (void)std::snprintf(seconds.data(), seconds.size(), " %.3f s", stage.seconds);
    text += (text.empty() ? "stages: " : ", ") + std::string(stage.name) + seconds.data();
    if (stage.runs > 1) text += " (" + std::to_string(stage.runs) + " times)";
  }
  for (const search::Stage& stage : search::stages()) {
    const std::string line = std::string("\nsplits: ") + stage.splits_by;
    const bool has_run = std::ranges::find(stages, std::string_view(stage.name), &search::StageTime::name) != stages.end();
    if (has_run && *stage.splits_by != 0 && text.find(line) == std::string::npos) text += line;
  }
  return text;
}

std::string progress_text(const search::Progress& progress) {
  std::array<char, 200> text{};
  (void)std::snprintf(text.data(), text.size(), "%s, %llu branches closed, %llu open, worst bound %.6g", progress.phase.c_str(),
                      static_cast<unsigned long long>(progress.closed), static_cast<unsigned long long>(progress.open),
                      progress.worst_bound);
  return text.data();
}

void interrupt(search::Result& result, const Rejection& why) {
  result.answer = Answer::unknown;
  result.reason = "interrupted by " + why.found + (result.reason.empty() ? "" : "; " + result.reason);
}

}  // namespace assay::queries
