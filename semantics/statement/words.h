// Words of refusals: numbers, nodes, elements and rows as a reader of a message knows them. No verdict rests on them.
#pragma once

#include <span>
#include <string>

#include "semantics/printable.h"
#include "semantics/statement/statement.h"

namespace assay::statement {

// All digits of a number, then its hexadecimal form; and the digits alone.
[[nodiscard]] std::string exact(double value);
[[nodiscard]] std::string about(double value);

// "node 3 'z'", and "node 3 'z', element 1". The node need not exist.
[[nodiscard]] std::string name_of(const Graph& graph, NodeId node);
[[nodiscard]] std::string at(const Graph& graph, NodeId node, std::size_t element);

// `before` and a section of the page that describes the bytes and the rules of certificates, in the sources and on the site.
[[nodiscard]] std::string in_format(const char* section, const char* before = "see ");
// The advice; if it is empty, what to do about a code of the kernel, and where the rule stands.
[[nodiscard]] std::string advice_on(const std::string& code, std::string advice);

// What to do about a refused step or witness.
inline constexpr const char* kClaimLess =
    "claim less (round outward), leave the claim out, or give better slopes (of results of non-linear ops) or a further split, and derive "
    "boxes again in each branch";
inline constexpr const char* kProveMore =
    "give better slopes (of results of non-linear ops) or split further, and derive boxes again in each branch; if the case can happen, "
    "weaken the claim";
inline constexpr const char* kCloseCases =
    "conclude the missing cases, or split further; `assay check` names the branch, `assay inspect` shows the cases of each conclude, and "
    "one of no cases refutes none";
inline constexpr const char* kCompareHalves =
    "; if your tool derives more, compare these halves with its own: the half <= comes first, and a `next` begins the half >=";
// About a split of the result of a relu.
[[nodiscard]] std::string split_of_relu(const Graph& graph, NodeId node);
inline constexpr const char* kOtherPoint =
    "give a point at which the row holds, in the order of the input elements; `assay eval` shows the outputs at a point";
inline constexpr const char* kFartherPoint = "give a point farther from the border of the row, or one of shorter numbers";
// What a step named in place of an element that depends on an input; and how it names one.
[[nodiscard]] std::string unusable(const Graph& graph, NodeId node, std::size_t element);
// The first multiplier that is negative or not finite: "-0.5 as number 1, counted from 0".
[[nodiscard]] std::string unusable(std::span<const float> multipliers);
// "a case of the group, which has 2, numbered from 0".
[[nodiscard]] std::string case_of(const char* whole, std::size_t cases);
inline constexpr const char* kNumbering = "number nodes as `assay inspect MODEL` does; a record has the node first, then the element";
// For a record that does not end where its fields do, or ends elsewhere. Frames are read only if their checksums fit.
[[nodiscard]] std::string advice_to_writer(std::uint64_t step);
// The record that derives the box of a node.
[[nodiscard]] std::string advice_to_box(NodeId node);

// " where node 3 'z', element 1 <= 0 and ...": the first splits of a branch, literals of the kernel, from the outermost one on.
constexpr std::size_t kShownSplits = 6;
template <class Splits>
[[nodiscard]] std::string where_text(const Graph& graph, const Splits& splits) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& one : splits) {
    if (shown == kShownSplits) return text + " and so on";
    text +=
        (shown++ == 0 ? " where " : " and ") + at(graph, one.node, one.element) + (one.at_least ? " >= " : " <= ") + about(one.threshold);
  }
  return text;
}

// The beginning of row_text.
[[nodiscard]] std::string short_row_text(const Graph& graph, const Row& row);
// "Y_0 = 1, off by 0.5": the variables of the row's terms, in order, at about these values.
[[nodiscard]] std::string values_text(const Graph& graph, const Row& row, std::span<const double> values);
// "X_0 = 0.5, X_1 = 0.107 and 3 more inputs": at most `most` coordinates of a point, exactly.
constexpr std::size_t kShownInputs = 16;
[[nodiscard]] std::string point_text(std::span<const Rational> point, std::size_t most = kShownInputs);
// "case 0, row 1, at X_0 = 0.5": the place of a row that fails, with the beginning of point_text.
[[nodiscard]] std::string row_at(std::size_t case_index, std::size_t row, std::span<const Rational> point);

}  // namespace assay::statement
