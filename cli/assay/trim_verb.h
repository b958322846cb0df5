// `assay trim`: a certificate that is cheaper to check.
#pragma once

namespace CLI {
class App;
}

namespace assay::cli {

void add_trim_verb(CLI::App& app, int& exit);

}  // namespace assay::cli
