// Training a network to continue a text, character by character: it takes characters [B, T] and gives scores [B, T, count].
#pragma once

#include <algorithm>
#include <iostream>
#include <string>

#include "runtime/functions.h"
#include "training/data/sources.h"
#include "training/layers/shapes.h"
#include "training/options.h"

namespace text {

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

constexpr std::int64_t kPlaces = 32;

// The most likely next character, again and again.
template <class Net>
std::string continued(Model& model, const Net& net, const Characters& characters, std::string written, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    model.session().clear();
    const std::vector<std::int64_t> window = characters.encode(std::string_view(written).substr(written.size() - kPlaces));
    const std::vector<double> scores =
        select(net(model.session().input(Tensor::of_ints({1, kPlaces}, window))), 1, kPlaces - 1).to_doubles();
    const std::int64_t best = std::ranges::max_element(scores) - scores.begin();
    written += characters.decode(std::span(&best, 1));
  }
  return written;
}

// The whole program `name`: Net(model, count of characters).
template <class Net>
int trained(int argc, char** argv, const std::string& name, const std::string& help, RunOptions options) {
  std::string path = "examples/gallery/text.txt";
  options.own = {{"text", "what it learns", &path}};
  if (const auto status = options.read(argc, argv, name, help)) return *status;
  std::cout << options.banner(name) << "\n";
  const auto file = read_text(path);
  if (!file) {
    std::cerr << file.rejection().to_text() << "\n";
    return 4;
  }
  const std::string& learned = file.value();
  const Characters characters(learned);
  const auto count = static_cast<std::int64_t>(characters.count());
  Session session(options.session());
  Model model(session);
  const Net net(model, count);
  std::cout << count << " characters, " << model.parameter_count() << " parameters\n";
  Adam adam(session, model.parameters(), {.weight_decay = 0.01, .decoupled = true});
  const Schedule rate = with_warmup(cosine_decay(3e-3, 1e-4, std::max<std::uint64_t>(1, options.steps)), 20);
  const auto loss = [&](std::span<const Value> v) {
    const std::int64_t rows = v[0].shape()[0] * kPlaces;
    return cross_entropy(reshape(net(v[0]), {rows, count}), reshape(v[1], {rows}));
  };
  Trainer trainer(model, adam, loss, {.compiled = options.compiled, .rate = rate, .most_norm = 1});
  Loader loader(windows_of(characters.encode(learned), kPlaces), {.batch = 16, .seed = options.seed});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  std::cout << continued(model, net, characters, learned.substr(0, kPlaces), 120) << "\n";
  return status;
}

}  // namespace text
