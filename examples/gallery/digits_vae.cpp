// Trains a variational autoencoder on the digits, and draws two of its samples.
#include "../training/digits.h"
#include "training/layers/basic.h"
#include "training/layers/shapes.h"
#include "training/losses.h"
#include "training/options.h"

using namespace digits;

namespace {

constexpr std::int64_t kCodes = 4;

struct Vae {
  Linear in, codes, back, out;
  explicit Vae(Model& model)
      : in(model / "in", 64, 64), codes(model / "codes", 64, 2 * kCodes), back(model / "back", kCodes, 64), out(model / "out", 64, 64) {}
  Value decode(const Value& code) const { return out(relu(back(code))); }
  // Minus the evidence lower bound per image: how badly pixels are told again, plus how far the code is from a normal one.
  Value loss(const Value& x) const {
    Session& session = x.session();
    const Value pixels = flatten(x);
    const std::vector<Value> parts = split(codes(relu(in(pixels))), 1, 2);
    const Value &mean = parts[0], &logarithm = parts[1];  // of the variance
    const Value code = mean + exp(0.5 * logarithm) * session.input(session.normal(mean.shape()), "noise");
    const Value again = binary_cross_entropy_with_logits(decode(code), pixels, {.reduction = Reduction::sum});
    const Value divergence = 0.5 * sum(square(mean) + exp(logarithm) - logarithm - 1);
    return (again + divergence) * (1 / static_cast<double>(x.shape()[0]));
  }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 1500;
  std::string data = "examples/digits/digits.csv.gz";
  options.own = {{"data", "the digits, as CSV", &data}};
  if (const auto status = options.read(argc, argv, "digits_vae", "A variational autoencoder on handwritten digits")) return *status;
  std::cout << options.banner("digits_vae") << "\n";
  const auto set = load(data, options.dtype);
  if (!set) return 4;
  Session session(options.session());
  Model model(session);
  const Vae net(model);
  Adam adam(session, model.parameters(), {.rate = 3e-3});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return net.loss(v[0]); }, {.compiled = options.compiled});
  Loader loader({set->train[0]}, {.batch = 64, .seed = options.seed});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  session.clear();
  const std::vector<double> pixels = sigmoid(net.decode(session.input(session.normal({2, kCodes})))).to_doubles();
  draw({std::span(pixels).first(64), std::span(pixels).subspan(64)});
  return status;
}
