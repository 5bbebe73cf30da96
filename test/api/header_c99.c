/* The public headers are valid C99, and self-contained. */
#include "mlu_op_omp.h"
/* Repeated to test the include guards. */
#include "mlu_op.h"
#include "mlu_op_omp.h"
