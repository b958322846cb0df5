// Derivatives by several passes over a session's tape: products with tangents, Jacobians, Hessians, gradients by sample.
#include <string>
#include <utility>

#include "runtime/misuse.h"
#include "runtime/session.h"

namespace assay::runtime {

namespace {

Outcome<Done> check_tangents(std::span<const Value> of, std::span<const Value> tangents, const char* what) {
  bool fits = of.size() == tangents.size();
  for (std::size_t k = 0; fits && k < of.size(); ++k) {
    fits = of[k].shape() == tangents[k].shape() && of[k].dtype() == tangents[k].dtype();
  }
  if (fits) return Done{};
  return misuse("tangent", what, "a tangent of the same type and shape for each value",
                std::to_string(of.size()) + " values and " + std::to_string(tangents.size()) + " tangents", "give one tangent per value");
}

Shape joined(Shape first, const Shape& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

// A function that is differentiated twice needs a tape, and tangents that fit.
Outcome<Done> Session::check_second_pass(std::span<const Value> of, std::span<const Value> tangents, const char* what) {
  std::vector<Ref> refs;
  if (!refs_of(of, what, refs) || !refs_of(tangents, what, refs)) return refusal();
  if (!recording_) return misuse("recording", what, "a session that records", "a NoGrad scope", "leave the scope first");
  return check_tangents(of, tangents, what);
}

Outcome<Value> Session::jvp(const Value& y, std::span<const Value> of, std::span<const Value> tangents) {
  if (auto fine = check_second_pass(of, tangents, "jvp"); !fine) return fine.rejection();
  const Value y_bar = input(Array(y.array()), "y_bar");  // any values: the transposed map is linear in it
  const auto bars = gradients(y, of, {y_bar, true});
  if (!bars) return bars.rejection();
  std::vector<Seed> seeds;
  for (std::size_t k = 0; k < of.size(); ++k) seeds.push_back({bars.value()[k].ref_, tangents[k].ref_});
  const Ref leaf[] = {y_bar.ref_};
  const auto dots = reverse(seeds, leaf, true, 0);
  if (!dots) return dots.rejection();
  const auto values = values_of(dots.value(), leaf);
  if (!values) return values.rejection();
  return values.value()[0];
}

Outcome<std::vector<Value>> Session::hvp(const Value& loss, std::span<const Value> of, std::span<const Value> tangents) {
  if (auto fine = check_second_pass(of, tangents, "hvp"); !fine) return fine.rejection();
  const auto bars = gradients(loss, of);
  if (!bars) return bars.rejection();
  std::vector<Seed> seeds;
  std::vector<Ref> leaves;
  for (std::size_t k = 0; k < of.size(); ++k) {
    seeds.push_back({bars.value()[k].ref_, tangents[k].ref_});
    leaves.push_back(of[k].ref_);
  }
  const auto second = reverse(seeds, leaves, true, 0);
  if (!second) return second.rejection();
  return values_of(second.value(), leaves);
}

Outcome<std::vector<Value>> Session::jacobian(const Value& y, std::span<const Value> of) {
  const std::size_t rows = y.array().size();
  if (rows == 0) return misuse("empty", "jacobian", "at least one element", to_string(y.shape()), "nothing to differentiate");
  std::vector<std::vector<Value>> found(of.size());
  for (std::size_t k = 0; k < rows; ++k) {
    std::vector<double> unit(rows, 0);
    unit[k] = 1;
    const Value one_hot = input(Array::from(Tensor::of_doubles(y.shape(), unit)));
    const Value cotangent = apply(Op::cast, {one_hot}, CastAttributes{static_cast<std::uint8_t>(y.dtype())});
    const auto bars = gradients(y, of, {cotangent, true});
    if (!bars) return bars.rejection();
    for (std::size_t x = 0; x < of.size(); ++x) {
      found[x].push_back(apply(Op::reshape, {bars.value()[x]}, ShapeAttributes{joined({1}, of[x].shape())}));
    }
  }
  std::vector<Value> results;
  for (std::size_t x = 0; x < of.size(); ++x) {
    const Value stacked = apply(Op::concat, found[x], ConcatAttributes{0});
    results.push_back(apply(Op::reshape, {stacked}, ShapeAttributes{joined(y.shape(), of[x].shape())}));
    if (!results.back().ok()) return refusal();
  }
  return results;
}

Outcome<Value> Session::jacobian(const Value& y, const Value& x) {
  const auto found = jacobian(y, std::span(&x, 1));
  if (!found) return found.rejection();
  return found.value()[0];
}

Outcome<std::vector<std::vector<Value>>> Session::hessian(const Value& loss, std::span<const Value> of) {
  if (auto fine = check_second_pass(of, of, "hessian"); !fine) return fine.rejection();
  const auto bars = gradients(loss, of);
  if (!bars) return bars.rejection();
  std::vector<std::vector<Value>> rows;
  for (const Value& bar : bars.value()) {
    auto row = jacobian(bar, of);
    if (!row) return row.rejection();
    rows.push_back(std::move(row).value());
  }
  return rows;
}

Outcome<std::vector<Value>> Session::per_sample_gradients(const Loss& loss, std::span<const Value> batch, std::span<const Value> of) {
  std::int64_t samples = 0;
  for (const Value& one : batch) {
    const bool fits = !one.shape().empty() && (samples == 0 || one.shape()[0] == samples) && one.shape()[0] > 0;
    if (!fits)
      return misuse("batch", "per_sample_gradients", "values with one first axis of samples", to_string(one.shape()), "give a batch");
    samples = one.shape()[0];
  }
  std::vector<std::vector<Value>> rows(of.size());
  for (std::int64_t i = 0; i < samples; ++i) {
    std::vector<Value> sample;
    for (const Value& one : batch) {
      SliceAttributes ith{Shape(one.shape().size(), 0), Shape(one.shape().size(), 1), one.shape()};
      ith.starts[0] = i;
      ith.extents[0] = 1;
      sample.push_back(apply(Op::slice, {one}, std::move(ith)));
    }
    const auto bars = gradients(loss(sample), of);
    if (!bars) return bars.rejection();
    for (std::size_t k = 0; k < of.size(); ++k) {
      Shape row = of[k].shape();
      row.insert(row.begin(), 1);
      rows[k].push_back(apply(Op::reshape, {bars.value()[k]}, ShapeAttributes{row}));
    }
  }
  if (samples == 0) return misuse("batch", "per_sample_gradients", "at least one value in the batch", "none", "give a batch");
  std::vector<Value> result;
  for (const std::vector<Value>& parts : rows) {
    result.push_back(apply(Op::concat, parts, ConcatAttributes{0}));
    if (!result.back().ok()) return refusal();
  }
  return result;
}

}  // namespace assay::runtime
