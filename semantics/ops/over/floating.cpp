#include "semantics/ops/denotation.h"

namespace assay {

ASSAY_DENOTE_OVER(double);
ASSAY_DENOTE_OVER(float);

}  // namespace assay
