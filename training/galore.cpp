#include "training/galore.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "runtime/functions.h"
#include "semantics/demand.h"

namespace assay::training {

namespace {

constexpr int kSweeps = 40;  // far more than rotations need; a NaN never settles
constexpr const char* kProjector = "projector";

// Rows of equal length, one after the other.
struct Rows {
  std::size_t length;
  std::vector<double> elements;
  [[nodiscard]] std::span<double> operator[](std::size_t i) { return std::span(elements).subspan(i * length, length); }
};

Rows along_shorter_side(const Array& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.shape()[0]), columns = static_cast<std::size_t>(matrix.shape()[1]);
  const bool tall = rows > columns;
  Rows result{std::max(rows, columns), std::vector<double>(matrix.size())};
  const auto fill = [&](const auto elements) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) result.elements[tall ? j * rows + i : i * columns + j] = elements[i * columns + j];
    }
  };
  matrix.dtype() == DType::float32 ? fill(matrix.data<float>()) : fill(matrix.data<double>());
  return result;
}

void rotate(std::span<double> a, std::span<double> b, double cosine, double sine) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double x = a[k], y = b[k];
    a[k] = cosine * x - sine * y;
    b[k] = sine * x + cosine * y;
  }
}

// Turns two rows so that they are orthogonal, and two of `turns` in the same way; false where they were, but for rounding.
bool made_orthogonal(std::span<double> a, std::span<double> b, std::span<double> turn_a, std::span<double> turn_b) {
  double aa = 0, bb = 0, ab = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    aa += a[k] * a[k];
    bb += b[k] * b[k];
    ab += a[k] * b[k];
  }
  if (!(std::abs(ab) > 0x1p-52 * static_cast<double>(a.size()) * std::sqrt(aa) * std::sqrt(bb))) return false;
  const double ratio = (bb - aa) / (2 * ab);  // the cotangent of twice the angle
  const double tangent = std::copysign(1 / (std::abs(ratio) + std::hypot(1, ratio)), ratio);
  const double cosine = 1 / std::hypot(1, tangent);
  rotate(a, b, cosine, cosine * tangent);
  rotate(turn_a, turn_b, cosine, cosine * tangent);
  return true;
}

}  // namespace

Array leading_singular_vectors(const Array& matrix, std::int64_t rank) {
  demand(matrix.shape().size() == 2 && is_float(matrix.dtype()), "leading_singular_vectors: a matrix of floats");
  demand(rank >= 0 && rank <= std::min(matrix.shape()[0], matrix.shape()[1]), "leading_singular_vectors: a rank that the matrix can have");
  Rows rows = along_shorter_side(matrix);
  const std::size_t count = rows.length == 0 ? 0 : rows.elements.size() / rows.length;
  Rows turns{count, std::vector<double>(count * count)};
  for (std::size_t i = 0; i < count; ++i) turns[i][i] = 1;
  bool turned = true;
  for (int sweep = 0; turned && sweep < kSweeps; ++sweep) {
    turned = false;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) turned = made_orthogonal(rows[i], rows[j], turns[i], turns[j]) || turned;
    }
  }
  std::vector<double> sizes;  // of the rows that are left
  for (std::size_t i = 0; i < count; ++i) {
    double size = 0;
    for (const double x : rows[i]) size += x * x;
    sizes.push_back(std::isfinite(size) ? size : 0);
  }
  Array result = Array::empty(matrix.dtype(), {rank, static_cast<std::int64_t>(count)});
  for (std::size_t r = 0; r < static_cast<std::size_t>(rank); ++r) {
    const auto largest = std::ranges::max_element(sizes);
    *largest = -1;
    const std::span<double> row = turns[static_cast<std::size_t>(largest - sizes.begin())];
    const auto farthest = std::ranges::max_element(row, {}, [](double x) { return std::abs(x); });
    const double sign = *farthest < 0 ? -1 : 1;
    const auto write = [&]<class T>(std::span<T> elements) {
      for (std::size_t j = 0; j < count; ++j) elements[r * count + j] = static_cast<T>(sign * row[j]);
    };
    result.dtype() == DType::float32 ? write(result.data<float>()) : write(result.data<double>());
  }
  return result;
}

GaLore::GaLore(Session& session, std::unique_ptr<Optimiser> inner, const GaLoreOptions& options)
    : Optimiser(session, inner->parameters(), inner->rate()),
      inner_(std::move(inner)),
      options_(options),
      kind_("galore " + std::string(inner_->kind())),
      projectors_(parameters().size()) {
  demand(options.rank >= 1 && options.interval >= 1, "GaLore: a rank and an interval of 1 and more");
  demand(!inner_->kind().starts_with("galore"), "GaLore: around another optimiser");
}

bool GaLore::projects(std::size_t which) const {
  const Shape& shape = parameters()[which].shape();
  return shape.size() == 2 && std::min(shape[0], shape[1]) > options_.rank;
}

Shape GaLore::state_shape(std::string_view list, std::size_t which) const {
  const Shape& shape = parameters()[which].shape();
  const bool is_projector = list == kProjector;
  if (!projects(which)) return is_projector ? Shape{0, 0} : shape;
  if (is_projector) return {options_.rank, std::min(shape[0], shape[1])};
  return shape[0] > shape[1] ? Shape{shape[0], options_.rank} : Shape{options_.rank, shape[1]};
}

Outcome<std::vector<Array>> GaLore::inner_step(runtime::Mirror* device, std::size_t which, const Array& parameter, const Array& gradient) {
  inner_->steps_ = steps();
  inner_->set_rate(rate());
  if (device != nullptr) return inner_->next_on(*device, which, parameter, gradient);
  auto made = inner_->next(which, parameter, gradient);
  if (!made) return made.rejection();
  return std::vector<Array>{std::move(made).value()};
}

Outcome<std::vector<Array>> GaLore::stepped(runtime::Mirror* device, std::size_t which, const Array& parameter, const Array& gradient) {
  using namespace runtime;
  const NoGrad scope(session());
  const double stays = 1 - rate() * options_.weight_decay;
  const Value before = session().input(parameter), decayed = stays == 1 ? before : stays * before;
  if (!decayed.ok()) return *session().failure();
  Array projector = projectors_[which];
  if (!projects(which)) {
    auto made = inner_step(device, which, decayed.array(), gradient);
    if (made.ok()) made.value().push_back(projector);
    return made;
  }
  if ((steps() - 1) % options_.interval == 0) {
    if (auto here = gradient.fetch(); !here) return here.rejection();
    projector = leading_singular_vectors(gradient, options_.rank);
  }
  const bool tall = parameter.shape()[0] > parameter.shape()[1];
  const Value down = session().input(projector), up = permute(down, {1, 0}), g = session().input(gradient);
  const Value reduced = tall ? matmul(g, up) : matmul(down, g), stand_in = expand(session().number(0, g.dtype()), reduced.shape());
  if (!reduced.ok()) return *session().failure();
  auto made = inner_step(device, which, stand_in.array(), reduced.array());
  if (!made) return made.rejection();
  const Value change = session().input(made.value()[0]);
  const Value result = decayed + options_.scale * (tall ? matmul(change, down) : matmul(up, change));
  if (!result.ok()) return *session().failure();
  made.value()[0] = result.array();
  made.value().push_back(projector);
  return made;
}

Outcome<Array> GaLore::next(std::size_t which, const Array& parameter, const Array& gradient) {
  auto made = stepped(nullptr, which, parameter, gradient);
  if (!made) return made.rejection();
  projectors_[which] = made.value().back();
  return made.value().front();
}

Outcome<std::vector<Array>> GaLore::next_on(runtime::Mirror& device, std::size_t which, const Array& parameter, const Array& gradient) {
  return stepped(&device, which, parameter, gradient);
}

std::vector<Optimiser::Kept> GaLore::states() {
  std::vector<Kept> all = inner_->states();
  all.push_back({kProjector, &projectors_});
  return all;
}

}  // namespace assay::training
