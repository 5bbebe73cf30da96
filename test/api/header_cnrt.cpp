// cnrtQueue_t is the type of the accelerator's runtime if its header is on the include path.
#include <type_traits>

#include "mlu_op.h"

static_assert(std::is_same_v<cnrtQueue_t, testQueue*>);
static_assert(std::is_invocable_r_v<mluOpStatus_t, decltype(mluOpSetQueue), mluOpHandle_t, testQueue*>);
