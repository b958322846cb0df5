// The content of a file as facts, tables and a drawing, from which `assay inspect` writes text, JSON and a page of HTML.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "app/pages/drawing.h"
#include "app/pages/page.h"
#include "app/program.h"
#include "kernel/logic/api.h"
#include "semantics/graph/tensor.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::views {

using pages::Facts;

struct InspectRequest {
  std::string file;
  std::string network;           // for a property or a certificate: the model that it speaks about
  std::string property;          // of a model: on whose first box nodes are bounded
  std::vector<double> box;       // lo, hi: the same for a box of all inputs
  bool bounds = false;           // of a property or a statement: bound nodes on its first box
  std::string method = "crown";  // of the bounds
  double timeout = 60;           // seconds of back-substitution
  std::size_t samples = 16;      // points of the box
  std::string values;            // of a model: run it on these, forward and backward
  std::string data, labels;      // of a model: a data set whose items are classified
  std::size_t items = 1000;      // of the data set at most
  std::string tensor;            // whose elements are listed
  std::size_t elements = 64;     // of it at most
  check::Limits limits;
  Program program = {};
};

struct Sheet {
  std::string title;
  Facts facts;
  std::vector<pages::Table> tables;       // the first one is always printed
  std::optional<pages::Drawing> drawing;  // its members are rows of the first table
  std::vector<std::string> heats, sums;   // columns by which it is coloured, the first one at once; those that are added up
  std::vector<std::string> charts;        // markup, above the tables
};

// Of each kind of file. The rejection is that of the file, or of what it was to be shown with.
[[nodiscard]] Outcome<Sheet> sheet_of_model(const InspectRequest& request);
[[nodiscard]] Outcome<Sheet> sheet_of_statement(const InspectRequest& request);
[[nodiscard]] Outcome<Sheet> sheet_of_property(const InspectRequest& request);
[[nodiscard]] Outcome<Sheet> sheet_of_trace(const InspectRequest& request);
[[nodiscard]] Outcome<Sheet> sheet_of_certificate(const std::string& file);              // for pages; text is dumped record by record
[[nodiscard]] Outcome<Sheet> sheet_of_arrays(const InspectRequest& request);             // safetensors, checkpoints among them, NPZ and NPY
[[nodiscard]] Outcome<Sheet> sheet_of_log(const InspectRequest& request);                // CSV of numbers, such as step, loss, rate
[[nodiscard]] Outcome<Sheet> sheet_of_numbers(const std::vector<std::string>& numbers);  // their values in float32

// Parts of sheets.
// Facts, regions, reverse trace, parameters, gradients, tensors.
[[nodiscard]] Sheet sheet_of(const Trace& trace);
[[nodiscard]] std::string ops_text(const Graph& graph);
// Proved bounds of the nodes on the first box of the problem, beside the values at points of it, as columns of a table of all nodes.
[[nodiscard]] Outcome<Done> add_ranges(const std::shared_ptr<const logic::Problem>& problem, const InspectRequest& request, Sheet& sheet);
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

}  // namespace assay::views
