#include "certificates/replay/team.h"

#include <ctime>

namespace assay::kernel {

void Team::leave() {
  timespec spent{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent) == 0)
    seconds_.fetch_add(static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec));
  give_back();
}

}  // namespace assay::kernel
