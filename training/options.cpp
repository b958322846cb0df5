#include "training/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
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

// The arithmetic of a step, in the banner's words.
const char* words_of(const std::string& numbers) {
  if (numbers == "bfloat16") return "float32, each result rounded to bfloat16";
  if (numbers == "exact") return "exact numbers, by the reference semantics of the captured step";
  if (numbers == "interval") return "intervals, by the reference semantics of the captured step";
  if (numbers == "complex64") return "complex64 as pairs of float32";
  return numbers.c_str();
}

// CLI11 takes -1 as an unsigned number, modulo 2^64, and any word as the value of a flag.
void refuse_wrong_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) option->disable_flag_override();
    if (!option->get_type_name().starts_with("UINT")) continue;
    option->check([](const std::string& text) {
      std::uint64_t value = 0;
      const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
      return fault == std::errc() && end == text.data() + text.size() ? std::string() : text + " is no whole number from 0 to 2^64 - 1";
    });
  }
}

int say(const Rejection& why) {
  std::cerr << why.to_text() << "\n";
  return 4;
}

}  // namespace

std::optional<int> RunOptions::read(int argc, char** argv, const std::string& name, const std::string& help) {
  CLI::App app(help, name);
  std::string backend = "eager";
  app.add_option("--dtype", numbers, "numbers: float32, float64, bfloat16 (simulated), exact, interval, complex64")
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
  refuse_wrong_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (numbers.empty()) numbers = is_complex ? "complex64" : "float32";
  if (const auto why = refusal(backend == "compiled"); !why.first.empty()) {
    std::cerr << name << ": " << why.first << ": " << why.second << "\n";
    return 2;
  }
  compiled = backend == "compiled";
  dtype = numbers == "float64" || is_reference() ? DType::float64 : DType::float32;
  auto found = gpu::device_named(device);
  if (!found) return say(found.rejection());
  device_ = std::move(found).value();
  return std::nullopt;
}

bool RunOptions::is_reference() const { return numbers == "exact" || numbers == "interval"; }

// The option that is not taken, and why; empty: everything is.
std::pair<std::string, std::string> RunOptions::refusal(bool wants_compiled) const {
  const std::string said = "--dtype " + numbers;
  if (numbers == "complex64" && !is_complex)
    return {said, "this program's values are real; complex ones are pairs of these (training/complex.h)"};
  if (numbers == "float32" && is_complex) return {said, "this program's values are complex: pairs of float32 are complex64"};
  if ((numbers == "float64" || is_reference()) && !takes_float64) return {said, "this program is written for float32"};
  if (wants_compiled && !takes_compiled)
    return {"--backend compiled", "this program looks at values between its ops, which a captured step cannot"};
  if (wants_compiled && numbers == "bfloat16")
    return {"--backend compiled " + said, "a fused pass keeps float32 between its ops, of which each is to be rounded"};
  if (wants_compiled && is_reference())
    return {"--backend compiled " + said, "the reference semantics evaluates a captured step op by op; there is nothing to replay"};
  if (device != "cpu" && numbers != "float32" && numbers != "complex64")
    return {"--device " + device + " " + said, "devices compute float32"};
  if (device.starts_with("cuda") && deterministic)
    return {"--deterministic --device " + device, "nothing here shows that its library of products adds in one order"};
  if (is_reference() && !record.empty()) return {"--record " + said, "a trace holds the floats of a run"};
  if (is_reference() && !checkpoint.empty())
    return {"--checkpoint " + said, "a checkpoint holds floats, from which such a run does not go on"};
  if (resume && checkpoint.empty()) return {"--resume", "give --checkpoint FILE"};
  return {};
}

runtime::SessionOptions RunOptions::session() const {
  using runtime::Backend, runtime::Reference;
  return {.backend = compiled ? Backend::compiled : Backend::eager,
          .dtype = dtype,
          .seed = seed,
          .device = device_,
          .bfloat16 = numbers == "bfloat16",
          .reference = numbers == "exact"      ? Reference::exact
                       : numbers == "interval" ? Reference::interval
                                               : Reference::none};
}

std::string RunOptions::banner(const std::string& name) const {
  std::ostringstream text;
  text << name << ": " << steps << " steps, " << (is_complex && numbers != "complex64" ? "pairs of " : "") << words_of(numbers) << ", "
       << (compiled ? "compiled" : "eager") << ", on "
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
    if (step % line == 0 || is_last) {
      const std::string note = trainer.note();
      std::printf("step %5llu  loss %.6f%s%s\n", static_cast<unsigned long long>(step), last, note.empty() ? "" : "  ", note.c_str());
    }
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
