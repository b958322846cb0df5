// CaseBounds: the best bound of every open case on a scope whose facts are in place: single rows,
// or combinations of a case's rows and the scope's literals by a linear program over the inputs.
// Non-rigorous; the kernel concludes.
//
// A case of several rows is refuted by any combination of them with weights >= 0. Which combination
// is best is a small linear program: the rows as forms over the inputs, maximised at the box's
// worst corner (small_lp.h). Literals of relus that were split join it as further rows, by
// Lagrange's multipliers, as beta does in beta-CROWN (Wang et al. 2021); where a region leaves no
// relu undecided, the forms are exact.
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
  std::size_t first, count;                 // the case's rows in CaseBounds::single_rows()
  logic::Hints hints;                       // the literals' multipliers, the mixes of products
  std::vector<double> coefficients, point;  // by input: for branching; where the bound is attained
  double open_to = 0;                       // over the reals: what the filter's roundings leave open of the margin, which integers settle

  // Perhaps closed, which the kernel decides: a row that is met with equality has a margin of about
  // 0.
  [[nodiscard]] bool may_be_closed() const { return margin + open_to >= 0; }
};

class CaseBounds {
 public:
  CaseBounds(const Network& network, std::size_t group, std::span<const std::uint32_t> positions);

  // Every row of every case alone, for the kernel's conclude.
  [[nodiscard]] const std::vector<logic::CaseMultipliers>& single_rows() const { return single_rows_; }
  // Node and element of each of the concatenated inputs.
  [[nodiscard]] const std::vector<std::pair<NodeId, std::uint32_t>>& coordinates() const { return coordinates_; }

  // By case; `diagnosis` of conclude(single_rows()) on the scope.
  [[nodiscard]] std::vector<CaseBound> best_rows(const logic::Scope& scope, const inspect::Diagnosis& diagnosis) const;
  // Open cases of which two rows contradict each other whatever the network does: closed by these.
  void contradict(const logic::Scope& scope, std::vector<CaseBound>& bounds) const;
  // Open cases with several rows, or below relu splits (`region`, or null): the strongest
  // combination.
  void combine(const logic::Scope& scope, const inspect::Diagnosis& diagnosis, std::vector<CaseBound>& bounds,
               const RegionForms* region) const;
  // Open cases: the mixes of McCormick's planes, one product after the other at either end, kept
  // where they raise the margin.
  void mix(const logic::Scope& scope, std::vector<CaseBound>& bounds) const;

 private:
  [[nodiscard]] double proved(const inspect::Diagnosis& diagnosis, std::size_t k) const;   // the margin of the k-th combination
  [[nodiscard]] double open_to(const inspect::Diagnosis& diagnosis, std::size_t k) const;  // and what roundings leave open of it
  struct FreeInputs;
  void mix(const logic::Scope& scope, CaseBound& bound) const;
  [[nodiscard]] FreeInputs free_inputs(const logic::Scope& scope) const;
  void combine(const logic::Scope& scope, const inspect::Diagnosis& diagnosis, const FreeInputs& free,
               const std::vector<std::size_t>& literal_of, const std::vector<struct LinearForm>& literal_forms, CaseBound& bound) const;
  [[nodiscard]] std::vector<double> spread(const inspect::Diagnosis& diagnosis, const CaseBound& bound,
                                           const std::vector<double>& weights) const;
  const logic::Problem& problem_;
  std::vector<logic::CaseMultipliers> single_rows_;
  std::vector<std::pair<NodeId, std::uint32_t>> coordinates_;
};

// Perhaps: see may_be_closed().
[[nodiscard]] bool all_closed(const std::vector<CaseBound>& bounds);
// Asks the kernel to conclude all of them, and writes the steps down; with names for choices that
// rounding would make, where that does as well.
[[nodiscard]] Outcome<logic::Refutation> conclude(const logic::Problem& problem, const logic::Scope& scope,
                                                  const std::vector<CaseBound>& bounds, certificate::Fragment& steps);

}  // namespace assay::search
