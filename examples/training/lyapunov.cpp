// Trains a controller of a Van der Pol oscillator together with a Lyapunov function of the closed loop, on points where
// the function does not fall and on others; writes both as one ONNX model, about which certify_lyapunov.py has Assay
// prove that it falls.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "runtime/functions.h"
#include "training/export.h"
#include "training/layers/basic.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

constexpr std::int64_t kBatch = 256, kTried = 4096, kWorst = 128;
constexpr double kTime = 0.1, kMostForce = 3, kFall = 0.05;  // of one move; of the force; of the function per move, as a share of |x|

// Nothing has a bias, so that the origin stays where it is, and the function is homogeneous: V(s x) = s V(x) for s >= 0.
struct Loop {
  Linear in, out, function;
  explicit Loop(Model& model)
      : in(model / "in", 2, 16, false), out(model / "out", 16, 1, false), function(model / "function", 2, 24, false) {}

  // A sum of |w x|: what is convex and homogeneous in two dimensions, and the same at x and -x, is a limit of such sums.
  Value lyapunov(const Value& x) const { return mean(runtime::apply(Op::abs, function(x)), {1}, true); }
  Value force(const Value& x) const { return runtime::apply(Op::clip, out(relu(in(x))), ClipAttributes{-kMostForce, kMostForce}); }
  // x' = v, v' = (1 - x^2) v - x + force, by one step of Euler's method.
  Value moved(const Value& state) const {
    const Value x = slice(state, 1, 0, 1), v = slice(state, 1, 1, 1);
    return concat({x + kTime * v, v + kTime * ((1 - square(x)) * v - x + force(state))}, 1);
  }
  // By how much V rises in one move.
  Value rise(const Value& x) const { return lyapunov(moved(x)) - lyapunov(x); }
};

Value size(const Value& x) { return sum(runtime::apply(Op::abs, x), {1}, true); }

// Points of the square, more of them the nearer to the origin: half of all are in the inner half, and so on.
std::vector<double> points(Session& session, std::int64_t count) {
  std::vector<double> made = session.uniform({count, 2}, -1, 1).to_tensor().to_doubles();
  const std::vector<double> depth = session.uniform({count}, 0, 6).to_tensor().to_doubles();
  for (std::size_t i = 0; i < made.size(); ++i) made[i] *= std::exp2(-std::floor(depth[i / 2]));
  return made;
}

// Half of a batch are the points, of many that are tried, where V rises most.
struct Search {
  Session& session;
  const Loop& loop;

  std::vector<Array> next() {
    const std::vector<double> tried = points(session, kTried);
    session.clear();
    const Value x = session.input(numbers(session, {kTried, 2}, tried));
    const std::vector<double> rise = (loop.rise(x) / size(x)).to_doubles();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < rise.size(); ++i) order.push_back(i);
    std::ranges::partial_sort(order, order.begin() + kWorst, [&](std::size_t a, std::size_t b) { return rise[a] > rise[b]; });
    std::vector<double> batch = points(session, kBatch - kWorst);
    for (const std::size_t i : std::span(order).first(kWorst)) batch.insert(batch.end(), {tried[2 * i], tried[2 * i + 1]});
    return {numbers(session, {kBatch, 2}, batch)};
  }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 2000;
  std::string onnx;
  options.own = {{"onnx", "where the closed loop goes", &onnx}};
  if (const auto status = options.read(argc, argv, "lyapunov", "A controller with a Lyapunov function")) return *status;
  std::cout << options.banner("lyapunov") << "\n";
  Session session(options.session());
  Model model(session);
  const Loop loop(model);
  Adam adam(session, model.parameters(), {});
  // V rises too much, or is below |x|, both as shares of |x|: hinges with a rounded corner, so that the last steps have gradients, too.
  const auto hinge = [](const Value& excess) { return 0.02 * mean(softplus(50.0 * excess)); };
  const auto loss = [&](std::span<const Value> v) {
    const Value length = size(v[0]), now = loop.lyapunov(v[0]), next = loop.lyapunov(loop.moved(v[0]));
    return hinge((next - now) / length + kFall) + hinge(1 - now / length);
  };
  Trainer trainer(model, adam, loss,
                  {.compiled = options.compiled, .rate = cosine_decay(1e-2, 1e-5, std::max<std::uint64_t>(1, options.steps))});
  Search search{session, loop};
  const int status = run_training(options, trainer, [&] { return search.next(); });
  session.clear();
  const Value x = session.input(numbers(session, {100000, 2}, points(session, 100000)));
  std::printf("largest rise at 100000 points, by |x|: %.4f\n", std::ranges::max((loop.rise(x) / size(x)).to_doubles()));
  if (onnx.empty() || status == 4) return status;
  // V is scaled to be about 1.01 at least on the border of the square, so that V <= 1 lies inside: certify_lyapunov.py proves what it
  // needs.
  std::vector<double> border;
  for (int k = -1000; k <= 1000; ++k) border.insert(border.end(), {1, k / 1000.0, k / 1000.0, 1});
  const double factor = 1.01 / std::ranges::min(loop.lyapunov(session.input(numbers(session, {4002, 2}, border))).to_doubles());
  const auto told = [&](std::span<const Value> v) {
    const Value next = loop.moved(v[0]), now = loop.lyapunov(v[0]) * factor;
    return concat({loop.lyapunov(next) * factor - now, now, next}, 1);
  };
  const std::vector<ExportInput> input{{"X", numbers(session, {1, 2}, std::vector<double>{0, 0})}};
  if (const auto written = write_onnx_file(onnx, model, told, input, "Y"); !written) {
    std::cerr << written.rejection().to_text() << "\n";
    return 4;
  }
  std::cout << "written: " << onnx << "\n";
  return status;
}
