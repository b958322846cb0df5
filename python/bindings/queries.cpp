// Models, properties and certificates: what assay.verify, check, bounds, lint, statement and evaluate are made of.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "api/assay/check.h"
#include "api/check/cost.h"
#include "api/check/vacuity.h"
#include "app/queries/bounds.h"
#include "app/queries/evaluate.h"
#include "app/queries/file_kind.h"
#include "app/queries/gap.h"
#include "app/queries/verify.h"
#include "assay/check.h"
#include "certificates/format/writer.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/lint.h"
#include "kernel/floats/named_models.h"
#include "python/bindings/native.h"
#include "semantics/numbers/interval.h"
#include "semantics/statement/statement_text.h"

namespace assay::python {
namespace {

using Text = std::string;
using Edits = std::vector<std::pair<std::string, std::string>>;
using MaybeText = std::optional<std::string>;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

onnx::Edits edits_of(const Edits& given) {
  onnx::Edits edits;
  for (const auto& [option, text] : given)
    if (auto added = edits.add(option, text); !added) refuse(added.rejection());
  return edits;
}

check::LoadOptions load_options(const MaybeText& semantics, std::optional<std::uint64_t> memory, std::optional<double> budget,
                                const Edits& edits) {
  check::LoadOptions options;
  options.limits.edits = edits_of(edits);
  if (semantics) options.semantics = taken(floats::semantics_named(*semantics));
  options.limits.memory = memory;
  if (budget && !(*budget > 0)) refuse_argument("budget", "multiply-adds, a number above 0", std::to_string(*budget));
  options.limits.work = budget;
  return options;
}

check::Loaded loaded(const Text& model, const Text& property, const check::LoadOptions& options) {
  auto outcome = check::load_problem(model, property, options);
  if (!outcome) refuse(queries::recognised_input(outcome.rejection(), model, property));
  return std::move(outcome).value();
}

MemoryRule memory_rule(std::optional<std::uint64_t> memory) {
  return check::memory_rule({.memory = memory, .work = {}, .threads = 1, .edits = {}});
}

onnx::Model imported(const Text& path, std::optional<std::uint64_t> memory, const onnx::Edits& edits) {
  auto model = onnx::import_model(path, memory_rule(memory), edits);
  if (!model) refuse(queries::recognised(check::in_file(model.rejection(), path), path, queries::FileKind::onnx));
  if (!memory) return std::move(model).value();
  // The interpreter has more to do than this: nobody limits its memory, so what the network needs is estimated.
  const check::Limits limits{.memory = memory, .work = std::numeric_limits<double>::infinity(), .threads = 1, .edits = {}};
  if (auto size = check::check_size(model.value().graph, limits, model.value().stored); !size)
    refuse(check::in_file(size.rejection(), path));
  return std::move(model).value();
}

nb::list to_list(const std::vector<std::string>& words) {
  nb::list list;
  for (const std::string& word : words) list.append(word);
  return list;
}

// Tensors of one side: (name, dtype, shape).
nb::list side(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<std::string>& names) {
  nb::list list;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    list.append(nb::make_tuple(names[i], name_of(graph.node(nodes[i]).dtype), to_tuple(graph.node(nodes[i]).shape)));
  return list;
}

void add_problem(nb::dict& dict, const logic::Problem& problem) {
  const statement::Statement& statement = problem.statement();
  dict["statement"] = statement::statement_text(problem.statement(), problem.graph_digest(), problem.digest(), true);
  dict["semantics"] = to_string(statement.semantics);
  nb::dict digests;
  for (const statement::Source& source : statement.sources)
    digests[nb::str((source.role + " " + source.name).c_str())] = statement::to_hex(source.sha256);
  digests["graph"] = statement::to_hex(problem.graph_digest());
  digests["statement"] = statement::to_hex(problem.digest());
  dict["digests"] = digests;
  dict["inputs"] = side(problem.graph(), problem.graph().inputs, problem.graph().input_names);
  dict["outputs"] = side(problem.graph(), problem.graph().outputs, problem.graph().output_names);
}

void add_theorem(nb::dict& dict, const std::optional<logic::Theorem>& theorem) {
  dict["theorem"] = theorem ? check::theorem_text(*theorem, true) : "";
  dict["assumptions"] = theorem ? to_list(theorem->assumptions()) : nb::list();
  dict["proves"] = theorem ? search::word_of(search::answer_of(*theorem)) : "";
  dict["vacuous"] = theorem ? check::vacuity(*theorem) : "";
  if (!theorem || theorem->kind() != logic::Theorem::Kind::satisfiable) return;
  nb::list witness;
  for (const Rational& value : theorem->witness().inputs) witness.append(value.to_string());
  dict["witness"] = witness;
  std::vector<double> lo, hi;
  for (const Interval& output : theorem->outputs()) {
    lo.push_back(output.lo());
    hi.push_back(output.hi());
  }
  dict["witness_outputs"] = nb::make_tuple(to_bytes(lo), to_bytes(hi));
}

struct Searched {
  check::Loaded loaded;
  search::Result result;
  std::uint64_t certificate_bytes = 0;
  double load_seconds = 0, total_seconds = 0;
};

// What the search said last; both threads look at it.
struct Latest {
  std::mutex mutex;
  search::Progress progress;
  bool fresh = false;
};

Searched search_for(const Text& model, const Text& property, const MaybeText& certificate, const check::LoadOptions& options,
                    search::Options search_options, double timeout) {
  const auto start = std::chrono::steady_clock::now();
  Searched searched{loaded(model, property, options), {}, 0, 0, 0};
  searched.load_seconds = seconds_since(start);
  search_options.seconds = timeout;
  if (timeout > 0) search_options.deadline = search::Deadline::in(timeout - searched.load_seconds);
  std::unique_ptr<certificate::Writer> writer;
  if (certificate) writer = taken(certificate::Writer::open(*certificate, *searched.loaded.problem));
  searched.result = taken(queries::verify(searched.loaded.problem, search_options, writer.get()));
  if (searched.result.unwritten) refuse(*searched.result.unwritten);
  if (writer && searched.result.theorem) searched.certificate_bytes = writer->bytes_written();
  searched.total_seconds = seconds_since(start);
  return searched;
}

nb::dict verify(const Text& model, const Text& property, const MaybeText& certificate, const MaybeText& semantics, double timeout,
                int threads, std::uint64_t seed, std::optional<std::uint64_t> memory, std::optional<double> budget, const Text& branching,
                bool attack, nb::object progress, const Edits& edits) {
  const check::LoadOptions options = load_options(semantics, memory, budget, edits);
  search::Options search_options;
  if (threads < 1 || threads > 1024) refuse_argument("threads", "1 to 1024", std::to_string(threads));
  if (!(timeout >= 0)) refuse_argument("timeout", "seconds above 0, or None", std::to_string(timeout));
  if (branching != "auto" && branching != "input" && branching != "relu") refuse_argument("branching", "auto, input or relu", branching);
  search_options.threads = threads;
  search_options.seed = seed;
  search_options.attack = attack;
  search_options.branching = queries::branching_named(branching);
  search_options.memory_limit_bytes = queries::search_memory(check::memory_rule(options.limits).most);
  const auto latest = std::make_shared<Latest>();
  if (!progress.is_none()) {
    search_options.on_progress = [latest](const search::Progress& said) {
      const std::lock_guard lock(latest->mutex);
      latest->progress = said;
      latest->fresh = true;
    };
  }
  const auto tell = [&latest, &progress] {
    search::Progress said;
    {
      const std::lock_guard lock(latest->mutex);
      if (!std::exchange(latest->fresh, false)) return;
      said = latest->progress;
    }
    nb::dict dict;
    dict["seconds"] = said.seconds;
    dict["phase"] = said.phase;
    dict["closed"] = said.closed;
    dict["open"] = said.open;
    dict["worst_bound"] = said.worst_bound;
    progress(dict);
  };
  const auto searched = on_a_thread<Searched>(
      [=](const std::stop_token& stop) {
        search::Options own = search_options;
        own.stop = stop;
        return search_for(model, property, certificate, options, std::move(own), timeout);
      },
      tell);
  if (!progress.is_none()) tell();
  nb::dict dict;
  dict["answer"] = search::word_of(searched.result.answer);
  dict["reason"] = searched.result.reason;
  dict["sentence"] = queries::sentence(searched.result);
  dict["other_branching"] = queries::other_branching(searched.result);
  if (const auto& left = searched.result.unfinished) {
    nb::dict cases;
    for (const search::Unfinished::Left& one : left->cases) cases[nb::int_(one.case_index)] = one.bound;
    dict["closed_share"] = left->closed_share;
    dict["open_cases"] = cases;
    const auto seconds = queries::seconds_left(*left);
    dict["seconds_left"] = seconds ? nb::object(nb::float_(*seconds)) : nb::none();
  }
  dict["notes"] = to_list(searched.loaded.notes);
  dict["certificate_bytes"] = searched.certificate_bytes;
  const search::Statistics& s = searched.result.statistics;
  nb::dict times;
  times["load"] = searched.load_seconds;
  times["search"] = s.wall_seconds;
  times["cpu"] = s.cpu_seconds;
  times["attack"] = s.attack_seconds;
  times["root_bounds"] = s.root_seconds;
  times["branching"] = s.branching_seconds;
  times["total"] = searched.total_seconds;
  dict["times"] = times;
  dict["nodes"] = s.nodes;
  dict["leaves"] = s.leaves;
  add_problem(dict, *searched.loaded.problem);
  add_theorem(dict, searched.result.theorem);
  return dict;
}

nb::dict check_certificate(const Text& model, const Text& property, const Text& certificate, bool exact, const MaybeText& semantics,
                           std::optional<std::uint64_t> memory, std::optional<double> budget, const Edits& edits) {
  check::LoadOptions options = load_options(semantics, memory, budget, edits);
  options.exact = exact;
  const auto report = on_a_thread<check::Report>([=](const std::stop_token&) {
    check::Report made = property.empty() ? check::check_statement(model, certificate, options)
                                          : check::check_certificate(model, property, certificate, options);
    queries::name_gap(made, certificate);
    return made;
  });
  if (!report.problem)
    refuse(property.empty() ? queries::recognised(*report.why, model, queries::FileKind::statement)
                            : queries::recognised_input(*report.why, model, property));
  if (report.why && report.why->code == "certificate.io") refuse(*report.why);
  nb::dict dict;
  dict["verdict"] = check::word(report.verdict);
  dict["why"] = report.why ? nb::object(to_dict(*report.why)) : nb::none();
  dict["notes"] = to_list(report.notes);
  dict["certificate_bytes"] = report.certificate_bytes;
  nb::dict times;
  times["load"] = report.load_seconds;
  times["cpu"] = report.cpu_seconds;
  dict["times"] = times;
  dict["steps"] = report.statistics.steps;
  add_problem(dict, *report.problem);
  add_theorem(dict, report.theorem);
  return dict;
}

nb::dict bounds(const Text& model, const Text& property, const MaybeText& semantics, const Text& method, double timeout, bool outputs_only,
                std::optional<std::uint64_t> memory, std::optional<double> budget, const Edits& edits) {
  check::LoadOptions options = load_options(semantics, memory, budget, edits);
  options.polynomials = vnnlib::Polynomials::leave_out;
  if (method != "crown" && method != "interval") refuse_argument("method", "crown or interval", method);
  if (!(timeout >= 0)) refuse_argument("timeout", "seconds above 0, or None", std::to_string(timeout));
  struct Bounded {
    check::Loaded loaded;
    std::vector<queries::GroupBounds> groups;
  };
  const auto bounded = on_a_thread<Bounded>([=](const std::stop_token& stop) {
    Bounded result{loaded(model, property, options), {}};
    queries::BoundsRequest request;
    request.crown = method == "crown";
    request.seconds = timeout;
    request.outputs_only = outputs_only;
    request.stop = [stop] { return stop.stop_requested(); };
    taken(queries::derive_bounds(result.loaded.problem, request,
                                 [&](queries::GroupBounds group) { result.groups.push_back(std::move(group)); }));
    return result;
  });
  nb::list groups;
  for (const queries::GroupBounds& group : bounded.groups) {
    nb::list nodes;
    for (const queries::NodeBounds& node : group.nodes) {
      nb::dict one;
      one["node"] = node.node;
      one["op"] = node.op;
      one["name"] = node.name;
      one["shape"] = to_tuple(node.shape);
      one["output"] = node.output;
      one["lo"] = to_bytes(node.lo);
      one["hi"] = to_bytes(node.hi);
      nodes.append(one);
    }
    nb::dict one;
    one["cases"] = group.cases;
    one["empty"] = group.empty;
    one["stopped"] = group.stopped;
    one["complete"] = group.complete;
    one["seconds"] = group.seconds;
    one["nodes"] = nodes;
    groups.append(one);
  }
  nb::dict dict;
  dict["notes"] = to_list(bounded.loaded.notes);
  dict["groups"] = groups;
  add_problem(dict, *bounded.loaded.problem);
  return dict;
}

nb::list lint(const Text& model, std::optional<std::uint64_t> memory, const Edits& given) {
  const onnx::Edits edits = edits_of(given);
  const auto problems =
      on_a_thread<std::vector<Rejection>>([=](const std::stop_token&) { return onnx::lint(model, memory_rule(memory), edits); });
  nb::list list;
  for (const Rejection& why : problems) {
    if (why.code.starts_with("files.")) refuse(check::in_file(why, model));
    list.append(to_dict(why));
  }
  return list;
}

nb::dict statement(const Text& model, const Text& property, const MaybeText& semantics, std::optional<std::uint64_t> memory,
                   std::optional<double> budget, const Edits& edits) {
  const check::LoadOptions options = load_options(semantics, memory, budget, edits);
  const auto read = on_a_thread<check::Loaded>([=](const std::stop_token&) { return loaded(model, property, options); });
  const std::vector<std::byte> bytes = statement::statement_bytes(read.problem->statement());
  nb::dict dict;
  dict["bytes"] = nb::bytes(bytes.data(), bytes.size());
  dict["notes"] = to_list(read.notes);
  add_problem(dict, *read.problem);
  return dict;
}

nb::dict describe(const Text& path, std::optional<std::uint64_t> memory, const Edits& given) {
  const onnx::Edits edits = edits_of(given);
  const auto model = on_a_thread<onnx::Model>([=](const std::stop_token&) { return imported(path, memory, edits); });
  nb::dict dict;
  dict["inputs"] = side(model.graph, model.graph.inputs, model.graph.input_names);
  dict["outputs"] = side(model.graph, model.graph.outputs, model.graph.output_names);
  dict["summary"] = summary(model.graph);
  dict["notes"] = to_list(model.notes);
  dict["producer"] = nb::steal(PyUnicode_DecodeUTF8(model.producer.data(), static_cast<Py_ssize_t>(model.producer.size()), "replace"));
  return dict;
}

using Values = std::map<std::string, std::vector<Interval>>;

// {name: (lo, hi)} of float64 bytes.
Values values_of(const nb::dict& dict, const char* part) {
  Values values;
  for (const auto& [key, value] : dict) {
    std::string name;
    nb::bytes ends[2];
    if (!nb::try_cast(key, name) || !nb::isinstance<nb::tuple>(value) || nb::len(value) != 2 || !nb::try_cast(value[0], ends[0]) ||
        !nb::try_cast(value[1], ends[1]) || ends[0].size() != ends[1].size() || ends[0].size() % sizeof(double) != 0)
      refuse_argument(part, "{name: (lo, hi)} of float64 bytes", "something else");
    std::vector<Interval>& list = values[name];
    for (std::size_t at = 0; at < ends[0].size(); at += sizeof(double)) {
      double lo = 0, hi = 0;
      std::memcpy(&lo, ends[0].c_str() + at, sizeof(double));
      std::memcpy(&hi, ends[1].c_str() + at, sizeof(double));
      if (!(std::isfinite(lo) && std::isfinite(hi) && lo <= hi))
        refuse_argument(std::string(part) + " \"" + name + "\", element " + std::to_string(at / sizeof(double)), "finite numbers lo <= hi",
                        std::to_string(lo) + ", " + std::to_string(hi));
      list.emplace_back(lo, hi);
    }
  }
  return values;
}

nb::list to_list(const std::vector<queries::NamedSet>& sets) {
  nb::list list;
  for (const queries::NamedSet& set : sets) {
    std::vector<double> lo, hi;
    for (const Interval& value : set.values) {  // undefined: two NaN
      lo.push_back(value.is_undefined() ? std::nan("") : value.lo());
      hi.push_back(value.is_undefined() ? std::nan("") : value.hi());
    }
    list.append(nb::make_tuple(set.name, to_tuple(set.shape), to_bytes(lo), to_bytes(hi)));
  }
  return list;
}

nb::dict evaluate(const Text& path, const nb::dict& inputs, const nb::dict& cotangents, std::optional<std::uint64_t> memory,
                  const Edits& given) {
  const onnx::Edits edits = edits_of(given);
  const queries::EvaluationRequest request{values_of(inputs, "inputs"), values_of(cotangents, "cotangents")};
  const auto evaluation = on_a_thread<queries::Evaluation>(
      [=](const std::stop_token&) { return taken(queries::evaluate_sets(imported(path, memory, edits).graph, request)); });
  nb::dict dict;
  dict["outputs"] = to_list(evaluation.outputs);
  dict["gradients"] = to_list(evaluation.gradients);
  return dict;
}

}  // namespace

void add_queries(nb::module_& module) {
  using namespace nb::literals;
  module.def("verify", &verify, "model"_a, "property"_a, nb::kw_only(), "certificate"_a = nb::none(), "semantics"_a = nb::none(),
             "timeout"_a = 0.0, "threads"_a = 2, "seed"_a = 1, "memory"_a = nb::none(), "budget"_a = nb::none(), "branching"_a = "auto",
             "attack"_a = true, "progress"_a = nb::none(), "edits"_a = Edits());
  module.def("check", &check_certificate, "model"_a, "property"_a, "certificate"_a, nb::kw_only(), "exact"_a = false,
             "semantics"_a = nb::none(), "memory"_a = nb::none(), "budget"_a = nb::none(), "edits"_a = Edits());
  module.def("bounds", &bounds, "model"_a, "property"_a, nb::kw_only(), "semantics"_a = nb::none(), "method"_a = "crown",
             "timeout"_a = 60.0, "outputs_only"_a = false, "memory"_a = nb::none(), "budget"_a = nb::none(), "edits"_a = Edits());
  module.def("lint", &lint, "model"_a, nb::kw_only(), "memory"_a = nb::none(), "edits"_a = Edits());
  module.def("statement", &statement, "model"_a, "property"_a, nb::kw_only(), "semantics"_a = nb::none(), "memory"_a = nb::none(),
             "budget"_a = nb::none(), "edits"_a = Edits());
  module.def("describe", &describe, "model"_a, nb::kw_only(), "memory"_a = nb::none(), "edits"_a = Edits());
  module.def("evaluate", &evaluate, "model"_a, "inputs"_a, "cotangents"_a, nb::kw_only(), "memory"_a = nb::none(), "edits"_a = Edits());
}

}  // namespace assay::python
