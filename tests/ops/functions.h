// The functions of one variable for tests: one list, from which each test takes its part. A function that has its entries in
// semantics/graph/ops.def is in it.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "semantics/graph/family.h"
#include "semantics/graph/op.h"

namespace assay::test {

struct FunctionCase {
  std::string name;
  Op op;
  Attributes attributes = NoAttributes{};
  double least = -50, most = 50;  // where it is defined, and of a size that tells errors apart
};

// Beside the attributes of ASSAY_SAMPLE: those of which proofs and bounds have a case of their own.
inline std::vector<FunctionCase> further_functions() {
  return {{"leaky_relu 0.1", Op::leaky_relu, LeakyReluAttributes{0.1}},
          {"clip to a point", Op::clip, ClipAttributes{0.5, 0.5}},
          {"clip at 0", Op::clip, ClipAttributes{0, INFINITY}},
          {"reciprocal below 0", Op::reciprocal, NoAttributes{}, -50, -0.001},
          {"elu 2.5", Op::elu, ActivationAttributes{2.5, 0}},
          {"selu of ONNX", Op::selu, ActivationAttributes{1.67326319217681884765625, 1.05070102214813232421875}},
          {"selu, falling", Op::selu, ActivationAttributes{1.5, -2}},
          {"celu 0.3", Op::celu, ActivationAttributes{0.3, 0}},
          {"celu -2", Op::celu, ActivationAttributes{-2, 0}},
          {"hard_sigmoid of bends between doubles", Op::hard_sigmoid, ActivationAttributes{0.2, 0.5}},
          {"hard_sigmoid, falling between doubles", Op::hard_sigmoid, ActivationAttributes{-0.3, 0.25}},
          {"thresholded_relu -2", Op::thresholded_relu, ActivationAttributes{-2, 0}},
          {"shrink, falling jumps", Op::shrink, ActivationAttributes{2, -1}},
          {"shrink without a gap", Op::shrink, ActivationAttributes{0, 1}}};
}

// All but cast and pow, whose attributes are types and fractions.
inline std::vector<FunctionCase> functions() {
  std::vector<FunctionCase> all = {
      {"tan", Op::tan, NoAttributes{}, -1.5, 1.5},         {"asin", Op::asin, NoAttributes{}, -1, 1},
      {"acos", Op::acos, NoAttributes{}, -1, 1},           {"acosh", Op::acosh, NoAttributes{}, 1, 50},
      {"atanh", Op::atanh, NoAttributes{}, -0.999, 0.999}, {"log", Op::log, NoAttributes{}, 0.001, 50},
      {"sqrt", Op::sqrt, NoAttributes{}, 0, 50},           {"reciprocal", Op::reciprocal, NoAttributes{}, 0.001, 50}};
  const auto add = [&](Op op, const std::string& what, Attributes attributes) {
    all.push_back({std::string(op_row(op).name) + (what.empty() ? "" : ", " + what), op, std::move(attributes)});
  };
#define ASSAY_SAMPLE(op, what, ...) add(Op::op, what, __VA_ARGS__);
#include "semantics/graph/ops.def"
  for (int k = 0; k < kOpCount; ++k) {
    const Op op = static_cast<Op>(k);
    const bool is_plain = family_of(op) == Family::function && op_row(op).attributes == Attributes(NoAttributes{}).index();
    if (is_plain && std::ranges::find(all, op, &FunctionCase::op) == all.end()) add(op, "", NoAttributes{});
  }
  for (FunctionCase& one : further_functions()) all.push_back(std::move(one));
  return all;
}

}  // namespace assay::test
