/* The public headers are C99, and each is complete by itself. */
#include "mlu_op_omp.h"
/* Twice, and after its user: include guards. */
#include "mlu_op.h"
#include "mlu_op_omp.h"
