// Notes of a captured function on its gradients: in names of the session while it runs, then in nodes of the graph.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/observer.h"

namespace assay::runtime {

template <class Name>
struct GradientNotes {
  // The cotangents of operands that one op's rule made of the cotangent of its result.
  struct Product {
    std::size_t gradient = 0;
    Name of{}, cotangent{};
    std::vector<std::pair<std::uint32_t, Name>> cotangents;  // operand, its cotangent
  };
  struct Gradient {
    Name output{}, seed{};
    std::vector<std::pair<Name, Name>> of;  // value, its gradient
  };
  std::vector<Product> products;
  std::map<std::size_t, Gradient> gradients;  // by number, from 0
};

// Takes the notes of a session.
class GradientNoteTaker : public Observer {
 public:
  [[nodiscard]] const GradientNotes<Ref>& notes() const { return notes_; }

  void given(Ref, const Array&, std::string_view) override {}
  void ran(Op op, const Attributes& attributes, std::span<const Ref> operands, std::span<const Array* const> contents, Ref result,
           const Array& result_content, Role role) override;
  void sent(Ref node, std::size_t operand, Ref cotangent) override;
  void seeded(Ref output, Ref seed) override;
  void differentiated(Ref output, Ref seed, std::span<const Ref> leaves, std::span<const Ref> bars) override;
  void forgotten(Ref first) override;

 private:
  GradientNotes<Ref> notes_;
  std::map<Ref, std::vector<Ref>> operands_;
  std::map<Ref, Ref> totals_;  // value, its cotangent as far as it was summed up
};

// The notes under other names, without what has none.
template <class To, class From, class Rename>
[[nodiscard]] GradientNotes<To> renamed(const GradientNotes<From>& notes, const Rename& rename) {
  GradientNotes<To> result;
  for (const auto& product : notes.products) {
    const std::optional<To> of = rename(product.of), cotangent = rename(product.cotangent);
    if (!of || !cotangent) continue;
    result.products.push_back({product.gradient, *of, *cotangent, {}});
    for (const auto& [operand, name] : product.cotangents) {
      if (const std::optional<To> sent = rename(name)) result.products.back().cotangents.emplace_back(operand, *sent);
    }
  }
  for (const auto& [number, gradient] : notes.gradients) {
    const std::optional<To> output = rename(gradient.output), seed = rename(gradient.seed);
    if (!output || !seed) continue;
    auto& named = result.gradients[number] = {*output, *seed, {}};
    for (const auto& [value, bar] : gradient.of) {
      const std::optional<To> of = rename(value), is = rename(bar);
      if (of && is) named.of.emplace_back(*of, *is);
    }
  }
  return result;
}

}  // namespace assay::runtime
