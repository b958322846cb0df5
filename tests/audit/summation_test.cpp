// The runtime keeps the order of summation that its recorder declares. The test measures the number of additions that a term
// passes through.
//
// A sum of ones beside a large number at place i and its negative at place j drops all ones that were added before these two met.
// Over all j the sum therefore has as many different values as there are additions on the way of term i (compare Xie et al.,
// FPRev, 2025).
#include <functional>
#include <set>

#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/catch.h"

using namespace assay;
using namespace assay::runtime;

namespace {

constexpr std::int64_t kTerms = 4096, kTogether = 512;

// Sums of the rows of an array [kTogether, kTerms].
using Sums = std::function<std::vector<double>(Session&, const Array&)>;

std::size_t additions_of(std::int64_t place, const Sums& sums) {
  constexpr float kLarge = 0x1p60F;  // beside which kTerms is nothing
  std::set<double> different;
  for (std::int64_t first = 0; first < kTerms; first += kTogether) {
    Session session({Backend::eager, DType::float32, 1, 2});
    std::vector<float> rows(static_cast<std::size_t>(kTogether * kTerms), 1);
    for (std::int64_t r = 0; r < kTogether; ++r) {
      rows[static_cast<std::size_t>(r * kTerms + place)] = kLarge;
      if (first + r != place) rows[static_cast<std::size_t>(r * kTerms + first + r)] = -kLarge;
    }
    const std::vector<double> found = sums(session, Array::from(Tensor::of_floats({kTogether, kTerms}, rows)));
    for (std::size_t r = 0; r < found.size(); ++r) {
      if (first + static_cast<std::int64_t>(r) != place) different.insert(found[r]);
    }
  }
  return different.size();
}

// The height that the recorder declares for the ops that ran; 0 for none.
std::size_t declared(const Sums& sums) {
  Session session({Backend::eager, DType::float32, 1, 2});
  Recorder recorder(session);
  static_cast<void>(sums(session, session.normal({kTogether, kTerms})));
  std::size_t height = 0;
  for (const Region& region : recorder.take().regions) height = std::max<std::size_t>(height, region.model.tree_height);
  return height;
}

std::vector<double> values_of(const Value& value, std::size_t step) {
  REQUIRE(value.ok());
  const Tensor tensor = value.array().to_tensor();
  std::vector<double> values;
  for (std::size_t i = 0; i < tensor.size(); i += step) values.push_back(tensor.as_double(i));
  return values;
}

Array ones(const Shape& shape) { return Array::from(Tensor::of_floats(shape, std::vector<float>(element_count(shape), 1))); }

}  // namespace

TEST_CASE("summation: products of matrices and reductions have the height that is declared", "[recorder]") {
  const auto product = [](std::int64_t columns, bool transpose_a, bool transpose_b) -> Sums {
    return [=](Session& session, const Array& rows) {
      Value a = session.input(rows);
      if (transpose_a) a = session.input(permute(a, {1, 0}).array());
      const Value b = session.input(ones(transpose_b ? Shape{columns, kTerms} : Shape{kTerms, columns}));
      const std::vector<Value> operands{a, b};
      return values_of(session.apply(Op::gemm, operands, GemmAttributes{1, 1, transpose_a, transpose_b}),
                       static_cast<std::size_t>(columns));
    };
  };
  const Sums along_rows = [](Session& session, const Array& rows) {
    const std::vector<Value> operands{session.input(rows)};
    return values_of(session.apply(Op::reduce_sum, operands, ReduceAttributes{{1}, false}), 1);
  };
  const Sums along_columns = [](Session& session, const Array& rows) {
    const std::vector<Value> operands{session.input(permute(session.input(rows), {1, 0}).array())};
    return values_of(session.apply(Op::reduce_sum, operands, ReduceAttributes{{0}, false}), 1);
  };
  const std::vector<std::pair<std::string, Sums>> kinds = {{"1 column", product(1, false, false)},
                                                           {"48 columns", product(48, false, false)},
                                                           {"transposed left", product(48, true, false)},
                                                           {"transposed right", product(48, false, true)},
                                                           {"rows", along_rows},
                                                           {"columns", along_columns}};
  for (const auto& [name, sums] : kinds) {
    const std::size_t most = declared(sums);
    CHECK(most > 0);
    CHECK(most < 1100);
    for (const std::int64_t place : {std::int64_t{0}, kTerms / 2 - 1, kTerms - 1}) {
      const std::size_t found = additions_of(place, sums);
      INFO(name << ", term " << place << ": " << found << " additions of at most " << most);
      CHECK(found <= most);
    }
  }
}
