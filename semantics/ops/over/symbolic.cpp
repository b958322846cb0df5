// The denotations over affine forms and formulas.

#include "semantics/ops/denotation.h"

namespace assay {

ASSAY_DENOTE_OVER(Symbolic);

}  // namespace assay
