// Candidate points: turns a point that violates the property in double arithmetic into a witness that the
// kernel accepts.
//
// A witness lies in the box exactly. Each coordinate of an integer or boolean input is an integer. Every other
// coordinate is a float32 value if the coordinate's decimal interval holds one.
//
// Doubles decide which point to ask about. The kernel decides whether it is a witness: it evaluates the point exactly,
// or in the execution model of a floating semantics. Snapping may carry points out of balls, so they are pulled back
// towards the middles of the balls.
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
  // `any_number`: over the reals, doubles in place of float32 values, and the exact ends of the box.
  CandidateBox(const Network& network, std::size_t group, bool any_number = false);

  [[nodiscard]] const std::vector<double>& lo() const { return lo_; }  // ends of the box for snapped points
  [[nodiscard]] const std::vector<double>& hi() const { return hi_; }
  [[nodiscard]] bool is_empty() const { return is_empty_; }
  // The nearest admissible value of one coordinate: an integer for an integer input, otherwise a float32 if there is
  // one in the box.
  [[nodiscard]] double snap(std::size_t i, double x) const;
  // Brings a snapped point back into the group's balls, by moving it towards their middles.
  void project(std::span<double> x) const;
  [[nodiscard]] bool has_balls() const { return !balls_.empty(); }
  // The exact point of a snapped one.
  [[nodiscard]] std::vector<Rational> exact(std::span<const double> snapped) const;

 private:
  // Number: a number of the format of a floating semantics. Ends: doubles, and the ends of the box as the property
  // writes them.
  enum class Kind : std::uint8_t { integer, number, float32, float64, ends, exact };
  floats::Precision format_;
  const statement::InputBox* box_;
  std::vector<Kind> kinds_;
  std::vector<double> lo_, hi_;
  struct Middle {  // a ball: sum of weight (x - at)^2 <= most, or sum of weight |x - at| <= most, over some coordinates
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

// Snaps x and evaluates it in double arithmetic for every case of the group. Asks the kernel about the best case if its
// rows hold by at least `margin` times their scale.
std::optional<logic::Theorem> try_point(const Network& network, const CandidateBox& box, std::size_t group, std::span<const double> x,
                                        Workspace& workspace, double margin = 0);
std::optional<logic::Theorem> try_point(const Network& network, std::size_t group, std::span<const double> x);
// For a place where the network crosses the border of the unsafe set, so that points rounded to float32 values lie
// outside of it: tries the points as doubles or exact ends of the box, and then points on the lines through the first
// one along each axis.
std::optional<logic::Theorem> try_around(const Network& network, std::size_t group, std::span<const std::vector<double>> points,
                                         Workspace& workspace);
// A case without rows holds at every point of its box at which the network has a value. If `group` has such a case,
// looks for such a point and returns the theorem.
std::optional<logic::Theorem> try_case_without_rows(const Network& network, std::size_t group, const Limit& limit);
[[nodiscard]] bool has_case_without_rows(const logic::Problem& problem, std::size_t group);
// Tries one point of each group, so that the network has a nearest point even if the boxes are so small that nothing
// was tried.
void try_middles(const Network& network);

// Asks the kernel about a witness, until the limit is reached.
std::optional<logic::Theorem> check_witness(const Network& network, const logic::Witness& witness, const Limit& limit);

// The smallest slack of the case's rows, each divided by its scale; -inf if a value is not a number.
[[nodiscard]] double worst_slack(const std::vector<RowView>& rows, const double* outputs, const double* inputs);

}  // namespace assay::search
