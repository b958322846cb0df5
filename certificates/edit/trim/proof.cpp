// Reading a certificate into branches, replaying them, and writing them.

#include "certificates/edit/trim/proof.h"

#include <filesystem>
#include <utility>

#include "certificates/check/refutations.h"
#include "certificates/edit/steps.h"

namespace assay::certificate {
namespace {

constexpr std::size_t kMostSplits = 1000;                        // one behind the other: each is a step of recursion
constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;  // of a certificate: in memory it takes several times as much

Rejection misshapen(std::string required, std::string found) {
  return {Rejection::Kind::declined, "trim.shape",     "",
          std::move(required),       std::move(found), "check it as it is: assay-check takes every certificate"};
}

class ProofReader : public StepsAlike<ProofReader> {
 public:
  ProofReader(std::unique_ptr<Reader> reader, const Graph& graph) : reader_(std::move(reader)), graph_(graph) {}

  Outcome<std::vector<ProofGroup>> read() {
    while (true) {
      const auto next = reader_->next(&graph_);
      if (!next) return next.rejection();
      if (next.value() == nullptr) return std::move(groups_);
      if (auto taken = visit(*next.value(), *this); !taken) return taken.rejection();
    }
  }

  Outcome<Done> begin_group(const Record& record) {
    if (!open_.empty()) return elsewhere(record);
    groups_.push_back({record.group, {}});
    enter(groups_.back().root);
    return Done{};
  }
  Outcome<Done> end_group(const Record& record) {
    if (open_.empty()) return elsewhere(record);
    if (open_.size() != 1) return misshapen("whole splits", "end_group in a split");
    open_.clear();
    return Done{};
  }
  Outcome<Done> split(const Record& record) {
    if (open_.empty()) return elsewhere(record);
    ProofFork& fork = *(open_.back().end->fork = std::make_unique<ProofFork>());
    fork.at_most = record.at_most();
    enter(fork.left);
    return Done{};
  }
  Outcome<Done> next(const Record& record) {
    if (open_.empty()) return elsewhere(record);
    if (!is_in(&ProofFork::left)) return misshapen("whole splits", "next elsewhere");
    open_.pop_back();
    enter(open_.back().end->fork->right);
    return Done{};
  }
  Outcome<Done> done(const Record& record) {
    if (open_.empty()) return elsewhere(record);
    if (!is_in(&ProofFork::right)) return misshapen("whole splits", "done elsewhere");
    open_.pop_back();
    open_.back().end = &open_.back().end->fork->rest;
    if (++open_.back().splits > kMostSplits)
      return misshapen("fewer splits one behind the other", "more than " + std::to_string(kMostSplits));
    return Done{};
  }
  static Outcome<Done> witness(const Record&) { return misshapen("a proof of unsat", "a witness"); }
  Outcome<Done> step(const Record& record) {
    if (open_.empty()) return elsewhere(record);
    open_.back().end->steps.push_back({record, std::string(reader_->encoded())});
    return Done{};
  }

 private:
  struct Open {
    ProofBranch *branch, *end;  // the branch, and its part behind the splits that are whole
    std::size_t splits = 0;     // that are
  };

  static Rejection elsewhere(const Record& record) {
    return misshapen("groups one after the other", "record " + std::to_string(record.number) + " elsewhere");
  }
  void enter(ProofBranch& branch) { open_.push_back({&branch, &branch}); }
  [[nodiscard]] bool is_in(ProofBranch ProofFork::*half) const {
    return open_.size() >= 2 && open_.back().branch == &(open_[open_.size() - 2].end->fork.get()->*half);
  }

  std::unique_ptr<Reader> reader_;
  const Graph& graph_;
  std::vector<ProofGroup> groups_;
  std::vector<Open> open_;  // from the group's root to the innermost branch
};

void write(const ProofBranch& branch, Writer& writer) {
  for (const ProofStep& step : branch.steps) {
    Fragment fragment;
    fragment.copy(step.bytes);
    writer.append(fragment);
  }
  if (!branch.fork) return;
  writer.split(branch.fork->at_most.node, branch.fork->at_most.element, branch.fork->at_most.threshold);
  write(branch.fork->left, writer);
  writer.next();
  write(branch.fork->right, writer);
  writer.done();
  write(branch.fork->rest, writer);
}

}  // namespace

Outcome<std::vector<ProofGroup>> read_proof(const std::string& path, const logic::Problem& problem) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(path, failed);
  if (!failed && bytes > kMostBytes)
    return misshapen("a certificate of at most " + std::to_string(kMostBytes) + " bytes", std::to_string(bytes) + " bytes");
  auto reader = Reader::open(path);
  if (!reader) return reader.rejection();
  return ProofReader(std::move(reader).value(), problem.graph()).read();
}

void write_proof(const std::vector<ProofGroup>& groups, Writer& writer) {
  for (const ProofGroup& one : groups) {
    writer.begin_group(one.group);
    write(one.root, writer);
    writer.end_group();
  }
}

Outcome<Halves> halves(const logic::Scope& scope, const logic::Literal& at_most) {
  Halves both{scope, scope};
  logic::Literal at_least = at_most;
  at_least.at_least = true;
  if (auto assumed = both.left.assume(at_most); !assumed) return assumed.rejection();
  if (auto assumed = both.right.assume(at_least); !assumed) return assumed.rejection();
  return both;
}

Outcome<logic::Refutation> replay_rest(const logic::Problem& problem, const ProofBranch& branch, std::size_t steps, logic::Scope scope) {
  std::optional<logic::Refutation> closed;
  for (; steps < branch.steps.size(); ++steps) {
    if (auto done = take_step(problem, branch.steps[steps].record, scope, closed); !done) return done.rejection();
  }
  if (branch.fork) {
    auto both = halves(scope, branch.fork->at_most);
    if (!both) return both.rejection();
    auto left = replay_branch(problem, branch.fork->left, std::move(both.value().left));
    if (!left) return left;
    auto right = replay_branch(problem, branch.fork->right, std::move(both.value().right));
    if (!right) return right;
    if (auto done = merge_into(closed, logic::join(left.value(), right.value())); !done) return done.rejection();
    if (!branch.fork->rest.empty()) {
      if (auto done = merge_into(closed, replay_branch(problem, branch.fork->rest, std::move(scope))); !done) return done.rejection();
    }
  }
  if (!closed) return misshapen("a branch that refutes something", "no conclusion");
  return *std::move(closed);
}

Outcome<logic::Refutation> replay_branch(const logic::Problem& problem, const ProofBranch& branch, logic::Scope scope) {
  return replay_rest(problem, branch, 0, std::move(scope));
}

}  // namespace assay::certificate
