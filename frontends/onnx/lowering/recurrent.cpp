// RNN, GRU, LSTM and DynamicQuantizeLSTM: unrolled, one step after the other, into products and activations.
//
// Shapes here: x [T, N, I] in processing order, state [N, H], gates [N, G * H] in the order of the standard (GRU z r h, LSTM
// i o f c). A direction that runs backwards reads each sequence from its own last element.
#include <algorithm>
#include <bit>
#include <cctype>
#include <iterator>
#include <optional>

#include "frontends/onnx/lowering/quantise.h"

namespace assay::onnx {
namespace {

constexpr std::int64_t kMostSteps = 4096;  // unrolled steps of one node

struct Activation {
  std::string name;  // lower case
  std::optional<Op> op;
  double alpha = 0, beta = 0;
};

struct ActivationRow {
  std::string_view name;
  std::optional<Op> op;  // none: several ops
  bool has_alpha, has_beta;
  float alpha, beta;  // defaults of the operator of that name; without one they have to be given
};
const std::vector<ActivationRow>& activation_rows() {
  static const std::vector<ActivationRow> kRows = [] {
    const std::vector<ActivationRow> all = {
#define ASSAY_ONNX(op, name, ...) {name, Op::op, false, false, 0, 0},
#define ASSAY_ONNX_NUMBERS(op, name, first, one, alpha, two, beta) {name, Op::op, true, two[0] != '\0', alpha, beta},
#include "semantics/graph/ops.def"
    };
    constexpr Op kInCells[] = {
#define ASSAY_ONNX_CELL(op) Op::op,
#include "semantics/graph/ops.def"
    };
    std::vector<ActivationRow> rows = {{"Affine", std::nullopt, true, true, 0, 0}, {"ScaledTanh", std::nullopt, true, true, 0, 0}};
    std::ranges::copy_if(all, std::back_inserter(rows),
                         [&](const ActivationRow& row) { return std::ranges::count(kInCells, *row.op) != 0; });
    return rows;
  }();
  return kRows;
}

std::string lower_case(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Operand activate(Call& call, const Activation& f, Operand x, double clip) {
  if (clip > 0) x = call.emit(Op::clip, {x}, ClipAttributes{-clip, clip});
  if (f.op) return call.emit(*f.op, {x}, numbers_of(*f.op, f.alpha, f.beta));
  if (f.name == "affine") return call.emit(Op::add, {scaled(call, x, f.alpha), reals_like(call, x, {}, {f.beta})});
  return scaled(call, call.emit(Op::tanh, {scaled(call, x, f.beta)}), f.alpha);  // scaledtanh
}

std::vector<double> float_list(const Call& call, std::string_view name) {
  std::vector<double> values;
  if (const AttributeProto* found = call.find(name, AttributeKind::reals)) {
    for (const std::uint32_t bits : found->reals) values.push_back(static_cast<double>(std::bit_cast<float>(bits)));
  }
  return values;
}

void take_standard_threshold(const Call& call) {
  call.lowering.note(place_of(call.node) +
                     ": ThresholdedRelu without activation_alpha has the standard's threshold 1; ONNX Runtime takes 0");
  call.real_only(false, "activation_alpha for ThresholdedRelu", "none: the standard's threshold is 1, ONNX Runtime takes 0");
}

// The functions in order; each that has an alpha (beta) takes the next one listed, or its default.
std::vector<Activation> activations_of(const Call& call, std::vector<std::string> names) {
  if (const AttributeProto* given = call.find("activations", AttributeKind::texts)) {
    if (given->texts.size() != names.size())
      call.malformed("onnx.attribute", std::to_string(names.size()) + " activations", std::to_string(given->texts.size()));
    names = given->texts;
  }
  const std::vector<double> alphas = float_list(call, "activation_alpha"), betas = float_list(call, "activation_beta");
  std::size_t next_alpha = 0, next_beta = 0;
  std::vector<Activation> activations;
  for (std::string& name : names) {
    name = lower_case(name);
    const auto row = std::ranges::find(activation_rows(), name, [](const ActivationRow& one) { return lower_case(one.name); });
    if (row == activation_rows().end()) call.malformed("onnx.attribute", "an activation of the standard's list", printable(name));
    const bool has_alpha = next_alpha < alphas.size(), has_beta = next_beta < betas.size();
    if (!row->op && !(has_alpha && has_beta)) call.malformed("onnx.attribute", "activation_alpha and activation_beta for " + name, "none");
    Activation f{name, row->op, static_cast<double>(row->alpha), static_cast<double>(row->beta)};
    if (row->has_alpha && has_alpha)
      f.alpha = alphas[next_alpha++];
    else if (name == "thresholdedrelu")
      take_standard_threshold(call);
    if (name == "softplus") call.real_only(false, "another activation", "Softplus: from 89 on it is infinite in ONNX Runtime");
    if (row->has_beta && has_beta) f.beta = betas[next_beta++];
    activations.push_back(std::move(f));
  }
  return activations;
}

using CellMatrix = Quantised;  // of DynamicQuantizeLSTM; a matrix of other cells has no scale

// x times the matrix. Where that is quantised, x is as well, all of it together.
Operand times(Call& call, const Operand& x, const CellMatrix& w) {
  return w.scale ? dynamic_product(call, x, w) : call.emit(Op::matmul, {x, w.values});
}

// One direction of one node.
struct Cell {
  std::string type;
  CellMatrix r;  // [H, G * H], transposed
  Operand rb;    // bias of the recurrent products that is not part of x; GRU with linear_before_reset only
  Operand peep;  // [3 * H]: i o f; LSTM only
  std::vector<Activation> f;
  double clip = 0;
  bool linear_before_reset = false, input_forget = false;
};
struct State {
  Operand h, c;  // c: LSTM only
};

Operand sum(Call& call, const Operand& a, const Operand& b) { return b == nullptr ? a : call.emit(Op::add, {a, b}); }
Operand product(Call& call, const Operand& a, const Operand& b) { return call.emit(Op::mul, {a, b}); }
Operand one_minus(Call& call, const Operand& x) { return call.emit(Op::sub, {reals_like(call, x, {}, {1}), x}); }

// H = f(x + H R)
State rnn_step(Call& call, const Cell& cell, const Operand& x, const State& s) {
  const Operand gates = sum(call, x, times(call, s.h, cell.r));
  return {activate(call, cell.f[0], gates, cell.clip), nullptr};
}

// z = f(.), r = f(.), h = g(x + (r H) R) or g(x + r (H R + b)), H = (1 - z) h + z H
State gru_step(Call& call, const Cell& cell, const Operand& x, const State& s) {
  const std::vector<Operand> xs = split_axis(call, x, 1, 3), rs = split_axis(call, cell.r.values, 1, 3);
  const auto recurrent = [&](std::size_t gate, const Operand& h) {
    const Operand y = call.emit(Op::matmul, {h, rs[gate]});
    return cell.rb == nullptr ? y : sum(call, y, split_axis(call, cell.rb, 0, 3)[gate]);
  };
  const Operand z = activate(call, cell.f[0], sum(call, xs[0], recurrent(0, s.h)), cell.clip);
  const Operand r = activate(call, cell.f[0], sum(call, xs[1], recurrent(1, s.h)), cell.clip);
  const Operand inner = cell.linear_before_reset ? product(call, r, recurrent(2, s.h)) : recurrent(2, product(call, r, s.h));
  const Operand h = activate(call, cell.f[1], sum(call, xs[2], inner), cell.clip);
  return {sum(call, product(call, one_minus(call, z), h), product(call, z, s.h)), nullptr};
}

// i = f(. + P C), f = f(. + P C), c = g(.), C = f C + i c, o = f(. + P C), H = o h(C)
State lstm_step(Call& call, const Cell& cell, const Operand& x, const State& s) {
  const std::vector<Operand> gates = split_axis(call, sum(call, x, times(call, s.h, cell.r)), 1, 4);
  const std::vector<Operand> peep = cell.peep ? split_axis(call, cell.peep, 0, 3) : std::vector<Operand>(3);
  const auto gate = [&](std::size_t which, const Operand& p, const Operand& c) {
    return activate(call, cell.f[0], p ? sum(call, gates[which], product(call, p, c)) : gates[which], cell.clip);
  };
  const Operand i = gate(0, peep[0], s.c);
  const Operand f = cell.input_forget ? one_minus(call, i) : gate(2, peep[2], s.c);
  const Operand c = sum(call, product(call, f, s.c), product(call, i, activate(call, cell.f[1], gates[3], cell.clip)));
  const Operand o = gate(1, peep[1], c);
  return {product(call, o, activate(call, cell.f[2], c, 0)), c};
}

State step(Call& call, const Cell& cell, const Operand& x, const State& s) {
  if (cell.type == "RNN") return rnn_step(call, cell, x, s);
  return cell.type == "GRU" ? gru_step(call, cell, x, s) : lstm_step(call, cell, x, s);
}

// Rows of `now` where the sequence has a step t, else of `before`.
Operand where_running(Call& call, const Operand& now, const Operand& before, const Ints& lengths, std::int64_t t) {
  if (now == nullptr || std::all_of(lengths.begin(), lengths.end(), [t](std::int64_t length) { return t < length; })) return now;
  Ints rows;
  const auto n = static_cast<std::int64_t>(lengths.size());
  for (std::int64_t i = 0; i < n; ++i) rows.push_back(t < lengths[static_cast<std::size_t>(i)] ? i : n + i);
  return gather_axis(call, concat(call, {now, before}, 0), 0, std::move(rows));
}

// x [T, N, F] with each sequence backwards from its last element.
Operand backwards(Call& call, const Operand& x, const Ints& lengths) {
  const std::int64_t steps = x->shape[0], n = x->shape[1], width = x->shape[2];
  Ints from;
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t length = lengths[static_cast<std::size_t>(i)];
      from.push_back((t < length ? length - 1 - t : t) * n + i);
    }
  }
  return call.reshape(gather_axis(call, call.reshape(x, {steps * n, width}), 0, std::move(from)), x->shape);
}

bool is_quantised(const Call& call) { return call.node.op_type == "DynamicQuantizeLSTM"; }

struct RecurrentSizes {
  std::int64_t steps, batch, inputs, hidden, gates, directions;
};

struct Run {
  Operand y;  // [T, 1, N, H]
  State last;
};

Operand row(Call& call, const Operand& x, std::int64_t i, Shape shape) {
  return call.reshape(slice_axis(call, x, 0, i, 1), std::move(shape));
}

// Direction d of input i, transposed: [D, G * H, n], or as DynamicQuantizeLSTM has it [D, n, G * H], its scales in the input 6 + 2 i and
// its zero points in the next one, one for each direction or for each column.
CellMatrix cell_matrix(Call& call, std::size_t i, std::int64_t d, const Shape& shape) {
  if (!is_quantised(call)) return {permute(call, row(call, call.in(i), d, shape), {1, 0}), nullptr};
  const std::size_t at = 6 + 2 * i;
  const auto columns = [&](const Operand& all) {
    const std::int64_t count = all->shape.size() == 2 ? all->shape[1] : 1;
    if (all->shape[0] != call.shape(i)[0] || (count != 1 && count != shape[0]))
      call.malformed("onnx.shape", "scales and zero points of each direction or column", to_string(all->shape));
    return row(call, all, d, count == 1 ? Shape{} : Shape{count});
  };
  const Operand zero = columns(call.cast(call.in(at + 1), DType::float64));
  return {centred(call, row(call, call.in(i), d, {shape[1], shape[0]}), zero, DType::float64), columns(call.in(at))};
}

// Direction d from its first state: all hidden states, zero behind the end of a sequence.
Run run(Call& call, Cell cell, const RecurrentSizes& size, std::int64_t d, bool reverse, const Operand& x, const Ints& lengths,
        State state) {
  const std::int64_t width = size.gates * size.hidden;
  const CellMatrix w = cell_matrix(call, 1, d, {width, size.inputs});
  cell.r = cell_matrix(call, 2, d, {width, size.hidden});
  Operand gates = times(call, reverse ? backwards(call, x, lengths) : x, w);
  if (call.has(3)) {
    const std::vector<Operand> bias = split_axis(call, row(call, call.in(3), d, {2 * width}), 0, 2);
    gates = sum(call, gates, bias[0]);
    if (cell.linear_before_reset)
      cell.rb = bias[1];
    else
      gates = sum(call, gates, bias[1]);
  }
  if (cell.type == "LSTM" && call.has(7)) cell.peep = row(call, call.in(7), d, {3 * size.hidden});
  const Operand zeros = expand(call, reals_like(call, x, {}, {0}), {size.batch, size.hidden});
  std::vector<Operand> states;
  for (std::int64_t t = 0; t < size.steps; ++t) {
    const State next = step(call, cell, row(call, gates, t, {size.batch, width}), state);
    states.push_back(call.reshape(where_running(call, next.h, zeros, lengths, t), {1, size.batch, size.hidden}));
    state = {where_running(call, next.h, state.h, lengths, t), where_running(call, next.c, state.c, lengths, t)};
  }
  Operand y = concat(call, states, 0);
  if (reverse) y = backwards(call, y, lengths);
  return {call.reshape(y, {size.steps, 1, size.batch, size.hidden}), state};
}

RecurrentSizes sizes_of(const Call& call, std::int64_t gates, std::int64_t directions, const Shape& x) {
  const Shape& r = call.shape(2);
  const bool ranks = x.size() == 3 && call.shape(1).size() == 3 && r.size() == 3;
  RecurrentSizes size{};
  if (ranks) size = {x[0], x[1], x[2], r[is_quantised(call) ? 1 : 2], gates, directions};
  const std::int64_t h = size.hidden, width = gates * h;
  bool fits = ranks && size.steps >= 1 && h >= 1 && call.attribute("hidden_size", h) == h;
  const auto matrix = [&](std::int64_t columns) {
    return is_quantised(call) ? Shape{directions, columns, width} : Shape{directions, width, columns};
  };
  fits = fits && call.shape(1) == matrix(size.inputs) && r == matrix(h);
  fits = fits && (!call.has(3) || call.shape(3) == Shape{directions, 2 * width}) &&
         (!call.has(7) || call.shape(7) == Shape{directions, 3 * h});
  if (!fits)
    call.malformed("onnx.shape",
                   "X [T, N, I], W [D, G H, I], R [D, G H, H] (quantised: their last axes exchanged), B [D, 2 G H] with G = " +
                       std::to_string(gates) + ", D = " + std::to_string(directions),
                   to_string(x) + ", " + to_string(call.shape(1)) + ", " + to_string(r));
  if (is_quantised(call) && size.batch > 4)
    call.unsupported("onnx.limit", "at most 4 sequences, which ONNX Runtime quantises together", std::to_string(size.batch),
                     "take fewer with --shape or --dim");
  if (size.steps > kMostSteps) call.unsupported("onnx.limit", "at most 4096 steps", std::to_string(size.steps), "shorten the sequence");
  return size;
}

Ints lengths_of(const Call& call, const RecurrentSizes& size) {
  if (!call.has(4)) return Ints(static_cast<std::size_t>(size.batch), size.steps);
  const Ints lengths = call.ints(4, "lengths of the sequences");
  bool fits = static_cast<std::int64_t>(lengths.size()) == size.batch;
  for (const std::int64_t length : lengths) fits = fits && length >= 1 && length <= size.steps;
  if (!fits) call.malformed("onnx.input", "one length from 1 to " + std::to_string(size.steps) + " per sequence", to_string(lengths));
  return lengths;
}

Operand first_state(Call& call, std::size_t input, const RecurrentSizes& size, std::int64_t d, bool batch_first) {
  if (!call.has(input)) return expand(call, reals_like(call, call.in(0), {}, {0}), {size.batch, size.hidden});
  const Operand state = batch_first ? permute(call, call.in(input), {1, 0, 2}) : call.in(input);
  if (state->shape != Shape{size.directions, size.batch, size.hidden})
    call.malformed("onnx.shape", "a state per direction, sequence and hidden unit", to_string(call.shape(input)));
  return row(call, state, d, {size.batch, size.hidden});
}

Cell cell_of(const Call& call) {
  Cell cell;
  cell.type = is_quantised(call) ? "LSTM" : call.node.op_type;
  cell.clip = static_cast<double>(call.attribute("clip", 0.0F));
  cell.linear_before_reset = call.attribute("linear_before_reset", std::int64_t{0}) != 0;
  cell.input_forget = call.attribute("input_forget", std::int64_t{0}) != 0;
  return cell;
}

}  // namespace

Results lower_recurrent(Call& call) {
  const std::string direction = call.attribute("direction", "forward"), type = cell_of(call).type;
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    call.malformed("onnx.attribute", "direction forward, reverse or bidirectional", printable(direction));
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  const bool batch_first = call.attribute("layout", std::int64_t{0}) != 0;
  const Operand x = batch_first && call.shape(0).size() == 3 ? permute(call, call.in(0), {1, 0, 2}) : call.in(0);
  const RecurrentSizes size = sizes_of(call, type == "RNN" ? 1 : type == "GRU" ? 3 : 4, directions, x->shape);
  const Ints lengths = lengths_of(call, size);
  std::vector<std::string> names = type == "RNN"   ? std::vector<std::string>{"tanh"}
                                   : type == "GRU" ? std::vector<std::string>{"sigmoid", "tanh"}
                                                   : std::vector<std::string>{"sigmoid", "tanh", "tanh"};
  const std::size_t per_direction = names.size();
  names.resize(per_direction * static_cast<std::size_t>(directions));
  std::copy_n(names.begin(), directions == 2 ? per_direction : 0, names.begin() + static_cast<std::ptrdiff_t>(per_direction));
  const std::vector<Activation> all = activations_of(call, names);
  std::vector<Operand> ys, hs, cs;
  for (std::int64_t d = 0; d < directions; ++d) {
    Cell cell = cell_of(call);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(per_direction) * d;
    cell.f.assign(first, first + static_cast<std::ptrdiff_t>(per_direction));
    State state{first_state(call, 5, size, d, batch_first), type == "LSTM" ? first_state(call, 6, size, d, batch_first) : nullptr};
    const Run result = run(call, cell, size, d, d == 1 || direction == "reverse", x, lengths, state);
    const Shape one = {1, size.batch, size.hidden};
    ys.push_back(result.y);
    hs.push_back(call.reshape(result.last.h, one));
    if (result.last.c) cs.push_back(call.reshape(result.last.c, one));
  }
  const auto last = [&](const std::vector<Operand>& states) {
    const Operand joined = concat(call, states, 0);
    return batch_first ? permute(call, joined, {1, 0, 2}) : joined;
  };
  const Operand y = concat(call, ys, 1);
  Results results = {batch_first ? permute(call, y, {2, 0, 1, 3}) : y, last(hs)};
  if (!cs.empty()) results.push_back(last(cs));
  return results;
}

}  // namespace assay::onnx
