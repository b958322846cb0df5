// Traces: regions in the order in which they ran, the reverse trace step by step, the parameters with their gradients, every tensor.
#include <algorithm>
#include <map>
#include <utility>

#include "app/gates/gate.h"
#include "app/views/sheet.h"
#include "semantics/printable.h"

namespace assay::views {
namespace {

using pages::Json;
using pages::Table;

const char* word(Trace::Origin origin) {
  switch (origin) {
    case Trace::Origin::input:
      return "input";
    case Trace::Origin::parameter:
      return "parameter";
    case Trace::Origin::result:
      return "result";
  }
  return "";
}

// The tables of one trace; statistics of its tensors are found once.
class Tape {
 public:
  explicit Tape(const Trace& trace) : trace_(trace) {
    for (const Trace::Entry& entry : trace.tensors) statistics_.push_back(statistics_of(entry.value));
    for (const Trace::Vjp& vjp : trace.vjps) {
      if (vjp.node || vjp.result >= trace.regions[vjp.of].results.size()) continue;
      double& largest = cotangents_[vjp.of];
      largest = std::max(largest, largest_of(vjp.cotangent));
    }
  }

  [[nodiscard]] Table regions() const {
    Table table{"region_list",
                "Regions, in the order in which they ran",
                {"region", "ops", "shapes", "elements", "largest |value|", "largest |cotangent|", "not finite", "model", "name"},
                {}};
    for (std::uint32_t r = 0; r < trace_.regions.size(); ++r) {
      const Region& region = trace_.regions[r];
      std::size_t elements = 0, not_finite = 0;
      double largest = 0;
      for (const TraceTensorId id : region.results) {
        elements += statistics_[id].elements;
        not_finite += statistics_[id].not_finite;
        largest = std::max(largest, statistics_[id].largest());
      }
      const auto cotangent = cotangents_.find(r);
      table.rows.push_back({r, reports::ops_of(region.graph), reports::shapes_of(trace_, region), elements, pages::number(largest),
                            cotangent == cotangents_.end() ? Json() : pages::number(cotangent->second), not_finite, to_string(region.model),
                            printable(region.name)});
    }
    return table;
  }

  // In the order in which the products were recorded, which is that of the reverse pass.
  [[nodiscard]] Table reverse() const {
    Table table{"reverse",
                "Reverse trace: vector-Jacobian products, step by step",
                {"step", "region", "ops", "cotangent", "shape", "largest |in|", "gives", "largest |out|", "surrogate"},
                {}};
    for (std::size_t k = 0; k < trace_.vjps.size(); ++k) {
      const Trace::Vjp& vjp = trace_.vjps[k];
      std::string gives;
      double largest = 0;
      for (const auto& [operand, id] : vjp.cotangents) {
        gives += (gives.empty() ? "" : ", ") + std::to_string(operand) + ": " + name_of(id);
        largest = std::max(largest, largest_of(id));
      }
      const Graph& graph = trace_.regions[vjp.of].graph;
      table.rows.push_back({k, vjp.of, vjp.node ? std::string(op_row(graph.node(*vjp.node).op).name) + " inside" : reports::ops_of(graph),
                            name_of(vjp.cotangent), is_inner(vjp.cotangent) ? "" : to_string(trace_.tensors[vjp.cotangent].value.shape()),
                            pages::number(largest_of(vjp.cotangent)), gives, pages::number(largest), vjp.surrogate ? "yes" : ""});
    }
    return table;
  }

  [[nodiscard]] Table parameters() const {
    Table table{
        "parameters",
        "Parameters, and their gradients",
        {"name", "dtype", "shape", "elements", "norm", "largest |value|", "gradient", "gradient's norm", "largest |gradient|", "zeros"},
        {}};
    std::map<TraceTensorId, TraceTensorId> gradients;
    for (const Trace::Gradient& gradient : trace_.gradients) gradients.insert(gradient.of.begin(), gradient.of.end());
    for (TraceTensorId id = 0; id < trace_.tensors.size(); ++id) {
      const Trace::Entry& entry = trace_.tensors[id];
      if (entry.origin != Trace::Origin::parameter) continue;
      const TensorStatistics& own = statistics_[id];
      std::vector<Json> row{printable(entry.name), to_string(entry.value.dtype()), to_string(entry.value.shape()),
                            own.elements,          pages::number(own.norm),        pages::number(own.largest())};
      const auto found = gradients.find(id);
      if (found == gradients.end()) {
        row.insert(row.end(), {Json(), Json(), Json(), Json()});
      } else {
        const TensorStatistics& its = statistics_[found->second];
        row.insert(row.end(), {name_of(found->second), pages::number(its.norm), pages::number(its.largest()), its.zeros});
      }
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  [[nodiscard]] Table gradients() const {
    Table table{"gradient_list", "Gradients that were asked for", {"output", "seed", "of", "gradient"}, {}};
    table.columns.insert(table.columns.end(), kStatisticsColumns.begin(), kStatisticsColumns.end());
    for (const Trace::Gradient& gradient : trace_.gradients) {
      for (const auto& [of, id] : gradient.of) {
        std::vector<Json> row{name_of(gradient.output), name_of(gradient.seed), name_of(of), name_of(id)};
        append_statistics(row, statistics_[id]);
        table.rows.push_back(std::move(row));
      }
    }
    return table;
  }

  [[nodiscard]] Table tensors() const {
    Table table{"tensor_list", "Tensors", {"tensor", "origin", "dtype", "shape"}, {}};
    table.columns.insert(table.columns.end(), kStatisticsColumns.begin(), kStatisticsColumns.end());
    table.columns.emplace_back("name");
    for (TraceTensorId id = 0; id < trace_.tensors.size(); ++id) {
      const Trace::Entry& entry = trace_.tensors[id];
      std::vector<Json> row{id, word(entry.origin), to_string(entry.value.dtype()), to_string(entry.value.shape())};
      append_statistics(row, statistics_[id]);
      row.emplace_back(printable(entry.name));
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  // The ops of the regions, node by node; constants apart.
  [[nodiscard]] Table nodes() const {
    Table table{"region_nodes", "Nodes of the regions", {"region", "node", "op", "dtype", "shape", "operands"}, {}};
    for (std::size_t r = 0; r < trace_.regions.size(); ++r) {
      const Graph& graph = trace_.regions[r].graph;
      for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        const Node& node = graph.node(id);
        if (op_row(node.op).op_class == OpClass::leaf) continue;
        table.rows.push_back({r, id, op_row(node.op).name, to_string(node.dtype), to_string(node.shape), operands_text(node)});
      }
    }
    return table;
  }

 private:
  [[nodiscard]] static bool is_inner(TraceTensorId id) { return id >= kFirstInner; }
  [[nodiscard]] std::string name_of(TraceTensorId id) const {
    return printable(is_inner(id) ? trace_.inner[id - kFirstInner].name : trace_.tensors[id].name);
  }
  [[nodiscard]] double largest_of(TraceTensorId id) const { return is_inner(id) ? 0 : statistics_[id].largest(); }

  const Trace& trace_;
  std::vector<TensorStatistics> statistics_;    // by tensor
  std::map<std::uint32_t, double> cotangents_;  // by region: the largest of its results'
};

}  // namespace

// A trace whose indices do not fit, or which is no one run, has facts and no tables: its audit says why.
Sheet sheet_of(const Trace& trace) {
  Sheet sheet;
  sheet.facts = {{"products", std::to_string(trace.vjps.size())}, {"gradients", std::to_string(trace.gradients.size())}};
  if (!trace.tangents.empty()) sheet.facts.emplace_back("tangents", std::to_string(trace.tangents.size()));
  for (const TraceTensorId id : trace.outputs)
    sheet.facts.emplace_back("output", printable(trace.tensors[id].name) + " " + to_string(trace.tensors[id].value.shape()));
  if (auto whole = audit::check_continuity(trace); !whole) {
    sheet.facts.emplace_back("not one run", whole.rejection().to_text());
    return sheet;
  }
  if (!trace.vjps.empty()) {
    const audit::Liveness life = audit::liveness(trace);
    if (!life.dead.empty()) sheet.facts.emplace_back("dead cotangents", gates::dead_text(life));
  }
  const Tape tape(trace);
  sheet.tables.push_back(tape.regions());
  if (!trace.vjps.empty()) sheet.tables.push_back(tape.reverse());
  for (Table table : {tape.parameters(), tape.gradients(), tape.nodes(), tape.tensors()})
    if (!table.rows.empty()) sheet.tables.push_back(std::move(table));
  sheet.drawing = pages::drawing_of(trace);
  sheet.heats = {"largest |value|", "largest |cotangent|", "elements", "not finite"};
  sheet.sums = {"elements", "not finite"};
  return sheet;
}

Outcome<Sheet> sheet_of_trace(const InspectRequest& options) {
  reports::GateReport report;
  const auto opened = gates::open_trace(options.file, options.limits, report);
  if (!opened) return opened.rejection();
  const Trace& trace = opened.value();
  Sheet sheet = sheet_of(trace);
  sheet.title = "Trace " + options.file;
  Facts facts{{"file", options.file}, {"kind", "trace"}};
  facts.insert(facts.end(), report.facts.begin(), report.facts.end());
  facts.insert(facts.end(), sheet.facts.begin(), sheet.facts.end());
  sheet.facts = std::move(facts);
  if (options.tensor.empty()) return sheet;
  for (TraceTensorId id = 0; id < trace.tensors.size(); ++id) {
    const Trace::Entry& entry = trace.tensors[id];
    if (entry.name != options.tensor || entry.value.dtype() == DType::complex64) continue;
    const Tensor& value = entry.value;
    sheet.tables.push_back(
        element_table(printable(entry.name), value.shape(), to_string(value.dtype()), numbers_of(value), options.elements));
    return sheet;
  }
  return Rejection{Rejection::Kind::malformed, "inspect.tensor",    options.tensor,
                   "a tensor of the trace",    "none of that name", "assay inspect " + options.file + " --show tensor_list lists them"};
}

}  // namespace assay::views
