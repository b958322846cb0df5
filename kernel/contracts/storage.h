// Results that are stored in 16 bits: the image of a set under rounding to bfloat16 or binary16.
//
// A kernel over such tensors reads the numbers as they are (each is a float32), computes as its model says, and rounds each result once, to
// nearest, ties to even, to an infinity from the midpoint above the largest number on. Rounding is monotone and odd, so that the image of
// the numbers between two ends lies between the rounded ends; these are numbers that the ends themselves give.
// Proof, and what a step inside of a region may hold: docs/contracts/execution-models.md, Storage.
#pragma once

#include "kernel/contracts/float_set.h"

namespace assay::contracts {

using Storage = ExecutionModel::Storage;

// The number nearest to x, ties to even, with the sign of x where it is 0; infinite from the overflow threshold on. NaN stays.
// `same`: x. Exact for every double.
[[nodiscard]] double rounded_to(Storage storage, double x);
[[nodiscard]] bool is_number_of(Storage storage, double x);  // or an infinity, or NaN

// What storing makes of the values of the set; a point of the reals gives the number that is nearest to it.
[[nodiscard]] FloatSet stored(Storage storage, const FloatSet& set);
// Every float32 that may have been stored as this value.
[[nodiscard]] FloatSet stored_as(Storage storage, double value);

[[nodiscard]] const char* name_of(Storage storage);  // "float32" for `same`, else as traces name the type

// The ends moved outward to the next number of the format, or to an infinity.
[[nodiscard]] FloatSet beyond(Storage storage, floats::Format format, const FloatSet& set);
// Numbers of the format from a to b, a before or equal to b; at most 2^53.
[[nodiscard]] double steps_between(Storage storage, floats::Format format, double a, double b);
// The width from which on a set says nothing (kVacuousShare).
[[nodiscard]] double vacuous_width(Storage storage, floats::Format format, double scale);

}  // namespace assay::contracts
