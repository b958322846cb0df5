// Reading a certificate into branches, replaying them, and writing them.

#include "certificates/edit/trim/proof.h"

#include <filesystem>
#include <utility>

#include "certificates/check/refutations.h"
#include "certificates/check/session.h"
#include "certificates/format/format.h"

namespace assay::certificate {

namespace {

constexpr std::size_t kMostSplits = 1000;                        // one behind the other: each is a step of recursion
constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;  // of a certificate: in memory it takes several times as much

Rejection misshapen(std::string required, std::string found) {
  return {Rejection::Kind::declined, "trim.shape",     "",
          std::move(required),       std::move(found), "check it as it is: assay-check takes every certificate"};
}

class ProofReader {
 public:
  ProofReader(std::unique_ptr<Reader> reader, const Graph& graph) : reader_(std::move(reader)), graph_(graph) {}

  Outcome<std::vector<ProofGroup>> read() {
    std::vector<ProofGroup> groups;
    std::vector<Open> open;  // from the group's root to the innermost branch
    const auto enter = [&](ProofBranch& branch) { open.push_back({&branch, &branch}); };
    const auto is_in = [&](ProofBranch ProofFork::*half) {
      return open.size() >= 2 && open.back().branch == &(open[open.size() - 2].end->fork.get()->*half);
    };
    while (true) {
      const auto next = reader_->next(&graph_);
      if (!next) return next.rejection();
      if (next.value() == nullptr) return groups;
      const Record& record = *next.value();
      const bool expected = record.type == RecordType::begin_group ? open.empty() : !open.empty();
      if (record.type == RecordType::witness) return misshapen("a proof of unsat", "a witness");
      if (!expected) return misshapen("groups one after the other", "record " + std::to_string(record.number) + " elsewhere");
      switch (record.type) {
        case RecordType::begin_group:
          groups.push_back({record.group, {}});
          enter(groups.back().root);
          break;
        case RecordType::end_group:
          if (open.size() != 1) return misshapen("whole splits", "end_group in a split");
          open.clear();
          break;
        case RecordType::split_zero:
        case RecordType::split_f32:
        case RecordType::split_f64: {
          ProofFork& fork = *(open.back().end->fork = std::make_unique<ProofFork>());
          fork.at_most = {record.node, record.element, false, record.threshold};
          enter(fork.left);
          break;
        }
        case RecordType::next:
          if (!is_in(&ProofFork::left)) return misshapen("whole splits", "next elsewhere");
          open.pop_back();
          enter(open.back().end->fork->right);
          break;
        case RecordType::done:
          if (!is_in(&ProofFork::right)) return misshapen("whole splits", "done elsewhere");
          open.pop_back();
          open.back().end = &open.back().end->fork->rest;
          if (++open.back().splits > kMostSplits)
            return misshapen("fewer splits one behind the other", "more than " + std::to_string(kMostSplits));
          break;
        default:
          open.back().end->steps.push_back({record, std::string(reader_->encoded())});
      }
    }
  }

 private:
  struct Open {
    ProofBranch *branch, *end;  // the branch, and its part behind the splits that are whole
    std::size_t splits = 0;     // that are
  };

  std::unique_ptr<Reader> reader_;
  const Graph& graph_;
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

Outcome<std::vector<ProofGroup>> read_proof(const std::string& path, const kernel::Problem& problem) {
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

Outcome<Done> take_step(const kernel::Problem& problem, const Record& record, kernel::Scope& scope,
                        std::optional<kernel::Refutation>& closed) {
  switch (record.type) {
    case RecordType::sweep:
      return sweep(problem, scope, record.node, record.round_to_float);
    case RecordType::boxes:
      return propagate_boxes(problem, scope, record.node);
    case RecordType::box:
      return scope.propagate_box(record.node);
    case RecordType::tighten:
      return scope.tighten(record.node, record.selection, record.hints, record.claimed ? &record.claims : nullptr, record.round_to_float);
    case RecordType::tighten_by_cases:
      return tighten_by_cases(scope, record.node, record.selection, record.tree, record.round_to_float);
    case RecordType::cut:
      return cut_by_cases(scope, record.terms, record.tree);
    case RecordType::conclude:
    case RecordType::conclude_with:
      return merge_into(closed, scope.conclude(record.cases, record.hints));
    case RecordType::empty:
      return merge_into(closed, scope.empty());
    default:
      return Done{};  // definitions are in the records that use them
  }
}

Outcome<Halves> halves(const kernel::Scope& scope, const kernel::Literal& at_most) {
  Halves both{scope, scope};
  kernel::Literal at_least = at_most;
  at_least.at_least = true;
  if (auto assumed = both.left.assume(at_most); !assumed) return assumed.rejection();
  if (auto assumed = both.right.assume(at_least); !assumed) return assumed.rejection();
  return both;
}

Outcome<kernel::Refutation> replay_rest(const kernel::Problem& problem, const ProofBranch& branch, std::size_t steps, kernel::Scope scope) {
  std::optional<kernel::Refutation> closed;
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
    if (auto done = merge_into(closed, kernel::join(left.value(), right.value())); !done) return done.rejection();
    if (!branch.fork->rest.empty()) {
      if (auto done = merge_into(closed, replay_branch(problem, branch.fork->rest, std::move(scope))); !done) return done.rejection();
    }
  }
  if (!closed) return misshapen("a branch that refutes something", "no conclusion");
  return *std::move(closed);
}

Outcome<kernel::Refutation> replay_branch(const kernel::Problem& problem, const ProofBranch& branch, kernel::Scope scope) {
  return replay_rest(problem, branch, 0, std::move(scope));
}

}  // namespace assay::certificate
