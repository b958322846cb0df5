#include "assay/testing.h"

#include "kernel/audit/audit.h"
#include "kernel/audit/gradients.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"

namespace assay::testing {

std::optional<std::string> outside_contract(Op op, const Attributes& attributes, const ExecutionModel& model,
                                            const std::vector<Tensor>& operands, const Tensor& received) {
  const auto sets = contracts::admissible(op, attributes, model, operands);
  if (!sets) return sets.rejection().to_text();
  const auto judged = contracts::judge(sets.value(), received);
  if (!judged) return judged.rejection().to_text();
  if (judged.value().first_failure) {
    return std::to_string(judged.value().failed) + " elements; " +
           contracts::describe(sets.value(), received, *judged.value().first_failure);
  }
  if (judged.value().vacuous > 0) return std::to_string(judged.value().vacuous) + " elements have sets too wide to say anything";
  return std::nullopt;
}

std::optional<std::string> wrong_gradient(const Function& f, const std::vector<Tensor>& inputs, std::uint64_t seed) {
  const DType dtype = inputs.empty() ? DType::float32 : inputs[0].dtype();
  runtime::Session session({runtime::Backend::eager, dtype, seed, 1});
  runtime::Recorder recorder(session);
  std::vector<runtime::Value> values, real;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(session.input(inputs[i], std::string("input").append(std::to_string(i))));
    if (is_float(inputs[i].dtype())) real.push_back(values.back());
  }
  const runtime::Value y = f(session, values);
  if (!y.ok()) return session.check() ? "the function gave no value" : session.check().rejection().to_text();
  const auto bars = recorder.gradients(y.array().size() == 1 ? y : runtime::sum(y), real);
  if (!bars) return bars.rejection().to_text();
  const Trace trace = recorder.take();
  if (const auto whole = kernel::check_continuity(trace); !whole) return whole.rejection().to_text();
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto audit = kernel::audit_region(trace, r);
    if (!audit) return audit.rejection().to_text();
    if (audit.value().first) return trace.regions[r].name + ": " + audit.value().first->text;
  }
  for (const kernel::GradientStep& step : kernel::check_gradient(trace, 0, seed)) {
    if (step.failure) return step.failure->to_text();
  }
  return std::nullopt;
}

}  // namespace assay::testing
