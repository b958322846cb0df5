// branch_on_activations(): the bounder and kFSB in the loop of the engine.
//
// A worker takes a batch of subdomains and bounds all their cases side by side. It asks the kernel about the cases with
// a positive bound. For the other subdomains, kFSB proposes splits and bounds their halves.
//
// Source: branch and bound over neurons (Bunel et al. 2020) with bounds by beta-CROWN (Wang et al. 2021). How this
// version differs: every activation with a split point is split, not only ReLU.

#include "search/bab/activation_bab.h"

#include <algorithm>
#include <utility>

#include "search/bab/bab.h"
#include "search/heuristics/input_splits.h"
#include "search/heuristics/kfsb.h"

namespace assay::search {
namespace {

constexpr std::size_t kMostCases = 64;  // of a batch
constexpr std::uint64_t kNeuronBytes = 20,
                        // An open node holds its own slopes, the changed boxes of its scope and a few words.
    kNodeBytes = 2000;

class ActivationBab final : public BabMethod {
 public:
  ActivationBab(const NeuronGraph& graph, const logic::Scope& scope, const BranchingOptions& options)
      : root_(graph, scope, options.above), kfsb_(root_, options) {}

  [[nodiscard]] const char* phase() const override { return "relu splitting"; }
  [[nodiscard]] std::uint64_t bytes_of_subdomain() const override { return root_.graph.neuron_count() * kNeuronBytes + kNodeBytes; }
  [[nodiscard]] bool by_programs() const override { return root_.relaxation != nullptr; }
  [[nodiscard]] std::unique_ptr<BabWorker> worker(Engine& engine) override { return std::make_unique<Worker>(*this, engine); }

 private:
  class Worker final : public BabWorker {
   public:
    Worker(ActivationBab& bab, Engine& engine) : bab_(bab), engine_(engine), bounder_(bab.root_, engine, bab.loss_) {}

    [[nodiscard]] std::size_t capacity() const override { return std::min(bounder_.capacity(), kMostCases); }

    bool treat(std::vector<Subdomain>& batch, std::vector<Subdomain>& children) override {
      std::vector<Treated> treated;
      treated.reserve(batch.size());
      for (Subdomain& node : batch) treated.push_back({&node});
      if (!engine_.limit().reached()) bounder_.bound(treated);
      for (Treated& one : treated)
        if (!close_or_propose(one)) return false;
      bab_.kfsb_.choose_and_split(bounder_.ascent(), treated, engine_.tree(), children);
      for (Subdomain& node : batch) node.is_done = true;
      return true;
    }

   private:
    // Returns false if the search is over.
    bool close_or_propose(Treated& treated) {
      Subdomain& node = *treated.node;
      if (engine_.limit().reached()) return ends_in_time();  // the last bounds may be cut short, too
      if (!bounder_.close_empty(treated) && !bounder_.close_cases(treated)) return false;
      if (engine_.has_finished()) return false;
      if (engine_.limit().reached()) return ends_in_time();
      if (node.cases.empty()) {
        engine_.close(node.record, std::nullopt, treated.steps);
        node.is_done = true;
        return true;
      }
      engine_.tree().append(node.record, treated.steps);
      if (bab_.kfsb_.propose(treated, engine_.nodes())) return true;
      engine_.finish(kNoNeuronLeft);
      return false;
    }

    bool ends_in_time() {
      engine_.finish("time");
      return false;
    }

    ActivationBab& bab_;
    Engine& engine_;
    ActivationBounder bounder_;
  };

  const ActivationRoot root_;
  ExpectedLoss loss_;
  Kfsb kfsb_;
};

}  // namespace

Outcome<GroupResult> branch_on_activations(const NeuronGraph& graph, const logic::Scope& root, std::span<const std::uint32_t> positions,
                                           const BranchingOptions& options, const std::stop_token& stop, Statistics& statistics) {
  if (!graph.can_split()) {
    return Rejection{Rejection::Kind::declined,
                     "search.lines",
                     "graph",
                     "ops with planes, and one of them to split",
                     "an op without planes, or none to split",
                     "use input splitting for this network"};
  }
  statistics.splits_activations = true;
  statistics.free_inputs = std::max(statistics.free_inputs, free_inputs(*graph.network().problem(), root));
  ActivationBab method(graph, root, options);
  return Engine(graph.network(), root, options, stop).run(method, positions, statistics);
}

}  // namespace assay::search
