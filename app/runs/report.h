// A run as one page of HTML: what was asked, what the kernel has accepted, pictures, and what all of it rests on. The page needs
// no network; without scripts it lacks the list of all results, which is drawn as it is scrolled.
#pragma once

#include <string>

#include "app/pages/exchange.h"
#include "app/runs/check_run.h"
#include "semantics/outcome.h"

namespace assay::runs {

struct PageRequest {
  RunCheckRequest check;
  std::size_t images = 40;  // at most so many items with their witnesses
  std::string version;      // of the program that checks
};

struct Page {
  std::string html;
  RunCheck check;
};

[[nodiscard]] Outcome<Page> report_page(const std::string& folder, PageRequest request, const std::stop_token& stop);

// The searches of the run's results on as many tracks as it had jobs, each as soon as a track is free. The run keeps the time of
// each and the order of their ends. None if the folder cannot be read.
[[nodiscard]] std::vector<pages::Slice> time_slices(const std::string& folder);

}  // namespace assay::runs
