// A run that saves a checkpoint after every step, and resumes from the one that it finds: tests/training/resume_test.py kills it.
//
//   resumable CHECKPOINT STEPS [compiled]
#include <sys/stat.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "runtime/functions.h"
#include "training/checkpoint.h"
#include "training/layers/basic.h"
#include "training/layers/normalise.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string path = argv[1];
  const std::uint64_t steps = std::strtoull(argv[2], nullptr, 10);
  Session session({.seed = 3});
  Model model(session);
  const Linear first(model / "first", 16, 256), second(model / "second", 256, 4);
  const BatchNorm norm(model / "norm", 256);
  const Dropout dropout(model / "dropout", 0.25);
  Adam adam(session, model.parameters(), {});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return cross_entropy(second(dropout(relu(norm(first(v[0]))))), v[1]); },
                  {.compiled = argc > 3, .rate = cosine_decay(0.01, 0, steps), .most_norm = 1});
  std::vector<std::int64_t> labels;
  for (int k = 0; k < 100; ++k) labels.push_back(k % 4);
  Loader loader({normal(RandomKey(2), DType::float32, {100, 16}), Array::from(Tensor::of_ints({100}, labels))}, {.batch = 8, .seed = 5});
  const Checkpointed all{.trainer = &trainer, .loader = &loader};
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (const auto loaded = load_checkpoint(path, all); !loaded) {
      std::cerr << loaded.rejection().to_text() << "\n";
      return 1;
    }
    std::cout << "resumed at " << adam.steps() << std::endl;
  }
  while (adam.steps() < steps) {
    const auto loss = trainer.step(loader.next());
    const auto saved = loss ? save_checkpoint(path, all) : Outcome<Done>(loss.rejection());
    if (!saved) {
      std::cerr << saved.rejection().to_text() << "\n";
      return 1;
    }
  }
  std::cout << "done at " << adam.steps() << std::endl;
  return 0;
}
