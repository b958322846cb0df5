// Results and kernels by their contracts: what assay.testing is made of.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "assay/testing.h"
#include "formats/trace.h"
#include "probes/launch.h"
#include "probes/plan.h"
#include "python/bindings/native.h"

namespace assay::python {
namespace {

constexpr std::size_t kGuard = 64;                                       // bytes on either side of what a kernel gets
constexpr std::byte kGuardBytes[] = {std::byte{0xa5}, std::byte{0x3c}};  // in turn: what a kernel writes there differs from one of them

nb::object json(const char* function, nb::handle argument) { return nb::module_::import_("json").attr(function)(argument); }

Op op_named(const std::string& name) {
  for (int k = 0; k < kOpCount; ++k) {
    const OpRow& row = op_row(static_cast<Op>(k));
    if (row.name == name && row.op_class != OpClass::leaf) return row.op;
  }
  refuse({Rejection::Kind::unsupported, "python.op", "op", "an operation of assay.ops() (docs/ops)", name,
          "`assay ops NAME` finds it by its ONNX name"});
}

// {"nodes": [one node]} of an op on that many operands.
std::string region_of(Op op, nb::handle attributes, std::size_t operands) {
  nb::dict node;
  node["op"] = std::string(op_row(op).name);
  nb::list numbers;
  for (std::size_t k = 0; k < operands; ++k) numbers.append(k);
  node["operands"] = numbers;
  if (!attributes.is_none()) node["attributes"] = attributes;
  nb::list nodes;
  nodes.append(node);
  nb::dict region;
  region["nodes"] = nodes;
  try {
    return nb::cast<std::string>(json("dumps", region));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError) && !error.matches(PyExc_RecursionError)) throw;
    refuse_argument("attributes", "names, and numbers, words or lists of them", error.what());
  }
}

std::vector<Tensor> tensors_of(const std::vector<Operand>& operands) {
  std::vector<Tensor> tensors;
  for (const Operand& operand : operands) tensors.push_back(operand.tensor);
  return tensors;
}

Graph graph_of_region(const std::string& nodes, const std::vector<Tensor>& operands, std::size_t results) {
  std::vector<ResultType> types;
  for (const Tensor& operand : operands) types.push_back({operand.dtype(), operand.shape()});
  Graph graph = taken(formats::read_region(nodes, types, results));
  if (const auto problems = validate(graph); !problems.empty()) refuse(problems.front());
  return graph;
}

nb::tuple to_tuple(const testing::Checked& checked) {
  using Kind = testing::Checked::Kind;
  nb::dict counts;
  counts["passed"] = checked.passed;
  counts["failed"] = checked.failed;
  counts["vacuous"] = checked.vacuous;
  counts["unsupported"] = checked.unsupported;
  const char* kind = checked.kind == Kind::passed      ? "passed"
                     : checked.kind == Kind::vacuous   ? "vacuous"
                     : checked.kind == Kind::undecided ? "undecided"
                                                       : "failed";
  return nb::make_tuple(kind, counts, checked.text);
}

nb::tuple judge_region(const std::string& nodes, const std::string& model_text, const std::vector<Operand>& operands,
                       const std::vector<Operand>& results) {
  const ExecutionModel model = model_of(model_text);
  const std::vector<Tensor> read = tensors_of(operands), received = tensors_of(results);
  std::vector<ExecutionModel::Storage> stored;
  for (const Operand& result : results) stored.push_back(result.storage);
  const auto judged = [=] {
    const Graph graph = graph_of_region(nodes, read, received.size());
    if (graph.outputs.size() != received.size())
      refuse_argument("results", std::to_string(graph.outputs.size()) + " results", std::to_string(received.size()));
    return testing::check_region(graph, model, read, received, stored);
  };
  constexpr std::size_t kSmall = 4096;  // elements that are judged at once
  std::size_t elements = 0;
  for (const auto* list : {&read, &received})
    for (const Tensor& tensor : *list) elements += tensor.size();
  if (elements <= kSmall) return to_tuple(without_lock(judged));
  const auto checked = on_a_thread<testing::Checked>([judged](const std::stop_token&) { return judged(); });
  return to_tuple(checked);
}

nb::tuple check_contract(const std::string& op, nb::handle attributes, const std::string& model, nb::handle operands, nb::handle result) {
  const std::vector<Operand> read = operands_of(operands, "operand");
  const std::vector<Operand> received{operand_of(result, "result")};
  return judge_region(region_of(op_named(op), attributes, read.size()), model, read, received);
}

nb::tuple check_region(const std::string& nodes, const std::string& model, nb::handle operands, nb::handle results) {
  return judge_region(nodes, model, operands_of(operands, "operand"), operands_of(results, "result"));
}

// The type of what a region gives: a list of (dtype, shape).
nb::list infer_region(const std::string& nodes, nb::handle types, std::size_t results) {
  std::vector<Tensor> operands;
  std::vector<ResultType> read;
  const std::size_t count = nb::len(types);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string place = "operand " + std::to_string(i);
    const nb::object one = types[i];
    if (!nb::isinstance<nb::sequence>(one) || nb::len(one) != 2) refuse_argument(place, "(dtype, shape)", "something else");
    std::string name;
    Shape shape;
    if (!nb::try_cast(one[0], name) || !nb::try_cast(one[1], shape)) refuse_argument(place, "(dtype, shape)", "something else");
    std::optional<DType> dtype;
    for (int code = 0; code <= static_cast<int>(DType::uint64); ++code)
      if (name == name_of(static_cast<DType>(code))) dtype = static_cast<DType>(code);
    if (name == "float16" || name == "bfloat16") dtype = DType::float32;
    if (!dtype) refuse_argument(place, "an element type", name);
    read.push_back({*dtype, shape});
  }
  const Graph graph = taken(formats::read_region(nodes, read, results));
  if (const auto problems = validate(graph); !problems.empty()) refuse(problems.front());
  nb::list list;
  for (const NodeId output : graph.outputs)
    list.append(nb::make_tuple(name_of(graph.node(output).dtype), python::to_tuple(graph.node(output).shape)));
  return list;
}

nb::list ops() {
  nb::list list;
  for (int k = 0; k < kOpCount; ++k) {
    const OpRow& row = op_row(static_cast<Op>(k));
    if (row.op_class != OpClass::leaf) list.append(std::string(row.name));
  }
  return list;
}

nb::dict attributes_of(Op op, const Attributes& attributes, const std::vector<Tensor>& operands) {
  const auto graph = probes::graph_of(op, attributes, operands);
  if (!graph) return {};
  const nb::object region = json("loads", nb::str(formats::write_region(graph.value()).c_str()));
  return nb::cast<nb::dict>(region["nodes"][0].attr("get")("attributes", nb::dict()));
}

probes::PlanOptions plan_options(const std::string& dtype, std::uint64_t seed, bool large, bool blocks, bool strided) {
  if (dtype != "float32" && dtype != "float64") refuse_argument("dtype", "float32 or float64", dtype);
  return {dtype == "float64" ? DType::float64 : DType::float32, seed, large, blocks, strided};
}

nb::list probe_plan(const std::string& name, const std::string& dtype, std::uint64_t seed, bool large, bool blocks, bool strided) {
  const Op op = op_named(name);
  const auto options = plan_options(dtype, seed, large, blocks, strided);
  const auto plan = without_lock([&] { return probes::probe_plan(op, options); });
  nb::list list;
  for (const probes::Probe& probe : plan) {
    nb::list operands;
    for (const Tensor& operand : probe.operands)
      operands.append(nb::make_tuple(name_of(operand.dtype()), python::to_tuple(operand.shape()),
                                     nb::bytes(operand.bytes().data(), operand.bytes().size())));
    nb::dict dict;
    dict["name"] = probe.name();
    dict["application"] = probe.application;
    dict["kind"] = probes::to_string(probe.kind);
    dict["layout"] = probes::to_string(probe.layout);
    dict["op"] = name;
    dict["attributes"] = attributes_of(probe.op, probe.attributes, probe.operands);
    dict["operands"] = operands;
    list.append(dict);
  }
  return list;
}

// Memory that belongs to Python, so that a kernel may keep what it was handed, between guards.
class Guarded {
 public:
  Guarded(std::span<const std::byte> content, std::byte guard) : size_(content.size()), guard_(guard) {
    std::vector<std::byte> all(2 * kGuard + size_, guard);
    if (size_ > 0) std::memcpy(all.data() + kGuard, content.data(), size_);
    memory_ = nb::bytearray(all.data(), all.size());
  }
  [[nodiscard]] nb::object view() const {
    const nb::object whole = nb::steal(PyMemoryView_FromObject(memory_.ptr()));
    return whole[nb::slice(nb::int_(kGuard), nb::int_(kGuard + size_), nb::int_(1))];
  }
  // The bytearray cannot be resized while there are views of it, and nothing else holds it.
  [[nodiscard]] std::span<const std::byte> content() const { return all().subspan(kGuard, size_); }
  [[nodiscard]] bool intact() const {
    const auto is_guard = [this](std::byte byte) { return byte == guard_; };
    return std::ranges::all_of(all().first(kGuard), is_guard) && std::ranges::all_of(all().last(kGuard), is_guard);
  }

 private:
  [[nodiscard]] std::span<const std::byte> all() const { return {static_cast<const std::byte*>(memory_.data()), memory_.size()}; }
  std::size_t size_;
  std::byte guard_;
  nb::bytearray memory_;
};

// A function of Python as a launcher; what it writes where it may not is a fault of its own.
class PythonKernel {
 public:
  PythonKernel(const nb::callable& function, bool strided, const fenv_t& environment)
      : function_(function), strided_(strided), environment_(environment) {}

  Outcome<Done> operator()(const probes::Launch& launch) {
    const nb::gil_scoped_acquire lock;
    const std::byte guard = kGuardBytes[runs_++ % 2];
    nb::list operands;
    std::vector<Guarded> memory;
    for (std::size_t k = 0; k < launch.operands.size(); ++k) {
      const Tensor& operand = launch.operands[k];
      const bool laid = strided_ && k < launch.views.size();
      const auto strides = laid ? launch.views[k].strides : dense_strides(operand.shape());
      memory.emplace_back(laid ? std::span(launch.views[k].data, extent(operand, strides)) : operand.bytes(), guard);
      operands.append(
          nb::make_tuple(name_of(operand.dtype()), python::to_tuple(operand.shape()), python::to_tuple(strides), memory.back().view()));
    }
    const Guarded result(launch.result, guard);
    const std::vector<Tensor> tensors(launch.operands.begin(), launch.operands.end());
    nb::object given;
    {
      fenv_t mine{};
      std::fegetenv(&mine);
      std::fesetenv(&environment_);  // the function runs as its caller does
      try {
        given = function_(std::string(op_row(launch.op).name), attributes_of(launch.op, launch.attributes, tensors), operands,
                          nb::make_tuple(name_of(launch.dtype), python::to_tuple(launch.shape), result.view()));
      } catch (...) {
        std::fesetenv(&mine);
        throw;
      }
      std::fesetenv(&mine);
    }
    if (given.is(nb::handle(Py_NotImplemented)))
      return Rejection{Rejection::Kind::declined, "python.kernel", "", "a launch", "NotImplemented", ""};
    return take(launch, memory, result, given);
  }
  [[nodiscard]] bool overran() const { return overran_; }

 private:
  static std::vector<std::int64_t> dense_strides(const Shape& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
    return strides;
  }
  // Bytes from the first element to behind the last; strides are not negative.
  static std::size_t extent(const Tensor& tensor, const std::vector<std::int64_t>& strides) {
    if (tensor.size() == 0) return 0;
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < strides.size(); ++axis) last += (tensor.shape()[axis] - 1) * strides[axis];
    return (static_cast<std::size_t>(last) + 1) * byte_size(tensor.dtype());
  }

  Outcome<Done> take(const probes::Launch& launch, const std::vector<Guarded>& memory, const Guarded& result, nb::handle given) {
    overran_ = overran_ || !result.intact();
    for (std::size_t k = 0; k < memory.size(); ++k) {
      overran_ = overran_ || !memory[k].intact();
      write_back(launch, k, memory[k].content());
    }
    std::span<const std::byte> bytes = result.content();
    Py_buffer view{};
    const bool returned = !given.is_none();
    if (returned) {
      if (PyObject_GetBuffer(given.ptr(), &view, PyBUF_SIMPLE) != 0) {
        PyErr_Clear();
        refuse_argument("what the kernel returned", "None, NotImplemented or a contiguous buffer", nb::type_name(given.type()).c_str());
      }
      bytes = {static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len)};
    }
    const bool fits = bytes.size() == launch.result.size();
    if (fits && !bytes.empty()) std::memcpy(launch.result.data(), bytes.data(), bytes.size());
    const std::string found = std::to_string(bytes.size()) + " bytes";
    if (returned) PyBuffer_Release(&view);
    if (fits) return Done{};
    refuse_argument("what the kernel returned", std::to_string(launch.result.size()) + " bytes for " + to_string(launch.shape), found);
  }

  // The plan's runner sees that an operand was written by looking at its memory, which it made for this launch alone.
  void write_back(const probes::Launch& launch, std::size_t k, std::span<const std::byte> content) const {
    const std::byte* to = strided_ && k < launch.views.size() ? launch.views[k].data : launch.operands[k].bytes().data();
    if (!content.empty() && std::memcmp(to, content.data(), content.size()) != 0)
      std::memcpy(const_cast<std::byte*>(to), content.data(), content.size());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }

  const nb::callable& function_;
  bool strided_, overran_ = false;
  std::size_t runs_ = 0;
  const fenv_t& environment_;
};

nb::dict audit_kernel(const std::string& name, const nb::callable& function, const std::string& model_text, const std::string& dtype,
                      std::uint64_t seed, bool large, bool blocks, bool strided, bool trace) {
  const Op op = op_named(name);
  const ExecutionModel model = model_of(model_text);
  const auto options = plan_options(dtype, seed, large, blocks, strided);
  testing::Checked checked;
  probes::PlanRun run;
  fenv_t outside{};
  std::fegetenv(&outside);
  without_lock([&] {
    std::vector<probes::PlanRun::Note> overruns;
    PythonKernel kernel(function, strided, outside);
    const auto plan = probes::probe_plan(op, options);
    bool said = false;
    const probes::Launcher launcher = [&](const probes::Launch& launch) -> Outcome<Done> {
      poll(1'000'000);
      auto done = kernel(launch);
      if (kernel.overran() && !said) {
        said = true;
        overruns.push_back({std::string(op_row(launch.op).name) + " " + to_string(launch.shape),
                            {Rejection::Kind::rejected, "probe.guard", "a launch with the result " + to_string(launch.shape),
                             "memory around operands and result that stays as it is", "written", ""}});
      }
      return done;
    };
    run = probes::run_plan(plan, launcher, model);
    for (auto& overrun : overruns) run.faults.push_back(std::move(overrun));
    checked = testing::check_run(op, run);
    return 0;
  });
  const auto notes = [](const std::vector<probes::PlanRun::Note>& list) {
    nb::list out;
    for (const auto& note : list) out.append(nb::make_tuple(note.probe, to_dict(note.why)));
    return out;
  };
  nb::dict dict;
  const nb::tuple tuple = to_tuple(checked);
  dict["kind"] = tuple[0];
  dict["counts"] = tuple[1];
  dict["text"] = tuple[2];
  dict["probes"] = run.trace.regions.size();
  dict["faults"] = notes(run.faults);
  dict["declined"] = notes(run.declined);
  if (trace) {
    std::vector<std::byte> bytes;
    formats::write_trace(run.trace, [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
    dict["trace"] = nb::bytes(bytes.data(), bytes.size());
  }
  return dict;
}

}  // namespace

void add_contracts(nb::module_& module) {
  using namespace nb::literals;
  module.def("ops", &ops);
  module.def("check_contract", &check_contract, "op"_a, "attributes"_a.none(), "model"_a, "operands"_a, "result"_a);
  module.def("check_region", &check_region, "nodes"_a, "model"_a, "operands"_a, "results"_a);
  module.def("infer_region", &infer_region, "nodes"_a, "operands"_a, "results"_a = 1);
  module.def(
      "parse_model", [](const std::string& text) { return to_string(model_of(text)); }, "text"_a);
  module.def("probes", &probe_plan, "op"_a, nb::kw_only(), "dtype"_a = "float32", "seed"_a = 1, "large"_a = true, "blocks"_a = true,
             "strided"_a = false);
  module.def("audit_kernel", &audit_kernel, "op"_a, "kernel"_a, "model"_a, nb::kw_only(), "dtype"_a = "float32", "seed"_a = 1,
             "large"_a = true, "blocks"_a = true, "strided"_a = false, "trace"_a = false);
}

}  // namespace assay::python
