// The same for other people's viewers: graphs as JSON for Model Explorer (github.com/google-ai-edge/model-explorer), times as Chrome trace
// events, which Perfetto (ui.perfetto.dev) opens.
#pragma once

#include <string>
#include <vector>

#include "app/pages/page.h"

namespace assay::pages {

// One graph in a collection of that name. A node with one member has the cells of its row as attributes.
[[nodiscard]] Json model_explorer(const std::string& name, const Drawing& drawing, const Table& table);

// Work that took some time on a track.
struct Slice {
  std::string track, name;
  double start = 0, seconds = 0;
  Facts more;
};
[[nodiscard]] Json trace_events(const std::vector<Slice>& slices);

}  // namespace assay::pages
