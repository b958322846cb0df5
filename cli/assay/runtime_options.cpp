// Options of the verbs that run models and ops in the runtime.
#include <CLI/CLI.hpp>

#include "cli/assay/common_options.h"
#include "gpu/devices.h"

namespace assay::cli {

void add_device(CLI::App* verb, std::string& device) {
  verb->add_option("--device", device,
                   "where ops run: on the CPU, on an emulated CUDA device, or on the first CUDA device. With a suffix, as in\n"
                   "cuda:tf32, the factors of products are rounded to that format first")
      ->type_name("cpu|emulated|cuda[:tf32|:bfloat16|:float16]")
      ->check([](const std::string& word) { return gpu::is_device_name(word) ? std::string() : "no such device: " + word; })
      ->capture_default_str();
}

void add_run(CLI::App* verb, RecordOptions& options) {
  add_edits(verb, options.limits);
  add_memory_of_model(verb, options.limits);
  verb->add_option("--values", options.values,
                   "inputs as JSON, as for `assay eval` but without intervals; default: normally distributed random numbers")
      ->type_name("FILE");
  verb->add_option("--backend", options.backend, "run op by op (eager), or as a program with fused steps (compiled)")
      ->check(CLI::IsMember({"eager", "compiled"}))
      ->capture_default_str();
  add_device(verb, options.device);
}

void add_draws(CLI::App* verb, RecordOptions& options) {
  verb->add_option("--range", options.range, "draw random inputs uniformly between these numbers")->type_name("LO HI")->expected(2);
  verb->add_option("--draws", options.draws,
                   "largest number of times that random inputs are drawn: they are drawn again, at another scale, as long as some\n"
                   "cotangent is 0 everywhere")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  verb->add_option("--output", options.output, "the output to differentiate; default: the first float output")->type_name("NAME");
}

}  // namespace assay::cli
