// `assay ops`: the pages of the op reference, and their index.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "app/views/op_reference.h"
#include "cli/assay/common_options.h"
#include "cli/assay/names.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"

namespace assay::cli {

namespace {

int ops(const std::string& name, const JsonTarget& json) {
  const std::vector<Op> asked = ops_named(name);
  if (!name.empty() && asked.empty()) {
    std::fprintf(stderr, "assay ops: %s\n", unknown_op(name).c_str());
    return kExitUsage;
  }
  std::vector<Facts> pages;
  for (int k = 0; k < kOpCount; ++k) {
    const Op op = static_cast<Op>(k);
    if (!name.empty() && std::ranges::find(asked, op) == asked.end()) continue;
    const views::OpReference& reference = views::op_reference(op);
    pages.push_back({{"name", std::string(op_row(op).name)}, {"meaning", std::string(reference.meaning)}});
    std::ranges::move(views::op_facts(reference), std::back_inserter(pages.back()));
    if (json != "-" && !name.empty()) std::printf("%s%s", pages.size() > 1 ? "\n" : "", views::op_page(reference).c_str());
  }
  if (json != "-" && name.empty()) std::fputs(views::op_index().c_str(), stdout);
  return write_json(json, facts_json("assay.ops/1", {}, "ops", pages)) ? kExitYes : kExitUnwritten;
}

}  // namespace

void add_ops(CLI::App& app, int& exit) {
  static std::string name;
  static JsonTarget json;
  CLI::App* verb = app.add_subcommand("ops", "Show the reference page of an operation, or list all operations");
  verb->add_option("NAME", name, "an op that `assay ops` lists, or an ONNX operator");
  add_json(verb, json);
  verb->callback([&exit] { exit = ops(name, json); });
}

}  // namespace assay::cli
