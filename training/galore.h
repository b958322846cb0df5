// GaLore: an optimiser around another one, whose states for a matrix have the size of a projection of its gradient to few dimensions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "training/optimise.h"

namespace assay::training {

// For a matrix whose sides are both longer than `rank`: P, the `rank` leading singular vectors of the gradient along the shorter
// side, from the first step on anew after each `interval` steps; R = P^T g, or g P where rows are more than columns; d is what
// the inner optimiser makes of a stand-in that is 0 and has the gradient R, its states being kept when P changes; p = (1 - rate
// weight_decay) p + scale P d, or scale d P^T. Every other parameter takes the inner optimiser's step after the decay. The inner
// optimiser's own decay would see stand-ins alone: give it none. Products are ops of the session (not on the tape). Source: Zhao
// et al. 2024, "GaLore: Memory-efficient LLM training by gradient low-rank projection", algorithm 2.
struct GaLoreOptions {
  std::int64_t rank = 4;         // at least 1 (demanded)
  std::uint64_t interval = 200;  // steps, at least 1 (demanded)
  double scale = 0.25, weight_decay = 0;
};
class GaLore final : public Optimiser {
 public:
  // Over the parameters of `inner`, at its rate; its steps are taken here alone.
  GaLore(Session& session, std::unique_ptr<Optimiser> inner, const GaLoreOptions& options);
  [[nodiscard]] std::string_view kind() const override { return kind_; }  // "galore adam"
  [[nodiscard]] Shape state_shape(std::string_view list, std::size_t which) const override;

 private:
  [[nodiscard]] bool projects(std::size_t which) const;
  // On a device the states after the step follow, else they are written in place.
  Outcome<std::vector<Array>> inner_step(runtime::Mirror* device, std::size_t which, const Array& parameter, const Array& gradient);
  Outcome<std::vector<Array>> stepped(runtime::Mirror* device, std::size_t which, const Array& parameter, const Array& gradient);
  Outcome<Array> next(std::size_t which, const Array& parameter, const Array& gradient) override;
  Outcome<std::vector<Array>> next_on(runtime::Mirror& device, std::size_t which, const Array& parameter, const Array& gradient) override;
  std::vector<Kept> states() override;
  [[nodiscard]] bool is_pass() const override { return false; }
  std::unique_ptr<Optimiser> inner_;
  GaLoreOptions options_;
  std::string kind_;
  std::vector<Array> projectors_;  // P^T: [rank, shorter side]; [0, 0] for what is not projected
};

// The `rank` singular vectors of a float matrix, along its shorter side, that belong to its largest singular values, as rows
// [rank, shorter side]: orthonormal, in falling order, the element of largest magnitude positive. Computed in double by rotations
// of pairs of rows, in an order that is always the same; about 10 k^2 n operations per sweep over sides k <= n, and some ten
// sweeps. Unit vectors where elements are no finite numbers. Source: Hestenes 1958, "Inversion of matrices by biorthogonalization
// and related results".
[[nodiscard]] Array leading_singular_vectors(const Array& matrix, std::int64_t rank);

}  // namespace assay::training
