#include "cli/assay/report.h"

#include <cstdio>

#include "cli/assay/codes.h"
#include "cli/assay/interruption.h"
#include "semantics/statement/statement_text.h"

namespace assay::cli {

Program this_program() {
  const auto without_limit = [](const std::function<void()>& run) {
    const LiftedLimit lifted;
    run();
  };
  return {is_interrupted, set_progress, without_limit, limit_memory};
}

int usage(const char* verb, const std::string& what) {
  std::fprintf(stderr, "assay %s: %s\nRun `assay %s --help` for the command line.\n", verb, what.c_str(), verb);
  return kExitUsage;
}

bool write_file(const std::string& path, const std::function<void(const files::Sink&)>& fill) {
  const auto failed = files::write_file(path, fill);
  if (failed) std::fprintf(stderr, "assay: cannot write %s: %s\n", path.c_str(), failed->c_str());
  return !failed;
}

bool write_file(const std::string& path, std::string_view text) {
  return write_file(path, [text](const files::Sink& sink) { sink(std::as_bytes(std::span(text))); });
}

bool write_json(const JsonTarget& target, const std::string& text) {
  if (target.empty()) return true;
  conclude();
  if (target == "-") {
    std::printf("%s\n", text.c_str());
    return true;
  }
  return write_file(target, text + "\n");
}

bool write_statement(const StatementChoice& choice, const logic::Problem& problem) {
  return !is_file(choice) ||
         write_file(choice, statement::statement_text(problem.statement(), problem.graph_digest(), problem.digest(), true));
}

void prepare_last_words(const std::string& verb, const std::function<JsonTarget()>& target) {
  set_last_words([schema = "assay." + verb + "/1", target](const Rejection& why) {
    const JsonTarget json = target();
    if (json != "-") std::puts("undecided");
    print_explained(why);
    if (!json.empty()) (void)write_json(json, rejection_json(schema, why));
  });
}

int refuse(const std::string& schema, const JsonTarget& json, const Rejection& why) {
  const LiftedLimit room;  // a message takes little, but perhaps more than is left
  conclude();
  print_explained(why);
  if (!json.empty() && !write_json(json, rejection_json(schema, why))) return kExitUnwritten;
  return exit_code(why.kind);
}

}  // namespace assay::cli
