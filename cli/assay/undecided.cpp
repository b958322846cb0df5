#include "cli/assay/undecided.h"

#include <cstdio>
#include <filesystem>

#include "cli/assay/report.h"
#include "cli/load.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "instances.csv";

// A field of a list, in quotes where it has to be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return error ? path : whole.string();
}

std::vector<std::string> made(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return error ? std::vector{folder + ": " + error.message()} : std::vector<std::string>();
}

std::vector<std::string> write_list(const std::string& folder, const std::string& text) {
  const std::string path = (fs::path(folder) / kList).string();
  return write_file(path, text) ? std::vector<std::string>() : std::vector{path + ": not written"};
}

}  // namespace

std::vector<std::string> write_undecided_items(const runs::Balls& balls, const std::string& model, const std::vector<runs::Json>& results,
                                               const std::string& folder) {
  std::vector<std::string> messages = made(folder);
  if (!messages.empty()) return messages;
  std::string list;
  bool in_words = true;
  for (const runs::Json& one : results) {
    const auto item = runs::count_of(one, "item");
    const auto label = runs::whole_of(one, "label", -1);
    const std::string radius = runs::text_of(one, "eps");
    const auto eps = Rational::parse(radius);
    if (label < 0 || !eps) continue;  // without a label nothing is asked
    for (std::string& message : balls.write_undecided(item, label, *eps, radius, folder)) messages.push_back(std::move(message));
    const std::string name = runs::undecided_name(item, radius) + ".vnnlib";
    in_words = in_words && fs::exists(fs::path(folder) / name);
    list += field(absolute(model)) + "," + field(name) + "\n";
  }
  if (!in_words) return messages;
  for (std::string& message : write_list(folder, list)) messages.push_back(std::move(message));
  return messages;
}

std::vector<std::string> write_undecided_instances(const std::vector<runs::BatchInstance>& instances,
                                                   const std::vector<runs::Json>& results, const std::string& folder) {
  std::vector<std::string> messages = made(folder);
  if (!messages.empty()) return messages;
  std::string list;
  for (const runs::Json& one : results) {
    const auto number = runs::count_of(one, "instance");
    if (number >= instances.size()) continue;
    const runs::BatchInstance& instance = instances[number];
    list += field(absolute(runs::path_from(instance.folder, instance.model))) + "," +
            field(absolute(runs::path_from(instance.folder, instance.property))) + "\n";
  }
  return write_list(folder, list);
}

int say_unwritten(const std::vector<std::string>& messages, int exit) {
  for (const std::string& one : messages) std::fprintf(stderr, "assay: cannot write %s\n", one.c_str());
  return exit == kExitYes && !messages.empty() ? kExitUnwritten : exit;
}

}  // namespace assay::cli
