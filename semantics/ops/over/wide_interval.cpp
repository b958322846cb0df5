// The denotations over intervals of 257 bits.

#include "semantics/ops/denotation.h"

namespace assay {

ASSAY_DENOTE_OVER(WideInterval);

}  // namespace assay
