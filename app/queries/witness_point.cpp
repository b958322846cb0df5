#include "app/queries/witness_point.h"

#include <utility>

#include "semantics/numbers/scalar_traits.h"

namespace assay::queries {

template <class T>
std::vector<Array<T>> inputs_at(const Graph& graph, const logic::Witness& witness) {
  std::vector<Array<T>> inputs;
  std::size_t at = 0;
  for (const NodeId id : graph.inputs) {
    Array<T> input{graph.node(id).shape, {}};
    for (std::size_t i = 0; i < graph.size(id); ++i) input.values.push_back(ScalarTraits<T>::from_rational(witness.inputs[at++]));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

bool holds(const statement::Row& row, const std::function<double(const statement::Variable&)>& value_of) {
  Rational sum;
  for (const statement::Term& term : row.terms) {
    const auto value = Rational::from_double(value_of(term.variable));
    if (!value) return false;
    sum += term.coefficient * *value;
  }
  return row.strict ? sum < row.bound : sum <= row.bound;
}

template std::vector<Array<float>> inputs_at(const Graph&, const logic::Witness&);
template std::vector<Array<double>> inputs_at(const Graph&, const logic::Witness&);

}  // namespace assay::queries
