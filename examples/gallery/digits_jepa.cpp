// Trains a joint-embedding predictive architecture on the digits: from 8 of the 16 patches of an image it predicts what
// another encoder, which follows the first one slowly and sees all, makes of the other eight. Labels only judge the
// codes. Source: Assran et al. 2023 (I-JEPA).
#include <cmath>
#include <ranges>

#include "patches.h"
#include "training/initialise.h"
#include "training/options.h"

using namespace digits;

namespace {

constexpr std::int64_t kWidth = 32;
constexpr std::size_t kShown = 8;
constexpr double kStays = 0.996;  // of the target encoder, in a step

struct Jepa {
  PatchEncoder context, target;
  Value token;
  TransformerBlock predictor;
  Linear out;
  explicit Jepa(Model& model)
      : context(model / "context", kWidth),
        target(model / "target", kWidth),
        token((model / "token").parameter("weight", filled(model.session(), {kWidth}, 0))),
        predictor(model / "predictor", kWidth, kHeads),
        out(model / "out", kWidth, kWidth) {
    model.freeze("target.");  // no gradient passes
    follow(model, 0);
    (void)model.assign(model.take_updates());
  }
  // With every step: target = stays target + (1 - stays) context, by the parameters that the step began with.
  static void follow(Model& model, double stays) {
    const std::string from = "context.", to = "target.";
    for (const Model::Entry& entry : model.entries()) {
      if (!entry.name.starts_with(from)) continue;
      const Value& target = model.find(to + entry.name.substr(from.size()))->value;
      model.update(target, stays * target + (1 - stays) * entry.value);
    }
  }
  // How far predictions are from the target's codes of hidden patches. Each number of these is brought to mean 0 and variance 1 over the
  // batch, so that nothing is gained by codes that are the same for all images.
  Value loss(const Value& x, const Value& shown) const {
    const Value predicted = out(predictor(in_place(context(x, shown), shown, token) + context.places, false));
    const Value wanted = runtime::apply(Op::normalise, target(x), NormaliseAttributes{{0}, 1e-5, NormaliseAttributes::Form::centered});
    return mean_of_hidden(square(predicted - wanted), shown);
  }
};

// Held-out images whose nearest other image, by the mean codes of their patches, shows the same digit.
std::size_t count_alike(Session& session, const PatchEncoder& encoder, const Digits& set) {
  session.clear();
  const NoGrad scope(session);
  const auto codes = [&](const Dataset& data) { return mean(encoder(session.input(data[0])), {1}).to_doubles(); };
  const std::vector<double> known = codes(set.train), held = codes(set.held);
  const auto digits = set.train[1].data<std::int64_t>(), wanted = set.held[1].data<std::int64_t>();
  const auto distance = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t k = 0; k < kWidth; ++k) sum += std::pow(held[kWidth * i + k] - known[kWidth * j + k], 2);
    return sum;
  };
  std::size_t right = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto all = std::views::iota(std::size_t{0}, digits.size());
    right += digits[*std::ranges::min_element(all, {}, [&](std::size_t j) { return distance(i, j); })] == wanted[i] ? 1 : 0;
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 1500;
  std::string data = "examples/digits/digits.csv.gz";
  options.own = {{"data", "the digits, as CSV", &data}};
  if (const auto status = options.read(argc, argv, "digits_jepa", "A joint-embedding predictive architecture on handwritten digits"))
    return *status;
  std::cout << options.banner("digits_jepa") << "\n";
  const auto set = load(data, options.dtype);
  if (!set) return 4;
  Session session(options.session());
  Model model(session);
  const Jepa net(model);
  std::cout << model.parameter_count() << " parameters\n";
  const std::size_t before = count_alike(session, net.target, *set);
  Adam adam(session, model.parameters(), {.weight_decay = 0.01, .decoupled = true});
  Trainer trainer(model, adam,
                  [&](std::span<const Value> v) {
                    Jepa::follow(model, kStays);
                    return net.loss(v[0], v[1]);
                  },
                  {.compiled = options.compiled, .rate = one_cycle({.most = 0.005, .steps = std::max<std::uint64_t>(2, options.steps)})});
  Loader loader({set->train[0]}, {.batch = 64, .seed = options.seed, .transform = [](std::vector<Array> batch, const RandomKey& key) {
                                    return partly_shown(batch[0], key, kShown);
                                  }});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  std::cout << "held-out images whose nearest neighbour by codes shows the same digit: " << count_alike(session, net.target, *set) << " of "
            << set->held[1].size() << ", before training " << before << "\n";
  return status;
}
