// The audit: a run passes, and each way to break it alone is found and named.
#include <algorithm>

#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

audit::RegionAudit audit_of(const Trace& trace, std::size_t region) {
  auto audit = audit::audit_region(trace, region);
  if (!audit) FAIL(audit.rejection().to_text());
  return std::move(audit).value();
}

std::string continuity_code(const Trace& trace) {
  const auto fine = audit::check_continuity(trace);
  return fine ? "" : fine.rejection().code;
}

std::size_t region_of(const Trace& trace, TraceTensorId result) {
  const auto found = std::ranges::find_if(trace.regions, [&](const Region& one) { return one.results[0] == result; });
  return static_cast<std::size_t>(found - trace.regions.begin());
}

}  // namespace

TEST_CASE("audit: a recorded step passes, every element of it", "[audit]") {
  const Trace trace = training_step().run.trace;
  REQUIRE(continuity_code(trace).empty());
  std::size_t elements = 0, passed = 0;
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const audit::RegionAudit audit = audit_of(trace, r);
    elements += trace.tensors[trace.regions[r].results[0]].value.size();
    passed += audit.total().passed;
    CHECK_FALSE(audit.first);
  }
  CHECK(passed == elements);
}

TEST_CASE("audit: where rounding is exact, one step off is a failure, with its place and its size", "[audit]") {
  Step step = training_step();
  Trace& trace = step.run.trace;
  for (const auto& [id, element, steps] : {std::tuple{step.z, 4U, 1}, std::tuple{step.z, 0U, -1}, std::tuple{step.h_bar, 2U, 3}}) {
    const Tensor right = trace.tensors[id].value;
    trace.tensors[id].value = moved(right, element, steps);
    const audit::RegionAudit audit = audit_of(trace, region_of(trace, id));
    CHECK(audit.total().failed == 1);
    REQUIRE(audit.first);
    CHECK(audit.first->element == element);
    CHECK(audit.first->steps == std::abs(steps));
    CHECK(audit.first->text.find("element " + std::to_string(element)) == 0);
    trace.tensors[id].value = right;
  }
}

TEST_CASE("audit: a gemm of few terms fails a few steps off, and the worst element is the one that is furthest off", "[audit]") {
  Step step = training_step();
  Trace& trace = step.run.trace;
  const TraceTensorId y = trace.regions[0].results[0];
  const Tensor right = trace.tensors[y].value;
  trace.tensors[y].value = moved(moved(right, 1, 40), 3, 4000);
  const audit::RegionAudit audit = audit_of(trace, 0);
  CHECK(audit.total().failed == 2);
  REQUIRE((audit.first && audit.worst));
  CHECK(audit.first->element == 1);
  CHECK(audit.worst->element == 3);
  CHECK(audit.worst->allowance_units > audit.first->allowance_units);
  CHECK(audit.first->allowance_units > 1);
}

TEST_CASE("audit: NaN and infinities that nothing explains fail", "[audit]") {
  Step step = training_step();
  Trace& trace = step.run.trace;
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    trace.tensors[step.loss].value = Tensor::of_floats({}, std::vector<float>{wrong});
    const audit::RegionAudit audit = audit_of(trace, region_of(trace, step.loss));
    CHECK(audit.total().failed == 1);
    REQUIRE(audit.worst);
    CHECK(std::isinf(audit.worst->steps));
  }
}

TEST_CASE("audit: an op without a contract is unsupported, never passed", "[audit]") {
  Trace trace = training_step().run.trace;
  trace.regions[0].model.format = ExecutionModel::Format::binary64;  // the tensors are float32
  const audit::RegionAudit audit = audit_of(trace, 0);
  CHECK(audit.total().unsupported == 6);
  CHECK(audit.total().passed == 0);
  REQUIRE(audit.unsupported);
}

TEST_CASE("audit: a trace that is no unbroken run is refused by name", "[audit]") {
  const Step step = training_step();
  const Trace& whole = step.run.trace;
  struct Break {
    const char* code;
    void (*apply)(Trace&, const Step&);
  };
  const Break table[] = {
      {"audit.operand", [](Trace& t, const Step&) { std::swap(t.regions[0], t.regions[1]); }},
      {"audit.operand", [](Trace& t, const Step&) { t.regions.erase(t.regions.begin() + 2); }},
      {"audit.operand", [](Trace& t, const Step&) { t.tensors[0].origin = Trace::Origin::result; }},
      {"audit.operand", [](Trace& t, const Step&) { t.regions[0].operands[0] = 1000; }},
      {"audit.result", [](Trace& t, const Step& s) { t.regions.back().results[0] = s.h; }},
      {"audit.result", [](Trace& t, const Step& s) { t.tensors[s.h].origin = Trace::Origin::input; }},
      {"audit.origin", [](Trace& t, const Step&) { t.regions.pop_back(); }},
      {"audit.origin",
       [](Trace& t, const Step&) {
         t.tensors.push_back({"stray", Trace::Origin::result, t.tensors[0].value});
       }},
      {"audit.shape",
       [](Trace& t, const Step& s) {
         t.tensors[s.h].value = t.tensors[s.h].value.reshaped({2, 3});
       }},
      {"audit.shape",
       [](Trace& t, const Step& s) {
         t.tensors[s.w].value = Tensor::of_doubles({2, 2}, std::vector<double>{1, 2, 3, 4});
       }},
      {"audit.region", [](Trace& t, const Step&) { t.regions[0].operands.pop_back(); }},
      {"audit.region", [](Trace& t, const Step&) { t.regions[0].graph.nodes.back().shape = {7}; }},
      {"audit.vjp", [](Trace& t, const Step&) { t.vjps[0].of = 99; }},
      {"audit.vjp", [](Trace& t, const Step&) { t.vjps[0].result = 1; }},
      {"audit.vjp", [](Trace& t, const Step& s) { t.vjps[0].cotangent = s.h; }},
      {"audit.vjp", [](Trace& t, const Step&) { t.vjps[0].cotangents[0].first = 1; }},
      {"audit.vjp", [](Trace& t, const Step&) { t.vjps[1].cotangents[1].first = 0; }},
      {"audit.gradient", [](Trace& t, const Step& s) { t.gradients[0].of[0].second = s.b_bar; }},
      {"audit.gradient", [](Trace& t, const Step& s) { t.gradients[0].seed = s.h; }},
  };
  for (const Break& one : table) {
    Trace trace = whole;
    one.apply(trace, step);
    INFO("row " << &one - table);
    CHECK(continuity_code(trace) == one.code);
    const std::string advice = audit::check_continuity(trace).rejection().advice;
    CHECK(advice.find("kernel/") == std::string::npos);  // what to do, and no file of the sources
    if (one.code == std::string("audit.shape")) CHECK(advice.starts_with("give a result of "));
  }
}
