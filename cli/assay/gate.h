// The verbs that are gates (audit, gradcheck, probe, check) share the limits of the process, its signals, and the files of a
// report (app/gates).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/gates/gate.h"
#include "app/models/recorded_run.h"
#include "cli/assay/options.h"
#include "kernel/audit/audit.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::cli {

using reports::Finding;
using reports::GateCase;
using reports::GateReport;

using gates::add_facts;
using gates::add_model;
using gates::is_continuous;
using gates::note_if_nothing;
using gates::opaque_cases;
using gates::open_trace;

// The body's exit code, in a process that the system gives no more memory than the limits say; refused (declined, code "gate.memory") where
// the body asks for more.
[[nodiscard]] int within_memory(const std::string& schema, const JsonTarget& json, const std::string& place, const Limits& limits,
                                const std::function<int()>& body);

// Reads the options' waivers and baseline and acts on them; writes all files that were asked for. The exit code of the gate.
int conclude_gate(GateReport& report, const GateOptions& options);

// The regions of a continuous trace, judged on that many threads until the verb is interrupted.
[[nodiscard]] std::vector<GateCase> audit_regions(const Trace& trace, unsigned jobs, const audit::Sampling& sampling = {});
// False after a message on stderr.
[[nodiscard]] bool write_trace_file(const Trace& trace, const std::string& path);

// is_check_gate() is true if several certificates are checked, or one as a gate; is_model() is true for a FILE of gradcheck that
// is run first.
[[nodiscard]] bool is_check_gate(const CheckOptions& options);
[[nodiscard]] bool is_model(const GradcheckOptions& options);

}  // namespace assay::cli
