// The verbs: each has a file with its arguments, its work and its output, or with the calls of what does it.
#pragma once

namespace CLI {
class App;
}

namespace assay::cli {

void add_verify(CLI::App& app, int& exit);
void add_check(CLI::App& app, int& exit);
void add_run_verbs(CLI::App& app, int& exit);   // gather, report, batch, robust
void add_cube_verbs(CLI::App& app, int& exit);  // split, solve, merge
void add_trim_verb(CLI::App& app, int& exit);
void add_bounds(CLI::App& app, int& exit);
void add_inspect(CLI::App& app, int& exit);
void add_statement_verb(CLI::App& app, int& exit);
void add_lint(CLI::App& app, int& exit);
void add_eval(CLI::App& app, int& exit);
void add_adjoint(CLI::App& app, int& exit);
void add_run_model(CLI::App& app, int& exit);
void add_record(CLI::App& app, int& exit);
void add_audit(CLI::App& app, int& exit);
void add_gradcheck(CLI::App& app, int& exit);
void add_probe(CLI::App& app, int& exit);
void add_supports(CLI::App& app, int& exit);
void add_ops(CLI::App& app, int& exit);
void add_explain(CLI::App& app, int& exit);
void add_capabilities(CLI::App& app, int& exit);  // the older spelling of supports

}  // namespace assay::cli
