// Why a call of admissible() has no answer: a step without a contract, or what does not fit. Private to this folder.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernel/contracts/contract.h"

namespace assay::contracts {

[[nodiscard]] inline bool is_number_type(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

[[nodiscard]] Rejection unsupported(const Node& node, std::string code, std::string required, std::string found);
[[nodiscard]] std::optional<Rejection> problem_of(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs,
                                                  std::span<const Recording> recordings);
[[nodiscard]] std::optional<Rejection> problem_of(const Graph& graph, std::span<const Storage> stored);

}  // namespace assay::contracts
