// `assay run`: a model's outputs, as text and JSON.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/check/cost.h"
#include "cli/assay/gate.h"
#include "cli/assay/report.h"
#include "semantics/printable.h"

namespace assay::cli {

int run_model(const RecordOptions& options) {
  constexpr const char* kRunSchema = "assay.run/1";
  limit_memory(memory_rule(options.limits).most);
  const auto outputs = models::outputs_of(options, this_program());
  if (!outputs) return refuse(kRunSchema, options.json, outputs.rejection());
  Json json{{"schema", kRunSchema}, {"dtype", options.dtype.empty() ? "of the model" : options.dtype}, {"outputs", Json::object()}};
  for (const models::Output& output : outputs.value()) {
    json["outputs"][output.name] = {{"shape", output.shape}, {"values", output.values}};
    for (std::size_t i = 0; options.json != "-" && i < output.texts.size(); ++i)
      std::printf("output %s[%zu] %s\n", printable(output.name).c_str(), i, output.texts[i].c_str());
  }
  return write_json(options.json, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n") ? kExitYes : kExitUnwritten;
}

}  // namespace assay::cli
