// Small statements for the certificate tests, and the raw bytes of certificate files.
//
// The graph has two equal relu neurons with opposite signs, so y = 0 everywhere, which no single linear bound shows:
// nodes 0 input x [1, 2], 3 z = x W + b [1, 2] (gemm), 4 relu, 6 y [1, 1] (gemm). The others are constants.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "certificates/check/replay.h"
#include "certificates/format/format.h"
#include "certificates/format/writer.h"
#include "kernel/inspect/inspect.h"
#include "semantics/statement/statement_text.h"
#include "tests/catch.h"

namespace assay::test {

struct SmallNet {
  Graph graph;
  NodeId input = 0, z = 0, relu = 0, y = 0;
};

inline NodeId added(Outcome<NodeId> node) {
  REQUIRE(node.ok());
  return node.value();
}

inline SmallNet small_net() {
  SmallNet net;
  Graph& g = net.graph;
  net.input = g.append_input(DType::float32, {1, 2}, "x");
  const std::vector<float> w{1, 1, 0.5f, 0.5f}, b{0.25f, 0.25f}, v{1, -1};
  const NodeId weight = g.append_constant(Tensor::of_floats({2, 2}, w)), bias = g.append_constant(Tensor::of_floats({1, 2}, b));
  net.z = added(g.append(Op::gemm, {net.input, weight, bias}, GemmAttributes{}, "z"));
  net.relu = added(g.append(Op::relu, {net.z}, NoAttributes{}, "h"));
  const NodeId last = g.append_constant(Tensor::of_floats({2, 1}, v));
  net.y = added(g.append(Op::gemm, {net.relu, last}, GemmAttributes{}, "y"));
  g.mark_output(net.y, "y");
  return net;
}

inline std::shared_ptr<const statement::InputBox> box(std::vector<Rational> lo, std::vector<Rational> hi) {
  return std::make_shared<const statement::InputBox>(statement::InputBox{std::move(lo), std::move(hi)});
}

// sign * y <= bound
inline statement::Row y_row(int sign, const Rational& bound) {
  return {{{Rational(sign), {statement::Variable::Side::output, 0, 0}}}, bound, false};
}

inline std::shared_ptr<const logic::Problem> open_problem(statement::Property property) {
  auto problem = logic::Problem::open({small_net().graph, std::move(property), ExecutionModel{}, {}});
  if (!problem.ok()) FAIL(problem.rejection().to_text());
  return problem.value();
}

// Group 0: x in [-1, 1]^2 with cases y <= -1/4 and y >= 1/4; group 1: x in [1, 2]^2 with case y >= 1/8. Unsatisfiable.
inline std::shared_ptr<const logic::Problem> two_groups() {
  const auto wide = box({-1, -1}, {1, 1}), right = box({1, 1}, {2, 2});
  return open_problem({{{wide, {y_row(1, Rational(-1, 4))}}, {wide, {y_row(-1, Rational(-1, 4))}}, {right, {y_row(-1, Rational(-1, 8))}}}});
}

// x in [1/3, 1/3] x [0, 1], case y <= 0: satisfiable everywhere.
inline std::shared_ptr<const logic::Problem> reachable() {
  return open_problem({{{box({Rational(1, 3), 0}, {Rational(1, 3), 1}), {y_row(1, 0)}}}});
}

// A file name of this process that is removed at the end.
class TemporaryFile {
 public:
  TemporaryFile() {
    static int count = 0;
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") + "/assay_test_" + std::to_string(getpid()) + "_" + std::to_string(++count);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void put(const std::string& bytes) const {
    std::ofstream file(path_, std::ios::binary);
    file << bytes;
  }
  [[nodiscard]] bool exists() const { return std::ifstream(path_).good(); }

 private:
  std::string path_;
};

// What a theorem says, and about which statement.
inline std::string text_of(const logic::Theorem& theorem) {
  const bool sat = theorem.kind() == logic::Theorem::Kind::satisfiable;
  const std::string says = sat ? "sat " + std::to_string(theorem.witness().case_index) : theorem.vacuous() ? "vacuous" : "unsat";
  return says + "\n" +
         statement_text(theorem.problem()->statement(), theorem.problem()->graph_digest(), theorem.problem()->digest(), false);
}

// The theorem's text, or the code of the rejection.
struct Verdict {
  bool accepted = false;
  std::string text;
  Rejection::Kind kind = Rejection::Kind::rejected;
  std::string place;
};

inline Verdict replay_file(const std::string& path, const std::shared_ptr<const logic::Problem>& problem,
                           const certificate::ReplayLimits& limits = {}) {
  auto reader = certificate::Reader::open(path);
  if (!reader) return {false, reader.rejection().code, reader.rejection().kind, reader.rejection().place};
  certificate::ReplayStatistics statistics;
  auto theorem = certificate::replay(*reader.value(), problem, &statistics, limits);
  CHECK((!theorem || statistics.again == 0));
  if (!theorem) return {false, theorem.rejection().code, theorem.rejection().kind, theorem.rejection().place};
  return {true, text_of(theorem.value()), {}, ""};
}

// The verdict in a word or the reason, and what the replay counted.
inline std::string answer_of(const std::string& path, const std::shared_ptr<const logic::Problem>& problem,
                             const certificate::ReplayLimits& limits, certificate::ReplayStatistics& statistics) {
  auto reader = certificate::Reader::open(path);
  REQUIRE(reader.ok());
  const auto theorem = certificate::replay(*reader.value(), problem, &statistics, limits);
  return theorem ? "accepted" : theorem.rejection().to_text();
}

// By one thread, and by three or eight, which hold whole splits or next to nothing: the verdict is the same, to the letter.
inline Verdict replay_bytes(const std::string& bytes, const std::shared_ptr<const logic::Problem>& problem) {
  const TemporaryFile file;
  file.put(bytes);
  Verdict verdict = replay_file(file.path(), problem);
  certificate::ReplayLimits limits;
  limits.shared_work = 0;
  for (const auto& [threads, held] :
       {std::pair{3, limits.shared_bytes}, std::pair{3, std::uint64_t{4000}}, std::pair{8, limits.shared_bytes}}) {
    limits.threads = static_cast<std::size_t>(threads);
    limits.shared_bytes = held;
    const Verdict shared = replay_file(file.path(), problem, limits);
    INFO("by one thread: " << verdict.text << " " << verdict.place << ", by " << threads << ": " << shared.text << " " << shared.place);
    CHECK(shared.accepted == verdict.accepted);
    CHECK(shared.text == verdict.text);
    CHECK(shared.place == verdict.place);
  }
  return verdict;
}

// A certificate file taken apart: header (with its checksum) and the payload of the record frames; put together again
// with fresh checksums, so that a test can bend what the checksums would otherwise catch first.
struct Parts {
  std::string header, records;

  static std::string frame(std::uint8_t type, const std::string& payload) {
    std::string out(1, static_cast<char>(type));
    for (std::uint64_t n = payload.size();; n >>= 7) {
      out += static_cast<char>((n & 127) | (n > 127 ? 128 : 0));
      if (n <= 127) break;
    }
    out += payload;
    return out + checksum(out);
  }
  static std::string checksum(const std::string& bytes) {
    const std::uint32_t crc = certificate::crc32c(0, bytes);
    std::string out;
    for (int i = 0; i < 4; ++i) out += static_cast<char>(crc >> (8 * i) & 0xFF);
    return out;
  }
  [[nodiscard]] std::string file() const { return header + frame(1, records) + frame(2, std::string(1, '\1')); }

  // Of a file with one record frame.
  static Parts of(const std::string& bytes) {
    Parts parts;
    const std::size_t head = 5 + 1 + 32 + 1 + static_cast<std::uint8_t>(bytes.at(38)) + 4;
    parts.header = bytes.substr(0, head);
    std::size_t at = head + 1, length = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes.at(at++));
      length |= static_cast<std::size_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    parts.records = bytes.substr(at, length);
    return parts;
  }
};

}  // namespace assay::test
