// To find wrong acceptances, the tests bend certificates as an expert of the format would. Records are taken apart, changed where
// a wrong conclusion could hide, and written again with fresh checksums and the digest of the statement at hand. The statements
// are false; each comes with certificates of a true one about the same network. None may be accepted. A witness of the false one
// is bent, too, and presented for the true one.
//
// Several certificates are presented in a case; the last lines count them. One million:
// ASSAY_FUZZ=180 build/release/bin/test_fuzz "bent proofs*" (README.md has the time that it takes)
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/subjects.h"
#include "tests/search/graphs.h"

using namespace assay;
using namespace assay::test;
using certificate::Record;
using certificate::RecordType;
using fuzz::below;
using fuzz::Random;
using fuzz::written;

namespace {

// Thresholds, claims and multipliers are bent by little and by much.
double bent_number(double value, Random& random) {
  switch (below(random, 8)) {
    case 0:
      return std::nextafter(value, below(random, 2) == 0 ? -INFINITY : INFINITY);
    case 1:
      return -value;
    case 2:
      return value * (below(random, 2) == 0 ? 0.5 : 2);
    case 3:
      return value + (static_cast<double>(below(random, 2001)) - 1000) / 1000;
    case 4:
      return static_cast<double>(below(random, 5)) - 2;
    case 5:
      return value * (1 + (static_cast<double>(below(random, 2001)) - 1000) * 1e-6);
    case 6:
      return (below(random, 2) == 0 ? -1 : 1) * std::ldexp(1.0, static_cast<int>(below(random, 120)) - 60);
    default:
      return value;
  }
}

void bend(std::vector<float>& values, Random& random) {
  if (values.empty()) return;
  for (std::size_t changes = 1 + below(random, 3); changes > 0; --changes) {
    float& value = values[below(random, values.size())];
    value = static_cast<float>(bent_number(static_cast<double>(value), random));
    if (!std::isfinite(value)) value = 1;
  }
  if (below(random, 10) == 0) values.assign(values.size(), values[0]);
}

void bend(logic::Hints& hints, Random& random) {
  for (auto* slopes : {&hints.lower, &hints.upper}) {
    if (!slopes->empty()) bend((*slopes)[below(random, slopes->size())], random);
  }
  if (below(random, 4) == 0) std::swap(hints.lower, hints.upper);
  bend(hints.beta, random);
}

// Tighter claims are what a liar writes.
void bend(logic::Claims& claims, Random& random) {
  for (std::size_t i = 0; i < claims.lo.size(); ++i) {
    const float width = claims.hi[i] - claims.lo[i];
    const float part = static_cast<float>(below(random, 100)) / 200 * (below(random, 3) == 0 ? 1 : 0);
    claims.lo[i] += width * part;
    claims.hi[i] -= width * part;
    if (below(random, 20) == 0) claims.lo[i] = std::nextafter(claims.lo[i], INFINITY);
    if (below(random, 20) == 0) std::swap(claims.lo[i], claims.hi[i]);
  }
  if (!claims.lo.empty() && below(random, 3) == 0) claims.lo[below(random, claims.lo.size())] = 0;
}

void bend(std::vector<logic::CaseMultipliers>& cases, Random& random) {
  for (logic::CaseMultipliers& one : cases) {
    if (below(random, 4) == 0) one.position ^= 1;
    if (below(random, 3) == 0) one.rows.resize(1 + below(random, 2), 1.0F);
    bend(one.rows, random);
  }
  if (below(random, 4) == 0) cases = {{0, {}}, {1, {1.0F, 0.5F}}};
  if (!cases.empty() && below(random, 6) == 0) cases.push_back(cases.front());
  if (cases.size() > 1 && below(random, 2) == 0) cases.erase(cases.begin() + static_cast<std::ptrdiff_t>(below(random, cases.size())));
}

void bend(Record& record, const Graph& graph, Random& random) {
  if (below(random, 4) == 0 || record.node >= graph.nodes.size()) record.node = static_cast<NodeId>(below(random, graph.nodes.size()));
  if (below(random, 4) == 0) record.element = static_cast<std::uint32_t>(below(random, graph.size(record.node)));
  if (below(random, 2) == 0) record.threshold = bent_number(record.threshold, random);
  if (!std::isfinite(record.threshold)) record.threshold = 0;
  if (below(random, 4) == 0) record.round_to_float = !record.round_to_float;
  if (below(random, 2) == 0) bend(record.hints, random);
  if (below(random, 2) == 0) bend(record.claims, random);
  if (below(random, 2) == 0) bend(record.cases, random);
  if (record.type == RecordType::tighten && below(random, 6) == 0) {  // claims where there were none, of numbers made up
    record.claimed = true;
    record.selection.kind = inspect::Selection::Kind::all;
    const double lo = bent_number(-1, random), hi = bent_number(1, random);
    record.claims.lo.assign(graph.size(record.node), static_cast<float>(std::min(lo, hi)));
    record.claims.hi.assign(graph.size(record.node), static_cast<float>(std::max(lo, hi)));
  }
}

// Where the split that is opened at `from` has its next and its done.
std::pair<std::size_t, std::size_t> ends_of(const std::vector<Record>& records, std::size_t from) {
  std::size_t depth = 0, next = from;
  for (std::size_t i = from; i < records.size(); ++i) {
    depth += is_split(records[i].type) ? 1 : 0;
    if (records[i].type == RecordType::next && depth == 1) next = i;
    if (records[i].type == RecordType::done && --depth == 0) return {next, i};
  }
  return {from, from};
}

// Sides exchanged, one side in the place of both, or a split left out but for the steps of one side.
void bend_split(std::vector<Record>& records, std::size_t at, Random& random) {
  const auto [next, done] = ends_of(records, at);
  if (next == at) return;
  const auto begin = records.begin();
  const auto iterator = [&](std::size_t i) { return begin + static_cast<std::ptrdiff_t>(i); };
  const std::vector<Record> left(iterator(at + 1), iterator(next)), right(iterator(next + 1), iterator(done));
  const std::vector<Record>& first = below(random, 2) == 0 ? left : right;
  const std::vector<Record>& second = below(random, 2) == 0 ? left : right;
  std::vector<Record> bent(begin, iterator(at));
  const bool whole = below(random, 3) != 0;
  if (whole) bent.push_back(records[at]);
  bent.insert(bent.end(), first.begin(), first.end());
  if (whole) bent.push_back(records[next]);
  if (whole) bent.insert(bent.end(), second.begin(), second.end());
  if (whole) bent.push_back(records[done]);
  bent.insert(bent.end(), iterator(done + 1), records.end());
  records = std::move(bent);
}

void bend(std::vector<Record>& records, const std::vector<Record>& others, const Graph& graph, Random& random) {
  for (std::size_t changes = 1 + below(random, 6); changes > 0 && !records.empty(); --changes) {
    const std::size_t at = below(random, records.size());
    const auto place = records.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(random, 10)) {
      case 0:
        records.erase(place);
        break;
      case 1:
        records.insert(place, Record(records[below(random, records.size())]));
        break;
      case 2:
        records.insert(place, others[below(random, others.size())]);
        break;
      case 3:
        std::swap(records[at], records[below(random, records.size())]);
        break;
      case 4:
        bend_split(records, at, random);
        break;
      default:
        bend(records[at], graph, random);
    }
  }
}

// Answers a refusal as a liar would: leaves out the refused step, or states it with other multipliers. False: nothing was found
// to change.
bool talk_around(std::vector<Record>& records, const Verdict& refusal, Random& random) {
  const std::size_t step = std::strtoull(refusal.place.c_str() + std::min<std::size_t>(refusal.place.size(), 5), nullptr, 10);
  if (!refusal.place.starts_with("step ") || step < 1 || step > records.size()) return false;
  Record& record = records[step - 1];
  const std::size_t named = refusal.place.rfind(": case ");
  if (refusal.text == "tighten.S3" && record.claimed) {
    record.claimed = false;
  } else if (refusal.text == "conclude.S3" && named != std::string::npos) {
    const std::uint64_t position = std::strtoull(refusal.place.c_str() + named + 7, nullptr, 10);
    const auto found = std::ranges::find(record.cases, position, &logic::CaseMultipliers::position);
    if (found == record.cases.end()) return false;
    if (found->rows.size() > 1 && below(random, 2) == 0)
      found->rows[1] = found->rows[0] * (static_cast<float>(below(random, 5)) / 4 - 1);
    else
      record.cases.erase(found);
  } else {
    records.erase(records.begin() + static_cast<std::ptrdiff_t>(step - 1));
    return true;
  }
  if (record.cases.empty() && record.type != RecordType::tighten) records.erase(records.begin() + static_cast<std::ptrdiff_t>(step - 1));
  return true;
}

// The records that the reader gives of a certificate of `problem`.
std::vector<Record> records_of(const std::string& bytes, const logic::Problem& problem) {
  const TemporaryFile file;
  file.put(bytes);
  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  std::vector<Record> records;
  while (true) {
    const auto next = reader.value()->next(&problem.graph());
    REQUIRE(next.ok());
    if (next.value() == nullptr) return records;
    records.push_back(*next.value());
  }
}

Record witness_near(const fuzz::Subject& subject, Random& random) {
  Record record;
  record.type = RecordType::witness;
  const statement::InputBox& box = *subject.holds->statement().property.cases[0].box;
  for (std::size_t i = 0; i < box.lo.size(); ++i) {
    const Rational part(static_cast<std::int64_t>(below(random, 9)) - (below(random, 8) == 0 ? 1 : 0),
                        7 + static_cast<std::int64_t>(below(random, 2)));
    record.witness.inputs.push_back(box.lo[i] + part * (box.hi[i] - box.lo[i]));
  }
  record.witness.case_index = static_cast<std::uint32_t>(below(random, 3));
  return record;
}

// The subjects' certificates, read; a record of its own says which subject.
struct Proof {
  const fuzz::Subject* subject;
  std::vector<Record> records;
};

std::vector<Proof> all_proofs() {
  std::vector<Proof> proofs;
  for (const fuzz::Subject& subject : fuzz::subjects()) {
    for (const Parts& parts : subject.proofs) {
      proofs.push_back({&subject, records_of(parts.file(), *subject.holds)});
      Parts again = parts;
      again.records = written(proofs.back().records);
      const TemporaryFile file;
      REQUIRE(fuzz::replayed(file, again.file(), subject.holds).accepted);  // the written records are those that were read
    }
  }
  return proofs;
}

}  // namespace

TEST_CASE("bent proofs: none shows a false statement", "[fuzz]") {
  const std::vector<Proof> proofs = all_proofs();
  const TemporaryFile file;
  std::map<std::string, std::size_t> codes;
  std::size_t still_true = 0, of_false = 0, of_true = 0;  // certificates presented
  fuzz::run("proofs", fuzz::cases(2000), [&](Random& random) {
    const Proof& proof = proofs[below(random, proofs.size())];
    const fuzz::Subject& subject = *proof.subject;
    Parts parts;
    if (below(random, 20) == 0) {  // for the true statement: no point reaches its unsafe set
      parts.header = subject.proofs.front().header;
      parts.records = written(witness_near(subject, random));
      const Verdict verdict = fuzz::replayed(file, parts.file(), subject.holds);
      ++of_false;
      if (verdict.accepted) FAIL("a witness of a statement that has none was accepted:\n" << verdict.text);
      ++codes[verdict.text];
      return;
    }
    constexpr std::size_t kTalks = 12;
    std::vector<Record> records = proof.records;
    const bool talks = below(random, 4) == 0;
    if (!talks || below(random, 2) == 0) bend(records, proofs[below(random, proofs.size())].records, subject.holds->graph(), random);
    parts.records = written(records);
    const fuzz::Refuted& refuted = subject.fails[below(random, subject.fails.size())];
    parts.header = refuted.header;
    Verdict verdict = fuzz::replayed(file, parts.file(), refuted.problem);
    ++of_false;
    for (std::size_t left = talks ? kTalks : 0; left > 0 && !verdict.accepted && talk_around(records, verdict, random); --left) {
      parts.records = written(records);
      verdict = fuzz::replayed(file, parts.file(), refuted.problem);
      ++of_false;
    }
    if (fuzz::shows_unsat(verdict)) FAIL("a certificate of a false statement was accepted:\n" << verdict.text);
    ++codes[verdict.accepted ? "accepted as sat" : verdict.text];
    if (below(random, 20) != 0) return;
    parts.header = subject.proofs.front().header;
    ++of_true;
    still_true += fuzz::replayed(file, parts.file(), subject.holds).accepted ? 1 : 0;
  });
  for (const auto& [code, count] : codes) std::fprintf(stderr, "  %-28s %zu\n", code.c_str(), count);
  std::fprintf(stderr, "  presented: %zu for false claims, none accepted; %zu for true ones, %zu accepted\n", of_false, of_true,
               still_true);
  CHECK(still_true > 0);
  CHECK(codes["conclude.S3"] > 0);
  CHECK(codes["tighten.S3"] > 0);
  CHECK(codes.size() > 12);
}

// Rows that contradict at once cost as many multiply-adds, and are refused at the same budget, whether one thread has all of them
// or several share them.
TEST_CASE("rows that contradict cost the same by any number of threads", "[fuzz]") {
  const auto row = search_test::output_row({{0, Rational(1)}}, Rational(-10000000));
  const auto problem =
      search_test::open(search_test::random_network({4, 256, 256, 1}, 3), {search_test::make_case(4, Rational(-1), Rational(1), {row})});
  const NodeId node = inspect::pre_activations(*problem).back();
  const auto upper_end = [&](auto derive) {
    certificate::Session session(problem);
    REQUIRE(session.begin_group(0).ok());
    REQUIRE(derive(session));
    return static_cast<double>(session.scope().box(node).hi[0]);
  };
  const auto record = [](RecordType type, NodeId of = 0) {
    Record made;
    made.type = type;
    made.node = of;
    return made;
  };
  std::vector<Record> records{record(RecordType::begin_group)};
  for (NodeId k = 0; k < problem->graph().nodes.size(); ++k) {
    if (!problem->is_constant(k)) records.push_back(record(RecordType::box, k));
  }
  const double by_boxes = upper_end([&](certificate::Session& session) {
    return std::all_of(records.begin() + 1, records.end(), [&](const Record& one) { return session.propagate_box(one.node).ok(); });
  });
  const double by_rows = upper_end([](certificate::Session& session) { return session.sweep(0, true).ok(); });
  REQUIRE(by_rows < by_boxes);
  Record split = record(RecordType::split_f64, node), conclude = record(RecordType::conclude), tighten = record(RecordType::tighten, node);
  split.threshold = (by_boxes + by_rows) / 2;  // beyond what rows allow
  conclude.cases = {{0, {}}};
  tighten.selection.kind = inspect::Selection::Kind::all;
  for (int k = 0; k < 20; ++k) {
    for (const Record& one : {split, conclude, record(RecordType::next), tighten, record(RecordType::empty), record(RecordType::done)})
      records.push_back(one);
  }
  records.push_back(record(RecordType::end_group));
  const TemporaryFile file;
  file.put(fuzz::certificate_of(problem->digest(), certificate::name_of(problem->statement().semantics), written(records)));
  certificate::ReplayLimits limits;
  limits.shared_work = 0;
  certificate::ReplayStatistics statistics;
  const auto answer_with = [&](std::size_t threads) {
    limits.threads = threads;
    return answer_of(file.path(), problem, limits, statistics);
  };
  REQUIRE(answer_with(1) == "accepted");
  const double work = statistics.work;
  for (const std::size_t threads : {2, 3, 8, 64}) {
    CHECK(answer_with(threads) == "accepted");
    CHECK(statistics.work == work);
  }
  limits.work = limits.most_work = std::floor(work / 2);
  const std::string declined = answer_with(1);
  CHECK(declined != "accepted");
  for (const std::size_t threads : {2, 3, 8, 64}) CHECK(answer_with(threads) == declined);
}
