// Trains a small convolutional network on the digits, writes it as ONNX, and the held-out images for certify_digits.py.
#include <cmath>

#include "digits.h"
#include "training/export.h"
#include "training/layers/basic.h"
#include "training/layers/convolution.h"
#include "training/layers/shapes.h"
#include "training/losses.h"
#include "training/options.h"

using namespace digits;

namespace {

struct Cnn {
  Conv first, second;
  Linear out;
  explicit Cnn(Model& model)
      : first(model / "first", 1, 8, {3, 3}, {.stride = {2}, .padding = {1}}),
        second(model / "second", 8, 16, {3, 3}, {.stride = {2}, .padding = {1}}),
        out(model / "out", 64, 10) {}
  Value operator()(const Value& x) const { return out(flatten(relu(second(relu(first(x)))))); }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 1500;
  std::string data = "examples/digits/digits.csv.gz", onnx;
  options.own = {{"data", "the digits, as CSV", &data}, {"onnx", "where the trained model goes", &onnx}};
  if (const auto status = options.read(argc, argv, "digits_cnn", "A convolutional network on handwritten digits")) return *status;
  std::cout << options.banner("digits_cnn") << "\n";
  const auto set = load(data, options.dtype);
  if (!set) return 4;
  Session session(options.session());
  Model model(session);
  const Cnn net(model);
  std::cout << model.parameter_count() << " parameters\n";
  Adam adam(session, model.parameters(), {.weight_decay = 1e-4, .decoupled = true});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return cross_entropy(net(v[0]), v[1], {.smoothing = 0.05}); },
                  {.compiled = options.compiled, .rate = one_cycle({.most = 0.01, .steps = std::max<std::uint64_t>(2, options.steps)})});
  Loader loader(set->train, {.batch = 64, .seed = options.seed, .transform = [](std::vector<Array> batch, const RandomKey& key) {
                               return noisy(std::move(batch), key, 0.1);
                             }});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  std::cout << "held-out images right: " << count_right(model, net, set->held) << " of " << set->held[1].size() << "\n";
  if (onnx.empty() || status == 4) return status;
  const Dataset one = chosen(set->held, std::vector<std::int64_t>{0});
  const auto function = [&](std::span<const Value> v) { return net(v[0]); };
  if (const auto written = write_onnx_file(onnx, model, function, std::vector<ExportInput>{{"X", one[0]}}, "Y"); !written) {
    std::cerr << written.rejection().to_text() << "\n";
    return 4;
  }
  std::cout << "written: " << onnx << "\n";
  return status;
}
