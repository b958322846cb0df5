// What an audit costs against the training step it audits: bench_audit [rounds]. One thread each; medians of rounds taken in turns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>

#include "kernel/audit/audit.h"
#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"

using namespace assay;
using namespace assay::runtime;

namespace {

double seconds_of(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();  // of the processor: everything here runs on one thread
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Model {
  const char* name;
  std::function<std::vector<Value>(Session&)> parameters;
  std::function<Value(Session&, const std::vector<Value>&, const Value& x, const Value& target)> loss;
  Shape x, target;
};

std::vector<Model> models() {
  const auto mlp = [](Session& s) {
    std::vector<Value> p;
    std::int64_t width = 784;
    for (const std::int64_t next : {512, 512, 10}) {
      p.push_back(s.parameter("w", Array(s.normal({next, width}))));
      p.push_back(s.parameter("b", Array(s.normal({next}))));
      width = next;
    }
    return p;
  };
  const auto block = [](Session& s) {
    return std::vector<Value>{s.parameter("k1", s.normal({64, 64, 3, 3})), s.parameter("k2", s.normal({64, 64, 3, 3}))};
  };
  return {{"MLP 784-512-512-10, batch 128",
           mlp,
           [](Session&, const std::vector<Value>& p, const Value& x, const Value& target) {
             const Value h = relu(linear(relu(linear(x, p[0], p[1])), p[2], p[3]));
             return mean(square(linear(h, p[4], p[5]) - target));
           },
           {128, 784},
           {128, 10}},
          {"residual block of two 3x3x64 convolutions, 16x64x32x32",
           block,
           [](Session&, const std::vector<Value>& p, const Value& x, const Value& target) {
             const Value h = relu(conv2d(x, p[0], {.padding = 1}));
             return mean(square(relu(x + conv2d(h, p[1], {.padding = 1})) - target));
           },
           {16, 64, 32, 32},
           {16, 64, 32, 32}}};
}

constexpr std::size_t kSample = 128;

void measure(const Model& model, bool compiled, int rounds) {
  Session session({Backend::eager, DType::float32, 1, 1});
  const std::vector<Value> parameters = model.parameters(session);
  const Array x = session.normal(model.x), target = session.normal(model.target);
  CompiledFunction program(
      session,
      [&](std::span<const Value> v) -> Outcome<std::vector<Value>> {
        const Value loss = model.loss(session, parameters, v[0], v[1]);
        auto results = session.gradients(loss, parameters);
        if (results) results.value().push_back(loss);
        return results;
      },
      parameters);
  const auto run = [&] {
    const std::vector<Value> arguments{session.input(x, "x"), session.input(target, "target")};
    const auto results = program(arguments);
    if (!results) std::abort();
    return results.value();
  };
  const auto step = [&] {
    if (compiled) {
      run();
    } else {
      const Value loss = model.loss(session, parameters, session.input(x, "x"), session.input(target, "target"));
      if (!session.gradients(loss, parameters, {.differentiable = false})) std::abort();
    }
    session.clear();
  };
  Trace trace;
  const auto record = [&] {
    Recorder recorder(session);
    if (compiled) {
      for (const Value& value : run()) recorder.output(value);
    } else {
      const Value loss = model.loss(session, parameters, session.input(x, "x"), session.input(target, "target"));
      if (!recorder.gradients(loss, parameters)) std::abort();
    }
    trace = recorder.take();
    session.clear();
  };
  std::size_t failed = 0, open = 0, elements = 0, unsampled = 0;
  std::map<std::string, double> by_op, all_by_op;
  const auto audit = [&](const audit::Sampling& sampling) {
    failed = open = elements = unsampled = 0;
    if (!audit::check_continuity(trace)) std::abort();
    for (std::size_t r = 0; r < trace.regions.size(); ++r) {
      by_op[trace.regions[r].name] += seconds_of([&] {
        const auto counts = audit::audit_region(trace, r, sampling).value().total();
        unsampled += counts.unsampled;
        failed += counts.failed;
        open += counts.vacuous + counts.unsupported;
        elements += counts.passed + counts.failed + counts.vacuous + counts.unsupported;
      });
    }
  };
  step();
  std::vector<double> steps, records, sampled, audits;
  for (int round = 0; round < rounds; ++round) {
    steps.push_back(seconds_of(step));
    records.push_back(seconds_of(record));
    sampled.push_back(seconds_of([&] { audit({kSample, 1}); }));
    if (round == 0) std::printf("of %zu elements %zu are left out of the sampled audit\n", elements + unsampled, unsampled);
    by_op.clear();
    audits.push_back(seconds_of([&] { audit({}); }));
    for (const auto& [op, seconds] : by_op) all_by_op[op] += seconds;
  }
  std::printf(
      "%s%s: step %.1f ms, recorded %.1f ms, audit %.1f ms, audit / step %.1f; %zu elements, %zu failed, %zu vacuous or unsupported\n",
      model.name, compiled ? ", compiled" : "", 1e3 * median(steps), 1e3 * median(records), 1e3 * median(audits),
      median(audits) / median(steps), elements, failed, open);
  std::printf("  sampled, %zu elements of each long sum: %.1f ms, audit / step %.1f\n", kSample, 1e3 * median(sampled),
              median(sampled) / median(steps));
  for (const auto& [op, seconds] : all_by_op) std::printf("  %-16s %8.1f ms\n", op.c_str(), 1e3 * seconds / rounds);
}

}  // namespace

int main(int argc, char** argv) {
  for (const Model& model : models()) {
    for (const bool compiled : {false, true}) measure(model, compiled, argc > 1 ? std::atoi(argv[1]) : 5);
  }
}
