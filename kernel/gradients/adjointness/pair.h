// Compares one number of the rule with that of the meaning, on every scalar. Private to this folder.
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <type_traits>
#include <utility>

#include "kernel/gradients/adjointness/adjointness.h"
#include "kernel/gradients/adjointness/jacobian.h"
#include "kernel/gradients/numbers/modular.h"
#include "kernel/gradients/numbers/opaque.h"
#include "semantics/numbers/rational.h"
#include "semantics/numbers/selection.h"

namespace assay::gradients::adjointness {

inline std::string text(const Modular& a) { return a.is_undefined() ? "a quotient by 0" : std::to_string(a.value()) + " modulo 2^61 - 1"; }
inline std::string text(const Rational& a) { return a.to_string(); }
// The shortest decimal that reads back as this double.
inline std::string text(double a) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), a).ptr};
}
inline std::string text(const Interval& a) {
  return a.is_undefined() ? std::string("undefined") : std::string("[").append(text(a.lo())).append(", ").append(text(a.hi())).append("]");
}
inline std::string text(const Opaque& a) {
  return (a.has_residue() ? std::to_string(a.residue()) + " modulo " + std::to_string(Opaque::kPrime) : "no residue") + " in " +
         text(a.guide());
}

// Whether a number can be compared. A point is useless if the meaning, or the residue of either side, is missing.
inline bool is_usable(const Rational&) { return true; }
inline bool is_usable(Modular a) { return !a.is_undefined(); }
inline bool is_usable(const Opaque& a) { return a.has_residue() && !a.guide().is_undefined(); }
// A3: whether there is a real value, whatever the residues.
inline bool has_value(const Rational&) { return true; }
inline bool has_value(Modular) { return true; }
inline bool has_value(const Opaque& a) { return !a.guide().is_undefined() && !is_infinite(a); }

inline bool is_same(const Rational& a, const Rational& b) { return a == b; }
inline bool is_same(Modular a, Modular b) { return a == b; }
inline bool is_same(const Opaque& a, const Opaque& b) { return a == b; }
template <class S>
inline bool is_zero(const S& a) {
  return is_same(a, S{});
}
// Whether the real numbers at the point of the guides certainly differ, whatever the residues.
inline bool must_differ(const Rational& a, const Rational& b) { return a != b; }
inline bool must_differ(Modular, Modular) { return false; }
inline bool must_differ(const Opaque& a, const Opaque& b) {
  return has_value(a) && has_value(b) && !compare(a.guide(), b.guide()).may_be_equal;
}

inline Rejection broken(const char* code, const AdjointCase& one, std::string place, const char* required, std::string found) {
  return {Rejection::Kind::rejected,
          code,
          "case '" + one.name + "', " + std::move(place),
          required,
          std::move(found),
          "kernel/gradients/adjointness/adjointness.h"};
}

// "d y[3] / d x1[2]"
inline std::string entry_name(const Graph& graph, std::size_t i, std::size_t j) {
  for (const std::size_t k : real_inputs(graph)) {
    const std::size_t size = graph.size(graph.inputs[k]);
    if (i < size) return "d y[" + std::to_string(j) + "] / d " + graph.input_names[k] + "[" + std::to_string(i) + "]";
    i -= size;
  }
  return "an entry";
}

// Whether the point could be used; a rejection if the two sides differ. It is declined if only their residues do (wide.h).
template <class S>
Outcome<bool> check_pair(const AdjointCase& one, const std::string& place, const S& rule, const S& meaning) {
  if (has_value(meaning) && !has_value(rule)) {
    return broken("adjointness.domain", one, place, "a value where the meaning has a derivative", text(rule) + " for " + text(meaning));
  }
  const bool usable = is_usable(rule) && is_usable(meaning), differ = must_differ(rule, meaning);
  if (!differ && (!usable || is_same(rule, meaning))) return usable;
  Rejection why = broken("adjointness.entry", one, place, "J^T by the rule = J by the meaning", text(rule) + " and " + text(meaning));
  if (std::is_same_v<S, Opaque> && !differ) why.kind = Rejection::Kind::declined, why.code = "adjointness.identity";
  return why;
}

}  // namespace assay::gradients::adjointness
