// Engine: branch and bound on one group of cases: the queue, the workers, the tree, the limits and the open rest. A
// BabMethod does the bounding and branching: activation_bab.cpp splits neurons, input_bab.cpp splits inputs.
//
// Source: branch and bound for networks (Bunel et al. 2020), in batches of subdomains as in beta-CROWN (Wang et al.
// 2021). How this version differs: it keeps a proof. Only a refutation of the kernel closes a subdomain. Refutations
// are joined up to the root, and the steps that the kernel accepted are kept in a ProofTree. The newest subdomains come
// first, which keeps the queue short.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "search/bab/bab.h"
#include "search/bab/branch_tree.h"
#include "search/bab/subdomain.h"

namespace assay::search {

class Engine;

// A bounder and a brancher of one thread, with their buffers.
class BabWorker {
 public:
  virtual ~BabWorker() = default;
  // How many cases it bounds side by side.
  [[nodiscard]] virtual std::size_t capacity() const = 0;
  // Closes each subdomain of the batch or splits it; both halves are appended to `children`. Returns false if the
  // search is over; subdomains that are not done then stay open.
  [[nodiscard]] virtual bool treat(std::vector<Subdomain>& batch, std::vector<Subdomain>& children) = 0;
};

// What is split and how subdomains are bounded; all threads share it.
class BabMethod {
 public:
  virtual ~BabMethod() = default;
  [[nodiscard]] virtual const char* phase() const = 0;                 // for Progress
  [[nodiscard]] virtual std::uint64_t bytes_of_subdomain() const = 0;  // approximate upper bound
  // Whether linear programs bound the first subdomain.
  [[nodiscard]] virtual bool by_programs() const { return false; }
  [[nodiscard]] virtual std::unique_ptr<BabWorker> worker(Engine& engine) = 0;
};

class Engine {
 public:
  Engine(const Network& network, const logic::Scope& root, const BranchingOptions& options, const std::stop_token& stop);

  // `positions`: the cases open at the root, by position in its group.
  GroupResult run(BabMethod& method, std::span<const std::uint32_t> positions, Statistics& statistics);

  // The interface for workers.
  [[nodiscard]] BranchTree& tree() { return *tree_; }
  [[nodiscard]] const BranchingOptions& options() const { return options_; }
  [[nodiscard]] const Limit& limit() const { return limit_; }
  [[nodiscard]] std::uint64_t nodes() const { return nodes_; }  // how many the workers have taken so far
  [[nodiscard]] bool has_finished() const;
  [[nodiscard]] bool is_root(const Subdomain& node) const { return node.record == tree_->root(); }
  // Closes a record whose cases are all refuted: by `refutation`, which belongs to `steps`, by its own refutation, or
  // by both together.
  void close(const BranchTree::Record& record, std::optional<logic::Refutation> refutation, const certificate::Fragment& steps);
  void found(logic::Theorem witness);
  void finish(std::string reason);  // only the first reason counts

 private:
  void watch(BabMethod& method, Clock::time_point start);
  void work(BabMethod& method);
  bool pop(const BabWorker& worker, std::vector<Subdomain>& batch, double& share);
  void push(std::vector<Subdomain>& children, std::vector<Subdomain>& batch, double share, std::uint64_t bytes_of_subdomain);
  void leave(std::vector<Subdomain>& batch);
  void end(std::string reason);  // mutex_ must be held, as for all functions that follow
  void choose_hardest();
  [[nodiscard]] bool has_to_pause();
  [[nodiscard]] Unfinished unfinished() const;
  [[nodiscard]] double closed_share() const { return unfinished().closed_share - share_in_work_; }
  void for_each_open(auto&& use) const;
  [[nodiscard]] std::vector<OpenLeaf> open_leaves() const;
  void report(const char* phase, double seconds) const;
  [[nodiscard]] std::uint32_t case_of(const OpenCase& one) const {
    return network_.problem()->group_cases(root_scope_.group())[one.position];
  }

  const Network& network_;
  const BranchingOptions& options_;
  const Limit limit_;
  logic::Scope root_scope_;
  std::atomic<bool> halt_ = false;  // ends the work of all workers
  std::atomic<std::uint64_t> nodes_ = 0;

  mutable std::mutex mutex_;  // guards everything below
  // Signals of a waiting subdomain or of finished_; of the end, for the watching thread.
  std::condition_variable changed_, ended_;
  std::unique_ptr<BranchTree> tree_;
  std::vector<Subdomain> open_;
  std::vector<Subdomain> left_;  // subdomains left by workers that ended
  std::size_t in_work_ = 0;
  double share_in_work_ = 0;  // share of the tree, as in Unfinished
  bool finished_ = false;
  bool left_open_ = false;  // the tree has as many open leaves as were asked for
  std::uint64_t leaves_ = 0;
  std::string reason_;
  std::optional<logic::Theorem> witness_;
  std::optional<bool> trial_failed_;  // none: the trial is not judged yet
  Pace pace_;
};

}  // namespace assay::search
