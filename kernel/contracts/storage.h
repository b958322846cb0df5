// Results that are stored in 16 bits: the image of a set under rounding to bfloat16 or binary16.
//
// A kernel over such tensors reads the numbers exactly (each is a float32), computes as its model says, and rounds
// each result once: to nearest, ties to even, and to an infinity from the midpoint above the largest number on.
// Rounding is monotone and odd. So the image of the numbers between two ends lies between the rounded ends, which
// the ends themselves give. Proof, and the values that a step inside a region may hold:
// docs/contracts/execution-models.md, Storage.
#pragma once

#include "kernel/contracts/float_set.h"

namespace assay::contracts {

using Storage = ExecutionModel::Storage;

// The number nearest to x, ties to even; a zero keeps the sign of x. Infinite from the overflow threshold on. NaN
// stays. For `same` the result is x. Exact for every double.
[[nodiscard]] double rounded_to(Storage storage, double x);
[[nodiscard]] bool is_number_of(Storage storage, double x);  // also true for an infinity or NaN

// The values of the set after storing. A point of the reals gives the number that is nearest to it.
[[nodiscard]] FloatSet stored(Storage storage, const FloatSet& set);
// Every float32 that may have been stored as this value.
[[nodiscard]] FloatSet stored_as(Storage storage, double value);

[[nodiscard]] const char* name_of(Storage storage);  // "float32" for `same`, otherwise the type's name in traces

// The set with ends moved outward to the next number of the format, or to an infinity.
[[nodiscard]] FloatSet beyond(Storage storage, floats::Format format, const FloatSet& set);
// The number of steps of the format from a to b, where a is before or equal to b; at most 2^53.
[[nodiscard]] double steps_between(Storage storage, floats::Format format, double a, double b);
// The width from which on a set is vacuous (kVacuousShare).
[[nodiscard]] double vacuous_width(Storage storage, floats::Format format, double scale);

}  // namespace assay::contracts
