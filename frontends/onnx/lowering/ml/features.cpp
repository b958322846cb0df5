// What pipelines of scikit-learn do before and behind a model: scaling, replacing, encoding and picking features.
#include <algorithm>
#include <bit>
#include <cmath>

#include "frontends/onnx/lowering/ml/ml.h"
#include "frontends/onnx/lowering/refusal.h"

namespace assay::onnx {
namespace {

// A list of one number, or one for each of the columns, along the last axis. Of more than two axes, programs take another one.
Operand per_column(Call& call, const Operand& x, std::string_view name, double otherwise) {
  Reals values = reals_of(call, name);
  if (values.empty()) values = {otherwise};
  if (values.size() != 1 && static_cast<std::int64_t>(values.size()) != x->shape.back())
    call.malformed("onnx.attribute",
                   std::string(name) + " with one number, or one for each of " + std::to_string(x->shape.back()) + " columns",
                   std::to_string(values.size()));
  if (values.size() != 1 && x->shape.size() > 2)
    call.unsupported("onnx.shape", "[N, C] or [C] where columns differ", to_string(x->shape), "reshape the operand");
  const auto count = static_cast<std::int64_t>(values.size());
  return reals_like(call, x, {count}, values);
}

// Whether x[..., None] is each of the values, as booleans [..., values].
Operand hits(Call& call, const Operand& x, const Reals& values) {
  Shape apart = x->shape;
  apart.push_back(1);
  const auto count = static_cast<std::int64_t>(values.size());
  return call.emit(Op::equal, {call.reshape(x, apart), reals_like(call, x, {count}, values)});
}

// Integers as doubles, which hold those up to 2^53.
constexpr std::int64_t kMostWhole = std::int64_t{1} << 53;
Reals as_reals(const Call& call, const Ints& values) {
  if (!std::ranges::all_of(values, [](std::int64_t value) { return value >= -kMostWhole && value <= kMostWhole; }))
    call.unsupported("onnx.attribute", "integers up to 2^53", "a larger one", "encode labels outside of the model");
  return {values.begin(), values.end()};
}

bool is_distinct(Reals values) {
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) == values.end();
}

Operand of_float_type(Call& call, const Operand& x) { return is_float(x->dtype) ? x : call.cast(x, DType::float32); }

}  // namespace

Reals reals_of(const Call& call, std::string_view name) {
  Reals values;
  if (const AttributeProto* found = call.find(name, AttributeKind::reals))
    for (const std::uint32_t bits : found->reals) values.push_back(static_cast<double>(std::bit_cast<float>(bits)));
  return values;
}

Ints ints_of(const Call& call, std::string_view name) { return call.attribute_ints(name).value_or(Ints{}); }

Operand rows_of(Call& call, const Operand& x) {
  if (x->shape.empty() || x->shape.size() > 2) call.malformed("onnx.shape", "[N, C] or [C]", to_string(x->shape));
  const Operand rows = x->shape.size() == 2 ? x : call.reshape(x, {1, x->shape[0]});
  return of_float_type(call, rows);
}

Results lower_scaler(Call& call) {
  const Operand x = of_float_type(call, call.in(0));
  if (x->shape.empty()) call.malformed("onnx.shape", "[N, C] or [C]", to_string(x->shape));
  const Operand moved = call.emit(Op::sub, {x, per_column(call, x, "offset", 0)});
  return {call.cast(call.emit(Op::mul, {moved, per_column(call, x, "scale", 1)}), DType::float32)};
}

// Each row over its norm. A row of zeros has no value here; programs give zeros.
Results lower_normalizer(Call& call) {
  const Operand x = rows_of(call, call.in(0));
  const std::string norm = call.attribute("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2") call.malformed("onnx.attribute", "norm MAX, L1 or L2", printable(norm));
  if (norm != "L1") call.real_only(false, "a program whose Normalizer rounds as the quotient by the norm", "norm " + norm);
  const ReduceAttributes columns{{1}, true};
  Operand length;
  if (norm == "MAX") length = call.emit(Op::reduce_max, {x}, columns);
  if (norm == "L1") length = call.emit(Op::reduce_sum, {call.emit(Op::abs, {x})}, columns);
  if (norm == "L2")
    length = call.emit(Op::sqrt, {call.emit(Op::reduce_sum, {call.emit(Op::pow, {x}, PowAttributes{Rational(2)})}, columns)});
  return {call.reshape(call.cast(call.emit(Op::div, {x, length}), DType::float32), call.shape(0))};
}

// Numbers that stand for a missing value are replaced. If NaN does, nothing is, since inputs are numbers.
Results lower_imputer(Call& call) {
  const Operand& x = call.in(0);
  if (x->shape.empty()) call.malformed("onnx.shape", "[N, C] or [C]", to_string(x->shape));
  const bool is_real = is_float(x->dtype);
  const double replaced = is_real ? static_cast<double>(call.attribute("replaced_value_float", 0.0F))
                                  : static_cast<double>(call.attribute("replaced_value_int64", std::int64_t{0}));
  if (std::isnan(replaced)) return {x};
  if (!is_real) call.unsupported("onnx.element_type", "an Imputer of floats", to_string(x->dtype), "convert the operand (Cast)");
  const Operand missing = call.emit(Op::equal, {x, call.make_real_like(x, replaced)});
  return {call.emit(Op::where, {missing, per_column(call, x, "imputed_value_floats", 0), x})};
}

Results lower_binarizer(Call& call) {
  const Operand x = of_float_type(call, call.in(0));
  const Operand threshold = call.make_real_like(x, static_cast<double>(call.attribute("threshold", 0.0F)));
  const Operand above = call.emit(Op::less, {threshold, x});
  return {call.emit(Op::where, {above, call.make_real_like(x, 1), call.make_real_like(x, 0)})};
}

// Columns one after the other.
Results lower_feature_vectorizer(Call& call) {
  const Ints widths = ints_of(call, "inputdimensions");
  std::vector<Operand> parts;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    parts.push_back(call.cast(rows_of(call, call.in(i)), DType::float32));
    if (i >= widths.size() || widths[i] != parts[i]->shape[1])
      call.unsupported("onnx.attribute", "inputdimensions that are the widths of the operands",
                       to_string(widths) + " for " + to_string(parts[i]->shape), "write it as Concat");
  }
  return {concat(call, parts, 1)};
}

// Elements of the last axis; of one axis, they are a row.
Results lower_array_feature_extractor(Call& call) {
  Operand x = call.in(0);
  if (x->shape.empty()) call.malformed("onnx.shape", "at least one axis", to_string(x->shape));
  if (x->shape.size() == 1) x = call.reshape(x, {1, x->shape[0]});
  const std::size_t last = x->shape.size() - 1;
  const auto count = static_cast<std::int64_t>(element_count(call.shape(1)));
  const Operand places = call.reshape(call.in(1), {count});
  if (!places->constant) return {take_axis(call, x, last, places)};
  Ints indices = places->constant->to_ints();
  for (const std::int64_t index : indices)
    if (index < 0 || index >= x->shape[last])
      call.malformed("onnx.index", "0 <= index < " + std::to_string(x->shape[last]), std::to_string(index));
  return {gather_axis(call, x, static_cast<std::int64_t>(last), std::move(indices))};
}

Results lower_one_hot_encoder(Call& call) {
  const Operand x = call.cast(call.cast(call.in(0), DType::int64), DType::float64);  // programs round floats to 0
  if (call.attribute("zeros", std::int64_t{1}) == 0)
    call.unsupported("onnx.attribute", "zeros = 1", "zeros = 0, which fails for other categories", "set handle_unknown='ignore'");
  const Ints categories = ints_of(call, "cats_int64s");
  if (categories.empty()) call.unsupported("onnx.attribute", "categories that are integers", "none", "encode strings before the model");
  const Operand like = call.make_real_like(x, 0);
  const Reals keys = as_reals(call, categories);
  if (!is_distinct(keys)) call.malformed("onnx.attribute", "distinct categories", "one twice");
  const Operand found = hits(call, x, keys);
  return {call.cast(call.emit(Op::where, {found, call.make_real_like(x, 1), like}), DType::float32)};
}

// The value of the key that the operand is; distinct keys, so at most one term of the sum is not 0.
Results lower_label_encoder(Call& call) {
  const Operand& given = call.in(0);
  Reals keys = is_float(given->dtype) ? reals_of(call, "keys_floats") : as_reals(call, ints_of(call, "keys_int64s"));
  const bool gives_ints = call.find("values_int64s", AttributeKind::integers) != nullptr;
  const Reals values = gives_ints ? as_reals(call, ints_of(call, "values_int64s")) : reals_of(call, "values_floats");
  if (keys.empty() || keys.size() != values.size())
    call.unsupported("onnx.attribute", "as many values as keys, in lists of numbers", "strings, or other lists",
                     "leave the output of labels out with --outputs, or encode strings before the model");
  if (!is_distinct(keys)) call.malformed("onnx.attribute", "distinct keys", "one twice");
  if (!std::ranges::all_of(keys, [](double key) { return std::fabs(key) < 0x1p24; }))
    call.unsupported("onnx.attribute", "keys below 2^24", "a larger one", "encode labels outside of the model");
  const double otherwise = gives_ints ? as_reals(call, {call.attribute("default_int64", std::int64_t{-1})})[0]
                                      : static_cast<double>(call.attribute("default_float", -0.0F));
  const Operand x = call.cast(given, DType::float64);
  const auto count = static_cast<std::int64_t>(values.size());
  const Operand is_key = hits(call, x, keys), zero = call.make_real_like(x, 0);
  const ReduceAttributes over_keys{{static_cast<std::int64_t>(x->shape.size())}, false};
  const auto total = [&](const Operand& terms) {
    return call.emit(Op::reduce_sum, {call.emit(Op::where, {is_key, terms, zero})}, over_keys);
  };
  const Operand sum = total(reals_like(call, x, {count}, values));
  const Operand is_other = otherwise == 0 ? nullptr : call.emit(Op::equal, {total(call.make_real_like(x, 1)), zero});
  const Operand y = otherwise == 0 ? sum : call.emit(Op::where, {is_other, call.make_real_like(x, otherwise), sum});
  return {call.cast(y, gives_ints ? DType::int64 : DType::float32)};
}

// The scores as a tensor. Programs give a map from label to score for each row.
Results lower_zip_map(Call& call) {
  call.lowering.note(in_quotes(call.node.outputs.front()) + " is a tensor of scores here, in the order of the labels; programs give maps");
  return {call.in(0)};
}

}  // namespace assay::onnx
