// The verbs that prove one statement on many machines: split, solve, merge.
#pragma once

namespace CLI {
class App;
}

namespace assay::cli {

void add_cube_verbs(CLI::App& app, int& exit);

}  // namespace assay::cli
