// Texts that are numbers or names: execution models (in traces, statements and options), exact decimals and fractions (in properties,
// statements and witnesses), and what options measure in seconds, bytes and multiply-adds.
#include <cmath>

#include "cli/units.h"
#include "semantics/graph/execution_model.h"
#include "semantics/numbers/rational.h"
#include "tests/fuzz/targets/target.h"

using namespace assay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bounded bounded;
  const std::string text(fuzz::text_of(data, size));
  if (const auto model = parse_execution_model(text)) {
    const std::string spelled = to_string(model.value());
    const auto again = parse_execution_model(spelled);
    fuzz::expect_ok(again, "a model that was spelled can be read: " + spelled);
    fuzz::expect(again.value() == model.value() && to_string(again.value()) == spelled, "a model has one spelling: " + spelled);
    fuzz::expect(validate(model.value()).empty(), "a model that was read is valid: " + spelled);
  }
  if (const auto value = Rational::parse(text)) {
    const auto again = Rational::parse(value->to_string());
    fuzz::expect(again && *again == *value, "a number that was written is the same number");
  }
  double number = 0;
  std::uint64_t bytes = 0;
  if (cli::parse_seconds(text, number)) fuzz::expect(number >= 0, "seconds are no less than 0");
  if (cli::parse_work(text, number)) fuzz::expect(number >= 0, "work is no less than 0");
  (void)cli::parse_bytes(text, bytes);
  return 0;
}
