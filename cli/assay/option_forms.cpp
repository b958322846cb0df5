#include "cli/assay/option_forms.h"

#include <CLI/CLI.hpp>

#include <filesystem>

#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"

namespace assay::cli {
namespace {

bool ends_like(const std::string& file, const std::string& ending) { return file.ends_with(ending) || file.ends_with(ending + ".gz"); }

// Of a model: on which boxes its nodes are bounded, and what it is run on, are asked one at a time.
void refuse_unread_of_model(const CLI::App& verb, const InspectOptions& options) {
  refuse_unread(verb, "a model", {"--network", "--bounds", "--step"});
  if (!options.values.empty()) refuse_unread(verb, "a run on --values", {"--property", "--box", "--data", "--tensor"});
  if (!options.property.empty()) refuse_unread(verb, "a --property", {"--box"});
  if (options.property.empty() && options.box.empty())
    refuse_unread(verb, "a model without --property or --box", {"--method", "--samples"});
  if (options.data.empty()) refuse_unread(verb, "a model without --data", {"--labels", "--items"});
}

}  // namespace

std::string empty_argument(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.empty()) return "argument " + std::to_string(i) + ", behind " + (i > 1 ? argv[i - 1] : "assay") + ", is empty";
    if (word.starts_with("--") && word.find('=') == word.size() - 1) return word.substr(0, word.size() - 1) + " has no value behind =";
  }
  return "";
}

void refuse_unread(const CLI::App& verb, const std::string& form, std::initializer_list<const char*> unread) {
  for (const char* name : unread) {
    if (verb.count(name) > 0) throw CLI::ValidationError(verb.get_name(), std::string(name) + " does not go with " + form);
  }
}

void refuse_unread_edits(const CLI::App& verb, const std::string& form) {
  refuse_unread(verb, form, {"--shape", "--dim", "--set", "--outputs"});
}

bool refuse_unread_by_check(const CLI::App& verb, const CheckOptions& options) {
  std::error_code error;
  const auto is_folder = [&error](const std::string& file) {  // or nothing, of which a check of a run says so
    return std::filesystem::is_directory(file, error) || !std::filesystem::exists(file, error);
  };
  if (options.files.size() == 1 && is_folder(options.files[0])) {
    refuse_unread(verb,
                  "the folder of a run; --properties FOLDER writes the property of each certificate, for `assay-check --statement full`",
                  {"--statement"});
    refuse_unread(
        verb, "the folder of a run; for a run on a data set --require SHARE makes the check a gate, and for lists `assay batch --expected`",
        {"--expect"});
    refuse_unread(verb, "the folder of a run; --json and `assay report` write its results",
                  {"--junit", "--sarif", "--markdown", "--waivers", "--today", "--most-undecided"});
    return true;
  }
  refuse_unread(verb, "certificates, but with the folder of a run",
                {"--model", "--data", "--labels", "--properties", "--jobs", "--require"});
  if (!is_check_gate(options)) refuse_unread(verb, "one certificate without --expect or a report", {"--allow-vacuous", "--most-undecided"});
  return false;
}

void refuse_unread_by_inspect(const CLI::App& verb, const InspectOptions& options) {
  if (options.tensor.empty()) refuse_unread(verb, "an inspection without --tensor", {"--elements"});
  if (!options.numbers.empty()) refuse_unread_edits(verb, "--number");
  if (!options.numbers.empty())
    return refuse_unread(verb, "--number",
                         {"--network", "--property", "--box", "--bounds", "--method", "--samples", "--values", "--data", "--labels",
                          "--items", "--tensor", "--step", "--memory", "--budget"});
  const std::string file = existing(options.file);
  const FileKind kind = kind_of_file(file);
  const bool is_property = kind == FileKind::vnnlib || ends_like(file, ".vnnlib");
  if (kind == FileKind::onnx || (ends_like(file, ".onnx") && kind != FileKind::certificate)) return refuse_unread_of_model(verb, options);
  refuse_unread(verb, "a file that is no model", {"--box", "--values", "--data", "--labels", "--items"});
  if (options.network.empty()) refuse_unread_edits(verb, "a file that is no model, without --network");
  if (kind != FileKind::certificate) refuse_unread(verb, "a file that is neither a model nor a certificate", {"--property"});
  if (!is_property && kind != FileKind::certificate)
    refuse_unread(verb, "a file that is neither a property nor a certificate", {"--network"});
  if (!is_property && kind != FileKind::statement) refuse_unread(verb, "a file that is no statement", {"--bounds"});
  if (!options.bounds) refuse_unread(verb, "an inspection without --bounds", {"--method", "--samples"});
  const bool has_tensors = kind == FileKind::trace || kind == FileKind::safetensors || kind == FileKind::npz || kind == FileKind::npy;
  if (!has_tensors) refuse_unread(verb, "a file without tensors", {"--tensor"});
  if (kind == FileKind::certificate) refuse_unread(verb, "a certificate", {"--model-explorer"});
  if (kind == FileKind::certificate && options.network.empty()) refuse_unread(verb, "a certificate without --network", {"--property"});
  if (kind == FileKind::certificate && options.property.empty()) refuse_unread(verb, "a certificate without --property", {"--budget"});
  if (kind != FileKind::certificate) refuse_unread(verb, "a file that is no certificate", {"--step"});
}

void refuse_unread_by_gradcheck(const CLI::App& verb, const GradcheckOptions& options) {
  if (!is_model(options))
    refuse_unread(verb, "a trace, which was recorded already",
                  {"--values", "--backend", "--device", "--range", "--draws", "--output", "--save"});
  if (!is_model(options) && options.model.empty()) refuse_unread_edits(verb, "a trace without --model");
  if (!options.run.values.empty()) refuse_unread(verb, "--values", {"--range", "--draws"});
}

void refuse_unread_by_record(const CLI::App& verb, const RecordOptions& options) {
  if (!options.values.empty()) refuse_unread(verb, "--values", {"--range", "--draws"});
  if (options.forward_only) refuse_unread(verb, "--forward-only", {"--draws", "--output", "--weighted"});
}

void refuse_unread_by_report(const CLI::App& verb, const std::string& input, bool has_model, bool has_property) {
  std::error_code error;
  if (std::filesystem::is_directory(input, error)) {
    refuse_unread_edits(verb, "the folder of a run, which says them itself");
    return refuse_unread(verb, "the folder of a run", {"--property", "--semantics", "--samples", "--model-explorer"});
  }
  const FileKind kind = kind_of_file(input);
  if (!has_model) refuse_unread_edits(verb, "an input without a model");
  if (kind == FileKind::trace || kind == FileKind::safetensors)
    return refuse_unread(verb, "a trace", {"--property", "--semantics", "--samples", "--images", "--data", "--labels"});
  refuse_unread(verb, "a certificate", {"--images", "--data", "--labels", "--jobs"});
  if (!has_property) refuse_unread(verb, "a certificate without --property", {"--model", "--semantics", "--samples", "--memory"});
}

}  // namespace assay::cli
