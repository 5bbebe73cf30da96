/*
 * mlu_op_omp.h: functions of mluop-omp beyond the MLU-OPS API. Valid C99 and C++17.
 */
#ifndef MLU_OP_OMP_H_
#define MLU_OP_OMP_H_

#include "mlu_op.h"

/* The version of mluop-omp. mlu_op.h has that of the MLU-OPS API. */
#define MLUOP_OMP_VERSION_MAJOR 0
#define MLUOP_OMP_VERSION_MINOR 2
#define MLUOP_OMP_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Writes the version of the mluop-omp library, which may differ from that of this header. Null pointers are
 * skipped. */
void MLUOP_WIN_API mluOpOmpGetVersion(int* major, int* minor, int* patch);

/* Returns the instruction set that kernels run on, such as "AVX-512", "AVX2" or "NEON": the best that the machine
 * has, or the best up to MLUOP_OMP_SIMD. The text is never freed. */
const char* MLUOP_WIN_API mluOpOmpGetInstructionSet(void);

/* ---------------------------------------------------------------------------------------------------
 * Algorithm
 * ------------------------------------------------------------------------------------------------ */

/* How operators compute. Both give the result of the operator's definition. */
typedef enum {
  MLUOP_OMP_ALGORITHM_NATIVE = 0, /* default: this backend's own algorithm: deterministic, the same bits in every
                                     run and at every thread count, and the faster one. As many tasks as pay, up to
                                     OMP_NUM_THREADS, on at most as many threads as there are processors. */
  MLUOP_OMP_ALGORITHM_DEVICE = 1  /* the algorithm of the design document: OMP_NUM_THREADS tasks exactly, each on
                                     a thread of its own unless MLUOP_OMP_MAX_THREADS is set; the document's split,
                                     NRAM tiles, loop order and workspace, and its atomics in any atomics mode: the
                                     last bits of sums may differ between runs. */
} mluOpOmpAlgorithm_t;

/* Sets the algorithm, from the next call on. Workspace queries answer for the algorithm of the handle: query again
 * after a change. A new handle has the algorithm of MLUOP_OMP_ALGORITHM (native or device; default native);
 * mluOpUpdateContextInformation reads the variable again.
 * Returns BAD_PARAM if handle is null or algorithm is not a valid enumerator. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpSetAlgorithm(mluOpHandle_t handle, mluOpOmpAlgorithm_t algorithm);

/* Writes the algorithm.
 * Returns BAD_PARAM if handle or algorithm is null. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetAlgorithm(mluOpHandle_t handle, mluOpOmpAlgorithm_t* algorithm);

/* ---------------------------------------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------------------------------------ */

/* Frees the memory that earlier calls have left in the handle: NRAM, internal workspace and statistics. Settings
 * are kept. The next operator allocates again, with the same results.
 * Returns BAD_PARAM if handle is null. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpReleaseMemory(mluOpHandle_t handle);

/* ---------------------------------------------------------------------------------------------------
 * Statistics of the last call
 *
 * While they are enabled, the handle records each launch of an operator call and each of its tasks. A trace
 * (MLUOP_OMP_TRACE=FILE, "%p" in FILE stands for the process id) records all calls in the Chrome trace-event
 * format, which Perfetto opens, and enables the statistics of each handle. Without "%p", children of fork() append
 * their process id to the name. A file that cannot be written is logged once; the calls succeed.
 * ------------------------------------------------------------------------------------------------ */

/* A launch: a kernel that runs as taskDim tasks. */
typedef struct {
  const char* kernel; /* static text */
  int task_dim;
  int threads;     /* that ran the tasks */
  double start_us; /* since the call began */
  double duration_us;
} mluOpOmpLaunchStatistics_t;

/* A task of a launch. Tiles, bytes, atomics and NRAM are counted by the device algorithm; they are 0 in native
 * launches, except nram_bytes. Where tasks take chunks of work items until none is left, the work items of a task
 * need not follow each other. */
typedef struct {
  int64_t first_item; /* the work items [first_item, first_item + item_count) */
  int64_t item_count;
  int64_t tiles;           /* tiles that the task processed */
  int64_t bytes_loaded;    /* GDRAM to NRAM */
  int64_t bytes_stored;    /* NRAM to GDRAM, without atomics */
  int64_t atomics;         /* atomic rows or elements */
  int64_t atomic_elements; /* elements that they updated */
  int64_t contended;       /* atomics that waited for a lock */
  int64_t nram_bytes;      /* NRAM that the task used, at most */
  int thread;              /* that ran the task */
  double start_us;         /* since the call began */
  double duration_us;
  double longest_chunk_us; /* the longest chunk that the task took; 0 where work items are divided before */
} mluOpOmpTaskStatistics_t;

/* Enables (1) or disables (0, default) the statistics of a handle. Disabled, a launch costs one branch more.
 * Returns BAD_PARAM if handle is null or enabled is neither 0 nor 1. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpSetStatistics(mluOpHandle_t handle, int enabled);

/* Writes the number of launches of the last operator call; 0 if the statistics were disabled.
 * Returns BAD_PARAM if handle or count is null. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetLaunchCount(mluOpHandle_t handle, int* count);

/* Writes the statistics of launch `launch` (0, 1, ...) of the last operator call, and of task `task` of it.
 * Return BAD_PARAM if handle or statistics is null, or launch or task is out of range. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetLaunchStatistics(mluOpHandle_t handle, int launch,
                                                        mluOpOmpLaunchStatistics_t* statistics);
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetTaskStatistics(mluOpHandle_t handle, int launch, int task,
                                                      mluOpOmpTaskStatistics_t* statistics);

/* ---------------------------------------------------------------------------------------------------
 * Errors and the log
 * ------------------------------------------------------------------------------------------------ */

/* The text of the calling thread's last failed call, such as
 *   "[mluOpVoxelPoolingForward] geom_xyz dim 2 is 4, expected 3";
 * "" if none has failed. Successful calls do not clear it. At most 1023 characters; never null; valid until the
 * thread's next failed call or its end. */
const char* MLUOP_WIN_API mluOpOmpGetLastError(void);

/* Sets the level of the log, of this process, from now on: "debug", "info", "warn", "error" (initially) or "off".
 * MLUOP_LOG_LEVEL, where it is set, prevails: for programs that report errors themselves, whose users can still
 * ask for the log.
 * Returns BAD_PARAM if level is null or none of these. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpSetDefaultLogLevel(const char* level);

/* ---------------------------------------------------------------------------------------------------
 * Comparison of tensors
 *
 * mluOpOmpCompare compares a tensor that a program has found, e, with the one expected, b, of the same shape, in
 * any two real data types: figures of accuracy, the worst elements, and how the wrong elements are distributed.
 * Numbers are compared in double, INT64 and UINT64 by exact differences (sums: in double); an INT64 and a UINT64
 * differ even if they are the same double. What depends on a data type (bits, representable values, subnormal
 * numbers) depends on the type of e: b is then rounded to it, to nearest even, integers saturated.
 *
 * Sums of magnitudes and squares have relative errors below 1e-11; counts and maxima are exact. Results are the
 * same bits at every thread count and on every instruction set. Like pairs (two NaN, two infinities of one sign)
 * have no error; other pairs with a NaN or an infinity are special mismatches, whose error is infinite. Neither
 * take part in sums and maxima.
 * ------------------------------------------------------------------------------------------------ */

typedef struct mluOpOmpComparisonStruct* mluOpOmpComparison_t;

typedef struct {
  double rtol, atol;       /* an element is wrong if !(|e - b| <= atol + rms_atol * rms + rtol |b|), or if it is a
                              special mismatch; finite, 0 or more */
  double rms_atol;         /* as rtol; rms: see mluOpOmpDifference_t, which also states the sum of both parts */
  int bits;                /* 1: an element is wrong if its bits differ, whatever the tolerances */
  int nan_payloads;        /* 1: bits of two NaN differ if their signs or payloads do; 0: they are equal */
  double epsilon;          /* is added to the denominators of relative errors, diff1 and diff2; as rtol */
  int worst;               /* the wrong elements to keep, 0 to 1000; with 0, no pattern is searched */
  const char* const* axes; /* a name for each dimension in the pattern; null, and null for one: "index" */
} mluOpOmpCompareOptions_t;

/* rtol 1e-5, rms_atol 1e-8, worst 5, and 0 otherwise. */
mluOpOmpCompareOptions_t MLUOP_WIN_API mluOpOmpDefaultCompareOptions(void);

/* The entries of ulp_histogram. */
#define MLUOP_OMP_ULP_BUCKETS 35

typedef struct {
  int64_t elements;
  int64_t differing; /* of other bits */
  int64_t wrong;
  int64_t above, below; /* e > b, e < b; without special mismatches */
  int64_t found_nan, expected_nan;
  int64_t found_inf, expected_inf;
  int64_t special_mismatches;
  int64_t overflowed; /* e infinite, b finite */
  int64_t flushed;    /* e is 0, b is not */
  double diff1;       /* sum |e - b| / sum |b| */
  double diff2;       /* sqrt(sum (e - b)^2 / sum b^2) */
  /* Maxima of |e - b| / |b| where |b| is above a threshold, and of |e - b| elsewhere. The threshold is 1e-4 if e
   * is HALF, else 1e-6. */
  double diff3_relative, diff3_absolute;
  double max_relative, max_absolute; /* of |e - b| / |b|, and of |e - b|: diff3_1 and diff3_2 */
  double mean_magnitude;             /* of b */
  /* Root mean square of the finite elements of b other than 0, whatever e is; 0 without such elements, and if
   * rms_atol is 0. */
  double rms;
  /* atol + rms_atol * rms. In tensors of 2 or 3 dimensions whose last one has 2 to 16 indices, rms counts as at
   * most 1: rows of a few numbers, such as boxes with a score, have columns of different magnitudes. If rms is
   * positive, the product is at least the smallest positive number of either floating-point type. */
  double atol;
  double cosine;          /* sum e b / sqrt(sum e^2 sum b^2) */
  double pcc;             /* Pearson's correlation coefficient */
  double factor;          /* F that minimizes sum (e - F b)^2 */
  double factor_residual; /* sqrt(sum (e - F b)^2 / sum e^2) */
  int64_t max_ulp;        /* distances in representable values; +0 and -0 are one value; at most INT64_MAX */
  /* Numbers of elements with these distances: 0, 1, 2, 3 to 4, 5 to 8, ..., 2^30 + 1 to 2^31, more, and special
   * mismatches. */
  int64_t ulp_histogram[MLUOP_OMP_ULP_BUCKETS];
} mluOpOmpDifference_t;

typedef struct {
  int64_t index; /* in row-major order */
  double expected, found;
  double absolute, relative; /* |e - b|, |e - b| / |b| */
} mluOpOmpWrongElement_t;

/* Compares two contiguous tensors, which are left unchanged, and makes a comparison of them, which the caller
 * destroys. options: null stands for mluOpOmpDefaultCompareOptions(). Tensors without elements are equal: cosine
 * and pcc are 1, atol is the option's, other figures are 0; their data may be null.
 *
 * Ratios: 0 / 0 is 0, other numbers over 0 are infinite. cosine and pcc: if both norms or variances are 0, 1 where
 * no element is wrong, else 0; if one is 0, 0. factor: 1 if both norms are 0, 0 if one is. Where data of DOUBLE
 * exceed 2^500 in magnitude, sums leave out what is 2^1000 times smaller.
 *
 * Memory: about 1 KiB for each 65536 elements, half of which the handle keeps. A search for a pattern allocates up
 *   to 32 MiB, of tensors beyond 1 GiB up to 1/32 of their bytes.
 *
 * Returns BAD_PARAM if an argument other than options is null, a data type is not HALF, BFLOAT16, FLOAT, DOUBLE,
 * an integer or BOOL, shapes differ, or an option is out of range; NOT_SUPPORTED if a tensor is not contiguous;
 * ALLOC_FAILED if out of memory. comparison is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpCompare(mluOpHandle_t handle, const mluOpTensorDescriptor_t found_desc,
                                            const void* found, const mluOpTensorDescriptor_t expected_desc,
                                            const void* expected, const mluOpOmpCompareOptions_t* options,
                                            mluOpOmpComparison_t* comparison);

/* Frees a comparison. Returns BAD_PARAM if it is null. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpDestroyComparison(mluOpOmpComparison_t comparison);

/* Writes the figures. Returns BAD_PARAM if an argument is null. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetDifference(mluOpOmpComparison_t comparison,
                                                  mluOpOmpDifference_t* difference);

/* Writes up to `capacity` of the wrong elements that were kept, the largest absolute error first, of equal ones
 * the smallest index, and their number.
 * Returns BAD_PARAM if comparison or count is null, capacity is negative, or elements is null although capacity is
 * not 0. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetWrongElements(mluOpOmpComparison_t comparison, int capacity,
                                                     mluOpOmpWrongElement_t* elements, int* count);

/* How the wrong elements are distributed, or what they have in common, in one line, such as
 *   "one channel: 3 of 16 (dim 3), 84 of its 84 elements";
 * "" if no element is wrong, the option `worst` was 0, or comparison is null. What it states holds for every wrong
 * element. Valid until the comparison is destroyed. */
const char* MLUOP_WIN_API mluOpOmpGetComparisonPattern(mluOpOmpComparison_t comparison);

/* ---------------------------------------------------------------------------------------------------
 * Operators that MLU-OPS lacks. They return the statuses of every operator; see "Operators" in mlu_op.h.
 * ------------------------------------------------------------------------------------------------ */

/* Voxel pooling backward (BEVDepth): the gradient of mluOpVoxelPoolingForward. Copies the gradient of each cell to
 * the points whose features it is the sum of; the gradient of the other points is 0.
 *
 *   grad_input_features[b,p,c] = grad_output_features[i,y,x,c] if pos_memo[b,p] = (i, y, x)
 *                              = 0                             if pos_memo[b,p] = (-1, -1, -1)
 *
 * | tensor               | shape        | dtype                        | layout |
 * |----------------------|--------------|------------------------------|--------|
 * | grad_output_features | [B, Y, X, C] | FLOAT, HALF or BFLOAT16      | ARRAY  |
 * | pos_memo             | [B, N, 3]    | INT32                        | ARRAY  |
 * | grad_input_features  | [B, N, C]    | that of grad_output_features | ARRAY  |
 *
 * Units: pos_memo is that of mluOpVoxelPoolingForward, whose i is b; any i from 0 to B - 1 is valid. B, N, C, X
 *   and Y are the batch_size, num_points, num_channels, num_voxel_x and num_voxel_y of that call.
 * Outputs: the call writes every element of grad_input_features; the caller need not initialize it. Elements are
 *   copied bit for bit, NaN with their payload. If grad_input_features has no elements, no data are read: pointers
 *   may be null, and pos_memo may have any value.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      a value of pos_memo is outside the range of its dimension, or a point has both -1 and other
 *                  values: the message names the first such element [batch, point, coordinate] and its value
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: this backend; BEVDepth, arXiv:2206.10092, voxel_pooling. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpVoxelPoolingBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_features_desc,
    const void* grad_output_features, const mluOpTensorDescriptor_t pos_memo_desc, const void* pos_memo,
    const mluOpTensorDescriptor_t grad_input_features_desc, void* grad_input_features);

/* BEV pool forward (BEVDet bev_pool_v2): voxel pooling of features weighted by depth, without a tensor of the
 * weighted points. A point names a weight, a row of features and a cell.
 *
 *   output[m,c] = sum over the points p with ranks_bev[p] = m of
 *                 depth[ranks_depth[p]] * features[ranks_feat[p],c]
 *
 * | tensor                             | shape  | dtype                   | layout |
 * |------------------------------------|--------|-------------------------|--------|
 * | depth                              | [D]    | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | features                           | [F, C] | that of depth           | ARRAY  |
 * | ranks_depth, ranks_feat, ranks_bev | [P]    | INT32                   | ARRAY  |
 * | output                             | [M, C] | that of depth           | ARRAY  |
 *
 * Units: ranks_depth numbers the elements of depth, ranks_feat the rows of features and ranks_bev those of output.
 *   BEVDet has depth [B, N, D, H, W], features [B, N, H, W, C] and output [B, Z, Y, X, C] there, dense, and the
 *   points of a cell beside each other; here they have any order, and each number may occur any number of times.
 * Outputs: the call writes every element of output; the caller need not initialize it. A cell without points is
 *   +0. A point with ranks_bev -1 is skipped: its other numbers may have any value. NaN and infinity propagate. If
 *   output has no elements, no data are read: pointers may be null, and numbers may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   products and sums are rounded in fp32, in the order of points, starting at +0: for FLOAT the bits of the
 *   serial loop, for HALF and BFLOAT16 these sums rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 8 bytes a row of output and up to 28 a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      a number of a point that is not skipped is outside the elements or rows of its tensor: the
 *                  message names the first such point and its value
 *   NOT_SUPPORTED  P, F or M is 2^31 or more
 *
 * Definition: BEVDet, mmdet3d/ops/bev_pool_v2; BEVPoolv2, arXiv:2211.17111. */
mluOpStatus_t MLUOP_WIN_API
mluOpOmpBevPoolForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t depth_desc, const void* depth,
                       const mluOpTensorDescriptor_t features_desc, const void* features,
                       const mluOpTensorDescriptor_t ranks_depth_desc, const void* ranks_depth,
                       const mluOpTensorDescriptor_t ranks_feat_desc, const void* ranks_feat,
                       const mluOpTensorDescriptor_t ranks_bev_desc, const void* ranks_bev,
                       const mluOpTensorDescriptor_t output_desc, void* output);

/* BEV pool backward (BEVDet bev_pool_v2): the gradients of mluOpOmpBevPoolForward.
 *
 *   grad_depth[d]      = sum over the points p with ranks_depth[p] = d of
 *                        sum over c of grad_output[ranks_bev[p],c] * features[ranks_feat[p],c]
 *   grad_features[f,c] = sum over the points p with ranks_feat[p] = f of
 *                        depth[ranks_depth[p]] * grad_output[ranks_bev[p],c]
 *
 * | tensor                             | shape  | dtype                   | layout |
 * |------------------------------------|--------|-------------------------|--------|
 * | grad_output                        | [M, C] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | depth, grad_depth                  | [D]    | that of grad_output     | ARRAY  |
 * | features, grad_features            | [F, C] | that of grad_output     | ARRAY  |
 * | ranks_depth, ranks_feat, ranks_bev | [P]    | INT32                   | ARRAY  |
 *
 * Units: those of the forward operator.
 * Outputs: the call writes every element of both gradients; the caller need not initialize them. What no point
 *   names has the gradient +0. A point with ranks_bev -1 is skipped. NaN and infinity propagate. If both gradients
 *   have no elements, no data are read: pointers may be null, and numbers may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   each operation is rounded in fp32, results of HALF and BFLOAT16 once at the end. Both gradients add in the
 *   order of points, starting at +0. The sum over channels adds channel c, ascending, to partial sum c mod 16;
 *   then sums 8 to 15 are added to sums 0 to 7, 4 to 7 to 0 to 3, 2 and 3 to 0 and 1, and 1 to 0.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 8 bytes a row of features and up to 32 a point; for HALF and BFLOAT16 4
 *   an element of depth.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM, NOT_SUPPORTED  as the forward operator
 *
 * Definition: BEVDet, mmdet3d/ops/bev_pool_v2, which requires that each element of depth has one point; BEVPoolv2,
 *   arXiv:2211.17111. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpBevPoolBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t depth_desc, const void* depth, const mluOpTensorDescriptor_t features_desc,
    const void* features, const mluOpTensorDescriptor_t ranks_depth_desc, const void* ranks_depth,
    const mluOpTensorDescriptor_t ranks_feat_desc, const void* ranks_feat,
    const mluOpTensorDescriptor_t ranks_bev_desc, const void* ranks_bev,
    const mluOpTensorDescriptor_t grad_depth_desc, void* grad_depth,
    const mluOpTensorDescriptor_t grad_features_desc, void* grad_features);

/* Bird's-eye overlap of 3-D boxes (mmcv iou3d, OpenPCDet iou3d_nms): the area that each pair of boxes shares in
 * the ground plane.
 *
 *   A box (x, y, z, dx, dy, dz, yaw) covers the rectangle with center (x, y) and sides dx and dy, turned by yaw.
 *   overlaps[n,m] = the area of the intersection of boxes_a[n] and boxes_b[m], computed in fp32 as by mmcv's
 *     kernel: the polygon of the crossings of their edges and of the corners of each box in the other, enlarged by
 *     0.01 on each side, ordered by their angles about their mean
 *
 * | tensor   | shape  | dtype | layout |
 * |----------|--------|-------|--------|
 * | boxes_a  | [N, 7] | FLOAT | any    |
 * | boxes_b  | [M, 7] | FLOAT | any    |
 * | overlaps | [N, M] | FLOAT | any    |
 *
 * Units: x, y, dx and dy are in meters, as the 0.01 is; yaw in radians, from the x axis to the y axis. z, dz are
 *   not read.
 * Outputs: the call writes every element; the caller need not initialize them. Boxes less than 0.01 apart have a
 *   small overlap, and at coordinates beyond 1000 errors exceed 0.001: this is the definition that detectors are
 *   trained with. mluOpBoxIouRotated has the exact intersection. If N or M is 0, overlaps has no elements; data
 *   may be null. A box with NaN, with an infinite center or yaw, or with a dx or dy that is not positive has
 *   overlap 0 (mmcv's kernel takes the area of some of the latter, which makes IoUs of 1e8); one with an infinite
 *   side contains corners as any other, and overlaps that overflow are infinite or NaN.
 * Determinism: the result is exact: the bits of the serial loop of the definition, at every thread count and on
 *   every instruction set. Products are rounded before they are added; sine and cosine are computed in double and
 *   rounded. CUDA compilers fuse products and additions: last bits differ.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 80 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   NOT_SUPPORTED  N or M is 2^31 or more
 *
 * Definition: mmcv iou3d_boxes_overlap_bev_forward; PointRCNN, arXiv:1812.04244. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpBoxesOverlapBev(mluOpHandle_t handle,
                                                    const mluOpTensorDescriptor_t boxes_a_desc,
                                                    const void* boxes_a,
                                                    const mluOpTensorDescriptor_t boxes_b_desc,
                                                    const void* boxes_b,
                                                    const mluOpTensorDescriptor_t overlaps_desc, void* overlaps);

/* NMS of 3-D boxes without yaw (mmcv nms3d_normal): of boxes whose rectangles in the ground plane overlap, keeps
 * the earlier ones. mluOpNms with boxes of 7 numbers regards yaw.
 *
 *   A box (x, y, z, dx, dy, dz, yaw) covers the rectangle from (x - dx / 2, y - dy / 2) to
 *   (x + dx / 2, y + dy / 2).
 *   In ascending order of indices, which is that of descending scores, a box is kept unless a box that is kept
 *   before overlaps it: unless the IoU of both is greater than iou_threshold. With I the area that both rectangles
 *   share, IoU = I / max(dx dy of one + dx dy of the other - I, 1e-8), in fp32, each operation rounded.
 *   output[0 .. result_num[0] - 1] = the indices of the boxes that are kept, ascending
 *
 * | tensor     | shape                          | dtype | layout |
 * |------------|--------------------------------|-------|--------|
 * | boxes      | [N, 7], in descending scores   | FLOAT | any    |
 * | output     | [N]                            | INT32 | any    |
 * | result_num | one number, without descriptor | INT32 |        |
 *
 * Units: x, y, dx and dy have one unit. z, dz and yaw are not read.
 * Outputs: the call writes every element: output is 0 from result_num[0] on. N = 0: result_num[0] is 0; the data
 *   of tensors and the workspace may be null. A box overlaps no other if dx or dy is not positive, or if a corner
 *   or the area is NaN or infinite. If iou_threshold is negative, boxes without overlap are suppressed too: their
 *   IoU of 0 is greater. If it is NaN, no box is suppressed.
 * Determinism: the result is exact: that of the serial definition, at every thread count and on every instruction
 *   set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 37 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      result_num is null; workspace_size is less than the query returns, or workspace is null
 *                  although that is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: boxes are numbered by int32
 *
 * Definition: mmcv iou3d_nms3d_normal_forward. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpNms3dNormal(mluOpHandle_t handle, const float iou_threshold,
                                                const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                                void* workspace, size_t workspace_size,
                                                const mluOpTensorDescriptor_t output_desc, void* output,
                                                int32_t* result_num);

/* Writes the bytes of workspace that mluOpOmpNms3dNormal needs for boxes_desc [N, 7]; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null or boxes_desc is not as the operator requires; NOT_SUPPORTED if N is
 * 2^31 or more or the tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetNms3dNormalWorkspaceSize(mluOpHandle_t handle,
                                                                const mluOpTensorDescriptor_t boxes_desc,
                                                                size_t* workspace_size);

/* How mluOpOmpSoftNms decays the score of a box that overlaps a chosen one. */
typedef enum {
  MLUOP_OMP_SOFT_NMS_NAIVE = 0,   /* 0 from iou_threshold on */
  MLUOP_OMP_SOFT_NMS_LINEAR = 1,  /* times 1 - IoU from iou_threshold on */
  MLUOP_OMP_SOFT_NMS_GAUSSIAN = 2 /* times exp(-IoU^2 / sigma) */
} mluOpOmpSoftNmsMethod_t;

/* Soft NMS (mmcv softnms): chooses the box of the highest score, decays the scores of the boxes that overlap it,
 * drops those below min_score, and repeats with the boxes that remain.
 *
 *   area(a) = (x2 - x1 + offset) (y2 - y1 + offset); 0 if one of both factors is 0 or less: the box is empty
 *   I(a, b) = max(0, min(x2_a, x2_b) - max(x1_a, x1_b) + offset) max(0, the same of y)
 *   IoU(a, b) = I / (area(a) + area(b) - I); 0 of two empty boxes, for which mmcv divides 0 by 0
 *   Step k chooses the first box of the highest score. It becomes row k of the outputs, and the first of the
 *   remaining boxes takes its place. Then the score of each remaining box b is multiplied by
 *     naive:    0 if IoU(chosen, b) >= iou_threshold, else 1
 *     linear:   1 - IoU(chosen, b) if IoU(chosen, b) >= iou_threshold, else 1
 *     gaussian: exp(-IoU(chosen, b)^2 / sigma)
 *   Last, from the first box to the last, one whose score is less than min_score is dropped; the last box takes
 *   its place and is examined next.
 *
 * | tensor     | shape                                 | dtype | layout |
 * |------------|---------------------------------------|-------|--------|
 * | boxes      | [N, 4]: x1, y1, x2, y2                | FLOAT | any    |
 * | scores     | [N]                                   | FLOAT | any    |
 * | dets       | [N, 5]: x1, y1, x2, y2, decayed score | FLOAT | any    |
 * | inds       | [N]                                   | INT32 | any    |
 * | result_num | one number, without descriptor        | INT32 |        |
 *
 * Units: coordinates have one unit; offset is 1 if x2 and y2 are the last pixels of a box, 0 if its edges.
 * Outputs: the call writes every element. The first result_num[0] rows of dets and elements of inds are the boxes
 *   in the order in which they are chosen; the others are 0 (mmcv leaves those of dets as they are). The first box
 *   is chosen even if its score is less than min_score. N = 0: result_num[0] is 0; the data of tensors and the
 *   workspace may be null. Of equal scores, the first in the order that the moves above leave is chosen, which is
 *   not always the one of the lowest index. A box whose score is NaN is never dropped; it is chosen when it is
 *   the first of those that remain. An IoU of NaN leaves a score unchanged; in gaussian, it makes the score NaN.
 * Determinism: the result is exact: the bits of the serial loop of the definition in fp32, at every thread count
 *   and on every instruction set. exp is expf of the C library, as in mmcv, which has these bits but for empty
 *   boxes.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 28 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      method is not a valid enumerator; offset is neither 0 nor 1; result_num is null; workspace_size
 *                  is less than the query returns, or workspace is null although that is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: boxes are numbered by int32
 *
 * Definition: mmcv softnms; arXiv:1704.04503. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpSoftNms(mluOpHandle_t handle, const mluOpOmpSoftNmsMethod_t method,
                                            const float iou_threshold, const float sigma, const float min_score,
                                            const int offset, const mluOpTensorDescriptor_t boxes_desc,
                                            const void* boxes, const mluOpTensorDescriptor_t scores_desc,
                                            const void* scores, void* workspace, size_t workspace_size,
                                            const mluOpTensorDescriptor_t dets_desc, void* dets,
                                            const mluOpTensorDescriptor_t inds_desc, void* inds,
                                            int32_t* result_num);

/* Writes the bytes of workspace that mluOpOmpSoftNms needs for boxes_desc [N, 4]; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null or boxes_desc is not as the operator requires; NOT_SUPPORTED if N is
 * 2^31 or more or the tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetSoftNmsWorkspaceSize(mluOpHandle_t handle,
                                                            const mluOpTensorDescriptor_t boxes_desc,
                                                            size_t* workspace_size);

/* NMS match (mmcv nms_match): groups boxes by the box that NMS keeps of them.
 *
 *   In descending order of scores, a box that no group has yet starts a group, and takes each later one that no
 *   group has and whose IoU with it is iou_threshold or more: the IoU of mluOpOmpSoftNms with offset 0.
 *   Of equal scores, the lower index comes first; NaN come before all numbers.
 *   members = the indices of the boxes of each group, one group after the other, in this order
 *   group_sizes[0 .. group_num[0] - 1] = the boxes of each group
 *
 * | tensor      | shape                          | dtype | layout |
 * |-------------|--------------------------------|-------|--------|
 * | dets        | [N, 5]: x1, y1, x2, y2, score  | FLOAT | any    |
 * | members     | [N]                            | INT32 | any    |
 * | group_sizes | [N]                            | INT32 | any    |
 * | group_num   | one number, without descriptor | INT32 |        |
 *
 * Outputs: the call writes every element: group_sizes is 0 from group_num[0] on. Every box is in one group, whose
 *   first member is the box that is kept. N = 0: group_num[0] is 0; the data of tensors and the workspace may be
 *   null. An IoU of NaN, as of boxes with NaN, is less than any threshold. If iou_threshold is NaN, each box is a
 *   group; if it is 0 or less, boxes without overlap are in one group too, empty ones as well.
 * Determinism: the result is exact: that of the serial definition in fp32, at every thread count and on every
 *   instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 45 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      group_num is null; workspace_size is less than the query returns, or workspace is null although
 *                  that is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: boxes are numbered by int32
 *
 * Definition: mmcv nms_match; arXiv:1904.04821. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpNmsMatch(mluOpHandle_t handle, const float iou_threshold,
                                             const mluOpTensorDescriptor_t dets_desc, const void* dets,
                                             void* workspace, size_t workspace_size,
                                             const mluOpTensorDescriptor_t members_desc, void* members,
                                             const mluOpTensorDescriptor_t group_sizes_desc, void* group_sizes,
                                             int32_t* group_num);

/* Writes the bytes of workspace that mluOpOmpNmsMatch needs for dets_desc [N, 5]; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null or dets_desc is not as the operator requires; NOT_SUPPORTED if N is
 * 2^31 or more or the tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetNmsMatchWorkspaceSize(mluOpHandle_t handle,
                                                             const mluOpTensorDescriptor_t dets_desc,
                                                             size_t* workspace_size);

/* Gather points forward (PointNet++): the features of chosen points, and of the points in the neighborhoods of
 * chosen points: gather_points and grouping_operation of mmcv.
 *
 *   output[b,c,m] = features[b,c,indices[b,m]]
 *   output[b,c,p,s] = features[b,c,indices[b,p,s]]
 *
 * | tensor   | shape                     | dtype                   | layout |
 * |----------|---------------------------|-------------------------|--------|
 * | features | [B, C, N]                 | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | indices  | [B, M] or [B, P, S]       | INT32                   | ARRAY  |
 * | output   | [B, C, M] or [B, C, P, S] | that of features        | ARRAY  |
 *
 * Units: indices number the features of their batch, 0 to N - 1.
 * Outputs: the call writes every element of output; the caller need not initialize it. Elements are copied bit
 *   for bit, NaN with their payload. If output has no elements, no data are read: pointers may be null, and
 *   indices may have any value.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      N is 0 and output has elements; an index is outside [0, N - 1]: the message names the first
 *                  such element, [batch, point] or [batch, point, sample], and its value
 *
 * Definition: mmcv gather_points_forward, group_points_forward; PointNet++, arXiv:1706.02413. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGatherPointsForward(mluOpHandle_t handle,
                                                        const mluOpTensorDescriptor_t features_desc,
                                                        const void* features,
                                                        const mluOpTensorDescriptor_t indices_desc,
                                                        const void* indices,
                                                        const mluOpTensorDescriptor_t output_desc, void* output);

/* Gather points backward (PointNet++): the gradient of mluOpOmpGatherPointsForward. Adds the gradient of each
 * point to that of the feature that it is a copy of.
 *
 *   grad_features[b,c,n] = sum over the points m of batch b with indices[b,m] = n of grad_output[b,c,m]
 *                        = sum over the points p and samples s with indices[b,p,s] = n of grad_output[b,c,p,s]
 *
 * | tensor        | shape                     | dtype                   | layout |
 * |---------------|---------------------------|-------------------------|--------|
 * | grad_output   | [B, C, M] or [B, C, P, S] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | indices       | [B, M] or [B, P, S]       | INT32                   | ARRAY  |
 * | grad_features | [B, C, N]                 | that of grad_output     | ARRAY  |
 *
 * Units: indices number the features of their batch, 0 to N - 1.
 * Outputs: the call writes every element of grad_features; the caller need not initialize it. A feature of no
 *   point has the gradient +0. NaN and infinity propagate through the additions. If grad_features has no elements,
 *   no data are read: pointers may be null, and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   sums are rounded in fp32, in the order of the indices, starting at +0: for FLOAT bit-identical to the serial
 *   loop of the definition, for HALF and BFLOAT16 these sums rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      N is 0 and grad_output has elements; an index is outside [0, N - 1]: the message names the
 *                  first such element, [batch, point] or [batch, point, sample], and its value
 *
 * Definition: mmcv gather_points_backward, group_points_backward, which add to grad_features in any order;
 *   PointNet++, arXiv:1706.02413. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGatherPointsBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices,
    const mluOpTensorDescriptor_t grad_features_desc, void* grad_features);

/* Furthest point sampling (PointNet++): chooses points one after the other, each the furthest from those that are
 * chosen before.
 *
 *   d2(k,l) = ((x_k - x_l)^2 + (y_k - y_l)^2) + (z_k - z_l)^2
 *   idx[b,0] = 0
 *   idx[b,j] = the k of the greatest min(1e10, d2(k, idx[b,0]), ..., d2(k, idx[b,j-1])), points of batch b
 *
 * | tensor | shape     | dtype | layout |
 * |--------|-----------|-------|--------|
 * | points | [B, N, 3] | FLOAT | any    |
 * | idx    | [B, M]    | INT32 | any    |
 *
 * Units: coordinates are x, y, z, in one unit.
 * Outputs: the call writes every element; the caller need not initialize them. If B or M is 0, idx has no
 *   elements; the data of tensors and the workspace may be null.
 *   Of points that are equally far, the k of the least (the bits of k mod 1024 in reverse order, k / 1024) is
 *   chosen, as by the kernel of mmcv with 1024 threads; fewer threads, which mmcv has for N < 1024, choose the
 *   same point. After all points that differ, idx repeats: M may exceed N.
 *   A distance of NaN is not less than any number: a point with a coordinate that is not finite remains at 1e10,
 *   and repeats from where it is chosen. Points more than 1e5 apart tie.
 * Determinism: the result is exact: that of the serial definition in fp32, at every thread count and on every
 *   instruction set. Squares are rounded before they are added. CUDA compilers fuse the two: of points that are
 *   almost equally far, mmcv's kernel may choose another one.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. Batches run in parallel; the points of one do not.
 * Memory: a workspace, at any address, of the size that the query returns: about 37 bytes a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      N is 0, but B and M are not; workspace_size is less than the query returns, or workspace is
 *                  null although that is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: points are numbered by int32
 *
 * Definition: mmcv furthest_point_sampling_forward; PointNet++, arXiv:1706.02413. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpFurthestPointSample(mluOpHandle_t handle,
                                                        const mluOpTensorDescriptor_t points_desc,
                                                        const void* points, void* workspace, size_t workspace_size,
                                                        const mluOpTensorDescriptor_t idx_desc, void* idx);

/* Writes the bytes of workspace that mluOpOmpFurthestPointSample needs for points_desc [B, N, 3] and idx_desc
 * [B, M]; 0 if B or M is 0.
 * Returns BAD_PARAM if an argument is null, a descriptor is not as the operator requires, or the bytes exceed
 * 2^63 - 1; NOT_SUPPORTED if N is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetFurthestPointSampleWorkspaceSize(mluOpHandle_t handle,
                                                                        const mluOpTensorDescriptor_t points_desc,
                                                                        const mluOpTensorDescriptor_t idx_desc,
                                                                        size_t* workspace_size);

/* Furthest point sampling by given distances (3DSSD): mluOpOmpFurthestPointSample, of which d2(k,l) is
 * distances[b,l,k].
 *
 *   idx[b,0] = 0
 *   idx[b,j] = the k of the greatest min(1e10, distances[b, idx[b,0], k], ..., distances[b, idx[b,j-1], k])
 *
 * | tensor    | shape     | dtype | layout |
 * |-----------|-----------|-------|--------|
 * | distances | [B, N, N] | FLOAT | any    |
 * | idx       | [B, M]    | INT32 | any    |
 *
 * Units: distances have any unit, squared or not. The matrix need not be symmetric: the row of a chosen point is
 *   read.
 * Outputs: the call writes every element; the caller need not initialize them. If B or M is 0, idx has no
 *   elements; the data of tensors and the workspace may be null. Ties are those of mluOpOmpFurthestPointSample.
 *   A distance of NaN is not less than any number. If no minimum is greater than -1, point 0 is chosen.
 * Determinism: the result is exact: that of the serial definition, at every thread count and on every instruction
 *   set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. Batches run in parallel; the points of one do not.
 * Memory: a workspace, at any address, of the size that the query returns: about 4 bytes a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      N is 0, but B and M are not; workspace_size is less than the query returns, or workspace is
 *                  null although that is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: points are numbered by int32
 *
 * Definition: mmcv furthest_point_sampling_with_dist_forward; 3DSSD, arXiv:2002.10187. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpFurthestPointSampleWithDist(mluOpHandle_t handle,
                                                                const mluOpTensorDescriptor_t distances_desc,
                                                                const void* distances, void* workspace,
                                                                size_t workspace_size,
                                                                const mluOpTensorDescriptor_t idx_desc, void* idx);

/* Writes the bytes of workspace that mluOpOmpFurthestPointSampleWithDist needs for distances_desc [B, N, N] and
 * idx_desc [B, M]; 0 if B or M is 0.
 * Returns BAD_PARAM if an argument is null, a descriptor is not as the operator requires, or the bytes exceed
 * 2^63 - 1; NOT_SUPPORTED if N is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetFurthestPointSampleWithDistWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t distances_desc, const mluOpTensorDescriptor_t idx_desc,
    size_t* workspace_size);

/* Points in boxes, the first (mmcv points_in_boxes_part): the first box that contains each point.
 *
 *   A box (x, y, z, dx, dy, dz, yaw) contains the point (px, py, pz) if, with
 *     lx =  (px - x) cos(yaw) + (py - y) sin(yaw)
 *     ly = -(px - x) sin(yaw) + (py - y) cos(yaw),
 *   |pz - (z + dz / 2)| <= dz / 2, |lx| < dx / 2 and |ly| < dy / 2.
 *   indices[b,m] = the lowest t whose box boxes[b,t] contains points[b,m]; -1 if there is none
 *
 * | tensor  | shape     | dtype | layout |
 * |---------|-----------|-------|--------|
 * | boxes   | [B, T, 7] | FLOAT | any    |
 * | points  | [B, M, 3] | FLOAT | any    |
 * | indices | [B, M]    | INT32 | any    |
 *
 * Units: x, y and z, the center of the bottom face, and dx, dy and dz have one unit; yaw is in radians, from the x
 *   axis to the y axis. mluOpPointsInBoxes has another rule, and takes points first.
 * Outputs: the call writes every element of indices; the caller need not initialize it. With T = 0 all are -1, and
 *   the data of boxes may be null; with B = 0 or M = 0 there are none: all data may be null. A point whose x or y
 *   is NaN is in no box; a z of NaN is within every height, as in mmcv, and so are all z for a dz of NaN.
 * Determinism: the result is exact: that of the serial definition, at every thread count and on every instruction
 *   set. Differences, products and sums are rounded to fp32, sine and cosine are computed in double and rounded,
 *   and the results are compared with the halves of the sides in double: the bits of mmcv's function for CPUs.
 *   CUDA compilers fuse products and additions: points on the faces may differ.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 50 bytes a box, of 64 boxes or more a batch.
 *
 * Returns, in addition to the statuses of every operator:
 *   NOT_SUPPORTED  T is 2^31 or more: boxes are numbered by int32
 *
 * Definition: mmcv points_in_boxes_part. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpPointsInBoxesPart(mluOpHandle_t handle,
                                                      const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                                      const mluOpTensorDescriptor_t points_desc,
                                                      const void* points,
                                                      const mluOpTensorDescriptor_t indices_desc, void* indices);

/* Points in boxes, all (mmcv points_in_boxes_all and points_in_boxes_cpu): which boxes contain each point.
 *
 *   is_inside[b,m,t] = 1 if boxes[b,t] contains points[b,m] by the rule of mluOpOmpPointsInBoxesPart, else 0
 *
 * | tensor    | shape     | dtype | layout |
 * |-----------|-----------|-------|--------|
 * | boxes     | [B, T, 7] | FLOAT | any    |
 * | points    | [B, M, 3] | FLOAT | any    |
 * | is_inside | [B, M, T] | INT32 | any    |
 *
 * Units: those of mluOpOmpPointsInBoxesPart.
 * Outputs: the call writes every element of is_inside; the caller need not initialize it. If B, M or T is 0, there
 *   are none, and all data may be null. NaN counts as in mluOpOmpPointsInBoxesPart.
 * Determinism: the result is exact, as that of mluOpOmpPointsInBoxesPart.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 50 bytes a box, of 64 boxes or more a batch.
 *
 * Returns, in addition to the statuses of every operator:
 *   NOT_SUPPORTED  T is 2^31 or more
 *
 * Definition: mmcv points_in_boxes_all, points_in_boxes_cpu. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpPointsInBoxesAll(mluOpHandle_t handle,
                                                     const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                                     const mluOpTensorDescriptor_t points_desc, const void* points,
                                                     const mluOpTensorDescriptor_t is_inside_desc,
                                                     void* is_inside);

/* Stacked ball query (PV-RCNN): mluOpBallQuery of clouds of different sizes, whose centers and points are stacked.
 *
 *   Cloud b has the new_xyz_batch_cnt[b] rows of new_xyz and the xyz_batch_cnt[b] rows of xyz that follow those of
 *   cloud b - 1.
 *   d2(m,n) = ((cx - px)^2 + (cy - py)^2) + (cz - pz)^2 of the center m and the n-th point of its cloud
 *   The members of m are the n with d2(m,n) < max_radius^2.
 *   idx[m,i] = the i-th member of m, ascending; if there are fewer, the first member again
 *   idx[m] = -1, 0, 0, ... if there is none
 *
 * | tensor            | shape        | dtype                   | layout |
 * |-------------------|--------------|-------------------------|--------|
 * | new_xyz           | [M, 3]       | FLOAT, HALF or BFLOAT16 | any    |
 * | new_xyz_batch_cnt | [B]          | INT32                   | any    |
 * | xyz               | [N, 3]       | that of new_xyz         | any    |
 * | xyz_batch_cnt     | [B]          | INT32                   | any    |
 * | idx               | [M, nsample] | INT32                   | any    |
 *
 * Units: coordinates are x, y, z; max_radius is in their unit. n counts the points of the cloud, from 0.
 * Outputs: the call writes every element of idx; the caller need not initialize it. The -1 of a center without
 *   members is mmcv's, which users mask before they group. A point whose distance is NaN or infinite, also by
 *   overflow, is no member; with max_radius = 0, none is, unlike in mluOpBallQuery. If M or nsample is 0, idx has
 *   no elements: all data may be null, and counts may have any value.
 * Determinism: the result is exact: the same at every thread count, in every run and on every instruction set.
 *   Each difference, square and sum is rounded to nearest even: for HALF to half, for FLOAT and BFLOAT16 to fp32.
 *   The square of the radius is rounded to fp32.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. Clouds are queried one after the other.
 * Memory: no workspace. The handle keeps up to 48 bytes a point of the largest cloud.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      max_radius is negative or NaN; nsample is negative or not that of idx; a count is negative, or
 *                  the counts of new_xyz or xyz do not add up to its rows
 *
 * Definition: mmcv stack_ball_query_forward, whose min_radius has no effect; PV-RCNN, arXiv:1912.13192. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpStackBallQuery(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t new_xyz_desc, const void* new_xyz,
    const mluOpTensorDescriptor_t new_xyz_batch_cnt_desc, const void* new_xyz_batch_cnt,
    const mluOpTensorDescriptor_t xyz_desc, const void* xyz, const mluOpTensorDescriptor_t xyz_batch_cnt_desc,
    const void* xyz_batch_cnt, const float max_radius, const int nsample, const mluOpTensorDescriptor_t idx_desc,
    void* idx);

/* Stack group points forward (PV-RCNN): the features of the points in the groups of stacked clouds, such as those
 * that mluOpOmpStackBallQuery finds: grouping_operation of mmcv with counts.
 *
 *   Cloud b has the features_batch_cnt[b] rows of features and the indices_batch_cnt[b] groups that follow those
 *   of cloud b - 1. With first(b) = features_batch_cnt[0] + ... + features_batch_cnt[b-1], and m a group of it:
 *   output[m,c,s] = features[first(b) + indices[m,s], c]
 *
 * | tensor             | shape     | dtype                   | layout |
 * |--------------------|-----------|-------------------------|--------|
 * | features           | [N, C]    | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | features_batch_cnt | [B]       | INT32                   | ARRAY  |
 * | indices            | [M, S]    | INT32                   | ARRAY  |
 * | indices_batch_cnt  | [B]       | INT32                   | ARRAY  |
 * | output             | [M, C, S] | that of features        | ARRAY  |
 *
 * Units: indices number the features of their cloud, from 0.
 * Outputs: the call writes every element of output; the caller need not initialize it. Elements are copied bit for
 *   bit, NaN with their payload. If output has no elements, no data are read: pointers may be null, and counts and
 *   indices may have any value.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 16 bytes a cloud.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      a count is negative; the counts of features or indices do not add up to its rows; a cloud with
 *                  indices has no features; an index is outside the features of its cloud, as the -1 of
 *                  mluOpOmpStackBallQuery is: the message names the first such element, [group, sample], and its
 *                  value
 *
 * Definition: mmcv stack_group_points_forward; PV-RCNN, arXiv:1912.13192. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpStackGroupPointsForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t features_batch_cnt_desc, const void* features_batch_cnt,
    const mluOpTensorDescriptor_t indices_desc, const void* indices,
    const mluOpTensorDescriptor_t indices_batch_cnt_desc, const void* indices_batch_cnt,
    const mluOpTensorDescriptor_t output_desc, void* output);

/* Stack group points backward (PV-RCNN): the gradient of mluOpOmpStackGroupPointsForward. Adds the gradient of
 * each sample to that of the feature that it is a copy of.
 *
 *   grad_features[first(b) + n, c] = sum over the groups m of cloud b and the samples s with indices[m,s] = n of
 *     grad_output[m,c,s], with clouds and first(b) as in the forward operator
 *
 * | tensor             | shape     | dtype                   | layout |
 * |--------------------|-----------|-------------------------|--------|
 * | grad_output        | [M, C, S] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | indices            | [M, S]    | INT32                   | ARRAY  |
 * | indices_batch_cnt  | [B]       | INT32                   | ARRAY  |
 * | features_batch_cnt | [B]       | INT32                   | ARRAY  |
 * | grad_features      | [N, C]    | that of grad_output     | ARRAY  |
 *
 * Units: indices number the features of their cloud, from 0.
 * Outputs: the call writes every element of grad_features; the caller need not initialize it. A feature of no
 *   sample has the gradient +0. NaN and infinity propagate through the additions. If grad_features has no
 *   elements, no data are read: pointers may be null, and counts and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   sums are rounded in fp32, in the order of groups and, in a group, of samples, starting at +0: for FLOAT
 *   bit-identical to the serial loop of the definition, for HALF and BFLOAT16 these sums rounded once, to nearest
 *   even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 24 bytes a cloud.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      N is 0 and grad_output has elements; the rules of the forward operator for counts and indices
 *
 * Definition: mmcv stack_group_points_backward, which adds to grad_features in any order; PV-RCNN,
 *   arXiv:1912.13192. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpStackGroupPointsBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices,
    const mluOpTensorDescriptor_t indices_batch_cnt_desc, const void* indices_batch_cnt,
    const mluOpTensorDescriptor_t features_batch_cnt_desc, const void* features_batch_cnt,
    const mluOpTensorDescriptor_t grad_features_desc, void* grad_features);

/* Assign score with k, forward (PAConv): assembles the features of neighbors from M kernels by their scores.
 *
 *   kn = knn_idx[b,n,k], cn = knn_idx[b,n,0]
 *   output[b,o,n,k] = sum over m of scores[b,n,k,m] * (points[b,kn,m,o] - centers[b,cn,m,o])
 *
 * | tensor  | shape         | dtype                   | layout |
 * |---------|---------------|-------------------------|--------|
 * | points  | [B, N0, M, O] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | centers | [B, N0, M, O] | that of points          | ARRAY  |
 * | scores  | [B, N1, K, M] | that of points          | ARRAY  |
 * | knn_idx | [B, N1, K]    | INT32                   | ARRAY  |
 * | output  | [B, O, N1, K] | that of points          | ARRAY  |
 *
 * Units: knn_idx numbers the points of its batch, 0 to N0 - 1. mmcv has int64 there, and an argument `aggregate`
 *   without effect.
 * Outputs: the call writes every element of output; the caller need not initialize it. NaN and infinity propagate.
 *   If output has no elements, no data are read: pointers may be null, and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   differences, products and sums are rounded in fp32, in the order of m, starting at +0: the bits of the serial
 *   loop of the definition; for HALF and BFLOAT16 rounded once at the end, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      N0 is 0 and knn_idx has elements; an index is outside [0, N0 - 1]: the message names the first
 *                  such element, [batch, center, neighbor], and its value
 *
 * Definition: mmcv assign_score_withk_forward, which skips the rest of a thread's work at an index out of range;
 *   PAConv, arXiv:2103.14635. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpAssignScoreWithkForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc, const void* points,
    const mluOpTensorDescriptor_t centers_desc, const void* centers, const mluOpTensorDescriptor_t scores_desc,
    const void* scores, const mluOpTensorDescriptor_t knn_idx_desc, const void* knn_idx,
    const mluOpTensorDescriptor_t output_desc, void* output);

/* Assign score with k, backward (PAConv): the gradients of mluOpOmpAssignScoreWithkForward.
 *
 *   grad_points[b,i,m,o]  =  sum over the n and k with kn = i of scores[b,n,k,m] * grad_output[b,o,n,k]
 *   grad_centers[b,i,m,o] = -sum over the n and k with cn = i of scores[b,n,k,m] * grad_output[b,o,n,k]
 *   grad_scores[b,n,k,m]  =  sum over o of grad_output[b,o,n,k] * (points[b,kn,m,o] - centers[b,cn,m,o])
 *
 * | tensor                                 | shape         | dtype                   | layout |
 * |----------------------------------------|---------------|-------------------------|--------|
 * | grad_output                            | [B, O, N1, K] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | points, centers, scores                | as forward    | that of grad_output     | ARRAY  |
 * | knn_idx                                | [B, N1, K]    | INT32                   | ARRAY  |
 * | grad_points, grad_centers, grad_scores | as forward    | that of grad_output     | ARRAY  |
 *
 * Units: those of the forward operator.
 * Outputs: the call writes every element of the three gradients; the caller need not initialize them. A point that
 *   no neighbor or center names has the gradient +0. NaN and infinity propagate. If they have no elements, no data
 *   are read: pointers may be null, and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   each operation is rounded in fp32, results of HALF and BFLOAT16 once at the end. Gradients of points and
 *   centers add in the order of n and k, starting at +0. Gradients of scores add channel o, ascending, to partial
 *   sum o mod 16; then sums 8 to 15 are added to sums 0 to 7, 4 to 7 to 0 to 3, 2 and 3 to 0 and 1, and 1 to 0.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps the gradients of a batch in fp32, 4 bytes an element of N1 K rows of O
 *   channels, padded to 16; 8 bytes for each index and center, and 16 for each point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      the rules of the forward operator
 *
 * Definition: mmcv assign_score_withk_backward, which adds to its outputs; PAConv, arXiv:2103.14635. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpAssignScoreWithkBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t points_desc, const void* points, const mluOpTensorDescriptor_t centers_desc,
    const void* centers, const mluOpTensorDescriptor_t scores_desc, const void* scores,
    const mluOpTensorDescriptor_t knn_idx_desc, const void* knn_idx,
    const mluOpTensorDescriptor_t grad_points_desc, void* grad_points,
    const mluOpTensorDescriptor_t grad_centers_desc, void* grad_centers,
    const mluOpTensorDescriptor_t grad_scores_desc, void* grad_scores);

/* Indice max pooling forward (SECOND): max pooling of a sparse tensor by its index pairs.
 *
 *   features_out[o,c] = max(0, features[i,c] of the pairs (i, o)): the maximum starts at 0, as in mmcv and spconv
 *
 * | tensor       | shape     | dtype                   | layout |
 * |--------------|-----------|-------------------------|--------|
 * | features     | [N, C]    | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | indice_pairs | [K, 2, N] | INT32                   | ARRAY  |
 * | features_out | [M, C]    | that of features        | ARRAY  |
 *
 * Units: indice_pairs[k,0,l] is the row of the input and indice_pairs[k,1,l] that of the output of pair l of
 *   offset k, for l below indice_num[k], as in mluOpIndiceConvolutionForward. indice_num has K numbers.
 * Outputs: the call writes every element of features_out; the caller need not initialize it. A row without a pair,
 *   and the maximum of numbers that are not positive, is +0. NaN is never selected. A pair with a negative index
 *   is skipped. If features_out has no elements, no data but indice_num are read: pointers may be null.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 8 bytes a row of the result and up to 20 a pair.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      indice_num is null, or one of its numbers is outside [0, N]; an index is not below the rows of
 *                  its tensor: the message names the first such element of indice_pairs and its value
 *   NOT_SUPPORTED  N, M or the number of pairs is 2^31 or more
 *
 * Definition: mmcv indice_maxpool_forward; SECOND, Sensors 2018, 18(10), 3337. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpIndiceMaxpoolForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const mluOpTensorDescriptor_t features_out_desc, void* features_out);

/* Indice max pooling backward (SECOND): the gradient of mluOpOmpIndiceMaxpoolForward. Every input that is equal to
 * its output receives the gradient of that output.
 *
 *   input_grad[i,c] = sum over the pairs (i, o) with features[i,c] = features_out[o,c] of output_grad[o,c]
 *
 * | tensor       | shape     | dtype                   | layout |
 * |--------------|-----------|-------------------------|--------|
 * | features     | [N, C]    | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | features_out | [M, C]    | that of features        | ARRAY  |
 * | output_grad  | [M, C]    | that of features        | ARRAY  |
 * | indice_pairs | [K, 2, N] | INT32                   | ARRAY  |
 * | input_grad   | [N, C]    | that of features        | ARRAY  |
 *
 * Units: those of the forward operator.
 * Outputs: the call writes every element of input_grad; the caller need not initialize it. Equal maxima receive
 *   the full gradient each, and so does an input of 0 whose output is 0. An element that is no maximum has the
 *   gradient +0. A pair with a negative index is skipped. If input_grad has no elements, no data but indice_num
 *   are read: pointers may be null.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   sums are rounded in fp32, in the order of offsets and pairs, starting at +0: for FLOAT the bits of the serial
 *   loop, for HALF and BFLOAT16 these sums rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: that of the forward operator.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM, NOT_SUPPORTED  as the forward operator
 *
 * Definition: mmcv indice_maxpool_backward; SECOND, Sensors 2018, 18(10), 3337. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpIndiceMaxpoolBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t features_out_desc, const void* features_out,
    const mluOpTensorDescriptor_t output_grad_desc, const void* output_grad,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const mluOpTensorDescriptor_t input_grad_desc, void* input_grad);

/* k nearest neighbors (mmcv knn): the k points nearest to each center.
 *
 *   d(m,n) = ((cx - px)^2 + (cy - py)^2) + (cz - pz)^2 of the center m and the point n of a batch
 *   dist2[b,m,0..k-1] = the k least d(m,n) that are less than 1e10, ascending: the squares of the distances
 *   idx[b,m,0..k-1]   = their n
 *   Equal distances have the order in which mmcv's heap leaves them: a binary heap of k entries (1e10, 0), whose
 *   largest is the root. Each point, in ascending order, whose distance is less than that of the root replaces it.
 *   The root moves down: it is exchanged with the larger child, of equal ones the left, until it is larger than
 *   both; with an equal one, too. At the end, from the last place to the second, the root is exchanged with the
 *   entry of the place, and the new root moves down in the places before.
 *
 * | tensor  | shape     | dtype | layout |
 * |---------|-----------|-------|--------|
 * | xyz     | [B, N, 3] | FLOAT | any    |
 * | new_xyz | [B, M, 3] | FLOAT | any    |
 * | idx     | [B, M, k] | INT32 | any    |
 * | dist2   | [B, M, k] | FLOAT | any    |
 *
 * Units: coordinates are x, y, z; dist2 is in their unit squared. mmcv's knn returns idx as [B, k, M].
 * Outputs: the call writes every element of idx and dist2; the caller need not initialize them. A distance that is
 *   NaN, or 1e10 or more, is none: where fewer than k points are left, the other elements are 1e10 in dist2 and
 *   0 in idx. With N = 0 all elements are; xyz and workspace may be null. With B = 0 or M = 0 there are none: all
 *   data may be null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set. Each difference, square and sum is rounded to fp32, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 12 bytes a point. The handle
 *   keeps up to 36 bytes a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      k is not from 1 to 100; workspace_size is less than the query returns, or workspace is
 *                  null although that is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: points are numbered by int32
 *
 * Definition: mmcv knn; DGCNN, arXiv:1801.07829; PAConv, arXiv:2103.14635. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpKnn(mluOpHandle_t handle, const int k, const mluOpTensorDescriptor_t xyz_desc,
                                        const void* xyz, const mluOpTensorDescriptor_t new_xyz_desc,
                                        const void* new_xyz, void* workspace, size_t workspace_size,
                                        const mluOpTensorDescriptor_t idx_desc, void* idx,
                                        const mluOpTensorDescriptor_t dist2_desc, void* dist2);

/* Writes the bytes of workspace that mluOpOmpKnn needs for xyz_desc [B, N, 3] and new_xyz_desc [B, M, 3]; 0 if one
 * of both is empty.
 * Returns BAD_PARAM if an argument is null, k is not from 1 to 100, or a descriptor is not as the operator
 * requires; NOT_SUPPORTED if N is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetKnnWorkspaceSize(mluOpHandle_t handle, const int k,
                                                        const mluOpTensorDescriptor_t xyz_desc,
                                                        const mluOpTensorDescriptor_t new_xyz_desc,
                                                        size_t* workspace_size);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* MLU_OP_OMP_H_ */
