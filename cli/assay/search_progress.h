// Shows what one search reports: one rewritten line on a terminal, else one line a minute.
#pragma once

#include "search/search.h"

namespace assay::cli {

class SearchProgress {
 public:
  explicit SearchProgress(bool quiet);
  ~SearchProgress() { clear(); }
  SearchProgress(const SearchProgress&) = delete;
  SearchProgress& operator=(const SearchProgress&) = delete;

  void show(const search::Progress& progress);
  void clear();

 private:
  bool terminal_, quiet_, shown_ = false;
  double last_ = 0;
};

}  // namespace assay::cli
