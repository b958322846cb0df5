#include "training/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "semantics/demand.h"

namespace assay::training {

namespace {

double half_cosine(double from, double to, double part) { return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2; }
double line(double from, double to, double part) { return from + (to - from) * part; }
double share(std::uint64_t step, std::uint64_t steps) { return static_cast<double>(step) / static_cast<double>(steps); }

}  // namespace

Schedule constant_rate(double rate) {
  return [=](std::uint64_t) { return rate; };
}

Schedule step_decay(double rate, double factor, std::uint64_t every) {
  demand(every > 0, "step_decay: a positive number of steps");
  return [=](std::uint64_t step) { return rate * std::pow(factor, static_cast<double>(step / every)); };
}

Schedule step_decay(double rate, double factor, std::vector<std::uint64_t> milestones) {
  return [=, milestones = std::move(milestones)](std::uint64_t step) {
    const auto reached = std::ranges::count_if(milestones, [&](std::uint64_t one) { return one <= step; });
    return rate * std::pow(factor, static_cast<double>(reached));
  };
}

Schedule exponential_decay(double rate, double factor) {
  return [=](std::uint64_t step) { return rate * std::pow(factor, static_cast<double>(step)); };
}

Schedule linear_decay(double rate, double least, std::uint64_t steps) {
  return [=](std::uint64_t step) { return step < steps ? line(rate, least, share(step, steps)) : least; };
}

Schedule polynomial_decay(double rate, double power, std::uint64_t steps) {
  return [=](std::uint64_t step) { return step < steps ? rate * std::pow(1 - share(step, steps), power) : 0; };
}

Schedule cosine_decay(double rate, double least, std::uint64_t steps) {
  return [=](std::uint64_t step) { return step < steps ? half_cosine(rate, least, share(step, steps)) : least; };
}

Schedule cosine_restarts(double rate, double least, std::uint64_t steps, std::uint64_t factor) {
  demand(steps > 0 && factor > 0, "cosine_restarts: a positive number of steps and a positive factor");
  return [=](std::uint64_t step) {
    std::uint64_t length = steps;
    if (factor == 1) step %= steps;
    while (step >= length) {
      step -= length;
      length *= factor;
    }
    return half_cosine(rate, least, share(step, length));
  };
}

Schedule with_warmup(Schedule rate, std::uint64_t steps) {
  return [rate = std::move(rate), steps](std::uint64_t step) { return rate(step) * (step < steps ? share(step + 1, steps) : 1); };
}

Schedule cyclic(const Cyclic& how) {
  demand(how.up > 0 && how.down > 0, "cyclic: steps up and steps down");
  return [how](std::uint64_t step) {
    const std::uint64_t cycle = step / (how.up + how.down), at = step % (how.up + how.down);
    const double part = at < how.up ? share(at, how.up) : 1 - share(at - how.up, how.down);
    double height = 1;
    if (how.height == Cyclic::Height::halved) height = std::pow(0.5, static_cast<double>(cycle));
    if (how.height == Cyclic::Height::exponential) height = std::pow(how.factor, static_cast<double>(step));
    return how.least + (how.most - how.least) * part * height;
  };
}

Schedule one_cycle(const OneCycle& how) {
  demand(how.steps > 1 && how.up > 0 && how.up < 1, "one_cycle: at least two steps, and a share of them between 0 and 1");
  return [how](std::uint64_t step) {
    const double start = how.most / how.start_divisor, least = start / how.end_divisor;
    const double last = static_cast<double>(how.steps - 1), top = how.up * static_cast<double>(how.steps) - 1;
    const double at = std::min(static_cast<double>(step), last);
    const auto between = [&](double from, double to, double begin, double end) {
      const double part = end > begin ? (at - begin) / (end - begin) : 1;
      return how.lines ? line(from, to, part) : half_cosine(from, to, part);
    };
    if (at <= top) return between(start, how.most, 0, top);
    if (!how.three_phases) return between(how.most, least, top, last);
    const double down = 2 * top;
    return at <= down ? between(how.most, start, top, down) : between(start, least, down, last);
  };
}

Outcome<RateTrials> find_rate(const std::function<Outcome<double>(double rate)>& loss_of_step, const RateRange& range) {
  constexpr double kDiverged = 4;  // times the best loss so far
  if (!(range.least > 0 && range.most > range.least) || range.steps < 3) {
    return Rejection{Rejection::Kind::malformed,
                     "training.rates",
                     "find_rate",
                     "0 < least < most, and at least 3 steps",
                     std::to_string(range.least) + ", " + std::to_string(range.most) + ", " + std::to_string(range.steps) + " steps",
                     "give another range"};
  }
  RateTrials found;
  double sum = 0, weight = 0, best = 0, steepest = 0;
  for (std::uint64_t step = 0; step < range.steps; ++step) {
    const double rate = range.least * std::pow(range.most / range.least, share(step, range.steps - 1));
    const auto loss = loss_of_step(rate);
    if (!loss) return loss.rejection();
    if (!std::isfinite(loss.value())) break;
    sum = range.smoothing * sum + (1 - range.smoothing) * loss.value();
    weight = range.smoothing * weight + (1 - range.smoothing);
    const double smoothed = sum / weight, fall = step == 0 ? 0 : found.smoothed.back() - smoothed;
    if (step > 0 && smoothed > kDiverged * best) break;
    found.rates.push_back(rate);
    found.losses.push_back(loss.value());
    found.smoothed.push_back(smoothed);
    if (step == 0 || smoothed < best) {
      best = smoothed;
      found.best = rate;
    }
    if (step == 0 || fall > steepest) {
      steepest = fall;
      found.steepest = rate;
    }
  }
  return found;
}

}  // namespace assay::training
