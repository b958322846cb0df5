// Options that some form of a verb has no use for: refused by name, so that no option is passed over without a word.
#pragma once

#include <initializer_list>
#include <string>

#include "cli/assay/options.h"

namespace CLI {
class App;
}

namespace assay::cli {

// The argument without anything in it: the parser would take the next one as its value, or leave the option out. Empty if there is none.
[[nodiscard]] std::string empty_argument(int argc, char** argv);

// A usage error that names the first of these options that is there.
void refuse_unread(const CLI::App& verb, const std::string& form, std::initializer_list<const char*> unread);

// Of --shape, --dim, --set and --outputs, where no model is read.
void refuse_unread_edits(const CLI::App& verb, const std::string& form);

// Refuse options that the given form of a verb does not read. For check, the result is true for the folder of a run.
[[nodiscard]] bool refuse_unread_by_check(const CLI::App& verb, const CheckOptions& options);
void refuse_unread_by_inspect(const CLI::App& verb, const InspectOptions& options);
void refuse_unread_by_gradcheck(const CLI::App& verb, const GradcheckOptions& options);
void refuse_unread_by_record(const CLI::App& verb, const RecordOptions& options);
void refuse_unread_by_report(const CLI::App& verb, const std::string& input, bool has_model, bool has_property);

}  // namespace assay::cli
