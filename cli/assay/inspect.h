// What `assay inspect` shows: facts, tables and a drawing, from which text, JSON and a page of HTML are written.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/pages/drawing.h"
#include "app/pages/page.h"
#include "cli/assay/options.h"
#include "cli/assay/report.h"
#include "kernel/logic/api.h"
#include "semantics/graph/tensor.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::cli {

struct Sheet {
  std::string title;
  Facts facts;
  std::vector<pages::Table> tables;       // the first one is always printed
  std::optional<pages::Drawing> drawing;  // its members are rows of the first table
  std::vector<std::string> heats, sums;   // columns by which it is coloured, the first one at once; those that are added up
  std::vector<std::string> charts;        // markup, above the tables
};

// Of each kind of file. The rejection is that of the file, or of what it was to be shown with.
[[nodiscard]] Outcome<Sheet> sheet_of_model(const InspectOptions& options);
[[nodiscard]] Outcome<Sheet> sheet_of_statement(const InspectOptions& options);
[[nodiscard]] Outcome<Sheet> sheet_of_property(const InspectOptions& options);
[[nodiscard]] Outcome<Sheet> sheet_of_trace(const InspectOptions& options);
[[nodiscard]] Outcome<Sheet> sheet_of_certificate(const std::string& file);              // for pages; text is dumped record by record
[[nodiscard]] Outcome<Sheet> sheet_of_arrays(const InspectOptions& options);             // safetensors, checkpoints among them, NPZ and NPY
[[nodiscard]] Outcome<Sheet> sheet_of_log(const InspectOptions& options);                // CSV of numbers, such as step, loss, rate
[[nodiscard]] Outcome<Sheet> sheet_of_numbers(const std::vector<std::string>& numbers);  // what float32 makes of them

// Parts of sheets.
// Facts, regions, reverse trace, parameters, gradients, tensors.
[[nodiscard]] Sheet sheet_of(const Trace& trace);
[[nodiscard]] std::string ops_text(const Graph& graph);
// Proved bounds of the nodes on the first box of the problem, beside the values at points of it, as columns of a table of all nodes.
[[nodiscard]] Outcome<Done> add_ranges(const std::shared_ptr<const kernel::Problem>& problem, const InspectOptions& options, Sheet& sheet);
// "0, 2"
[[nodiscard]] std::string operands_text(const Node& node);
// Rows node, op, dtype, shape, elements, parameters, operands, name.
[[nodiscard]] pages::Table node_table(const Graph& graph);
// A tensor of the model, trace or file: its first elements with the bits that they have.
[[nodiscard]] pages::Table element_table(const std::string& name, const Shape& shape, const std::string& dtype,
                                         const std::function<double(std::size_t)>& at, std::size_t most);

// The numbers of a tensor at a glance.
struct TensorStatistics {
  std::size_t elements = 0, zeros = 0, not_finite = 0;
  double least = 0, greatest = 0, mean = 0, deviation = 0, norm = 0;  // of the finite ones
  [[nodiscard]] double largest() const;                               // |x|
};
[[nodiscard]] TensorStatistics statistics_of(std::size_t elements, const std::function<double(std::size_t)>& at);
// Element by element, of a tensor that stays where it is; not of complex64.
[[nodiscard]] std::function<double(std::size_t)> numbers_of(const Tensor& tensor);
[[nodiscard]] TensorStatistics statistics_of(const Tensor& tensor);  // none of complex64: elements only
// Cells for the columns of kStatisticsColumns.
extern const std::vector<std::string> kStatisticsColumns;
void append_statistics(std::vector<pages::Json>& row, const TensorStatistics& statistics);

// A page of the sheet, to which more may be added.
[[nodiscard]] pages::Page page_of(const Sheet& sheet, const std::string& schema);
void add_tables(pages::Page& page, const Sheet& sheet);

}  // namespace assay::cli
