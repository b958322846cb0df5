// Trains a residual network with batch normalisation on the digits.
#include "../training/digits.h"
#include "training/layers/basic.h"
#include "training/layers/convolution.h"
#include "training/layers/normalise.h"
#include "training/losses.h"
#include "training/options.h"

using namespace digits;

namespace {

// x + f(x), f two convolutions with batch norm; a stride and more channels go through a convolution of 1 x 1.
struct Block {
  Conv first, second, around;
  BatchNorm norm, last;
  bool straight;
  Block(const Scope& at, std::int64_t in, std::int64_t out)
      : first(at / "first", in, out, {3, 3}, {.stride = {out / in}, .padding = {1}, .bias = false}),
        second(at / "second", out, out, {3, 3}, {.padding = {1}, .bias = false}),
        around(at / "around", in, out, {1, 1}, {.stride = {out / in}, .bias = false}),
        norm(at / "norm", out),
        last(at / "last", out),
        straight(in == out) {}
  Value operator()(const Value& x) const { return relu((straight ? x : around(x)) + last(second(relu(norm(first(x)))))); }
};

struct ResNet {
  Conv stem;
  BatchNorm norm;
  Block first, second;
  Linear out;
  explicit ResNet(Model& model)
      : stem(model / "stem", 1, 8, {3, 3}, {.padding = {1}, .bias = false}),
        norm(model / "norm", 8),
        first(model / "first", 8, 8),
        second(model / "second", 8, 16),
        out(model / "out", 16, 10) {}
  Value operator()(const Value& x) const { return out(global_avg_pool(second(first(relu(norm(stem(x))))))); }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 300;
  std::string data = "examples/digits/digits.csv.gz";
  options.own = {{"data", "the digits, as CSV", &data}};
  if (const auto status = options.read(argc, argv, "digits_resnet", "A residual network on handwritten digits")) return *status;
  std::cout << options.banner("digits_resnet") << "\n";
  const auto set = load(data, options.dtype);
  if (!set) return 4;
  Session session(options.session());
  Model model(session);
  const ResNet net(model);
  model.freeze("first.around");  // the first block is straight
  std::cout << model.parameter_count() << " parameters\n";
  Sgd sgd(session, model.parameters(), {.momentum = 0.9, .weight_decay = 5e-4, .nesterov = true});
  const Schedule rate = with_warmup(cosine_decay(0.1, 0, std::max<std::uint64_t>(1, options.steps)), 20);
  Trainer trainer(model, sgd, [&](std::span<const Value> v) { return training::cross_entropy(net(v[0]), v[1], {.smoothing = 0.05}); },
                  {.compiled = options.compiled, .rate = rate});
  Loader loader(set->train, {.batch = 64, .seed = options.seed});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  std::cout << "held-out images right: " << count_right(model, net, set->held) << " of " << set->held[1].size() << "\n";
  return status;
}
