#include "kernel/gradients/numbers/modular.h"

#include <gmp.h>

#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

Modular draw(Operands& operands) {
  const std::int64_t edges[] = {
      0, 1, 2, -1, -2, static_cast<std::int64_t>(Modular::kPrime) - 1, static_cast<std::int64_t>(Modular::kPrime), INT64_MAX, INT64_MIN};
  return operands.bits() % 4 == 0 ? Modular(edges[operands.bits() % 9]) : Modular(static_cast<std::int64_t>(operands.bits()));
}

}  // namespace

TEST_CASE("modular: the modulus is prime", "[numbers]") {
  mpz_t p;
  mpz_init_set_ui(p, Modular::kPrime);
  CHECK(mpz_probab_prime_p(p, 50) > 0);
  mpz_clear(p);
}

TEST_CASE("modular: field laws on random and extreme elements", "[numbers]") {
  Operands operands(41);
  Mismatches result;
  const Modular zero;
  const Modular one(1);
  for (int i = 0; i < 50000; ++i) {
    const Modular a = draw(operands);
    const Modular b = draw(operands);
    const Modular c = draw(operands);
    const std::string which = std::to_string(a.value()) + " " + std::to_string(b.value()) + " " + std::to_string(c.value());
    result.expect(a.value() < Modular::kPrime, which);
    result.expect((a + b) + c == a + (b + c) && a + b == b + a && a + zero == a && a + (-a) == zero && a - b == a + (-b), "sum " + which);
    result.expect((a * b) * c == a * (b * c) && a * b == b * a && a * one == a, "product " + which);
    result.expect(a * (b + c) == a * b + a * c, "distributive " + which);
    if (a.value() != 0) {
      result.expect(a * a.inverse() == one && (b / a) * a == b && pow(a, -3) * a * a * a == one, "inverse " + which);
    }
    result.expect(pow(a, 5) == a * a * a * a * a && square(a) == a * a, "power " + which);
  }
  INFO("seed 41: " << result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("modular: products equal GMP's remainders", "[numbers]") {
  Operands operands(42);
  Mismatches result;
  mpz_t product;
  mpz_init(product);
  for (int i = 0; i < 50000; ++i) {
    const Modular a = draw(operands);
    const Modular b = draw(operands);
    mpz_set_ui(product, a.value());
    mpz_mul_ui(product, product, b.value());
    result.expect((a * b).value() == mpz_fdiv_ui(product, Modular::kPrime), std::to_string(a.value()) + " * " + std::to_string(b.value()));
  }
  mpz_clear(product);
  INFO(result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("modular: conversion from double and Rational is a ring homomorphism", "[numbers]") {
  Operands operands(43);
  Mismatches result;
  for (int i = 0; i < 20000; ++i) {
    const double a = operands.finite();
    const double b = operands.finite();
    const Rational x = *Rational::from_double(a);
    const Rational y = *Rational::from_double(b);
    const Modular p = Modular::from_double(a);
    const Modular q = Modular::from_double(b);
    result.expect_lazily(p == Modular::from_rational(x), [&] { return hex(a); });
    result.expect_lazily(p + q == Modular::from_rational(x + y) && p * q == Modular::from_rational(x * y),
                         [&] { return hex(a) + " " + hex(b); });
    if (y.sign() != 0 && q.value() != 0) {
      result.expect_lazily(p / q == Modular::from_rational(x / y), [&] { return hex(a) + " / " + hex(b); });
    }
  }
  INFO("seed 43: " << result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("modular: undefined comes from division by zero and from what is not a number, and is contagious", "[numbers]") {
  const Modular u = Modular(1) / Modular(0);
  CHECK(u.is_undefined());
  CHECK_FALSE(u == u);
  CHECK((u + Modular(1)).is_undefined());
  CHECK((Modular(1) - u).is_undefined());
  CHECK((u * Modular(0)).is_undefined());
  CHECK((-u).is_undefined());
  CHECK(u.inverse().is_undefined());
  CHECK(pow(u, 0).is_undefined());
  CHECK(pow(Modular(0), -1).is_undefined());
  CHECK(pow(Modular(0), 0) == Modular(1));
  CHECK(Modular::from_double(kNaN).is_undefined());
  CHECK(Modular::from_double(kInfinity).is_undefined());
  CHECK(Modular::from_rational(Rational(1, static_cast<std::int64_t>(Modular::kPrime))).is_undefined());
  CHECK(Modular(static_cast<std::int64_t>(Modular::kPrime)) == Modular(0));
}

}  // namespace assay::test
