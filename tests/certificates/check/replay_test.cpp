// Whole certificates: accepted as written, and never accepted as anything else when bent.
#include <bit>
#include <limits>

#include "certificates/check/session.h"
#include "certificates/format/decoder.h"
#include "tests/certificates/format/proof.h"

using namespace assay;
using namespace assay::test;
using certificate::Fragment;
using logic::CaseMultipliers;
using logic::Hints;

namespace {

// A certificate of two_groups() made of the given records.
Verdict replay_records(const std::string& records) {
  Parts parts = Parts::of(proof_bytes());
  parts.records = records;
  return replay_bytes(parts.file(), two_groups());
}

std::string bytes_of(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

std::string encoded(float value) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>(std::bit_cast<std::uint32_t>(value) >> (8 * i) & 0xFF);
  return out;
}

std::string witness_bytes() {
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), *reachable());
  REQUIRE(writer.ok());
  writer.value()->witness({0, {Rational(1, 3), Rational(1, 7)}});
  REQUIRE(writer.value()->finish().ok());
  return file.bytes();
}

// Every single bit of `bytes` flipped in turn is refused.
void check_all_flips(const std::string& bytes, const std::shared_ptr<const logic::Problem>& problem, const std::string& theorem) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bent = bytes;
      bent[i] = static_cast<char>(bent[i] ^ (1 << bit));
      const Verdict verdict = replay_bytes(bent, problem);
      INFO("byte " << i << " bit " << bit << ": " << verdict.text);
      CHECK(!verdict.accepted);
      CHECK((verdict.text.starts_with("certificate.") || verdict.text == theorem));
    }
  }
}

}  // namespace

TEST_CASE("a proof with every kind of step is accepted") {
  const Verdict verdict = replay_bytes(proof_bytes(), two_groups());
  INFO(verdict.text << " at " << verdict.place);
  CHECK(verdict.accepted);
}

TEST_CASE("a witness is accepted") {
  const Verdict verdict = replay_bytes(witness_bytes(), reachable());
  INFO(verdict.text << " at " << verdict.place);
  CHECK(verdict.accepted);
}

TEST_CASE("statistics count what was replayed") {
  const TemporaryFile file;
  file.put(proof_bytes());
  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  certificate::ReplayStatistics statistics;
  REQUIRE(certificate::replay(*reader.value(), two_groups(), &statistics).ok());
  CHECK(statistics.splits == 4);
  CHECK(statistics.depth == 3);
  CHECK(statistics.conclusions == 8);
  CHECK(reader.value()->bytes_read() == proof_bytes().size());
}

TEST_CASE("a flipped bit is caught by form or checksum") {
  const std::string proof = proof_bytes();
  check_all_flips(proof, two_groups(), replay_bytes(proof, two_groups()).text);
}

TEST_CASE("a truncated file is never accepted") {
  for (const std::string& bytes : {proof_bytes(), witness_bytes()}) {
    const auto problem = bytes == proof_bytes() ? two_groups() : reachable();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const Verdict verdict = replay_bytes(bytes.substr(0, length), problem);
      INFO("length " << length);
      CHECK(!verdict.accepted);
      CHECK((verdict.text == "certificate.truncated" || (length < 5 && verdict.text == "certificate.magic")));
      CHECK(verdict.kind == Rejection::Kind::malformed);
    }
    CHECK(replay_bytes(bytes + "x", problem).text == "certificate.frame");
  }
}

// Under fresh checksums the kernel decides: a bent proof may still prove the same statement, and nothing else.
TEST_CASE("a bent byte under a fresh checksum proves the same theorem or none") {
  const Parts parts = Parts::of(proof_bytes());
  const auto problem = two_groups();
  const std::string theorem = replay_bytes(parts.file(), problem).text;
  int accepted = 0, refused = 0;
  for (std::size_t i = 0; i < parts.records.size(); ++i) {
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      Parts bent = parts;
      bent.records[i] = static_cast<char>(bent.records[i] ^ change);
      const Verdict verdict = replay_bytes(bent.file(), problem);
      INFO("byte " << i << " xor " << change);
      if (verdict.accepted) CHECK(verdict.text == theorem);
      ++(verdict.accepted ? accepted : refused);
    }
  }
  CHECK(refused > accepted);
}

TEST_CASE("a dropped record is caught") {
  const Parts parts = Parts::of(proof_bytes());
  const TemporaryFile file;
  file.put(parts.file());
  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  std::vector<std::pair<std::size_t, std::size_t>> places;  // offset in the records, length
  std::vector<certificate::RecordType> types;
  while (true) {
    auto record = reader.value()->next(nullptr);
    REQUIRE(record.ok());
    if (record.value() == nullptr) break;
    places.emplace_back(record.value()->offset, record.value()->bytes);
    types.push_back(record.value()->type);
  }
  const std::size_t start = places.front().first;
  for (std::size_t i = 0; i < places.size(); ++i) {
    using certificate::RecordType;
    const RecordType type = types[i];
    // Facts may be dispensable; structure and conclusions are not.
    if (type == RecordType::box || type == RecordType::tighten || type == RecordType::tighten_by_cases || type == RecordType::sweep ||
        type == RecordType::boxes)
      continue;
    Parts bent = parts;
    bent.records.erase(places[i].first - start, places[i].second);
    const Verdict verdict = replay_bytes(bent.file(), two_groups());
    INFO("record " << i + 1 << " " << to_string(type) << ": " << verdict.text);
    CHECK(!verdict.accepted);
  }
}

TEST_CASE("headers are checked one by one") {
  const std::string proof = proof_bytes();
  const auto with_header = [&](std::string header) {
    Parts parts = Parts::of(proof);
    parts.header = header + Parts::checksum(header);
    return replay_bytes(parts.file(), two_groups());
  };
  const std::string header = Parts::of(proof).header.substr(0, Parts::of(proof).header.size() - 4);
  CHECK(with_header(header).accepted);
  std::string bent = header;
  bent[0] = 'a';
  CHECK(with_header(bent).text == "certificate.magic");
  bent = header;
  bent[5] = 2;
  CHECK(with_header(bent).text == "certificate.version");
  bent = header;
  bent[6 + 31] = static_cast<char>(bent[6 + 31] ^ 1);
  CHECK(with_header(bent).text == "certificate.digest");
  CHECK(with_header(bent).kind == Rejection::Kind::rejected);
  bent = header;
  bent.back() = '?';
  CHECK(with_header(bent).text == "certificate.semantics");
  CHECK(with_header(bent).kind == Rejection::Kind::declined);
  CHECK(replay_bytes(proof, reachable()).text == "certificate.digest");
}

TEST_CASE("frames are checked one by one") {
  const Parts parts = Parts::of(proof_bytes());
  const auto problem = two_groups();
  const std::string end = Parts::frame(2, "\1"), records = Parts::frame(1, parts.records);
  CHECK(replay_bytes(parts.header + records + end, problem).accepted);
  CHECK(replay_bytes(parts.header + Parts::frame(3, parts.records) + end, problem).text == "certificate.frame");
  CHECK(replay_bytes(parts.header + Parts::frame(0, "") + end, problem).text == "certificate.frame");
  CHECK(replay_bytes(parts.header + records + Parts::frame(2, "\2"), problem).text == "certificate.frame");
  CHECK(replay_bytes(parts.header + records + Parts::frame(2, bytes_of({1, 1})), problem).text == "certificate.frame");
  CHECK(replay_bytes(parts.header + records + Parts::frame(2, ""), problem).text == "certificate.frame");
  CHECK(replay_bytes(parts.header + records + end + end, problem).text == "certificate.frame");
  CHECK(replay_bytes(parts.header + records + records + Parts::frame(2, "\2"), problem).text == "certificate.structure");
  CHECK(replay_bytes(parts.header + Parts::frame(1, "") + records + Parts::frame(2, "\2"), problem).accepted);
  std::string bent = records;
  bent.back() = static_cast<char>(bent.back() ^ 1);
  CHECK(replay_bytes(parts.header + bent + end, problem).text == "certificate.checksum");
}

TEST_CASE("absurd lengths are refused before anything is allocated") {
  const Parts parts = Parts::of(proof_bytes());
  const auto problem = two_groups();
  const auto length = [&](std::initializer_list<int> varint) {
    return replay_bytes(parts.header + "\1" + bytes_of(varint) + parts.records, problem).text;
  };
  CHECK(length({0xFF, 0xFF, 0xFF, 0xFF, 0x0F}) == "certificate.length");     // 2^32 - 1
  CHECK(length({0x81, 0x80, 0x80, 0x80, 0x04}) == "certificate.length");     // 2^30 + 1
  CHECK(length({0x80, 0x80, 0x80, 0x80, 0x04}) == "certificate.truncated");  // 2^30, in a small file
  CHECK(length({0x80, 0x80, 0x80, 0x80, 0x80}) == "certificate.varint");     // longer than 5 bytes
  CHECK(length({0x85, 0x00}) == "certificate.varint");                       // not minimal
  const std::string open = bytes_of({1, 0});                                 // begin_group 0
  const std::string huge = bytes_of({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01});
  CHECK(replay_records(open + bytes_of({5, kZ, 0x20}) + huge).text == "certificate.length");        // claims
  CHECK(replay_records(open + bytes_of({7}) + huge + bytes_of({0})).text == "certificate.length");  // cases
  CHECK(replay_records(open + bytes_of({7, 2, 1}) + huge).text == "certificate.hint");              // rows of a case
  CHECK(replay_records(open + bytes_of({7, 1, 1}) + huge).text == "certificate.length");            // slopes
  CHECK(replay_records(open + bytes_of({7, 1, 1, 1, kRelu}) + huge).text == "certificate.hint");    // elements of one
  CHECK(replay_records(open + bytes_of({5, kZ, 0x10}) + huge).text == "certificate.hint");          // mask
  CHECK(replay_records(bytes_of({15, 0}) + huge).text == "certificate.length");                     // witness
  CHECK(replay_records(bytes_of({15, 0, 1}) + huge).text == "certificate.length");                  // digits
}

TEST_CASE("varints have one form") {
  CHECK(replay_records(bytes_of({1, 0x80, 0x00})).text == "certificate.varint");
  CHECK(replay_records(bytes_of({1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02})).text == "certificate.varint");
  CHECK(replay_records(bytes_of({1, 0xFF})).text == "certificate.frame");  // ends inside its frame
  CHECK(replay_records(bytes_of({1, 0, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F})).text == "certificate.value");
}

TEST_CASE("what does not fit a node is told with the node and its size") {
  const auto problem = two_groups();
  const auto told = [&](std::initializer_list<int> record) {
    const std::string bytes = bytes_of(record);
    certificate::Decoder decoder;
    decoder.at(certificate::Cursor(bytes), 1, &problem->graph());
    return decoder.cursor.fault() ? decoder.cursor.fault()->to_text() : std::string("read");
  };
  const std::string nodes = std::to_string(problem->graph().nodes.size()), z = "node " + std::to_string(kZ) + " '";
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  const std::string node = told({4, 100}), element = told({10, kZ, 2}), array = told({5, kZ, 0x10, 3, 1, 1});
  INFO(node << "\n" << element << "\n" << array);
  CHECK(has(node, "expected a node of the model, whose numbers are below " + nodes + ", found node 100; "));
  CHECK((has(element, "expected an element of " + z) && has(element, "which has 2 elements, found element 2; ")));
  CHECK((has(array, "expected as many values as " + z) && has(array, "which has 2 elements, found 3 values; ")));
  for (const std::string& text : {node, element, array}) CHECK(has(text, "`assay inspect MODEL`"));
  CHECK(has(told({15, 0, 1, 3, '0', 'x', '1'}), "expected a witness of texts such as -12, 3/8 or 0.125, found '0x1'; "));
}

TEST_CASE("unknown records, nodes and elements are refused") {
  const std::string open = bytes_of({1, 0});
  CHECK(replay_records(bytes_of({0})).text == "certificate.record");
  CHECK(replay_records(bytes_of({19})).text == "certificate.record");
  CHECK(replay_records(open + bytes_of({4, 7})).text == "certificate.value");
  CHECK(replay_records(open + bytes_of({10, kZ, 2})).text == "certificate.value");
  CHECK(replay_records(open + bytes_of({5, kZ, 0x18})).text == "certificate.value");          // selection 3
  CHECK(replay_records(open + bytes_of({7, 1, 8})).text == "certificate.value");              // flag 3 of hints
  CHECK(replay_records(open + bytes_of({5, kZ, 0x10, 1, 1, 1})).text == "certificate.hint");  // mask of 1 element
  CHECK(replay_records(bytes_of({1, 2})).text == "certificate.structure");                    // no such group
  CHECK(!replay_records(open + bytes_of({3, 0, 0}) + bytes_of({7, 2, 4})).accepted);          // position 2 of 2 cases
}

TEST_CASE("trees of cases are refused where they are not whole") {
  const std::string boxed = bytes_of({1, 0, 3, 0, 0}), tree = boxed + bytes_of({16, kY, 8}), leaf = bytes_of({0, 0});
  const auto after = [&](const std::string& steps) { return replay_records(tree + steps + bytes_of({2})).text; };
  CHECK(after(leaf) == "certificate.open");  // accepted; nothing is concluded
  CHECK(after(bytes_of({10, kZ, 0}) + leaf + leaf) == "certificate.open");
  CHECK(after(bytes_of({10, kZ, 0}) + leaf) == "certificate.value");  // the end of the group is no half
  CHECK(after(leaf + leaf) == "certificate.record");                  // nothing is open any more
  CHECK(after(bytes_of({13})) == "certificate.value");                // no tag of a tree
  CHECK(after(bytes_of({10, kZ, 2})) == "certificate.value");         // no such element
  CHECK(after(bytes_of({11, kZ, 0}) + encoded(std::numeric_limits<float>::infinity())) == "certificate.value");
  CHECK(after(bytes_of({0, 8})) == "certificate.value");                                         // flag 3 of hints
  CHECK(after(bytes_of({0, 4, 1, 1, 1})) == "certificate.hint");                                 // a multiplier without a split
  CHECK(after(bytes_of({10, kZ, 0, 0, 4, 1, 1, 1}) + leaf) == "certificate.open");               // with one
  CHECK(replay_records(boxed + bytes_of({16, kY, 8 + 1}) + leaf).text == "certificate.value");   // slopes for all leaves
  CHECK(replay_records(boxed + bytes_of({16, kY, 8 + 32}) + leaf).text == "certificate.value");  // claims
  CHECK(replay_records(bytes_of({1, 0, 16, kY, 8}) + leaf).text == "back_substitution.S1");      // no box yet
  std::string deep;
  for (int i = 0; i < 70000; ++i) deep += bytes_of({10, kZ, 0});
  CHECK(after(deep) == "certificate.length");
  const std::string most = deep.substr(0, 3 * 20000);
  std::string leaves;
  for (int i = 0; i < 20001; ++i) leaves += leaf;
  CHECK(after(most + leaves) == "assume.S3");
}

TEST_CASE("cuts are refused where they do not fit, and end with their branch") {
  const std::string boxed = bytes_of({1, 0, 3, 0, 0}), leaf = bytes_of({0, 0}), one = bytes_of({17, 1, kRelu, 0}) + encoded(-1.0f);
  const auto after = [&](const std::string& steps) { return replay_records(boxed + steps + bytes_of({2})).text; };
  CHECK(after(one + leaf) == "certificate.open");  // accepted; nothing is concluded
  CHECK(after(one + bytes_of({10, kZ, 0}) + leaf + leaf) == "certificate.open");
  CHECK(after(bytes_of({17, 0}) + leaf) == "certificate.open");
  CHECK(after(one + bytes_of({10, kZ, 0}) + leaf) == "certificate.value");  // half a tree
  CHECK(after(bytes_of({17, 1, 99, 0}) + encoded(1.0f) + leaf) == "certificate.value");
  CHECK(after(bytes_of({17, 1, kRelu, 2}) + encoded(1.0f) + leaf) == "certificate.value");
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    CHECK(after(bytes_of({17, 1, kRelu, 0}) + encoded(odd) + leaf) == "certificate.value");
  CHECK(after(bytes_of({17, 0xFF, 0xFF, 0xFF, 0x7F})) == "certificate.length");
  CHECK(after(bytes_of({17, 1, 1, 0}) + encoded(1.0f) + leaf) == "cut.S1");             // a constant
  CHECK(replay_records(bytes_of({1, 0}) + one + leaf).text == "back_substitution.S1");  // no box yet
  CHECK(replay_records(one + leaf).text == "certificate.structure");                    // outside a group
  // Multipliers: as many as there are cuts in force.
  const std::string used = bytes_of({5, kZ, 0x88, 1, 1, 1}), two = bytes_of({5, kZ, 0x88, 2, 1, 3});
  CHECK(after(used) == "certificate.hint");
  CHECK(after(one + leaf + used) == "certificate.open");
  CHECK(after(one + leaf + two) == "certificate.hint");
  CHECK(after(one + leaf + one + bytes_of({0, 0x80, 1, 1, 1}) + two) == "certificate.open");  // a cut by a cut
  CHECK(after(one + bytes_of({0, 0x80, 1, 1, 1})) == "certificate.hint");                     // not by itself
  CHECK(after(one + leaf + bytes_of({5, kZ, 0x88, 1, 0}) + encoded(-1.0f)) == "hints.cuts");
  const std::string left = bytes_of({11, kInput, 0}) + encoded(-2.0f) + one + leaf + bytes_of({9, 13});  // x[0] <= -2 has no point
  CHECK(after(left + used) == "certificate.hint");
  CHECK(after(left + one + leaf + used) == "certificate.structure");  // the group ends in a split
}

TEST_CASE("NaN and infinities are refused where they stand") {
  const std::string open = bytes_of({1, 0}), nan = encoded(std::numeric_limits<float>::quiet_NaN()),
                    inf = encoded(std::numeric_limits<float>::infinity());
  CHECK(replay_records(open + bytes_of({11, kZ, 0}) + nan).text == "certificate.value");
  CHECK(replay_records(open + bytes_of({11, kZ, 0}) + inf).text == "certificate.value");
  CHECK(replay_records(open + bytes_of({12, kZ, 0, 0, 0, 0, 0, 0, 0, 0xF8, 0x7F})).text == "certificate.value");
  CHECK(replay_records(open + bytes_of({7, 1, 1, 1, kRelu, 2, 0}) + nan).text == "certificate.hint");            // fill
  CHECK(replay_records(open + bytes_of({7, 1, 1, 1, kRelu, 2, 3}) + inf + nan).text == "certificate.hint");      // f32
  CHECK(replay_records(open + bytes_of({7, 1, 1, 1, kRelu, 2, 5, 0, 1, 0}) + nan).text == "certificate.hint");   // list
  CHECK(replay_records(open + bytes_of({7, 2, 1, 1, 0}) + nan).text == "certificate.hint");                      // row multiplier
  CHECK(replay_records(open + bytes_of({5, kZ, 0x28, 2}) + nan + nan + nan + nan).text == "certificate.value");  // claim
}

TEST_CASE("hints fit the graph, and ids are in force") {
  const std::string open = bytes_of({1, 0}), split = bytes_of({10, kZ, 0});
  CHECK(replay_records(open + bytes_of({7, 1, 1, 1, kRelu, 1, 1, 1})).text == "certificate.hint");                  // one element of two
  CHECK(replay_records(open + bytes_of({7, 1, 1, 1, 9, 2, 1, 1})).text == "certificate.value");                     // no such node
  CHECK(replay_records(open + bytes_of({7, 1, 1, 2, kRelu, 2, 1, 1, kRelu, 2, 1, 1})).text == "certificate.hint");  // twice
  CHECK(replay_records(open + bytes_of({7, 1, 1, 1, kRelu, 2, 6})).text == "certificate.hint");                     // encoding 6
  CHECK(replay_records(open + bytes_of({7, 1, 1, 1, kRelu, 2, 4, 0, 1, 2, 1})).text == "certificate.hint");         // element 2 of 2
  CHECK(replay_records(open + bytes_of({7, 1, 1, 1, kRelu, 2, 4, 1, 0})).text == "certificate.hint");               // base id 0, undefined
  CHECK(replay_records(open + bytes_of({7, 1, 4, 1, 1, 1})).text == "certificate.hint");                            // beta without a split
  CHECK(replay_records(open + bytes_of({8, 1, 0, 0})).text == "certificate.hint");                                  // id 0, undefined
  CHECK(replay_records(open + bytes_of({6, 3, 0, 6, 3, 0})).text == "certificate.hint");                            // id 3 twice
  const std::string defined_left = open + bytes_of({3, 0, 0}) + split + bytes_of({6, 0, 0}) + bytes_of({9});
  CHECK(replay_records(open + split + bytes_of({6, 0, 0, 8, 1, 1, 0})).text == "certificate.hint");  // id 1 instead of 0
  // Defined in the left branch, used in the right one. The left branch must close for the replay to come so far:
  // x[0] <= -2 has no point of the box.
  const std::string left = open + bytes_of({11, kInput, 0}) + encoded(-2.0f) + bytes_of({6, 0, 0, 9, 13});
  CHECK(replay_records(left + bytes_of({8, 1, 0, 0})).text == "certificate.hint");
  CHECK(replay_records(left + bytes_of({6, 0, 0, 14})).text == "certificate.open");  // the id is free again
}

TEST_CASE("the structure of the proof is checked") {
  const std::string open = bytes_of({1, 0}), out = bytes_of({11, kInput, 0}) + encoded(-2.0f);  // the left branch is empty
  CHECK(replay_records("").text == "certificate.open");
  CHECK(replay_records(open).text == "certificate.structure");           // never ended
  CHECK(replay_records(bytes_of({2})).text == "certificate.structure");  // ended, not begun
  CHECK(replay_records(open + open).text == "certificate.structure");
  CHECK(replay_records(open + bytes_of({13})).text == "certificate.structure");               // next without split
  CHECK(replay_records(open + bytes_of({14})).text == "certificate.structure");               // done without split
  CHECK(replay_records(open + out + bytes_of({9, 14})).text == "certificate.structure");      // done without next
  CHECK(replay_records(open + out + bytes_of({9, 13, 13})).text == "certificate.structure");  // next twice
  CHECK(replay_records(open + out + bytes_of({13})).text == "certificate.open");              // left branch proves nothing
  CHECK(replay_records(open + out + bytes_of({9, 13, 14})).text == "certificate.open");       // right branch proves nothing
  CHECK(replay_records(open + out + bytes_of({9, 2})).text == "certificate.structure");       // group ends inside a split
  CHECK(replay_records(open + bytes_of({2})).text == "certificate.open");                     // nothing concluded
  for (const int step : {3, 4, 5, 6, 7, 8, 9, 10}) {
    const std::string record = bytes_of({step}) + bytes_of({step == 7 || step == 8 ? 1 : step == 6 ? 0 : 3, 0, 0});
    CHECK(!replay_records(record).accepted);  // outside a group
  }
  CHECK(replay_records(bytes_of({9})).text == "certificate.structure");
  CHECK(replay_records(open + bytes_of({15, 0, 0})).text == "certificate.structure");  // a witness inside a group
}

TEST_CASE("each group is proved once, and all of them") {
  const std::string second = bytes_of({1, 1, 3, 0, 0, 7, 3, 0, 2});  // group 1: sweep, conclude case 0
  CHECK(replay_records(second).text == "certificate.open");
  CHECK(replay_records(second + second).text == "certificate.structure");
  const std::string first_case_only =
      bytes_of({1, 0, 3, 0, 0}) + bytes_of({10, kZ, 0, 10, kZ, 1, 7, 3, 0, 13, 7, 3, 4, 2, 5, 0, 1, 0}) + encoded(1) + bytes_of({14});
  CHECK(!replay_records(second + first_case_only).accepted);
}

TEST_CASE("nothing follows a witness") {
  const Parts parts = Parts::of(witness_bytes());
  Parts twice = parts;
  twice.records += parts.records;
  CHECK(replay_bytes(parts.file(), reachable()).accepted);
  CHECK(replay_bytes(twice.file(), reachable()).text == "certificate.structure");
}

TEST_CASE("a witness must be in the region, exactly") {
  const auto verdict_of = [](const Rational& first, const Rational& second, std::uint32_t index) {
    const TemporaryFile file;
    auto writer = certificate::Writer::open(file.path(), *reachable());
    REQUIRE(writer.ok());
    writer.value()->witness({index, {first, second}});
    REQUIRE(writer.value()->finish().ok());
    return replay_file(file.path(), reachable());
  };
  CHECK(verdict_of(Rational(1, 3), 1, 0).accepted);
  CHECK(!verdict_of(Rational(1, 3) + Rational(1, 1000000007), 1, 0).accepted);
  CHECK(!verdict_of(Rational(1, 3), Rational(1) + Rational(1, std::int64_t{1} << 60), 0).accepted);
  CHECK(!verdict_of(Rational(1, 3), 1, 1).accepted);  // no such case
  Parts text = Parts::of(witness_bytes());
  text.records = bytes_of({15, 0, 1, 3}) + "1/x";
  CHECK(replay_bytes(text.file(), reachable()).text == "certificate.value");
  text.records = bytes_of({15, 0, 1, 3}) + "1/3";
  CHECK(!replay_bytes(text.file(), reachable()).accepted);  // one coordinate of two
}

TEST_CASE("a raised claim is rejected by the kernel, with the step") {
  const auto with_claim = [](float hi) {
    return bytes_of({1, 0, 4, kZ, 5, kZ, 0x28, 2}) + encoded(-4) + encoded(-4) + encoded(hi) + encoded(hi);
  };
  const float least = 1.75f;  // z <= 1 + 1/2 + 1/4 on the box, attained
  CHECK(replay_records(with_claim(std::nextafter(least, 2.0f))).text == "certificate.structure");  // accepted; then the file ends
  const Verdict verdict = replay_records(with_claim(std::nextafter(least, 0.0f)));
  CHECK(verdict.text == "tighten.S3");
  CHECK(verdict.kind == Rejection::Kind::rejected);
  CHECK(verdict.place.starts_with("step 3 (tighten) at byte "));
}

TEST_CASE("a flipped literal is rejected") {
  // Group 1 is x >= 1: the branch x[0] <= 0 is empty, the branch x[0] >= 0 is not.
  const std::string tail = bytes_of({3, 0, 0, 7, 3, 0});
  const std::string good = bytes_of({1, 1, 10, kInput, 0, 9, 13}) + tail + bytes_of({14, 2});
  const std::string bad = bytes_of({1, 1, 10, kInput, 0}) + tail + bytes_of({13, 9, 14, 2});
  CHECK(replay_records(good).text == "certificate.open");  // only group 0 is missing
  CHECK(replay_records(good).place.empty());
  CHECK(replay_records(bad).text == "empty.S1");
}

TEST_CASE("deep nesting is refused without recursion") {
  std::string deep = bytes_of({1, 0});
  for (int i = 0; i < 200000; ++i) deep += bytes_of({10, kInput, 0});
  const Verdict verdict = replay_records(deep);
  CHECK(!verdict.accepted);
  CHECK((verdict.text == "assume.S3" || verdict.text == "certificate.depth"));
  std::string whole = bytes_of({1, 0});  // splits that end, none of whose halves refutes anything
  for (int i = 0; i < 50000; ++i) whole += bytes_of({10, kInput, 0});
  for (int i = 0; i < 50000; ++i) whole += bytes_of({13, 14});
  CHECK(!replay_records(whole).accepted);
}

TEST_CASE("a group cannot end, nor a witness stand, in one half of a split") {
  constexpr int kEndGroup = 2, kSplitF32 = 11, kNext = 13, kDone = 14;
  const auto type = [](certificate::RecordType one) { return static_cast<int>(one); };
  CHECK(type(certificate::RecordType::split_f32) == kSplitF32);
  CHECK(type(certificate::RecordType::next) == kNext);
  const std::string before =
      bytes_of({1, 0, kSplitF32, kInput, 0}) + encoded(-2.9F) + bytes_of({type(certificate::RecordType::empty), kNext});
  const std::string after = bytes_of({kDone, kEndGroup});
  CHECK(replay_records(before + after).text == "certificate.open");
  for (const std::string& half : {bytes_of({kEndGroup}), bytes_of({kEndGroup, 1, 1}), Parts::of(witness_bytes()).records}) {
    const Verdict verdict = replay_records(before + half + after);
    CHECK(!verdict.accepted);
    CHECK(verdict.text == "certificate.structure");
  }
}

TEST_CASE("the session refuses calls out of order and proves the same theorem") {
  const auto problem = two_groups();
  certificate::Session session(problem);
  CHECK(session.empty().rejection().code == "certificate.structure");
  CHECK(session.theorem().rejection().code == "certificate.open");
  REQUIRE(session.begin_group(0).ok());
  CHECK(session.depth() == 0);
  REQUIRE(session.sweep(0, false).ok());
  REQUIRE(session.split(kZ, 0, 0.0).ok());
  REQUIRE(session.split(kZ, 1, 0.0).ok());
  CHECK(session.depth() == 2);
  CHECK(session.scope().literals().size() == 2);
  REQUIRE(session.conclude(kBoth, {}).ok());
  REQUIRE(session.next().ok());
  Hints above, below;
  above.beta = {1, 0};
  below.beta = {0, 1};
  REQUIRE(session.conclude(kFirst, above).ok());
  CHECK(session.conclude(kFirst, {}).rejection().code == "conclude.S3");  // needs the literal
  REQUIRE(session.conclude(kSecond, below).ok());
  REQUIRE(session.done().ok());
  CHECK(session.end_group().rejection().code == "certificate.structure");
  REQUIRE(session.next().ok());
  REQUIRE(session.split(kZ, 1, 0.0).ok());
  REQUIRE(session.conclude(kFirst, above).ok());
  CHECK(session.depth() == 2);
  REQUIRE(session.conclude(kSecond, below).ok());
  REQUIRE(session.next().ok());
  REQUIRE(session.conclude(kBoth, {}).ok());
  REQUIRE(session.done().ok());
  REQUIRE(session.done().ok());
  REQUIRE(session.end_group().ok());
  CHECK(session.begin_group(0).rejection().code == "certificate.structure");
  CHECK(session.begin_group(2).rejection().code == "certificate.structure");
  REQUIRE(session.begin_group(1).ok());
  REQUIRE(session.sweep(0, true).ok());
  REQUIRE(session.conclude(kFirst, {}).ok());
  REQUIRE(session.end_group().ok());
  const auto theorem = session.theorem();
  REQUIRE(theorem.ok());
  CHECK(text_of(theorem.value()) == replay_bytes(proof_bytes(), problem).text);
}
