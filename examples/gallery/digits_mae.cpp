// Trains a masked autoencoder on the digits: an encoder sees 8 of the 16 patches of an image, and a decoder tells the other eight.
// Source: He et al. 2022, "Masked autoencoders are scalable vision learners".
#include <cstdio>

#include "patches.h"
#include "training/initialise.h"
#include "training/options.h"

using namespace digits;

namespace {

constexpr std::int64_t kWidth = 32;
constexpr std::size_t kShown = 8;

struct MaskedAutoencoder {
  PatchEncoder encoder;
  Value token;
  TransformerBlock decoder;
  Linear out;
  explicit MaskedAutoencoder(Model& model)
      : encoder(model / "encoder", kWidth),
        token((model / "token").parameter("weight", filled(model.session(), {kWidth}, 0))),
        decoder(model / "decoder", kWidth, kHeads),
        out(model / "out", kWidth, kPatchPixels) {}
  // All patches again, [B, 16, 4].
  Value operator()(const Value& x, const Value& shown) const {
    return out(decoder(in_place(encoder(x, shown), shown, token) + encoder.places, false));
  }
  Value loss(const Value& x, const Value& shown) const { return mean_of_hidden(square((*this)(x, shown) - patches_of(x)), shown); }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 2000;
  std::string data = "examples/digits/digits.csv.gz";
  options.own = {{"data", "the digits, as CSV", &data}};
  if (const auto status = options.read(argc, argv, "digits_mae", "A masked autoencoder on handwritten digits")) return *status;
  std::cout << options.banner("digits_mae") << "\n";
  const auto set = load(data, options.dtype);
  if (!set) return 4;
  Session session(options.session());
  Model model(session);
  const MaskedAutoencoder net(model);
  std::cout << model.parameter_count() << " parameters\n";
  Adam adam(session, model.parameters(), {.weight_decay = 0.01, .decoupled = true});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return net.loss(v[0], v[1]); },
                  {.compiled = options.compiled, .rate = one_cycle({.most = 0.01, .steps = std::max<std::uint64_t>(2, options.steps)})});
  Loader loader({set->train[0]}, {.batch = 64, .seed = options.seed, .transform = [](std::vector<Array> batch, const RandomKey& key) {
                                    return partly_shown(batch[0], key, kShown);
                                  }});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  session.clear();
  const std::vector<Array> held = partly_shown(set->held[0], session.next_key(), kShown);
  const Value images = session.input(held[0]), shown = session.input(held[1]), patches = patches_of(images), covered = hidden(shown);
  std::printf("held-out images: mean squared error of hidden pixels %.6f, of a variance of %.6f\n", net.loss(images, shown).item(),
              mean(square(images - mean(images, {0}, true))).item());
  // What the encoder sees, what is made of it, and the image.
  const Value seen = (1 - covered) * patches, again = seen + covered * net(images, shown);
  draw_firsts({pixels_of(seen), pixels_of(again), pixels_of(patches)});
  return status;
}
