#include "training/initialise.h"

#include <cmath>

#include "semantics/demand.h"

namespace assay::training {

Array filled(Session& session, const Shape& shape, double value) { return session.uniform(shape, value, value); }

Array normal(Session& session, const Shape& shape, double deviation) {
  Array values = session.normal(shape);
  if (values.dtype() == DType::float32) {
    for (float& x : values.data<float>()) x *= static_cast<float>(deviation);
  } else {
    for (double& x : values.data<double>()) x *= deviation;
  }
  return values;
}

Array uniform_by_fan(Session& session, const Shape& shape, std::int64_t fan) {
  const double most = fan > 0 ? 1 / std::sqrt(static_cast<double>(fan)) : 0;
  return session.uniform(shape, -most, most);
}

std::int64_t fan_in(const Shape& weight) {
  demand(weight.size() >= 2, "fan_in: a weight of at least two axes");
  std::int64_t fan = 1;
  for (std::size_t axis = 1; axis < weight.size(); ++axis) fan *= weight[axis];
  return fan;
}

std::int64_t fan_out(const Shape& weight) { return weight.at(1) == 0 ? 0 : fan_in(weight) / weight[1] * weight[0]; }

Array glorot_uniform(Session& session, const Shape& weight) {
  const double most = std::sqrt(6.0 / static_cast<double>(fan_in(weight) + fan_out(weight)));
  return session.uniform(weight, -most, most);
}

Array glorot_normal(Session& session, const Shape& weight) {
  return normal(session, weight, std::sqrt(2.0 / static_cast<double>(fan_in(weight) + fan_out(weight))));
}

Array he_uniform(Session& session, const Shape& weight, double gain) {
  const double most = gain * std::sqrt(3.0 / static_cast<double>(fan_in(weight)));
  return session.uniform(weight, -most, most);
}

Array he_normal(Session& session, const Shape& weight, double gain) {
  return normal(session, weight, gain / std::sqrt(static_cast<double>(fan_in(weight))));
}

}  // namespace assay::training
