#include "training/options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <utility>

#include "formats/trace.h"
#include "gpu/devices.h"
#include "runtime/threads.h"
#include "training/atomic_file.h"
#include "training/checkpoint.h"

namespace assay::training {

namespace {

// Why training does not take these elements; empty: it does.
std::string refusal(const std::string& dtype) {
  if (dtype == "complex64")
    return "gradients of complex elements are not defined here; write a complex product as real ones (SpectralConv does)";
  if (dtype == "exact" || dtype == "interval")
    return "a step rounds, and its exact numbers would double their length; `assay eval` encloses a trained model";
  if (dtype == "bfloat16")
    return "the runtime computes float32 and float64; bfloat16 is a way of storing that audits know (docs/decisions/0044)";
  return {};
}

int say(const Rejection& why) {
  std::cerr << why.to_text() << "\n";
  return 4;
}

}  // namespace

std::optional<int> RunOptions::read(int argc, char** argv, const std::string& name, const std::string& help) {
  CLI::App app(help, name);
  std::string element = "float32", backend = "eager";
  app.add_option("--dtype", element, "elements: float32 or float64")
      ->check(CLI::IsMember({"float32", "float64", "complex64", "exact", "interval", "bfloat16"}));
  app.add_option("--backend", backend, "eager, or compiled: captured once and replayed")->check(CLI::IsMember({"eager", "compiled"}));
  app.add_option("--device", device, "cpu, emulated or cuda");
  app.add_option("--seed", seed, "of parameters, data and random numbers");
  app.add_flag("--deterministic", deterministic, "the same bits on every run: always so here, and demanded by this");
  app.add_option("--log", log, "CSV file of step, loss and rate");
  app.add_option("--steps", steps, "of training")->capture_default_str();
  app.add_option("--below", below, "status 1 unless the last loss is below this");
  app.add_option("--record", record, "trace of the last step, for assay audit");
  app.add_option("--checkpoint", checkpoint, "file that is written every --every steps and at the end");
  app.add_option("--every", every, "steps between checkpoints")->check(CLI::PositiveNumber);
  app.add_flag("--resume", resume, "go on from the checkpoint");
  for (const Own& one : own) app.add_option("--" + one.name, *one.value, one.help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto mistake = [&](const std::string& what, const std::string& why) {
    std::cerr << name << ": " << what << ": " << why << "\n";
    return 2;
  };
  if (const std::string why = refusal(element); !why.empty()) return mistake("--dtype " + element, why);
  dtype = element == "float64" ? DType::float64 : DType::float32;
  compiled = backend == "compiled";
  if (dtype == DType::float64 && !takes_float64) return mistake("--dtype float64", "this program is written for float32");
  if (compiled && !takes_compiled)
    return mistake("--backend compiled", "this program looks at values between its ops, which a captured step cannot");
  if (device != "cpu" && dtype == DType::float64) return mistake("--device " + device, "devices compute float32");
  if (device != "cpu" && !takes_devices) return mistake("--device " + device, "this program uses an op that devices do not have");
  if (device.starts_with("cuda") && deterministic) {
    return mistake("--deterministic --device " + device, "nothing here shows that its library of products adds in one order");
  }
  if (resume && checkpoint.empty()) return mistake("--resume", "give --checkpoint FILE");
  auto found = gpu::device_named(device);
  if (!found) return say(found.rejection());
  device_ = std::move(found).value();
  return std::nullopt;
}

runtime::SessionOptions RunOptions::session() const { return {.dtype = dtype, .seed = seed, .device = device_}; }

std::string RunOptions::banner(const std::string& name) const {
  std::ostringstream text;
  text << name << ": " << steps << " steps, " << to_string(dtype) << ", " << (compiled ? "compiled" : "eager") << ", on "
       << (device_ ? device_->name() : "the CPU, " + std::to_string(runtime::thread_count()) + " threads") << ", seed " << seed
       << (device.starts_with("cuda") ? "" : "; the same bits on every run");
  return text.str();
}

int run_training(const RunOptions& options, Trainer& trainer, const std::function<std::vector<Array>()>& next, Loader* loader) {
  const Checkpointed all{.trainer = &trainer, .loader = loader};
  if (options.resume) {
    if (const auto loaded = load_checkpoint(options.checkpoint, all); !loaded) return say(loaded.rejection());
    std::cout << "resumed at step " << trainer.steps() << "\n";
  }
  std::ofstream log;
  if (!options.log.empty()) log.open(options.log, trainer.steps() > 0 ? std::ios::app : std::ios::trunc);
  if (log.is_open() && trainer.steps() == 0) log << "step,loss,rate\n";
  double last = std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t line = std::max<std::uint64_t>(1, options.steps / 10);
  while (trainer.steps() < options.steps) {
    const std::uint64_t step = trainer.steps();
    const bool is_last = step + 1 == options.steps;
    Trace trace;
    const auto loss = trainer.step(next(), is_last && !options.record.empty() ? &trace : nullptr);
    if (!loss) return say(loss.rejection());
    last = loss.value();
    if (step % line == 0 || is_last) std::printf("step %5llu  loss %.6f\n", static_cast<unsigned long long>(step), last);
    if (log.is_open()) log << step << ',' << last << ',' << trainer.optimiser().rate() << '\n';
    if (!options.checkpoint.empty() && (is_last || trainer.steps() % options.every == 0)) {
      if (auto saved = save_checkpoint(options.checkpoint, all); !saved) return say(saved.rejection());
    }
    if (is_last && !options.record.empty()) {
      std::vector<std::byte> file;
      formats::write_trace(trace, [&](std::span<const std::byte> part) { file.insert(file.end(), part.begin(), part.end()); });
      const std::span<const std::byte> whole(file);
      if (auto written = write_atomically(options.record, std::span(&whole, 1)); !written) return say(written.rejection());
      std::cout << "last step recorded: assay audit " << options.record << "\n";
    }
  }
  if (std::isnan(last) && options.steps > 0) return 1;
  return last < options.below || options.below == std::numeric_limits<double>::infinity() ? 0 : 1;
}

}  // namespace assay::training
