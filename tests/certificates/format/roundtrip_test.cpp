// Every step through writer and reader: what comes back is what went in, bit for bit.
#include <bit>
#include <limits>
#include <memory>
#include <random>
#include <tuple>

#include "tests/certificates/format/problems.h"

using namespace assay;
using namespace assay::test;
using certificate::Fragment;
using certificate::Record;
using certificate::RecordType;
using inspect::Selection;
using logic::CaseMultipliers;
using logic::Claims;
using logic::Hints;

namespace {

// A reader of the file, into whose group 0 the fragment was written.
std::unique_ptr<certificate::Reader> reader_of(const TemporaryFile& file, const Fragment& steps) {
  const auto problem = two_groups();
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  writer.value()->begin_group(0);
  writer.value()->append(steps);
  writer.value()->end_group();
  const auto bytes = writer.value()->finish();
  REQUIRE(bytes.ok());
  CHECK(bytes.value() == file.bytes().size());
  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  CHECK(reader.value()->header().digest == problem->digest());
  CHECK(reader.value()->header().semantics == to_string(problem->statement().semantics));
  return std::move(reader).value();
}

// Writes the fragment and calls `visit` for each record of it.
template <class Visit>
std::uint64_t through_file(const Fragment& steps, const Graph* graph, Visit visit) {
  const TemporaryFile file;
  const auto reader = reader_of(file, steps);
  std::uint64_t visited = 0;
  while (true) {
    auto record = reader->next(graph);
    if (!record) FAIL(record.rejection().to_text());
    if (record.value() == nullptr) break;
    const RecordType type = record.value()->type;
    if (type == RecordType::begin_group || type == RecordType::end_group) continue;
    visit(*record.value());
    ++visited;
  }
  return visited;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  }
  return true;
}

// The bytes of one conclude step whose lower slopes are `values`, checked to come back.
std::size_t slope_bytes(const std::vector<float>& values) {
  Hints hints;
  hints.lower[2] = values;
  Fragment steps;
  steps.conclude({}, hints);
  const auto visited = through_file(steps, nullptr, [&](const Record& record) {
    REQUIRE(record.hints.lower.size() == 1);
    CHECK(same_bits(record.hints.lower.at(2), values));
    CHECK(record.hints.upper.empty());
    CHECK(record.hints.beta.empty());
  });
  CHECK(visited == 1);
  return steps.byte_size();
}

}  // namespace

TEST_CASE("sweep, boxes, box and empty come back") {
  Fragment steps;
  steps.sweep(3, true);
  steps.sweep(0, false);
  steps.box(7);
  steps.empty();
  steps.boxes(5);
  std::vector<Record> records;
  through_file(steps, nullptr, [&](const Record& record) { records.push_back(record); });
  REQUIRE(records.size() == 5);
  CHECK((records[4].type == RecordType::boxes && records[4].node == 5));
  CHECK((records[0].type == RecordType::sweep && records[0].node == 3 && records[0].round_to_float));
  CHECK((records[1].type == RecordType::sweep && records[1].node == 0 && !records[1].round_to_float));
  CHECK((records[2].type == RecordType::box && records[2].node == 7));
  CHECK(records[3].type == RecordType::empty);
}

TEST_CASE("refine comes back with selection, claims and rounding") {
  const float infinity = std::numeric_limits<float>::infinity();
  const Claims claims{{-1.5f, -infinity}, {2.25f, infinity}};
  Selection mask{Selection::Kind::mask, {false, true}};
  Hints hints;
  hints.upper[5] = {0.1f, -3.0f};
  Fragment steps;
  steps.tighten(4, mask, hints, &claims, false);
  steps.tighten(4, {Selection::Kind::all, {}}, {}, nullptr, true);
  steps.tighten(4, {}, {}, nullptr, false);
  std::vector<Record> records;
  const Graph graph = small_net().graph;
  through_file(steps, &graph, [&](const Record& record) { records.push_back(record); });
  REQUIRE(records.size() == 3);
  CHECK(records[0].node == 4);
  CHECK(records[0].selection.kind == Selection::Kind::mask);
  CHECK(records[0].selection.mask == mask.mask);
  REQUIRE(records[0].claimed);
  CHECK(records[0].claims.lo == claims.lo);
  CHECK(records[0].claims.hi == claims.hi);
  CHECK(same_bits(records[0].hints.upper.at(5), hints.upper[5]));
  CHECK((records[1].selection.kind == Selection::Kind::all && !records[1].claimed && records[1].round_to_float));
  CHECK((records[2].selection.kind == Selection::Kind::unstable && !records[2].claimed && !records[2].round_to_float));
}

TEST_CASE("trees of cases come back") {
  Hints hints;
  hints.lower[3] = {0.5f, 0.25f};
  const Hints named = hints;
  hints.beta = {0.0f, 1.5f};  // of the splits in the tree
  const std::vector<certificate::CaseStep> tree{{logic::Literal{2, 1, false, 0.0}, {}},
                                                {logic::Literal{0, 0, false, 0.1}, {}},
                                                {std::nullopt, hints},
                                                {std::nullopt, {}},
                                                {std::nullopt, {}}};
  const Selection mask{Selection::Kind::mask, {false, true}};
  Fragment steps;
  steps.define_hints(0, named);
  const std::size_t defined = steps.byte_size();
  steps.tighten_by_cases(4, mask, tree, true);
  CHECK(steps.byte_size() - defined < 45);  // the slopes are no longer spelt out
  steps.box(7);
  std::vector<Record> records;
  through_file(steps, nullptr, [&](const Record& record) { records.push_back(record); });
  REQUIRE(records.size() == 3);
  const Record& record = records[1];
  CHECK((record.type == RecordType::tighten_by_cases && record.node == 4 && record.round_to_float && !record.claimed));
  CHECK(record.selection.mask == mask.mask);
  REQUIRE(record.tree.size() == tree.size());
  for (std::size_t k = 0; k < tree.size(); ++k) CHECK(record.tree[k].split == tree[k].split);
  CHECK(same_bits(record.tree[2].hints.lower.at(3), hints.lower[3]));
  CHECK(same_bits(record.tree[2].hints.beta, hints.beta));
  CHECK(record.tree[3].hints.lower.empty());
  CHECK(record.hints.lower.empty());
  CHECK((records[2].type == RecordType::box && records[2].node == 7));
}

TEST_CASE("cuts and their multipliers come back") {
  const std::vector<logic::Cut::Term> terms{{2, 1, 0.1F}, {3, 70000, -0.0F}, {2, 1, 1e30F}};
  Hints hints, more;
  hints.cuts = {0.25F, 0.0F};
  more.cuts = {0.25F, 0.1F};
  Fragment steps;
  steps.cut(terms, std::vector<certificate::CaseStep>{{std::nullopt, {}}});
  steps.cut({}, std::vector<certificate::CaseStep>{{logic::Literal{0, 0, false, 0.1}, {}}, {std::nullopt, {}}, {std::nullopt, {}}});
  steps.define_hints(3, hints);
  steps.conclude(std::vector<CaseMultipliers>{{0, {}}}, more);
  steps.tighten(1, {Selection::Kind::all, {}}, more, nullptr, true);
  steps.conclude_with(std::vector<CaseMultipliers>{{0, {}}}, 3, {});
  std::vector<Record> records;
  through_file(steps, nullptr, [&](const Record& record) { records.push_back(record); });
  REQUIRE(records.size() == 6);
  CHECK(records[0].type == RecordType::cut);
  CHECK(records[0].terms == terms);
  CHECK(std::signbit(records[0].terms[1].coefficient));
  CHECK(records[0].tree.size() == 1);
  CHECK(records[0].values == 9);
  CHECK(records[1].terms.empty());
  CHECK(records[1].tree.size() == 3);
  CHECK(records[3].hints.cuts == more.cuts);
  CHECK(records[4].hints.cuts == more.cuts);
  CHECK(records[4].round_to_float);
  CHECK(records[5].hints.cuts == hints.cuts);
}

TEST_CASE("long masks come back") {
  std::mt19937 random(7);
  for (const double density : {0.01, 0.5, 1.0}) {
    Selection mask{Selection::Kind::mask, std::vector<bool>(1001)};
    for (std::size_t i = 0; i < mask.mask.size(); ++i) mask.mask[i] = std::uniform_real_distribution<>(0, 1)(random) < density;
    Fragment steps;
    steps.tighten(1, mask, {}, nullptr, false);
    through_file(steps, nullptr, [&](const Record& record) { CHECK(record.selection.mask == mask.mask); });
    CHECK(steps.byte_size() < 160);
  }
}

TEST_CASE("the cases of a conclusion come back") {
  Fragment steps;
  const std::vector<CaseMultipliers> plain{{0, {}}, {1, {1.0f}}, {2, {}}}, listed{{5, {}}, {1, {0.5f, 3.0f}}, {70000, {}}};
  steps.conclude(plain, {});
  CHECK(steps.byte_size() == 3);
  steps.conclude(listed, {});
  steps.conclude({}, {});
  std::vector<Record> records;
  through_file(steps, nullptr, [&](const Record& record) { records.push_back(record); });
  REQUIRE(records.size() == 3);
  REQUIRE(records[0].cases.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) CHECK((records[0].cases[i].position == i && records[0].cases[i].rows.empty()));
  REQUIRE(records[1].cases.size() == 3);
  CHECK((records[1].cases[0].position == 5 && records[1].cases[2].position == 70000));
  CHECK((records[1].cases[1].position == 1 && same_bits(records[1].cases[1].rows, {0.5f, 3.0f})));
  CHECK(records[2].cases.empty());
}

TEST_CASE("each array takes its smallest encoding") {
  const std::size_t overhead = slope_bytes(std::vector<float>(800, 0.3f)) - 4;  // fill: one float
  std::vector<float> values(800);
  std::mt19937 random(11);
  for (float& value : values) value = static_cast<float>(random() % 2);
  CHECK(slope_bytes(values) == overhead + 100);  // bits
  for (float& value : values) value = static_cast<float>(random() % 129) / 128.0f;
  CHECK(slope_bytes(values) == overhead + 800);  // bytes
  for (float& value : values) value = std::uniform_real_distribution<float>(0, 1)(random);
  CHECK(slope_bytes(values) == overhead + 3200);  // floats
  values.assign(800, 0.0f);
  values[3] = 0.5f;
  values[700] = 0.25f;
  CHECK(slope_bytes(values) == overhead + 1 + 1 + 2 + 3);  // zeros but for two listed bytes
  values[3] = -0.1f;
  CHECK(slope_bytes(values) == overhead + 1 + 1 + 5 + 6);  // ... floats
  CHECK(slope_bytes({-0.0f, 0.0f}) > 0);                   // the sign of zero survives
  CHECK(slope_bytes({255.0f / 128.0f, 1.0f, 3.0e38f, 1.0e-45f}) > 0);
}

TEST_CASE("defined hints are referred to, changed and forgotten") {
  Hints base;
  base.lower[5].assign(2, 0.3f);
  Hints changed = base;
  changed.lower[5][1] = 0.7f;
  Fragment steps;
  steps.define_hints(0, base);
  steps.define_hints(4, changed);
  const std::vector<CaseMultipliers> cases{{0, {}}};
  steps.conclude_with(cases, 4, {});
  steps.conclude(cases, base);
  std::vector<Record> records;
  through_file(steps, nullptr, [&](const Record& record) { records.push_back(record); });
  REQUIRE(records.size() == 4);
  CHECK(records[1].hints_id == 4);
  CHECK(same_bits(records[1].hints.lower.at(5), changed.lower[5]));
  CHECK(same_bits(records[2].hints.lower.at(5), changed.lower[5]));
  CHECK(same_bits(records[3].hints.lower.at(5), base.lower[5]));
}

TEST_CASE("differences from hints of an enclosing branch are small") {
  std::mt19937 random(13);
  auto base = std::make_shared<Hints>();
  for (int i = 0; i < 500; ++i) base->lower[5].push_back(std::uniform_real_distribution<float>(0, 1)(random));
  Hints changed = *base;
  changed.lower[5][250] = 0.5f;
  Fragment steps, alone;
  steps.define_hints(0, *base);
  const std::size_t defined = steps.byte_size();
  steps.conclude({}, changed);
  CHECK(steps.byte_size() - defined < 16);
  alone.refer_to(0, base);
  alone.conclude({}, changed);
  CHECK(steps.bytes().substr(defined) == alone.bytes());
  std::vector<Record> records;
  through_file(steps, nullptr, [&](const Record& record) { records.push_back(record); });
  REQUIRE(records.size() == 2);
  CHECK(same_bits(records[1].hints.lower.at(5), changed.lower[5]));
}

TEST_CASE("splits, branches and witnesses come back") {
  const auto problem = reachable();
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  const std::vector<double> thresholds{0.0, -0.0, 0.5, 0.1, -1.0e300, 5.0e-324};
  writer.value()->begin_group(0);
  for (std::size_t i = 0; i < thresholds.size(); ++i) writer.value()->split(4, static_cast<std::uint32_t>(i % 2), thresholds[i]);
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    writer.value()->next();
    writer.value()->done();
  }
  writer.value()->end_group();
  const std::vector<Rational> inputs{Rational(1, 3), *Rational::parse("-123456789012345678901234567890/7"), Rational(0)};
  writer.value()->witness({2, inputs});
  REQUIRE(writer.value()->finish().ok());
  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  std::vector<Record> records;
  while (true) {
    auto record = reader.value()->next(nullptr);
    REQUIRE(record.ok());
    if (record.value() == nullptr) break;
    records.push_back(*record.value());
  }
  REQUIRE(records.size() == 2 + 3 * thresholds.size() + 1);
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    CHECK(std::bit_cast<std::uint64_t>(records[1 + i].threshold) == std::bit_cast<std::uint64_t>(thresholds[i]));
    CHECK(records[1 + i].element == i % 2);
  }
  CHECK(records[1].type == RecordType::split_zero);
  CHECK(records[1].bytes == 3);
  CHECK(records[3].type == RecordType::split_f32);
  CHECK(records[4].type == RecordType::split_f64);
  CHECK(records.back().witness.case_index == 2);
  CHECK(records.back().witness.inputs == inputs);
}

TEST_CASE("many records are spread over frames") {
  Fragment steps;
  for (int i = 0; i < 1000; ++i) steps.box(5);
  const auto problem = two_groups();
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  writer.value()->begin_group(0);
  for (int i = 0; i < 200; ++i) writer.value()->append(steps);
  writer.value()->end_group();
  REQUIRE(writer.value()->finish().ok());
  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  std::uint64_t records = 0;
  while (true) {
    auto record = reader.value()->next(nullptr);
    REQUIRE(record.ok());
    if (record.value() == nullptr) break;
    ++records;
    CHECK(record.value()->number == records);
  }
  CHECK(records == 200002);
  CHECK(reader.value()->frames() >= 6);
}

// Each listed node counts as twenty values more, so that lists of nodes without slopes are bounded as well.
TEST_CASE("values of the arrays of a record are counted before they are made") {
  constexpr std::size_t kMost = std::size_t{1} << 24;
  for (const auto& [first, second, code] : {std::tuple{kMost - 20, std::size_t{0}, ""},
                                            {kMost - 19, std::size_t{0}, "certificate.memory"},
                                            {kMost - 41, std::size_t{1}, ""},
                                            {kMost - 41, std::size_t{2}, "certificate.memory"}}) {
    Fragment steps;
    Hints hints;
    hints.lower[0].assign(first, 0.25F);
    if (second > 0) hints.upper[7].assign(second, 0.5F);
    steps.conclude({}, hints);
    const TemporaryFile file;
    const auto reader = reader_of(file, steps);
    REQUIRE(reader->next(nullptr).ok());  // begin_group
    const auto record = reader->next(nullptr);
    INFO(first << " and " << second);
    CHECK((record ? std::string() : record.rejection().code) == code);
  }
}

TEST_CASE("a writer that is not finished leaves no file") {
  const TemporaryFile file;
  {
    auto writer = certificate::Writer::open(file.path(), *two_groups());
    REQUIRE(writer.ok());
    writer.value()->begin_group(0);
    CHECK(file.exists());
  }
  CHECK(!file.exists());
}

TEST_CASE("a writer reports where it cannot write") {
  const auto problem = two_groups();
  const auto missing = certificate::Writer::open("/nonexistent/folder/proof.assay", *problem);
  REQUIRE(!missing.ok());
  CHECK(missing.rejection().code == "certificate.io");
  if (!std::ofstream("/dev/full").good()) return;
  auto full = certificate::Writer::open("/dev/full", *problem);
  REQUIRE(full.ok());
  full.value()->begin_group(0);
  full.value()->end_group();
  const auto finished = full.value()->finish();
  REQUIRE(!finished.ok());
  CHECK(finished.rejection().code == "certificate.io");
}

TEST_CASE("checksums are CRC-32C") {
  CHECK(certificate::crc32c(0, "123456789") == 0xE3069283u);
  CHECK(certificate::crc32c(certificate::crc32c(0, "1234"), "56789") == 0xE3069283u);
  CHECK(certificate::crc32c(0, std::string(32, '\0')) == 0x8A9136AAu);  // this and the two below: RFC 3720, B.4
  std::string rising;
  for (char byte = 0; byte < 32; ++byte) rising += byte;
  CHECK(certificate::crc32c(0, rising) == 0x46DD794Eu);
  CHECK(certificate::crc32c(0, std::string(rising.rbegin(), rising.rend())) == 0x113FDB5Cu);
  for (std::size_t at = 0; at <= 32; ++at)
    CHECK(certificate::crc32c(certificate::crc32c(0, rising.substr(0, at)), rising.substr(at)) == 0x46DD794Eu);
}

TEST_CASE("long branches fill frames of their own") {
  const auto problem = two_groups();
  const auto long_branch = [](int steps) {
    certificate::Fragment branch;
    const Claims claims{std::vector<float>(500, 0.25F), std::vector<float>(500, 0.5F)};
    for (int k = 0; k < steps; ++k) branch.tighten(4, {Selection::Kind::all, {}}, {}, &claims, false);
    return branch;
  };
  certificate::Fragment root = long_branch(70);
  root.append(long_branch(70));
  CHECK(root.frame_ends().size() == 8);  // every 17th step of 4 kilobytes
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  writer.value()->begin_group(0);
  writer.value()->append(root);
  writer.value()->end_group();
  REQUIRE(writer.value()->finish().ok());
  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  std::string steps;
  for (auto record = reader.value()->next(nullptr); record.ok() && record.value() != nullptr; record = reader.value()->next(nullptr))
    if (record.value()->type == RecordType::tighten) steps += reader.value()->encoded();
  CHECK(steps == root.bytes());
  CHECK(reader.value()->frames() == 9);
}
