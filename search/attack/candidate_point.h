// Candidate points: from a point that violates in double arithmetic to a witness that the kernel
// accepts.
//
// A witness holds an integer in every coordinate of an integer or boolean input and a float32 value
// in every other one whose decimal interval holds one, and lies in the box exactly.
//
// Doubles decide which point is asked about, and the kernel whether it is a witness: it evaluates
// the point exactly, or in the execution model of a floating semantics. Points of balls are pulled
// back towards their middles, since snapping may carry them outside.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernel/floats/format.h"
#include "kernel/logic/api.h"
#include "search/relax/network.h"

namespace assay::search {

// The points of one group's box that may be witnesses.
class CandidateBox {
 public:
  CandidateBox(const Network& network, std::size_t group);

  [[nodiscard]] const std::vector<double>& lo() const { return lo_; }  // of the snapped points
  [[nodiscard]] const std::vector<double>& hi() const { return hi_; }
  [[nodiscard]] bool is_empty() const { return is_empty_; }
  // The nearest admissible value of one coordinate: an integer of an integer input, else a float32
  // where there is one.
  [[nodiscard]] double snap(std::size_t i, double x) const;
  // Brings a snapped point back into the group's balls, towards their middles.
  void project(std::span<double> x) const;
  [[nodiscard]] bool has_balls() const { return !balls_.empty(); }
  // The exact point behind a snapped one.
  [[nodiscard]] std::vector<Rational> exact(std::span<const double> snapped) const;

 private:
  enum class Kind : std::uint8_t { integer, number, float32, float64, exact };  // number: of the format of a floating semantics
  floats::Precision format_;
  const statement::InputBox* box_;
  std::vector<Kind> kinds_;
  std::vector<double> lo_, hi_;
  struct Middle {  // of a ball: sum of weight (x - at)^2 or of weight |x - at| <= most, over some coordinates
    bool of_squares;
    double most;
    std::vector<std::size_t> coordinates{};
    std::vector<double> at{}, weights{};
    [[nodiscard]] double shrunk(std::span<const double> x, double by, std::size_t k) const;
    [[nodiscard]] double size(std::span<const double> x, double by) const;
  };
  std::vector<Middle> balls_;
  bool is_empty_ = false;
};

// Snaps x, evaluates it in double arithmetic for every case of the group and asks the kernel about
// the best case if its rows hold by at least `margin` times their scale.
std::optional<logic::Theorem> try_point(const Network& network, const CandidateBox& box, std::size_t group, std::span<const double> x,
                                        Workspace& workspace, double margin = 0);
std::optional<logic::Theorem> try_point(const Network& network, std::size_t group, std::span<const double> x);
// A case without rows holds at every point of its box: the theorem of one, where `group` has such a
// case.
std::optional<logic::Theorem> try_case_without_rows(const Network& network, std::size_t group, const Limit& limit);
[[nodiscard]] bool has_case_without_rows(const logic::Problem& problem, std::size_t group);
// One point of each group, for what the network remembers of them: boxes that are so small that
// nothing was tried.
void try_middles(const Network& network);

// The kernel's word on a witness, unless the limit is reached first.
std::optional<logic::Theorem> check_witness(const Network& network, const logic::Witness& witness, const Limit& limit);

// The smallest slack of the case's rows, each divided by its scale; -inf when a value is not a
// number.
[[nodiscard]] double worst_slack(const std::vector<RowView>& rows, const double* outputs, const double* inputs);

}  // namespace assay::search
