// One op run by the runtime and judged by its contract.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "tests/audit/contracts/executions.h"

namespace assay::test {

// The op's result on these operands. The buffer is poisoned first: an element that is not written is NaN, or -1.
inline Outcome<Tensor> executed(Op op, const Attributes& attributes, const std::vector<Tensor>& operands) {
  Graph graph;
  std::vector<NodeId> ids;
  for (const Tensor& operand : operands) ids.push_back(graph.append_input(operand.dtype(), operand.shape(), "x"));
  const Outcome<ResultType> type = infer(graph, op, ids, attributes);
  if (!type) return type.rejection();
  std::vector<runtime::Array> arrays;
  for (const Tensor& operand : operands) arrays.push_back(runtime::Array::from(operand));
  std::vector<const runtime::Array*> pointers;
  for (const runtime::Array& array : arrays) pointers.push_back(&array);
  runtime::Array result = runtime::Array::empty(type.value().dtype, type.value().shape);
  if (result.bytes() > 0) std::memset(result.raw(), 0xff, result.bytes());
  const Outcome<Done> done = runtime::run(op, attributes, pointers, result);
  if (!done) return done.rejection();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Tensor after = arrays[i].to_tensor();
    if (!std::equal(after.bytes().begin(), after.bytes().end(), operands[i].bytes().begin())) FAIL("an operand was written");
  }
  return result.to_tensor();
}

struct Tally {
  std::size_t passed = 0, vacuous = 0;
  double head_room_used = 0;
};
using Tallies = std::map<std::string, Tally>;  // by op and element type

// Judges the runtime's result; complex elements have no contract.
inline void check_within_contract(Op op, const Attributes& attributes, const std::vector<Tensor>& operands, Tallies& tallies) {
  const bool wide = std::any_of(operands.begin(), operands.end(), [](const Tensor& x) { return x.dtype() == DType::float64; });
  const Outcome<Tensor> y = executed(op, attributes, operands);
  if (!y) FAIL(y.rejection().to_text());
  const Outcome<Admissible> sets = contracts::admissible(op, attributes, wide ? double_model() : float_model(), operands);
  if (!sets) FAIL(sets.rejection().to_text());
  const Judgement judgement = judged(sets.value(), y.value());
  if (judgement.first_failure) {
    for (const Tensor& operand : operands) {
      if (operand.size() <= 64 && operand.dtype() != DType::complex64)
        UNSCOPED_INFO(Catch::StringMaker<std::vector<double>>::convert(operand.to_doubles()));
    }
    UNSCOPED_INFO(op_row(op).name << ": " << contracts::describe(sets.value(), y.value(), *judgement.first_failure));
  }
  CHECK(judgement.failed == 0);
  Tally& tally = tallies[std::string(op_row(op).name) + " " + to_string(operands.back().dtype())];
  tally.passed += judgement.passed;
  tally.vacuous += judgement.vacuous;
  tally.head_room_used = std::max(tally.head_room_used, judgement.head_room_used);
}

inline Tensor converted(const Tensor& x, DType to) {
  std::vector<double> values = x.to_doubles();
  if (to == DType::float64) return Tensor::of_doubles(x.shape(), values);
  return Tensor::of_floats(x.shape(), std::vector<float>(values.begin(), values.end()));
}

template <class T>
Tensor tensor_of(DType dtype, Shape shape, const std::vector<T>& values) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes->data(), values.data(), bytes->size());
  return Tensor(dtype, std::move(shape), std::move(bytes));
}

inline Tensor gaussians(std::mt19937_64& random, DType dtype, Shape shape) {
  std::normal_distribution<double> normal;
  std::vector<double> values(element_count(shape));
  for (double& value : values) value = normal(random);
  if (dtype == DType::float64) return Tensor::of_doubles(std::move(shape), values);
  return Tensor::of_floats(std::move(shape), std::vector<float>(values.begin(), values.end()));
}

}  // namespace assay::test
