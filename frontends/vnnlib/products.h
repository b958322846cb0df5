// Products of variables: numbered like scalars in expressions, outputs of the graph in statements.
//
// To keep rows linear, each product becomes an element of one more output of the graph, computed from the network's own inputs
// and outputs. Rows, bounds, certificates and witnesses thus need no new form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "frontends/vnnlib/lexer.h"
#include "frontends/vnnlib/signature.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"
#include "semantics/statement/statement.h"

namespace assay::vnnlib {

class Products {
 public:
  Products(const Signature& signature, Diagnostics& diagnostics, Room& room)
      : signature_(signature), diagnostics_(diagnostics), room_(room) {}

  // The scalar that stands for a * b, either of them a variable or a product. False after a complaint.
  bool multiply(Scalar a, Scalar b, Position at, Scalar& product);
  // By degree, then by variables: the order in which a comparison asks for them.
  [[nodiscard]] bool comes_before(Scalar a, Scalar b) const;
  // A product that is asked for becomes an element of the graph.
  statement::Variable variable(Scalar scalar);
  [[nodiscard]] bool empty() const { return groups_.empty(); }
  // The network's, with an output of products for each degree, and one of squares.
  [[nodiscard]] Outcome<Graph> graph() const;

 private:
  using Factors = std::vector<Scalar>;  // variables, ascending, repeated as often as they are factors
  // Products of one degree, or squares of what has half of it.
  struct Group {
    std::size_t degree = 0;
    bool of_squares = false;
    std::vector<statement::Variable> left, right;
  };
  struct Product {
    Factors factors;
    std::optional<statement::Variable> place;
  };
  [[nodiscard]] Scalar first() const { return signature_.scalar_count(); }
  [[nodiscard]] Factors factors_of(Scalar scalar) const;
  Scalar scalar_of(const Factors& factors);
  bool check(const Factors& factors, Position at);

  const Signature& signature_;
  Diagnostics& diagnostics_;
  Room& room_;
  std::vector<Product> products_;  // by scalar, from first() on
  std::vector<Group> groups_;
  std::map<Factors, Scalar> known_;
};

}  // namespace assay::vnnlib
