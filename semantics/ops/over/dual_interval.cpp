// The denotations over intervals with tangents.

#include "semantics/ops/denotation.h"

namespace assay {

ASSAY_DENOTE_OVER(Dual<Interval>);

}  // namespace assay
