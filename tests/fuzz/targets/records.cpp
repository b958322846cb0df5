// The records of a certificate behind a right header and right checksums: the first byte chooses the statement, the others are
// the payload of one frame. Replay goes as deep as the records do. The records that the reader accepts are written and read
// again: the same records, with the same outcome.
#include "tests/fuzz/targets/proofs.h"

using namespace assay;

namespace {

// Returns nothing if the reader refuses one of them.
std::vector<certificate::Record> records_of(const std::string& path, const Graph& graph) {
  auto reader = certificate::Reader::open(path);
  std::vector<certificate::Record> records;
  while (reader) {
    const auto next = reader.value()->next(&graph);
    if (!next || records.size() > 10'000) return {};
    if (next.value() == nullptr) return records;
    const certificate::Record& record = *next.value();
    // A decimal may be longer as a fraction than the format allows.
    for (const Rational& x : record.witness.inputs) {
      if (x.to_string().size() > 1000) return {};
    }
    records.push_back(record);
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile kFile;
  const auto& statements = fuzz::statements();
  if (size == 0) return 0;
  const fuzz::Bounded bounded;
  const fuzz::Decided& one = statements[data[0] % statements.size()];
  const std::string semantics = to_string(one.problem->statement().semantics);
  const auto file_of = [&](const std::string& records) { return fuzz::certificate_of(one.problem->digest(), semantics, records); };
  const std::string& path = kFile.put(file_of(std::string(fuzz::text_of(data + 1, size - 1))));
  const bool accepted = fuzz::expect_truth(fuzz::replayed(path, one.problem), one);
  const std::vector<certificate::Record> records = records_of(path, one.problem->graph());
  if (records.empty()) return 0;
  const std::string written = fuzz::written(records);
  (void)kFile.put(file_of(written));
  fuzz::expect(fuzz::written(records_of(path, one.problem->graph())) == written, "records that were written are read as they were");
  fuzz::expect(fuzz::expect_truth(fuzz::replayed(path, one.problem), one) == accepted, "records that were written again show the same");
  return 0;
}
