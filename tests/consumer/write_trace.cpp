// write_trace FILE NUMBER: writes the run "1.5 + 0.25 = NUMBER" in float32 through assay::trace, for `assay audit` to judge.
#include <cstdlib>
#include <fstream>
#include <vector>

#include "assay/trace.h"

int main(int argc, char** argv) {
  using namespace assay;
  if (argc != 3) return 2;
  Trace trace;
  trace.writer = "consumer";
  const auto add_tensor = [&](const char* name, Trace::Origin origin, float value) {
    trace.tensors.push_back({name, origin, Tensor::of_floats({1}, std::vector<float>{value})});
    return static_cast<TraceTensorId>(trace.tensors.size() - 1);
  };
  const TraceTensorId a = add_tensor("a", Trace::Origin::input, 1.5F), b = add_tensor("b", Trace::Origin::input, 0.25F);
  const TraceTensorId sum = add_tensor("sum", Trace::Origin::result, std::strtof(argv[2], nullptr));

  Region region;
  region.name = "add";
  region.model.kind = ExecutionModel::Kind::floating;
  region.operands = {a, b};
  region.results = {sum};
  const NodeId x = region.graph.append_input(trace.tensors[a].value.dtype(), {1}, "a");
  const NodeId y = region.graph.append_input(trace.tensors[b].value.dtype(), {1}, "b");
  const auto node = region.graph.append(Op::add, {x, y}, NoAttributes{});
  if (!node) return 1;
  region.graph.mark_output(node.value(), "sum");
  trace.regions.push_back(std::move(region));
  trace.outputs = {sum};

  std::ofstream file(argv[1], std::ios::binary);
  formats::write_trace(trace, [&](std::span<const std::byte> bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  });
  file.close();
  return file ? 0 : 1;
}
