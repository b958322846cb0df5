// The denotations over intervals.

#include "semantics/ops/denotation.h"

namespace assay {

ASSAY_DENOTE_OVER(Interval);

}  // namespace assay
