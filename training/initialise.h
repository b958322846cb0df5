// Start values of parameters: from the session's random numbers, in its type. Fans: a weight [out, in, window...] has fan in = in
// x window.
#pragma once

#include "runtime/session.h"

namespace assay::training {

using runtime::Array;
using runtime::Session;

[[nodiscard]] Array filled(Session& session, const Shape& shape, double value);
[[nodiscard]] Array normal(Session& session, const Shape& shape, double deviation);
// Between +- 1 / sqrt(fan), or all 0 for a fan of 0: PyTorch's choice for layers and their biases.
[[nodiscard]] Array uniform_by_fan(Session& session, const Shape& shape, std::int64_t fan);
[[nodiscard]] std::int64_t fan_in(const Shape& weight);
[[nodiscard]] std::int64_t fan_out(const Shape& weight);
// sqrt(6 / (in + out)), sqrt(2 / (in + out)). Source: Glorot and Bengio 2010.
[[nodiscard]] Array glorot_uniform(Session& session, const Shape& weight);
[[nodiscard]] Array glorot_normal(Session& session, const Shape& weight);
// gain sqrt(3 / in), gain / sqrt(in); relu has gain sqrt(2). Source: He et al. 2015.
[[nodiscard]] Array he_uniform(Session& session, const Shape& weight, double gain);
[[nodiscard]] Array he_normal(Session& session, const Shape& weight, double gain);

}  // namespace assay::training
