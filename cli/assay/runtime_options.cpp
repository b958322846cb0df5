// Options of the verbs that run models and ops in the runtime.
#include <CLI/CLI.hpp>

#include "cli/assay/common_options.h"
#include "gpu/devices.h"

namespace assay::cli {

void add_device(CLI::App* verb, std::string& device) {
  verb->add_option(
          "--device", device,
          "where ops run: here, on the emulation of a CUDA device, or on the first CUDA device; there the factors of products may be\n"
          "rounded first, as in cuda:tf32")
      ->type_name("cpu|emulated|cuda[:tf32|:bfloat16|:float16]")
      ->check([](const std::string& word) { return gpu::is_device_name(word) ? std::string() : "no such device: " + word; })
      ->capture_default_str();
}

void add_run(CLI::App* verb, RecordOptions& options) {
  add_memory_of_model(verb, options.limits);
  verb->add_option("--values", options.values, "JSON as for eval, numbers only; without the option normal random numbers")
      ->type_name("FILE");
  verb->add_option("--backend", options.backend, "op by op, or as a program with fused steps")
      ->check(CLI::IsMember({"eager", "compiled"}))
      ->capture_default_str();
  add_device(verb, options.device);
}

void add_draws(CLI::App* verb, RecordOptions& options) {
  verb->add_option("--range", options.range, "random inputs are uniform between these numbers")->type_name("LO HI")->expected(2);
  verb->add_option("--draws", options.draws, "draw random inputs up to this often, at other scales, until no cotangent is 0 everywhere")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  verb->add_option("--output", options.output, "the output that is differentiated")->type_name("NAME");
}

}  // namespace assay::cli
