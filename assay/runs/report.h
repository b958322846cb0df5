// A run as one page of HTML: what was asked, what the kernel has accepted, pictures, and what all of it rests on. The page needs no network;
// without scripts it lacks the list of all results, which is drawn as it is scrolled.
#pragma once

#include <string>

#include "assay/runs/check_run.h"
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

// The parts of the page that never change, around its content and its data.
[[nodiscard]] std::string whole_page(const std::string& title, const std::string& content, const std::string& data);
[[nodiscard]] std::string html_text(const std::string& text);

}  // namespace assay::runs
