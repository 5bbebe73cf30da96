/*
 * mlu_op_omp.h: functions of mluop-omp beyond the MLU-OPS API. Valid C99 and C++17.
 */
#ifndef MLU_OP_OMP_H_
#define MLU_OP_OMP_H_

#include "mlu_op.h"

/* The version of mluop-omp. mlu_op.h has the version of the MLU-OPS API. */
#define MLUOP_OMP_VERSION_MAJOR 0
#define MLUOP_OMP_VERSION_MINOR 2
#define MLUOP_OMP_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Writes the version of the mluop-omp library, which may differ from the version of this header. Null pointers are
 * skipped. */
void MLUOP_WIN_API mluOpOmpGetVersion(int* major, int* minor, int* patch);

/* Returns the instruction set that kernels run on, such as "AVX-512", "AVX2" or "NEON": the best available one,
 * limited by MLUOP_OMP_SIMD. The text is static and must not be freed. */
const char* MLUOP_WIN_API mluOpOmpGetInstructionSet(void);

/* Returns the compiler that compiled the library, such as "GCC 12.2" or "clang 19.1.7", as mmcv's
 * get_compiler_version does. The text is static and must not be freed. */
const char* MLUOP_WIN_API mluOpOmpGetCompiler(void);

/* ---------------------------------------------------------------------------------------------------
 * Algorithm
 * ------------------------------------------------------------------------------------------------ */

/* How operators compute. Both algorithms give the result of the operator's definition. */
typedef enum {
  MLUOP_OMP_ALGORITHM_NATIVE = 0, /* default: this backend's own algorithm: deterministic (the same bits in every
                                     run and at every thread count) and fast. Uses as many tasks as pay off, up to
                                     OMP_NUM_THREADS, on at most as many threads as there are processors. */
  MLUOP_OMP_ALGORITHM_DEVICE = 1  /* the algorithm of the design document: exactly OMP_NUM_THREADS tasks, each on
                                     its own thread unless MLUOP_OMP_MAX_THREADS is set; the document's split,
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

/* Frees the memory that the handle keeps between calls: NRAM, internal workspace and statistics. Settings are
 * kept. The next operator allocates again, with the same results.
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
  int threads;     /* threads that ran the tasks */
  double start_us; /* since the call began */
  double duration_us;
} mluOpOmpLaunchStatistics_t;

/* A task of a launch. Tiles, bytes, atomics and NRAM are counted by the device algorithm; they are 0 in native
 * launches, except nram_bytes. Where tasks claim chunks of work items dynamically, the work items of a task need
 * not be consecutive. */
typedef struct {
  int64_t first_item; /* the work items [first_item, first_item + item_count) */
  int64_t item_count;
  int64_t tiles;           /* tiles that the task processed */
  int64_t bytes_loaded;    /* GDRAM to NRAM */
  int64_t bytes_stored;    /* NRAM to GDRAM, without atomics */
  int64_t atomics;         /* atomic rows or elements */
  int64_t atomic_elements; /* elements that the atomics updated */
  int64_t contended;       /* atomics that waited for a lock */
  int64_t nram_bytes;      /* peak NRAM of the task */
  int thread;              /* thread that ran the task */
  double start_us;         /* since the call began */
  double duration_us;
  double longest_chunk_us; /* duration of the task's longest chunk; 0 if work items were divided statically */
} mluOpOmpTaskStatistics_t;

/* Enables (1) or disables (0, default) the statistics of a handle. Disabled statistics cost one branch per launch.
 * Returns BAD_PARAM if handle is null or enabled is neither 0 nor 1. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpSetStatistics(mluOpHandle_t handle, int enabled);

/* Writes the number of launches of the last operator call; 0 if the statistics were disabled.
 * Returns BAD_PARAM if handle or count is null. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetLaunchCount(mluOpHandle_t handle, int* count);

/* Writes the statistics of launch `launch` (0, 1, ...) of the last operator call, or of its task `task`.
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
 * "" if no call has failed. Successful calls do not clear it. At most 1023 characters; never null; valid until the
 * thread's next failed call or its end. */
const char* MLUOP_WIN_API mluOpOmpGetLastError(void);

/* Sets the log level of this process: "debug", "info", "warn", "error" (initially) or "off". MLUOP_LOG_LEVEL takes
 * precedence. Programs that report errors themselves can thus silence the log, and their users can still enable
 * it.
 * Returns BAD_PARAM if level is null or not one of these. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpSetDefaultLogLevel(const char* level);

/* ---------------------------------------------------------------------------------------------------
 * Comparison of tensors
 *
 * mluOpOmpCompare compares a tensor found, e, with the expected tensor, b, of the same shape, in any two real data
 * types. It computes figures of accuracy, the worst elements, and how the wrong elements are distributed. Numbers
 * are compared in double; INT64 and UINT64 by exact differences (sums: in double): an INT64 and a UINT64 differ
 * even if both convert to the same double. Figures that depend on a data type (bits, representable values,
 * subnormal numbers) use the type of e, to which b is rounded to nearest even; integers saturate.
 *
 * Sums of magnitudes and squares have relative errors below 1e-11; counts and maxima are exact. Results have the
 * same bits at every thread count and on every instruction set. Like pairs (two NaN, two infinities of one sign)
 * have no error; any other pair with a NaN or an infinity is a special mismatch, whose error is infinite. Sums and
 * maxima exclude both.
 * ------------------------------------------------------------------------------------------------ */

typedef struct mluOpOmpComparisonStruct* mluOpOmpComparison_t;

typedef struct {
  double rtol, atol;       /* an element is wrong if !(|e - b| <= atol + rms_atol * rms + rtol |b|), or if it is a
                              special mismatch; finite, 0 or more */
  double rms_atol;         /* as rtol; rms: see mluOpOmpDifference_t, which also states the sum of both parts */
  int bits;                /* 1: an element is wrong if its bits differ, regardless of the tolerances */
  int nan_payloads;        /* 1: bits of two NaN differ if their signs or payloads do; 0: they are equal */
  double epsilon;          /* is added to the denominators of relative errors, diff1 and diff2; as rtol */
  int worst;               /* the wrong elements to keep, 0 to 1000; with 0, no pattern is searched */
  const char* const* axes; /* names of the dimensions in the pattern; null, or a null name: "index" */
} mluOpOmpCompareOptions_t;

/* rtol 1e-5, rms_atol 1e-8, worst 5; every other option is 0. */
mluOpOmpCompareOptions_t MLUOP_WIN_API mluOpOmpDefaultCompareOptions(void);

/* Number of entries of ulp_histogram. */
#define MLUOP_OMP_ULP_BUCKETS 35

typedef struct {
  int64_t elements;
  int64_t differing; /* elements whose bits differ */
  int64_t wrong;
  int64_t above, below; /* e > b, e < b; without special mismatches */
  int64_t found_nan, expected_nan;
  int64_t found_inf, expected_inf;
  int64_t special_mismatches;
  int64_t overflowed; /* e infinite, b finite */
  int64_t flushed;    /* e is 0, b is not */
  double diff1;       /* sum |e - b| / sum |b| */
  double diff2;       /* sqrt(sum (e - b)^2 / sum b^2) */
  /* Maximum of |e - b| / |b| where |b| exceeds a threshold, and of |e - b| elsewhere. The threshold is 1e-4 if e
   * is HALF, else 1e-6. */
  double diff3_relative, diff3_absolute;
  double max_relative, max_absolute; /* of |e - b| / |b|, and of |e - b|: diff3_1 and diff3_2 */
  double mean_magnitude;             /* of b */
  /* Root mean square of the finite nonzero elements of b, independent of e; 0 if there are none or rms_atol is
   * 0. */
  double rms;
  /* atol + rms_atol * rms. rms is limited to 1 in tensors of 2 or 3 dimensions whose last dimension is 2 to 16: in
   * rows of a few numbers, such as boxes with a score, columns differ in magnitude. If rms is positive, the
   * product is at least the smallest positive number of either floating-point type. */
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

/* Compares two contiguous tensors and creates a comparison, which the caller destroys. null options stand for
 * mluOpOmpDefaultCompareOptions(). Empty tensors are equal: cosine and pcc are 1, atol is the option, other
 * figures are 0; data may be null.
 *
 * Ratios: 0 / 0 is 0, any other number over 0 is infinite. cosine and pcc: if both norms (variances) are 0, 1 if
 * no element is wrong, else 0; if one is 0, 0. factor: 1 if both norms are 0, 0 if one is. Where DOUBLE data
 * exceed 2^500 in magnitude, sums omit terms 2^1000 times smaller.
 *
 * Memory: about 1 KiB for each 65536 elements, of which the handle keeps half. The search for a pattern allocates
 *   up to 32 MiB, or up to 1/32 of the bytes of tensors beyond 1 GiB.
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

/* Writes up to `capacity` of the kept wrong elements, and their number, in descending order of absolute error;
 * ties: the lower index first.
 * Returns BAD_PARAM if comparison or count is null, capacity is negative, or elements is null although capacity is
 * not 0. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetWrongElements(mluOpOmpComparison_t comparison, int capacity,
                                                     mluOpOmpWrongElement_t* elements, int* count);

/* How the wrong elements are distributed, or what they have in common, in one line, such as
 *   "one channel: 3 of 16 (dim 3), 84 of its 84 elements";
 * "" if no element is wrong, the option `worst` was 0, or comparison is null. The statement holds for every wrong
 * element. Valid until the comparison is destroyed. */
const char* MLUOP_WIN_API mluOpOmpGetComparisonPattern(mluOpOmpComparison_t comparison);

/* ---------------------------------------------------------------------------------------------------
 * Operators that MLU-OPS lacks. They return the statuses of every operator; see "Operators" in mlu_op.h.
 * ------------------------------------------------------------------------------------------------ */

/* Voxel pooling backward (BEVDepth): the gradient of mluOpVoxelPoolingForward. Copies the gradient of each cell to
 * the points that were added to it; the gradient of all other points is 0.
 *
 *   grad_input_features[b,p,c] = grad_output_features[i,y,x,c] if pos_memo[b,p] = (i, y, x)
 *                              = 0                             if pos_memo[b,p] = (-1, -1, -1)
 *
 * | tensor               | shape        | dtype                        | layout |
 * |----------------------|--------------|------------------------------|--------|
 * | grad_output_features | [B, Y, X, C] | FLOAT, HALF or BFLOAT16      | ARRAY  |
 * | pos_memo             | [B, N, 3]    | INT32                        | ARRAY  |
 * | grad_input_features  | [B, N, C]    | as grad_output_features      | ARRAY  |
 *
 * Units: pos_memo is an output of mluOpVoxelPoolingForward, where i is b; any i from 0 to B - 1 is valid. B, N, C,
 *   X and Y are the batch_size, num_points, num_channels, num_voxel_x and num_voxel_y of that call.
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

/* BEV pool forward (BEVDet bev_pool_v2): voxel pooling of features weighted by depth, without materializing the
 * weighted points. A point names a weight, a row of features and a cell.
 *
 *   output[m,c] = sum over the points p with ranks_bev[p] = m of
 *                 depth[ranks_depth[p]] * features[ranks_feat[p],c]
 *
 * | tensor                             | shape  | dtype                   | layout |
 * |------------------------------------|--------|-------------------------|--------|
 * | depth                              | [D]    | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | features                           | [F, C] | as depth                | ARRAY  |
 * | ranks_depth, ranks_feat, ranks_bev | [P]    | INT32                   | ARRAY  |
 * | output                             | [M, C] | as depth                | ARRAY  |
 *
 * Units: ranks_depth indexes the elements of depth, ranks_feat the rows of features and ranks_bev the rows of
 *   output. In BEVDet these are the dense tensors depth [B, N, D, H, W], features [B, N, H, W, C] and output [B,
 *   Z, Y, X, C], and the points of a cell are consecutive; here points may be in any order, and each index may
 *   occur any number of times.
 * Outputs: the call writes every element of output; the caller need not initialize it. A cell without points is
 *   +0. A point with ranks_bev -1 is skipped: its other indices may have any value. NaN and infinity propagate. If
 *   output has no elements, no data are read: pointers may be null, and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   products and sums are rounded in fp32, in the order of points, starting at +0: FLOAT is bit-identical to the
 *   serial loop; HALF and BFLOAT16 are its sums, rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 8 bytes a row of output and up to 28 a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      an index of a point that is not skipped is out of range: the message names the first such point
 *                  and its value
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
 * | depth, grad_depth                  | [D]    | as grad_output          | ARRAY  |
 * | features, grad_features            | [F, C] | as grad_output          | ARRAY  |
 * | ranks_depth, ranks_feat, ranks_bev | [P]    | INT32                   | ARRAY  |
 *
 * Units: as the forward operator.
 * Outputs: the call writes every element of both gradients; the caller need not initialize them. Elements and rows
 *   that no point names have the gradient +0. A point with ranks_bev -1 is skipped. NaN and infinity propagate. If
 *   both gradients have no elements, no data are read: pointers may be null, and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   each operation is rounded in fp32; HALF and BFLOAT16 results are rounded once, at the end. Both gradients add
 *   the points in order, starting at +0. The sum over channels adds channel c, ascending, to partial sum c mod 16;
 *   then sums 8 to 15 are added to sums 0 to 7, 4 to 7 to 0 to 3, 2 and 3 to 0 and 1, and 1 to 0.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 8 bytes a row of features and up to 32 a point; for HALF and BFLOAT16
 *   also 4 bytes an element of depth.
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

/* IoU of quadrilaterals (mmcv box_iou_quadri): the overlap of each pair of quadrilaterals in a plane.
 *
 *   A box (x1, y1, ..., x4, y4) is the quadrilateral with these corners, in either direction, convex or not.
 *   area(A) = half of the absolute value of the signed area of its corners
 *   I(A, B) = the area of the intersection of both quadrilaterals, at most area(A) and area(B)
 *   of(A, B) = I / (area(A) + area(B) - I) if mode is 0: intersection over union
 *            = I / area(A)                 if mode is 1: intersection over foreground
 *   ious[n,m] = of(bbox1[n], bbox2[m]), or, if aligned, ious[n] = of(bbox1[n], bbox2[n])
 *
 * | tensor | shape                       | dtype | layout |
 * |--------|-----------------------------|-------|--------|
 * | bbox1  | [N, 8]: x1, y1, ..., x4, y4 | FLOAT | any    |
 * | bbox2  | [M, 8]; aligned [N, 8]      | FLOAT | any    |
 * | ious   | [N, M]; aligned [N]         | FLOAT | any    |
 *
 * Units: all coordinates share one unit.
 * Outputs: the call writes every element of ious; the caller need not initialize them. An element is 0 if the area
 *   of either box is less than 1e-14; else NaN if a number of either box is NaN or infinite. A quadrilateral whose
 *   sides cross has an overlap from 0 to 1 that is not specified further.
 *   If N or M is 0, ious has no elements: data may be null. With zero boxes, the column count of bbox1 or bbox2 is
 *   unchecked.
 * Determinism: the result is the same at every thread count, in every run and on every instruction set. It is
 *   computed in double, relative to a corner of the smaller quadrilateral, and rounded once. mmcv's kernels assume
 *   rectangles: for random convex quadrilaterals, 72 % of their IoUs are wrong by more than 1e-3. mmcv's values
 *   depend on the corner with which a box begins.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 100 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      mode is neither 0 nor 1
 *   NOT_SUPPORTED  N or M is 2^31 or more
 *
 * Definition: the intersection of simple polygons; mmcv box_iou_quadri. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpBoxIouQuadri(mluOpHandle_t handle, const int mode, const bool aligned,
                                                 const mluOpTensorDescriptor_t bbox1_desc, const void* bbox1,
                                                 const mluOpTensorDescriptor_t bbox2_desc, const void* bbox2,
                                                 const mluOpTensorDescriptor_t ious_desc, void* ious);

/* IoU of convex hulls of point sets and quadrilaterals (mmcv convex_iou).
 *
 *   A row of pointsets is x1, y1, ..., x9, y9: nine points in any order; the IoU is computed with their convex
 *   hull. A row of polygons is x1, y1, ..., x4, y4: the corners of a quadrilateral, in either direction, convex or
 *   not.
 *   I(A, B) = the area of the intersection of hull A and quadrilateral B, at most area(A) and area(B)
 *   ious[n,k] = I / (area(A) + area(B) - I) of hull n and quadrilateral k
 *
 * | tensor    | shape   | dtype | layout |
 * |-----------|---------|-------|--------|
 * | pointsets | [N, 18] | FLOAT | any    |
 * | polygons  | [K, 8]  | FLOAT | any    |
 * | ious      | [N, K]  | FLOAT | any    |
 *
 * Units: all coordinates share one unit.
 * Outputs: the call writes every element of ious; the caller need not initialize them. An element is 0 if the area
 *   of the hull or of the quadrilateral is less than 1e-14; else NaN if a number of either is NaN or infinite. A
 *   quadrilateral whose sides cross has an IoU from 0 to 1 that is not specified further. If N or K is 0, data may
 *   be null.
 * Determinism: the result is the same at every thread count, in every run and on every instruction set. It is
 *   computed in double, relative to a corner of the hull, and rounded once. mmcv's kernel adds areas of triangles
 *   that begin at the origin, and treats numbers up to 1e-8 as 0: for equal squares with a side of 1e-4 at the
 *   origin, it returns an IoU of 0; this operator returns 1.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 300 bytes a point set, 100 bytes a quadrilateral.
 *
 * Returns, in addition to the statuses of every operator:
 *   NOT_SUPPORTED  N or K is 2^31 or more
 *
 * Definition: the intersection of simple polygons; mmcv convex_iou. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpConvexIou(mluOpHandle_t handle, const mluOpTensorDescriptor_t pointsets_desc,
                                              const void* pointsets, const mluOpTensorDescriptor_t polygons_desc,
                                              const void* polygons, const mluOpTensorDescriptor_t ious_desc,
                                              void* ious);

/* Generalized IoU of convex hulls of point sets and quadrilaterals, and its gradient (mmcv convex_giou).
 *
 *   Row n of pointsets and of polygons is a pair, as in mluOpOmpConvexIou. With the areas A of the hull, B of the
 *   quadrilateral, I of their intersection, C of the hull of both, and U = A + B - I:
 *     output[n,18]   = I / U - (C - U) / C
 *     output[n,0:18] = the derivatives of this number for the coordinates of the points
 *   Points that are not corners of the hull have derivatives of 0. Among equal points, the one with the lowest
 *   index has the derivatives. Where the borders coincide, the derivatives are not unique. The operator makes
 *   mmcv's choice: I is the sum, over pairs of a side of the hull and a side of the quadrilateral, of the signed
 *   area that the triangles of both sides with the origin share. Cross products and differences of 1e-8 or less
 *   count as 0. These derivatives depend on where the origin is.
 *
 * | tensor    | shape   | dtype | layout |
 * |-----------|---------|-------|--------|
 * | pointsets | [N, 18] | FLOAT | any    |
 * | polygons  | [N, 8]  | FLOAT | any    |
 * | output    | [N, 19] | FLOAT | any    |
 *
 * Units: all coordinates share one unit; the epsilon of 1e-8 is in this unit.
 * Outputs: the call writes every element; the caller need not initialize them. A row with a NaN or infinite input
 *   has derivatives of 0 and a GIoU of NaN. With a hull of area 0, the GIoU is U / C - 1, or NaN if the
 *   quadrilateral has area 0 too. Concave quadrilaterals, and quadrilaterals whose sides cross, have a GIoU that
 *   is not specified further.
 *   N = 0: data may be null.
 * Determinism: the result is the same at every thread count, in every run and on every instruction set. It is
 *   computed in double and rounded once.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns the statuses of every operator.
 *
 * Definition: arXiv:1902.09630 (GIoU); mmcv convex_giou. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpConvexGiou(mluOpHandle_t handle, const mluOpTensorDescriptor_t pointsets_desc,
                                               const void* pointsets, const mluOpTensorDescriptor_t polygons_desc,
                                               const void* polygons, const mluOpTensorDescriptor_t output_desc,
                                               void* output);

/* The rectangle of the smallest area around each point set (mmcv min_area_polygons).
 *
 *   A row of pointsets is x1, y1, ..., x9, y9: nine points in any order. The smallest rectangle has a side along a
 *   side of their convex hull. The sides of the hull are tried counter-clockwise, beginning at its corner with the
 *   lowest y and, among several, the lowest x. For each, (u, v) is its unit direction, turned by right angles
 *   until u > 0 and v >= 0, and the rectangle has the extent of the points along (u, v) and (-v, u). A later
 *   rectangle replaces an earlier one only if its area is less than 1 - 1e-6 times the earlier area.
 *   polygons[n] = the corners with the coordinates (max, min), (min, min), (min, max), (max, max) along (u, v) and
 *                 (-v, u)
 *
 * | tensor    | shape   | dtype | layout |
 * |-----------|---------|-------|--------|
 * | pointsets | [N, 18] | FLOAT | any    |
 * | polygons  | [N, 8]  | FLOAT | any    |
 *
 * Units: as pointsets.
 * Outputs: the call writes every element; the caller need not initialize them. Nine equal points give this point
 *   four times; points on a line give a rectangle of width 0. A row with a NaN or infinite number gives NaN. N =
 *   0: data may be null.
 * Determinism: the result is the same at every thread count, in every run and on every instruction set. It is
 *   computed in double, relative to a corner of the hull, and rounded once. mmcv's CUDA kernel computes angles in
 *   fp32: for 2.5 % of random point sets it returns another rectangle of nearly the same area, and for some its
 *   search for the hull does not end.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns the statuses of every operator.
 *
 * Definition: mmcv min_area_polygons. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpMinAreaPolygons(mluOpHandle_t handle,
                                                    const mluOpTensorDescriptor_t pointsets_desc,
                                                    const void* pointsets,
                                                    const mluOpTensorDescriptor_t polygons_desc, void* polygons);

/* Points in quadrilaterals (mmcv points_in_polygons).
 *
 *   A point is (x, y); a polygon is x_0, y_0, ..., x_3, y_3. Side i joins the corners i and i - 1; side 0 joins
 *   the corners 0 and 3. The sides are visited in the order 0, 1, 2, 3. A side is skipped if y is above both its
 *   ends or below both. If the point equals an end, the loop over the sides ends. If exactly one end is below y,
 *   the side meets the horizontal line through the point at
 *     c = x_i + (y - y_i) (x_(i-1) - x_i) / (y_(i-1) - y_i),
 *   the product computed before the quotient. If c equals x, the loop ends; if c is greater, the side is counted.
 *   output[b,m] = 1 if the number of counted sides is odd, otherwise 0
 *   A point on the border is inside or outside depending on the corner with which the polygon begins.
 *
 * | tensor   | shape  | dtype | layout |
 * |----------|--------|-------|--------|
 * | points   | [B, 2] | FLOAT | any    |
 * | polygons | [M, 8] | FLOAT | any    |
 * | output   | [B, M] | FLOAT | any    |
 *
 * Units: all coordinates share one unit.
 * Outputs: the call writes every element; the caller need not initialize them. A point with NaN is in no polygon.
 *   If B or M is 0, data may be null.
 * Determinism: the result is exact: mmcv's CUDA kernel computes the same numbers.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 32 bytes a polygon.
 *
 * Returns the statuses of every operator.
 *
 * Definition: mmcv points_in_polygons. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpPointsInPolygons(mluOpHandle_t handle,
                                                     const mluOpTensorDescriptor_t points_desc, const void* points,
                                                     const mluOpTensorDescriptor_t polygons_desc,
                                                     const void* polygons,
                                                     const mluOpTensorDescriptor_t output_desc, void* output);

/* Contour expansion (mmcv contour_expand, PSENet): labels the pixels of a mask with the text kernel that reaches
 * them first, breadth first.
 *
 *   A label from 1 to kernel_num is a kernel if at least min_kernel_area pixels have it. All pixels of kernels
 *   are put into a queue in row order. The first pixel of the queue is removed: each of its neighbors up, down,
 *   left and right, in this order, that has no label and whose kernel_mask[0] is not 0 gets its label and is
 *   appended to the queue. This repeats until the queue is empty.
 *   output[h,w] = the label of the pixel; 0 without one
 *   Only the first mask is read, as in mmcv: PSENet expands into the masks K - 2 to 0, one after the other, but
 *   mmcv's code reads mask 0 in each round. With K below 2, nothing is expanded.
 *
 * | tensor                | shape     | dtype | layout |
 * |-----------------------|-----------|-------|--------|
 * | kernel_mask           | [K, H, W] | UINT8 | any    |
 * | internal_kernel_label | [H, W]    | INT32 | any    |
 * | output                | [H, W]    | INT32 | any    |
 *
 * Units: areas are numbers of pixels.
 * Outputs: the call writes every element; the caller need not initialize them. Ties: of kernels at equal
 *   distances, the one whose pixel comes first in the queue. Kernels keep pixels outside the mask. The pixels of
 *   a label that is too small count as pixels without label. If H or W is 0, data may be null.
 * Determinism: the result is exact: identical to mmcv's CPU code.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. The order of the queue decides, so one thread
 *   expands; several check the labels.
 * Memory: no workspace. The handle keeps about 12 bytes a pixel and 4 bytes a label.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      kernel_num is negative; an element of internal_kernel_label is negative or greater than
 *                  kernel_num (mmcv then writes outside its memory)
 *   NOT_SUPPORTED  kernel_num is greater than 2^24; (H + 2) (W + 2) is 2^31 or more
 *
 * Definition: mmcv contour_expand; PSENet, arXiv:1806.02559. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpContourExpand(mluOpHandle_t handle, const int min_kernel_area,
                                                  const int kernel_num,
                                                  const mluOpTensorDescriptor_t kernel_mask_desc,
                                                  const void* kernel_mask,
                                                  const mluOpTensorDescriptor_t internal_kernel_label_desc,
                                                  const void* internal_kernel_label,
                                                  const mluOpTensorDescriptor_t output_desc, void* output);

/* Pixel grouping (mmcv pixel_group, Pixel Aggregation Network): extends text kernels over the pixels of a mask
 * whose embedding is near the mean of the kernel, breadth first, and averages the scores of each region.
 *
 *   mean[l,c] = the mean of embedding[h,w,c] over the pixels whose kernel_label is l, for l > 0: the sum in row
 *     order divided by their number, in fp32
 *   d(l,h,w) = sum over c of (mean[l,c] - embedding[h,w,c])^2. The difference is rounded to fp32, each sum is
 *     computed in double and rounded to fp32; the sum ends early if it is at least distance_threshold^2, rounded
 *     to fp32.
 *   A pixel with kernel_label l > 0 has label l. Those whose kernel_contour is not 0 are put into a queue in row
 *   order. The first pixel of the queue is removed: each of its neighbors left, right, up and down, in this order,
 *   that has no label, whose mask is not 0 and for which d(l,h,w) is less than distance_threshold^2 gets its label
 *   l and is appended to the queue. This repeats until the queue is empty.
 *   text_label[h,w] = the label of the pixel; 0 without one
 *   region_pixels[l] = the number of pixels whose text_label is l; 0 for l = 0
 *   region_score[l] = the mean of their scores: the sum in row order divided by their number, in fp32; 0 without
 *     pixels
 *
 * | tensor         | shape     | dtype | layout |
 * |----------------|-----------|-------|--------|
 * | score          | [H, W]    | FLOAT | any    |
 * | mask           | [H, W]    | BOOL  | any    |
 * | embedding      | [H, W, C] | FLOAT | any    |
 * | kernel_label   | [H, W]    | INT32 | any    |
 * | kernel_contour | [H, W]    | UINT8 | any    |
 * | region_score   | [R]       | FLOAT | any    |
 * | region_pixels  | [R]       | INT32 | any    |
 * | text_label     | [H, W]    | INT32 | any    |
 *
 * Units: distance_threshold is in the unit of embedding.
 * Outputs: the call writes every element; the caller need not initialize them. mmcv's function returns for each
 *   label a list of region_score, region_pixels, and x and y of each pixel in row order; R is its
 *   kernel_region_num, which counts label 0. Labels of 0 and less are background; its pixels may be labeled.
 *   Ties: of kernels at equal distances, the one whose pixel comes first in the queue. A distance of NaN counts
 *   as less than the threshold, as does every distance if the threshold is NaN. If C is 0, no pixel is added to a
 *   kernel. If H or W is 0, region_score and region_pixels are 0 and the data of inputs may be null.
 * Determinism: the result is exact: identical to mmcv's CPU code. Divisors are sums of ones in fp32, so they end
 *   at 2^24.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. The order of the queue decides, so one thread
 *   groups; several check the labels.
 * Memory: no workspace. The handle keeps about 12 bytes a pixel, 4 bytes a label, and the means.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      a positive element of kernel_label is R or more (mmcv then writes outside its memory)
 *   NOT_SUPPORTED  (H + 2) (W + 2) is 2^31 or more
 *
 * Definition: mmcv pixel_group; PAN, arXiv:1908.05900. */
mluOpStatus_t MLUOP_WIN_API
mluOpOmpPixelGroup(mluOpHandle_t handle, const float distance_threshold, const mluOpTensorDescriptor_t score_desc,
                   const void* score, const mluOpTensorDescriptor_t mask_desc, const void* mask,
                   const mluOpTensorDescriptor_t embedding_desc, const void* embedding,
                   const mluOpTensorDescriptor_t kernel_label_desc, const void* kernel_label,
                   const mluOpTensorDescriptor_t kernel_contour_desc, const void* kernel_contour,
                   const mluOpTensorDescriptor_t region_score_desc, void* region_score,
                   const mluOpTensorDescriptor_t region_pixels_desc, void* region_pixels,
                   const mluOpTensorDescriptor_t text_label_desc, void* text_label);

/* NMS of quadrilaterals (mmcv nms_quadri): keeps the higher-scoring of overlapping boxes.
 *
 *   Boxes are visited in descending order of score. A box is kept unless its IoU with a box kept earlier, as
 *   mluOpOmpBoxIouQuadri computes it with mode 0, is greater than iou_threshold.
 *   Ties: the lower index comes first. NaN sorts before all numbers.
 *   output[0 .. result_num[0] - 1] = the indices of the boxes that are kept, in this order
 *
 * | tensor     | shape                                              | dtype | layout |
 * |------------|----------------------------------------------------|-------|--------|
 * | boxes      | [N, 8]: x1, y1, ..., x4, y4; or [N, 9] with labels | FLOAT | any    |
 * | scores     | [N]                                                | FLOAT | any    |
 * | output     | [N]                                                | INT32 | any    |
 * | result_num | one number, without descriptor                     | INT32 |        |
 *
 * Units: as mluOpOmpBoxIouQuadri. Labels are not read: boxes of all classes suppress each other.
 * Outputs: the call writes every element: output is 0 from result_num[0] on. N = 0: result_num[0] is 0; data and
 *   workspace may be null, and dim 1 of boxes is unchecked.
 *   A box with a NaN or infinite number, or with an area less than 1e-14, suppresses no box and is kept, unless
 *   iou_threshold is negative: then an IoU of 0 suppresses too; NaN does not. If iou_threshold is NaN, no box is
 *   suppressed.
 * Determinism: the result is exact: identical to the serial definition at every thread count. mmcv's CPU kernel
 *   also suppresses if the IoU equals the threshold; its CUDA kernel does not.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 130 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      dim 1 of boxes is neither 8 nor 9; result_num is null; workspace_size is less than the query
 *                  returns, or workspace is null although the size is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: boxes are numbered by int32
 *
 * Definition: mmcv nms_quadri. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpNmsQuadri(mluOpHandle_t handle, const float iou_threshold,
                                              const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                              const mluOpTensorDescriptor_t scores_desc, const void* scores,
                                              void* workspace, size_t workspace_size,
                                              const mluOpTensorDescriptor_t output_desc, void* output,
                                              int32_t* result_num);

/* Writes the bytes of workspace that mluOpOmpNmsQuadri needs for boxes_desc [N, 8] or [N, 9]; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null or boxes_desc is not as the operator requires; NOT_SUPPORTED if N is
 * 2^31 or more or the tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetNmsQuadriWorkspaceSize(mluOpHandle_t handle,
                                                              const mluOpTensorDescriptor_t boxes_desc,
                                                              size_t* workspace_size);

/* Bird's-eye overlap of 3-D boxes (mmcv iou3d, OpenPCDet iou3d_nms): the area that each pair of boxes shares in
 * the ground plane.
 *
 *   A box (x, y, z, dx, dy, dz, yaw) covers the rectangle with center (x, y) and sides dx and dy, turned by yaw.
 *   overlaps[n,m] = the area of the intersection of boxes_a[n] and boxes_b[m], computed in fp32 as mmcv's kernel
 *     does: the area of the polygon whose vertices are the crossings of the edges and the corners of each box
 *     inside the other box enlarged by 0.01 on each side, ordered by angle about their mean
 *
 * | tensor   | shape  | dtype | layout |
 * |----------|--------|-------|--------|
 * | boxes_a  | [N, 7] | FLOAT | any    |
 * | boxes_b  | [M, 7] | FLOAT | any    |
 * | overlaps | [N, M] | FLOAT | any    |
 *
 * Units: x, y, dx and dy are in meters, as is the margin 0.01; yaw is in radians, from the x axis to the y axis. z
 *   and dz are not read.
 * Outputs: the call writes every element; the caller need not initialize them. Boxes less than 0.01 apart have a
 *   small overlap, and at coordinates beyond 1000 errors exceed 0.001: detectors are trained with this definition.
 *   mluOpBoxIouRotated computes the exact intersection. If N or M is 0, overlaps has no elements; data may be
 *   null. A box with NaN, an infinite center or yaw, or a non-positive dx or dy has overlap 0 (for some
 *   non-positive sides mmcv's kernel computes an area, which leads to IoUs of 1e8). A box with an infinite side
 *   contains corners like any other box; overlaps that overflow are infinite or NaN.
 * Determinism: the result is exact: identical to the serial loop of the definition at every thread count and on
 *   every instruction set. Products are rounded before they are added; sine and cosine are computed in double and
 *   rounded. CUDA compilers fuse products and additions, so the last bits differ.
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

/* NMS of 3-D boxes without yaw (mmcv nms3d_normal): keeps the earlier of boxes whose rectangles in the ground
 * plane overlap. mluOpNms with boxes of 7 numbers takes yaw into account.
 *
 *   A box (x, y, z, dx, dy, dz, yaw) covers the rectangle from (x - dx / 2, y - dy / 2) to
 *   (x + dx / 2, y + dy / 2).
 *   Boxes must be in descending order of score and are visited in ascending order of index. A box is kept unless
 *   its IoU with a box kept earlier is greater than iou_threshold. IoU = I / max(dx dy of one + dx dy of the other
 *   - I, 1e-8) in fp32, each operation rounded, where I is the area shared by both rectangles.
 *   output[0 .. result_num[0] - 1] = the indices of the boxes that are kept, ascending
 *
 * | tensor     | shape                          | dtype | layout |
 * |------------|--------------------------------|-------|--------|
 * | boxes      | [N, 7], by descending score    | FLOAT | any    |
 * | output     | [N]                            | INT32 | any    |
 * | result_num | one number, without descriptor | INT32 |        |
 *
 * Units: x, y, dx and dy share one unit. z, dz and yaw are not read.
 * Outputs: the call writes every element: output is 0 from result_num[0] on. N = 0: result_num[0] is 0; data and
 *   workspace may be null. A box overlaps no other box if dx or dy is not positive, or if a corner or the area is
 *   NaN or infinite. If iou_threshold is negative, an IoU of 0 suppresses too. If it is NaN, no box is suppressed.
 * Determinism: the result is exact: identical to the serial definition at every thread count and on every
 *   instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 37 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      result_num is null; workspace_size is less than the query returns, or workspace is null
 *                  although the size is not 0
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
  MLUOP_OMP_SOFT_NMS_NAIVE = 0,   /* 0 if IoU >= iou_threshold */
  MLUOP_OMP_SOFT_NMS_LINEAR = 1,  /* times 1 - IoU if IoU >= iou_threshold */
  MLUOP_OMP_SOFT_NMS_GAUSSIAN = 2 /* times exp(-IoU^2 / sigma) */
} mluOpOmpSoftNmsMethod_t;

/* Soft NMS (mmcv softnms): chooses the box with the highest score, decays the scores of the boxes that overlap it,
 * drops boxes whose score falls below min_score, and repeats with the remaining boxes.
 *
 *   area(a) = (x2 - x1 + offset) (y2 - y1 + offset); 0 if either factor is 0 or less: the box is empty
 *   I(a, b) = max(0, min(x2_a, x2_b) - max(x1_a, x1_b) + offset) max(0, the same of y)
 *   IoU(a, b) = I / (area(a) + area(b) - I); 0 for two empty boxes, where mmcv divides 0 by 0
 *   Step k chooses the first box with the highest score. It becomes row k of the outputs, and the first remaining
 *   box takes its place. Then the score of each remaining box b is multiplied by
 *     naive:    0 if IoU(chosen, b) >= iou_threshold, else 1
 *     linear:   1 - IoU(chosen, b) if IoU(chosen, b) >= iou_threshold, else 1
 *     gaussian: exp(-IoU(chosen, b)^2 / sigma)
 *   Finally the boxes are examined from first to last: a box whose score is less than min_score is dropped; the
 *   last box takes its place and is examined next.
 *
 * | tensor     | shape                                 | dtype | layout |
 * |------------|---------------------------------------|-------|--------|
 * | boxes      | [N, 4]: x1, y1, x2, y2                | FLOAT | any    |
 * | scores     | [N]                                   | FLOAT | any    |
 * | dets       | [N, 5]: x1, y1, x2, y2, decayed score | FLOAT | any    |
 * | inds       | [N]                                   | INT32 | any    |
 * | result_num | one number, without descriptor        | INT32 |        |
 *
 * Units: coordinates share one unit; offset is 1 if x2 and y2 are the last pixels inside a box, 0 if they are its
 * edges.
 * Outputs: the call writes every element. The first result_num[0] rows of dets and elements of inds are the boxes
 *   in the order in which they are chosen; the remaining elements are 0 (mmcv leaves the remaining rows of dets
 *   unchanged). The first box is chosen even if its score is less than min_score. N = 0: result_num[0] is 0; data
 *   and workspace may be null. Ties: the first box in the order that the moves above produce, which is not always
 *   the box with the lowest index. A box with a NaN score is never dropped; it is chosen once it is the first
 *   remaining box. A NaN IoU leaves a score unchanged, except in gaussian, where it makes the score NaN.
 * Determinism: the result is exact: identical to the serial loop of the definition in fp32 at every thread count
 *   and on every instruction set. exp is expf of the C library, as in mmcv, which gives the same bits except for
 *   empty boxes.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 28 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      method is not a valid enumerator; offset is neither 0 nor 1; result_num is null; workspace_size
 *                  is less than the query returns, or workspace is null although the size is not 0
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

/* NMS match (mmcv nms_match): groups boxes by the box that NMS keeps for them.
 *
 *   Boxes are visited in descending order of score. A box without a group starts one and takes every later box
 *   that has no group and whose IoU with it, computed as by mluOpOmpSoftNms with offset 0, is at least
 *   iou_threshold.
 *   Ties: the lower index comes first. NaN sorts before all numbers.
 *   members = the indices of the boxes, group by group, in this order
 *   group_sizes[0 .. group_num[0] - 1] = the number of boxes of each group
 *
 * | tensor      | shape                          | dtype | layout |
 * |-------------|--------------------------------|-------|--------|
 * | dets        | [N, 5]: x1, y1, x2, y2, score  | FLOAT | any    |
 * | members     | [N]                            | INT32 | any    |
 * | group_sizes | [N]                            | INT32 | any    |
 * | group_num   | one number, without descriptor | INT32 |        |
 *
 * Outputs: the call writes every element: group_sizes is 0 from group_num[0] on. Every box is in exactly one
 *   group, whose first member is the kept box. N = 0: group_num[0] is 0; data and workspace may be null. A NaN
 *   IoU, as of a box with NaN, is less than any threshold. If iou_threshold is NaN, each box is a group; if it is
 *   0 or less, boxes that do not overlap are grouped too, including empty boxes.
 * Determinism: the result is exact: identical to the serial definition in fp32 at every thread count and on every
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

/* Gather points forward (PointNet++): gathers the features of the indexed points. Computes gather_points (indices
 * [B, M]) and grouping_operation (indices [B, P, S]) of mmcv.
 *
 *   output[b,c,m] = features[b,c,indices[b,m]]
 *   output[b,c,p,s] = features[b,c,indices[b,p,s]]
 *
 * | tensor   | shape                     | dtype                   | layout |
 * |----------|---------------------------|-------------------------|--------|
 * | features | [B, C, N]                 | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | indices  | [B, M] or [B, P, S]       | INT32                   | ARRAY  |
 * | output   | [B, C, M] or [B, C, P, S] | as features             | ARRAY  |
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
 * output element to the gradient of the feature that it copies.
 *
 *   grad_features[b,c,n] = sum over the points m of batch b with indices[b,m] = n of grad_output[b,c,m]
 *                        = sum over the points p and samples s with indices[b,p,s] = n of grad_output[b,c,p,s]
 *
 * | tensor        | shape                     | dtype                   | layout |
 * |---------------|---------------------------|-------------------------|--------|
 * | grad_output   | [B, C, M] or [B, C, P, S] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | indices       | [B, M] or [B, P, S]       | INT32                   | ARRAY  |
 * | grad_features | [B, C, N]                 | as grad_output          | ARRAY  |
 *
 * Units: indices number the features of their batch, 0 to N - 1.
 * Outputs: the call writes every element of grad_features; the caller need not initialize it. A feature that no
 *   index names has the gradient +0. NaN and infinity propagate through the additions. If grad_features has no
 *   elements, no data are read: pointers may be null, and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   sums are rounded in fp32, in the order of the indices, starting at +0: FLOAT is bit-identical to the serial
 *   loop of the definition; HALF and BFLOAT16 are its sums, rounded once, to nearest even.
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

/* Furthest point sampling (PointNet++): chooses points one at a time, each the furthest from the points chosen
 * before.
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
 *   elements; data and workspace may be null.
 *   Ties go to the k with the least (bit-reversed k mod 1024, k / 1024), as in mmcv's kernel with 1024 threads;
 *   with fewer threads, which mmcv uses for N < 1024, its kernel chooses the same point. Once all distinct points
 *   are chosen, idx repeats: M may exceed N.
 *   A NaN distance is never less than another: a point with a non-finite coordinate stays at 1e10, and idx repeats
 *   once it is chosen. Points more than 1e5 apart tie.
 * Determinism: the result is exact: identical to the serial definition in fp32 at every thread count and on every
 *   instruction set. Squares are rounded before they are added. CUDA compilers fuse the two: among points at
 *   almost equal distances, mmcv's kernel may choose another point.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. Batches run in parallel; the points of a batch are
 * chosen serially.
 * Memory: a workspace, at any address, of the size that the query returns: about 37 bytes a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      N is 0 although B and M are not; workspace_size is less than the query returns, or workspace is
 *                  null although the size is not 0
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

/* Furthest point sampling by given distances (3DSSD): mluOpOmpFurthestPointSample with d2(k,l) = distances[b,l,k].
 *
 *   idx[b,0] = 0
 *   idx[b,j] = the k of the greatest min(1e10, distances[b, idx[b,0], k], ..., distances[b, idx[b,j-1], k])
 *
 * | tensor    | shape     | dtype | layout |
 * |-----------|-----------|-------|--------|
 * | distances | [B, N, N] | FLOAT | any    |
 * | idx       | [B, M]    | INT32 | any    |
 *
 * Units: distances have any unit, squared or not. The matrix need not be symmetric: only the rows of chosen points
 *   are read.
 * Outputs: the call writes every element; the caller need not initialize them. If B or M is 0, idx has no
 *   elements; data and workspace may be null. Ties are resolved as in mluOpOmpFurthestPointSample.
 *   A NaN distance is never less than another. If no minimum is greater than -1, point 0 is chosen.
 * Determinism: the result is exact: identical to the serial definition at every thread count and on every
 *   instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. Batches run in parallel; the points of a batch are
 * chosen serially.
 * Memory: a workspace, at any address, of the size that the query returns: about 4 bytes a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      N is 0 although B and M are not; workspace_size is less than the query returns, or workspace is
 *                  null although the size is not 0
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

/* Points in boxes, part (mmcv points_in_boxes_part): the first box that contains each point.
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
 *   axis to the y axis. mluOpPointsInBoxes applies another rule and takes points first.
 * Outputs: the call writes every element of indices; the caller need not initialize it. With T = 0 all elements
 *   are -1, and the data of boxes may be null; with B = 0 or M = 0 indices is empty, and all data may be null. A
 *   point with NaN in x or y is in no box. As in mmcv, a NaN z is within every height, and a NaN dz contains every
 *   z.
 * Determinism: the result is exact: identical to the serial definition at every thread count and on every
 *   instruction set, and to mmcv's CPU function. Differences, products and sums are rounded to fp32; sine and
 *   cosine are computed in double and rounded to fp32; comparisons with the half sides are in double. CUDA
 *   compilers fuse products and additions, so points on the faces may differ.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 50 bytes a box if a batch has 64 boxes or more.
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
 * Units: as mluOpOmpPointsInBoxesPart.
 * Outputs: the call writes every element of is_inside; the caller need not initialize it. If B, M or T is 0,
 *   is_inside is empty, and all data may be null. NaN is treated as in mluOpOmpPointsInBoxesPart.
 * Determinism: the result is exact, as in mluOpOmpPointsInBoxesPart.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 50 bytes a box if a batch has 64 boxes or more.
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
 *   Cloud b consists of the next new_xyz_batch_cnt[b] rows of new_xyz and xyz_batch_cnt[b] rows of xyz after cloud
 *   b - 1.
 *   d2(m,n) = ((cx - px)^2 + (cy - py)^2) + (cz - pz)^2 for the center m and the n-th point of its cloud
 *   The members of m are the n with d2(m,n) < max_radius^2.
 *   idx[m,i] = the i-th member of m, ascending; if there are fewer, the first member again
 *   idx[m] = -1, 0, 0, ... if there is none
 *
 * | tensor            | shape        | dtype                   | layout |
 * |-------------------|--------------|-------------------------|--------|
 * | new_xyz           | [M, 3]       | FLOAT, HALF or BFLOAT16 | any    |
 * | new_xyz_batch_cnt | [B]          | INT32                   | any    |
 * | xyz               | [N, 3]       | as new_xyz              | any    |
 * | xyz_batch_cnt     | [B]          | INT32                   | any    |
 * | idx               | [M, nsample] | INT32                   | any    |
 *
 * Units: coordinates are x, y, z; max_radius has the same unit. n counts the points of the cloud from 0.
 * Outputs: the call writes every element of idx; the caller need not initialize it. As in mmcv, a center without
 *   members has -1, which users mask before grouping. A NaN or infinite distance, including overflow, excludes the
 *   point; max_radius = 0 excludes all points, unlike in mluOpBallQuery. If M or nsample is 0, idx has no
 *   elements: all data may be null, and counts may have any value.
 * Determinism: the result is exact: the same at every thread count, in every run and on every instruction set.
 *   Each difference, square and sum is rounded to nearest even: for HALF to half, for FLOAT and BFLOAT16 to fp32.
 *   The square of the radius is rounded to fp32.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. Clouds are queried one at a time.
 * Memory: no workspace. The handle keeps up to 48 bytes a point of the largest cloud.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      max_radius is negative or NaN; nsample is negative or not dim 1 of idx; a count is negative, or
 *                  the counts of new_xyz or xyz do not add up to its rows
 *
 * Definition: mmcv stack_ball_query_forward, whose min_radius has no effect; PV-RCNN, arXiv:1912.13192. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpStackBallQuery(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t new_xyz_desc, const void* new_xyz,
    const mluOpTensorDescriptor_t new_xyz_batch_cnt_desc, const void* new_xyz_batch_cnt,
    const mluOpTensorDescriptor_t xyz_desc, const void* xyz, const mluOpTensorDescriptor_t xyz_batch_cnt_desc,
    const void* xyz_batch_cnt, const float max_radius, const int nsample, const mluOpTensorDescriptor_t idx_desc,
    void* idx);

/* Stack group points forward (PV-RCNN): gathers the features of the points in groups of stacked clouds, such as
 * the groups that mluOpOmpStackBallQuery finds. Computes grouping_operation of mmcv with counts.
 *
 *   Cloud b consists of the next features_batch_cnt[b] rows of features and indices_batch_cnt[b] groups after
 *   cloud b - 1. With first(b) = features_batch_cnt[0] + ... + features_batch_cnt[b-1], for each group m of cloud
 *   b:
 *   output[m,c,s] = features[first(b) + indices[m,s], c]
 *
 * | tensor             | shape     | dtype                   | layout |
 * |--------------------|-----------|-------------------------|--------|
 * | features           | [N, C]    | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | features_batch_cnt | [B]       | INT32                   | ARRAY  |
 * | indices            | [M, S]    | INT32                   | ARRAY  |
 * | indices_batch_cnt  | [B]       | INT32                   | ARRAY  |
 * | output             | [M, C, S] | as features             | ARRAY  |
 *
 * Units: indices number the features of their cloud from 0.
 * Outputs: the call writes every element of output; the caller need not initialize it. Elements are copied bit for
 *   bit, NaN with their payload. If output has no elements, no data are read: pointers may be null, and counts and
 *   indices may have any value.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 16 bytes a cloud.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      a count is negative; the counts of features or indices do not add up to its rows; a cloud with
 *                  indices has no features; an index is outside the features of its cloud (so is the -1 of
 *                  mluOpOmpStackBallQuery): the message names the first such element, [group, sample], and its
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
 * each sample to the gradient of the feature that it copies.
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
 * | grad_features      | [N, C]    | as grad_output          | ARRAY  |
 *
 * Units: indices number the features of their cloud from 0.
 * Outputs: the call writes every element of grad_features; the caller need not initialize it. A feature that no
 *   index names has the gradient +0. NaN and infinity propagate through the additions. If grad_features has no
 *   elements, no data are read: pointers may be null, and counts and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   sums are rounded in fp32, in the order of groups and, in a group, of samples, starting at +0: FLOAT is
 *   bit-identical to the serial loop of the definition; HALF and BFLOAT16 are its sums, rounded once, to nearest
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

/* Assign score with k, forward (PAConv): weights the features of M kernels by scores for each neighbor.
 *
 *   kn = knn_idx[b,n,k], cn = knn_idx[b,n,0]
 *   output[b,o,n,k] = sum over m of scores[b,n,k,m] * (points[b,kn,m,o] - centers[b,cn,m,o])
 *
 * | tensor  | shape         | dtype                   | layout |
 * |---------|---------------|-------------------------|--------|
 * | points  | [B, N0, M, O] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | centers | [B, N0, M, O] | as points               | ARRAY  |
 * | scores  | [B, N1, K, M] | as points               | ARRAY  |
 * | knn_idx | [B, N1, K]    | INT32                   | ARRAY  |
 * | output  | [B, O, N1, K] | as points               | ARRAY  |
 *
 * Units: knn_idx numbers the points of its batch, 0 to N0 - 1. mmcv uses int64, and takes an argument `aggregate`
 *   without effect.
 * Outputs: the call writes every element of output; the caller need not initialize it. NaN and infinity propagate.
 *   If output has no elements, no data are read: pointers may be null, and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   differences, products and sums are rounded in fp32, in the order of m, starting at +0: FLOAT is bit-identical
 *   to the serial loop of the definition; HALF and BFLOAT16 are its sums, rounded once, to nearest even.
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
 * | points, centers, scores                | as forward    | as grad_output          | ARRAY  |
 * | knn_idx                                | [B, N1, K]    | INT32                   | ARRAY  |
 * | grad_points, grad_centers, grad_scores | as forward    | as grad_output          | ARRAY  |
 *
 * Units: as the forward operator.
 * Outputs: the call writes every element of the three gradients; the caller need not initialize them. A point that
 *   no index names has the gradient +0. NaN and infinity propagate. If all gradients are empty, no data are read:
 *   pointers may be null, and indices may have any value.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   each operation is rounded in fp32; HALF and BFLOAT16 results are rounded once, at the end. The gradients of
 *   points and centers are summed in the order of n and k, starting at +0. The gradient of a score adds channel o,
 *   ascending, to partial sum o mod 16; then sums 8 to 15 are added to sums 0 to 7, 4 to 7 to 0 to 3, 2 and 3 to 0
 *   and 1, and 1 to 0.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps the gradients of a batch in fp32 (N1 K rows of O channels, padded to 16
 *   channels), 8 bytes for each index and center, and 16 bytes for each point.
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

/* RoI align of rotated RoIs with orientations, forward (ReDet): pools each channel as mluOpRoiAlignRotatedForward
 * with aligned = false does, then shifts the orientations of each group of channels by the angle of the RoI. Its
 * gradient is mluOpOmpRiroiAlignRotatedBackward.
 *
 *   pooled[r,p,q,c] = the mean of the samples of mluOpRoiAlignRotatedForward, with sample_ratio = num_samples
 *   With n = num_orientations, channel g n + o is orientation o of group g. t = theta n / (2 pi), in double;
 *   i = floor(t), l = t - i, rounded to fp32; a = (o - i) mod n, in [0, n); b = (a + 1) mod n
 *   output[r,p,q,g n + o] = (1 - l) pooled[r,p,q,g n + a] + l pooled[r,p,q,g n + b]
 *
 * | tensor   | shape                               | dtype                   | layout |
 * |----------|-------------------------------------|-------------------------|--------|
 * | features | [B, H, W, C]                        | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois     | [R, 6]                              | as features             | any    |
 * | output   | [R, pooled_height, pooled_width, C] | as features             | NHWC   |
 *
 * A RoI is (image, cx, cy, w, h, theta). `clockwise` negates theta of the samples, not of the orientations. The
 *   kernel of mmcv reads outside its tensor for theta below -2 pi; this function does not.
 * Outputs: the call writes every element; the caller need not initialize them. If R or C is 0, the data may be
 *   null. With an infinite or NaN theta, i is 0.
 * Determinism: sums are fp32 in the order of samples: the same bits at every thread count and on every instruction
 *   set. HALF and BFLOAT16, rois included, are computed in fp32 and rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 90 bytes a RoI.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      pooled_height, pooled_width or num_orientations is not positive; num_samples is negative;
 *                  spatial_scale is negative or NaN; C is not a multiple of num_orientations; the image of a RoI
 *                  does not exist; features has no pixels although R and C are positive
 *   NOT_SUPPORTED  H W is 2^31 or more: pixels are numbered by int32; num_samples exceeds 64
 *
 * Definition: mmcv riroi_align_rotated; ReDet, arXiv:2103.07733. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpRiroiAlignRotatedForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int num_samples, const int num_orientations, const bool clockwise,
    const mluOpTensorDescriptor_t output_desc, void* output);

/* RoI align of rotated RoIs with orientations, backward: the gradient of mluOpOmpRiroiAlignRotatedForward for
 * features.
 *
 *   mixed[r,p,q,g n + a] = the sum over the orientations o that read a, of their weight times top_grad[r,p,q,g n +
 *   o] bottom_grad = the result of mluOpRoiAlignRotatedBackward for the gradient `mixed`
 *
 * | tensor      | shape                               | dtype                   | layout |
 * |-------------|-------------------------------------|-------------------------|--------|
 * | top_grad    | [R, pooled_height, pooled_width, C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois        | [R, 6]                              | as top_grad             | any    |
 * | bottom_grad | [B, H, W, C]                        | as top_grad             | NHWC   |
 *
 * Outputs: the call writes every element, 0 where no sample is; the caller need not initialize them. R may be 0. A
 *   sample with a NaN coordinate adds nothing.
 * Determinism: `mixed` is fp32; sums are fp32 and start at +0, in the order of RoIs, bins, samples, pixels: the
 *   same bits at every thread count and on every instruction set. HALF and BFLOAT16 are rounded once, to nearest
 *   even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 90 bytes a RoI and, for HALF and BFLOAT16, 4 bytes for each element
 *   of the gradient of one image or more.
 *
 * Returns, in addition to the statuses of every operator: as mluOpOmpRiroiAlignRotatedForward.
 *
 * Definition: mmcv riroi_align_rotated; ReDet, arXiv:2103.07733. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpRiroiAlignRotatedBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t top_grad_desc, const void* top_grad,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int pooled_height, const int pooled_width,
    const float spatial_scale, const int num_samples, const int num_orientations, const bool clockwise,
    const mluOpTensorDescriptor_t bottom_grad_desc, void* bottom_grad);

/* Correlation forward (FlowNetC, PWC-Net): products of an image with displacements of another.
 *
 *   For displacements p in [0, patch_h) and q in [0, patch_w) of pixel (h, w) of the output:
 *   output[n,p,q,h,w] = sum over i in [0, kernel_h), j in [0, kernel_w) and c of
 *                       input1[n,i1,j1,c] * input2[n,i2,j2,c], with
 *   i1 = h * stride_h - pad_h + i * dilation_h, i2 = i1 + (p - (patch_h - 1) / 2) * dilation_patch_h
 *   j1 = w * stride_w - pad_w + j * dilation_w, j2 = j1 + (q - (patch_w - 1) / 2) * dilation_patch_w
 *   A product with a pixel outside of its image is 0.
 *
 * | tensor         | shape                         | dtype                   | layout |
 * |----------------|-------------------------------|-------------------------|--------|
 * | input1, input2 | [N, H, W, C]                  | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | output         | [N, patch_h, patch_w, Ho, Wo] | as input1               | ARRAY  |
 *
 * Units: Ho = (H + 2 * pad_h - (kernel_h - 1) * dilation_h - 1) / stride_h + 1, rounded down, or 0 if the kernel
 *   exceeds the padded image; Wo likewise. mmcv's patch is 2 * max_displacement + 1.
 * Outputs: the call writes every element; the caller need not initialize output. Sums are not divided by the
 *   number of products. NaN and infinity propagate. If output is empty, no data are read: pointers may be null.
 * Determinism: the same bits in every run, at every thread count and on every instruction set: products and sums
 *   are rounded in fp32; HALF and BFLOAT16 results are rounded once. For each i and j, in order, channel c,
 *   ascending, is added to partial sum c mod 16; then sums 8 to 15 are added to sums 0 to 7, 4 to 7 to 0 to 3, 2
 *   and 3 to 0 and 1, and 1 to 0; the total is added to the result.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  a pad is negative, another parameter is not positive, or a patch is not odd
 *
 * Definition: mmcv correlation_forward, which adds products of HALF in half; FlowNet, arXiv:1504.06852. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpCorrelationForward(
    mluOpHandle_t handle, const int kernel_h, const int kernel_w, const int patch_h, const int patch_w,
    const int pad_h, const int pad_w, const int dilation_h, const int dilation_w, const int dilation_patch_h,
    const int dilation_patch_w, const int stride_h, const int stride_w, const mluOpTensorDescriptor_t input1_desc,
    const void* input1, const mluOpTensorDescriptor_t input2_desc, const void* input2,
    const mluOpTensorDescriptor_t output_desc, void* output);

/* Correlation backward (FlowNetC, PWC-Net): the gradients of mluOpOmpCorrelationForward.
 *
 *   With the letters of mluOpOmpCorrelationForward:
 *   grad_input1[n,i1,j1,c] = sum over p and q of input2[n,i2,j2,c] * (sum over i and j of grad_output[n,p,q,h,w])
 *   grad_input2[n,i2,j2,c] = sum over p and q of input1[n,i1,j1,c] * (sum over i and j of grad_output[n,p,q,h,w])
 *   over pixels inside of the images and (h, w) inside of the output.
 *
 * | tensor                   | shape                         | dtype                   | layout |
 * |--------------------------|-------------------------------|-------------------------|--------|
 * | grad_output              | [N, patch_h, patch_w, Ho, Wo] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | input1, input2           | [N, H, W, C]                  | as grad_output          | NHWC   |
 * | grad_input1, grad_input2 | [N, H, W, C]                  | as grad_output          | NHWC   |
 *
 * Units: as the forward operator.
 * Outputs: the call writes every element; the caller need not initialize the gradients. A pixel without products
 *   has the gradient +0. NaN and infinity propagate. If the images are empty, no data are read: pointers may be
 *   null.
 * Determinism: the same bits in every run, at every thread count and on every instruction set: products and sums
 *   are rounded in fp32, starting at +0, in the order of i and j, then of p and q; HALF and BFLOAT16 results are
 *   rounded once.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 16 bytes for each row and column of an image.
 *
 * Returns, in addition to the statuses of every operator: what mluOpOmpCorrelationForward returns.
 *
 * Definition: mmcv correlation_backward; FlowNet, arXiv:1504.06852. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpCorrelationBackward(
    mluOpHandle_t handle, const int kernel_h, const int kernel_w, const int patch_h, const int patch_w,
    const int pad_h, const int pad_w, const int dilation_h, const int dilation_w, const int dilation_patch_h,
    const int dilation_patch_w, const int stride_h, const int stride_w,
    const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t input1_desc, const void* input1, const mluOpTensorDescriptor_t input2_desc,
    const void* input2, const mluOpTensorDescriptor_t grad_input1_desc, void* grad_input1,
    const mluOpTensorDescriptor_t grad_input2_desc, void* grad_input2);

/* Indice max pooling forward (SECOND): max pooling of a sparse tensor by its index pairs.
 *
 *   features_out[o,c] = max(0, features[i,c] over the pairs (i, o)): the maximum starts at 0, as in mmcv and
 *   spconv
 *
 * | tensor       | shape     | dtype                   | layout |
 * |--------------|-----------|-------------------------|--------|
 * | features     | [N, C]    | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | indice_pairs | [K, 2, N] | INT32                   | ARRAY  |
 * | features_out | [M, C]    | as features             | ARRAY  |
 *
 * Units: pair l of offset k, for l below indice_num[k], has the input row indice_pairs[k,0,l] and the output row
 *   indice_pairs[k,1,l], as in mluOpIndiceConvolutionForward. indice_num has K elements.
 * Outputs: the call writes every element of features_out; the caller need not initialize it. A row without a pair,
 *   and a maximum of non-positive numbers, is +0. NaN is never selected. A pair with a negative index is skipped.
 *   If features_out has no elements, no data but indice_num are read: pointers may be null.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 8 bytes a row of the result and up to 20 a pair.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      indice_num is null, or an element of it is outside [0, N]; an index is not below the number of
 *                  rows of its tensor: the message names the first such element of indice_pairs and its value
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
 * | features_out | [M, C]    | as features             | ARRAY  |
 * | output_grad  | [M, C]    | as features             | ARRAY  |
 * | indice_pairs | [K, 2, N] | INT32                   | ARRAY  |
 * | input_grad   | [N, C]    | as features             | ARRAY  |
 *
 * Units: as the forward operator.
 * Outputs: the call writes every element of input_grad; the caller need not initialize it. Each of several equal
 *   maxima receives the full gradient, and so does an input of 0 whose output is 0. All other elements have the
 *   gradient +0. A pair with a negative index is skipped. If input_grad has no elements, no data but indice_num
 *   are read: pointers may be null.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set:
 *   sums are rounded in fp32, in the order of offsets and pairs, starting at +0: FLOAT is bit-identical to the
 *   serial loop; HALF and BFLOAT16 are its sums, rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: as the forward operator.
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

/* RoI pooling, forward, with the bins of mmcv's roi_pool, or with the bins of mluOpRoiPoolingForward. Its gradient
 * is mluOpRoiPoolingBackward.
 *
 *   A RoI is rois[r] = (image, x1, y1, x2, y2). rounded false: along the y axis, and likewise along x, in fp32:
 *     start = y1 spatial_scale; size = (y2 + 1) spatial_scale - start; bin = size / PH
 *     bin p has the pixels from floor(p bin + start) to ceil((p + 1) bin + start) - 1 that are in the image; none
 *     if size is not positive
 *   rounded true: the bins of mluOpRoiPoolingForward.
 *   output[r,p,q,c] = the greatest pixel of bin (p, q); argmax[r,p,q,c] = y W + x of the first one, by rows
 *
 * | tensor | shape          | dtype                   | layout        |
 * |--------|----------------|-------------------------|---------------|
 * | input  | [B, H, W, C]   | FLOAT, HALF or BFLOAT16 | NHWC, or NCHW |
 * | rois   | [R, 5]         | as input                | any           |
 * | output | [R, PH, PW, C] | as input                | as input      |
 * | argmax | [R, PH, PW, C] | INT32                   | as input      |
 *
 * In NCHW the shapes are [B, C, H, W] and [R, C, PH, PW].
 * Units: as mluOpRoiPoolingForward.
 * Outputs: as mluOpRoiPoolingForward. For a RoI without positive size, mmcv's CUDA kernel leaves argmax 0, so that
 *   its backward kernel adds the gradient to the first pixel; here argmax is -1.
 * Determinism: the result is exact. nvcc may contract p bin + start to one rounding, which moves the bins of few
 *   RoIs by a pixel.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: as mluOpRoiPoolingForward.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      the image of a RoI does not exist
 *   NOT_SUPPORTED  H W is 2^31 or more
 *
 * Definition: mmcv roi_pool_forward; Fast R-CNN, arXiv:1504.08083. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpRoiPoolForward(mluOpHandle_t handle, const bool rounded,
                                                   const float spatial_scale,
                                                   const mluOpTensorDescriptor_t input_desc, const void* input,
                                                   const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                   const mluOpTensorDescriptor_t output_desc, void* output,
                                                   const mluOpTensorDescriptor_t argmax_desc, void* argmax);

/* Precise RoI pooling, forward (IoU-Net): the mean of the interpolated image over each bin of each RoI, computed
 * as an integral, without samples. mluOpOmpPrroiPoolBackward and mluOpOmpPrroiPoolCoorBackward are its gradients.
 *
 *   A RoI is rois[r] = (image, x1, y1, x2, y2). Along the y axis, and likewise along x, in fp32:
 *     start = y1 spatial_scale; bin = max(y2 spatial_scale - start, 0) / PH
 *     bin p: low = start + p bin, high = low + bin; Gy(p,y) = the integral over the bin of max(0, 1 - |t - y|) dt
 *   output[r,p,q,c] = (the sum over y, x of Gy(p,y) Gx(q,x) input[image,y,x,c]) / (bin_y bin_x)
 *   Pixels are at integers, without an offset; outside the image, the interpolated image falls to 0 within a
 *   pixel.
 *
 * | tensor | shape          | dtype                   | layout |
 * |--------|----------------|-------------------------|--------|
 * | input  | [B, H, W, C]   | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois   | [R, 5]         | as input                | any    |
 * | output | [R, PH, PW, C] | as input                | NHWC   |
 *
 * Units: rois are in pixels of the network's input; spatial_scale converts them to pixels of `input`.
 * Outputs: the call writes every element; the caller need not initialize it. Bins of area 0, or of infinite or NaN
 *   area, are 0. If output has no elements, the data may be null.
 * Determinism: sums are in fp32, along y first, then along x, in ascending order: the same bits at every thread
 *   count and on every instruction set. HALF and BFLOAT16 are computed in fp32 and rounded once, to nearest even.
 *   mmcv adds the four corners of each unit cell, in another order.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. For each RoI, the handle keeps at most 8 bytes for each row and column of pixels and 36
 *   for each row and column of bins; for each task, 4 bytes for each pixel of a row and up to 256 channels.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      the image of a RoI does not exist
 *   NOT_SUPPORTED  H or W exceeds 2^23
 *
 * Definition: mmcv prroi_pool_forward; Acquisition of Localization Confidence, arXiv:1807.11590. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpPrroiPoolForward(mluOpHandle_t handle, const float spatial_scale,
                                                     const mluOpTensorDescriptor_t input_desc, const void* input,
                                                     const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                     const mluOpTensorDescriptor_t output_desc, void* output);

/* Precise RoI pooling, backward: the gradient of mluOpOmpPrroiPoolForward for input.
 *
 *   With the letters of mluOpOmpPrroiPoolForward:
 *   grad_input[b,y,x,c] = the sum over the RoIs of image b and their bins of Gy(p,y) Gx(q,x) grad_output[r,p,q,c]
 *     / (bin_y bin_x)
 *
 * | tensor      | shape          | dtype                   | layout |
 * |-------------|----------------|-------------------------|--------|
 * | grad_output | [R, PH, PW, C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois        | [R, 5]         | as grad_output          | any    |
 * | grad_input  | [B, H, W, C]   | as grad_output          | NHWC   |
 *
 * Units: as mluOpOmpPrroiPoolForward.
 * Outputs: the call writes every element of grad_input, zeros for pixels outside of all RoIs; the caller need not
 *   initialize it. NaN and infinity propagate through the additions.
 * Determinism: sums are in fp32, in the order of RoIs, then rows of bins, whose gradients are added along x first:
 *   the same bits at every thread count and on every instruction set; for HALF and BFLOAT16 they are rounded once,
 *   at the end. mmcv adds with atomics, in any order.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: as mluOpOmpPrroiPoolForward; for HALF and BFLOAT16 also, for each task, 4 bytes for each pixel of an
 *   image and up to 256 channels.
 *
 * Returns, in addition to the statuses of every operator: what mluOpOmpPrroiPoolForward returns.
 *
 * Definition: mmcv prroi_pool_backward. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpPrroiPoolBackward(mluOpHandle_t handle, const float spatial_scale,
                                                      const mluOpTensorDescriptor_t grad_output_desc,
                                                      const void* grad_output,
                                                      const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                      const mluOpTensorDescriptor_t grad_input_desc,
                                                      void* grad_input);

/* Precise RoI pooling, gradient of the coordinates: the gradient of mluOpOmpPrroiPoolForward for rois.
 *
 *   With the letters of mluOpOmpPrroiPoolForward, f = the interpolated image, A = bin_y bin_x, v = output[r,p,q,c]
 *   and the bin (p, q) = [Y1, Y2] x [X1, X2]:
 *   d1 = spatial_scale ((Y2 - Y1) v - the integral of f(t, X1) over [Y1, Y2]) / A
 *   d2 = spatial_scale (the integral of f(t, X2) over [Y1, Y2] - (Y2 - Y1) v) / A
 *   grad_rois[r,1] = the sum over p, q, c of grad_output[r,p,q,c] (d1 (1 - q / PW) + d2 (1 - (q + 1) / PW))
 *   grad_rois[r,3] = the sum over p, q, c of grad_output[r,p,q,c] (d1 q / PW + d2 (q + 1) / PW)
 *   grad_rois[r,2] and grad_rois[r,4] likewise with y and x exchanged; grad_rois[r,0] = 0
 *
 * | tensor      | shape          | dtype                   | layout |
 * |-------------|----------------|-------------------------|--------|
 * | output      | [R, PH, PW, C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | grad_output | [R, PH, PW, C] | as output               | NHWC   |
 * | input       | [B, H, W, C]   | as output               | NHWC   |
 * | rois        | [R, 5]         | as output               | any    |
 * | grad_rois   | [R, 5]         | as output               | any    |
 *
 * Units: as mluOpOmpPrroiPoolForward. output is what it returns.
 * Outputs: the call writes every element of grad_rois, zeros for RoIs without area; the caller need not initialize
 *   it. Elements of grad_output that are 0 add nothing, whatever the pixels are.
 * Determinism: weights are fp32; sums are in double, by bins, with the channels in four lanes: the same bits at
 *   every thread count and on every instruction set. They are rounded to fp32; for HALF and BFLOAT16 once more.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: as mluOpOmpPrroiPoolForward, without memory for tasks.
 *
 * Returns, in addition to the statuses of every operator: what mluOpOmpPrroiPoolForward returns.
 *
 * Definition: mmcv prroi_pool_coor_backward; Acquisition of Localization Confidence, arXiv:1807.11590. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpPrroiPoolCoorBackward(
    mluOpHandle_t handle, const float spatial_scale, const mluOpTensorDescriptor_t output_desc, const void* output,
    const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t input_desc, const void* input, const mluOpTensorDescriptor_t rois_desc,
    const void* rois, const mluOpTensorDescriptor_t grad_rois_desc, void* grad_rois);

/* Transpose: converts images between the layouts NCHW, as [N, C, H * W], and NHWC, as [N, H * W, C].
 *
 *   output[n, j, i] = input[n, i, j]
 *
 * | tensor | shape     | dtype                   | layout |
 * |--------|-----------|-------------------------|--------|
 * | input  | [N, A, B] | FLOAT, HALF or BFLOAT16 | any    |
 * | output | [N, B, A] | as input                | any    |
 *
 * Outputs: the call writes every element; the caller need not initialize output, which must not overlap input.
 *   Elements are copied bit for bit, NaN with its payload. If output has no elements, no data are read: pointers
 *   may be null.
 * Determinism: the same bits in every run, at every thread count and on every instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns the statuses of every operator.
 *
 * Definition: batched transposition of matrices; mluOpTranspose_v2 of Cambricon's operators, which is not public,
 * with the permutation (0, 2, 1). */
mluOpStatus_t MLUOP_WIN_API mluOpOmpTranspose(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                              const void* input, const mluOpTensorDescriptor_t output_desc,
                                              void* output);

/* Active rotated filter backward (ORConv2d, S2ANet): the gradient of input of mluOpActiveRotatedFilterForward.
 *
 *   With the letters of mluOpActiveRotatedFilterForward:
 *   grad_input[o, i, entry l] = sum over t = 0..r-1 of grad_output[o * r + t, entry indices[l,t] - 1 of filter i]
 *   If several entries have one target, each receives its gradient, although output copies only the last.
 *
 * | tensor      | shape                  | dtype                   | layout |
 * |-------------|------------------------|-------------------------|--------|
 * | grad_output | [O * r, I * n, kH, kW] | FLOAT, HALF or BFLOAT16 | any    |
 * | indices     | [n, kH, kW, r]         | INT32                   | any    |
 * | grad_input  | [O, I, n, kH, kW]      | as grad_output          | any    |
 *
 * Units: indices number the entries of a filter, 1 to E.
 * Outputs: the call writes every element; the caller need not initialize grad_input. Without rotations it is 0.
 *   NaN and infinity propagate through the additions. If grad_input has no elements, no data are read: pointers
 *   may be null.
 * Determinism: the same bits in every run, at every thread count and on every instruction set: sums are rounded in
 *   fp32, in the order of the rotations, starting at +0; HALF and BFLOAT16 are rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  an element of indices is not from 1 to E: the message names the first such element, [orientation,
 *              row, column, rotation], and its value
 *
 * Definition: mmcv active_rotated_filter_backward; S2ANet, arXiv:2008.09397. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpActiveRotatedFilterBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t grad_input_desc,
    void* grad_input);

/* Bezier align forward (ABCNet): pools interpolated samples of a map between two cubic Bezier curves. Its gradient
 * is mluOpOmpBezierAlignBackward.
 *
 *   A RoI is rois[r] = (image, p0x, p0y, ..., p3x, p3y, q0x, q0y, ..., q3x, q3y): the upper curve from left to
 *   right, then the lower curve from right to left. In fp32, with all coordinates times spatial_scale:
 *     width = max(|p0x - p3x|, |q0x - q3x|), height = max(|p0y - p3y|, |q0y - q3y|); at least 1 unless aligned
 *     upper(u) and lower(u) are the curves from left to right; offset = 0.5 if aligned, else 0
 *     the center of bin (i, j), with u = j / aligned_width and v = i / aligned_height, is
 *     lower(u) v + upper(u) (1 - v) - offset
 *     along y, and likewise along x: bin = height / aligned_height; n = sampling_ratio if positive, else bin
 *     rounded up; y(k) = center - bin / 2 + (k + 0.5) bin / n, k = 0..n-1, are the samples
 *   The value of a sample (y, x) is interpolated from the four pixels around it; it is 0 if y is not in [-1, H] or
 *   x is not in [-1, W]. Positions are clamped to the first and the last pixel.
 *   output[r,i,j,c] = the sum of the samples of bin (i, j), divided by their number
 *
 * | tensor | shape                                 | dtype                   | layout |
 * |--------|---------------------------------------|-------------------------|--------|
 * | input  | [B, H, W, C]                          | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois   | [R, 17]                               | as input                | any    |
 * | output | [R, aligned_height, aligned_width, C] | as input                | NHWC   |
 *
 * Units: rois are in pixels of the network's input; spatial_scale converts them to pixels of `input`.
 * Outputs: the call writes every element; the caller need not initialize output. Without a sampling ratio, a RoI
 *   of size 0 has no samples and gives 0: with aligned, horizontal text, whose curves have ends at equal y. A
 *   sample with a NaN coordinate gives NaN. If output has no elements, the data may be null.
 * Determinism: the same bits at every thread count and on every instruction set: curves are computed in double and
 *   rounded to fp32, positions and sums in fp32, in the order of rows and columns of samples, then of pixels. HALF
 *   and BFLOAT16 are computed in fp32 and rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 100 bytes for each RoI.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      aligned_height or aligned_width is negative; the image of a RoI does not exist; maps have no
 *                  pixels although output has elements
 *   NOT_SUPPORTED  a map has 2^31 pixels or more; sampling_ratio exceeds 64
 *
 * Definition: mmcv bezier_align; ABCNet, arXiv:2002.10200. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpBezierAlignForward(mluOpHandle_t handle,
                                                       const mluOpTensorDescriptor_t input_desc, const void* input,
                                                       const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                       const int aligned_height, const int aligned_width,
                                                       const float spatial_scale, const int sampling_ratio,
                                                       const bool aligned,
                                                       const mluOpTensorDescriptor_t output_desc, void* output);

/* Bezier align backward (ABCNet): the gradient of input of mluOpOmpBezierAlignForward.
 *
 *   grad_input = the sum over the samples of all bins of grad_output[r,i,j,c] times the weights with which they
 *   are interpolated, divided by the number of samples of the bin
 *
 * | tensor      | shape                                 | dtype                   | layout |
 * |-------------|---------------------------------------|-------------------------|--------|
 * | grad_output | [R, aligned_height, aligned_width, C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois        | [R, 17]                               | as grad_output          | any    |
 * | grad_input  | [B, H, W, C]                          | as grad_output          | NHWC   |
 *
 * Units: as in mluOpOmpBezierAlignForward.
 * Outputs: the call writes every element of grad_input, zeros for pixels that no sample reads; the caller need not
 *   initialize it. A sample with a NaN coordinate adds nothing. If grad_input has no elements, the data may be
 *   null.
 * Determinism: the same bits at every thread count and on every instruction set: sums are in fp32, in the order of
 *   RoIs, bins, samples and pixels; HALF and BFLOAT16 are rounded once, at the end.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 100 bytes for each RoI; for HALF and BFLOAT16 also, for each task,
 *   the sums of a part of the map in fp32.
 *
 * Returns, in addition to the statuses of every operator: what mluOpOmpBezierAlignForward returns.
 *
 * Definition: mmcv bezier_align; ABCNet, arXiv:2002.10200. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpBezierAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int aligned_height, const int aligned_width,
    const float spatial_scale, const int sampling_ratio, const bool aligned,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input);

/* Softmax focal loss, forward (mmcv softmax_focal_loss): the loss of each row. Its gradient is
 * mluOpOmpSoftmaxFocalLossBackward.
 *
 *   t = target[n]; w = weight[t], or 1 without weights
 *   p = softmax[n,t]; a value outside [0, 1] counts as the nearer bound
 *   output[n] = -w alpha (1 - p)^gamma log max(p, 2^-126)   if t >= 0
 *   output[n] = 0                                           if t = -1
 *
 * | tensor  | shape  | dtype                   | layout |
 * |---------|--------|-------------------------|--------|
 * | softmax | [N, C] | FLOAT, HALF or BFLOAT16 | any    |
 * | target  | [N]    | INT32                   | any    |
 * | weight  | [C]    | as softmax              | any    |
 * | output  | [N]    | as softmax              | any    |
 *
 * Optional: weight_desc and weight are null, or weight_desc has the shape [0], if there are no weights.
 * Units: softmax is probabilities, not logits. mmcv takes gamma before alpha, and an int64 target. alpha
 *   multiplies the losses of all classes; no class is background. The target -1 marks a row without loss.
 * Outputs: the call writes every element; the caller need not initialize output. If N is 0, the data may be null.
 *   The call reads softmax only at the targets. NaN propagates from there, from weight and from alpha. 0^0 is 1.
 *   Where (1 - p)^gamma is below 2^-252, unless gamma is 2, the result is 0 for finite alpha and weight.
 * Determinism: the same bits at every thread count, in every run and on every instruction set. log and powers are
 *   polynomials in fp32, as in mluOpFocalLossSigmoidForward; HALF and BFLOAT16 are computed in fp32 and rounded
 *   once, to nearest even. With l = -log max(p, 2^-126) and r = (1 - p)^(gamma / 2), products are
 *   (((w alpha) l) r) r.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  gamma is not in [0, 10000]; an element of target is not in [-1, C - 1]: the message names the
 *              first, and nothing is written. mmcv's CUDA kernel then reads other memory.
 *
 * Definition: mmcv softmax_focal_loss; arXiv:1708.02002. */
mluOpStatus_t MLUOP_WIN_API
mluOpOmpSoftmaxFocalLossForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t softmax_desc,
                                const void* softmax, const mluOpTensorDescriptor_t target_desc, const void* target,
                                const mluOpTensorDescriptor_t weight_desc, const void* weight, const float alpha,
                                const float gamma, const mluOpTensorDescriptor_t output_desc, void* output);

/* Softmax focal loss, backward (mmcv softmax_focal_loss): the gradient of each loss of
 * mluOpOmpSoftmaxFocalLossForward with respect to the logits, the input of the softmax.
 *
 *   With t, p and w as there:
 *   buff[n] = w alpha (gamma (1 - p)^(gamma - 1) p log max(p, 2^-126) - (1 - p)^gamma)   if t >= 0
 *   buff[n] = 0                                                                         if t = -1
 *   grad_input[n,c] = buff[n] ([c = t] - softmax[n,c])   if t >= 0, with buff[n] before it is rounded
 *   grad_input[n,c] = 0                                  if t = -1
 *   For p = 1, buff[n] is the limit: -w alpha if gamma is 0, otherwise 0.
 *
 * | tensor     | shape  | dtype                   | layout |
 * |------------|--------|-------------------------|--------|
 * | softmax    | [N, C] | FLOAT, HALF or BFLOAT16 | any    |
 * | target     | [N]    | INT32                   | any    |
 * | weight     | [C]    | as softmax              | any    |
 * | buff       | [N]    | as softmax              | any    |
 * | grad_input | [N, C] | as softmax              | any    |
 *
 * Optional: weight_desc and weight are null, or weight_desc has the shape [0], if there are no weights.
 * Units: as mluOpOmpSoftmaxFocalLossForward. The caller multiplies the rows of grad_input by the gradients of the
 *   losses.
 * Outputs: the call writes every element; the caller need not initialize buff and grad_input. If N is 0, the data
 *   may be null. NaN propagates: from softmax[n,t], weight and alpha to the row, from other classes to their
 *   elements. For p = 1, mmcv's CUDA kernel yields NaN if gamma is below 1.
 * Determinism: as mluOpOmpSoftmaxFocalLossForward; l is (gamma p) (log p / (1 - p)) - 1, with the quotient -1 if p
 *   is 1.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  as mluOpOmpSoftmaxFocalLossForward
 *
 * Definition: mmcv softmax_focal_loss; arXiv:1708.02002. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpSoftmaxFocalLossBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t softmax_desc, const void* softmax,
    const mluOpTensorDescriptor_t target_desc, const void* target, const mluOpTensorDescriptor_t weight_desc,
    const void* weight, const float alpha, const float gamma, const mluOpTensorDescriptor_t buff_desc, void* buff,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input);

/* Chamfer distance, forward (mmcv chamfer_distance): for each point of two sets in a plane, the nearest point of
 * the other set.
 *
 *   d(n,m) = (x1 - x2)^2 + (y1 - y2)^2 for the point n of xyz1 and the point m of xyz2 of a batch
 *   dist1[b,n] = the least d(n,m) over m, a squared distance; idx1[b,n] = its m
 *   dist2[b,m] = the least d(n,m) over n;                     idx2[b,m] = its n
 *   Ties: the lower index.
 *
 * | tensor       | shape          | dtype                   | layout |
 * |--------------|----------------|-------------------------|--------|
 * | xyz1         | [B, N, 2]      | FLOAT, HALF or BFLOAT16 | any    |
 * | xyz2         | [B, M, 2]      | as xyz1                 | any    |
 * | dist1, dist2 | [B, N], [B, M] | as xyz1                 | any    |
 * | idx1, idx2   | [B, N], [B, M] | INT32                   | any    |
 *
 * Units: coordinates are x, y; distances are in the square of their unit.
 * Outputs: the call writes every element; the caller need not initialize them. A NaN distance is greater than all
 *   numbers: only if all distances of a point are NaN, its distance is NaN and its index 0. Points whose squared
 *   distance overflows fp32 have an infinite distance. If one set is empty, the distances and indices of the other
 *   set are 0. If B is 0, or N and M are 0, the outputs are empty: all data may be null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set. Each difference, square and sum is rounded to fp32, to nearest even; half and bfloat16 distances are
 *   rounded once more. mmcv's kernel returns 1e10 and index 0 if all distances are 1e10 or more, and computes half
 *   in half.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 20 bytes a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   NOT_SUPPORTED  N or M is 2^31 or more: points are numbered by int32
 *
 * Definition: mmcv chamfer_distance; Oriented RepPoints, arXiv:2105.11111. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpChamferDistanceForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t xyz1_desc, const void* xyz1,
    const mluOpTensorDescriptor_t xyz2_desc, const void* xyz2, const mluOpTensorDescriptor_t dist1_desc,
    void* dist1, const mluOpTensorDescriptor_t dist2_desc, void* dist2, const mluOpTensorDescriptor_t idx1_desc,
    void* idx1, const mluOpTensorDescriptor_t idx2_desc, void* idx2);

/* Chamfer distance, backward: the gradients of mluOpOmpChamferDistanceForward.
 *
 *   term(n,m,g) = 2 g (xyz1[b,n] - xyz2[b,m])
 *   grad_xyz1[b,n] = term(n, idx1[b,n], grad_dist1[b,n]) + the sum of term(n, m, grad_dist2[b,m]) over all m with
 *                    idx2[b,m] = n
 *   grad_xyz2[b,m] = -term(idx2[b,m], m, grad_dist2[b,m]) - the sum of term(n, m, grad_dist1[b,n]) over all n with
 *                    idx1[b,n] = m
 *
 * | tensor                 | shape                | dtype                   | layout |
 * |------------------------|----------------------|-------------------------|--------|
 * | xyz1                   | [B, N, 2]            | FLOAT, HALF or BFLOAT16 | any    |
 * | xyz2                   | [B, M, 2]            | as xyz1                 | any    |
 * | idx1, idx2             | [B, N], [B, M]       | INT32                   | any    |
 * | grad_dist1, grad_dist2 | [B, N], [B, M]       | as xyz1                 | any    |
 * | grad_xyz1, grad_xyz2   | [B, N, 2], [B, M, 2] | as xyz1                 | any    |
 *
 * Units: as mluOpOmpChamferDistanceForward. idx1 is from 0 to M - 1, idx2 from 0 to N - 1; they need not be the
 *   nearest points.
 * Outputs: the call writes every element; the caller need not initialize them. mmcv's kernel adds to the
 *   gradients, which mmcv sets to 0. NaN and infinity propagate through the products. If one set is empty, the
 *   gradient of the other set is 0, and the values of its indices are not used. If B is 0, or N and M are 0, the
 *   outputs are empty: all data may be null.
 * Determinism: the result is the same at every thread count, in every run and on every instruction set. It is
 *   computed in double, first the term of the point's own distance, then the others by ascending index, and
 *   rounded once. mmcv's kernel adds in any order, with atomics.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 8 bytes a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      an index is outside its range
 *   NOT_SUPPORTED  N or M is 2^31 or more: points are numbered by int32
 *
 * Definition: mmcv chamfer_distance. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpChamferDistanceBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t xyz1_desc, const void* xyz1,
    const mluOpTensorDescriptor_t xyz2_desc, const void* xyz2, const mluOpTensorDescriptor_t idx1_desc,
    const void* idx1, const mluOpTensorDescriptor_t idx2_desc, const void* idx2,
    const mluOpTensorDescriptor_t grad_dist1_desc, const void* grad_dist1,
    const mluOpTensorDescriptor_t grad_dist2_desc, const void* grad_dist2,
    const mluOpTensorDescriptor_t grad_xyz1_desc, void* grad_xyz1, const mluOpTensorDescriptor_t grad_xyz2_desc,
    void* grad_xyz2);

/* k nearest neighbors (mmcv knn): the k points nearest to each center.
 *
 *   d(m,n) = ((cx - px)^2 + (cy - py)^2) + (cz - pz)^2 for the center m and the point n of a batch
 *   dist2[b,m,0..k-1] = the k least d(m,n) below 1e10, ascending: the squares of the distances
 *   idx[b,m,0..k-1]   = their n
 *   Equal distances have the order in which mmcv's heap leaves them: a binary max-heap of k entries, all (1e10, 0)
 *   at first. Points are visited in ascending order; a point nearer than the root replaces the root, which then
 *   moves down: it is exchanged with its larger child (ties: the left) until it is larger than both children; an
 *   equal child is exchanged too. At the end, from the last place to the second, the root is exchanged with the
 *   entry of the place, and the new root moves down within the places before it.
 *
 * | tensor  | shape     | dtype | layout |
 * |---------|-----------|-------|--------|
 * | xyz     | [B, N, 3] | FLOAT | any    |
 * | new_xyz | [B, M, 3] | FLOAT | any    |
 * | idx     | [B, M, k] | INT32 | any    |
 * | dist2   | [B, M, k] | FLOAT | any    |
 *
 * Units: coordinates are x, y, z; dist2 is in the square of their unit. mmcv's knn returns idx as [B, k, M].
 * Outputs: the call writes every element of idx and dist2; the caller need not initialize them. A NaN distance, or
 *   one of 1e10 or more, excludes the point: where fewer than k points remain, the other elements are 1e10 in
 *   dist2 and 0 in idx. With N = 0 this holds for all elements; xyz and workspace may be null. With B = 0 or M = 0
 *   the outputs are empty: all data may be null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set. Each difference, square and sum is rounded to fp32, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 12 bytes a point. The handle
 *   keeps up to 36 bytes a point.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      k is not from 1 to 100; workspace_size is less than the query returns, or workspace is
 *                  null although the size is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: points are numbered by int32
 *
 * Definition: mmcv knn; DGCNN, arXiv:1801.07829; PAConv, arXiv:2103.14635. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpKnn(mluOpHandle_t handle, const int k, const mluOpTensorDescriptor_t xyz_desc,
                                        const void* xyz, const mluOpTensorDescriptor_t new_xyz_desc,
                                        const void* new_xyz, void* workspace, size_t workspace_size,
                                        const mluOpTensorDescriptor_t idx_desc, void* idx,
                                        const mluOpTensorDescriptor_t dist2_desc, void* dist2);

/* Writes the bytes of workspace that mluOpOmpKnn needs for xyz_desc [B, N, 3] and new_xyz_desc [B, M, 3]; 0 if
 * either is empty.
 * Returns BAD_PARAM if an argument is null, k is not from 1 to 100, or a descriptor is not as the operator
 * requires; NOT_SUPPORTED if N is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetKnnWorkspaceSize(mluOpHandle_t handle, const int k,
                                                        const mluOpTensorDescriptor_t xyz_desc,
                                                        const mluOpTensorDescriptor_t new_xyz_desc,
                                                        size_t* workspace_size);

/* Synchronized batch normalization of mmcv: the five functions with which mmcv's SyncBatchNorm normalizes a batch
 * that several processes share. Between them, PyTorch's all_reduce adds the results of the processes.
 *
 *   An image tensor is [N, C, S], channels first, or [M, C], rows of channels (channels last); terms T = N S or M.
 *   All image tensors of a call have the same shape. All other tensors are per channel.
 *
 *   mluOpOmpSyncBnForwardMean     mean[c] = (1 / T) sum of input[.,c]
 *   mluOpOmpSyncBnForwardVar      var[c] = (1 / T) sum of (input[.,c] - mean[c])^2, with the mean of all processes
 *   mluOpOmpSyncBnForwardOutput   std[c] = sqrt(var[c] + eps), norm = (input - mean[c]) (1 / std[c])
 *                                 output = norm weight[c] + bias[c]
 *                                 running_mean[c] = momentum mean[c] + (1 - momentum) running_mean[c]
 *                                 running_var[c] = momentum v + (1 - momentum) running_var[c] with
 *                                 v = var[c] n / (n - 1), n = T group_size; v = var[c] if n <= 1
 *   mluOpOmpSyncBnBackwardParam   grad_weight[c] = sum of grad_output[.,c] norm[.,c]
 *                                 grad_bias[c] = sum of grad_output[.,c]
 *   mluOpOmpSyncBnBackwardData    grad_input = ((grad_output - grad_bias[c] / T) - norm grad_weight[c] / T)
 *                                              (weight[c] / std[c])
 *
 * | tensor                                | shape               | dtype                   | layout |
 * |---------------------------------------|---------------------|-------------------------|--------|
 * | input, output                         | [N, C, S] or [M, C] | FLOAT, HALF or BFLOAT16 | any    |
 * | grad_output, grad_input               | [N, C, S] or [M, C] | FLOAT, HALF or BFLOAT16 | any    |
 * | norm                                  | as input            | FLOAT                   | any    |
 * | mean, var, std, weight, bias          | [C]                 | FLOAT                   | any    |
 * | running_mean, running_var             | [C]                 | FLOAT                   | any    |
 * | grad_weight, grad_bias                | [C]                 | FLOAT                   | any    |
 *
 * Units: group_size is the number of processes. weight, bias, running_mean and running_var are optional, each by
 *   itself: absent (null, or of shape [0]), weight means ones and bias zeros.
 * Outputs: a call writes every element of its outputs, and updates running_mean and running_var in place, which
 *   the caller initializes. Without terms, mean, var, grad_weight and grad_bias are 0, and the inputs per channel
 *   of mluOpOmpSyncBnForwardVar and mluOpOmpSyncBnBackwardData may be null; mluOpOmpSyncBnForwardOutput then still
 *   writes std and updates the running statistics. NaN and infinity propagate. mmcv computes n in int, which
 *   overflows; this function does not.
 * Determinism: the same bits at every thread count, in every run and on every instruction set. Sums are in double
 *   and rounded once to fp32; the terms are divided into chunks that depend on the shape only. In output, norm and
 *   grad_input, each operation is rounded to fp32; 1 / std, grad_weight / T, grad_bias / T and weight / std are
 *   computed in double and rounded to fp32; HALF and BFLOAT16 are rounded once at the end.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps up to 1 KiB a channel.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  input or grad_output has neither 2 nor 3 dimensions; group_size is less than 1
 *
 * Definition: mmcv sync_bn_forward_mean, sync_bn_forward_var, sync_bn_forward_output, sync_bn_backward_param and
 * sync_bn_backward_data; batch normalization, arXiv:1502.03167. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnForwardMean(mluOpHandle_t handle,
                                                      const mluOpTensorDescriptor_t input_desc, const void* input,
                                                      const mluOpTensorDescriptor_t mean_desc, void* mean);
mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnForwardVar(mluOpHandle_t handle,
                                                     const mluOpTensorDescriptor_t input_desc, const void* input,
                                                     const mluOpTensorDescriptor_t mean_desc, const void* mean,
                                                     const mluOpTensorDescriptor_t var_desc, void* var);
mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnForwardOutput(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t mean_desc, const void* mean, const mluOpTensorDescriptor_t var_desc,
    const void* var, const mluOpTensorDescriptor_t weight_desc, const void* weight,
    const mluOpTensorDescriptor_t bias_desc, const void* bias, const mluOpTensorDescriptor_t running_mean_desc,
    void* running_mean, const mluOpTensorDescriptor_t running_var_desc, void* running_var, const float eps,
    const float momentum, const int group_size, const mluOpTensorDescriptor_t norm_desc, void* norm,
    const mluOpTensorDescriptor_t std_desc, void* std, const mluOpTensorDescriptor_t output_desc, void* output);
mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnBackwardParam(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t norm_desc, const void* norm, const mluOpTensorDescriptor_t grad_weight_desc,
    void* grad_weight, const mluOpTensorDescriptor_t grad_bias_desc, void* grad_bias);
mluOpStatus_t MLUOP_WIN_API mluOpOmpSyncBnBackwardData(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t weight_desc, const void* weight, const mluOpTensorDescriptor_t grad_weight_desc,
    const void* grad_weight, const mluOpTensorDescriptor_t grad_bias_desc, const void* grad_bias,
    const mluOpTensorDescriptor_t norm_desc, const void* norm, const mluOpTensorDescriptor_t std_desc,
    const void* std, const mluOpTensorDescriptor_t grad_input_desc, void* grad_input);

/* Unique rows: the distinct rows of a list of integer rows, such as the sites of points (MinkowskiEngine,
 * torchsparse).
 *
 *   The first occurrences of the distinct rows are taken in the order of their indices, or, with ascending, in
 *   ascending lexicographic order of the rows.
 *   first[0 .. num[0] - 1] = the index of the first occurrence of each distinct row, in this order
 *   inverse[n]             = the position in first of the row that equals row n
 *   num[0]                 = the number of distinct rows
 *
 * | tensor  | shape  | dtype | layout |
 * |---------|--------|-------|--------|
 * | rows    | [N, C] | INT32 | any    |
 * | first   | [N]    | INT32 | any    |
 * | inverse | [N]    | INT32 | any    |
 * | num     | [1]    | INT32 | any    |
 *
 * Units: rows of 1 to 8 columns, with any values.
 * Outputs: the call writes every element; the caller need not initialize them. Elements of first from num[0] on
 *   are -1. With N = 0, num is 0: all data except num, and the workspace, may be null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 36 bytes a row.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      C is not from 1 to 8; workspace_size is less than the query returns, or workspace is null
 *                  although the size is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: rows are numbered by int32
 *
 * Definition: numpy.unique with axis 0, return_index and return_inverse; sparse_quantize and the coordinates of
 * SparseTensor of MinkowskiEngine. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpUniqueRows(mluOpHandle_t handle, const bool ascending,
                                               const mluOpTensorDescriptor_t rows_desc, const void* rows,
                                               void* workspace, size_t workspace_size,
                                               const mluOpTensorDescriptor_t first_desc, void* first,
                                               const mluOpTensorDescriptor_t inverse_desc, void* inverse,
                                               const mluOpTensorDescriptor_t num_desc, void* num);

/* Writes the bytes of workspace that mluOpOmpUniqueRows needs for rows_desc [N, C]; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null, C is not from 1 to 8, or rows_desc is not as the operator requires;
 * NOT_SUPPORTED if N is 2^31 or more or the tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetUniqueRowsWorkspaceSize(mluOpHandle_t handle,
                                                               const mluOpTensorDescriptor_t rows_desc,
                                                               size_t* workspace_size);

/* Union of rows: the distinct rows of two lists of integer rows, such as the sites of the sum of two sparse
 * tensors (MinkowskiEngine).
 *
 *   rows[0 .. num[0] - 1] = the distinct rows of a in the order of their first occurrences, then the distinct rows
 *                           of b that a lacks, in the order of their first occurrences
 *   index_a[n]            = the index in rows of row n of a
 *   index_b[m]            = the index in rows of row m of b
 *   num[0]                = the number of distinct rows
 *
 * | tensor  | shape      | dtype | layout |
 * |---------|------------|-------|--------|
 * | a       | [N, C]     | INT32 | any    |
 * | b       | [M, C]     | INT32 | any    |
 * | rows    | [N + M, C] | INT32 | any    |
 * | index_a | [N]        | INT32 | any    |
 * | index_b | [M]        | INT32 | any    |
 * | num     | [1]        | INT32 | any    |
 *
 * Units: rows of 1 to 8 columns, with any values.
 * Outputs: the call writes every element; the caller need not initialize them. Elements of rows after the distinct
 *   rows are 0. With N = M = 0, num is 0: all data except num, and the workspace, may be null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 44 bytes for each row of a and b.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      C is not from 1 to 8; workspace_size is less than the query returns, or workspace is null
 *                  although the size is not 0
 *   NOT_SUPPORTED  N + M is 2^31 or more: rows are numbered by int32
 *
 * Definition: MinkowskiUnion and the sum of sparse tensors of MinkowskiEngine. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpUnionRows(mluOpHandle_t handle, const mluOpTensorDescriptor_t a_desc,
                                              const void* a, const mluOpTensorDescriptor_t b_desc, const void* b,
                                              void* workspace, size_t workspace_size,
                                              const mluOpTensorDescriptor_t rows_desc, void* rows,
                                              const mluOpTensorDescriptor_t index_a_desc, void* index_a,
                                              const mluOpTensorDescriptor_t index_b_desc, void* index_b,
                                              const mluOpTensorDescriptor_t num_desc, void* num);

/* Writes the bytes of workspace that mluOpOmpUnionRows needs for a_desc [N, C] and b_desc [M, C]; 0 if both are
 * empty.
 * Returns BAD_PARAM if an argument is null, C is not from 1 to 8, or a descriptor is not as the operator requires;
 * NOT_SUPPORTED if N + M is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetUnionRowsWorkspaceSize(mluOpHandle_t handle,
                                                              const mluOpTensorDescriptor_t a_desc,
                                                              const mluOpTensorDescriptor_t b_desc,
                                                              size_t* workspace_size);

/* Site pairs: the index pairs of a sparse convolution from given input sites to given output sites
 * (MinkowskiEngine, torchsparse).
 *
 *   (i, o) is a pair of offset k if inputs[i] = outputs[o] + (0, offsets[k]), in sums of 64 bits; if several
 *   inputs are equal, i is the first of them.
 *   indice_pairs[k,0,p] = the input i of pair p of offset k
 *   indice_pairs[k,1,p] = its output o
 *   indice_num[k]       = the number of pairs of offset k
 *   The pairs of an offset are in ascending order of o.
 *
 * | tensor       | shape      | dtype | layout |
 * |--------------|------------|-------|--------|
 * | inputs       | [N, 1 + D] | INT32 | any    |
 * | outputs      | [M, 1 + D] | INT32 | any    |
 * | offsets      | [K, D]     | INT32 | any    |
 * | indice_pairs | [K, 2, N]  | INT32 | any    |
 * | indice_num   | [K]        | INT32 | any    |
 *
 * Units: a row of inputs or outputs is a batch and D coordinates, D from 1 to 7; all may be negative. Sites and
 *   offsets may repeat, and may be in any order.
 * Outputs: the call writes every element; the caller need not initialize them. Elements of indice_pairs from
 *   indice_num[k] on are -1. With K = 0 nothing is written; with N = 0 or M = 0 there are no pairs: all data of
 *   inputs, outputs and offsets, and the workspace, may then be null. As the indice_pairs of
 *   mluOpIndiceConvolutionForward, with features_in of N rows.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm: sorts each list of sites that is not in ascending
 *   order, then merges the two lists for each offset: O(K (N + M)).
 * Memory: a workspace, at any address, of the size that the query returns: about 40 bytes an input and 28 bytes an
 *   output, and 4 MiB, or 4 bytes for each output and each of 6 offsets.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      D is not from 1 to 7; an offset has more than N pairs, which repeated outputs can give;
 *                  workspace_size is less than the query returns, or workspace is null although the size is not 0
 *   NOT_SUPPORTED  N or M is 2^31 or more: sites are numbered by int32
 *
 * Definition: kernel maps of MinkowskiEngine, arXiv:1904.08755, and of torchsparse, arXiv:2204.10319. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpSitePairs(mluOpHandle_t handle, const mluOpTensorDescriptor_t inputs_desc,
                                              const void* inputs, const mluOpTensorDescriptor_t outputs_desc,
                                              const void* outputs, const mluOpTensorDescriptor_t offsets_desc,
                                              const void* offsets, void* workspace, size_t workspace_size,
                                              const mluOpTensorDescriptor_t indice_pairs_desc, void* indice_pairs,
                                              const mluOpTensorDescriptor_t indice_num_desc, void* indice_num);

/* Writes the bytes of workspace that mluOpOmpSitePairs needs for inputs_desc [N, 1 + D], outputs_desc [M, 1 + D]
 * and offsets_desc [K, D]; 0 if one of them is empty.
 * Returns BAD_PARAM if an argument is null, D is not from 1 to 7, or a descriptor is not as the operator requires;
 * NOT_SUPPORTED if N or M is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetSitePairsWorkspaceSize(mluOpHandle_t handle,
                                                              const mluOpTensorDescriptor_t inputs_desc,
                                                              const mluOpTensorDescriptor_t outputs_desc,
                                                              const mluOpTensorDescriptor_t offsets_desc,
                                                              size_t* workspace_size);

/* Reached sites of a sparse convolution (MinkowskiEngine, torchsparse): the sites to which offsets lead.
 *
 *   reached = the distinct sites (b, x + offsets[k]) of all sites (b, x) and all k whose every coordinate d is a
 *             multiple of multiples[d], in ascending lexicographic order: by b, then by the coordinates
 *   num[0]  = the number of reached sites
 *
 * | tensor    | shape        | dtype | layout |
 * |-----------|--------------|-------|--------|
 * | sites     | [N, 1 + D]   | INT32 | any    |
 * | offsets   | [K, D]       | INT32 | any    |
 * | multiples | [D]          | INT32 | any    |
 * | reached   | [N K, 1 + D] | INT32 | any    |
 * | num       | [1]          | INT32 | any    |
 *
 * Units: a row of sites or reached is a batch and D coordinates, D from 1 to 7; all may be negative. Sites and
 *   offsets may repeat.
 * Outputs: the call writes every element; the caller need not initialize them. Rows of reached from num[0] on are
 *   0. With N = 0 or K = 0, num is 0 and reached is empty: all data except num, and the workspace, may be null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 24 bytes for each of the N K
 *   sums.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      D is not from 1 to 7; an element of multiples is less than 1; a sum of a coordinate and an
 *                  offset exceeds int32, whether or not the site would be reached; workspace_size is less than
 *                  the query returns, or workspace is null although the size is not 0
 *   NOT_SUPPORTED  N K is 2^31 or more
 *
 * Definition: generative convolutions and expand_coordinates of MinkowskiEngine; the strided convolutions of
 * torchsparse 1.4. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpReachedSites(mluOpHandle_t handle, const mluOpTensorDescriptor_t sites_desc,
                                                 const void* sites, const mluOpTensorDescriptor_t offsets_desc,
                                                 const void* offsets, const mluOpTensorDescriptor_t multiples_desc,
                                                 const void* multiples, void* workspace, size_t workspace_size,
                                                 const mluOpTensorDescriptor_t reached_desc, void* reached,
                                                 const mluOpTensorDescriptor_t num_desc, void* num);

/* Writes the bytes of workspace that mluOpOmpReachedSites needs for sites_desc [N, 1 + D], offsets_desc [K, D] and
 * multiples_desc [D]; 0 if N or K is 0.
 * Returns BAD_PARAM if an argument is null, D is not from 1 to 7, or a descriptor is not as the operator requires;
 * NOT_SUPPORTED if N K is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetReachedSitesWorkspaceSize(mluOpHandle_t handle,
                                                                 const mluOpTensorDescriptor_t sites_desc,
                                                                 const mluOpTensorDescriptor_t offsets_desc,
                                                                 const mluOpTensorDescriptor_t multiples_desc,
                                                                 size_t* workspace_size);

/* Floor sites of a strided sparse convolution or pooling (MinkowskiEngine, torchsparse): each coordinate is
 * floored to a multiple.
 *
 *   f(n)       = (b, floor(x[d] / multiples[d]) multiples[d]) for the site n, (b, x)
 *   floors     = the distinct f(n) in ascending lexicographic order: by b, then by the coordinates
 *   inverse[n] = the row of f(n) in floors
 *   num[0]     = the number of distinct f(n)
 *
 * | tensor    | shape      | dtype | layout |
 * |-----------|------------|-------|--------|
 * | sites     | [N, 1 + D] | INT32 | any    |
 * | multiples | [D]        | INT32 | any    |
 * | floors    | [N, 1 + D] | INT32 | any    |
 * | inverse   | [N]        | INT32 | any    |
 * | num       | [1]        | INT32 | any    |
 *
 * Units: as mluOpOmpReachedSites. floor() rounds to minus infinity: the floor of -1 to a multiple of 2 is -2.
 * Outputs: the call writes every element; the caller need not initialize them. Rows of floors from num[0] on are
 *   0. With N = 0, num is 0, and floors and inverse are empty: all data except num, and the workspace, may be
 *   null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 40 + 4 (1 + D) bytes a site.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      D is not from 1 to 7; an element of multiples is less than 1; a floor is below the range of
 *                  int32; workspace_size is less than the query returns, or workspace is null although the size
 *                  is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: rows are numbered by int32
 *
 * Definition: strided convolutions and pools of MinkowskiEngine, which computes the floor in fp32: from 2^24 on
 * its results differ. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpFloorSites(mluOpHandle_t handle, const mluOpTensorDescriptor_t sites_desc,
                                               const void* sites, const mluOpTensorDescriptor_t multiples_desc,
                                               const void* multiples, void* workspace, size_t workspace_size,
                                               const mluOpTensorDescriptor_t floors_desc, void* floors,
                                               const mluOpTensorDescriptor_t inverse_desc, void* inverse,
                                               const mluOpTensorDescriptor_t num_desc, void* num);

/* Writes the bytes of workspace that mluOpOmpFloorSites needs for sites_desc [N, 1 + D] and multiples_desc [D]; 0
 * if N is 0.
 * Returns BAD_PARAM if an argument is null, D is not from 1 to 7, or a descriptor is not as the operator requires;
 * NOT_SUPPORTED if N is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetFloorSitesWorkspaceSize(mluOpHandle_t handle,
                                                               const mluOpTensorDescriptor_t sites_desc,
                                                               const mluOpTensorDescriptor_t multiples_desc,
                                                               size_t* workspace_size);

/* Corners of the cells of points among the sites of a sparse tensor (MinkowskiEngine, torchsparse), and their
 * weights in linear interpolation.
 *
 *   point n    = (b, p), site = (b', x); cells have the sizes strides[d] and start at their multiples
 *   c(n,j)[d]  = floor(p[d] / strides[d]) strides[d], plus strides[d] if bit D - 1 - d of j is set, 0 <= j < 2^D:
 *                with D = 3, j = 4 dx + 2 dy + dz
 *   corners[n,j] = the first row of sites that equals (round(b), c(n,j)); -1 if there is none
 *   weights[n,j] = the product over d of 1 - |p[d] - c(n,j)[d]| / strides[d], whether or not the site exists
 *
 * | tensor  | shape      | dtype | layout |
 * |---------|------------|-------|--------|
 * | points  | [N, 1 + D] | FLOAT | any    |
 * | sites   | [M, 1 + D] | INT32 | any    |
 * | strides | [D]        | INT32 | any    |
 * | corners | [N, 2^D]   | INT32 | any    |
 * | weights | [N, 2^D]   | FLOAT | any    |
 *
 * Units: a row of points or sites is a batch and D coordinates, D from 1 to 7; all may be negative. round() is to
 *   the nearest integer, ties to even. Coordinates of points and sites have the same unit.
 * Outputs: the call writes every element; the caller need not initialize them. Where an element of a point is NaN
 *   or infinite, or its rounded batch or a coordinate of any corner of its cell exceeds int32, all corners are -1
 *   and all weights 0. A point at a multiple of a stride has weight 0 for the upper corners along that axis. With
 *   N = 0 the outputs are empty: all data and the workspace may be null; with M = 0 all corners are -1.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set. Quotients, differences and products are computed in double, products in the order of d, and rounded once.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 29 + 4 (1 + D) bytes a point and
 *   40 bytes a site.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      D is not from 1 to 7; an element of strides is less than 1; workspace_size is less than the
 *                  query returns, or workspace is null although the size is not 0
 *   NOT_SUPPORTED  M is 2^31 or more: rows are numbered by int32
 *
 * Definition: MinkowskiInterpolation of MinkowskiEngine; calc_ti_weights of torchsparse, which then divides by the
 * sum of the weights of the sites that exist. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpCorners(mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc,
                                            const void* points, const mluOpTensorDescriptor_t sites_desc,
                                            const void* sites, const mluOpTensorDescriptor_t strides_desc,
                                            const void* strides, void* workspace, size_t workspace_size,
                                            const mluOpTensorDescriptor_t corners_desc, void* corners,
                                            const mluOpTensorDescriptor_t weights_desc, void* weights);

/* Writes the bytes of workspace that mluOpOmpCorners needs for points_desc [N, 1 + D], sites_desc [M, 1 + D] and
 * strides_desc [D]; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null, D is not from 1 to 7, or a descriptor is not as the operator requires;
 * NOT_SUPPORTED if M is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpOmpGetCornersWorkspaceSize(mluOpHandle_t handle,
                                                            const mluOpTensorDescriptor_t points_desc,
                                                            const mluOpTensorDescriptor_t sites_desc,
                                                            const mluOpTensorDescriptor_t strides_desc,
                                                            size_t* workspace_size);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* MLU_OP_OMP_H_ */
