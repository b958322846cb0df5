// Trains an autoencoder on the digits: eight numbers for 64 pixels. Draws two held-out images and what comes back.
#include <cstdio>

#include "../training/digits.h"
#include "training/layers/basic.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace digits;

namespace {

constexpr std::int64_t kCodes = 8;

struct Autoencoder {
  Linear in, code, back, out;
  explicit Autoencoder(Model& model)
      : in(model / "in", 64, 64), code(model / "code", 64, kCodes), back(model / "back", kCodes, 64), out(model / "out", 64, 64) {}
  Value operator()(const Value& pixels) const { return sigmoid(out(relu(back(code(relu(in(pixels))))))); }  // [B, 64]
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 2000;
  std::string data = "examples/digits/digits.csv.gz";
  options.own = {{"data", "the digits, as CSV", &data}};
  if (const auto status = options.read(argc, argv, "digits_autoencoder", "An autoencoder on handwritten digits")) return *status;
  std::cout << options.banner("digits_autoencoder") << "\n";
  const auto set = load(data, options.dtype);
  if (!set) return 4;
  Session session(options.session());
  Model model(session);
  const Autoencoder net(model);
  Adam adam(session, model.parameters(), {});
  const auto loss = [&](const Value& x) { return mean_squared_error(net(flatten(x)), flatten(x)); };
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return loss(v[0]); },
                  {.compiled = options.compiled, .rate = cosine_decay(5e-3, 1e-5, std::max<std::uint64_t>(1, options.steps))});
  Loader loader({set->train[0]}, {.batch = 64, .seed = options.seed});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  session.clear();
  const Value held = session.input(set->held[0]), pixels = flatten(held);
  std::printf("held-out images: mean squared error %.6f, of a variance of %.6f\n", loss(held).item(),
              mean(square(pixels - mean(pixels, {0}, true))).item());
  const std::vector<double> before = pixels.to_doubles(), after = net(pixels).to_doubles();
  draw({std::span(before).first(64), std::span(after).first(64), std::span(before).subspan(64, 64), std::span(after).subspan(64, 64)});
  return status;
}
