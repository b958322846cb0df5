// Checkpoints: a resumed run continues with the same bits. A file that is no whole checkpoint of this run is refused, and changes
// nothing.
#include "training/checkpoint.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "runtime/functions.h"
#include "tests/catch.h"
#include "training/adaptive.h"
#include "training/atomic_file.h"
#include "training/galore.h"
#include "training/layers/basic.h"
#include "training/layers/normalise.h"

namespace assay::test {
namespace {

using namespace runtime;
using namespace training;

std::string temporary(const char* name) {
  return (std::filesystem::temp_directory_path() / ("assay_" + std::to_string(getpid()) + "_" + name)).string();
}

// A run with everything that has a state: dropout, running statistics, an optimiser, norms, shuffled batches.
struct Run {
  Session session;
  Model model{session};
  Linear first{model / "first", 3, 8}, second{model / "second", 8, 2};
  BatchNorm norm{model / "norm", 8};
  Dropout dropout{model / "dropout", 0.25};
  std::unique_ptr<Optimiser> optimiser;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Loader> loader;

  explicit Run(std::uint64_t seed = 1, bool compiled = false, std::string_view kind = "adam", std::uint64_t order = 5)
      : session({.seed = seed}) {
    optimiser = std::make_unique<Adam>(session, model.parameters(), AdamOptions{});
    if (kind == "adagrad") optimiser = std::make_unique<AdaGrad>(session, model.parameters(), AdaGradOptions{});
    if (kind == "galore") optimiser = std::make_unique<GaLore>(session, std::move(optimiser), GaLoreOptions{.rank = 2, .interval = 5});
    const auto loss = [this](std::span<const Value> v) { return cross_entropy(second(dropout(relu(norm(first(v[0]))))), v[1]); };
    trainer = std::make_unique<Trainer>(model, *optimiser, loss,
                                        TrainerOptions{.compiled = compiled, .rate = cosine_decay(0.01, 0, 30), .most_percentile = 50});
    std::vector<std::int64_t> labels;
    for (int k = 0; k < 22; ++k) labels.push_back(k % 2);
    loader = std::make_unique<Loader>(Dataset{normal(RandomKey(2), DType::float32, {22, 3}), Array::from(Tensor::of_ints({22}, labels))},
                                      LoaderOptions{.batch = 4, .seed = order});
  }
  Checkpointed all() { return {.trainer = trainer.get(), .loader = loader.get(), .notes = {{"who", "a test"}}}; }
  std::vector<double> steps(int count) {
    std::vector<double> losses;
    for (int k = 0; k < count; ++k) {
      const auto loss = trainer->step(loader->next());
      if (!loss) FAIL(loss.rejection().to_text());
      losses.push_back(loss.value());
    }
    return losses;
  }
  std::vector<double> state() {
    std::vector<double> found{static_cast<double>(session.keys_drawn()), static_cast<double>(optimiser->steps())};
    for (const Value& value : model.all()) {
      for (const double x : value.to_doubles()) found.push_back(x);
    }
    return found;
  }
};

void write(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("checkpoint: a resumed run goes on with the same bits", "[training]") {
  const std::string path = temporary("run.safetensors");
  for (const auto& [compiled, kind] :
       {std::pair(false, "adam"), std::pair(true, "adam"), std::pair(false, "galore"), std::pair(true, "galore")}) {
    for (const int before : {0, 1, 7}) {
      CAPTURE(compiled, kind, before);
      Run whole(1, compiled, kind);
      (void)whole.steps(before);
      REQUIRE(save_checkpoint(path, whole.all()).ok());
      const std::vector<double> losses = whole.steps(8);
      Run resumed(1, compiled, kind);
      (void)resumed.steps(3);
      const auto notes = load_checkpoint(path, resumed.all());
      if (!notes) FAIL(notes.rejection().to_text());
      CHECK(notes.value().at("who") == "a test");
      CHECK(resumed.steps(8) == losses);
      CHECK(resumed.state() == whole.state());
    }
  }
  std::filesystem::remove(path);
}

TEST_CASE("checkpoint: cut or bent it is never loaded", "[training]") {
  const std::string path = temporary("bent.safetensors");
  Run run;
  (void)run.steps(2);
  REQUIRE(save_checkpoint(path, run.all()).ok());
  const std::vector<std::byte> bytes = read_whole(path).value();
  const std::vector<double> before = run.state();
  for (std::size_t length = 0; length < bytes.size(); length += length < 64 ? 1 : 61) {
    write(path, std::span(bytes).first(length));
    CHECK(!load_checkpoint(path, run.all()).ok());
  }
  std::size_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t at = 8 + header; at < bytes.size(); at += 37) {  // among the tensors
    std::vector<std::byte> bent = bytes;
    bent[at] ^= std::byte{1};
    write(path, bent);
    const auto loaded = load_checkpoint(path, run.all());
    REQUIRE(!loaded.ok());
    CHECK(loaded.rejection().code == "checkpoint.crc");
  }
  CHECK(run.state() == before);
  write(path, bytes);
  CHECK(load_checkpoint(path, run.all()).ok());
  std::filesystem::remove(path);
  CHECK(load_checkpoint(path, run.all()).rejection().code == "training.read");
}

TEST_CASE("checkpoint: of another run it is refused, and changes nothing", "[training]") {
  const std::string path = temporary("other.safetensors");
  Run run;
  (void)run.steps(2);
  REQUIRE(save_checkpoint(path, run.all()).ok());
  const auto refused = [&](Run& other, const char* code) {
    (void)other.steps(1);
    const std::vector<double> before = other.state();
    const auto loaded = load_checkpoint(path, other.all());
    REQUIRE(!loaded.ok());
    CHECK(loaded.rejection().code == code);
    CHECK(other.state() == before);
  };
  Run seed(2), adagrad(1, false, "adagrad"), order(1, false, "adam", 6), wider;
  const Linear more(wider.model / "more", 2, 2);
  refused(seed, "checkpoint.seed");
  refused(adagrad, "optimise.state");
  refused(order, "checkpoint.seed");
  refused(wider, "checkpoint.tensor");
  REQUIRE(save_parameters(path, run.model).ok());
  Run same;
  refused(same, "checkpoint.format");
  REQUIRE(load_parameters(path, same.model).ok());
  CHECK(same.first.weight().to_doubles() == run.first.weight().to_doubles());
  CHECK(load_parameters(path, wider.model).rejection().code == "checkpoint.tensor");
  std::filesystem::remove(path);
}

TEST_CASE("checkpoint: what cannot be written is said", "[training]") {
  Run run;
  CHECK(save_checkpoint("/nowhere/at/all", run.all()).rejection().code == "training.write");
}

}  // namespace assay::test
