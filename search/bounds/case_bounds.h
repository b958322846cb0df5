// CaseBounds: the best bound of every open case on a scope whose facts are in place. It tries single rows, and then
// combinations of a case's rows and the scope's literals, by a linear program over the inputs. Non-rigorous; the
// kernel concludes.
//
// A case of several rows is refuted by any combination of them with weights >= 0. The best combination is the solution
// of a small linear program: rows are forms over the inputs, and the combination is maximised at the worst corner of
// the box (small_lp.h). Literals of split ReLUs join the program as further rows, by Lagrange's multipliers, as beta
// does in beta-CROWN (Wang et al. 2021). If a region leaves no ReLU unstable, the forms are exact.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "certificates/format/writer.h"
#include "kernel/inspect/inspect.h"
#include "kernel/logic/api.h"
#include "search/relax/network.h"
#include "search/relax/region.h"

namespace assay::search {

struct CaseBound {
  logic::CaseMultipliers multipliers;
  double margin;                            // > 0: closed
  std::size_t first, count;                 // the rows of the case among those of CaseBounds::conclude_rows()
  logic::Hints hints;                       // multipliers of the literals, mixes of products
  std::vector<double> coefficients, point;  // by input: the form, for branching; the point where the bound is attained
  // Over the reals: how far rounding in the kernel's filter may have lowered the margin; integers settle this.
  double open_to = 0;

  // Whether the case may be closed, which the kernel decides. A row that is met with equality has a margin of about 0.
  [[nodiscard]] bool may_be_closed() const { return margin + open_to >= 0; }
};

class CaseBounds {
 public:
  CaseBounds(const Network& network, std::size_t group, std::span<const std::uint32_t> positions);

  // The kernel's conclusion by every row of every case alone. The diagnosis has no margins if the kernel was stopped.
  [[nodiscard]] Outcome<logic::Refutation> conclude_rows(const logic::Scope& scope, inspect::Diagnosis& diagnosis) const;
  [[nodiscard]] std::size_t row_count() const { return rows_.size(); }
  // Node and element of each of the concatenated inputs.
  [[nodiscard]] const std::vector<std::pair<NodeId, std::uint32_t>>& coordinates() const { return coordinates_; }

  // The best single row of each case. `diagnosis`: from conclude_rows() on the scope.
  [[nodiscard]] std::vector<CaseBound> best_rows(const logic::Scope& scope, const inspect::Diagnosis& diagnosis) const;
  // Closes the open cases with two rows that contradict each other for every network.
  void contradict(const logic::Scope& scope, std::vector<CaseBound>& bounds) const;
  // For open cases with several rows, or below ReLU splits (`region`, or null): finds the strongest combination.
  void combine(const logic::Scope& scope, const inspect::Diagnosis& diagnosis, std::vector<CaseBound>& bounds,
               const RegionForms* region) const;

 private:
  struct SingleRow {
    std::uint32_t position;  // of its case in the group
    std::size_t row, count;  // its place among the rows of the case
  };
  [[nodiscard]] static logic::CaseMultipliers multipliers(const SingleRow& one);
  // The proved margin of the k-th combination.
  [[nodiscard]] double proved(const inspect::Diagnosis& diagnosis, std::size_t k) const;
  // How far rounding may have lowered this margin.
  [[nodiscard]] double open_to(const inspect::Diagnosis& diagnosis, std::size_t k) const;
  struct FreeInputs;
  [[nodiscard]] FreeInputs free_inputs(const logic::Scope& scope) const;
  void combine(const logic::Scope& scope, const inspect::Diagnosis& diagnosis, const FreeInputs& free,
               const std::vector<std::size_t>& literal_of, const std::vector<struct LinearForm>& literal_forms, CaseBound& bound) const;
  [[nodiscard]] std::vector<double> spread(const inspect::Diagnosis& diagnosis, const CaseBound& bound,
                                           const std::vector<double>& weights) const;
  const logic::Problem& problem_;
  std::vector<SingleRow> rows_;
  std::vector<std::pair<NodeId, std::uint32_t>> coordinates_;
};

// Whether all cases may be closed: see may_be_closed().
[[nodiscard]] bool all_closed(const std::vector<CaseBound>& bounds);
// Asks the kernel to conclude all cases, and appends the steps. Names the choices that rounding would make if the
// conclusion also holds with these names.
[[nodiscard]] Outcome<logic::Refutation> conclude(const logic::Problem& problem, const logic::Scope& scope,
                                                  const std::vector<CaseBound>& bounds, certificate::Fragment& steps);

}  // namespace assay::search
