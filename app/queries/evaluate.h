// Enclosures, by the reference semantics, of a model's values at a point or on a box, and of its gradients there.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/interval.h"
#include "semantics/numbers/rational.h"
#include "semantics/outcome.h"

namespace assay::queries {

struct EvaluationRequest {
  std::map<std::string, std::vector<Interval>> inputs, cotangents;  // by input and by output, row-major
  std::map<std::string, std::size_t> truths = {};                   // the first element of a file's list that is true or false
  std::map<std::string, std::vector<Rational>> points = {};         // inputs whose sets stand for one number that no double is
};

// Values of one input or output, perhaps sets.
struct NamedSet {
  std::string name;
  Shape shape;
  std::vector<Interval> values;  // row-major
};

struct Evaluation {
  std::vector<NamedSet> outputs;
  std::vector<NamedSet> gradients;        // of each output with a cotangent, with respect to all float inputs, by whose names they go
  int bits = 53;                          // the precision of the ends that were computed with: 53, or 257
  std::vector<std::string> vacuous = {};  // outputs at a point that doubles lost and that 257 bits would take too long for
};

// Refuses a name that is no input and no output of the graph; the rejection lists those that are.
[[nodiscard]] Outcome<Done> check_names(const EvaluationRequest& request, const Graph& graph);

// Returns true if both ends are values of an integer or boolean type.
[[nodiscard]] bool holds(DType dtype, const Interval& value);

// A number, a word such as "nan", or the two ends, in words of at most 17 digits.
[[nodiscard]] std::string shown(const Interval& value);

// True where no set is wider than a millionth of its array's largest magnitude.
[[nodiscard]] bool is_narrow(const Evaluation& evaluation);

// Evaluates in doubles. Where every input is a point, and `is_enough` returns false, evaluates again at 257 bits, since each layer
// widens sets in doubles about tenfold. Does not so where the graph takes more than 5e7 multiply-adds or has more than 1e7
// elements. Rejections of the request itself have codes values.*.
[[nodiscard]] Outcome<Evaluation> evaluate_sets(const Graph& graph, const EvaluationRequest& request,
                                                const std::function<bool(const Evaluation&)>& is_enough = is_narrow);

}  // namespace assay::queries
