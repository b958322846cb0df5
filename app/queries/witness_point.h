// Remarks about float executions share this code: a witness as the arrays that a graph is run on, and a property's rows at
// computed values.
#pragma once

#include <functional>
#include <vector>

#include "kernel/logic/api.h"
#include "semantics/ops/denote.h"

namespace assay::queries {

// One array by input of the graph, each value the nearest of its format. For float and double.
template <class T>
[[nodiscard]] std::vector<Array<T>> inputs_at(const Graph& graph, const logic::Witness& witness);

// Compares the sum of the row's terms with its bound exactly; `value_of` gives the number that was computed for a variable. False
// where that is no number.
[[nodiscard]] bool holds(const statement::Row& row, const std::function<double(const statement::Variable&)>& value_of);

}  // namespace assay::queries
