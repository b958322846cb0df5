// Muon: momentum whose matrices are made nearly orthogonal by five steps of a quintic iteration, for parameters that are matrices.
#pragma once

#include <vector>

#include "training/optimise.h"

namespace assay::training {

// v += (1 - momentum)(g - v); u = v, or with nesterov u = g + momentum (v - g);
// X = u / max(|u|, epsilon), then `iterations` times A = X X^T, X = a X + (b A + c A A) X;
// p = (1 - rate weight_decay) p - rate size X, with size sqrt(max(1, rows / columns)), or 0.2 sqrt(max(rows, columns)) to match AdamW.
// As torch.optim.Muon, which iterates in bfloat16; here the iteration is in the parameter's type. Its products are ops of the session (not
// on the tape), which an observer sees. Source: Jordan 2024, "Muon: an optimizer for hidden layers in neural networks".
struct MuonOptions {
  double rate = 0.001, momentum = 0.95, weight_decay = 0.1, epsilon = 1e-7;
  bool nesterov = true, match_adamw = false;
  int iterations = 5;
};
class Muon final : public Optimiser {
 public:
  Muon(Session& session, std::vector<Value> parameters, const MuonOptions& options);  // matrices (demanded)
  [[nodiscard]] std::string_view kind() const override { return "muon"; }

 private:
  [[nodiscard]] Value orthogonal(const Value& update) const;
  [[nodiscard]] std::vector<Value> stepped(std::size_t which, const Array& parameter, const Array& gradient);  // parameter, momentum
  Outcome<Array> next(std::size_t which, const Array& parameter, const Array& gradient) override;
  Outcome<std::vector<Array>> next_on(runtime::Mirror& device, std::size_t which, const Array& parameter, const Array& gradient) override;
  std::vector<Kept> states() override;
  [[nodiscard]] bool is_pass() const override { return false; }
  MuonOptions options_;
  std::vector<Array> momentum_;
};

}  // namespace assay::training
