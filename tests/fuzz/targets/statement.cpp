// Statement files: canonical bytes, which the reader compares itself; an accepted statement is opened and swept.
#include "tests/fuzz/targets/statements.h"

using namespace assay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bounded bounded;
  const auto bytes = fuzz::bytes_of(fuzz::text_of(data, size));
  auto statement = statement_file::parse(bytes, "s");
  if (!statement) return 0;
  const auto written = statement::statement_bytes(statement.value());
  fuzz::expect(std::ranges::equal(written, bytes), "the bytes that were read are those that would be written");
  if (validate(statement.value().graph).empty()) fuzz::decide(std::move(statement).value(), size);
  return 0;
}
