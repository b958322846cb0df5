// ONNX models: bytes of MODEL.onnx beside a file of external data. `lint` and the import agree, and a model that is read becomes
// a statement about a small box.
#include "frontends/onnx/import.h"
#include "frontends/onnx/lint.h"

#include "tests/fuzz/targets/statements.h"

using namespace assay;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile kFile;
  static const bool kBeside = (kFile.put_beside("data.bin", std::string(256, '\x3f')), true);
  fuzz::expect(kBeside, "the external data were written");
  const fuzz::Bounded bounded;
  const std::string& path = kFile.put(fuzz::text_of(data, size));
  const MemoryRule memory = check::memory_rule(fuzz::limits());
  auto model = onnx::import_model(path, memory);
  const auto problems = onnx::lint(path, memory);
  if (model.ok() != problems.empty())
    fuzz::expect(false,
                 "lint finds no problem exactly where the model is imported:\n" + (model ? problems.front() : model.rejection()).to_text());
  if (!model) return 0;
  fuzz::expect(validate(model.value().graph).empty(), "an imported graph is valid");
  std::size_t inputs = 0;
  for (const NodeId id : model.value().graph.inputs) inputs += model.value().graph.size(id);
  if (inputs > 4096) return 0;
  auto box = std::make_shared<statement::InputBox>();
  box->lo.assign(inputs, Rational(-1, 8));
  box->hi.assign(inputs, Rational(1, 8));
  fuzz::decide({std::move(model.value().graph), {{{std::move(box), {{{}, Rational(-1), false}}}}}, ExecutionModel{}, {}},
               model.value().stored);
  return 0;
}
