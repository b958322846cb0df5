// The JSON of verbs: how each begins, rejections, facts and tables.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/pages/page.h"
#include "cli/load.h"
#include "semantics/outcome.h"

namespace assay::cli {

using Json = nlohmann::ordered_json;
using pages::Facts;  // facts about a file or an op, in order: names and texts

// With the schema and the version.
[[nodiscard]] Json opened(const std::string& schema);
[[nodiscard]] Json rejection(const Rejection& why);
// Text from files may hold any bytes; they come out as U+FFFD instead of an exception.
[[nodiscard]] std::string json_text(const Json& json);

// With the rows of a table, if it has a name.
[[nodiscard]] std::string facts_json(const std::string& schema, const Facts& facts, const std::string& table = "",
                                     const std::vector<Facts>& rows = {});
// The same with tables, an array of objects each.
[[nodiscard]] std::string sheet_json(const std::string& schema, const Facts& facts, const std::vector<pages::Table>& tables);
[[nodiscard]] std::string rejection_json(const std::string& schema, const Rejection& why);

}  // namespace assay::cli
