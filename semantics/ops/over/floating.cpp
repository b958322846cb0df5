// The denotations over float and double: one IEEE 754 execution, without claims about reals.

#include "semantics/ops/denotation.h"

namespace assay {

ASSAY_DENOTE_OVER(double);
ASSAY_DENOTE_OVER(float);

}  // namespace assay
