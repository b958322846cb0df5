// Trains a U-Net to take noise out of the digits: down to 2 by 2 and up again, with what was seen on the way down beside what comes up.
// Source: Ronneberger, Fischer and Brox 2015.
#include <cstdio>

#include "../training/digits.h"
#include "training/layers/convolution.h"
#include "training/layers/normalise.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace digits;

namespace {

constexpr double kNoise = 0.35;  // deviation

struct Level {
  Conv conv;
  GroupNorm norm;
  Level(const Scope& at, std::int64_t in, std::int64_t out)
      : conv(at / "conv", in, out, {3, 3}, {.padding = {1}}), norm(at / "norm", 4, out) {}
  Value operator()(const Value& x) const { return silu(norm(conv(x))); }
};

struct UNet {
  Level fine, middle, coarse;
  ConvTranspose up, last_up;
  Level back, last_back;
  Conv out;
  explicit UNet(Model& model)
      : fine(model / "fine", 1, 8),
        middle(model / "middle", 8, 16),
        coarse(model / "coarse", 16, 32),
        up(model / "up", 32, 16, {2, 2}, {.stride = {2}}),
        last_up(model / "last_up", 16, 8, {2, 2}, {.stride = {2}}),
        back(model / "back", 32, 16),
        last_back(model / "last_back", 16, 8),
        out(model / "out", 8, 1, {1, 1}) {}
  Value operator()(const Value& x) const {
    const Value a = fine(x), b = middle(training::max_pool(a, {2})), c = coarse(training::max_pool(b, {2}));
    const Value half = back(concat({b, up(c)}, 1));
    return out(last_back(concat({a, last_up(half)}, 1)));
  }
};

// {images with noise, images}
std::vector<Array> with_noise(const Array& images, const RandomKey& key) {
  const Array noise = runtime::normal(key, images.dtype(), images.shape());
  Array noisy = Array::empty(images.dtype(), images.shape());
  const auto add = [&]<class T>(std::span<T> result) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = images.data<T>()[i] + static_cast<T>(kNoise) * noise.data<T>()[i];
  };
  images.dtype() == DType::float32 ? add(noisy.data<float>()) : add(noisy.data<double>());
  return {noisy, images};
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 400;
  std::string data = "examples/digits/digits.csv.gz";
  options.own = {{"data", "the digits, as CSV", &data}};
  if (const auto status = options.read(argc, argv, "digits_unet", "A U-Net that takes noise out of handwritten digits")) return *status;
  std::cout << options.banner("digits_unet") << "\n";
  const auto set = load(data, options.dtype);
  if (!set) return 4;
  Session session(options.session());
  Model model(session);
  const UNet net(model);
  std::cout << model.parameter_count() << " parameters\n";
  Adam adam(session, model.parameters(), {});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return mean_squared_error(net(v[0]), v[1]); },
                  {.compiled = options.compiled, .rate = cosine_decay(5e-3, 1e-5, std::max<std::uint64_t>(1, options.steps))});
  Loader loader({set->train[0]}, {.batch = 64, .seed = options.seed, .transform = [](std::vector<Array> batch, const RandomKey& key) {
                                    return with_noise(batch[0], key);
                                  }});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  const std::vector<Array> held = with_noise(set->held[0], session.next_key());
  session.clear();
  const Value images = session.input(held[1]), restored = net(session.input(held[0]));
  std::printf("held-out images: mean squared error %.6f, with the noise %.6f\n", mean_squared_error(restored, images).item(),
              mean_squared_error(session.input(held[0]), images).item());
  draw_firsts({held[0].to_tensor().to_doubles(), restored.to_doubles(), held[1].to_tensor().to_doubles()});
  return status;
}
