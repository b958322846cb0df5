// Sums in 16 bits, by their bounds: a kernel may add in any order, and no list of computations has all orders.
#include "probes/narrow_sums.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernel/contracts/contract.h"
#include "kernel/floats/format.h"
#include "probes/plan.h"
#include "probes/sketch.h"

namespace assay::probes {
namespace {

using Storage = ExecutionModel::Storage;
using Numbers = std::vector<double>;

constexpr double kUnit = 0x1p-24, kTiny = 0x1p-149;  // of a sum in float32

bool adds(Op op) {
  return op == Op::gemm || op == Op::matmul || op == Op::conv || op == Op::conv_transpose || op == Op::reduce_sum ||
         op == Op::reduce_mean || op == Op::cumsum;
}

// The op in double precision, with operand k changed if `which` is k or -1; empty if it does not run.
Numbers in_double(Op op, const Attributes& attributes, const std::vector<Tensor>& operands, const std::function<double(double)>& change,
                  int which = -1) {
  std::vector<Tensor> wide;
  for (const Tensor& operand : operands) {
    Numbers values = operand.to_doubles();
    if (which < 0 || which == static_cast<int>(wide.size())) std::ranges::transform(values, values.begin(), change);
    wide.push_back(Tensor::of_doubles(operand.shape(), values));
  }
  const auto graph = graph_of(op, attributes, wide);
  const auto y = graph ? Evaluation(graph.value())(wide) : Outcome<Tensor>(graph.rejection());
  return y ? y.value().to_doubles() : Numbers();
}

// What every element of the result adds up.
struct Sums {
  Numbers exact, sizes, counts;  // the sum, the sum of |terms|, and how many terms are not 0
  double largest = 0;            // of the operands' magnitudes

  Sums(const Node& node, const std::vector<Tensor>& operands) {
    Attributes size = node.attributes, count = node.attributes;
    if (auto* gemm = std::get_if<GemmAttributes>(&size)) gemm->alpha = std::fabs(gemm->alpha), gemm->beta = std::fabs(gemm->beta);
    if (auto* gemm = std::get_if<GemmAttributes>(&count)) gemm->alpha = gemm->beta = 1;
    exact = in_double(node.op, node.attributes, operands, [](double x) { return x; });
    sizes = in_double(node.op, size, operands, [](double x) { return std::fabs(x); });
    counts = in_double(node.op == Op::reduce_mean ? Op::reduce_sum : node.op, count, operands, [](double x) { return x == 0 ? 0.0 : 1.0; });
    for (const Tensor& operand : operands)
      for (const double x : operand.to_doubles())
        if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  }
};

// Additions in the format may give y.
bool may_be(const Sums& sums, std::size_t i, double y, const floats::Precision& format) {
  const double roundings = sums.counts[i] + 2, size = sums.sizes[i];
  if (!std::isfinite(sums.exact[i])) return !std::isfinite(y);
  if (size * (1 + roundings * format.unit) >= format.overflow) return true;  // a partial sum may overflow
  const double bound = std::min(1.0, roundings * format.unit) * size + roundings * format.smallest * (1 + sums.largest);
  return std::isfinite(y) && std::fabs(y - sums.exact[i]) <= bound;
}

// Sums in float32, rounded once to the format, may give every element.
bool are_rounded(const Sums& sums, const Numbers& exact, const Numbers& received, Storage storage) {
  for (std::size_t i = 0; i < received.size(); ++i) {
    if (!std::isfinite(exact[i]) && !std::isfinite(received[i])) continue;
    const double bound = (sums.counts[i] + 2) * (kUnit * sums.sizes[i] + kTiny);
    const double lo = contracts::rounded_to(storage, exact[i] - bound), hi = contracts::rounded_to(storage, exact[i] + bound);
    if (!(lo <= received[i] && received[i] <= hi)) return false;
  }
  return true;
}

// The same of the operands as they are, of all of them rounded to the format, and of each alone.
bool may_be_rounded(const Sums& sums, const Node& node, const std::vector<Tensor>& operands, const Numbers& received, Storage storage) {
  if (are_rounded(sums, sums.exact, received, storage)) return true;
  for (int which = -1; which < static_cast<int>(operands.size()); ++which) {
    const Numbers exact = in_double(
        node.op, node.attributes, operands, [&](double x) { return contracts::rounded_to(storage, x); }, which);
    if (exact.size() != received.size() || are_rounded(sums, exact, received, storage)) return true;
  }
  return false;
}

bool explains(const Sums& sums, const Numbers& received, Storage storage) {
  const floats::Precision format = floats::precision_of(storage);
  bool tells = false;
  for (std::size_t i = 0; i < received.size(); ++i) {
    const double y = received[i], exact = sums.exact[i];
    if (!contracts::is_number_of(storage, y) || !may_be(sums, i, y, format)) return false;
    tells = tells || (std::isfinite(exact) && !contracts::is_number_of(storage, static_cast<double>(static_cast<float>(exact))));
  }
  return tells;  // otherwise every kernel gives numbers of the format
}

}  // namespace

std::string narrow_sums(const Graph& application, const std::vector<Tensor>& operands, const Trace::Entry& entry, bool is_rounded) {
  const Node& node = application.node(application.outputs[0]);
  const auto is_float32 = [](const Tensor& one) { return one.dtype() == DType::float32; };
  if (!adds(node.op) || !is_float32(entry.value) || !std::ranges::all_of(operands, is_float32)) return "";
  const Sums sums(node, operands);
  const Numbers received = entry.value.to_doubles();
  if (sums.exact.size() != received.size() || sums.sizes.size() != received.size() || sums.counts.size() != received.size()) return "";
  for (const Storage storage : {Storage::bfloat16, Storage::binary16})
    if (explains(sums, received, storage))
      return is_rounded || !may_be_rounded(sums, node, operands, received, storage) ? contracts::name_of(storage) : "";
  return "";
}

}  // namespace assay::probes
