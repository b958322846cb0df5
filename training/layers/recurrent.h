// Recurrent layers over sequences [B, T, in], unrolled: a sequence may have kMostSteps steps. Parameters are PyTorch's weight_ih_l0,
// weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l1, ..., all uniform between +-1 / sqrt(hidden); gates in its order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/repeated.h"
#include "training/model.h"

namespace assay::training {

inline constexpr std::int64_t kMostSteps = 4096;  // beyond: refused (training.steps)

class Recurrent {
 public:
  enum class Cell : std::uint8_t { rnn, gru, lstm };  // rnn: tanh(x W^T + b + h R^T + c)
  Recurrent(const Scope& scope, Cell cell, std::int64_t in, std::int64_t hidden, std::int64_t layers = 1);

  struct State {
    std::vector<Value> hidden, cell;  // [B, hidden] per layer; cell: lstm only
  };
  struct Result {
    Value outputs;  // [B, T, hidden], of the last layer
    State state;    // after the last step
  };
  // From zeros if no state is given.
  [[nodiscard]] Result operator()(const Value& x, const std::optional<State>& start = std::nullopt) const;
  [[nodiscard]] State zeros(std::int64_t batch) const;

 private:
  struct Layer {
    Value input, recurrent, input_bias, recurrent_bias;
  };
  [[nodiscard]] Value step(const Layer& layer, const Value& x, Value& hidden, Value* cell) const;
  static std::vector<Value> gated(Cell cell, std::span<const Value> values);

  Session* session_;
  Cell cell_;
  std::int64_t hidden_;
  std::vector<Layer> layers_;
  std::shared_ptr<runtime::Repeated> gated_;  // a step without its products
};

struct Rnn : Recurrent {
  Rnn(const Scope& scope, std::int64_t in, std::int64_t hidden, std::int64_t layers = 1)
      : Recurrent(scope, Cell::rnn, in, hidden, layers) {}
};
struct Gru : Recurrent {
  Gru(const Scope& scope, std::int64_t in, std::int64_t hidden, std::int64_t layers = 1)
      : Recurrent(scope, Cell::gru, in, hidden, layers) {}
};
struct Lstm : Recurrent {
  Lstm(const Scope& scope, std::int64_t in, std::int64_t hidden, std::int64_t layers = 1)
      : Recurrent(scope, Cell::lstm, in, hidden, layers) {}
};

}  // namespace assay::training
