// The constants of the formats binary32 and binary64 of IEEE 754.

#include "kernel/floats/format.h"

#include <cmath>

namespace assay::floats {

double nearest(Format format, double value) { return format == Format::binary32 ? static_cast<double>(static_cast<float>(value)) : value; }
double largest(Format format) {
  return format == Format::binary32 ? static_cast<double>(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();
}
double smallest_normal(Format format) { return format == Format::binary32 ? 0x1p-126 : 0x1p-1022; }
double unit_roundoff(Format format) { return format == Format::binary32 ? 0x1p-24 : 0x1p-53; }
double smallest_number(Format format) { return format == Format::binary32 ? 0x1p-149 : 0x1p-1074; }
double overflow_threshold(Format format) { return format == Format::binary32 ? 0x1.ffffffp127 : std::numeric_limits<double>::max(); }
Precision precision_of(ExecutionModel::Storage storage) {
  if (storage == ExecutionModel::Storage::bfloat16) return {0x1p-8, 0x1p-133, 0x1.fep127, 0x1.ffp127, 8};
  if (storage == ExecutionModel::Storage::binary16) return {0x1p-11, 0x1p-24, 65504, 65520, 11};
  return {};
}
Precision stored_precision(const ExecutionModel& model) {
  if (model.storage != ExecutionModel::Storage::same || model.format == ExecutionModel::Format::binary32)
    return precision_of(model.storage);
  return {0x1p-53, 0x1p-1074, std::numeric_limits<double>::max(), kInfinity, std::numeric_limits<double>::digits};
}

double number_above(const Precision& format, double x) {
  if (!(std::fabs(x) <= format.largest)) return x < -format.largest ? -format.largest : kInfinity;
  if (x == 0 || format.bits == std::numeric_limits<double>::digits) return x;
  const double unit = std::fmax(std::ldexp(1.0, std::ilogb(x) - format.bits + 1), format.smallest);
  return std::ceil(x / unit) * unit;  // exact: a quotient by a power of two, and a product with one
}
double number_below(const Precision& format, double x) { return -number_above(format, -x); }

Format format_of(DType dtype) { return dtype == DType::float32 ? Format::binary32 : Format::binary64; }

}  // namespace assay::floats
