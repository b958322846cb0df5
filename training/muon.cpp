#include "training/muon.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/functions.h"
#include "semantics/demand.h"

namespace assay::training {

namespace {

// The coefficients of the iteration, chosen for a steep slope at 0: what is not small ends between about 0.7 and 1.2. Source: Jordan 2024.
constexpr double kFirst = 3.4445, kThird = -4.775, kFifth = 2.0315;

}  // namespace

Muon::Muon(Session& session, std::vector<Value> parameters, const MuonOptions& options)
    : Optimiser(session, std::move(parameters), options.rate), options_(options), momentum_(this->parameters().size()) {
  for (const Value& parameter : this->parameters()) demand(parameter.shape().size() == 2, "Muon: parameters that are matrices");
}

Value Muon::orthogonal(const Value& update) const {
  using namespace runtime;
  const bool tall = update.shape()[0] > update.shape()[1];
  Value x = tall ? permute(update, {1, 0}) : update;
  x = x / apply(Op::clip, sqrt(sum(square(x))), ClipAttributes{options_.epsilon, std::numeric_limits<double>::infinity()});
  for (int i = 0; i < options_.iterations; ++i) {
    const Value gram = matmul(x, permute(x, {1, 0}));
    x = kFirst * x + matmul(kThird * gram + kFifth * matmul(gram, gram), x);
  }
  return tall ? permute(x, {1, 0}) : x;
}

std::vector<Value> Muon::stepped(std::size_t which, const Array& parameter, const Array& gradient) {
  using runtime::operator*, runtime::operator+, runtime::operator-;
  const runtime::NoGrad scope(session());
  const Value p = session().input(parameter), g = session().input(gradient), before = session().input(momentum_[which]);
  const double rows = static_cast<double>(p.shape()[0]), columns = static_cast<double>(p.shape()[1]);
  const Value momentum = before + (1 - options_.momentum) * (g - before);
  const Value update = options_.nesterov ? g + options_.momentum * (momentum - g) : momentum;
  const double size = options_.match_adamw ? 0.2 * std::sqrt(std::max(rows, columns)) : std::sqrt(std::max(1.0, rows / columns));
  return {(1 - rate() * options_.weight_decay) * p - rate() * size * orthogonal(update), momentum};
}

Outcome<Array> Muon::next(std::size_t which, const Array& parameter, const Array& gradient) {
  const std::vector<Value> made = stepped(which, parameter, gradient);
  if (!made[0].ok()) return *session().failure();
  momentum_[which] = made[1].array();
  return made[0].array();
}

Outcome<std::vector<Array>> Muon::next_on(runtime::Mirror& /*device*/, std::size_t which, const Array& parameter, const Array& gradient) {
  const std::vector<Value> made = stepped(which, parameter, gradient);
  if (!made[0].ok()) return *session().failure();
  return std::vector<Array>{made[0].array(), made[1].array()};
}

std::vector<Optimiser::Kept> Muon::states() { return {{"momentum", &momentum_}}; }

}  // namespace assay::training
