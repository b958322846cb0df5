#include "cli/assay/shared_files.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "app/gates/certificates.h"
#include "app/runs/batch.h"
#include "app/runs/store.h"
#include "cli/load.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct Named {
  std::string option, value;
};

constexpr std::array kOutputs = {"--proof", "--out",   "--json",     "--junit",          "--sarif",          "--markdown", "--statement",
                                 "--save",  "--trace", "--perfetto", "--model-explorer", "--write-baseline", "--shrink"};

bool is_output(const CLI::App& verb, const std::string& option) {
  return std::ranges::find(kOutputs, option) != kOutputs.end() || (option == "TRACE" && verb.get_name() == "record");
}

// A pipe or a device takes what several outputs write, and stdout and words such as `full` are no files.
bool is_no_file(const Named& output) {
  std::error_code error;
  const auto kind = fs::status(output.value, error).type();
  const bool is_word = output.option == "--statement" && (output.value == "full" || output.value == "short");
  return output.value.empty() || output.value == "-" || is_word || (fs::exists(output.value, error) && kind != fs::file_type::regular);
}

fs::path place(const std::string& file) {
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(file, error), error);
}

// What an option for an input may name: FILE, FILE:NAME or NAME=FILE.
bool names(const Named& input, const std::string& file) {
  const std::size_t colon = input.value.rfind(':'), equals = input.value.find('=');
  return is_same_file(existing(input.value), file) || (colon != std::string::npos && is_same_file(input.value.substr(0, colon), file)) ||
         (equals != std::string::npos && is_same_file(input.value.substr(equals + 1), file));
}

// Of the folder of a run, what only the run itself writes.
bool is_of_run(const Named& folder, const std::string& file) {
  const fs::path root = place(folder.value);
  std::error_code error;
  if (folder.value.empty() || (folder.option != "--run" && !fs::exists(root / "run.json", error))) return false;
  const fs::path inner = place(file).lexically_relative(root);
  if (inner.empty()) return false;
  const std::string first = inner.begin()->string();
  const bool is_alone = inner == fs::path(first);
  return is_alone ? first == "run.json" || first == "results.jsonl" || first == "certificates.pack" || first == "lock"
                  : first == "certificates" || first == "scratch";
}

// Files that an input names: what the claim of a run is about, and what the lines of a list ask about.
std::vector<Named> named_inside(const CLI::App& verb, const Named& input) {
  std::vector<Named> inside;
  if (verb.get_name() == "batch" && input.option == "LISTS") {
    const auto instances = runs::read_list(input.value);
    for (const runs::BatchInstance& one : instances ? instances.value() : std::vector<runs::BatchInstance>()) {
      for (const std::string& file : {one.model, one.property}) inside.push_back({"", runs::path_from(one.folder, file)});
    }
  }
  if (verb.get_name() == "check" && input.option == "--list") {
    const auto queries = gates::read_certificate_list(input.value);
    for (const gates::CertificateQuery& one : queries ? queries.value() : std::vector<gates::CertificateQuery>()) {
      for (const std::string& file : {one.model, one.property, one.certificate}) inside.push_back({"", file});
    }
  }
  if (!runs::is_run(input.value)) return inside;
  const auto manifest = runs::read_manifest(input.value);
  const runs::Json claim = manifest ? runs::member_of(manifest.value(), "claim") : runs::Json();
  for (const char* name : {"model", "data", "labels"}) inside.push_back({"", runs::text_of(claim, name)});
  const runs::Json lists = runs::member_of(claim, "lists");
  for (std::size_t i = 0; lists.is_array() && i < lists.size(); ++i) inside.push_back({"", runs::text_of(lists[i], "file")});
  return inside;
}

// A certificate is trimmed in its place, and a baseline is compared before it is written.
bool takes_its_place(const CLI::App& verb, const Named& output, const Named& input) {
  return (verb.get_name() == "trim" && output.option == "--out" && input.option == "CERTIFICATE") ||
         (output.option == "--write-baseline" && input.option == "--baseline");
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

void refuse_shared_files(const CLI::App* verb) {
  std::vector<Named> outputs, others;
  for (const CLI::Option* option : verb->get_options()) {
    const std::string name = option->get_lnames().empty() ? option->get_name() : "--" + option->get_lnames().front();
    for (const std::string& value : option->results()) (is_output(*verb, name) ? outputs : others).push_back({name, value});
  }
  std::erase_if(outputs, is_no_file);
  if (outputs.empty()) return;
  for (std::size_t i = others.size(); i-- > 0;) {
    for (Named& one : named_inside(*verb, others[i])) others.push_back(std::move(one));
  }
  const auto refuse = [verb](const std::string& why) { throw CLI::ValidationError(verb->get_name(), why); };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Named& output = outputs[i];
    for (const Named& other : others) {
      if (names(other, output.value) && !takes_its_place(*verb, output, other))
        refuse(output.value + " is an input; write the output to another file");
      if (is_of_run(other, output.value))
        refuse(output.value + " is a file of the run " + other.value + "; write the output to another file");
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (place(outputs[k].value) == place(output.value))
        refuse(outputs[k].option + " and " + output.option + " both write " + output.value + "; name two files");
    }
  }
}

}  // namespace assay::cli
