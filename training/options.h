// The options that every example has, and what a program says before it runs.
//
//   RunOptions options;
//   if (const auto status = options.read(argc, argv, "digits_cnn", "Trains ...")) return *status;
//   Session session(options.session());
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/session.h"
#include "training/data/loader.h"
#include "training/trainer.h"

namespace assay::training {

struct RunOptions {
  // Of the run: --dtype, --backend, --device, --seed, --deterministic, --log.
  std::string numbers;           // float32, float64, bfloat16, exact, interval, complex64; empty: the program's first choice
  DType dtype = DType::float32;  // of arrays in the session: float64 beside exact numbers and intervals
  bool compiled = false;
  std::string device = "cpu";
  std::uint64_t seed = 1;
  bool deterministic = false;
  std::string log;  // CSV: step, loss, rate
  // Of the program: --steps, --below, --record, --checkpoint, --resume.
  std::uint64_t steps = 0;
  double below = std::numeric_limits<double>::infinity();  // the last loss has to be, else status 1
  std::string record;                                      // the trace of the last step, for `assay audit` and `assay gradcheck`
  std::string checkpoint;                                  // written at the end, and every `every` steps
  std::uint64_t every = 100;
  bool resume = false;

  // The abilities of a program beyond float32 on the CPU. A run over exact numbers finds the ops that have exact values, and
  // names the first that has none.
  bool takes_float64 = true, takes_compiled = true;
  bool is_complex = false;  // written over pairs of real values (complex.h): --dtype says what these are
  // Options of the program's own: name without dashes, what it is, where it goes.
  struct Own {
    std::string name, help;
    std::string* value;
  };
  std::vector<Own> own;

  // Reads a command line; an exit status where the program ends at once: 0 after --help, 2 after a mistake, 4 where there is no such
  // device. Elements and combinations that no training can use are refused with the reason.
  [[nodiscard]] std::optional<int> read(int argc, char** argv, const std::string& name, const std::string& help);
  [[nodiscard]] runtime::SessionOptions session() const;
  // "digits_cnn: 200 steps, float32, compiled, on the CPU, 2 threads, seed 1; the same bits on every run"
  [[nodiscard]] std::string banner(const std::string& name) const;

 private:
  [[nodiscard]] bool is_reference() const;
  [[nodiscard]] std::pair<std::string, std::string> refusal(bool wants_compiled) const;
  std::shared_ptr<runtime::Device> device_;
};

// Runs `options.steps` steps on the batches that `next` gives: prints progress, writes log, checkpoints and the trace of the last step. The
// exit status: 0, 1 (the last loss is not below options.below), 4 (a failure, which was printed).
[[nodiscard]] int run_training(const RunOptions& options, Trainer& trainer, const std::function<std::vector<Array>()>& next,
                               Loader* loader = nullptr);

}  // namespace assay::training
