// A certificate in memory, as branches whose steps can be changed, replayed on scopes of the kernel, and written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "certificates/format/reader.h"
#include "certificates/format/writer.h"
#include "kernel/logic/api.h"

namespace assay::certificate {

// A record that is no split, with its bytes as they are written.
struct ProofStep {
  Record record;
  std::string bytes;
};

struct ProofFork;
// Steps, and then a split or nothing.
struct ProofBranch {
  std::vector<ProofStep> steps;
  std::unique_ptr<ProofFork> fork;
  [[nodiscard]] bool empty() const { return steps.empty() && !fork; }
};

struct ProofFork {
  logic::Literal at_most;
  ProofBranch left, right;  // element <= threshold, element >= threshold
  ProofBranch rest;         // the steps behind the split, on the scope before it
};

struct ProofGroup {
  std::size_t group = 0;
  ProofBranch root;
};

// Declined (code "trim.shape") where the certificate holds a witness or is longer than can be held. Other
// rejections are those of the reader.
[[nodiscard]] Outcome<std::vector<ProofGroup>> read_proof(const std::string& path, const logic::Problem& problem);
void write_proof(const std::vector<ProofGroup>& groups, Writer& writer);

// Returns the refutations of the branch, from its own steps and splits.
[[nodiscard]] Outcome<logic::Refutation> replay_branch(const logic::Problem& problem, const ProofBranch& branch, logic::Scope scope);
// Returns the refutations of `branch` by its remaining steps and splits, on a scope that its first `steps` steps reached.
[[nodiscard]] Outcome<logic::Refutation> replay_rest(const logic::Problem& problem, const ProofBranch& branch, std::size_t steps,
                                                     logic::Scope scope);

// Both halves of a split.
struct Halves {
  logic::Scope left, right;
};
[[nodiscard]] Outcome<Halves> halves(const logic::Scope& scope, const logic::Literal& at_most);

}  // namespace assay::certificate
