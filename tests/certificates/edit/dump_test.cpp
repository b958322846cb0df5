// The text form of certificates.
#include "certificates/edit/dump.h"
#include "tests/certificates/format/problems.h"

using namespace assay;
using namespace assay::test;

TEST_CASE("a dump shows one line per record, indented by depth, and counts them") {
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), *two_groups());
  REQUIRE(writer.ok());
  certificate::Fragment root, leaf, hinted;
  root.sweep(2, true);
  logic::Hints hints;
  hints.lower[4] = {0.5f, 0.25f};
  hinted.define_hints(0, hints);
  hinted.tighten(3, {inspect::Selection::Kind::mask, {true, false}}, hints, nullptr, false);
  const std::vector<logic::CaseMultipliers> cases{{0, {}}, {1, {2.0f}}};
  leaf.conclude(cases, {});
  writer.value()->begin_group(0);
  writer.value()->append(root);
  writer.value()->split(3, 1, 0.5);
  writer.value()->append(hinted);
  writer.value()->append(leaf);
  writer.value()->next();
  writer.value()->append(leaf);
  writer.value()->done();
  writer.value()->end_group();
  const auto bytes = writer.value()->finish();
  REQUIRE(bytes.ok());

  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  CHECK(certificate::header_text(reader.value()->header()).starts_with("certificate version 1, "));
  std::vector<std::string> lines;
  const auto summary = certificate::dump(*reader.value(), [&](const std::string& line) { lines.push_back(line); });
  REQUIRE(summary.ok());
  const std::vector<std::string> expected{
      "begin_group 0",
      "  sweep from node 2, rounded to float32",
      "  split node 3[1] at 0.5",
      "    define_hints 0, lower of node 4 (2)",
      "    tighten node 3 mask of 1/2, lower of node 4 (2)",
      "    conclude cases 0 1*1",
      "  next",
      "    conclude cases 0 1*1",
      "  done",
      "end_group",
  };
  CHECK(lines == expected);
  CHECK(summary.value().depth == 1);
  CHECK(summary.value().frames == 1);
  CHECK(summary.value().file_bytes == bytes.value());
  CHECK(summary.value().records[static_cast<std::size_t>(certificate::RecordType::conclude)] == 2);
  const std::string text = certificate::summary_text(summary.value());
  CHECK(text.find("conclude                    2 records") != std::string::npos);
  CHECK(text.find("depth 1, 1 frame, ") != std::string::npos);
}

TEST_CASE("a dump of hostile bytes ends with a rejection") {
  const Parts parts = [] {
    const TemporaryFile file;
    auto writer = certificate::Writer::open(file.path(), *reachable());
    REQUIRE(writer.ok());
    writer.value()->witness({0, {Rational(1)}});
    REQUIRE(writer.value()->finish().ok());
    return Parts::of(file.bytes());
  }();
  const auto code_of = [&](const std::string& records) {
    Parts bent = parts;
    bent.records = records;
    const TemporaryFile file;
    file.put(bent.file());
    auto reader = certificate::Reader::open(file.path());
    REQUIRE(reader.ok());
    const auto summary = certificate::dump(*reader.value(), nullptr);
    return summary ? std::string() : summary.rejection().code;
  };
  CHECK(code_of(parts.records).empty());
  CHECK(code_of("\x0e\x0e\x0d").empty());  // structure is not the dump's business
  CHECK(code_of(std::string("\x07\x01\x01\x01\x04\xff\xff\xff\xff\x0f", 10)) == "certificate.hint");   // 2^32 elements
  CHECK(code_of(std::string("\x07\x01\x01\x01\xff\xff\xff\xff\x0f\x01", 10)) == "certificate.value");  // node 2^32 - 1
  CHECK(code_of("\x63") == "certificate.record");
}
