#include "cli/assay/verify_scale.h"

#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/assay/certificate_file.h"

namespace assay::cli {

Outcome<Scaled> scale_down(const std::shared_ptr<const kernel::Problem>& problem, const search::Options& options, double seconds,
                           const std::string& proof) {
  std::unique_ptr<Certificate> tried, best;  // what is not kept removes itself
  queries::ScaleRequest request{.seconds = seconds, .search = options, .open = {}, .keep = [&] { best = std::move(tried); }};
  request.open = [&](const kernel::Problem& part) -> Outcome<certificate::Writer*> {
    auto opened = Certificate::open(proof.empty() ? "" : scaled_proof(proof), part);
    if (!opened) return opened.rejection();
    tried = std::move(opened).value();
    return writer_of(tried);
  };
  auto found = queries::largest_scale(problem, request);
  if (!found) return found.rejection();
  Scaled scaled{std::move(found).value()};
  if (!best) return scaled;
  const auto bytes = kernel::statement_bytes(scaled.problem->statement());
  if (!write_file(scaled_statement(proof), [&](const Sink& sink) { sink(bytes); }))
    return unwritten_certificate(scaled_statement(proof), "no place for the statement that it proves");
  auto kept = best->take_place();
  if (!kept) return kept.rejection();
  scaled.bytes = kept.value();
  return scaled;
}

std::string scaled_text(const Scaled& scaled, const std::string& proof) {
  std::array<char, 160> tries{};
  (void)std::snprintf(tries.data(), tries.size(), " (%zu tries in %.1f s)\n", scaled.tries, scaled.seconds);
  if (!scaled.problem) return std::string("scale: no multiple of 0.001 of the box was proved") + tries.data();
  std::string text = "scale: the property HOLDS in " + scaled.scale.to_decimal() +
                     " of the box, each side shrunk to that share around its middle; above it nothing is known" + tries.data();
  if (scaled.bytes > 0)
    text += "certificate of that: " + scaled_proof(proof) + ", " + std::to_string(scaled.bytes) + " bytes; check it with: assay-check " +
            scaled_statement(proof) + " " + scaled_proof(proof) + "\n";
  return text;
}

}  // namespace assay::cli
