// A proof of two_groups() with every kind of step, as a certificate's bytes.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "certificates/check/session.h"
#include "tests/certificates/format/problems.h"

namespace assay::test {

inline constexpr NodeId kInput = 0, kZ = 3, kRelu = 4, kY = 6;  // of small_net()

inline const std::vector<logic::CaseMultipliers> kFirst{{0, {}}}, kSecond{{1, {}}}, kBoth{{0, {}}, {1, {}}};

inline certificate::Fragment conclude(std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints = {}) {
  certificate::Fragment steps;
  steps.conclude(cases, hints);
  return steps;
}

// The proof of two_groups(), using every kind of step but a witness.
inline void write_proof(certificate::Writer& writer) {
  const float infinity = std::numeric_limits<float>::infinity();
  logic::Hints beta_first, beta_second;  // one multiplier per open split: x[0], z[0], z[1]
  beta_first.beta = {0, 1, 0};
  beta_second.beta = {0, 0, 1};
  certificate::Fragment root;
  for (const NodeId node : {kZ, kRelu, kY}) root.box(node);
  const logic::Claims claims{{-1.5f, -infinity}, {2.0f, 1.875f}};
  root.tighten(kZ, {inspect::Selection::Kind::all, {}}, {}, &claims, false);
  root.tighten(kZ, {inspect::Selection::Kind::mask, {true, false}}, {}, nullptr, true);
  logic::Hints slopes;
  slopes.lower[kRelu] = {0.0f, 0.5f};
  root.define_hints(0, slopes);
  logic::Hints changed = slopes;
  changed.lower[kRelu][1] = 0.25f;
  changed.beta = {0.5f, 0.25f};
  const logic::Literal at_half{kInput, 1, false, 0.5}, at_zero{kZ, 0, false, 0};
  root.tighten_by_cases(kY, {inspect::Selection::Kind::all, {}},
                        std::vector<certificate::CaseStep>{{at_half, {}}, {at_zero, {}}, {{}, changed}, {{}, {}}, {{}, slopes}}, true);
  root.cut(std::vector<logic::Cut::Term>{{kRelu, 0, 1}, {kRelu, 1, -0.5F}},
           std::vector<certificate::CaseStep>{{at_zero, {}}, {{}, slopes}, {{}, {}}});
  beta_second.cuts = {0.0078125F};
  certificate::Fragment nothing;  // x[0] >= 3 has no point of the box
  nothing.empty();
  certificate::Fragment first_with_hints, swept;
  swept.sweep(kRelu, false);
  first_with_hints.conclude_with(kFirst, 0, beta_first.beta);

  writer.begin_group(0);
  writer.append(root);
  writer.split(kInput, 0, 2.9);
  writer.split(kZ, 0, 0.0);
  writer.split(kZ, 1, 0.0);
  writer.append(swept);
  writer.append(conclude(kBoth));
  writer.next();  // z0 <= 0 <= z1
  writer.append(first_with_hints);
  writer.append(conclude(kSecond, beta_second));
  writer.done();
  writer.next();
  writer.split(kZ, 1, 0.0);  // z1 <= 0 <= z0
  writer.append(conclude(kFirst, beta_first));
  writer.append(conclude(kSecond, beta_second));
  writer.next();
  writer.append(conclude(kBoth));
  writer.done();
  writer.done();
  writer.next();
  writer.append(nothing);
  writer.done();
  writer.end_group();

  certificate::Fragment plain;
  plain.boxes(kZ);
  plain.sweep(0, true);
  writer.begin_group(1);
  writer.append(plain);
  writer.append(conclude(kFirst));
  writer.end_group();
}

inline std::string proof_bytes() {
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), *two_groups());
  REQUIRE(writer.ok());
  write_proof(*writer.value());
  REQUIRE(writer.value()->finish().ok());
  return file.bytes();
}

}  // namespace assay::test
