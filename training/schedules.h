// Learning rates as functions of the number of steps before, from 0 on. A schedule has no state: what a run saves is its step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "semantics/outcome.h"

namespace assay::training {

using Schedule = std::function<double(std::uint64_t step)>;

[[nodiscard]] Schedule constant_rate(double rate);
[[nodiscard]] Schedule step_decay(double rate, double factor, std::uint64_t every);                    // rate factor^floor(step / every)
[[nodiscard]] Schedule step_decay(double rate, double factor, std::vector<std::uint64_t> milestones);  // once for each that is reached
[[nodiscard]] Schedule exponential_decay(double rate, double factor);                                  // rate factor^step
[[nodiscard]] Schedule linear_decay(double rate, double least, std::uint64_t steps);                   // a line, then `least`
[[nodiscard]] Schedule polynomial_decay(double rate, double power, std::uint64_t steps);  // rate (1 - step / steps)^power, then 0
[[nodiscard]] Schedule cosine_decay(double rate, double least, std::uint64_t steps);      // half a cosine, then `least`
// Half a cosine again and again, each `factor` times as long as the one before. Source: Loshchilov and Hutter 2017.
[[nodiscard]] Schedule cosine_restarts(double rate, double least, std::uint64_t steps, std::uint64_t factor = 1);
[[nodiscard]] Schedule with_warmup(Schedule rate, std::uint64_t steps);  // times (step + 1) / steps at first

// Up a line from `least` to `most` within `up` steps and down within `down`, again and again. Its height is halved with each cycle
// (triangular2), or multiplied by factor^step (exp_range), or stays. Source: Smith 2017.
struct Cyclic {
  double least = 0.001, most = 0.01;
  std::uint64_t up = 2000, down = 2000;
  enum class Height : std::uint8_t { constant, halved, exponential } height = Height::constant;
  double factor = 1;
};
[[nodiscard]] Schedule cyclic(const Cyclic& how);

// From most / start_divisor up to `most` in the first part of `steps` steps, then down to most / start_divisor / end_divisor, by half
// cosines or lines; three phases: down as fast as up to the start, then on to the end. As torch's OneCycleLR. Source: Smith and Topin 2018.
struct OneCycle {
  double most = 0.01;
  std::uint64_t steps = 1000;
  double up = 0.3;  // share of the steps
  double start_divisor = 25, end_divisor = 1e4;
  bool lines = false, three_phases = false;
};
[[nodiscard]] Schedule one_cycle(const OneCycle& how);

// The range test (Smith 2017): steps at rates from `least` to `most`, equal factors apart, until the loss is not finite or four times the
// best. The rates where the smoothed loss was smallest, and where it fell most steeply: the usual choice. The steps are made: try them
// on parameters that can be restored (Trainer::find_rate does).
struct RateRange {
  double least = 1e-6, most = 1;
  std::uint64_t steps = 100;
  double smoothing = 0.9;  // of the loss, as an exponential mean without its start
};
struct RateTrials {
  std::vector<double> rates, losses, smoothed;
  double best = 0, steepest = 0;  // rates
};
[[nodiscard]] Outcome<RateTrials> find_rate(const std::function<Outcome<double>(double rate)>& loss_of_step, const RateRange& range);

}  // namespace assay::training
