// Runs of branch_on_activations() on the first group of a statement, and the replay of what they prove.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "certificates/check/replay.h"
#include "certificates/check/session.h"
#include "search/bab/bab.h"
#include "search/strategy/proved.h"
#include "tests/catch.h"

namespace assay::search_test {

struct Run {
  search::GroupResult result;
  certificate::Fragment root_steps;
  search::Statistics statistics;
};

inline Run branch(const search::NeuronGraph& graph, const search::BranchingOptions& options, const std::stop_token& stop = {}) {
  const std::shared_ptr<const logic::Problem>& problem = graph.network().problem();
  auto scope = logic::Scope::root(problem, 0);
  REQUIRE(scope.ok());
  REQUIRE(certificate::sweep(*problem, scope.value(), 0, false).ok());
  std::vector<std::uint32_t> positions(problem->group_cases(0).size());
  for (std::uint32_t k = 0; k < positions.size(); ++k) positions[k] = k;
  Run run;
  run.root_steps.sweep(0, false);
  auto result = search::branch_on_activations(graph, scope.value(), positions, options, stop, run.statistics);
  REQUIRE(result.ok());
  run.result = std::move(result).value();
  return run;
}

// Writes a certificate and replays it.
inline bool replays(const std::shared_ptr<const logic::Problem>& problem, const std::string& name,
                    const std::function<void(certificate::Writer&)>& write) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / ("assay_search_" + name + ".assay");
  auto writer = certificate::Writer::open(path.string(), *problem);
  REQUIRE(writer.ok());
  write(*writer.value());
  REQUIRE(writer.value()->finish().ok());
  auto reader = certificate::Reader::open(path.string());
  REQUIRE(reader.ok());
  const auto theorem = certificate::replay(*reader.value(), problem);
  std::filesystem::remove(path);
  if (!theorem.ok()) WARN(theorem.rejection().to_text());
  return theorem.ok() && theorem.value().kind() == logic::Theorem::Kind::unsatisfiable;
}

inline bool replays(const std::shared_ptr<const logic::Problem>& problem, const Run& run, const std::string& name) {
  return replays(problem, name, [&](certificate::Writer& writer) {
    writer.begin_group(0);
    writer.append(run.root_steps);
    run.result.tree->write(writer);
    writer.end_group();
  });
}

inline bool replays(const std::shared_ptr<const logic::Problem>& problem, const search::Proved& proved, const std::string& name) {
  return replays(problem, name, [&](certificate::Writer& writer) {
    std::vector<search::OpenBranch> open;
    proved.write({}, open, writer);
  });
}

}  // namespace assay::search_test
