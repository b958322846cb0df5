#include "training/layers/recurrent.h"

#include <string>

#include "runtime/functions.h"
#include "training/initialise.h"
#include "training/layers/shapes.h"

namespace assay::training {

Recurrent::Recurrent(const Scope& scope, Cell cell, std::int64_t in, std::int64_t hidden, std::int64_t layers)
    : session_(&scope.session()),
      cell_(cell),
      hidden_(hidden),
      gated_(std::make_shared<runtime::Repeated>(*session_, [cell](std::span<const Value> values) { return gated(cell, values); })) {
  const std::int64_t gates = cell == Cell::rnn ? 1 : cell == Cell::gru ? 3 : 4;
  for (std::int64_t k = 0; k < layers; ++k) {
    const std::string end = "_l" + std::to_string(k);
    const auto made = [&](const char* name, const Shape& shape) {
      return scope.parameter(name + end, uniform_by_fan(*session_, shape, hidden));
    };
    const Value input = made("weight_ih", {gates * hidden, k == 0 ? in : hidden}), recurrent = made("weight_hh", {gates * hidden, hidden});
    const Value input_bias = made("bias_ih", {gates * hidden});
    layers_.push_back({input, recurrent, input_bias, made("bias_hh", {gates * hidden})});
  }
}

Recurrent::State Recurrent::zeros(std::int64_t batch) const {
  const Value zero = expand(session_->number(0), {batch, hidden_});
  State state;
  state.hidden.assign(layers_.size(), zero);
  if (cell_ == Cell::lstm) state.cell.assign(layers_.size(), zero);
  return state;
}

// x: the input's part of the gates, with its bias, and with that of the recurrent part where the two are just added.
Value Recurrent::step(const Layer& layer, const Value& x, Value& hidden, Value* cell) const {
  const auto summed = [&] { return session_->apply(Op::gemm, {hidden, layer.recurrent, x}, GemmAttributes{1, 1, false, true}); };
  switch (cell_) {
    case Cell::rnn:
      return hidden = tanh(summed());
    case Cell::gru:
      return hidden = (*gated_)(std::vector<Value>{x, linear(hidden, layer.recurrent, layer.recurrent_bias), hidden})[0];
    case Cell::lstm: {
      const std::vector<Value> next = (*gated_)(std::vector<Value>{summed(), *cell});
      *cell = next[0];
      return hidden = next[1];
    }
  }
  return hidden;
}

// gru: of the input's and the recurrent part of the gates and the hidden state, the next one; lstm: of their sum and the cell,
// the next cell and hidden state.
std::vector<Value> Recurrent::gated(Cell cell, std::span<const Value> values) {
  if (cell == Cell::gru) {
    const std::vector<Value> xs = split(values[0], 1, 3), hs = split(values[1], 1, 3);
    const Value reset = sigmoid(xs[0] + hs[0]), update = sigmoid(xs[1] + hs[1]), fresh = tanh(xs[2] + reset * hs[2]);
    return {fresh + update * (values[2] - fresh)};
  }
  const std::vector<Value> gates = split(values[0], 1, 4);  // input, forget, cell, output
  const Value next = sigmoid(gates[1]) * values[1] + sigmoid(gates[0]) * tanh(gates[2]);
  return {next, sigmoid(gates[3]) * tanh(next)};
}

Recurrent::Result Recurrent::operator()(const Value& x, const std::optional<State>& start) const {
  const Shape shape = x.shape();
  if (shape.size() != 3 || shape[1] < 1 || shape[1] > kMostSteps) {
    return {session_->refuse({Rejection::Kind::unsupported, "training.steps", "recurrent layer",
                              "[B, T, in] with T from 1 to " + std::to_string(kMostSteps), to_string(shape), "cut the sequences"}),
            {}};
  }
  State state = start ? *start : zeros(shape[0]);
  Value inputs = permute(x, {1, 0, 2});  // a step's rows lie side by side
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const std::int64_t width = inputs.shape().at(2);
    // The input's part of all steps is one product.
    const Value bias = cell_ == Cell::gru ? layers_[k].input_bias : layers_[k].input_bias + layers_[k].recurrent_bias;
    const Value rows = linear(reshape(inputs, {shape[1] * shape[0], width}), layers_[k].input, bias);
    if (!rows.ok()) return {rows, state};
    const Value gates = reshape(rows, {shape[1], shape[0], rows.shape()[1]});
    std::vector<Value> outputs;
    for (std::int64_t t = 0; t < shape[1]; ++t) {
      outputs.push_back(step(layers_[k], select(gates, 0, t), state.hidden[k], cell_ == Cell::lstm ? &state.cell[k] : nullptr));
    }
    inputs = stack(outputs, 0);
  }
  return {permute(inputs, {1, 0, 2}), state};
}

}  // namespace assay::training
