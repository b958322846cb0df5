// Trains an autoencoder on the digits whose codes are places in a book: eight codes of 32 for 64 pixels.
// Source: van den Oord, Vinyals and Kavukcuoglu 2017, "Neural discrete representation learning".
#include <cstdio>
#include <set>

#include "../training/digits.h"
#include "training/layers/basic.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace digits;

namespace {

constexpr std::int64_t kCodes = 8, kBook = 32, kWidth = 8;
constexpr double kCommitment = 0.25;

struct VqVae {
  Linear in, codes;
  Embedding book;
  Linear back, out;
  explicit VqVae(Model& model)
      : in(model / "in", 64, 128),
        codes(model / "codes", 128, kCodes * kWidth),
        book(model / "book", kBook, kWidth),
        back(model / "back", kCodes * kWidth, 128),
        out(model / "out", 128, 64) {}
  Value encode(const Value& pixels) const { return reshape(codes(relu(in(pixels))), {pixels.shape()[0], kCodes, kWidth}); }
  Value decode(const Value& entries) const { return sigmoid(out(relu(back(flatten(entries))))); }
  // The places of the nearest entries, [B, 8]: |code - entry|^2, less what is the same for all entries.
  Value nearest(const Value& code) const {
    const Value distance = sum(square(book.weight()), {1}) - 2 * matmul(code, permute(book.weight(), {1, 0}));
    return runtime::apply(Op::arg_min, distance, ArgAttributes{.axis = 2, .keep_dims = false});
  }
  // The decoder sees entries, and its gradient goes straight through to the codes. Entries move to the codes that chose
  // them, and codes, less, to their entries.
  Value loss(const Value& x) const {
    Session& session = x.session();
    const Value pixels = flatten(x), code = encode(pixels), entry = book(nearest(code));
    const Value through = code + session.detach(entry - code);
    return mean_squared_error(decode(through), pixels) + mean_squared_error(entry, session.detach(code)) +
           kCommitment * mean_squared_error(code, session.detach(entry));
  }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 2000;
  std::string data = "examples/digits/digits.csv.gz";
  options.own = {{"data", "the digits, as CSV", &data}};
  if (const auto status = options.read(argc, argv, "digits_vqvae", "An autoencoder of handwritten digits with codes from a book"))
    return *status;
  std::cout << options.banner("digits_vqvae") << "\n";
  const auto set = load(data, options.dtype);
  if (!set) return 4;
  Session session(options.session());
  Model model(session);
  const VqVae net(model);
  // Entries start as the codes of four images: entries that are far from all codes would never be chosen.
  const Value some = session.input(chosen(set->train, std::vector<std::int64_t>{0, 1, 2, 3})[0]);
  (void)session.assign(net.book.weight(), net.encode(flatten(some)).array().reshaped({kBook, kWidth}));
  Adam adam(session, model.parameters(), {});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return net.loss(v[0]); },
                  {.compiled = options.compiled, .rate = cosine_decay(5e-3, 1e-5, std::max<std::uint64_t>(1, options.steps))});
  Loader loader({set->train[0]}, {.batch = 64, .seed = options.seed});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  session.clear();
  const Value pixels = flatten(session.input(set->held[0])), places = net.nearest(net.encode(pixels)), again = net.decode(net.book(places));
  std::printf("held-out images: mean squared error %.6f, of a variance of %.6f\n", mean_squared_error(again, pixels).item(),
              mean(square(pixels - mean(pixels, {0}, true))).item());
  const std::vector<double> all = places.to_doubles(), before = pixels.to_doubles(), after = again.to_doubles();
  std::cout << "entries of the book in use: " << std::set(all.begin(), all.end()).size() << " of " << kBook << "; the first two images are";
  for (std::size_t k = 0; k < 2 * kCodes; ++k) std::cout << (k == kCodes ? " |" : "") << " " << all[k];
  std::cout << "\n";
  draw({std::span(before).first(64), std::span(after).first(64), std::span(before).subspan(64, 64), std::span(after).subspan(64, 64)});
  return status;
}
