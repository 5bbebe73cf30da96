/*
 * mlu_op.h: the MLU-OPS C API of the mluop-omp backend.
 *
 * Code written against MLU-OPS compiles with this header and links with libmluop_omp; operators then
 * run on the CPU, in a team of OMP_NUM_THREADS tasks. Valid C99 and C++17.
 *
 * Conventions that hold for every function
 *   - No function throws, aborts or prints, other than the log and MLUOP_GEN_CASE=3. A failing call returns a
 *     status, leaves its outputs unchanged, logs one line to stderr (MLUOP_LOG_LEVEL) and stores that line for
 *     mluOpOmpGetLastError(). The workspace may have changed.
 *   - A data pointer is a host pointer, aligned to its element type.
 *   - Execution is synchronous: when an operator returns, its outputs are complete.
 *   - Operators run in the default floating-point environment in every thread: round to nearest even, subnormal
 *     numbers kept, exceptions masked. The environments of the caller and of OpenMP's threads do not affect
 *     results, and are unchanged on return: rounding mode, flush-to-zero, exception masks and exception flags.
 *   - "The same bits" excepts the sign and the payload of a NaN that an addition or a product yields, which
 *     IEEE 754 does not specify. Operators that copy elements preserve both.
 *   - No function is a cancellation point of the calling thread. Messages do not depend on the locale. Functions
 *     other than operators may be called until the process ends, also from destructors of static objects and of
 *     thread-local data.
 *   - A call needs at most 64 KiB of the caller's stack.
 *   - dlclose() does not unload the shared library: threads of the OpenMP runtime outlive it.
 *   - A handle may be used from several threads: operators called on one handle run one after another,
 *     as on a queue. Operators on different handles run concurrently. Concurrent calls may read one
 *     descriptor; it must not be modified while one of them runs.
 *   - After fork(), the child process may use the library, with new and with inherited handles, if no other
 *     thread of the parent was in a call. If operators of the parent had used more than one thread, operators of
 *     the child run on one, with the same results: OpenMP runtimes do not support teams after fork(). With
 *     libgomp, this includes the parent's own parallel regions: if these had several threads, and operators had
 *     not, the child must set OMP_NUM_THREADS to 1 before it calls an operator.
 *
 * Environment, read by mluOpCreate and mluOpUpdateContextInformation; set-user-ID programs ignore all but OMP_*
 *   OMP_NUM_THREADS      number of tasks (cores) of a team; read by OpenMP itself
 *   MLUOP_OMP_MAX_THREADS
 *                        the maximum number of threads that run a team's tasks, 1 to 4096; default: native,
 *                        the number of processors that the process may use; device, a thread for each task.
 *                        If there are more tasks than threads, a thread runs several in turn.
 *   MLUOP_OMP_ALGORITHM  native (default) or device: the algorithm of new handles; see mluOpOmpSetAlgorithm
 *   MLUOP_OMP_DEVICE     mlu270, mlu290, mlu370 (default) or mlu590: the device whose architecture rules
 *                        and default NRAM size apply
 *   MLUOP_OMP_NRAM_KB    NRAM (scratch memory) of a task in KiB, 1 to 1048576; default: 640 for mlu370,
 *                        else 384
 *   MLUOP_OMP_SIMD       highest instruction set to use: generic (the baseline of the architecture), and on
 *                        x86 sse4, avx2, avx512, avx512bf16, which has AVX512-BF16 in addition, or amx, which
 *                        has AMX too; default and upper limit: the best that the machine has.
 *                        Read once per process. Other users of Highway in the process are not affected.
 *   MLUOP_OMP_TRACE      the file that a trace of all calls is written to, in the Chrome trace-event format;
 *                        "%p" stands for the process id; default: no trace. See mlu_op_omp.h
 *   MLUOP_GEN_CASE       0 (default) to 3: the recording of calls, and MLUOP_GEN_CASE_*; see mluOpSetGenCaseMode
 *   MLUOP_LOG_LEVEL      debug, info, warn, error (default) or off
 */
#ifndef MLU_OP_H_
#define MLU_OP_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The accelerator's runtime defines cnrtQueue_t if its header is on the include path. */
#if defined(__has_include)
#if __has_include(<cnrt.h>)
#include <cnrt.h>
#define MLUOP_OMP_HAS_CNRT
#endif
#endif

/* The version of the MLU-OPS API that this header follows. mlu_op_omp.h has the version of mluop-omp. */
#define MLUOP_MAJOR 1
#define MLUOP_MINOR 11
#define MLUOP_PATCHLEVEL 1
#define MLUOP_VERSION (MLUOP_MAJOR * 1000 + MLUOP_MINOR * 100 + MLUOP_PATCHLEVEL)

#ifndef MLUOP_WIN_API
#define MLUOP_WIN_API
#endif

/* Maximum number of dimensions of a tensor descriptor. */
#define MLUOP_DIM_MAX 8

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ---------------------------------------------------------------------------------------------------
 * Types
 * ------------------------------------------------------------------------------------------------ */

/* Status of a call. Each function below lists the values that it returns. A failing call returns ALLOC_FAILED
 * instead if there is no memory for its message. */
typedef enum {
  MLUOP_STATUS_SUCCESS = 0,           /* the call succeeded */
  MLUOP_STATUS_NOT_INITIALIZED = 1,   /* mluOpGetSparseConvolutionNumActOut only: a null argument */
  MLUOP_STATUS_ALLOC_FAILED = 2,      /* out of memory, or NRAM too small for the smallest tile */
  MLUOP_STATUS_BAD_PARAM = 3,         /* an argument violates a rule of the function */
  MLUOP_STATUS_INTERNAL_ERROR = 4,    /* a bug of the backend */
  MLUOP_STATUS_ARCH_MISMATCH = 5,     /* the operator does not exist on the device of MLUOP_OMP_DEVICE */
  MLUOP_STATUS_EXECUTION_FAILED = 6,  /* mluOpDestroySparseConvolutionDescriptor only: a null argument */
  MLUOP_STATUS_NOT_SUPPORTED = 7,     /* valid, but not implemented by design */
  MLUOP_STATUS_NUMERICAL_OVERFLOW = 8 /* a result does not fit the type of its output */
} mluOpStatus_t;

/* Order of the dimensions of a tensor. ARRAY: unspecified. */
typedef enum {
  MLUOP_LAYOUT_NCHW = 0,
  MLUOP_LAYOUT_NHWC = 1,
  MLUOP_LAYOUT_HWCN = 2,
  MLUOP_LAYOUT_NDHWC = 3,
  MLUOP_LAYOUT_ARRAY = 4,
  MLUOP_LAYOUT_NCDHW = 5,
  MLUOP_LAYOUT_TNC = 6,
  MLUOP_LAYOUT_NTC = 7,
  MLUOP_LAYOUT_NC = 8,
  MLUOP_LAYOUT_NLC = 9,
  MLUOP_LAYOUT_NCL = 10
} mluOpTensorLayout_t;

/* Type of an element. */
typedef enum {
  MLUOP_DTYPE_INVALID = 0,
  MLUOP_DTYPE_HALF = 1, /* IEEE 754 binary16 */
  MLUOP_DTYPE_FLOAT = 2,
  MLUOP_DTYPE_INT8 = 3,
  MLUOP_DTYPE_INT16 = 4,
  MLUOP_DTYPE_INT31 = 5, /* two int16 planes, 4 bytes an element */
  MLUOP_DTYPE_INT32 = 6,
  MLUOP_DTYPE_UINT8 = 7,
  MLUOP_DTYPE_BOOL = 8,
  MLUOP_DTYPE_INT64 = 9,
  MLUOP_DTYPE_UINT32 = 11,
  MLUOP_DTYPE_UINT64 = 12,
  MLUOP_DTYPE_UINT16 = 13,
  MLUOP_DTYPE_DOUBLE = 14,
  MLUOP_DTYPE_COMPLEX_HALF = 15,
  MLUOP_DTYPE_COMPLEX_FLOAT = 16,
  MLUOP_DTYPE_BFLOAT16 = 17 /* the upper 16 bits of IEEE 754 binary32 */
} mluOpDataType_t;

/* Reduction of a scatter. The operators' design documents use the REDUCEMODE names. */
typedef enum {
  MLUOP_REDUCE_DSUM = 0,
  MLUOP_REDUCE_DMEAN = 1,
  MLUOP_REDUCE_DMAX = 2,
  MLUOP_REDUCEMODE_SUM = MLUOP_REDUCE_DSUM,
  MLUOP_REDUCEMODE_MEAN = MLUOP_REDUCE_DMEAN,
  MLUOP_REDUCEMODE_MAX = MLUOP_REDUCE_DMAX
} mluOpReduceMode_t;

/* Permission to use atomics, which does not affect this backend: the native algorithm needs no atomics, and the
 * device algorithm always uses the atomics of the design document. See mluOpOmpSetAlgorithm. */
typedef enum {
  MLUOP_ATOMICS_NOT_ALLOWED = 1, /* default */
  MLUOP_ATOMICS_ALLOWED = 2
} mluOpAtomicsMode_t;

/* What the four numbers of a box are. */
typedef enum {
  MLUOP_NMS_BOX_DIAGONAL = 0, /* x1, y1, x2, y2: two opposite corners */
  MLUOP_NMS_BOX_CENTER = 1    /* x, y, width, height: the center and the sides */
} mluOpNmsBoxPointMode_t;

/* What mluOpNms writes for each kept box. */
typedef enum {
  MLUOP_NMS_OUTPUT_TARGET_INDICES = 0,              /* its index */
  MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1 = 1, /* its confidence and its four numbers: a row */
  MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_2 = 2, /* the same: a column */
  MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS = 3       /* its batch, class and index: a row */
} mluOpNmsOutputMode_t;

/* What a kept box does to the boxes that overlap it. This backend implements HARD_NMS. */
typedef enum {
  MLUOP_NMS_HARD_NMS = 0,         /* suppresses them */
  MLUOP_NMS_SOFT_NMS_LINEAR = 1,  /* multiplies their confidence by 1 - IoU */
  MLUOP_NMS_SOFT_NMS_GAUSSIAN = 2 /* multiplies their confidence by exp(-IoU^2 / (2 sigma)) */
} mluOpNmsMethodMode_t;

/* Without effect: see mluOpSetNmsDescriptor. */
typedef enum { MLUOP_NMS_ALGO_EXCLUDE_BOUNDARY = 0, MLUOP_NMS_ALGO_INCLUDE_BOUNDARY = 1 } mluOpNmsAlgo_t;

/* How accurate an operator should be. This backend computes the same for FAST and HIGH_PRECISION. */
typedef enum {
  MLUOP_COMPUTATION_FAST = 0,
  MLUOP_COMPUTATION_HIGH_PRECISION = 1,
  MLUOP_COMPUTATION_ULTRAHIGH_PRECISION = 2
} mluOpComputationPreference_t;

/* The base of a logarithm. */
typedef enum { MLUOP_LOG_E = 0, MLUOP_LOG_2 = 1, MLUOP_LOG_10 = 2 } mluOpLogBase_t;

/* How the losses of the elements are reduced. This backend implements NONE. */
typedef enum {
  MLUOP_LOSS_REDUCTION_NONE = 0,
  MLUOP_LOSS_REDUCTION_SUM = 1,
  MLUOP_LOSS_REDUCTION_MEAN = 2
} mluOpLossReduction_t;

/* What a pooling computes. This backend implements MAX. */
typedef enum {
  MLUOP_POOLING_MAX = 0,
  MLUOP_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1,
  MLUOP_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2,
  MLUOP_POOLING_FIXED = 3
} mluOpPoolingMode_t;

/* The memory to which the pointer of a scalar tensor points. This backend has host memory only: the mode decides
 * whether a descriptor without dimensions is valid. See mluOpSetTensorDescriptorPointerMode. */
typedef enum {
  MLUOP_POINTER_MODE_HOST = 0,
  MLUOP_POINTER_MODE_DEVICE = 1 /* default */
} mluOpPointerMode_t;

/* Rounding of a quantization. It has no effect: no operator quantizes. See mluOpSetQuantizeRoundMode. */
typedef enum {
  MLUOP_ROUND_HALF_TO_EVEN = 0, /* to the nearest, ties to even */
  MLUOP_ROUND_HALF_UP = 1,      /* to the nearest, ties towards +infinity */
  MLUOP_ROUND_HALF_OFF_ZERO = 2 /* to the nearest, ties away from 0 */
} mluOpQuantizeRoundMode_t;

/* Which factors a quantization has. No function takes this type. */
typedef enum {
  MLUOP_QUANTIZE_POSITION = 0,
  MLUOP_QUANTIZE_POSITION_SCALE = 1,
  MLUOP_QUANTIZE_POSITION_SCALE_OFFSET = 2
} mluOpQuantizeMode_t;

/* Whether NaN propagates. No function takes this type; each operator documents NaN. */
typedef enum { MLUOP_NOT_PROPAGATE_NAN = 0, MLUOP_PROPAGATE_NAN = 1 } mluOpNanPropagation_t;

/* Width of an index. No function takes this type. */
typedef enum { MLUOP_32BIT_INDICES = 0, MLUOP_16BIT_INDICES = 1 } mluOpIndicesType_t;

/* Order of the dimensions of sequence data: T time, N batch, B beam, C channel. */
typedef enum {
  MLUOP_SEQDATA_TNC = 0,
  MLUOP_SEQDATA_TNC_PACKED = 1,
  MLUOP_SEQDATA_NTC = 2,
  MLUOP_SEQDATA_NC = 3,
  MLUOP_SEQDATA_TNBC = 4,
  MLUOP_SEQDATA_TBNC = 5,
  MLUOP_SEQDATA_NBTC = 6, /* default */
  MLUOP_SEQDATA_NTBC = 7,
  MLUOP_SEQDATA_BNTC = 8,
  MLUOP_SEQDATA_BTNC = 9,
  MLUOP_SEQDATA_TN = 10,
  MLUOP_SEQDATA_NT = 11
} mluOpSeqDataLayout_t;

/* Attributes of an AdamW descriptor: see mluOpSetAdamWDescAttr. */
typedef enum {
  MLUOP_ADAMW_WEIGHT_DECAY = 0,
  MLUOP_ADAMW_GRAD_SCALE = 1,
  MLUOP_ADAMW_USE_NESTEROV = 2,
  MLUOP_ADAMW_NEED_REMOVE_NAN = 3
} mluOpAdamWDescAttribute_t;

/* The context of a team of tasks: device profile, algorithm, atomics mode, scratch memory and
 * queue. */
typedef struct mluOpContext* mluOpHandle_t;

/* Layout, element type, shape and strides of a tensor; the data are passed beside it. */
typedef struct mluOpTensorStruct* mluOpTensorDescriptor_t;

/* An array of tensors whose data are consecutive in one buffer, such as the weights of a recurrent network. */
typedef struct mluOpTensorSetStruct* mluOpTensorSetDescriptor_t;

/* A tensor of sequences: layout, element type, shape, lengths of the sequences, padding. */
typedef struct mluOpSeqDataStruct* mluOpSeqDataDescriptor_t;

/* A sparse convolution: spaces, filter, stride, padding, dilation, and the number of output sites that
 * mluOpGetIndicePairs found last. */
typedef struct mluOpSparseConvolutionStruct* mluOpSparseConvolutionDescriptor_t;

/* A non-maximum suppression: thresholds, format of the boxes, kind of output. */
typedef struct mluOpNmsStruct* mluOpNmsDescriptor_t;

/* The pooling of RoI align: bins, samples, scale and mode. */
typedef struct mluOpRoiAlignForwardStruct* mluOpRoiAlignForwardDescriptor_t;

/* A deformable convolution; mluOpDCNForward and its gradients only read it. */
typedef struct mluOpDCNStruct* mluOpDCNDescriptor_t;

/* A content-aware reassembly of features: size of the kernels, groups of channels, factor of the upsampling. */
typedef struct mluOpCarafeStruct* mluOpCarafeDescriptor_t;

/* The settings of AdamW in addition to the scalars of the call: weight decay, scale of the gradient, removal of
 * NaN. */
typedef struct mluOpAdamWStruct* mluOpAdamWDescriptor_t;

/* A Fourier transform: types, shapes, strides, lengths and constants; mluOpExecFFT only reads it. */
typedef struct mluOpFFTStruct* mluOpFFTPlan_t;

/* A queue of the accelerator's runtime. This backend stores and returns it, and does not use it. */
#ifndef MLUOP_OMP_HAS_CNRT
typedef struct cnrtQueue* cnrtQueue_t;
#endif

/* ---------------------------------------------------------------------------------------------------
 * Version and text
 * ------------------------------------------------------------------------------------------------ */

/* Writes the version of the MLU-OPS API that the library follows: MLUOP_MAJOR, MLUOP_MINOR, MLUOP_PATCHLEVEL. Null
 * pointers are skipped. mluOpOmpGetVersion writes the version of mluop-omp. */
void MLUOP_WIN_API mluOpGetLibVersion(int* major, int* minor, int* patch);

/* The name of a status, such as "MLUOP_STATUS_BAD_PARAM"; for any other value "MLUOP_STATUS_UNKNOWN".
 * The text is static: never null, must not be freed. */
const char* MLUOP_WIN_API mluOpGetErrorString(mluOpStatus_t status);

/* Writes the size of an element in bytes.
 * Returns BAD_PARAM if size is null, or dtype is MLUOP_DTYPE_INVALID or not a valid enumerator. */
mluOpStatus_t MLUOP_WIN_API mluOpGetSizeOfDataType(mluOpDataType_t dtype, size_t* size);

/* ---------------------------------------------------------------------------------------------------
 * Handle
 * ------------------------------------------------------------------------------------------------ */

/* Creates a handle: reads the environment (above), starts with MLUOP_ATOMICS_NOT_ALLOWED and a null
 * queue. Operators allocate NRAM and, where their section Memory states it, internal workspace. The handle keeps
 * them, NRAM for the most threads and workspace for the largest call so far, until mluOpDestroy or
 * mluOpOmpReleaseMemory.
 * Returns BAD_PARAM if handle is null or an environment variable has an invalid value (the message names
 * it), ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreate(mluOpHandle_t* handle);

/* Frees the handle and its memory. No call may use it at that time.
 * Returns BAD_PARAM if handle is null. */
mluOpStatus_t MLUOP_WIN_API mluOpDestroy(mluOpHandle_t handle);

/* Reads the environment again (above, except MLUOP_OMP_SIMD). The algorithm is set to MLUOP_OMP_ALGORITHM; atomics
 * mode and queue are kept.
 * Returns BAD_PARAM if handle is null or a variable has an invalid value, ALLOC_FAILED if out of memory; the
 * handle is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpUpdateContextInformation(mluOpHandle_t handle);

/* Stores a queue in the handle; null is allowed. Operators run synchronously and do not use it.
 * Returns BAD_PARAM if handle is null. */
mluOpStatus_t MLUOP_WIN_API mluOpSetQueue(mluOpHandle_t handle, cnrtQueue_t queue);

/* Writes the queue stored last, or null if none was stored.
 * Returns BAD_PARAM if handle or queue is null. */
mluOpStatus_t MLUOP_WIN_API mluOpGetQueue(mluOpHandle_t handle, cnrtQueue_t* queue);

/* Sets whether operators may use atomics. Operators ignore it: the native algorithm needs no atomics, and the
 * device algorithm always uses the atomics of the design document.
 * Returns BAD_PARAM if handle is null or atomics_mode is not a valid enumerator. */
mluOpStatus_t MLUOP_WIN_API mluOpSetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t atomics_mode);

/* Writes the atomics mode set last, MLUOP_ATOMICS_NOT_ALLOWED if none was set.
 * Returns BAD_PARAM if handle or atomics_mode is null. */
mluOpStatus_t MLUOP_WIN_API mluOpGetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t* atomics_mode);

/* Sets how quantizations round. No operator quantizes.
 * Returns BAD_PARAM if handle is null, round_mode is not a valid enumerator, or round_mode is
 * MLUOP_ROUND_HALF_TO_EVEN and the device is mlu270 or mlu290, which lack this mode. */
mluOpStatus_t MLUOP_WIN_API mluOpSetQuantizeRoundMode(mluOpHandle_t handle, mluOpQuantizeRoundMode_t round_mode);

/* Writes the mode that was set last. Default: MLUOP_ROUND_HALF_TO_EVEN; MLUOP_ROUND_HALF_OFF_ZERO on mlu270 and
 * mlu290.
 * Returns BAD_PARAM if handle or round_mode is null. */
mluOpStatus_t MLUOP_WIN_API mluOpGetQuantizeRoundMode(mluOpHandle_t handle, mluOpQuantizeRoundMode_t* round_mode);

/* ---------------------------------------------------------------------------------------------------
 * Recording
 *
 * With MLUOP_GEN_CASE, each operator call that succeeds is recorded as an operator case of MLU-OPS, a protobuf
 * message in text format:
 *   <directory>/gen_case/<op>/<op>_<time>_tid<thread>_device0.prototxt
 * <op> is voxel_pooling_forward, for example; the time is in UTC.
 * `mluop_case run FILE` replays it. The case has the id, shape, layout, data type and elements of each tensor, and
 * the other parameters. Outputs that a call reads or leaves in part have their elements before the call, too, as
 * `initial`; with the device algorithm it has the number of tasks, as `omp_settings`.
 * A case file is complete when it appears; raw files are beside it. Recording does not affect results or statuses:
 * a failure is logged, once for a handle, and leaves no file. If a call ends the process, its inputs remain in
 * <case>.prototxt.tmp.
 *
 * Environment, read with the variables above
 *   MLUOP_GEN_CASE       0 (default): off; 1: without elements; 2: with elements; 3: as 1, but printed to stderr,
 *                        at every MLUOP_LOG_LEVEL
 *   MLUOP_GEN_CASE_DIR   the directory of gen_case, created if it does not exist; default: the working directory.
 *                        The first {pid} stands for "pid" and the number of the process, the first {deviceid} for
 *                        "deviceid0". See mluOpSetGenCaseDirectory
 *   MLUOP_GEN_CASE_OP_NAME
 *                        the operators to record, as in "ball_query;voxelization", or those to leave out, as in
 *                        "-ball_query;-voxelization"; default: all operators are recorded
 *   MLUOP_GEN_CASE_DUMP_DATA, MLUOP_GEN_CASE_DUMP_DATA_OUTPUT
 *                        elements of inputs, and of outputs: 0 none; 1 decimal, without sign and payload of NaN;
 *                        2 hexadecimal: the bits; INT32 is always decimal. Default: as 2, but tensors of more than
 *                        65536 elements are in raw files
 *   MLUOP_GEN_CASE_DUMP_DATA_FILE
 *                        1: the elements of each tensor are in a raw little-endian file; default: 0
 * ------------------------------------------------------------------------------------------------ */

/* Sets the mode, 0 to 3 as MLUOP_GEN_CASE, of all handles of the process; any other value is 0. From the next
 * operator call on it takes precedence over MLUOP_GEN_CASE; the other variables hold. May be called at any time,
 * from any thread. */
void MLUOP_WIN_API mluOpSetGenCaseMode(int mode);

/* Sets the directory of recorded calls for all handles of the process; "" is the working directory. The string is
 * copied. From the next operator call on, the directory takes precedence over MLUOP_GEN_CASE_DIR. May be called at
 * any time, from any thread.
 * Returns BAD_PARAM if path is null, ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpSetGenCaseDirectory(const char* path);

/* Returns the directory of recorded calls, the path that precedes gen_case/<op>: the directory that was set last,
 * else MLUOP_GEN_CASE_DIR as it is now, else the working directory, with {pid} and {deviceid} replaced. The path
 * is written to buffer, which has bufferSize bytes and is returned. If buffer is null, the path is returned in
 * memory from malloc(), which the caller frees. Writes the length without the terminator to pathLen, and the
 * status of the call to status, unless these are null.
 * Failures, with pathLen 0: BAD_PARAM if bufferSize is not greater than the length; buffer is then returned,
 * unwritten. INTERNAL_ERROR if the working directory does not exist, ALLOC_FAILED if out of memory; null is then
 * returned. */
const char* MLUOP_WIN_API mluOpGetGenCaseDirectory(char* buffer, size_t bufferSize, size_t* pathLen,
                                                   mluOpStatus_t* status);

/* ---------------------------------------------------------------------------------------------------
 * Tensor descriptor
 *
 * Dimensions run from the slowest (0) to the fastest. Strides count elements. Functions with the suffix _v2 take
 * int64_t, the others int.
 * ------------------------------------------------------------------------------------------------ */

/* Creates an empty descriptor: no dimensions, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INVALID, and the defaults below.
 * Returns BAD_PARAM if desc is null, ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateTensorDescriptor(mluOpTensorDescriptor_t* desc);

/* Frees a descriptor. Returns BAD_PARAM if desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyTensorDescriptor(mluOpTensorDescriptor_t desc);

/* Resets a descriptor to the state of a new one. Returns BAD_PARAM if desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpResetTensorDescriptor(mluOpTensorDescriptor_t desc);

/* Sets layout, element type and shape, with the strides of a contiguous tensor. Shape and layout are independent
 * here: the operator that takes the tensor checks the layout. On-chip data type, factors of a quantization and
 * pointer mode are kept.
 * Returns BAD_PARAM if desc or dimSize is null, layout or dtype is not a valid enumerator, dimNb is outside [1,
 * MLUOP_DIM_MAX] (0 is allowed in MLUOP_POINTER_MODE_HOST), a dimension is negative, or the number of bytes (each
 * dimension counted as at least 1) exceeds int64_t. The descriptor is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptor(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                     mluOpDataType_t dtype, int dimNb, const int dimSize[]);
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptor_v2(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                        mluOpDataType_t dtype, int dimNb, const int64_t dimSize[]);

/* As mluOpSetTensorDescriptor, with explicit strides. An operator requires contiguous tensors and returns
 * NOT_SUPPORTED for others, unless its section says which strides it accepts (strides of a dimension of size 1,
 * and of a tensor without elements, are ignored).
 * Returns BAD_PARAM as mluOpSetTensorDescriptor does, and if dimStride is null, a stride is negative, or the bytes
 * that the strides span exceed int64_t. */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorEx(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                       mluOpDataType_t dtype, int dimNb, const int dimSize[],
                                                       const int dimStride[]);
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorEx_v2(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                          mluOpDataType_t dtype, int dimNb,
                                                          const int64_t dimSize[], const int64_t dimStride[]);

/* Sets the shape, with the strides of a contiguous tensor; layout and element type are kept.
 * Returns BAD_PARAM as mluOpSetTensorDescriptor does for desc, dimNb and dimSize. */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorDim(mluOpTensorDescriptor_t desc, int dimNb,
                                                        const int* dimSize);
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorDim_v2(mluOpTensorDescriptor_t desc, int dimNb,
                                                           const int64_t* dimSize);

/* Reads a descriptor. An output pointer may be null: it is skipped. dimSize must have room for dimNb
 * values, at most MLUOP_DIM_MAX.
 * Returns BAD_PARAM if desc is null, and, without _v2, NUMERICAL_OVERFLOW if a value to be written exceeds int;
 * nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptor(const mluOpTensorDescriptor_t desc,
                                                     mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                                     int* dimNb, int dimSize[]);
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptor_v2(const mluOpTensorDescriptor_t desc,
                                                        mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                                        int* dimNb, int64_t dimSize[]);

/* As mluOpGetTensorDescriptor, with the strides. */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorEx(const mluOpTensorDescriptor_t desc,
                                                       mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                                       int* dimNb, int dimSize[], int dimStride[]);
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorEx_v2(const mluOpTensorDescriptor_t desc,
                                                          mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                                          int* dimNb, int64_t dimSize[], int64_t dimStride[]);

/* Returns the number of elements: the product of the dimensions; 1 for a scalar, which was set with 0 dimensions;
 * 0 for a descriptor without a shape and for null. */
size_t MLUOP_WIN_API mluOpGetTensorElementNum(const mluOpTensorDescriptor_t desc);

/* Set and get the on-chip data type: the type in which the device computes. Default, also after a reset:
 * MLUOP_DTYPE_INVALID, which means unset and is a valid argument. Only mluOpMakeFFTPlanMany and
 * mluOpIndiceConvolutionBackwardFilter read the type. (The header of MLU-OPS states BAD_PARAM for getting an unset
 * type; its code and this backend write MLUOP_DTYPE_INVALID.)
 * Returns BAD_PARAM if a pointer is null or onchip_dtype is not a valid enumerator. */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorOnchipDataType(mluOpTensorDescriptor_t desc,
                                                                   mluOpDataType_t onchip_dtype);
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorOnchipDataType(const mluOpTensorDescriptor_t desc,
                                                                   mluOpDataType_t* onchip_dtype);

/* Set and get the factors of a quantization, value = (q - offset) * 2^position / scale. Every number is valid.
 * Defaults, also after a reset: position 0, scale 1, offset 0. A setter changes only the factors in its name. No
 * operator reads the factors.
 * Returns BAD_PARAM if a pointer is null; nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPosition(mluOpTensorDescriptor_t desc, int position);
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPosition(const mluOpTensorDescriptor_t desc, int* position);
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPositionAndScale(mluOpTensorDescriptor_t desc, int position,
                                                                     float scale);
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPositionAndScale(const mluOpTensorDescriptor_t desc,
                                                                     int* position, float* scale);
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPositionScaleAndOffset(mluOpTensorDescriptor_t desc,
                                                                           int position, float scale, int offset);
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPositionScaleAndOffset(const mluOpTensorDescriptor_t desc,
                                                                           int* position, float* scale,
                                                                           int* offset);

/* Set and get the pointer mode. Default, also after a reset: MLUOP_POINTER_MODE_DEVICE. With
 * MLUOP_POINTER_MODE_HOST, dimNb of the functions that set a shape may be 0: the tensor is then a scalar of
 * one element, and the arrays may be null. Changing the mode keeps the shape. Operators do not read the mode.
 * Returns BAD_PARAM if a pointer is null or pointer_mode is not a valid enumerator. */
mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPointerMode(mluOpTensorDescriptor_t desc,
                                                                mluOpPointerMode_t pointer_mode);
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPointerMode(const mluOpTensorDescriptor_t desc,
                                                                mluOpPointerMode_t* pointer_mode);

/* Create, set and destroy desc_num tensor descriptors. group_desc[i] points to the variable of descriptor i; all
 * variables must be distinct. group_dimSize holds the dimensions of all tensors, one tensor after another:
 * group_dimNb[0] numbers, then group_dimNb[1] numbers. A call changes all descriptors or, if it fails, none.
 * (MLU-OPS ignores failures of single descriptors, and creates descriptors without initializing them.)
 * Returns BAD_PARAM if desc_num is not positive, an array or a pointer in group_desc is null, a descriptor to be
 * set or destroyed is null, or a value violates a rule of mluOpSetTensorDescriptor: the message names the tensor;
 * ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                              const int desc_num);
mluOpStatus_t MLUOP_WIN_API mluOpSetGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                           const mluOpTensorLayout_t group_layout[],
                                                           const mluOpDataType_t group_dtype[],
                                                           const int group_dimNb[], const int group_dimSize[],
                                                           const int desc_num);
mluOpStatus_t MLUOP_WIN_API mluOpDestroyGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                               const int desc_num);

/* ---------------------------------------------------------------------------------------------------
 * Tensor set descriptor
 *
 * An array of setDimSize[0] x ... x setDimSize[setDimNb - 1] tensors, the members. Their data are consecutive in
 * one buffer in row-major order of the members, without padding. tensorIndex holds the setDimNb indices of a
 * member, each from 0 on. No operator takes a tensor set.
 * ------------------------------------------------------------------------------------------------ */

/* Creates a set whose members are empty descriptors, and destroys it with its members.
 * Returns BAD_PARAM if a pointer is null, setDimNb or an element of setDimSize is not positive, or the set has
 * 2^31 members or more; ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateTensorSetDescriptor(mluOpTensorSetDescriptor_t* tensorSetDesc,
                                                           const int setDimNb, const int setDimSize[]);
mluOpStatus_t MLUOP_WIN_API mluOpDestroyTensorSetDescriptor(mluOpTensorSetDescriptor_t tensorSetDesc);

/* Writes the number of dimensions of the set and their sizes. setDimSize must have room for all.
 * Returns BAD_PARAM if a pointer is null. */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorSetDescriptor(mluOpTensorSetDescriptor_t tensorSetDesc, int* setDimNb,
                                                        int setDimSize[]);

/* Sets a member, as mluOpSetTensorDescriptor and mluOpSetTensorDescriptorPositionAndScale do.
 * Returns BAD_PARAM if tensorSetDesc or tensorIndex is null, setDimNb is not the number of dimensions of the set,
 * an index is outside its dimension, or an argument of the member violates a rule of these functions. The set is
 * then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpInitTensorSetMemberDescriptor(mluOpTensorSetDescriptor_t tensorSetDesc,
                                                               const int setDimNb, const int tensorIndex[],
                                                               mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                                               const int dimNb, const int dimSize[]);
mluOpStatus_t MLUOP_WIN_API
mluOpInitTensorSetMemberDescriptorPositionAndScale(mluOpTensorSetDescriptor_t tensorSetDesc, const int setDimNb,
                                                   const int tensorIndex[], const int position, const float scale);

/* Writes the size of the buffer: the bytes of all members. A member that is not set has 0 bytes.
 * Returns BAD_PARAM if a pointer is null, NOT_SUPPORTED if the size exceeds int. */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorSetDescriptorSize(mluOpTensorSetDescriptor_t tensorSetDesc,
                                                            int* sizeInBytes);

/* Writes the descriptor of a member and the address of its data: data, the buffer of the set, plus the bytes of
 * all members before it. The descriptor belongs to the set: it must not be destroyed, and is valid as long as the
 * set.
 * Returns BAD_PARAM if a pointer is null, setDimNb is not the number of dimensions of the set, or an index is
 * outside its dimension; NOT_SUPPORTED if the offset in bytes exceeds int64_t. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetTensorAndDataFromTensorSet(mluOpTensorSetDescriptor_t tensorSetDesc,
                                                               const int setDimNb, const int tensorIndex[],
                                                               void* data, mluOpTensorDescriptor_t* tensorDesc,
                                                               void** dataAddrInDevice);

/* ---------------------------------------------------------------------------------------------------
 * Sequence data descriptor
 *
 * A padded tensor that holds sequences of different lengths. No operator takes sequence data.
 * ------------------------------------------------------------------------------------------------ */

/* Creates a descriptor: MLUOP_SEQDATA_NBTC, MLUOP_DTYPE_FLOAT, no dimensions, no lengths, no padding.
 * Returns BAD_PARAM if seq_data_desc is null, ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateSeqDataDescriptor(mluOpSeqDataDescriptor_t* seq_data_desc);

/* Frees a descriptor. Returns BAD_PARAM if seq_data_desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpDestroySeqDataDescriptor(mluOpSeqDataDescriptor_t seq_data_desc);

/* Sets all values except position and scale. seqLengthArray holds the lengths of the sequences, batch first, then
 * beam; null: only their number is stored. paddingFill points to an element of type dtype, which is copied; null:
 * none. (MLU-OPS stores the pointer.) dimNb is not compared with layout, nor seqLengthArraySize with the
 * dimensions.
 * Returns BAD_PARAM if seq_data_desc or dimSize is null, layout or dtype is not a valid enumerator or dtype is
 * MLUOP_DTYPE_INVALID, dimNb is not positive, a dimension or seqLengthArraySize is negative, a length is not
 * positive, or the number of bytes (each dimension counted as at least 1) exceeds int64_t; ALLOC_FAILED if out of
 * memory. The descriptor is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpSetSeqDataDescriptor_v2(mluOpSeqDataDescriptor_t seq_data_desc,
                                                         mluOpSeqDataLayout_t layout, mluOpDataType_t dtype,
                                                         int dimNb, const int64_t dimSize[],
                                                         int seqLengthArraySize, const int seqLengthArray[],
                                                         void* paddingFill);

/* Reads a descriptor. An output pointer may be null: it is skipped. The arrays must have room for dimNb and
 * seqLengthArraySize values. Lengths and padding that were not set are not written.
 * Returns BAD_PARAM if seq_data_desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpGetSeqDataDescriptor_v2(const mluOpSeqDataDescriptor_t seq_data_desc,
                                                         mluOpSeqDataLayout_t* layout, mluOpDataType_t* dtype,
                                                         int* dimNb, int64_t dimSize[],
                                                         int64_t* seqLengthArraySize, int64_t seqLengthArray[],
                                                         void* paddingFill);

/* Sets the factors of a quantization. Every number is valid. No function reads the factors.
 * Returns BAD_PARAM if seq_data_desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpSetSeqDataDescriptorPositionAndScale(mluOpSeqDataDescriptor_t seq_data_desc,
                                                                      int position, float scale);

/* ---------------------------------------------------------------------------------------------------
 * Sparse convolution descriptor
 * ------------------------------------------------------------------------------------------------ */

/* Creates a descriptor that is not set.
 * Returns BAD_PARAM if sparse_conv_desc is null, ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API
mluOpCreateSparseConvolutionDescriptor(mluOpSparseConvolutionDescriptor_t* sparse_conv_desc);

/* Frees a descriptor. Returns EXECUTION_FAILED if sparse_conv_desc is null. */
mluOpStatus_t MLUOP_WIN_API
mluOpDestroySparseConvolutionDescriptor(mluOpSparseConvolutionDescriptor_t sparse_conv_desc);

/* Sets the convolution; the number of output sites becomes 0. dimNb counts the dimensions of the dense tensor with
 * batch and channels: with 5 the arrays hold 3 values, along depth, height and width; with 4 they hold 2, along
 * height and width, and the rows of indices lack the depth. (The header of MLU-OPS allows 4, its code does not.)
 * sub_m: 0 for a regular convolution, any other value for a submanifold one. (The header of MLU-OPS states the
 * opposite; its code and mmcv agree with this backend.)
 * Returns BAD_PARAM if sparse_conv_desc or an array is null, dimNb is neither 4 nor 5, batch_size is not
 * positive, a value of pad is negative, a value of another array is not positive, or transpose or inverse is not
 * 0. The descriptor is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpSetSparseConvolutionDescriptor(
    mluOpSparseConvolutionDescriptor_t sparse_conv_desc, int dimNb, int batch_size, const int pad[],
    const int stride[], const int dilation[], const int input_space[], const int filter_space[],
    const int output_space[], const int sub_m, const int transpose, const int inverse);

/* Writes the number of output sites that the last successful mluOpGetIndicePairs with this descriptor found; 0 if
 * none has succeeded since the descriptor was set.
 * Returns NOT_INITIALIZED if an argument is null. */
mluOpStatus_t MLUOP_WIN_API mluOpGetSparseConvolutionNumActOut(mluOpSparseConvolutionDescriptor_t sparse_conv_desc,
                                                               int* num_act_out);

/* ---------------------------------------------------------------------------------------------------
 * NMS descriptor
 * ------------------------------------------------------------------------------------------------ */

/* Creates a descriptor that is not set.
 * Returns BAD_PARAM if desc is null, ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateNmsDescriptor(mluOpNmsDescriptor_t* desc);

/* Frees a descriptor. Returns BAD_PARAM if desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyNmsDescriptor(mluOpNmsDescriptor_t desc);

/* Sets the suppression that mluOpNms computes; its section explains the values. algo has no effect (MLU-OPS does
 * not pass it on either): offset alone decides whether boundaries are included. soft_nms_sigma and
 * pad_to_max_output_size have no effect: methods other than HARD_NMS are not supported, and outputs are always
 * padded with zeros. confidence_threshold may be any number; MLU-OPS accepts 0 to 1. NaN drops no box.
 * input_layout: 0 if the numbers of a box are adjacent (rows), 1 if each number is stored for all boxes before the
 * next (columns).
 * Returns BAD_PARAM if nms_desc is null, box_mode, output_mode, algo or method_mode is not a valid enumerator,
 * soft_nms_sigma is negative or NaN, max_output_size is negative, or offset or input_layout is neither 0 nor 1;
 * NOT_SUPPORTED if method_mode is not MLUOP_NMS_HARD_NMS. The descriptor is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpSetNmsDescriptor(
    mluOpNmsDescriptor_t nms_desc, const mluOpNmsBoxPointMode_t box_mode, const mluOpNmsOutputMode_t output_mode,
    const mluOpNmsAlgo_t algo, const mluOpNmsMethodMode_t method_mode, const float iou_threshold,
    const float soft_nms_sigma, const int max_output_size, const float confidence_threshold, const float offset,
    const int input_layout, const bool pad_to_max_output_size);

/* ---------------------------------------------------------------------------------------------------
 * RoI align descriptor
 * ------------------------------------------------------------------------------------------------ */

/* Creates a descriptor that is not set. Returns BAD_PARAM if desc is null, ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t* desc);

/* Frees a descriptor. Returns BAD_PARAM if desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t desc);

/* Sets the pooling that mluOpRoiAlignForward_v2 computes; its section explains the values.
 * Returns BAD_PARAM if roialign_desc is null, pooled_height or pooled_width is not positive, or pool_mode is
 * neither 0 nor 1. The descriptor is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpSetRoiAlignForwardDescriptor_v2(mluOpRoiAlignForwardDescriptor_t roialign_desc,
                                                                 const int pooled_height, const int pooled_width,
                                                                 const int sampling_ratio,
                                                                 const float spatial_scale, const int pool_mode,
                                                                 const bool aligned);

/* ---------------------------------------------------------------------------------------------------
 * DCN descriptor
 * ------------------------------------------------------------------------------------------------ */

/* Creates a descriptor that is not set. Returns BAD_PARAM if dcn_desc is null, ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateDCNDescriptor(mluOpDCNDescriptor_t* dcn_desc);

/* Frees a descriptor. Returns BAD_PARAM if dcn_desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyDCNDescriptor(mluOpDCNDescriptor_t dcn_desc);

/* Sets the convolution that mluOpDCNForward and its gradients compute; its section explains the values. pad has
 * four values: top, bottom, left and right; stride and dilation have two: along height and width. im2col_step
 * divides the images of the input; it has no effect on results.
 * Returns BAD_PARAM if dcn_desc or an array is null, dimNb is not 4, a pad is negative, a stride, dilation, group
 * or im2col_step is not positive, or compute_type is not FLOAT. The descriptor is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpSetDCNDescriptor(mluOpDCNDescriptor_t dcn_desc, int dimNb, const int pad[],
                                                  const int stride[], const int dilation[], int deformable_group,
                                                  int conv_group, int im2col_step,
                                                  const mluOpDataType_t compute_type);

/* ---------------------------------------------------------------------------------------------------
 * CARAFE descriptor
 * ------------------------------------------------------------------------------------------------ */

/* Creates a descriptor that is not set. Returns BAD_PARAM if carafe_desc is null, ALLOC_FAILED without memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateCarafeDescriptor(mluOpCarafeDescriptor_t* carafe_desc);

/* Frees a descriptor. Returns BAD_PARAM if carafe_desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc);

/* Sets the reassembly that mluOpCarafeForward and its gradient compute; its section explains the values.
 * Returns BAD_PARAM if carafe_desc is null, dimNb is not 4, kernel_size is not odd, or kernel_size, group_size or
 * scale_factor is not positive. The descriptor is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpSetCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc, const int dimNb,
                                                     const int kernel_size, const int group_size,
                                                     const int scale_factor);

/* ---------------------------------------------------------------------------------------------------
 * AdamW descriptor
 *
 * A descriptor may be used by several threads as long as none of them modifies it. A new descriptor has the
 * default attributes: mluOpAdamW accepts it.
 * ------------------------------------------------------------------------------------------------ */

/* Creates a descriptor. Destroy it with mluOpDestroyAdamWDescriptor.
 * Returns BAD_PARAM if adamw_desc is null, ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateAdamWDescriptor(mluOpAdamWDescriptor_t* adamw_desc);

/* Frees a descriptor. Returns BAD_PARAM if adamw_desc is null. */
mluOpStatus_t MLUOP_WIN_API mluOpDestroyAdamWDescriptor(mluOpAdamWDescriptor_t adamw_desc);

/* Sets an attribute to the value at buf, which may have any address. mluOpAdamW explains the attributes.
 *
 * | attr                        | value at buf | default |
 * |-----------------------------|--------------|---------|
 * | MLUOP_ADAMW_WEIGHT_DECAY    | float        | 0       |
 * | MLUOP_ADAMW_GRAD_SCALE      | float        | 1       |
 * | MLUOP_ADAMW_USE_NESTEROV    | bool         | false   |
 * | MLUOP_ADAMW_NEED_REMOVE_NAN | bool         | false   |
 *
 * Returns BAD_PARAM if adamw_desc or buf is null, attr is not a valid enumerator, size_in_bytes is not the size of
 * the value, or the byte of a bool is not 0 or 1. The descriptor is then unchanged. */
mluOpStatus_t MLUOP_WIN_API mluOpSetAdamWDescAttr(mluOpAdamWDescriptor_t adamw_desc,
                                                  mluOpAdamWDescAttribute_t attr, const void* buf,
                                                  const size_t size_in_bytes);

/* ---------------------------------------------------------------------------------------------------
 * Operators
 *
 * Statuses that every operator returns
 *   BAD_PARAM      handle or a descriptor is null; a data pointer of a non-empty tensor is null; an element type,
 *                  number of dimensions, shape or layout is not the one listed; an output overlaps an input,
 *                  another output or the workspace, or the workspace overlaps an input, unless the section of the
 *                  operator allows it; a size in bytes exceeds int64_t
 *   NOT_SUPPORTED  a tensor is not contiguous, unless the section of the operator says otherwise
 *   ALLOC_FAILED   out of memory, or MLUOP_OMP_NRAM_KB is too small for the smallest tile
 *   INTERNAL_ERROR a bug of the backend
 * The first of several violations is reported: null pointers other than the workspace, then the device, then the
 * other rules. Where a section states that inputs may be null because there is nothing to compute, inputs and
 * workspace are not accessed: outputs may overlap them. A workspace may overlap inputs if the query returns 0. The
 * stated bytes of workspace for each point or box hold for large inputs; small inputs need padding in addition.
 *
 * A call that returns SUCCESS has written every element of every output, with zeros where a sum is empty, except
 * elements that the section of the operator lists as left unchanged. Where MLU-OPS leaves elements unchanged that
 * this backend writes, the section says so.
 *
 * native and device are the algorithms of a handle: see mluOpOmpSetAlgorithm. Both have the same rules and
 * statuses, except the rules that name the device algorithm. Workspace queries answer for the algorithm of the
 * handle; query again after a change.
 *
 * HALF and BFLOAT16 are converted to fp32 and computed as FLOAT, unless the section of the operator states
 * otherwise. Results are rounded once, to nearest even: subnormal numbers are kept, magnitudes beyond the largest
 * number become infinite, and NaN becomes a quiet NaN. Elements that are copied keep their bits. BFLOAT16 is an
 * extension of this backend: MLU-OPS accepts it in few operators, in later releases.
 * ------------------------------------------------------------------------------------------------ */

/* Voxel pooling forward (BEVDepth): sums the features of the points of each cell of a bird's-eye grid. Its
 * gradient is mluOpOmpVoxelPoolingBackward (mlu_op_omp.h).
 *
 *   A point p of batch b with geom_xyz[b,p] = (x, y, z) is in range if
 *     0 <= x < num_voxel_x, 0 <= y < num_voxel_y and 0 <= z < num_voxel_z.
 *   output_features[b,y,x,c] = sum over the points p of batch b in range at (x, y) of input_features[b,p,c]
 *   pos_memo[b,p]            = (b, y, x) if p is in range, else (-1, -1, -1)
 *
 * | tensor          | shape                                    | dtype                   | layout |
 * |-----------------|------------------------------------------|-------------------------|--------|
 * | geom_xyz        | [batch_size, num_points, 3]              | INT32                   | ARRAY  |
 * | input_features  | [batch_size, num_points, num_channels]   | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | output_features | [batch_size, num_voxel_y, num_voxel_x,   | as input_features       | ARRAY  |
 * |                 |  num_channels]                           |                         |        |
 * | pos_memo        | [batch_size, num_points, 3]              | INT32                   | ARRAY  |
 *
 * HALF and BFLOAT16 are extensions of this backend: MLU-OPS accepts FLOAT alone.
 *
 * Units: geom_xyz counts voxels; any int32 is valid. num_voxel_z bounds z only; the output has no z dimension.
 * Outputs: the call writes every element; the caller need not initialize them. NaN and infinity propagate
 *   through the additions. A sum that rounds above 65504 in magnitude is infinite in HALF.
 * Determinism: pos_memo is exact. Sums start at +0 and are rounded in fp32; for HALF and BFLOAT16 they are rounded
 *   once, at the end, to nearest even.
 *     native  the points of a cell are added in ascending order: FLOAT is bit-identical to the serial loop of the
 *             definition at every thread count; HALF and BFLOAT16 are its sums, rounded
 *     device  atomics add the points of a cell in any order; HALF and BFLOAT16 are summed in fp32 and differ from
 *             native only where the order of the additions changes the rounding
 * Memory: no workspace.
 *     native  the handle keeps 8 bytes a cell and up to 28 a point
 *     device  for HALF and BFLOAT16, the handle keeps 4 bytes an element of output_features
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      input_features is not FLOAT, HALF or BFLOAT16; output_features has another data type; a scalar
 *                  is not positive, or does not match a shape
 *   NOT_SUPPORTED  batch_size * num_points or batch_size * num_voxel_y * num_voxel_x is 2^31 or more: points and
 *                  cells are numbered by int32; with the device algorithm, a tensor has 2^31 elements or more: the
 *                  device numbers elements by int32
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document voxel_pooling_forward; BEVDepth, arXiv:2206.10092. */
mluOpStatus_t MLUOP_WIN_API
mluOpVoxelPoolingForward(mluOpHandle_t handle, const int batch_size, const int num_points, const int num_channels,
                         const int num_voxel_x, const int num_voxel_y, const int num_voxel_z,
                         const mluOpTensorDescriptor_t geom_xyz_desc, const void* geom_xyz,
                         const mluOpTensorDescriptor_t input_features_desc, const void* input_features,
                         const mluOpTensorDescriptor_t output_features_desc, void* output_features,
                         const mluOpTensorDescriptor_t pos_memo_desc, void* pos_memo);

/* Voxelization (mmcv, spconv: hard voxelization): collects the points of each cell of a grid.
 *
 *   Along each axis x, y, z, in fp32: cells = round((max - min) / voxel_size), half away from zero, and
 *     the cell of a point is floor((p - min) / voxel_size); in range if 0 <= cell < cells along all axes.
 *   The voxels are the cells with a point in range, in the order of their first points, at most max_voxels.
 *   voxels[v,i,:]           = the i-th point of voxel v, ascending, if i < num_points_per_voxel[v]; else 0
 *   coors[v,:]              = the cell of voxel v: z, y, x
 *   num_points_per_voxel[v] = the number of its points, at most max_points
 *   voxel_num[0]            = the number of voxels
 *
 * | tensor               | shape                       | dtype | layout |
 * |----------------------|-----------------------------|-------|--------|
 * | points               | [N, F]: x, y, z, others     | FLOAT | any    |
 * | voxel_size           | [3]: x, y, z                | FLOAT | any    |
 * | coors_range          | [6]: minima, then maxima    | FLOAT | any    |
 * | voxels               | [max_voxels, max_points, F] | FLOAT | any    |
 * | coors                | [max_voxels, 3]             | INT32 | any    |
 * | num_points_per_voxel | [max_voxels]                | INT32 | any    |
 * | voxel_num            | [1]                         | INT32 | any    |
 *
 * Units: coors count cells from the minima. A coordinate that is NaN or infinite is out of range. An axis whose
 *   maximum is not above its minimum has no cells.
 * Outputs: the call writes every element; the caller need not initialize them. Elements past the points of a
 *   voxel, or past the last voxel, are 0. Points are copied bit for bit.
 *   max_points = 0: voxels has no elements and num_points_per_voxel is 0; coors and voxel_num are as above.
 *   max_voxels = 0: voxel_num[0] is 0, the other outputs have no elements; inputs and workspace may be null, and
 *   the query writes 0. MLU-OPS leaves every output unchanged in both cases.
 * Determinism: the result is exact: identical to the serial loop over the points at every thread count. As in
 *   mmcv, coordinates are divided by voxel_size; the device multiplies by 1 / voxel_size.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 33 bytes a point. It depends
 *   on N only.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      N is 0, or F less than 3; NDim is not 3; deterministic is false; max_points or max_voxels is
 *                  negative; an element of voxel_size is not positive and finite, or an element of coors_range is
 *                  not finite: the message names the first; size is null; workspace_size is less than the query
 *                  returns, or workspace is null although the size is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: points are numbered by int32; an axis has more than 2^31 cells: coors are
 *                  int32; the grid has more than 2^62 cells: cells are numbered by int64
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document voxelization; mmcv voxelization; VoxelNet, arXiv:1711.06396. */
mluOpStatus_t MLUOP_WIN_API mluOpGetVoxelizationWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc, const mluOpTensorDescriptor_t voxel_size_desc,
    const mluOpTensorDescriptor_t coors_range_desc, const int32_t max_points, const int32_t max_voxels,
    const int32_t NDim, const bool deterministic, const mluOpTensorDescriptor_t voxels_desc,
    const mluOpTensorDescriptor_t coors_desc, const mluOpTensorDescriptor_t num_points_per_voxel_desc,
    const mluOpTensorDescriptor_t voxel_num_desc, size_t* size);
mluOpStatus_t MLUOP_WIN_API mluOpVoxelization(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc, const void* points,
    const mluOpTensorDescriptor_t voxel_size_desc, const void* voxel_size,
    const mluOpTensorDescriptor_t coors_range_desc, const void* coors_range, const int32_t max_points,
    const int32_t max_voxels, const int32_t NDim, const bool deterministic, void* workspace, size_t workspace_size,
    const mluOpTensorDescriptor_t voxels_desc, void* voxels, const mluOpTensorDescriptor_t coors_desc, void* coors,
    const mluOpTensorDescriptor_t num_points_per_voxel_desc, void* num_points_per_voxel,
    const mluOpTensorDescriptor_t voxel_num_desc, void* voxel_num);

/* IoU of axis-aligned boxes (mmcv bbox_overlaps): the overlap of each pair of boxes.
 *
 *   A box is x1, y1, x2, y2. With o = offset, each operation rounded to fp32 in this order:
 *     I(A, B) = max(min(x2 of both) - max(x1 of both) + o, 0) max(min(y2 of both) - max(y1 of both) + o, 0)
 *     area(A) = (x2 - x1 + o) (y2 - y1 + o)
 *     of(A, B) = I / max(area(A) + area(B) - I, o) if mode is 0: intersection over union
 *              = I / max(area(A), o)               if mode is 1: intersection over foreground
 *   ious[n,m] = of(bbox1[n], bbox2[m]), or, if aligned, ious[n] = of(bbox1[n], bbox2[n])
 *
 * | tensor | shape                  | dtype                 | layout |
 * |--------|------------------------|-----------------------|--------|
 * | bbox1  | [N, 4]: x1, y1, x2, y2 | HALF, FLOAT, BFLOAT16 | any    |
 * | bbox2  | [M, 4]; aligned [N, 4] | as bbox1              | any    |
 * | ious   | [N, M]; aligned [N]    | as bbox1              | any    |
 *
 * Units: all coordinates share one unit; offset is 0 or 1 of it.
 * Outputs: the call writes every element of ious; the caller need not initialize them. NaN propagates. Two boxes
 *   of area 0 have an IoU of NaN if offset is 0. The formula also holds for boxes with x2 < x1 or y2 < y1.
 *   If N or M is 0, ious has no elements: data may be null. With zero boxes, the column count of bbox1 or bbox2 is
 *   unchecked.
 * Determinism: the result is the same at every thread count, in every run and on every instruction set. HALF and
 *   BFLOAT16 are computed in fp32 and rounded once. MLU-OPS computes HALF in half, in which areas above 65504 are
 *   infinite.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 16 bytes a box of bbox2, unless aligned.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  mode or offset is neither 0 nor 1
 *
 * Definition: MLU-OPS design document bbox_overlaps; mmcv bbox_overlaps. */
mluOpStatus_t MLUOP_WIN_API mluOpBboxOverlaps(mluOpHandle_t handle, const int mode, const bool aligned,
                                              const int offset, const mluOpTensorDescriptor_t bbox1_desc,
                                              const void* bbox1, const mluOpTensorDescriptor_t bbox2_desc,
                                              const void* bbox2, const mluOpTensorDescriptor_t ious_desc,
                                              void* ious);

/* IoU of rotated boxes (mmcv box_iou_rotated): the overlap of each pair of boxes in a plane.
 *
 *   A box (x, y, w, h, a) is the rectangle with center (x, y), of width w and height h, turned by a:
 *     its corners are (x + u cos a - v sin a, y + u sin a + v cos a) with u = -w/2, w/2 and v = -h/2, h/2.
 *   area(A) = w h; 0 if w or h is not positive: the box is empty
 *   I(A, B) = the area of the intersection of both rectangles, at most area(A) and area(B)
 *   of(A, B) = I / (area(A) + area(B) - I) if mode is 0: intersection over union
 *            = I / area(A)                 if mode is 1: intersection over foreground
 *   ious[n,m] = of(bbox1[n], bbox2[m]), or, if aligned, ious[n] = of(bbox1[n], bbox2[n])
 *
 * | tensor | shape                  | dtype | layout |
 * |--------|------------------------|-------|--------|
 * | bbox1  | [N, 5]: x, y, w, h, a  | FLOAT | any    |
 * | bbox2  | [M, 5]; aligned [N, 5] | FLOAT | any    |
 * | ious   | [N, M]; aligned [N]    | FLOAT | any    |
 *
 * Units: a is in radians, from the x axis to the y axis: counter-clockwise if y points up. x, y, w and h share one
 *   unit.
 * Outputs: the call writes every element of ious; the caller need not initialize them. An element is 0 if the area
 *   of either box is less than 1e-14; else NaN if an area is NaN; else 0 if a number of either box is NaN or
 *   infinite. mmcv and MLU-OPS treat two negative sides as positive.
 *   If N or M is 0, ious has no elements: data may be null. With zero boxes, the column count of bbox1 or bbox2 is
 *   unchecked.
 * Determinism: the result is the same at every thread count, in every run and on every instruction set. It is
 *   computed in double and rounded once: the relative error is about 1e-7 unless the overlap is tiny. mmcv's
 *   kernels compute in fp32 with absolute tolerances: they agree within 1e-6, except for boxes with nearly
 *   parallel edges and for boxes below a millimeter, where they return values up to 3.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 80 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      mode is neither 0 nor 1
 *   NOT_SUPPORTED  N or M is 2^31 or more
 *
 * Definition: MLU-OPS design document box_iou_rotated; mmcv box_iou_rotated; arXiv:1703.01086. */
mluOpStatus_t MLUOP_WIN_API mluOpBoxIouRotated(mluOpHandle_t handle, const int mode, const bool aligned,
                                               const mluOpTensorDescriptor_t bbox1_desc, const void* bbox1,
                                               const mluOpTensorDescriptor_t bbox2_desc, const void* bbox2,
                                               const mluOpTensorDescriptor_t ious_desc, void* ious);

/* NMS of rotated boxes (mmcv nms_rotated): keeps the higher-scoring of overlapping boxes.
 *
 *   Boxes are visited in descending order of score. A box is kept unless its IoU with a box kept earlier, as
 *   mluOpBoxIouRotated computes it with mode 0, is greater than iou_threshold.
 *   Ties: the lower index comes first. NaN sorts before all numbers.
 *   output[0 .. result_num[0] - 1] = the indices of the boxes that are kept, in this order
 *
 * | tensor     | shape                                        | dtype | layout |
 * |------------|----------------------------------------------|-------|--------|
 * | boxes      | [N, 5]: x, y, w, h, a; or [N, 6] with labels | FLOAT | any    |
 * | scores     | [N]                                          | FLOAT | any    |
 * | output     | [N]                                          | INT32 | any    |
 * | result_num | one number, without descriptor               | INT32 |        |
 *
 * Units: as mluOpBoxIouRotated. Labels are not read, as in MLU-OPS and mmcv: boxes of all classes suppress
 *   each other.
 * Outputs: the call writes every element: output is 0 from result_num[0] on. N = 0: result_num[0] is 0; data and
 *   workspace may be null, and dim 1 of boxes is unchecked. MLU-OPS leaves the elements of output from
 *   result_num[0] on unchanged, and result_num if N is 0.
 *   A box with a NaN or infinite number, or with an area less than 1e-14, overlaps no other box: its IoU is 0, or
 *   NaN where mluOpBoxIouRotated states NaN. If iou_threshold is negative, an IoU of 0 suppresses too; NaN does
 *   not. If iou_threshold is NaN, no box is suppressed. Boxes with score -infinity are kept; the device omits
 *   them.
 * Determinism: the result is exact: identical to the serial definition at every thread count. mmcv's CPU kernel
 *   also suppresses if the IoU equals the threshold; its CUDA and MLU kernels do not.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 100 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      dim 1 of boxes is neither 5 nor 6; result_num is null; workspace_size is less than the query
 *                  returns, or workspace is null although the size is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: boxes are numbered by int32
 *
 * Definition: MLU-OPS design document nms_rotated; mmcv nms_rotated; arXiv:1703.01086. */
mluOpStatus_t MLUOP_WIN_API mluOpNmsRotated(mluOpHandle_t handle, const float iou_threshold,
                                            const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                            const mluOpTensorDescriptor_t scores_desc, const void* scores,
                                            void* workspace, size_t workspace_size,
                                            const mluOpTensorDescriptor_t output_desc, void* output,
                                            int32_t* result_num);

/* Writes the bytes of workspace that mluOpNmsRotated needs for boxes_desc [N, 5] or [N, 6]; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null or boxes_desc is not as the operator requires; NOT_SUPPORTED if N is
 * 2^31 or more or the tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetNmsRotatedWorkspaceSize(mluOpHandle_t handle,
                                                            const mluOpTensorDescriptor_t boxes_desc,
                                                            size_t* workspace_size);

/* NMS of polygons of four corners (AerialDetection poly_nms): keeps the higher-scoring of overlapping boxes.
 *
 *   A row of boxes is x1, y1, ..., x4, y4, score: the corners of a quadrilateral, in either direction, convex or
 *   not. Boxes are visited in descending order of score. A box is kept unless its IoU with a box kept earlier, as
 *   mluOpOmpBoxIouQuadri computes it with mode 0, is greater than iou_threshold.
 *   Ties: the lower index comes first. NaN sorts before all numbers.
 *   output[0 .. output_size[0] - 1] = the indices of the boxes that are kept, ascending
 *
 * | tensor      | shape                          | dtype | layout |
 * |-------------|--------------------------------|-------|--------|
 * | boxes       | [N, 9]                         | FLOAT | any    |
 * | output      | [N]                            | INT32 | any    |
 * | output_size | one number, without descriptor | INT32 |        |
 *
 * Units: all coordinates share one unit.
 * Outputs: the call writes every element: output is 0 from output_size[0] on, where MLU-OPS leaves it unchanged.
 *   N = 0: output_size[0] is 0; data and workspace may be null, and dim 1 of boxes is unchecked.
 *   A box with a NaN or infinite coordinate, or with an area less than 1e-14, suppresses no box and is kept,
 *   unless iou_threshold is negative: then an IoU of 0 suppresses too; NaN does not. If iou_threshold is NaN, no
 *   box is suppressed. Quadrilaterals whose sides cross have an IoU from 0 to 1 that is not specified further.
 * Determinism: the result is exact: identical to the serial definition at every thread count. The IoU is computed
 *   in double and rounded once. MLU-OPS computes in fp32: at coordinates of 20000, IoUs of boxes of size 20 have
 *   errors of 1e-4. It does not compare boxes of equal scores, and takes fewer than 9770 boxes.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 130 bytes a box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      dim 1 of boxes is not 9; output_size is null; workspace_size is less than the query returns, or
 *                  workspace is null although the size is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: boxes are numbered by int32
 *
 * Definition: MLU-OPS design document poly_nms; AerialDetection poly_nms. */
mluOpStatus_t MLUOP_WIN_API mluOpPolyNms(mluOpHandle_t handle, const mluOpTensorDescriptor_t boxes_desc,
                                         const void* boxes, const float iou_threshold, void* workspace,
                                         size_t workspace_size, const mluOpTensorDescriptor_t output_desc,
                                         void* output, void* output_size);

/* Writes the bytes of workspace that mluOpPolyNms needs for boxes_desc [N, 9]; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null or boxes_desc is not as the operator requires; NOT_SUPPORTED if N is
 * 2^31 or more or the tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetPolyNmsWorkspaceSize(mluOpHandle_t handle,
                                                         const mluOpTensorDescriptor_t boxes_desc, size_t* size);

/* Order of the vertices of the intersection of two rotated boxes (mmcv diff_iou_rotated_2d and 3d).
 *
 *   A pair of boxes has 24 candidate vertices, relative to the mean of the valid ones: 0 to 7 are corners of the
 *   boxes, 8 to 23 crossings of their sides. mask tells which are valid. A vertex p is before q, counter-clockwise
 *   from the x axis, as follows; each operation is rounded to fp32, constants are doubles:
 *     false                      if |p.x - q.x| < 1e-8 and |p.y - q.y| < 1e-8
 *     true                       if p.y > 0 and q.y < 0
 *     key(p) - key(q) > 1e-8     if p.y > 0 and q.y > 0
 *     key(p) - key(q) < 1e-8     if p.y < 0 and q.y < 0
 *     false                      otherwise, also if either y is 0
 *     with key(v) = |v.x| v.x / (v.x^2 + v.y^2 + 1e-8)
 *   pad = the lowest index of 8 to 23 whose mask is false; 0 if there is none. V = min(num_valid, 8).
 *   If num_valid is less than 3, all 9 indices are pad. Otherwise:
 *     idx[j], j < V: the search starts with the point (1, -1e-8). Valid candidates are visited in ascending order.
 *       A candidate replaces the vertex found so far if it is before this vertex and, if j > 0, the vertex
 *       idx[j - 1] is before the candidate. idx[j] is the last replacement, or 0 if there is none.
 *     idx[V] is idx[0]; the following indices are pad.
 *   If V is 8 and exactly four of the 16 pairs (idx[i], idx[k]) with i < 4 <= k < 8 are equal, the boxes are
 *   equal: idx[4] is idx[0], and idx[5] to idx[8] are pad.
 *
 * | tensor    | shape         | dtype | layout |
 * |-----------|---------------|-------|--------|
 * | vertices  | [B, N, 24, 2] | FLOAT | any    |
 * | mask      | [B, N, 24]    | BOOL  | any    |
 * | num_valid | [B, N]        | INT32 | any    |
 * | idx       | [B, N, 9]     | INT32 | any    |
 *
 * Units: all coordinates share one unit; the epsilons are in this unit.
 * Outputs: the call writes every element of idx; the caller need not initialize them. Comparisons with NaN are
 *   false. num_valid is not compared with mask; numbers above 8, with which mmcv's CUDA kernel writes past a row,
 *   count as 8. If all crossings are valid, mmcv's pad is uninitialized. If B or N is 0, idx has no elements: data
 *   may be null. MLU-OPS returns BAD_PARAM if B is 0 and N is not.
 * Determinism: the result is exact: it is the order of mmcv's CUDA kernel without fused multiply-adds. This order
 *   is wrong for vertices with y = 0, and for vertices that nearly coincide: the page of the operator lists boxes.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   ARCH_MISMATCH  the device of MLUOP_OMP_DEVICE is of the 200 series
 *
 * Definition: MLU-OPS design document diff_iou_rotated_sort_vertices_forward; mmcv diff_iou_rotated. */
mluOpStatus_t MLUOP_WIN_API mluOpDiffIouRotatedSortVerticesForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t vertices_desc, const void* vertices,
    const mluOpTensorDescriptor_t mask_desc, const void* mask, const mluOpTensorDescriptor_t num_valid_desc,
    const void* num_valid, const mluOpTensorDescriptor_t idx_desc, void* idx);

/* Prior boxes of a feature map (Paddle prior_box): the default boxes of SSD.
 *
 *   Each of the height x width pixels has P = m r boxes, or m (r + 1) with max_sizes. Their half widths and half
 *   heights are, for each min size s, its max size t and each ratio a:
 *     square:     (s / 2, s / 2)
 *     max square: (sqrt(s t) / 2, sqrt(s t) / 2)
 *     ratio:      (s sqrt(a) / 2, s / sqrt(a) / 2)
 *   Order of the boxes of a min size:
 *     min_max_aspect_ratios_order true:  square, max square if present, the ratios a with |a - 1| >= 1e-6
 *     min_max_aspect_ratios_order false: all ratios, max square if present
 *   With the center (cx, cy) = ((x + offset) step_w, (y + offset) step_h) and the half size (bw, bh) of box p:
 *     output[y,x,p] = ((cx - bw) / im_width, (cy - bh) / im_height, (cx + bw) / im_width, (cy + bh) / im_height),
 *                     limited to [0, 1] if clip
 *     var[y,x,p]    = variances
 *
 * | tensor        | shape                 | dtype | layout |
 * |---------------|-----------------------|-------|--------|
 * | min_sizes     | [m]                   | FLOAT | any    |
 * | aspect_ratios | [r]                   | FLOAT | any    |
 * | variances     | [4]                   | FLOAT | any    |
 * | max_sizes     | [m], or [0]: absent   | FLOAT | any    |
 * | output        | [height, width, P, 4] | FLOAT | any    |
 * | var           | as output             | FLOAT | any    |
 *
 * Units: sizes and steps in pixels of the image; output in fractions of the image. step_h comes before step_w.
 * Outputs: the call writes every element; the caller need not initialize them. NaN propagates, also through clip.
 *   Values of sizes and ratios are unchecked: a negative ratio gives NaN, an image size of 0 infinity or NaN. If
 *   height or width is 0, data may be null.
 *   Unlike Paddle's function, this one takes the ratios as they are: with 1 and, if wanted, with 1 / a.
 * Determinism: the result is the same at every thread count, in every run and on every instruction set. Half sizes
 *   are computed in double and rounded once; other operations are rounded to fp32, in the order of the formula.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 8 bytes a box of a pixel.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  height or width is negative; step_h or step_w is not positive; m or r is 0;
 *              min_max_aspect_ratios_order is true and not exactly one ratio is within 1e-6 of 1, unless output
 *              has no elements: MLU-OPS then writes past output, or too little
 *
 * Definition: MLU-OPS design document prior_box; Paddle prior_box; arXiv:1512.02325. */
mluOpStatus_t MLUOP_WIN_API mluOpPriorBox(mluOpHandle_t handle, const mluOpTensorDescriptor_t min_sizes_desc,
                                          const void* min_sizes, const mluOpTensorDescriptor_t aspect_ratios_desc,
                                          const void* aspect_ratios, const mluOpTensorDescriptor_t variances_desc,
                                          const void* variances, const mluOpTensorDescriptor_t max_sizes_desc,
                                          const void* max_sizes, const int height, const int width,
                                          const int im_height, const int im_width, const float step_h,
                                          const float step_w, const float offset, const bool clip,
                                          const bool min_max_aspect_ratios_order,
                                          const mluOpTensorDescriptor_t output_desc, void* output,
                                          const mluOpTensorDescriptor_t var_desc, void* var);

/* Boxes and scores of YOLOv3 from the output of its network (Paddle yolo_box).
 *
 *   x has 5 + class_num channels for each of S anchors: px, py, pw, ph, pc and the classes. With iou_aware, S
 *   channels p_iou precede them. With sigma(v) = 1 / (1 + exp(-v)) and f = iou_aware_factor:
 *     conf   = sigma(pc), or sigma(pc)^(1 - f) sigma(p_iou)^f with iou_aware, rounded to fp32
 *     cx     = (column + sigma(px) scale - (scale - 1) / 2) img_width / W
 *     cy     = (row + sigma(py) scale - (scale - 1) / 2) img_height / H
 *     bw     = exp(pw) anchor_width img_width / (downsample_ratio W)
 *     bh     = exp(ph) anchor_height img_height / (downsample_ratio H)
 *     boxes  = cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2
 *     scores = conf sigma(class)
 *   With clip_bbox, the first two coordinates are at least 0, the last two at most img_width - 1, img_height - 1;
 *   no other limit applies. A cell whose conf is less than conf_thresh has boxes and scores of 0.
 *
 * | tensor   | shape                           | dtype | layout |
 * |----------|---------------------------------|-------|--------|
 * | x        | [N, C, H, W]                    | FLOAT | any    |
 * | img_size | [N, 2]: height, width           | INT32 | any    |
 * | anchors  | [2 S]: width and height of each | INT32 | any    |
 * | boxes    | [N, S, 4, H W]                  | FLOAT | any    |
 * | scores   | [N, S, class_num, H W]          | FLOAT | any    |
 *   C is S (5 + class_num), or S (6 + class_num) with iou_aware.
 *
 * Units: boxes and img_size in pixels of the image; anchors in pixels of the network's input, which has
 *   downsample_ratio pixels a cell. Paddle's outputs are [N, S H W, 4] and [N, S H W, class_num].
 * Outputs: the call writes every element; the caller need not initialize them. A cell whose conf is NaN is kept.
 *   NaN propagates; with clip_bbox, a coordinate of NaN becomes 0 or the upper limit. downsample_ratio, scale and
 *   image sizes are unchecked: a downsample_ratio of 0 gives infinity or NaN. If x has no elements, neither have
 *   the outputs: data may be null.
 * Determinism: boxes and conf are computed in double and rounded once; the relative error of scores is about
 *   2^-21, and class probabilities below 2^-126 count as 0. The result is the same at every thread count and in
 *   every run.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  class_num is less than 1; iou_aware is true and iou_aware_factor is not in [0, 1]; the number of
 *              elements of anchors is 0 or odd
 *
 * Definition: MLU-OPS design document yolo_box; Paddle yolo_box; arXiv:1804.02767. */
mluOpStatus_t MLUOP_WIN_API mluOpYoloBox(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc, const void* x,
                                         const mluOpTensorDescriptor_t img_size_desc, const void* img_size,
                                         const mluOpTensorDescriptor_t anchors_desc, const void* anchors,
                                         const int class_num, const float conf_thresh, const int downsample_ratio,
                                         const bool clip_bbox, const float scale, const bool iou_aware,
                                         const float iou_aware_factor, const mluOpTensorDescriptor_t boxes_desc,
                                         void* boxes, const mluOpTensorDescriptor_t scores_desc, void* scores);

/* NMS of axis-aligned boxes (mmcv nms, torchvision nms): keeps the more confident of overlapping boxes. With boxes
 * of 7 numbers: NMS of 3-D boxes (mmcv nms3d).
 *
 *   Boxes are visited in descending order of confidence. A box is kept unless its IoU with a box kept earlier is
 *   greater than iou_threshold. Ties: the lower index comes first. NaN sorts before all numbers. Boxes with a
 *   confidence of confidence_threshold or less are dropped; NaN is not. Each batch and each class is suppressed
 *   independently; the first max_output_size boxes kept in each are written.
 *   In fp32, each operation rounded, with o = offset:
 *     area(A)  = (x2 - x1 + o) (y2 - y1 + o); 0 if either factor is 0 or less: the box is empty
 *     I(A, B)  = max(min(x2 of both) - max(x1 of both) + o, 0) max(min(y2 of both) - max(y1 of both) + o, 0)
 *     IoU      = I / (area(A) + area(B) - I); 0 for two empty boxes, where mmcv divides 0 by 0
 *     A box of center (x, y) and sides (w, h) has x1 = x - w / 2, x2 = x1 + w, and y1, y2 likewise.
 *   3-D boxes (x, y, z, dx, dy, dz, yaw) must be in descending order of confidence: confidence_desc and confidence
 *   are null, and only iou_threshold and input_layout of the descriptor are read. IoU = I / max(dx dy of A + dx dy
 *   of B - I, 1e-8), where I is the overlap that mluOpOmpBoxesOverlapBev (mlu_op_omp.h) computes for A the kept
 *   box and B the other box; exchanging A and B may change its last bits.
 *   output_size[0] = the number K of boxes written, ordered by batch, class and descending confidence
 *
 * | boxes, input_layout 0 | input_layout 1 | confidence | output                                              |
 * |-----------------------|----------------|------------|-----------------------------------------------------|
 * | [N, 4]                | [4, N]         | [N]        | see below; B and C are 1                            |
 * | [B, N, 4]             | [B, 4, N]      | [B, C, N]  | see below; B and C must be 1 in output modes 0 to 2 |
 * | [N, 7]                | [7, N]         | null       | [N]: indices                                        |
 *
 * | tensor      | output_mode | shape                         | dtype                                | layout |
 * |-------------|-------------|-------------------------------|--------------------------------------|--------|
 * | boxes       | any         | as above                      | FLOAT, HALF or BFLOAT16; 7-D: FLOAT  | any    |
 * | confidence  | any         | as above                      | as boxes                             | any    |
 * | output      | 0           | [max_output_size]             | INT32                                | any    |
 * |             | 1           | [max_output_size, 5]          | as boxes                             | any    |
 * |             | 2           | [5, max_output_size]          | as boxes                             | any    |
 * |             | 3           | [B * C * max_output_size, 3]  | INT32                                | any    |
 * | output_size | any         | one number, no descriptor     | INT32                                |        |
 *
 * MLU-OPS also accepts HALF confidence with FLOAT boxes, and UINT32 for the outputs.
 *
 * Units: coordinates share one unit. offset is 1 if x2 and y2 are the last pixels inside the box, 0 if they are
 * its edges.
 * Outputs: the call writes every element; the caller need not initialize them. Elements past the K boxes are 0 (in
 *   mode 2, past K in each row); MLU-OPS leaves them unchanged unless pad_to_max_output_size. Confidences and box
 *   numbers are copied bit for bit: in center mode, output modes 1 and 2 yield center and sides.
 *   With zero boxes, batches or classes, or with max_output_size 0: output_size[0] is 0; inputs and workspace may
 *   be null.
 *   A confidence_threshold of 0 drops confidences of 0 and below, as MLU-OPS does; mmcv and torchvision keep them.
 *   For their results, set it to -infinity, or to NaN if a confidence can be -infinity.
 *   x1 < x2 and y1 < y2 are expected. Corners are not sorted: as in mmcv, a box with exchanged corners overlaps no
 *   other. A 4-number box with NaN has an IoU of NaN, which suppresses nothing. An empty box, and a 3-D box with
 *   NaN in x, y, dx, dy or yaw, has an IoU of 0. If iou_threshold is negative, an IoU of 0 suppresses too. If it
 *   is NaN, no box is suppressed.
 *   According to the header of MLU-OPS an IoU that equals iou_threshold suppresses; in its tests, and here, it
 *   does not.
 * Determinism: the result is exact: identical to the serial definition at every thread count and on every
 *   instruction set. For FLOAT boxes given by corners and a non-negative iou_threshold, the CPU functions of mmcv
 *   and torchvision give the same result, bit for bit.
 *   HALF and BFLOAT16 are converted to fp32.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 65 bytes a box of a batch, or 77
 *   a 3-D box.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      nms_desc is null or not set; boxes is not FLOAT, HALF or BFLOAT16; confidence_desc is not null
 *                  although boxes have 7 numbers, or null although they have 4; B or C is not 1 in output modes 0
 *                  to 2; output_size is null; workspace_size is less than the query returns, or workspace is null
 *                  although the size is not 0
 *   NOT_SUPPORTED  N or B * C * max_output_size is 2^31 or more: both are numbered by int32
 *
 * Definition: MLU-OPS header, mluOpNms; mmcv nms and iou3d_nms3d_forward. */
mluOpStatus_t MLUOP_WIN_API mluOpNms(mluOpHandle_t handle, const mluOpNmsDescriptor_t nms_desc,
                                     const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                     const mluOpTensorDescriptor_t confidence_desc, const void* confidence,
                                     void* workspace, size_t workspace_size,
                                     const mluOpTensorDescriptor_t output_desc, void* output, void* output_size);

/* Writes the bytes of workspace that mluOpNms needs; 0 if it has nothing to do. confidence_desc is null if the
 * boxes have 7 numbers.
 * Returns BAD_PARAM if another argument is null or not as the operator requires; NOT_SUPPORTED as the operator, or
 * if a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetNmsWorkspaceSize(mluOpHandle_t handle, mluOpNmsDescriptor_t nms_desc,
                                                     const mluOpTensorDescriptor_t boxes_desc,
                                                     const mluOpTensorDescriptor_t confidence_desc, size_t* size);

/* Proposals of a region proposal network (PaddlePaddle generate_proposals): decodes the anchors with the highest
 * scores, and keeps the higher-scoring of overlapping boxes.
 *
 *   For each picture n, in fp32, each operation rounded in the order written, with o = 1 if pixel_offset, else 0:
 *   1. The candidates are the pre_nms_top_n anchors with the highest scores; all of them if pre_nms_top_n is 0 or
 *      less, or exceeds their number. Ties: the lower index (y W + x) A + a comes first. NaN sorts before all
 *      numbers.
 *   2. The box of an anchor (x1, y1, x2, y2) with the deltas d and the variances v, four numbers each, is
 *        w  = x2 - x1 + o                c  = x1 + w / 2 + d[0] w v[0]
 *        w' = exp(min(d[2] v[2], log(1000 / 16))) w
 *        x1' = min(c - w' / 2, width - o)       x2' = min(c + w' / 2 - o, width - o), and 0 if less;
 *      y1' and y2' likewise, with d[1], d[3], v[1], v[3] and the height. exp is computed in double and rounded.
 *   3. A box is dropped unless w = x2' - x1' + o and h = y2' - y1' + o are at least max(min_size, 1) and, with
 *      pixel_offset, x1' + w / 2 <= width and y1' + h / 2 <= height.
 *   4. In descending order of scores, a box is kept unless its IoU with a box kept earlier is greater than
 *      nms_thresh. With I as in mluOpNms and area = w h, IoU(A, B) = I / (area(A) + area(B) - I). The first
 *      post_nms_top_n kept boxes are the rois of the picture. A picture without any has one roi (0, 0, 0, 0) with
 *      score 0.
 *   rpn_rois, rpn_roi_probs = the rois and their scores, picture after picture, without gaps
 *   rpn_rois_num[n] = the number of rois of picture n; rpn_rois_batch_size[0] = their sum
 *
 * | tensor              | shape                          | dtype | layout |
 * |---------------------|--------------------------------|-------|--------|
 * | scores              | [N, H, W, A]                   | FLOAT | ARRAY  |
 * | bbox_deltas         | [N, H, W, 4 A]                 | FLOAT | ARRAY  |
 * | im_shape            | [N, 2]: height, width          | FLOAT | ARRAY  |
 * | anchors             | [H, W, A, 4]: x1, y1, x2, y2   | FLOAT | ARRAY  |
 * | variances           | [H, W, A, 4]                   | FLOAT | ARRAY  |
 * | rpn_rois            | [N * post_nms_top_n, 4]        | FLOAT | ARRAY  |
 * | rpn_roi_probs       | [N * post_nms_top_n, 1]        | FLOAT | ARRAY  |
 * | rpn_rois_num        | [N]                            | INT32 | ARRAY  |
 * | rpn_rois_batch_size | one number, without descriptor | INT32 |        |
 *
 * Units: anchors, im_shape and min_size are in pixels. pixel_offset: x2 and y2 are the last pixels of a box.
 * Outputs: the call writes the rows of the rois, rpn_rois_num and rpn_rois_batch_size; the caller need not
 *   initialize them. The other rows of rpn_rois and rpn_roi_probs are unchanged. Scores are copied bit for bit.
 *   N or post_nms_top_n is 0: rpn_rois_num and rpn_rois_batch_size are 0; inputs and workspace may be null.
 *   A box with a NaN coordinate is dropped; a NaN in im_shape drops all boxes of the picture. A min_size of NaN
 *   counts as 1. If nms_thresh is NaN, no box is suppressed. Scores of -infinity take part.
 *   MLU-OPS stops at scores of -FLT_MAX or less, and its kernels leave the roi of a picture without boxes
 *   unwritten. eta is not used: MLU-OPS has no adaptive NMS either.
 * Determinism: the result is exact: identical to the serial definition at every thread count and on every
 *   instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 20 bytes an anchor of a picture,
 *   and 37 a candidate of a picture.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      H, W or A is 0; post_nms_top_n is negative; nms_thresh is 0 or less; eta is less than 1;
 *                  rpn_rois_batch_size is null; workspace_size is less than the query returns, or workspace is
 *                  null although the size is not 0
 *   NOT_SUPPORTED  H * W * A or N * post_nms_top_n is 2^31 or more: both are numbered in 32 bits
 *
 * Definition: MLU-OPS design document generate_proposals_v2; PaddlePaddle generate_proposals. */
mluOpStatus_t MLUOP_WIN_API mluOpGenerateProposalsV2(
    mluOpHandle_t handle, const int pre_nms_top_n, const int post_nms_top_n, const float nms_thresh,
    const float min_size, const float eta, bool pixel_offset, const mluOpTensorDescriptor_t scores_desc,
    const void* scores, const mluOpTensorDescriptor_t bbox_deltas_desc, const void* bbox_deltas,
    const mluOpTensorDescriptor_t im_shape_desc, const void* im_shape, const mluOpTensorDescriptor_t anchors_desc,
    const void* anchors, const mluOpTensorDescriptor_t variances_desc, const void* variances, void* workspace,
    size_t workspace_size, const mluOpTensorDescriptor_t rpn_rois_desc, void* rpn_rois,
    const mluOpTensorDescriptor_t rpn_roi_probs_desc, void* rpn_roi_probs,
    const mluOpTensorDescriptor_t rpn_rois_num_desc, void* rpn_rois_num, void* rpn_rois_batch_size);

/* Writes the bytes of workspace that mluOpGenerateProposalsV2 needs for scores_desc [N, H, W, A] and
 * pre_nms_top_n; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null, scores_desc is not as the operator requires, or H, W or A is 0;
 * NOT_SUPPORTED if H * W * A is 2^31 or more or the tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetGenerateProposalsV2WorkspaceSize_v2(mluOpHandle_t handle,
                                                                        const mluOpTensorDescriptor_t scores_desc,
                                                                        const int32_t pre_nms_top_n, size_t* size);

/* Deprecated: writes a size that suffices for every pre_nms_top_n. Returns as
 * mluOpGetGenerateProposalsV2WorkspaceSize_v2. */
mluOpStatus_t MLUOP_WIN_API mluOpGetGenerateProposalsV2WorkspaceSize(mluOpHandle_t handle,
                                                                     const mluOpTensorDescriptor_t scores_desc,
                                                                     size_t* size);

/* Points in boxes (OpenPCDet): the first box that contains each point.
 *
 *   A box (x, y, z, dx, dy, dz, yaw) contains the point (px, py, pz) if, with
 *     lx =  (px - x) cos(yaw) + (py - y) sin(yaw)
 *     ly = -(px - x) sin(yaw) + (py - y) cos(yaw),
 *   |pz - z| <= dz / 2, |lx| < dx / 2 + 1e-5 and |ly| < dy / 2 + 1e-5.
 *   points_indices[b,m] = the lowest t whose box boxes[b,t] contains points[b,m]; -1 if there is none
 *
 * | tensor         | shape     | dtype | layout |
 * |----------------|-----------|-------|--------|
 * | points         | [B, M, 3] | FLOAT | ARRAY  |
 * | boxes          | [B, T, 7] | FLOAT | ARRAY  |
 * | points_indices | [B, M]    | INT32 | ARRAY  |
 *
 * Units: x, y and z, the center, and dx, dy and dz are in meters, as is the margin 1e-5; yaw is in radians, from
 *   the x axis to the y axis. mluOpOmpPointsInBoxesPart applies the rule of mmcv, where z is the bottom face.
 * Outputs: the call writes every element of points_indices; the caller need not initialize it. If B, M or T is 0,
 *   points_indices is unchanged; points and boxes may be null. A point with NaN in x or y is in no box. As in
 *   MLU-OPS, a NaN z is within every height, and a NaN dz contains every z.
 * Determinism: the result is exact: identical to the serial definition at every thread count and on every
 *   instruction set. Differences, products and sums are rounded to fp32; sine and cosine are computed in double
 *   and rounded to fp32; comparisons with the half sides are in double.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 50 bytes a box if a batch has 64 boxes or more.
 *
 * Returns, in addition to the statuses of every operator:
 *   NOT_SUPPORTED  T is 2^31 or more: boxes are numbered by int32. MLU-OPS limits T by the memory of the device.
 *
 * Definition: MLU-OPS design document points_in_boxes; OpenPCDet points_in_boxes_gpu. */
mluOpStatus_t MLUOP_WIN_API mluOpPointsInBoxes(mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc,
                                               const void* points, const mluOpTensorDescriptor_t boxes_desc,
                                               const void* boxes,
                                               const mluOpTensorDescriptor_t points_indices_desc,
                                               void* points_indices);

/* RoI-aware pooling, forward (Part-A2): pools the features of the points in each voxel of each box. Its gradient
 * is mluOpRoiAwarePool3dBackward.
 *
 *   A RoI (x, y, z, dx, dy, dz, yaw) contains points by the rule of mluOpOmpPointsInBoxesPart (mlu_op_omp.h). A
 *   point inside is in the voxel with these indices, in fp32, with lx and ly as there, truncated and clamped to
 *   the voxels of the axis: ((lx + dx / 2) / (dx / out_x), (ly + dy / 2) / (dy / out_y), (pz - z) / (dz / out_z))
 *   pts_idx_of_voxels[r,i,j,k,:] = the number of points of voxel (i, j, k) of RoI r, then their indices,
 *     ascending, then zeros; points past the first max_pts_each_voxel - 1 are dropped
 *   pool_method 0, maximum: pooled_features[r,i,j,k,c] = the greatest pts_feature[n,c] of these points n, and
 *     argmax[r,i,j,k,c] = the lowest n with this feature; 0 and -1 if no feature is above -infinity
 *   pool_method 1, mean: pooled_features[r,i,j,k,c] = the sum of pts_feature[n,c] divided by the number of points;
 *     0 without points. argmax is 0.
 *
 * | tensor            | shape                                    | dtype                   | layout |
 * |-------------------|------------------------------------------|-------------------------|--------|
 * | rois              | [boxes_num, 7]                           | FLOAT, HALF or BFLOAT16 | any    |
 * | pts               | [pts_num, 3]                             | as rois                 | any    |
 * | pts_feature       | [pts_num, channels]                      | as rois                 | any    |
 * | argmax            | [boxes_num, out_x, out_y, out_z,         | INT32                   | any    |
 * |                   |  channels]                               |                         |        |
 * | pts_idx_of_voxels | [boxes_num, out_x, out_y, out_z,         | INT32                   | any    |
 * |                   |  max_pts_each_voxel]                     |                         |        |
 * | pooled_features   | [boxes_num, out_x, out_y, out_z,         | as rois                 | any    |
 * |                   |  channels]                               |                         |        |
 *
 * Units: x, y and z, the center of the bottom face, and dx, dy and dz have one unit; yaw is in radians, from the x
 *   axis to the y axis. OpenPCDet passes the z of the center.
 * Outputs: the call writes every element; the caller need not initialize them. The maximum never selects NaN; NaN
 *   and infinity propagate through the sums. A NaN position is in voxel 0 of its axis.
 * Determinism: argmax, pts_idx_of_voxels and maxima are exact: the same at every thread count and on every
 *   instruction set, for every data type. The geometry of HALF and BFLOAT16 is computed in fp32; MLU-OPS and mmcv
 *   compute HALF geometry in half. Sums add the points in ascending order, in fp32; for HALF and BFLOAT16 the mean
 *   is rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 12 bytes a point and 50 bytes a
 *   RoI. It depends on boxes_num and pts_num only. The handle keeps 4 bytes a voxel of one RoI for each task.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      pool_method is neither 0 nor 1; another scalar is not positive, or does not match a shape;
 *                  workspace_size is less than the query returns, or workspace is null
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 * MLU-OPS limits boxes_num, channels and max_pts_each_voxel by the memory of the device.
 *
 * mluOpRoiawarePool3dForward and mluOpGetRoiawarePool3dForwardWorkspaceSize are the deprecated names of the same
 * functions, which mmcv calls.
 *
 * Definition: MLU-OPS header, mluOpRoiAwarePool3dForward; mmcv roiaware_pool3d_forward; Part-A2,
 * arXiv:1907.03670. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiAwarePool3dForward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int pts_num, const int channels,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t pts_desc,
    const void* pts, const mluOpTensorDescriptor_t pts_feature_desc, const void* pts_feature, void* workspace,
    size_t workspace_size, const int max_pts_each_voxel, const int out_x, const int out_y, const int out_z,
    const mluOpTensorDescriptor_t argmax_desc, void* argmax, const mluOpTensorDescriptor_t pts_idx_of_voxels_desc,
    void* pts_idx_of_voxels, const mluOpTensorDescriptor_t pooled_features_desc, void* pooled_features);
mluOpStatus_t MLUOP_WIN_API mluOpRoiawarePool3dForward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int pts_num, const int channels,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t pts_desc,
    const void* pts, const mluOpTensorDescriptor_t pts_feature_desc, const void* pts_feature, void* workspace,
    size_t workspace_size, const int max_pts_each_voxel, const int out_x, const int out_y, const int out_z,
    const mluOpTensorDescriptor_t argmax_desc, void* argmax, const mluOpTensorDescriptor_t pts_idx_of_voxels_desc,
    void* pts_idx_of_voxels, const mluOpTensorDescriptor_t pooled_features_desc, void* pooled_features);

/* Writes the bytes of workspace that mluOpRoiAwarePool3dForward needs for rois_desc [boxes_num, 7], pts_desc
 * [pts_num, 3] and pts_feature_desc [pts_num, channels].
 * Returns BAD_PARAM if an argument is null, a descriptor is not as the operator requires, or the bytes exceed
 * 2^63 - 1; NOT_SUPPORTED if a tensor is not contiguous; ARCH_MISMATCH as the operator. Nothing is then
 * written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetRoiAwarePool3dForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t rois_desc, const mluOpTensorDescriptor_t pts_desc,
    const mluOpTensorDescriptor_t pts_feature_desc, size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API mluOpGetRoiawarePool3dForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t rois_desc, const mluOpTensorDescriptor_t pts_desc,
    const mluOpTensorDescriptor_t pts_feature_desc, size_t* workspace_size);

/* RoI-aware pooling, backward (Part-A2): the gradient of mluOpRoiAwarePool3dForward for pts_feature.
 *
 *   pool_method 0, maximum: grad_in[n,c] = sum of grad_out[r,i,j,k,c] over the voxels with argmax[r,i,j,k,c] = n
 *   pool_method 1, mean: grad_in[n,c] = sum of grad_out[r,i,j,k,c] * (1 / count) over the voxels that list n, with
 *     count = pts_idx_of_voxels[r,i,j,k,0] and the points pts_idx_of_voxels[r,i,j,k,1..count]
 *
 * | tensor            | shape                                    | dtype                   | layout |
 * |-------------------|------------------------------------------|-------------------------|--------|
 * | pts_idx_of_voxels | [boxes_num, out_x, out_y, out_z,         | INT32                   | any    |
 * |                   |  max_pts_each_voxel]                     |                         |        |
 * | argmax            | [boxes_num, out_x, out_y, out_z,         | INT32                   | any    |
 * |                   |  channels]                               |                         |        |
 * | grad_out          | [boxes_num, out_x, out_y, out_z,         | FLOAT, HALF or BFLOAT16 | any    |
 * |                   |  channels]                               |                         |        |
 * | grad_in           | [N, channels]                            | as grad_out             | any    |
 *
 * Units: none. pool_method 0 reads no element of pts_idx_of_voxels, pool_method 1 none of argmax.
 * Outputs: the call writes every element of grad_in, zeros for points in no voxel; the caller need not initialize
 *   it. NaN and infinity propagate through the additions.
 * Determinism: sums are in fp32, in the order of RoIs, voxels of a RoI and points of a voxel; 1 / count and
 *   products are rounded to fp32. For HALF and BFLOAT16 the sum is rounded once, at the end, to nearest even. The
 *   same bits at every thread count and on every instruction set. mmcv adds with atomics, in any order.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 1 to 64 bits for each voxel and 4 bits for each task; for HALF and
 *   BFLOAT16 also 4 bytes an element of grad_in.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      pool_method is neither 0 nor 1; another scalar is not positive, or does not match a shape; N is
 *                  0; an element of argmax is outside [-1, N - 1]; a count is outside [0, max_pts_each_voxel - 1],
 *                  or a point that it counts outside [0, N - 1]: the message names the first
 *   NOT_SUPPORTED  N is 2^31 or more: points are numbered by int32
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * mluOpRoiawarePool3dBackward is the deprecated name of the same function, which mmcv calls.
 *
 * Definition: MLU-OPS header, mluOpRoiAwarePool3dBackward; mmcv roiaware_pool3d_backward. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiAwarePool3dBackward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int out_x, const int out_y,
    const int out_z, const int channels, const int max_pts_each_voxel,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t argmax_desc, const void* argmax, const mluOpTensorDescriptor_t grad_out_desc,
    const void* grad_out, const mluOpTensorDescriptor_t grad_in_desc, void* grad_in);
mluOpStatus_t MLUOP_WIN_API mluOpRoiawarePool3dBackward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int out_x, const int out_y,
    const int out_z, const int channels, const int max_pts_each_voxel,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t argmax_desc, const void* argmax, const mluOpTensorDescriptor_t grad_out_desc,
    const void* grad_out, const mluOpTensorDescriptor_t grad_in_desc, void* grad_in);

/* RoI-point pooling (PointRCNN): the first points of each box, with their features.
 *
 *   The samples of box m are the k points of its batch, ascending, that it contains by the rule of
 *   mluOpOmpPointsInBoxesPart (mlu_op_omp.h). With S = sampled_pts_num:
 *     pooled_features[b,m,j,:] = points[b,n,:], then point_features[b,n,:], for n the sample j modulo min(k, S)
 *     pooled_empty_flag[b,m]   = 0
 *   Without points, pooled_features[b,m,:,:] is 0 and pooled_empty_flag[b,m] is 1.
 *
 * | tensor            | shape                                    | dtype                   | layout |
 * |-------------------|------------------------------------------|-------------------------|--------|
 * | points            | [batch_size, pts_num, 3]                 | FLOAT, HALF or BFLOAT16 | any    |
 * | point_features    | [batch_size, pts_num, feature_in_len]    | as points               | any    |
 * | boxes3d           | [batch_size, boxes_num, 7]               | as points               | any    |
 * | pooled_features   | [batch_size, boxes_num, sampled_pts_num, | as points               | any    |
 * |                   |  3 + feature_in_len]                     |                         |        |
 * | pooled_empty_flag | [batch_size, boxes_num]                  | INT32                   | any    |
 *
 * Units: a box is x, y, z, dx, dy, dz, yaw, as in mluOpOmpPointsInBoxesPart: z is the bottom face. OpenPCDet
 *   passes the z of the center. mmcv takes boxes before features.
 * Outputs: the call writes every element; the caller need not initialize them. Points and features are copied bit
 *   for bit.
 * Determinism: the result is exact: the same at every thread count and on every instruction set. For HALF and
 *   BFLOAT16, the geometry is computed in fp32; MLU-OPS and mmcv compute HALF geometry in half.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: about 12 bytes a point, and 50 bytes a
 *   box if a batch has 64 boxes or more. The handle keeps 4 * sampled_pts_num bytes for each task.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  a scalar is not positive, or does not match a shape; workspace_size is less than the query returns,
 *              or workspace is null; size is null
 *
 * Definition: MLU-OPS header, mluOpRoiPointPool3d; mmcv roipoint_pool3d_forward; PointRCNN, arXiv:1812.04244. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiPointPool3d(
    mluOpHandle_t handle, const int batch_size, const int pts_num, const int boxes_num, const int feature_in_len,
    const int sampled_pts_num, const mluOpTensorDescriptor_t points_desc, const void* points,
    const mluOpTensorDescriptor_t point_features_desc, const void* point_features,
    const mluOpTensorDescriptor_t boxes3d_desc, const void* boxes3d, void* workspace, size_t workspace_size,
    const mluOpTensorDescriptor_t pooled_features_desc, void* pooled_features,
    const mluOpTensorDescriptor_t pooled_empty_flag_desc, void* pooled_empty_flag);

/* Writes the bytes of workspace that mluOpRoiPointPool3d needs. It takes the arguments of the operator.
 * Returns BAD_PARAM if an argument is null, a scalar or a descriptor is not as the operator requires, or the bytes
 * exceed 2^63 - 1; NOT_SUPPORTED if a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetRoiPointPool3dWorkspaceSize(
    mluOpHandle_t handle, const int batch_size, const int pts_num, const int boxes_num, const int feature_in_len,
    const int sampled_pts_num, const mluOpTensorDescriptor_t points_desc,
    const mluOpTensorDescriptor_t point_features_desc, const mluOpTensorDescriptor_t boxes3d_desc,
    const mluOpTensorDescriptor_t pooled_features_desc, const mluOpTensorDescriptor_t pooled_empty_flag_desc,
    size_t* size);

/* RoI align, forward (Mask R-CNN): pools interpolated samples of an image in each bin of each RoI. Its gradient is
 * mluOpRoiAlignBackward_v2.
 *
 *   A RoI is boxes[r] = (image, x1, y1, x2, y2). Along the y axis, and likewise along x, in fp32:
 *     start = y1 spatial_scale - offset; size = y2 spatial_scale - offset - start; offset = 0.5 if aligned, else 0
 *     size is at least 1, unless aligned; bin = size / pooled_height
 *     n = sampling_ratio if positive, else bin rounded up, at most 2^24: the samples of a bin
 *     y(p,i) = start + p bin + (i + 0.5) bin / n
 *   The value of the sample (y, x) is interpolated from the four pixels around it; it is 0 if y is not in [-1, H]
 *   or x is not in [-1, W]. Positions are clamped to the first and the last pixel.
 *   pool_mode 1, mean: output[r,p,q,c] = the sum of the samples of bin (p, q), divided by their number. The
 *     interpolation weights of each row and column of pixels are added over the samples first.
 *   pool_mode 0, maximum: output[r,p,q,c] = the greatest sample; argmax_y, argmax_x = y and x of the first
 *     greatest sample
 *
 * | tensor             | shape                                | dtype                   | layout        |
 * |--------------------|--------------------------------------|-------------------------|---------------|
 * | input              | [B, H, W, C]                         | FLOAT, HALF or BFLOAT16 | NHWC, or NCHW |
 * | boxes              | [R, 5]                               | as input                | any           |
 * | output             | [R, pooled_height, pooled_width, C]  | as input                | as input      |
 * | argmax_x, argmax_y | [R, pooled_height, pooled_width, C]; | as input                | as input      |
 * |                    | pool_mode 1: null, or [0]            |                         |               |
 *
 * In NCHW, which MLU-OPS does not support, the shapes are [B, C, H, W] and [R, C, pooled_height, pooled_width].
 * Units: boxes are in pixels of the network's input; spatial_scale converts them to pixels of `input`. mmcv passes
 *   argmax_y before argmax_x.
 * Outputs: the call writes every element; the caller need not initialize them. A RoI with a negative or NaN size,
 *   and a bin of size 0 without a sampling ratio, have no samples: output is 0, argmax -1. The maximum never
 *   selects NaN; if all samples are NaN, output is the lowest fp32 number, argmax -1.
 *   If R or C is 0, the data may be null.
 *   Means of finite pixels are finite: a mean that rounds past the largest fp32 number is that number.
 * Determinism: maxima are exact: the same at every thread count and on every instruction set. A sample is ((w1 a +
 *   w2 b) + w3 c) + w4 d in fp32, with the pixels top left a, top right b, bottom left c and bottom right d; each
 *   weight is the rounded product of the weights along y and x. Means are summed in fp32 in the order of rows,
 *   then columns: the same bits at every thread count and on every instruction set. HALF and BFLOAT16 are computed
 *   in fp32 and rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. For each RoI, the handle keeps 8 bytes for each row and column of pixels that a bin uses,
 *   and 4 bytes for each row and column of bins.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      roialign_desc is null or not set; the image of a RoI does not exist; images have no pixels
 *                  although R and C are positive
 *   NOT_SUPPORTED  H or W is 2^31 or more: pixels of an axis are numbered by int32; sampling_ratio exceeds 64
 *
 * Definition: MLU-OPS header, mluOpRoiAlignForward_v2; mmcv roi_align; Mask R-CNN, arXiv:1703.06870. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignForward_v2(mluOpHandle_t handle,
                                                    const mluOpRoiAlignForwardDescriptor_t roialign_desc,
                                                    const mluOpTensorDescriptor_t input_desc, const void* input,
                                                    const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                                    const mluOpTensorDescriptor_t output_desc, void* output,
                                                    const mluOpTensorDescriptor_t argmax_x_desc, void* argmax_x,
                                                    const mluOpTensorDescriptor_t argmax_y_desc, void* argmax_y);

/* RoI align, backward (Mask R-CNN): the gradient of mluOpRoiAlignForward_v2 for input.
 *
 *   pool_mode 1, mean: grads_image = the sum over the samples of all bins of grads[r,p,q,c], divided by the number
 *     of samples of the bin, times the weights with which they are interpolated
 *   pool_mode 0, maximum: the same for the sample (argmax_y, argmax_x) of each element of grads; none if argmax_y
 *     is -1
 *
 * | tensor             | shape               | dtype                   | layout        |
 * |--------------------|---------------------|-------------------------|---------------|
 * | grads              | [R, PH, PW, C]      | FLOAT, HALF or BFLOAT16 | NHWC, or NCHW |
 * | boxes              | [R, 5]              | as grads                | any           |
 * | argmax_x, argmax_y | [R, PH, PW, C];     | as grads                | as grads      |
 * |                    | pool_mode 1:        |                         |               |
 * |                    | null, or [0]        |                         |               |
 * | grads_image        | [B, H, W, C]        | as grads                | as grads      |
 *
 * In NCHW, which MLU-OPS does not support, the shapes are [R, C, PH, PW] and [B, C, H, W].
 * Units: as mluOpRoiAlignForward_v2. mmcv passes argmax_y before argmax_x.
 * Outputs: the call writes every element of grads_image, zeros for pixels that no sample reads; the caller need
 *   not initialize it. NaN and infinity propagate through the additions.
 * Determinism: sums are in fp32, in the order of RoIs, then rows of bins: the same bits at every thread count and
 *   on every instruction set; for HALF and BFLOAT16 they are rounded once, at the end. mmcv adds with atomics, in
 *   any order.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps the memory of mluOpRoiAlignForward_v2; for HALF and BFLOAT16 also, for
 *   each task, 4 bytes for each pixel of an image and 16 channels, or more up to 16 MiB (NCHW: 1 channel).
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      pool_mode is neither 0 nor 1; the image of a RoI does not exist; images have no pixels although
 *                  R and C are positive
 *   NOT_SUPPORTED  H or W is 2^31 or more; sampling_ratio exceeds 64
 *
 * Definition: MLU-OPS header, mluOpRoiAlignBackward_v2; mmcv roi_align. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignBackward_v2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grads_desc, const void* grads,
    const mluOpTensorDescriptor_t boxes_desc, const void* boxes, const mluOpTensorDescriptor_t argmax_x_desc,
    const void* argmax_x, const mluOpTensorDescriptor_t argmax_y_desc, const void* argmax_y,
    const float spatial_scale, const int sampling_ratio, const bool aligned, const int pool_mode,
    const mluOpTensorDescriptor_t grads_image_desc, void* grads_image);

/* RoI align of rotated RoIs, forward: pools interpolated samples of an image in each bin of each RoI. Its gradient
 * is mluOpRoiAlignRotatedBackward.
 *
 *   A RoI is rois[r] = (image, cx, cy, w, h, theta), theta in radians. In fp32:
 *     center: (cy spatial_scale - offset, cx spatial_scale - offset); offset = 0.5 if aligned, else 0
 *     size: h spatial_scale, w spatial_scale; at least 1 each, unless aligned
 *     theta is negated if clockwise; cos, sin are rounded once from double
 *   Along v, the height, and likewise along u, the width, bin = size / pooled_height; n = sample_ratio if
 *   positive, else bin rounded up, at most 2^24: the samples of a bin. Sample i of bin p is at
 *     v(p,i) = -size / 2 + p bin + (i + 0.5) bin / n
 *   and sample (v, u) of the RoI is at
 *     y = v cos - u sin + center y, x = v sin + u cos + center x
 *   The value of the sample (y, x) is interpolated from the four pixels around it; it is 0 if y is not in [-1, H]
 *   or x is not in [-1, W]. Positions are clamped to the first and the last pixel.
 *   output[r,p,q,c] = the sum of the samples of bin (p, q), row by row, divided by their number
 *
 * | tensor   | shape                               | dtype                   | layout |
 * |----------|-------------------------------------|-------------------------|--------|
 * | features | [B, H, W, C]                        | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois     | [R, 6]                              | as features             | any    |
 * | output   | [R, pooled_height, pooled_width, C] | as features             | NHWC   |
 *
 * Units: rois are in pixels of the network's input; spatial_scale converts them to pixels of `features`. The y
 *   axis points down: a positive theta turns counter-clockwise on the image, or clockwise if `clockwise`. MLU-OPS
 *   and this function pass sample_ratio before spatial_scale; mmcv passes spatial_scale first.
 * Outputs: the call writes every element; the caller need not initialize them. Without sample_ratio, a size that
 *   is 0, negative or not finite has no samples: output is 0. With it, a negative size mirrors the samples. A
 *   sample with a NaN coordinate is NaN. If R or C is 0, which MLU-OPS rejects, the data may be null.
 * Determinism: a sample is ((w1 a + w2 b) + w3 c) + w4 d in fp32, with the pixels top left a, top right b, bottom
 *   left c and bottom right d; each weight is the rounded product of the weights along y and x. Sums are fp32 in
 *   the order of samples: the same bits at every thread count and on every instruction set. HALF and BFLOAT16,
 *   rois included, are computed in fp32 and rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 90 bytes a RoI.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      pooled_height or pooled_width is not positive; sample_ratio is negative; spatial_scale is
 *                  negative or NaN; the image of a RoI does not exist; features has no pixels although R and C are
 *                  positive
 *   NOT_SUPPORTED  H W is 2^31 or more: pixels are numbered by int32; sample_ratio exceeds 64
 *
 * Definition: MLU-OPS header, mluOpRoiAlignRotatedForward; mmcv roi_align_rotated; FOTS, arXiv:1801.01671. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignRotatedForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int pooled_height, const int pooled_width,
    const int sample_ratio, const float spatial_scale, const bool aligned, const bool clockwise,
    const mluOpTensorDescriptor_t output_desc, void* output);

/* RoI align of rotated RoIs, backward: the gradient of mluOpRoiAlignRotatedForward for features.
 *
 *   bottom_grad = the sum over the samples of all bins of (top_grad[r,p,q,c] times the weights with which they are
 *     interpolated), divided by the number of samples of the bin
 *
 * | tensor      | shape                               | dtype                   | layout |
 * |-------------|-------------------------------------|-------------------------|--------|
 * | top_grad    | [R, pooled_height, pooled_width, C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois        | [R, 6]                              | as top_grad             | any    |
 * | bottom_grad | [B, H, W, C]                        | as top_grad             | NHWC   |
 *
 * Outputs: the call writes every element, 0 where no sample is; the caller need not initialize them. A sample with
 *   a NaN coordinate adds nothing. R may be 0, which MLU-OPS rejects. (The example of the header of MLU-OPS, four
 *   gradients of 0.25, is wrong: they are 0.765625, 0.109375, 0.109375 and 0.015625.)
 * Determinism: sums are fp32 and start at +0, in the order of RoIs, bins, samples, pixels: the same bits at every
 *   thread count and on every instruction set; mmcv's kernel for CPUs adds in the same order. HALF and BFLOAT16
 *   are computed in fp32 and rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 90 bytes a RoI and, for HALF and BFLOAT16, 4 bytes for each element
 *   of the gradient of one image or more.
 *
 * Returns, in addition to the statuses of every operator: as mluOpRoiAlignRotatedForward.
 *
 * Definition: MLU-OPS header, mluOpRoiAlignRotatedBackward; mmcv roi_align_rotated. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignRotatedBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t top_grad_desc, const void* top_grad,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const int pooled_height, const int pooled_width,
    const int sample_ratio, const float spatial_scale, const bool aligned, const bool clockwise,
    const mluOpTensorDescriptor_t bottom_grad_desc, void* bottom_grad);

/* Rotated feature align, forward (R3Det): adds to each pixel interpolated samples at the box of the pixel. Its
 * gradient is mluOpRotatedFeatureAlignBackward.
 *
 *   The box of a pixel is bboxes[b,i,j] = (y, x, w, h, angle), angle in radians. In fp32, with s = spatial_scale:
 *     center: (y s, x s); (wy, wx) = (sin angle, cos angle) w s / 2; (hy, hx) = (cos angle, -sin angle) h s / 2
 *     points 1: the center
 *     points 5: the center, then center + w + h, center - w + h, center - w - h, center + w - h
 *   The value of a sample (y, x) is interpolated from the four pixels around it; it is 0 if y is not in [-1, H] or
 *   x is not in [-1, W]. Positions are clamped to the first and the last pixel.
 *   output[b,i,j,c] = input[b,i,j,c] + the samples, in this order
 *
 * | tensor | shape        | dtype                   | layout |
 * |--------|--------------|-------------------------|--------|
 * | input  | [B, H, W, C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | bboxes | [B, H, W, 5] | as input                | any    |
 * | output | [B, H, W, C] | as input                | NHWC   |
 *
 * Units: bboxes are in pixels of the network's input; spatial_scale converts them to pixels of `input`. The first
 *   field is the position along y, in this function as in the code of MLU-OPS and mmcv; mmrotate passes x first,
 *   so that its samples are transposed. (The formulas in the document of MLU-OPS exchange sine and cosine.)
 * Outputs: the call writes every element; the caller need not initialize them. A sample with a NaN coordinate is
 *   NaN. Tensors may be empty, which MLU-OPS rejects.
 * Determinism: a sample is ((w1 a + w2 b) + w3 c) + w4 d in fp32, with the pixels top left a, top right b, bottom
 *   left c and bottom right d; each weight is the rounded product of the weights along y and x. Sums are fp32 in
 *   the order above: the same bits at every thread count and on every instruction set. HALF and BFLOAT16, bboxes
 *   included, are computed in fp32 and rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      spatial_scale is not positive; points is neither 1 nor 5
 *   NOT_SUPPORTED  H W is 2^31 or more: pixels are numbered by int32
 *
 * Definition: MLU-OPS header, mluOpRotatedFeatureAlignForward; mmcv rotated_feature_align; R3Det,
 *   arXiv:1908.05612. */
mluOpStatus_t MLUOP_WIN_API mluOpRotatedFeatureAlignForward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t bboxes_desc, const void* bboxes, const float spatial_scale, const int points,
    const mluOpTensorDescriptor_t output_desc, void* output);

/* Rotated feature align, backward: the gradient of mluOpRotatedFeatureAlignForward for input.
 *
 *   bottom_input = top_output, plus the sum over the samples of all pixels of top_output[b,i,j,c] times the
 *     weights with which they are interpolated
 *
 * | tensor       | shape        | dtype                   | layout |
 * |--------------|--------------|-------------------------|--------|
 * | top_output   | [B, H, W, C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | bboxes       | [B, H, W, 5] | as top_output           | any    |
 * | bottom_input | [B, H, W, C] | as top_output           | NHWC   |
 *
 * Outputs: the call writes every element; the caller need not initialize them. A sample with a NaN coordinate adds
 *   nothing.
 * Determinism: sums are fp32 and start at +0, in the order of the pixels of top_output, each with its own gradient
 *   first, then its samples: the same bits at every thread count and on every instruction set. (The CPU code of
 *   MLU-OPS's tests adds the own gradient last.) HALF and BFLOAT16 are computed in fp32 and rounded once, to
 *   nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. For HALF and BFLOAT16, the handle keeps 4 bytes for each element of the gradient of one
 *   image or more.
 *
 * Returns, in addition to the statuses of every operator: as mluOpRotatedFeatureAlignForward.
 *
 * Definition: MLU-OPS header, mluOpRotatedFeatureAlignBackward; mmcv rotated_feature_align. */
mluOpStatus_t MLUOP_WIN_API mluOpRotatedFeatureAlignBackward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t top_output_desc, const void* top_output,
    const mluOpTensorDescriptor_t bboxes_desc, const void* bboxes, const float spatial_scale, const int points,
    const mluOpTensorDescriptor_t bottom_input_desc, void* bottom_input);

/* Border align, forward (BorderDet): the maximum of interpolated samples along each border of each box. Its
 * gradient is mluOpBorderAlignBackward.
 *
 *   A box is boxes[b,k] = (x1, y1, x2, y2), in pixels of `input`, with w = x2 - x1, h = y2 - y1, in fp32. Its
 *   borders 0 to 3 are top and left, from (x1, y1), and bottom and right, from (x2, y2), in steps of (w /
 *   pool_size, 0), (0, h / pool_size), (-w / pool_size, 0) and (0, -h / pool_size). A border has pool_size + 1
 *   samples; the position of a sample is the one before plus the step, rounded.
 *   The value of a sample of border m is interpolated from channel m C + c of the four pixels around it; it is 0
 *   if y is not in [-1, H] or x is not in [-1, W]. Positions are clamped to the first and the last pixel.
 *   output[b,k,m,c] = the greatest sample; argmax_idx[b,k,m,c] = the number of the first greatest sample
 *
 * | tensor     | shape          | dtype                   | layout |
 * |------------|----------------|-------------------------|--------|
 * | input      | [B, H, W, 4 C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | boxes      | [B, K, 4]      | as input                | any    |
 * | output     | [B, K, 4, C]   | as input                | NHWC   |
 * | argmax_idx | [B, K, 4, C]   | INT32                   | NHWC   |
 *
 * K is any number; MLU-OPS requires H W. Tensors may be empty, which MLU-OPS rejects.
 * Outputs: the call writes every element; the caller need not initialize them. A NaN is not selected, unless it is
 *   sample 0, which it then stays. A sample with a NaN coordinate is NaN.
 * Determinism: exact: the same bits at every thread count and on every instruction set. A sample is ((w1 a + w2 b)
 *   + w3 c) + w4 d in fp32, with the pixels top left a, top right b, bottom left c and bottom right d; each weight
 *   is the rounded product of the weights along y and x. HALF and BFLOAT16 are computed in fp32 and rounded once.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      pool_size is not positive; the last dimension of input is not a multiple of 4; input has no
 *                  pixels although output has elements
 *   NOT_SUPPORTED  H W is 2^31 or more: pixels are numbered by int32; pool_size exceeds 4096
 *
 * Definition: MLU-OPS header, mluOpBorderAlignForward; mmcv border_align; BorderDet, arXiv:2007.11056. */
mluOpStatus_t MLUOP_WIN_API mluOpBorderAlignForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                                    const void* input, const mluOpTensorDescriptor_t boxes_desc,
                                                    const void* boxes, const int32_t pool_size,
                                                    const mluOpTensorDescriptor_t output_desc, void* output,
                                                    const mluOpTensorDescriptor_t argmax_idx_desc,
                                                    void* argmax_idx);

/* Border align, backward: the gradient of mluOpBorderAlignForward for input.
 *
 *   grad_input = the sum over the elements of grad_output, each times the weights with which sample argmax_idx of
 *     its border is interpolated. The position of sample n is the start of the border plus n steps: rounded once,
 *     unlike the sum of steps of mluOpBorderAlignForward, from which it may differ in the last bits.
 *
 * | tensor      | shape          | dtype                   | layout |
 * |-------------|----------------|-------------------------|--------|
 * | grad_output | [B, K, 4, C]   | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | boxes       | [B, K, 4]      | as grad_output          | any    |
 * | argmax_idx  | [B, K, 4, C]   | INT32                   | NHWC   |
 * | grad_input  | [B, H, W, 4 C] | as grad_output          | NHWC   |
 *
 * Outputs: the call writes every element; the caller need not initialize them. A number of argmax_idx outside
 *   [0, pool_size], and a sample outside the image or with a NaN coordinate, add nothing.
 * Determinism: sums are fp32 and start at +0, in the order of boxes and borders: the same bits at every thread
 *   count and on every instruction set. HALF and BFLOAT16 are computed in fp32 and rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. For HALF and BFLOAT16, the handle keeps 256 H W bytes for each task.
 *
 * Returns, in addition to the statuses of every operator: as mluOpBorderAlignForward, with grad_input in place of
 *   input.
 *
 * Definition: MLU-OPS header, mluOpBorderAlignBackward; mmcv border_align. */
mluOpStatus_t MLUOP_WIN_API
mluOpBorderAlignBackward(mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc,
                         const void* grad_output, const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                         const mluOpTensorDescriptor_t argmax_idx_desc, const void* argmax_idx,
                         const int32_t pool_size, const mluOpTensorDescriptor_t grad_input_desc, void* grad_input);

/* RoI pooling, forward (Fast R-CNN): the maximum of the pixels in each bin of each RoI. mluOpOmpRoiPoolForward has
 * the bins of mmcv. Its gradient is mluOpRoiPoolingBackward.
 *
 *   A RoI is rois[r] = (image, x1, y1, x2, y2). Along the y axis, and likewise along x, in fp32:
 *     first = y1 spatial_scale, last = y2 spatial_scale, each rounded to an integer, halves away from 0
 *     size = last - first + 1, at least 1; bin = size / PH
 *     bin p has the pixels from floor(p bin) + first to ceil((p + 1) bin) + first - 1 that are in the image
 *   output[r,p,q,c] = the greatest pixel of bin (p, q); argmax[r,p,q,c] = y W + x of the first one, by rows
 *
 * | tensor | shape          | dtype                   | layout        |
 * |--------|----------------|-------------------------|---------------|
 * | input  | [B, H, W, C]   | FLOAT, HALF or BFLOAT16 | NHWC, or NCHW |
 * | rois   | [R, 5]         | as input                | any           |
 * | output | [R, PH, PW, C] | as input                | as input      |
 * | argmax | [R, PH, PW, C] | INT32                   | as input      |
 *
 * In NCHW, which MLU-OPS does not support, the shapes are [B, C, H, W] and [R, C, PH, PW]. argmax has no
 *   descriptor; it is never null.
 * Units: rois are in pixels of the network's input; spatial_scale converts them to pixels of `input`.
 * Outputs: the call writes every element; the caller need not initialize them. A bin without pixels, and each bin
 *   of a RoI with an infinite or NaN corner, is 0, argmax -1. The maximum never selects NaN; if no pixel exceeds
 *   the lowest fp32 number, output is that number, rounded, argmax -1.
 *   If output has no elements, the data may be null.
 * Determinism: the result is exact: the same at every thread count and on every instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps, for each RoI, 8 bytes and 16 for each row and column of bins; in NCHW
 *   also, for each task, 16 channels of an image.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      the image of a RoI does not exist
 *   NOT_SUPPORTED  pooling_mode is not MLUOP_POOLING_MAX; H W is 2^31 or more
 *
 * Definition: MLU-OPS header, mluOpRoiPoolingForward; torchvision roi_pool; Fast R-CNN, arXiv:1504.08083. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiPoolingForward(mluOpHandle_t handle, mluOpPoolingMode_t pooling_mode,
                                                   const mluOpTensorDescriptor_t input_desc, const void* input,
                                                   const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                   float spatial_scale, const mluOpTensorDescriptor_t output_desc,
                                                   void* output, int* argmax);

/* RoI pooling, backward (Fast R-CNN): the gradient of mluOpRoiPoolingForward and mluOpOmpRoiPoolForward for input.
 *
 *   grads_image[b,y,x,c] = sum of grads[r,p,q,c] over the RoIs r of image b and the bins with argmax[r,p,q,c] =
 *     y W + x
 *
 * | tensor      | shape          | dtype                   | layout        |
 * |-------------|----------------|-------------------------|---------------|
 * | grads       | [R, PH, PW, C] | FLOAT, HALF or BFLOAT16 | NHWC, or NCHW |
 * | rois        | [R, 5]         | as grads                | any           |
 * | argmax      | [R, PH, PW, C] | INT32                   | as grads      |
 * | grads_image | [B, H, W, C]   | as grads                | as grads      |
 *
 * In NCHW, which MLU-OPS does not support, the shapes are [R, C, PH, PW] and [B, C, H, W].
 * Units: of rois, only the image is read; spatial_scale has no effect. A gradient whose argmax is outside [0, H W)
 *   is not used.
 * Outputs: the call writes every element of grads_image, 0 for pixels without a maximum; the caller need not
 *   initialize it. NaN and infinity propagate through the additions.
 * Determinism: sums are in fp32, in the order of RoIs, then bins: the same bits at every thread count and on every
 *   instruction set; for HALF and BFLOAT16 they are rounded once, at the end.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 8 bytes for each RoI; in NHWC, and for HALF and BFLOAT16, also, for each
 *   task, about 2 MiB, or 4 bytes for each pixel of an image and 16 channels.
 *
 * Returns, in addition to the statuses of every operator: what mluOpRoiPoolingForward returns.
 *
 * Definition: MLU-OPS header, mluOpRoiPoolingBackward; mmcv roi_pool. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiPoolingBackward(mluOpHandle_t handle, mluOpPoolingMode_t pooling_mode,
                                                    const mluOpTensorDescriptor_t grads_desc, const void* grads,
                                                    const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                    const mluOpTensorDescriptor_t argmax_desc, const int* argmax,
                                                    const float spatial_scale,
                                                    const mluOpTensorDescriptor_t grads_image_desc,
                                                    void* grads_image);

/* Position-sensitive RoI pooling, forward (R-FCN): each bin of each RoI has channels of its own, whose mean over
 * the bin it returns. Its gradient is mluOpPsRoiPoolBackward.
 *
 *   A RoI is rois[r] = (image, x1, y1, x2, y2). Along the y axis, and likewise along x, in fp32, with P =
 *   pooled_height = pooled_width = group_size:
 *     start = round(y1) spatial_scale, end = (round(y2) + 1) spatial_scale, halves rounded away from 0
 *     bin = max(end - start, 0.1) / P
 *     bin i has the pixels from floor(i bin + start) to ceil((i + 1) bin + start) - 1 that are in the image
 *   mapping_channel[r,i,j,k] = k P^2 + i P + j
 *   output[r,i,j,k] = the mean of this channel of input over the pixels of bin (i, j)
 *
 * | tensor          | shape                      | dtype                   | layout |
 * |-----------------|----------------------------|-------------------------|--------|
 * | input           | [B, H, W, P^2 output_dim]  | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois            | [R, 5]                     | as input                | any    |
 * | output          | [R, P, P, output_dim]      | as input                | NHWC   |
 * | mapping_channel | [R, P, P, output_dim]      | INT32                   | NHWC   |
 *
 * Units: rois are in pixels of the network's input; spatial_scale converts them to pixels of `input`. The document
 *   of MLU-OPS lists y before x; its code reads x first.
 * Outputs: the call writes every element; the caller need not initialize them. A bin without pixels, and each bin
 *   of a RoI with an infinite or NaN corner, is 0. HALF and BFLOAT16, R = 0 and an empty input are an extension:
 *   MLU-OPS has FLOAT and at least one RoI, and leaves the outputs unchanged if input is empty.
 *   If output has no elements, the data may be null.
 * Determinism: sums are in fp32, by rows, divided by the number of pixels: the same bits at every thread count and
 *   on every instruction set. HALF and BFLOAT16 are rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps input in fp32, and for each RoI 8 bytes and 16 for each row and column of
 *   bins.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      pooled_height, pooled_width and group_size differ or are below 1; output_dim is below 1;
 *                  spatial_scale is not positive; the image of a RoI does not exist
 *   NOT_SUPPORTED  the number of channels is 2^31 or more
 *
 * Definition: MLU-OPS header, mluOpPsRoiPoolForward; R-FCN, arXiv:1605.06409. */
mluOpStatus_t MLUOP_WIN_API mluOpPsRoiPoolForward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width, const float spatial_scale,
    const int group_size, const int output_dim, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t output_desc,
    void* output, const mluOpTensorDescriptor_t mapping_channel_desc, void* mapping_channel);

/* Position-sensitive RoI pooling, backward (R-FCN): the gradient of mluOpPsRoiPoolForward for input.
 *
 *   With the letters of mluOpPsRoiPoolForward:
 *   bottom_grad[b,y,x,c] = the sum, over the RoIs of image b and their bins with pixel (y, x), of
 *     top_grad[r,i,j,k] divided by the number of pixels of the bin, for the k with mapping_channel[r,i,j,k] = c
 *
 * | tensor          | shape                     | dtype                   | layout |
 * |-----------------|---------------------------|-------------------------|--------|
 * | top_grad        | [R, P, P, output_dim]     | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois            | [R, 5]                    | as top_grad             | any    |
 * | mapping_channel | [R, P, P, output_dim];    | INT32                   | NHWC   |
 * |                 | or null, or [0]           |                         |        |
 * | bottom_grad     | [B, H, W, P^2 output_dim] | as top_grad             | NHWC   |
 *
 * Units: as mluOpPsRoiPoolForward.
 *   Without mapping_channel, an extension, the channels are k P^2 + i P + j, as in the forward operator.
 * Outputs: the call writes every element of bottom_grad, zeros for pixels in no bin; the caller need not
 *   initialize it. NaN and infinity propagate through the additions. HALF and BFLOAT16, and R = 0, are an
 *   extension.
 * Determinism: sums are in fp32, in the order of RoIs, bins and k: the same bits at every thread count and on
 *   every instruction set; for HALF and BFLOAT16 they are rounded once, at the end.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps, for each RoI, 8 bytes and 16 for each row and column of bins; and, for
 *   each task, 4 bytes for each element of a row of bottom_grad.
 *
 * Returns, in addition to the statuses of every operator: what mluOpPsRoiPoolForward returns, and
 *   BAD_PARAM  an element of mapping_channel is outside [0, P^2 output_dim - 1]
 *
 * Definition: MLU-OPS header, mluOpPsRoiPoolBackward; R-FCN, arXiv:1605.06409. */
mluOpStatus_t MLUOP_WIN_API mluOpPsRoiPoolBackward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width, const float spatial_scale,
    const int output_dim, const mluOpTensorDescriptor_t top_grad_desc, const void* top_grad,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t mapping_channel_desc,
    const void* mapping_channel, const mluOpTensorDescriptor_t bottom_grad_desc, void* bottom_grad);

/* RoI align, backward, first version: not supported, as in MLU-OPS, which keeps the declaration. Use
 * mluOpRoiAlignBackward_v2, with pool_mode 1.
 *
 * Returns NOT_SUPPORTED before any check, for a null handle as well. Nothing is read or written.
 *
 * Definition: MLU-OPS header, mluOpRoiAlignBackward. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiAlignBackward(mluOpHandle_t handle, const float spatial_scale,
                                                  const int sampling_ratio, const bool aligned,
                                                  const mluOpTensorDescriptor_t grads_desc, const void* grads,
                                                  const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                                  const mluOpTensorDescriptor_t grads_image_desc,
                                                  void* grads_image);

/* Deformable RoI pool forward (Deformable ConvNets): pools interpolated samples of a map in each bin of each RoI,
 * whose bins move by offsets. mluOpDeformRoiPoolBackward computes its gradients.
 *
 *   A RoI is rois[r] = (image, x1, y1, x2, y2). Along the y axis, and likewise along x, in fp32:
 *     start = y1 spatial_scale - 0.5; size = y2 spatial_scale - 0.5 - start; bin = size / pooled_height
 *     n = sampling_ratio if positive, else bin rounded up, at most 2^24: the samples of a bin
 *     y(p,q,i) = start + gamma size offset[r,1,p,q] + p bin + (i + 0.5) bin / n; x uses offset[r,0,p,q]
 *   The value of a sample (y, x) is interpolated from the four pixels around it; it is 0 if y is not in [-1, H] or
 *   x is not in [-1, W]. Positions are clamped to the first and the last pixel.
 *   output[r,p,q,c] = the sum of the samples of bin (p, q), divided by their number
 *
 * | tensor | shape                                    | dtype                   | layout |
 * |--------|------------------------------------------|-------------------------|--------|
 * | input  | [B, H, W, C]                             | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | rois   | [R, 5]                                   | as input                | any    |
 * | offset | null, or                                 | as input                | any    |
 * |        | [R, 2, pooled_height, pooled_width]      |                         |        |
 * | output | [R, pooled_height, pooled_width, C]      | as input                | NHWC   |
 *
 * Units: rois are in pixels of the network's input; spatial_scale converts them to pixels of `input`. An offset is
 *   in sizes of the RoI times gamma: x, then y. offset is absent if descriptor and data are null, or if its shape
 *   is [0].
 * Outputs: the call writes every element; the caller need not initialize output. A bin of size 0, less or infinite
 *   has no samples without a sampling ratio, and gives 0. A sample with a NaN coordinate gives NaN. If output has
 *   no elements, the data may be null; MLU-OPS refuses B, R or C of 0.
 * Determinism: the same bits at every thread count and on every instruction set: positions and sums are in fp32,
 *   in the order of rows and columns of samples, then of pixels. HALF and BFLOAT16 are computed in fp32 and
 *   rounded once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 60 bytes for each RoI.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      pooled_height or pooled_width is negative; the image of a RoI does not exist; maps have no
 *                  pixels although output has elements; one of descriptor and data of offset is null
 *   NOT_SUPPORTED  a map has 2^31 pixels or more; sampling_ratio exceeds 64
 *
 * Definition: MLU-OPS header, mluOpDeformRoiPoolForward; mmcv deform_roi_pool; arXiv:1703.06211. */
mluOpStatus_t MLUOP_WIN_API mluOpDeformRoiPoolForward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t offset_desc,
    const void* offset, const int pooled_height, const int pooled_width, const float spatial_scale,
    const int sampling_ratio, const float gamma, const mluOpTensorDescriptor_t output_desc, void* output);

/* Deformable RoI pool backward (Deformable ConvNets): the gradients of input and offset of
 * mluOpDeformRoiPoolForward.
 *
 *   With g = grad_output[r,p,q,c] divided by the number of samples of the bin:
 *   grad_input = the sum over the samples of all bins of g times the weights with which they are interpolated
 *   grad_offset[r,1,p,q] = gamma height sum over the samples inside and the channels of
 *     g (v11 (x - xl) + v01 (xh - x) + v10 (xl - x) + v00 (x - xh))
 *   grad_offset[r,0,p,q] = gamma width sum of g (v11 (y - yl) + v10 (yh - y) + v01 (yl - y) + v00 (y - yh))
 *   v00, v10, v01, v11 are the pixels (yl, xl), (yl, xh), (yh, xl), (yh, xh); y and x are not clamped: within a
 *   pixel of the border of the map grad_offset is not the derivative, as in MLU-OPS and mmcv.
 *
 * | tensor      | shape                               | dtype                   | layout |
 * |-------------|-------------------------------------|-------------------------|--------|
 * | grad_output | [R, pooled_height, pooled_width, C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | input       | [B, H, W, C]                        | as grad_output          | NHWC   |
 * | rois        | [R, 5]                              | as grad_output          | any    |
 * | offset      | null, or                            | as grad_output          | any    |
 * |             | [R, 2, pooled_height, pooled_width] |                         |        |
 * | grad_input  | [B, H, W, C]                        | as grad_output          | NHWC   |
 * | grad_offset | as offset                           | as grad_output          | any    |
 *
 * Units: as in mluOpDeformRoiPoolForward. grad_offset is present if offset is.
 * Outputs: the call writes every element, zeros for pixels that no sample reads; the caller need not initialize
 *   them. A sample with a NaN coordinate adds nothing. If no output has elements, the data may be null.
 * Determinism: the same bits at every thread count and on every instruction set: sums of grad_input are in fp32,
 *   in the order of RoIs, bins, samples and pixels. grad_offset adds channel c of each sample, in the order of
 *   samples and channels, to fp32 partial sum c mod 16, and the 16 sums in double. Both are rounded once. MLU-OPS
 *   adds with atomics, in any order.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps about 60 bytes for each RoI; for HALF and BFLOAT16 also, for each task,
 *   the sums of a part of the map in fp32.
 *
 * Returns, in addition to the statuses of every operator: what mluOpDeformRoiPoolForward returns, and
 *   BAD_PARAM      one of descriptor and data of grad_offset is null, or one of offset and grad_offset is absent
 *
 * Definition: MLU-OPS header, mluOpDeformRoiPoolBackward; mmcv deform_roi_pool; arXiv:1703.06211. */
mluOpStatus_t MLUOP_WIN_API mluOpDeformRoiPoolBackward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t input_desc, const void* input, const mluOpTensorDescriptor_t rois_desc,
    const void* rois, const mluOpTensorDescriptor_t offset_desc, const void* offset, const int pooled_height,
    const int pooled_width, const float spatial_scale, const int sampling_ratio, const float gamma,
    const mluOpTensorDescriptor_t grad_input_desc, void* grad_input,
    const mluOpTensorDescriptor_t grad_offset_desc, void* grad_offset);

/* Multi-scale deformable attention, forward (Deformable DETR, BEVFormer): for each query and head, the weighted
 * sum of samples of the values of several levels. mluOpMsDeformAttnBackward computes its gradients.
 *
 *   Level l is an image of H x W = data_spatial_shapes[l] pixels, stored row by row in the keys from
 *   data_level_start_index[l] on. The sample (x, y) = data_sampling_loc[b,q,m,l,p] is at (x W - 0.5, y H - 0.5).
 *   It is used if both coordinates are above -1 and below W and H, and is interpolated from the four pixels around
 *   it; pixels outside the image are 0.
 *   data_col[b,q,m,:] = the sum over l and p of data_attn_weight[b,q,m,l,p] times the sample of
 *   data_value[b,:,m,:]
 *
 * | tensor                 | shape              | dtype | layout |
 * |------------------------|--------------------|-------|--------|
 * | data_value             | [B, K, M, D]       | FLOAT | any    |
 * | data_spatial_shapes    | [L, 2]             | INT32 | any    |
 * | data_level_start_index | [L]                | INT32 | any    |
 * | data_sampling_loc      | [B, Q, M, L, P, 2] | FLOAT | any    |
 * | data_attn_weight       | [B, Q, M, L, P]    | FLOAT | any    |
 * | data_col               | [B, Q, M, D]       | FLOAT | any    |
 *
 * Units: locations from 0 to 1 are inside the image. mmcv uses int64 shapes and indices, and outputs of shape [B,
 *   Q, M D]. im2col_step has no effect on results.
 * Outputs: the call writes every element, zeros if L or P is 0; the caller need not initialize data_col. A NaN
 *   location is not used. NaN and infinity of values and weights propagate.
 * Determinism: sums are in fp32, in the order of l and p, with rounded products: the same bits at every thread
 *   count and on every instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  B, M, D or Q is 0; im2col_step is not positive, or less than B without dividing it; a level has a
 *              negative size, or keys outside data_value: the message names the first
 *
 * Definition: MLU-OPS design document ms_deform_attn_forward; mmcv ms_deform_attn; arXiv:2010.04159. */
mluOpStatus_t MLUOP_WIN_API mluOpMsDeformAttnForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t data_value_desc, const void* data_value,
    const mluOpTensorDescriptor_t data_spatial_shapes_desc, const void* data_spatial_shapes,
    const mluOpTensorDescriptor_t data_level_start_index_desc, const void* data_level_start_index,
    const mluOpTensorDescriptor_t data_sampling_loc_desc, const void* data_sampling_loc,
    const mluOpTensorDescriptor_t data_attn_weight_desc, const void* data_attn_weight, const int im2col_step,
    const mluOpTensorDescriptor_t data_col_desc, void* data_col);

/* Multi-scale deformable attention, backward (Deformable DETR, BEVFormer): the gradients of
 * mluOpMsDeformAttnForward for values, locations and weights.
 *
 * | tensor                          | shape              | dtype | layout |
 * |---------------------------------|--------------------|-------|--------|
 * | value, grad_value               | [B, K, M, D]       | FLOAT | any    |
 * | spatial_shapes                  | [L, 2]             | INT32 | any    |
 * | level_start_index               | [L]                | INT32 | any    |
 * | sampling_loc, grad_sampling_loc | [B, Q, M, L, P, 2] | FLOAT | any    |
 * | attn_weight, grad_attn_weight   | [B, Q, M, L, P]    | FLOAT | any    |
 * | grad_output                     | [B, Q, M, D]       | FLOAT | any    |
 *
 * Units: as mluOpMsDeformAttnForward.
 * Outputs: the call writes every element, zeros for unused samples and for keys that no sample reads; the caller
 *   need not initialize them. MLU-OPS leaves them unchanged if L is 0, and grad_value if K is 0.
 * Determinism: the same bits at every thread count and on every instruction set. grad_value is summed in fp32 in
 *   the order of q, l and p; mmcv adds with atomics, in any order. Sums over D add channel d, ascending, to
 *   partial sum d mod 16; then sums 8 to 15 are added to sums 0 to 7, 4 to 7 to 0 to 3, 2 and 3 to 0 and 1, and 1
 *   to 0. Products are taken in this order, with g = grad_output, a = attn_weight, u and v the fractions of the
 *   sample along x and y, and v0 to v3 the pixels top left, top right, bottom left, bottom right with weights w0
 *   to w3:
 *     grad_value       adds wi (a g) to pixel i
 *     grad_attn_weight = sum over d of g (((w0 v0 + w1 v1) + w2 v2) + w3 v3)
 *     grad_sampling_loc along x = width (a (sum over d of g ((1 - v) (v1 - v0) + v (v3 - v2))))
 *     grad_sampling_loc along y = height (a (sum over d of g ((1 - u) (v2 - v0) + u (v3 - v1))))
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  as mluOpMsDeformAttnForward
 *
 * Definition: MLU-OPS design document ms_deform_attn_backward; mmcv ms_deform_attn. */
mluOpStatus_t MLUOP_WIN_API mluOpMsDeformAttnBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t value_desc, const void* value,
    const mluOpTensorDescriptor_t spatial_shapes_desc, const void* spatial_shapes,
    const mluOpTensorDescriptor_t level_start_index_desc, const void* level_start_index,
    const mluOpTensorDescriptor_t sampling_loc_desc, const void* sampling_loc,
    const mluOpTensorDescriptor_t attn_weight_desc, const void* attn_weight,
    const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output, const int32_t im2col_step,
    const mluOpTensorDescriptor_t grad_value_desc, void* grad_value,
    const mluOpTensorDescriptor_t grad_sampling_loc_desc, void* grad_sampling_loc,
    const mluOpTensorDescriptor_t grad_attn_weight_desc, void* grad_attn_weight);

/* Sigmoid focal loss, forward (RetinaNet): the loss of each class of each row. Its derivative is
 * mluOpFocalLossSigmoidBackward.
 *
 *   p = 1 / (1 + exp(-input[n,c])), rounded to fp32; log' x = log max(x, 2^-126)
 *   output[n,c] = -w alpha (1 - p)^gamma log' p              if target[n] = c
 *   output[n,c] = -w (1 - alpha) p^gamma log' (1 - p)        otherwise
 *   w = weight[target[n]]; 1 without weights, or if target[n] is outside [0, C - 1] (a background row)
 *
 * | tensor | shape  | dtype                   | layout |
 * |--------|--------|-------------------------|--------|
 * | input  | [N, C] | FLOAT, HALF or BFLOAT16 | any    |
 * | target | [N]    | INT32                   | any    |
 * | weight | [C]    | as input                | any    |
 * | output | [N, C] | as input                | any    |
 *
 * Optional: weight_desc and weight are null, or weight_desc has the shape [0], if there are no weights.
 * Units: input is logits. mmcv takes gamma before alpha, and an int64 target. For inputs of 17.33 and above, p is
 *   1, 1 - p is 0 and log' (1 - p) is -87.3: the loss of a class other than the target is 87.3 w (1 - alpha).
 *   mmcv's kernels also round 1 + exp(-input), and reach this value from 16.64 on.
 * Outputs: the call writes every element; the caller need not initialize output. If N or C is 0, the data may be
 *   null. NaN propagates.
 *   p is flushed to 0 below 2^-126, the least normal number: for an input below -87.3365. A power below 2^-252 is
 *   0, unless gamma is 2; where it is 0, the result is 0 for finite alpha and weight. Subnormal results are kept.
 * Determinism: the same bits at every thread count, in every run and on every instruction set. exp and log are
 *   polynomials in fp32, with relative errors below 2^-22; HALF and BFLOAT16 are computed in fp32 and rounded
 *   once, to nearest even. With t = -log' p and r = (1 - p)^(gamma / 2), products are (((w alpha) t) r) r, and
 *   likewise with 1 - alpha, 1 - p and p: a power below 2^-126 does not flush a normal result to 0.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      prefer or reduction is not a valid enumerator
 *   NOT_SUPPORTED  prefer is MLUOP_COMPUTATION_ULTRAHIGH_PRECISION, reduction is not MLUOP_LOSS_REDUCTION_NONE, or
 *                  gamma is negative or not finite
 *
 * Definition: MLU-OPS design document focal_loss_sigmoid_forward; mmcv sigmoid_focal_loss; arXiv:1708.02002. */
mluOpStatus_t MLUOP_WIN_API mluOpFocalLossSigmoidForward(
    mluOpHandle_t handle, const mluOpComputationPreference_t prefer, const mluOpLossReduction_t reduction,
    const mluOpTensorDescriptor_t input_desc, const void* input, const mluOpTensorDescriptor_t target_desc,
    const void* target, const mluOpTensorDescriptor_t weight_desc, const void* weight, const float alpha,
    const float gamma, const mluOpTensorDescriptor_t output_desc, void* output);

/* Sigmoid focal loss, backward (RetinaNet): the derivative of each loss of mluOpFocalLossSigmoidForward.
 *
 *   With p, log' and w as there:
 *   grad_input[n,c] = -w alpha (1 - p)^gamma (1 - p - gamma p log' p)          if target[n] = c
 *   grad_input[n,c] = w (1 - alpha) p^gamma (p - gamma (1 - p) log' (1 - p))   otherwise
 *
 * | tensor     | shape  | dtype                   | layout |
 * |------------|--------|-------------------------|--------|
 * | input      | [N, C] | FLOAT, HALF or BFLOAT16 | any    |
 * Optional: weight_desc and weight are null, or weight_desc has the shape [0], if there are no weights.
 * | weight     | [C]    | as input                | any    |
 * | grad_input | [N, C] | as input                | any    |
 *
 * Optional: weight_desc and weight are null, or weight_desc has the shape [0], without weights.
 * Units: as mluOpFocalLossSigmoidForward. The caller multiplies grad_input by the gradients of the losses.
 * Outputs: the call writes every element; the caller need not initialize grad_input. If N or C is 0, the data may
 * be null. NaN propagates. p and powers are 0 as in mluOpFocalLossSigmoidForward: for c other than target[n] and
 * an input below -87.3365, grad_input[n,c] is 0, where the formula yields a subnormal number if gamma is 0.
 * Determinism: as mluOpFocalLossSigmoidForward; t is the factor in parentheses; for c other than target[n], p -
 *   gamma ((1 - p) log' (1 - p)).
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      prefer or reduction is not a valid enumerator
 *   NOT_SUPPORTED  prefer is MLUOP_COMPUTATION_ULTRAHIGH_PRECISION, reduction is not MLUOP_LOSS_REDUCTION_NONE, or
 *                  gamma is not in [0, 10000]
 * MLU-OPS requires MLUOP_COMPUTATION_HIGH_PRECISION, and limits C by the memory of the device.
 *
 * Definition: MLU-OPS design document focal_loss_sigmoid_backward; mmcv sigmoid_focal_loss. */
mluOpStatus_t MLUOP_WIN_API mluOpFocalLossSigmoidBackward(
    mluOpHandle_t handle, const mluOpComputationPreference_t prefer, const mluOpLossReduction_t reduction,
    const mluOpTensorDescriptor_t input_desc, const void* input, const mluOpTensorDescriptor_t target_desc,
    const void* target, const mluOpTensorDescriptor_t weight_desc, const void* weight, const float alpha,
    const float gamma, const mluOpTensorDescriptor_t grad_input_desc, void* grad_input);

/* Ball query (PointNet++): the first nsample points in the ball, or the shell, around each center.
 *
 *   d2(m,n) = ((cx - px)^2 + (cy - py)^2) + (cz - pz)^2 for the center m and the point n of a batch
 *   The members of m are the n with d2(m,n) = 0 or min_radius^2 <= d2(m,n) < max_radius^2.
 *   idx[b,m,i] = the i-th member of m, ascending; if there are fewer, the first member again
 *
 * | tensor  | shape           | dtype                   | layout |
 * |---------|-----------------|-------------------------|--------|
 * | new_xyz | [B, M, 3]       | FLOAT, HALF or BFLOAT16 | any    |
 * | xyz     | [B, N, 3]       | as new_xyz              | any    |
 * | idx     | [B, M, nsample] | INT32                   | any    |
 *
 * Units: coordinates are x, y, z; the radii have the same unit. mmcv's ball_query takes xyz first.
 * Outputs: a row of idx without a member is unchanged, as in MLU-OPS; mmcv passes zeros. A NaN or infinite
 *   distance, including overflow, excludes the point.
 *   N = 0 or nsample = 0: idx is unchanged, and new_xyz and xyz may be null.
 * Determinism: the result is exact: the same at every thread count, in every run and on every instruction set.
 *   Each difference, square and sum is rounded to nearest even: for HALF to half, for FLOAT and BFLOAT16 to fp32.
 *   The squares of the radii are rounded to fp32.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps up to 48 bytes a point of xyz.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      B or M is 0; a radius is negative or NaN; nsample is negative or not dim 2 of idx
 *   NOT_SUPPORTED  N is 2^31 or more: points are numbered by int32
 *
 * Definition: MLU-OPS design document ball_query; mmcv ball_query; PointNet++, arXiv:1706.02413. */
mluOpStatus_t MLUOP_WIN_API mluOpBallQuery(mluOpHandle_t handle, const mluOpTensorDescriptor_t new_xyz_desc,
                                           const void* new_xyz, const mluOpTensorDescriptor_t xyz_desc,
                                           const void* xyz, const float min_radius, const float max_radius,
                                           const int nsample, const mluOpTensorDescriptor_t idx_desc, void* idx);

/* Three nearest neighbors forward (PointNet++): the three known points nearest to each unknown point.
 *
 *   d(n,m) = ((ux - kx)^2 + (uy - ky)^2) + (uz - kz)^2 for the unknown point n and the known point m of a batch
 *   idx[b,n,0..2]   = the three m with the least (d(n,m), m), ascending: ties go to the lower m
 *   dist2[b,n,0..2] = their d(n,m): the squares of the distances
 *
 * | tensor  | shape     | dtype                   | layout |
 * |---------|-----------|-------------------------|--------|
 * | unknown | [b, n, 3] | FLOAT, HALF or BFLOAT16 | any    |
 * | known   | [b, m, 3] | as unknown              | any    |
 * | dist2   | [b, n, 3] | as unknown              | any    |
 * | idx     | [b, n, 3] | INT32                   | any    |
 *
 * Units: coordinates are x, y, z; dist2 is in the square of their unit. mmcv returns the square root of dist2.
 * Outputs: the call writes every element of dist2 and idx; the caller need not initialize them. A NaN or infinite
 *   distance, including overflow, excludes the known point: where fewer than three remain, the other elements are
 *   infinity in dist2 and 0 in idx. With m = 0 this holds for all elements; known and workspace are not read.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set. Each difference, square and sum is rounded to nearest even: for HALF to half, for FLOAT and BFLOAT16 to
 *   fp32. BFLOAT16 distances are compared in fp32 and rounded once, in dist2; distances from 3.3962e38 on become
 *   infinity.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: 0 for FLOAT with few known points, 12
 *   bytes a known point for HALF and BFLOAT16 with few of them, about 25 bytes a known point otherwise. It
 *   suffices for every n and every number of threads.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      b or n is 0; workspace_size is less than the query returns, or workspace is null although the
 *                  size is not 0
 *   NOT_SUPPORTED  m is 2^31 or more: known points are numbered by int32
 *
 * Definition: MLU-OPS design document three_nn_forward; mmcv three_nn; PointNet++, arXiv:1706.02413. */
mluOpStatus_t MLUOP_WIN_API mluOpThreeNNForward(const mluOpHandle_t handle,
                                                const mluOpTensorDescriptor_t unknown_desc, const void* unknown,
                                                const mluOpTensorDescriptor_t known_desc, const void* known,
                                                void* workspace, const size_t workspace_size,
                                                const mluOpTensorDescriptor_t dist2_desc, void* dist2,
                                                const mluOpTensorDescriptor_t idx_desc, void* idx);

/* Writes the bytes of workspace that mluOpThreeNNForward needs for known_desc [b, m, 3]; 0 if it is empty.
 * Returns BAD_PARAM if an argument is null or known_desc is not as the operator requires, b included;
 * NOT_SUPPORTED if m is 2^31 or more or the tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetThreeNNForwardWorkspaceSize(const mluOpHandle_t handle,
                                                                const mluOpTensorDescriptor_t known_desc,
                                                                size_t* workspace_size);

/* Three interpolate forward (PointNet++): interpolates each point from three features.
 *
 *   output[b,c,n] = sum over the slots k of weights[b,n,k] * features[b,c,indices[b,n,k]]
 *
 * | tensor   | shape     | dtype                   | layout |
 * |----------|-----------|-------------------------|--------|
 * | features | [B, C, M] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | indices  | [B, N, 3] | INT32                   | ARRAY  |
 * | weights  | [B, N, 3] | as features             | ARRAY  |
 * | output   | [B, C, N] | as features             | ARRAY  |
 *
 * Units: indices number the features of their batch, 0 to M - 1. Weights are arbitrary: the three of a point need
 *   not sum to 1.
 * Outputs: the call writes every element of output; the caller need not initialize it. NaN and infinity propagate
 *   through the products and additions.
 * Determinism: the same bits in every run, at every thread count, with any NRAM size and on every instruction set.
 *   Products are rounded to fp32, then added in the order of the slots; for HALF and BFLOAT16 the sum is rounded
 *   once, to nearest even.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      B, C, M or N is 0; an index is outside [0, M - 1]: the message names the first such
 *                  element [batch, point, slot] and its value
 *   NOT_SUPPORTED  MLUOP_OMP_DEVICE is mlu270 or mlu290, and M exceeds 2^23: these devices convert indices to fp32
 *
 * Definition: MLU-OPS design document three_interpolate_forward; mmcv three_interpolate; PointNet++,
 *   arXiv:1706.02413. */
mluOpStatus_t MLUOP_WIN_API mluOpThreeInterpolateForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t weights_desc,
    const void* weights, const mluOpTensorDescriptor_t output_desc, void* output);

/* Three interpolate backward (PointNet++): adds the gradient of each interpolated point to the gradients of the
 * three features that it was interpolated from.
 *
 *   grad_features[b,c,m] = sum over the points n and slots k of batch b with indices[b,n,k] = m
 *                          of grad_output[b,c,n] * weights[b,n,k]
 *
 * | tensor        | shape     | dtype                   | layout |
 * |---------------|-----------|-------------------------|--------|
 * | grad_output   | [B, C, N] | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | indices       | [B, N, 3] | INT32                   | ARRAY  |
 * | weights       | [B, N, 3] | as grad_output          | ARRAY  |
 * | grad_features | [B, C, M] | as grad_output          | ARRAY  |
 *
 * Units: indices number the features of their batch, 0 to M - 1. Weights are arbitrary: the three of a point need
 *   not sum to 1.
 * Outputs: the call writes every element of grad_features; the caller need not initialize it. NaN and infinity
 *   propagate through the products and additions.
 * Determinism: the same bits in every run.
 *     native  products and sums are rounded in fp32, in the order of points and slots, starting at +0: FLOAT is
 *             bit-identical to the serial loop of the definition at every thread count; HALF and BFLOAT16 are its
 *             sums, rounded once, to nearest even
 *     device  sums are in the order of tiles, slots and points: the last bits depend on the number of tasks and on
 *             the NRAM size
 * Memory: no workspace.
 *     native  the handle keeps about 30 bytes a point if there are 48 channels or more and few features
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      B, C, N or M is 0; an index is outside [0, M - 1]: the message names the first such
 *                  element [batch, point, slot] and its value
 *   NOT_SUPPORTED  MLUOP_OMP_DEVICE is mlu270 or mlu290, and M exceeds 2^23: these devices convert indices to fp32
 *
 * Definition: MLU-OPS design document three_interpolate_backward; PointNet++, arXiv:1706.02413. */
mluOpStatus_t MLUOP_WIN_API mluOpThreeInterpolateBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t weights_desc,
    const void* weights, const mluOpTensorDescriptor_t grad_features_desc, void* grad_features);

/* Masked im2col forward (mmcv, RetinaNet): copies the window of each mask from the feature to a column of a
 * matrix.
 *
 *   Row (c * kernel_h + i) * kernel_w + j, column k of data_col, with h = mask_h_idx[k] - pad_h + i and
 *     w = mask_w_idx[k] - pad_w + j:
 *   data_col[row,k] = feature[0,c,h,w] if 0 <= h < height and 0 <= w < width, else 0
 *
 * | tensor     | shape                                       | dtype                   | layout |
 * |------------|---------------------------------------------|-------------------------|--------|
 * | feature    | [1, channels, height, width]                | FLOAT, HALF or BFLOAT16 | NCHW   |
 * | mask_h_idx | [mask_cnt]                                  | INT32                   | any    |
 * | mask_w_idx | [mask_cnt]                                  | INT32                   | any    |
 * | data_col   | [channels * kernel_h * kernel_w, mask_cnt]  | as feature              | ARRAY  |
 *
 * Units: mask_h_idx, mask_w_idx, kernel_h, kernel_w, pad_h and pad_w count pixels; any int32 is a valid mask
 *   coordinate; masks may be in any order and may repeat. The kernel may be larger than the feature; pad_h and
 *   pad_w may be any int: a negative value moves the window down or to the right.
 * Outputs: the call writes every element of data_col; the caller need not initialize it. Elements are copied bit
 *   for bit, NaN with their payload.
 * Determinism: the result is exact.
 * Memory: a workspace, at any address, of the size that the query returns.
 *     native  none: the query writes 0; a workspace of any size is accepted, and null with workspace_size 0
 *     device  feature and data_col, both with channels innermost
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      kernel_h or kernel_w is not positive; feature is empty; channels * kernel_h * kernel_w exceeds
 *                  int64_t; workspace_size of the query is null; workspace_size is less than the query
 *                  returns, or workspace is null although the size is not 0
 *   SUCCESS        also with mask_cnt = 0: data_col has no elements, and data pointers may be null
 *
 * Definition: MLU-OPS design document masked_im2col_forward; mmcv, masked_conv2d. */
mluOpStatus_t MLUOP_WIN_API mluOpGetMaskedIm2colForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const mluOpTensorDescriptor_t mask_w_idx_desc,
    const int kernel_h, const int kernel_w, const mluOpTensorDescriptor_t data_col_desc, size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API
mluOpMaskedIm2colForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t feature_desc, const void* feature,
                         const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
                         const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx, const int kernel_h,
                         const int kernel_w, const int pad_h, const int pad_w, void* workspace,
                         const size_t workspace_size, const mluOpTensorDescriptor_t data_col_desc, void* data_col);

/* Masked col2im forward (mmcv, RetinaNet): copies each column of a matrix to the pixel of its mask; all other
 * pixels are 0. masked_conv2d of mmcv calls mluOpMaskedIm2colForward, a matrix product, and this function.
 *
 *   im[0,c,mask_h_idx[k],mask_w_idx[k]] = col[c,k]
 *   every other element of im = 0
 *
 * | tensor     | shape                        | dtype                   | layout |
 * |------------|------------------------------|-------------------------|--------|
 * | col        | [channels, mask_cnt]         | FLOAT, HALF or BFLOAT16 | any    |
 * | mask_h_idx | [mask_cnt]                   | INT32                   | any    |
 * | mask_w_idx | [mask_cnt]                   | INT32                   | any    |
 * | im         | [1, channels, height, width] | as col                  | NCHW   |
 *
 * Units: mask_h_idx and mask_w_idx count pixels; masks may be in any order. If masks are equal, the one with the
 *   largest k determines the pixel.
 * Outputs: the call writes every element of im; the caller need not initialize it. Elements are copied bit for
 *   bit, NaN with their payload.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace: the query writes 0; a workspace of any size is accepted, and null with workspace_size 0.
 *   The handle keeps up to 12 bytes a pixel of one channel. workspace_size precedes workspace, as in MLU-OPS.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  im is empty; a mask is outside the image: the message names the first such mask and its coordinate;
 *              workspace_size of the query is null; workspace is null although workspace_size is not 0
 *   SUCCESS    also with mask_cnt = 0: the call writes zeros, and col and masks may be null
 *
 * Definition: MLU-OPS design document masked_col2im_forward; mmcv, masked_conv2d. */
mluOpStatus_t MLUOP_WIN_API mluOpGetMaskedCol2imForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc, const mluOpTensorDescriptor_t mask_h_idx_desc,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const mluOpTensorDescriptor_t im_desc, size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API mluOpMaskedCol2imForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t col_desc, const void* col,
    const mluOpTensorDescriptor_t mask_h_idx_desc, const void* mask_h_idx,
    const mluOpTensorDescriptor_t mask_w_idx_desc, const void* mask_w_idx, const size_t workspace_size,
    void* workspace, const mluOpTensorDescriptor_t im_desc, void* im);

/* Dynamic point to voxel forward (mmcv dynamic_scatter, MVX-Net): finds the voxels that contain points and reduces
 * the features of the points of each voxel.
 *
 *   A point n has a voxel if no coordinate of coors[n] is negative. The V voxels are the distinct coordinates of
 *   these points, in ascending lexicographic order.
 *     voxel_coors[v]        = the coordinates of voxel v
 *     point2voxel_map[n]    = v if coors[n] = voxel_coors[v], else -1
 *     voxel_points_count[v] = the number of points of voxel v
 *     voxel_num[0]          = V
 *     voxel_feats[v,c]      = MLUOP_REDUCE_DMAX: the maximum over the points n of voxel v of feats[n,c],
 *                             MLUOP_REDUCE_DSUM: their sum, MLUOP_REDUCE_DMEAN: their sum / voxel_points_count[v]
 *   coors[n] becomes (-1,-1,-1) for a point without a voxel, as on the device; mmcv passes a copy.
 *
 * | tensor             | shape | dtype | layout |
 * |--------------------|-------|-------|--------|
 * | feats              | [N,C] | FLOAT | any    |
 * | coors              | [N,3] | INT32 | any    |
 * | voxel_feats        | [M,C] | FLOAT | any    |
 * | voxel_coors        | [M,3] | INT32 | any    |
 * | point2voxel_map    | [N]   | INT32 | any    |
 * | voxel_points_count | [M]   | INT32 | any    |
 * | voxel_num          | [1]   | INT32 | any    |
 *
 * Units: coordinates count voxels, in the order of the caller; any int32 is valid. M must be at least V, which is
 *   not known in advance: mmcv passes M = N.
 * Outputs: the call writes the first V rows of voxel_feats, voxel_coors and voxel_points_count, and every element
 *   of point2voxel_map; the other rows are unchanged. MLUOP_REDUCE_DSUM is an extension: MLU-OPS rejects it.
 *     max        starts at -infinity; NaN is never selected; among zeros of either sign, the first is selected
 *     sum, mean  NaN and infinity propagate through the additions
 *   C = 0: voxel_feats has no elements; the other outputs are as above. N = 0: voxel_num[0] is 0, every row is
 *   past V, and the workspace may be null. MLU-OPS leaves every output unchanged in both cases.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Determinism: the same bits at every thread count, in every run and on every instruction set. Sums are fp32,
 *   start at +0 and add the points of a voxel in ascending order; the mean is the sum divided by the count,
 *   rounded once.
 * Memory: a workspace, at any address, of the size that the query returns: 20 to 24 bytes a point and at most 513
 *   KiB. It suffices for every M and every number of threads.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      reduce_type is not a valid enumerator; N < M, unless N is 0; M is below the number of voxels;
 *                  workspace_size is less than the query returns, or workspace is null although the size is not 0
 *   NOT_SUPPORTED  N is 2^31 or more: points are numbered by int32
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document dynamic_point_to_voxel_forward; mmcv dynamic_scatter; MVX-Net,
 *   arXiv:1904.01649. */
mluOpStatus_t MLUOP_WIN_API mluOpDynamicPointToVoxelForward(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type, const mluOpTensorDescriptor_t feats_desc,
    const void* feats, const mluOpTensorDescriptor_t coors_desc, void* coors, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t voxel_feats_desc, void* voxel_feats,
    const mluOpTensorDescriptor_t voxel_coors_desc, void* voxel_coors,
    const mluOpTensorDescriptor_t point2voxel_map_desc, void* point2voxel_map,
    const mluOpTensorDescriptor_t voxel_points_count_desc, void* voxel_points_count,
    const mluOpTensorDescriptor_t voxel_num_desc, void* voxel_num);

/* Writes the bytes of workspace that mluOpDynamicPointToVoxelForward needs for feats_desc [N, C] and coors_desc
 * [N, 3]; 0 if N is 0.
 * Returns BAD_PARAM if an argument is null or a descriptor is not as the operator requires, and NOT_SUPPORTED and
 * ARCH_MISMATCH as the operator does. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API
mluOpGetDynamicPointToVoxelForwardWorkspaceSize(mluOpHandle_t handle, const mluOpTensorDescriptor_t feats_desc,
                                                const mluOpTensorDescriptor_t coors_desc, size_t* workspace_size);

/* Dynamic scatter backward (mmcv, MVX-Net): distributes the gradients of voxels to their points. For the maximum,
 * the gradient of each channel goes to the point with the maximum; for sum and mean, to all points of the voxel.
 *
 *   V = voxel_num[0]; voxel v contains the points n with point2voxel_map[n] = v.
 *   MLUOP_REDUCE_DMAX:
 *   source[v,c] = the smallest n of voxel v with feats[n,c] = voxel_feats[v,c]; there may be none
 *   grad_feats[n,c] = grad_voxel_feats[v,c] if point2voxel_map[n] = v and source[v,c] = n, else 0
 *   MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN:
 *   grad_feats[n,c] = grad_voxel_feats[v,c] if point2voxel_map[n] = v, else 0;
 *                     for the mean divided by voxel_points_count[v]
 *
 * | tensor             | shape | dtype | layout |
 * |--------------------|-------|-------|--------|
 * | grad_voxel_feats   | [M,C] | FLOAT | any    |
 * | feats              | [N,C] | FLOAT | any    |
 * | voxel_feats        | [M,C] | FLOAT | any    |
 * | point2voxel_map    | [N]   | INT32 | any    |
 * | voxel_points_count | [M]   | INT32 | any    |
 * | voxel_num          | [1]   | INT32 | any    |
 * | grad_feats         | [N,C] | FLOAT | any    |
 *
 * Units: a value of point2voxel_map is a voxel in [0, V), or -1 for a point without voxel: its row of grad_feats
 *   is 0. Voxels from V on are ignored. Only the mean reads counts, and only for voxels with points: they must be
 *   at least 1 but need not equal the number of points. Only the maximum reads feats and voxel_feats. Sum and mean
 *   are extensions: MLU-OPS rejects them.
 * Outputs: the call writes every element of grad_feats; the caller need not initialize it. The gradient of a
 *   channel that no point equals, such as NaN, is dropped; -0 equals +0. Gradients are copied bit for bit;
 *   quotients are rounded once.
 *   N = 0 or C = 0: grad_feats has no elements, and only the descriptors are checked. M = 0 or V = 0: zeros;
 *   point2voxel_map is not read.
 * Algorithm: sum and mean run native in both settings of mluOpOmpSetAlgorithm.
 * Determinism: the result is exact: the same bits at every thread count and in every run.
 * Memory: a workspace, at any address, of the size that the query returns. It suffices for every M <= N and every
 *   number of threads, even one set after the query. Sum and mean need none: the query writes 0.
 *     native  at most C + 9 bytes a point and 1 KiB; the handle keeps up to 48 KiB for each task; above 16 tasks,
 *             3 KiB times the number of tasks
 *     device  4 N C bytes: a point index for each channel of each voxel
 *
 * mluOpDynamicPointToVoxelBackward is the name of the same operator in later releases; its query,
 * mluOpGetDynamicPointToVoxelBackwardWorkspaceSize, checks all descriptors.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      reduce_type is not a valid enumerator; N < M; voxel_num[0] is outside [0, M]; a value of
 *                  point2voxel_map is below -1 or not below voxel_num[0]; for the mean, the count of a point's
 *                  voxel is below 1: the message names the first such point; workspace_size is less than the query
 *                  returns, or workspace is null although the size is not 0; feats has 2^60 bytes or more: sums of
 *                  several such sizes fit int64_t
 *   NOT_SUPPORTED  N is 2^31 or more: points are numbered by int32
 *
 * Definition: MLU-OPS design document dynamic_scatter_backward; mmcv dynamic_point_to_voxel_backward. */
mluOpStatus_t MLUOP_WIN_API mluOpDynamicScatterBackward(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type,
    const mluOpTensorDescriptor_t grad_voxel_feats_desc, const void* grad_voxel_feats,
    const mluOpTensorDescriptor_t feats_desc, const void* feats, const mluOpTensorDescriptor_t voxel_feats_desc,
    const void* voxel_feats, const mluOpTensorDescriptor_t point2voxel_map_desc, const void* point2voxel_map,
    const mluOpTensorDescriptor_t voxel_points_count_desc, const void* voxel_points_count,
    const mluOpTensorDescriptor_t voxel_num_desc, void* voxel_num, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t grad_feats_desc, void* grad_feats);
mluOpStatus_t MLUOP_WIN_API mluOpDynamicPointToVoxelBackward(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type,
    const mluOpTensorDescriptor_t grad_voxel_feats_desc, const void* grad_voxel_feats,
    const mluOpTensorDescriptor_t feats_desc, const void* feats, const mluOpTensorDescriptor_t voxel_feats_desc,
    const void* voxel_feats, const mluOpTensorDescriptor_t point2voxel_map_desc, const void* point2voxel_map,
    const mluOpTensorDescriptor_t voxel_points_count_desc, const void* voxel_points_count,
    const mluOpTensorDescriptor_t voxel_num_desc, const void* voxel_num, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t grad_feats_desc, void* grad_feats);

/* Writes the bytes of workspace that mluOpDynamicScatterBackward and mluOpDynamicPointToVoxelBackward need for
 * feats_desc [N, C]: the same number from both queries, 0 if feats is empty.
 * Returns BAD_PARAM if an argument is null, reduce_type is not a valid enumerator, or a descriptor is not as the
 * operator requires; NOT_SUPPORTED if N is 2^31 or more or a tensor is not contiguous. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetDynamicScatterBackwardWorkspaceSize(const mluOpHandle_t handle,
                                                                        const mluOpReduceMode_t reduce_type,
                                                                        const mluOpTensorDescriptor_t feats_desc,
                                                                        size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API mluOpGetDynamicPointToVoxelBackwardWorkspaceSize(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type,
    const mluOpTensorDescriptor_t grad_voxel_feats_desc, const mluOpTensorDescriptor_t feats_desc,
    const mluOpTensorDescriptor_t voxel_feats_desc, const mluOpTensorDescriptor_t point2voxel_map_desc,
    const mluOpTensorDescriptor_t voxel_points_count_desc, const mluOpTensorDescriptor_t voxel_num_desc,
    size_t* workspace_size);

/* Indice convolution forward (mmcv, CenterPoint): sparse convolution of the rows of active sites. For each offset
 * of the filter, a list of index pairs (the rulebook) states which input row contributes to which output row.
 *
 *   Dimensions of the filters: Co, D, H, W, Ci; K = D * H * W offsets, k = (d * H + h) * W + w.
 *
 *   features_out[o,co] = sum over the offsets k and the positions l < indice_num[k] with indice_pairs[k,1,l] = o,
 *                        and over ci, of features[indice_pairs[k,0,l],ci] * filters[co,d,h,w,ci]
 *
 * | tensor       | shape                                     | dtype                   | layout |
 * |--------------|-------------------------------------------|-------------------------|--------|
 * | features     | [N, Ci]                                   | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | filters      | [Co, D, H, W, Ci]                         | as features             | NDHWC  |
 * |              | [Co, Ci, D, H, W]                         |                         | NCDHW  |
 * |              | [D, H, W, Ci, Co]                         |                         | ARRAY  |
 * | indice_pairs | [K, 2, N]                                 | INT32                   | ARRAY  |
 * | indice_num   | K numbers, on the host                    | int64_t                 |        |
 * | features_out | [num_act_out, Co]                         | as features             | ARRAY  |
 *
 * Units: indice_pairs[k,0,l] is a row of features, indice_pairs[k,1,l] a row of features_out. The formula of the
 *   design document exchanges the two; mmcv, spconv and the device order them as here. A pair with a negative
 *   index is skipped, whatever its other index is. Pairs from indice_num[k] on are not read. Several pairs of an
 *   offset may name the same rows: each is added. sub_m states that the pairs describe a submanifold
 *   convolution; the result does not depend on it.
 * Outputs: the call writes every element of features_out; the caller need not initialize it. Rows without a pair
 *   are 0. NaN and infinity propagate through the products and additions.
 *   If features or features_out is empty, the call writes zeros and returns SUCCESS; MLU-OPS leaves features_out
 *   unchanged. Only the descriptors, the scalars, indice_num and the output's data pointer are then checked.
 * Determinism: sums are fp32, for HALF and BFLOAT16 rounded once at their end, to nearest even. Instruction sets
 *   with fused multiply-adds (avx2, avx512, aarch64) round a product and its addition once, others (generic, sse4)
 *   twice: the bits depend on the instruction set. AVX512-BF16 (avx512bf16) multiplies BFLOAT16 without
 *   conversion: one instruction adds the products of two consecutive ci to a sum, rounds to nearest even, treats
 *   subnormal elements as 0 and flushes subnormal sums to 0. AMX (amx), with 16 channels or more, works on 32
 *   consecutive ci: it adds the products of even ci in order and the products of odd ci in order, both starting at
 *   0, then adds both sums to the element. Before it is rounded, a sum of t products is within (t + 2) 2^-24 times
 *   the sum of their magnitudes, plus t 2^-126 and the products of subnormal elements.
 *     native  an element starts at 0 and products are added in the order of k, l and ci: the same bits at every
 *             thread count, in every run and with any NRAM size
 *     device  for each k, atomics add the sums over ci to the output in any order
 * Memory: a workspace, at any address, of the size that the query returns.
 *     native  filters in fp32, Co rounded up to 16, and 5 bytes for each pair counted by indice_num; the handle
 *             keeps 4 bytes for each task and tile of the output
 *     device  transposed filters | matmul result | gathered features | for HALF and BFLOAT16 fp32 sums; the handle
 *             keeps 8 bytes an offset
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      filters is empty, or has 2^56 bytes or more: the size of the workspace fits int64_t;
 *                  num_act_out is not dim 0 of features_out; inverse or sub_m is neither 0 nor 1; indice_num is
 *                  null, or an element of it is outside [0, N]; an index is not below the number of rows of its
 *                  tensor: the message names the first such element [k, 0 or 1, l] and its value; workspace_size
 *                  is less than the query returns, or workspace is null although the size is not 0
 *   NOT_SUPPORTED  filters does not have 5 dimensions, or has another layout; inverse is 1; features or
 *                  features_out has 2^31 rows or more, or indice_num counts 2^31 pairs or more: rows and pairs are
 *                  numbered by int32. (MLU-OPS allows 1,000,000 rows of features.)
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document indice_convolution_forward; mmcv indice_conv, spconv;
 *   SECOND, doi:10.3390/s18103337. */
mluOpStatus_t MLUOP_WIN_API mluOpIndiceConvolutionForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t filters_desc, const void* filters,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const int64_t num_act_out, const int64_t inverse, const int64_t sub_m, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t features_out_desc, void* features_out);

/* Writes the bytes of workspace that mluOpIndiceConvolutionForward needs for these arguments with the
 * algorithm of the handle; 0 if features or features_out has no elements.
 * Returns what the operator returns for these arguments, and BAD_PARAM if workspace_size is null. Nothing is then
 * written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetIndiceConvolutionForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const mluOpTensorDescriptor_t filters_desc,
    const mluOpTensorDescriptor_t indice_pairs_desc, const mluOpTensorDescriptor_t features_out_desc,
    const int64_t indice_num[], const int64_t num_act_out, const int64_t inverse, const int64_t sub_m,
    size_t* workspace_size);

/* Indice convolution backward data: the gradient of the features of a sparse convolution.
 *
 *   input_grad[i,ci] = sum over the offsets k and the positions l < indice_num[k] with indice_pairs[k,0,l] = i,
 * and over co, of output_grad[indice_pairs[k,1,l],co] * filters[co,k,ci]
 *
 * | tensor       | shape                                     | dtype                   | layout        |
 * |--------------|-------------------------------------------|-------------------------|---------------|
 * | output_grad  | [Y, Co]                                   | FLOAT, HALF or BFLOAT16 | ARRAY         |
 * | filters      | [Co, D, H, W, Ci]                         | as output_grad          | NDHWC         |
 * |              | [Co, Ci, D, H, W]                         |                         | NCDHW         |
 * |              | [D, H, W, Ci, Co]                         |                         | ARRAY         |
 * |              | [Co, H, W, Ci]                            |                         | NHWC          |
 * |              | [Co, Ci, H, W]                            |                         | NCHW          |
 * |              | [H, W, Ci, Co]                            |                         | HWCN or ARRAY |
 * | indice_pairs | [K, 2, L]                                 | INT32                   | ARRAY         |
 * | indice_num   | K numbers, on the host                    | int64_t                 |               |
 * | input_grad   | [L, Ci]                                   | as output_grad          | ARRAY         |
 *
 * Units: as mluOpIndiceConvolutionForward, with input_grad in place of features. A pair with a negative index is
 *   skipped, whatever its other index is. Several pairs of an offset may name the same rows: each is added.
 * Outputs: the call writes every element of input_grad; the caller need not initialize it. Rows without a pair are
 *   0. NaN and infinity propagate through the products and additions.
 *   If a tensor is empty, the call writes zeros and returns SUCCESS; MLU-OPS leaves input_grad unchanged. Only the
 *   descriptors, the scalars, indice_num and the output's data pointer are then checked.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Determinism: sums are fp32, for HALF and BFLOAT16 rounded once at their end, to nearest even. An element starts
 *   at 0 and products are added in the order of k, l and co: the same bits at every thread count, in every run and
 *   with any NRAM size. Instruction sets with fused multiply-adds round a product and its addition once, others
 *   twice. AVX512-BF16 and AMX add products of 2 or 32 consecutive co as in the forward operator.
 * Memory: a workspace, at any address, of the size that the query returns: filters in fp32, Ci rounded up to 16,
 *   and 5 bytes for each pair counted by indice_num. The handle keeps 4 bytes for each task and tile of the
 *   output.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      filters has another layout, a number of dimensions that its layout does not have, or 2^56 bytes
 *                  or more: the size of the workspace fits int64_t; inverse or sub_m is neither 0 nor 1;
 *                  indice_num is null, or an element of it is outside [0, L]; sub_m is 1, no tensor is empty, and
 *                  L is not Y, K is even, or indice_num[K / 2] is not the maximum; an index is not below the
 *                  number of rows of its tensor: the message names the first such element [k, 0 or 1, l] and its
 *                  value; workspace_size is less than the query returns, or workspace is null although the size is
 *                  not 0
 *   NOT_SUPPORTED  inverse is 1; input_grad or output_grad has 2^31 rows or more, or indice_num counts 2^31 pairs
 *                  or more: rows and pairs are numbered by int32. (MLU-OPS allows 1,000,000 rows of input_grad,
 *                  and pairs of an offset up to min(L, Y).)
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document indice_convolution_backward_data; mmcv indice_conv_backward, spconv. */
mluOpStatus_t MLUOP_WIN_API mluOpIndiceConvolutionBackwardData(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t output_grad_desc, const void* output_grad,
    const mluOpTensorDescriptor_t filters_desc, const void* filters,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const int64_t inverse, const int64_t sub_m, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t input_grad_desc, void* input_grad);

/* Writes the bytes of workspace that mluOpIndiceConvolutionBackwardData needs for these arguments; 0 if a tensor
 * has no elements.
 * Returns what the operator returns for these arguments with sub_m 0, and BAD_PARAM if workspace_size is null.
 * Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t output_grad_desc,
    const mluOpTensorDescriptor_t filters_desc, const mluOpTensorDescriptor_t indice_pairs_desc,
    const mluOpTensorDescriptor_t input_grad_desc, const int64_t indice_num[], const int64_t inverse,
    size_t* workspace_size);

/* Indice convolution backward filter: the gradient of the filters of a sparse convolution.
 *
 *   filters_grad[k,ci,co] = sum over the positions l < indice_num[k] of
 *                           features[indice_pairs[k,0,l],ci] * output_grad[indice_pairs[k,1,l],co]
 *
 * | tensor       | shape                                     | dtype                   | layout |
 * |--------------|-------------------------------------------|-------------------------|--------|
 * | features     | [L, Ci]                                   | FLOAT, HALF or BFLOAT16 | ARRAY  |
 * | output_grad  | [Y, Co]                                   | as features             | ARRAY  |
 * | indice_pairs | [K, 2, L]                                 | INT32                   | ARRAY  |
 * | indice_num   | K numbers, on the host                    | int64_t                 |        |
 * | filters_grad | [D, H, W, Ci, Co] or [H, W, Ci, Co]       | as features             | any    |
 *
 * Units: as mluOpIndiceConvolutionForward. The dimensions of filters_grad are read by position, whatever its
 *   layout. A pair with a negative index is skipped, whatever its other index is. Several pairs of an offset may
 *   name the same rows: each is added. sub_m is not read.
 * Outputs: the call writes every element of filters_grad; the caller need not initialize it. Offsets without pairs
 *   are 0. NaN and infinity propagate through the products and additions.
 *   If a tensor is empty, the call writes zeros and returns SUCCESS; MLU-OPS leaves filters_grad unchanged. Only
 *   the descriptors, the scalars, indice_num and the output's data pointer are then checked.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Determinism: sums are fp32, for HALF and BFLOAT16 rounded once at their end, to nearest even. The pairs of an
 *   offset are divided into segments by their number and the sizes of the tensors alone. The sum of a segment
 *   starts at 0 and products are added in the order of l; then the sums of the segments are added in order: the
 *   same bits at every thread count, in every run and with any NRAM size. Instruction sets with fused
 *   multiply-adds round a product and its addition once, others twice. AVX512-BF16 and AMX add products of 2 or 32
 *   consecutive l as in the forward operator; AMX needs at least 8 KiB of NRAM.
 * Memory: a workspace, at any address, of the size that the query returns: fp32 sums of the segments of each
 *   offset with several segments, at most 512 matrices of Ci x Co. The handle keeps 32 bytes a segment and 12
 *   bytes an offset.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      filters_grad has neither 4 nor 5 dimensions, or 2^56 bytes or more: the size of the workspace
 *                  fits int64_t; inverse is not 0; indice_num is null, or an element of it is outside [0, L]; an
 *                  index is not below the number of rows of its tensor: the message names the first such element
 *                  [k, 0 or 1, l] and its value; workspace_size is less than the query returns, or workspace is
 *                  null although the size is not 0; an on-chip data type of features, output_grad or
 *                  indice_pairs is set and differs from the data type; the on-chip data type of filters_grad is
 *                  set and is neither FLOAT nor, if filters_grad has 16 bits, HALF or BFLOAT16. On-chip data types
 *                  do not affect the result.
 *   NOT_SUPPORTED  features or output_grad has 2^31 rows or more, or indice_num counts 2^31 pairs or more: rows
 *                  and pairs are numbered by int32. (MLU-OPS allows 1,000,000 rows of features.)
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document indice_convolution_backward_filter; mmcv indice_conv_backward, spconv. */
mluOpStatus_t MLUOP_WIN_API mluOpIndiceConvolutionBackwardFilter(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t output_grad_desc, const void* output_grad,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const int64_t inverse, const int64_t sub_m, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t filters_grad_desc, void* filters_grad);

/* Writes the bytes of workspace that mluOpIndiceConvolutionBackwardFilter needs for these arguments; 0 if a tensor
 * has no elements.
 * Returns what the operator returns for these arguments, and BAD_PARAM if workspace_size is null. Nothing is then
 * written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc,
    const mluOpTensorDescriptor_t output_grad_desc, const mluOpTensorDescriptor_t indice_pairs_desc,
    const mluOpTensorDescriptor_t filters_grad_desc, const int64_t indice_num[], const int64_t inverse,
    const int64_t sub_m, size_t* workspace_size);

/* Get indice pairs (mmcv, spconv): finds the output sites of a sparse convolution, and for each offset of the
 * filter the index pairs (the rulebook) that mluOpIndiceConvolutionForward reads.
 *
 *   (Kd, Kh, Kw) = filter_space; K = Kd * Kh * Kw offsets, k = (kd * Kh + kh) * Kw + kw.
 *   Input site l contributes through offset k to the cell o of output_space, in the same batch, for which o *
 *     stride = indices[l] + pad - k * dilation along each axis, if such a cell exists.
 *
 *   sub_m = 0: the output sites are all these cells; out_indices lists them in ascending order of
 *              (batch, d, h, w). The pair of l and k is (l, row of o).
 *   sub_m = 1: the output sites are the input sites; out_indices is a copy of indices. The pair of l and k is (l,
 *              row of o), if o is an input site. pad is used as given, as in MLU-OPS and in mmcv on its devices: a
 *              centered filter needs pad = filter_space / 2.
 *
 * | tensor       | shape                        | dtype |
 * |--------------|------------------------------|-------|
 * | indices      | [L, 4], rows (batch,d,h,w)   | INT32 |
 * |              | [L, 3], if dimNb is 4        |       |
 * | indice_pairs | [K, 2, L]                    | INT32 |
 * | out_indices  | [capacity, 4 or 3]           | INT32 |
 * | indice_num   | [K]                          | INT32 |
 *
 * Units: coordinates count cells of input_space and output_space. output_space need not follow from the other
 *   extents: cells outside it are not output sites. indices may be in any order. Repeated sites are separate rows:
 *   each has its own pairs, and with sub_m the output row of a repeated cell is its first row at every offset.
 *   (spconv: the same, but the middle offset pairs each row with itself. mmcv and MLU-OPS: any of the rows; the
 *   reference code of MLU-OPS: the last.) L and capacity may therefore exceed the number of cells, which MLU-OPS
 *   rejects.
 * Outputs: offset k has indice_num[k] pairs, in ascending order of their input rows: indice_pairs[k,0,:] holds
 *   input rows, indice_pairs[k,1,:] output rows; the remaining elements are -1. The rows of out_indices past the
 *   last output site are unchanged. The number of output sites, which is the number of rows written, is stored in
 *   sparse_conv_desc for mluOpGetSparseConvolutionNumActOut, also with sub_m. (The code of MLU-OPS may be off by
 *   one and does not store it with sub_m.) A call writes to its descriptor: concurrent calls require different
 *   descriptors.
 *   L = 0: there are no output sites or pairs, indice_num is 0, and the workspace may be null. MLU-OPS leaves
 *   indice_num unchanged if L = 0, and every output if capacity = 0.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Determinism: the result is exact: the same bits at every thread count and in every run.
 * Memory: a workspace, at any address, of the size that the query returns, for any number of threads: 24 bytes for
 *   each possible output site, at most min(capacity, K * L) of them (sub_m: L); 24 bytes for each row of indices
 *   (sub_m: 28); 16 bytes for each 4096 cells of batch_size x output_space, or, where this would exceed the bytes
 *   of the tensors, 34 bytes more for each output site; 4 bytes for each offset of the filter and 2048 rows of
 *   indices; and at most 1280 KiB.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      sparse_conv_desc is null or not set; along an axis both stride and dilation exceed 1, a rule of
 *                  MLU-OPS, mmcv and spconv; with sub_m: input_space is not output_space, a stride or dilation
 *                  is not 1, or capacity is below L; a row of indices is not within batch_size and input_space:
 *                  the message names the first such row; capacity is below the number of output sites;
 *                  workspace_size is less than the query returns, or workspace is null although the size is not 0
 *   NOT_SUPPORTED  L or the number of output sites is 2^31 or more: rows are numbered by int32; batch_size x
 *                  output_space exceeds 2^62 cells: cells are numbered by int64. (MLU-OPS allows 1,000,000 sites
 *                  and 4096 offsets.)
 *   ALLOC_FAILED   MLUOP_OMP_NRAM_KB is too small for the pairs of a site with K offsets
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document get_indice_pairs; mmcv get_indice_pairs, spconv; SECOND,
 *   doi:10.3390/s18103337. */
mluOpStatus_t MLUOP_WIN_API mluOpGetIndicePairs(mluOpHandle_t handle,
                                                const mluOpSparseConvolutionDescriptor_t sparse_conv_desc,
                                                const mluOpTensorDescriptor_t indices_desc, const void* indices,
                                                void* workspace, const size_t workspace_size,
                                                const mluOpTensorDescriptor_t indice_pairs_desc,
                                                void* indice_pairs, const mluOpTensorDescriptor_t out_indices_desc,
                                                void* out_indices, const mluOpTensorDescriptor_t indice_num_desc,
                                                void* indice_num);

/* Writes the bytes of workspace that mluOpGetIndicePairs needs for these arguments; 0 if L is 0.
 * Returns what the operator returns for these arguments, and BAD_PARAM if workspace_size is null. Nothing is then
 * written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetIndicePairsWorkspaceSize(
    mluOpHandle_t handle, const mluOpSparseConvolutionDescriptor_t sparse_conv_desc,
    const mluOpTensorDescriptor_t indices_desc, const mluOpTensorDescriptor_t indice_pairs_desc,
    const mluOpTensorDescriptor_t out_indices_desc, const mluOpTensorDescriptor_t indice_num_desc,
    size_t* workspace_size);

/* Deformable convolution, forward: DCNv1, and with mask DCNv2. Its gradients are mluOpDCNBackwardData and
 * mluOpDCNBackwardWeight.
 *
 *   K = kh * kw filter offsets k = i kw + j, dg = deformable_group, g = conv_group. Each of the dg groups of Ci /
 *   dg consecutive channels of input has its own sampling positions. For group d they are
 *     y = ho * stride[0] - pad[0] + i * dilation[0] + offset[n,ho,wo,2 (d K + k)]
 *     x = wo * stride[1] - pad[2] + j * dilation[1] + offset[n,ho,wo,2 (d K + k) + 1]
 *   sample[k,c] = mask[n,ho,wo,d K + k] * the bilinear interpolation of input[n,:,:,c] at (y, x) from the four
 *     pixels around it; pixels outside the image count as 0. The sample is 0 unless -1 < y < H and -1 < x < W.
 *   output[n,ho,wo,co] = bias[co] + sum over k and the channels c of the group of co of
 *     filter[co,i,j,c - first c] * sample[k,c]
 *
 * | tensor | shape                   | dtype                   | layout |
 * |--------|-------------------------|-------------------------|--------|
 * | input  | [N, H, W, Ci]           | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | offset | [N, Ho, Wo, dg * K * 2] | as input                | NHWC   |
 * | mask   | [N, Ho, Wo, dg * K]     | as input                | NHWC   |
 * | filter | [Co, kh, kw, Ci / g]    | as input                | NHWC   |
 * | bias   | [Co]                    | as input                | any    |
 * | output | [N, Ho, Wo, Co]         | as input                | NHWC   |
 *
 * Units: positions and offsets count pixels of input. Ho = (H + pad[0] + pad[1] - dilation[0] * (kh - 1) - 1) /
 *   stride[0] + 1, rounded down; Wo likewise, with pad[2] and pad[3].
 * Optional: null mask_desc and mask stand for a mask of 1, null bias_desc and bias for a bias of 0. A descriptor
 *   of shape [0] is equivalent to null.
 * Outputs: the call writes every element; the caller need not initialize them. A NaN position is outside the
 *   image. NaN and infinity propagate through products and sums.
 * Determinism: the same bits at every thread count on one instruction set. Instruction sets with fused
 *   multiply-adds (avx2, avx512, aarch64) round a product and its addition once, others (generic, sse4) twice.
 *   Positions are computed in fp32 and rounded after the offset is added. Sums start with the bias and add
 *   products in fp32, in ascending order of k, then c. For HALF and BFLOAT16 the sum is rounded once, at the end,
 *   to nearest even. AVX512-BF16 adds two consecutive BFLOAT16 products at a time, as
 *   mluOpIndiceConvolutionForward describes; a subnormal bias counts as 0. Samples are first rounded to bfloat16,
 *   to nearest even, which changes a sum by up to 2^-8 times the sum of the magnitudes of its products; samples
 *   from 3.3962e38 on become infinite.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: the filters in fp32, rows of Co / g
 *   padded to multiples of 16.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      dcn_desc is null or not set; a dimension is 0; Ci is not a multiple of dg and g, Co not a
 *                  multiple of g, or N not a multiple of im2col_step; the filter exceeds the padded input;
 *                  workspace_size is less than the query returns, or workspace is null
 *   NOT_SUPPORTED  H * W is 2^31 or more: pixels are numbered by int32
 *
 * Definition: MLU-OPS header, mluOpDCNForward; mmcv deform_conv_forward and modulated_deform_conv_forward;
 *   arXiv:1703.06211, arXiv:1811.11168. */
mluOpStatus_t MLUOP_WIN_API mluOpDCNForward(mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
                                            const mluOpTensorDescriptor_t input_desc, const void* input,
                                            const mluOpTensorDescriptor_t offset_desc, const void* offset,
                                            const mluOpTensorDescriptor_t mask_desc, const void* mask,
                                            const mluOpTensorDescriptor_t filter_desc, const void* filter,
                                            const mluOpTensorDescriptor_t bias_desc, const void* bias,
                                            void* workspace, size_t workspace_size,
                                            const mluOpTensorDescriptor_t output_desc, void* output);

/* Writes the bytes of workspace that mluOpDCNForward needs for these arguments.
 * Returns what the operator returns for these arguments, and BAD_PARAM if workspace_size is null. Nothing is then
 * written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetDCNForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc, const mluOpTensorDescriptor_t input_desc,
    const mluOpTensorDescriptor_t offset_desc, const mluOpTensorDescriptor_t mask_desc,
    const mluOpTensorDescriptor_t filter_desc, const mluOpTensorDescriptor_t bias_desc,
    const mluOpTensorDescriptor_t output_desc, size_t* workspace_size);

/* Deformable convolution, backward data: the gradients of input, offset and mask.
 *
 *   With the letters of mluOpDCNForward, and G[k,c] = the sum over the channels co of the group of c of
 *   filter[co,i,j,c - first c] * grad_output[n,ho,wo,co], the gradient of the sample:
 *   grad_input[n,p,c] = sum over the output pixels and k of mask * (the weight of pixel p in the sample) * G[k,c]
 *   grad_offset       = mask * the sum over the channels c of d of (the slope of the interpolation along y, or x)
 *                       * G[k,c]
 *   grad_mask         = sum over the channels c of d of (the interpolation of input[n,:,:,c]) * G[k,c]
 *   The slope along y is taken from floor(y) to floor(y) + 1; along x likewise.
 *
 * | tensor      | shape                   | dtype                   | layout |
 * |-------------|-------------------------|-------------------------|--------|
 * | input       | [N, H, W, Ci]           | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | offset      | [N, Ho, Wo, dg * K * 2] | as input                | NHWC   |
 * | mask        | [N, Ho, Wo, dg * K]     | as input                | NHWC   |
 * | filter      | [Co, kh, kw, Ci / g]    | as input                | NHWC   |
 * | grad_output | [N, Ho, Wo, Co]         | as input                | NHWC   |
 * | grad_input  | [N, H, W, Ci]           | as input                | NHWC   |
 * | grad_offset | [N, Ho, Wo, dg * K * 2] | as input                | NHWC   |
 * | grad_mask   | [N, Ho, Wo, dg * K]     | as input                | NHWC   |
 *
 * Units: as mluOpDCNForward.
 * Optional: null mask_desc, mask, grad_mask_desc and grad_mask stand for a mask of 1. A descriptor of shape [0] is
 *   equivalent to null.
 * Outputs: the call writes every element; the caller need not initialize them. NaN and infinity propagate through
 *   products and sums: a NaN mask makes the gradients of its offset NaN; an infinite mask makes them infinite, or
 *   NaN if the sum is 0. A sample at a NaN position or outside the image has no pixels: its grad_offset and
 *   grad_mask are 0, whatever the mask. (mmcv's kernels multiply this 0 by the mask.)
 * Determinism: the same bits at every thread count on one instruction set, as mluOpDCNForward: grad_input adds the
 *   output pixels in ascending order, in fp32; sums over channels are formed over ranges of up to 64 channels,
 *   then the ranges are added in ascending order. For HALF and BFLOAT16 sums are rounded once, at the end, to
 *   nearest even. AVX512-BF16 adds the products of two consecutive co to G at a time, as
 *   mluOpIndiceConvolutionForward describes; G is fp32.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: the filters in fp32, padded as in
 *   mluOpDCNForward, and 12 bytes an element of mask for each range of 64 channels of a deformable group (32
 *   channels if all images together have fewer than 4 ranges of 64). The handle keeps 1 byte an output pixel; for
 *   HALF and BFLOAT16 also up to 320 bytes a pixel of an image for each task or, if fewer, for each range of
 *   channels of an image.
 *
 * Returns, in addition to the statuses of every operator: what mluOpDCNForward returns, and
 *   BAD_PARAM      exactly one of mask and grad_mask is null
 *
 * Definition: MLU-OPS header, mluOpDCNBackwardData; mmcv deform_conv_backward_input and
 *   modulated_deform_conv_backward. */
mluOpStatus_t MLUOP_WIN_API mluOpDCNBackwardData(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc, const mluOpTensorDescriptor_t input_desc,
    const void* input, const mluOpTensorDescriptor_t offset_desc, const void* offset,
    const mluOpTensorDescriptor_t mask_desc, const void* mask, const mluOpTensorDescriptor_t filter_desc,
    const void* filter, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t grad_input_desc, void* grad_input,
    const mluOpTensorDescriptor_t grad_offset_desc, void* grad_offset,
    const mluOpTensorDescriptor_t grad_mask_desc, void* grad_mask);

/* Writes the bytes of workspace that mluOpDCNBackwardData needs for these arguments. The name is spelled as in
 * MLU-OPS.
 * Returns what the operator returns for these arguments, and BAD_PARAM if workspace_size is null. Nothing is then
 * written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetDCNBakcwardDataWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc, const mluOpTensorDescriptor_t input_desc,
    const mluOpTensorDescriptor_t offset_desc, const mluOpTensorDescriptor_t mask_desc,
    const mluOpTensorDescriptor_t filter_desc, const mluOpTensorDescriptor_t grad_output_desc,
    const mluOpTensorDescriptor_t grad_input_desc, const mluOpTensorDescriptor_t grad_offset_desc,
    const mluOpTensorDescriptor_t grad_mask_desc, size_t* workspace_size);

/* Deformable convolution, backward weight: the gradients of filter and bias.
 *
 *   With the letters and samples of mluOpDCNForward:
 *   grad_filter[co,i,j,c] = sum over the output pixels of grad_output[n,ho,wo,co] * sample[k,first c + c]
 *   grad_bias[co]         = sum over the output pixels of grad_output[n,ho,wo,co]
 *
 * | tensor      | shape                   | dtype                   | layout |
 * |-------------|-------------------------|-------------------------|--------|
 * | input       | [N, H, W, Ci]           | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | offset      | [N, Ho, Wo, dg * K * 2] | as input                | NHWC   |
 * | mask        | [N, Ho, Wo, dg * K]     | as input                | NHWC   |
 * | grad_output | [N, Ho, Wo, Co]         | as input                | NHWC   |
 * | grad_filter | [Co, kh, kw, Ci / g]    | as input                | NHWC   |
 * | grad_bias   | [Co]                    | as input                | any    |
 *
 * Units: as mluOpDCNForward.
 * Optional: null mask_desc and mask stand for a mask of 1, null grad_bias_desc and grad_bias for no bias. A
 *   descriptor of shape [0] is equivalent to null.
 * Outputs: the call writes every element; the caller need not initialize them. NaN and infinity propagate through
 *   products and sums.
 * Determinism: the same bits at every thread count on one instruction set, as mluOpDCNForward: sums add the output
 *   pixels in ascending order, in fp32. Where there are few filters, the pixels are divided into up to 128
 *   segments, whose sums are added in ascending order. For HALF and BFLOAT16 the result is rounded once, at the
 *   end, to nearest even. AVX512-BF16 adds the products of two consecutive output pixels of a segment at a time,
 *   as mluOpIndiceConvolutionForward describes; samples are rounded as in mluOpDCNForward.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: a workspace, at any address, of the size that the query returns: the filters in fp32 for each segment,
 *   if there are several.
 *
 * Returns, in addition to the statuses of every operator: what mluOpDCNForward returns.
 *
 * Definition: MLU-OPS header, mluOpDCNBackwardWeight; mmcv deform_conv_backward_parameters and
 *   modulated_deform_conv_backward. */
mluOpStatus_t MLUOP_WIN_API mluOpDCNBackwardWeight(mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc,
                                                   const mluOpTensorDescriptor_t input_desc, const void* input,
                                                   const mluOpTensorDescriptor_t offset_desc, const void* offset,
                                                   const mluOpTensorDescriptor_t mask_desc, const void* mask,
                                                   const mluOpTensorDescriptor_t grad_output_desc,
                                                   const void* grad_output, void* workspace, size_t workspace_size,
                                                   const mluOpTensorDescriptor_t grad_filter_desc,
                                                   void* grad_filter, const mluOpTensorDescriptor_t grad_bias_desc,
                                                   void* grad_bias);

/* Writes the bytes of workspace that mluOpDCNBackwardWeight needs for these arguments.
 * Returns what the operator returns for these arguments, and BAD_PARAM if workspace_size is null. Nothing is then
 * written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetDCNBackwardWeightWorkspaceSize(
    mluOpHandle_t handle, const mluOpDCNDescriptor_t dcn_desc, const mluOpTensorDescriptor_t input_desc,
    const mluOpTensorDescriptor_t offset_desc, const mluOpTensorDescriptor_t mask_desc,
    const mluOpTensorDescriptor_t grad_output_desc, const mluOpTensorDescriptor_t grad_filter_desc,
    const mluOpTensorDescriptor_t grad_bias_desc, size_t* workspace_size);

/* CARAFE forward: upsamples an image with kernels that are predicted for each pixel of the output.
 *
 *   k, G and s: kernel_size, group_size and scale_factor of the descriptor; r = (k - 1) / 2; q = c / (C / G):
 *   output[n,y,x,c] = sum over i and j in [0, k) of
 *                     input[n, y / s + i - r, x / s + j - r, c] * mask[n,y,x, (q * k + i) * k + j]
 *   y / s and x / s are rounded down. Pixels outside of the image are skipped.
 *
 * | tensor | shape                | dtype                   | layout |
 * |--------|----------------------|-------------------------|--------|
 * | input  | [N, H, W, C]         | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | mask   | [N, s*H, s*W, G*k*k] | as input                | NHWC   |
 * | output | [N, s*H, s*W, C]     | as input                | NHWC   |
 *
 * Units: k is odd: a kernel is centered on pixel (y / s, x / s) of the input. Masks are weights of any sign;
 *   CARAFE passes the softmax of its predictions.
 * Outputs: the call writes every element; the caller need not initialize output. NaN and infinity propagate. If
 *   output is empty, no data are read: pointers may be null.
 * Determinism: the same bits in every run, at every thread count and on every instruction set: products and sums
 *   are rounded in fp32, starting at +0, in the order of i and j; HALF and BFLOAT16 results are rounded once.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  carafe_desc is null or not set; C is not a multiple of group_size
 *   Sizes are not limited: MLU-OPS refuses kernel_size above 45 and scale_factor above 5.
 *
 * Definition: MLU-OPS header, mluOpCarafeForward; mmcv carafe and carafe_naive; CARAFE, arXiv:1905.02188. */
mluOpStatus_t MLUOP_WIN_API mluOpCarafeForward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                                               const mluOpTensorDescriptor_t input_desc, const void* input,
                                               const mluOpTensorDescriptor_t mask_desc, const void* mask,
                                               const mluOpTensorDescriptor_t output_desc, void* output);

/* CARAFE backward: the gradients of input and mask of mluOpCarafeForward.
 *
 *   With the letters of mluOpCarafeForward:
 *   grad_input[n,h,w,c] = sum over the y, x, i and j with y / s + i - r = h and x / s + j - r = w of
 *                         grad_output[n,y,x,c] * mask[n,y,x, (q * k + i) * k + j]
 *   grad_mask[n,y,x, (q * k + i) * k + j] = sum over the channels c of group q of
 *                         grad_output[n,y,x,c] * input[n, y / s + i - r, x / s + j - r, c]
 *   The gradient of a weight outside of the image is 0.
 *
 * | tensor      | shape                | dtype                   | layout |
 * |-------------|----------------------|-------------------------|--------|
 * | input       | [N, H, W, C]         | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | mask        | [N, s*H, s*W, G*k*k] | as input                | NHWC   |
 * | grad_output | [N, s*H, s*W, C]     | as input                | NHWC   |
 * | grad_input  | [N, H, W, C]         | as input                | NHWC   |
 * | grad_mask   | [N, s*H, s*W, G*k*k] | as input                | NHWC   |
 *
 * Units: as in mluOpCarafeForward.
 * Outputs: the call writes every element; the caller need not initialize the gradients. NaN and infinity
 *   propagate. If the image has no pixels, no data are read: pointers may be null.
 * Determinism: the same bits in every run, at every thread count and on every instruction set: products and sums
 *   are rounded in fp32; HALF and BFLOAT16 results are rounded once. grad_input adds the pixels of the output in
 *   their order, starting at +0. grad_mask adds channel c of its group, ascending, to partial sum c mod 16; then
 *   sums 8 to 15 are added to sums 0 to 7, 4 to 7 to 0 to 3, 2 and 3 to 0 and 1, and 1 to 0.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator: what mluOpCarafeForward returns.
 *   Sizes are not limited: MLU-OPS refuses kernel_size above 137.
 *
 * Definition: MLU-OPS header, mluOpCarafeBackward; mmcv carafe and carafe_naive. */
mluOpStatus_t MLUOP_WIN_API mluOpCarafeBackward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                                                const mluOpTensorDescriptor_t input_desc, const void* input,
                                                const mluOpTensorDescriptor_t mask_desc, const void* mask,
                                                const mluOpTensorDescriptor_t grad_output_desc,
                                                const void* grad_output,
                                                const mluOpTensorDescriptor_t grad_input_desc, void* grad_input,
                                                const mluOpTensorDescriptor_t grad_mask_desc, void* grad_mask);

/* PSA mask forward (PSANet): moves the mask of each pixel to the pixels that its elements belong to.
 *
 *   half_h = (h_mask - 1) / 2 and half_w = (w_mask - 1) / 2, rounded down; for each element (a, b) of the mask of
 *   pixel (h, w), with i = h + a - half_h in [0, H) and j = w + b - half_w in [0, W):
 *   psa_type 0, collect:    y[n,h,w,i * W + j] = x[n,h,w,a * w_mask + b]
 *   psa_type 1, distribute: y[n,i,j,h * W + w] = x[n,h,w,a * w_mask + b]
 *   All other elements of y are 0. Distribute gives the result of collect with pixels and channels exchanged.
 *
 * | tensor | shape                    | dtype                   | layout |
 * |--------|--------------------------|-------------------------|--------|
 * | x      | [N, H, W, h_mask*w_mask] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | y      | [N, H, W, H*W]           | as x                    | NHWC   |
 *
 * Units: a mask of odd size is centered on its pixel; one of even size extends one pixel further down and to the
 *   right.
 * Outputs: the call writes every element; the caller need not initialize y. Elements are copied bit for bit, NaN
 *   with their payload. HALF and BFLOAT16 are an extension: MLU-OPS has FLOAT. A mask without elements leaves y
 *   zero, where MLU-OPS leaves it unchanged.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  psa_type is neither 0 nor 1: MLU-OPS takes any other value for 1; h_mask or w_mask is negative
 *
 * Definition: MLU-OPS header, mluOpPsamaskForward; mmcv psa_mask; PSANet, ECCV 2018. */
mluOpStatus_t MLUOP_WIN_API mluOpPsamaskForward(mluOpHandle_t handle, const int psa_type,
                                                const mluOpTensorDescriptor_t x_desc, const void* x,
                                                const int h_mask, const int w_mask,
                                                const mluOpTensorDescriptor_t y_desc, void* y);

/* PSA mask backward: the gradient of x of mluOpPsamaskForward.
 *
 *   With the letters of mluOpPsamaskForward:
 *   psa_type 0, collect:    dx[n,h,w,a * w_mask + b] = dy[n,h,w,i * W + j]
 *   psa_type 1, distribute: dx[n,h,w,a * w_mask + b] = dy[n,i,j,h * W + w]
 *   The gradient of a mask element that belongs to no pixel of the image is 0.
 *
 * | tensor | shape                    | dtype                   | layout |
 * |--------|--------------------------|-------------------------|--------|
 * | dy     | [N, H, W, H*W]           | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | dx     | [N, H, W, h_mask*w_mask] | as dy                   | NHWC   |
 *
 * Units: as in mluOpPsamaskForward.
 * Outputs: the call writes every element; the caller need not initialize dx. Elements are copied bit for bit, NaN
 *   with their payload. HALF and BFLOAT16 are an extension: MLU-OPS has FLOAT.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator: what mluOpPsamaskForward returns.
 *
 * Definition: MLU-OPS header, mluOpPsamaskBackward; mmcv psa_mask. */
mluOpStatus_t MLUOP_WIN_API mluOpPsamaskBackward(mluOpHandle_t handle, const int psa_type,
                                                 const mluOpTensorDescriptor_t dy_desc, const void* dy,
                                                 const int h_mask, const int w_mask,
                                                 const mluOpTensorDescriptor_t dx_desc, void* dx);

/* Active rotated filter forward (ORConv2d, S2ANet): copies each filter once for each rotation, with its entries
 * moved. mluOpOmpActiveRotatedFilterBackward computes its gradient.
 *
 *   E = n * kH * kW; entry l = (m * kH + y) * kW + x of a filter is element (m, y, x) of its n orientations of
 *   kH x kW, and entry l of indices is the row indices[m,y,x]. For each rotation t = 0..r-1:
 *   output[o * r + t, entry indices[l,t] - 1 of filter i] = input[o, i, entry l]
 *   Entry l of filter i of output is element (i * n + m, y, x) of output[o * r + t]. An entry that no index names
 *   is 0; if several entries have one target, the last one determines it.
 *
 * | tensor  | shape                  | dtype                   | layout |
 * |---------|------------------------|-------------------------|--------|
 * | input   | [O, I, n, kH, kW]      | FLOAT, HALF or BFLOAT16 | any    |
 * | indices | [n, kH, kW, r]         | INT32                   | any    |
 * | output  | [O * r, I * n, kH, kW] | as input                | any    |
 *
 * Units: indices number the entries of a filter, 1 to E.
 * Outputs: the call writes every element; the caller need not initialize output. Elements are copied bit for bit,
 *   NaN with their payload. If output has no elements, no data are read: pointers may be null. MLU-OPS refuses
 *   empty tensors, kernels other than 1 x 1 and 3 x 3, more than 128 orientations and numbers of them that are not
 *   powers of two, and numbers of rotations other than 2, 4 and 8. Its device algorithm does not read indices: it
 *   rotates kernels by multiples of 45 degrees and shifts orientations, which is the result for the indices of
 *   ORConv2d.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace: the query writes 0; a workspace of any size is accepted, and null with workspace_size 0.
 *   The handle keeps 8 bytes for each element of indices.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  an element of indices is not from 1 to E: the message names the first such element, [orientation,
 *              row, column, rotation], and its value; workspace_size of the query is null; workspace is null
 *              although workspace_size is not 0
 *
 * Definition: MLU-OPS header, mluOpActiveRotatedFilterForward; mmcv active_rotated_filter; S2ANet,
 *   arXiv:2008.09397. */
mluOpStatus_t MLUOP_WIN_API mluOpGetActiveRotatedFilterForwardWorkspaceSize(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API mluOpActiveRotatedFilterForward(
    const mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t output_desc, void* output);

/* TIN shift forward (temporal interlacing network): shifts the frames of each group of channels of each video.
 *
 *   For the channels c of group g = c / (C / G), with d = shifts[n,g]:
 *   output[n,t,c,l] = input[n,t-d,c,l] if 0 <= t - d < T, else 0
 *
 * | tensor | shape        | dtype                   | layout |
 * |--------|--------------|-------------------------|--------|
 * | input  | [N, T, C, L] | FLOAT, HALF or BFLOAT16 | any    |
 * | shifts | [N, G]       | INT32                   | any    |
 * | output | [N, T, C, L] | as input                | any    |
 *
 * Units: shifts count frames; a positive shift delays. L is the number of pixels of a frame. Any int32 is a valid
 *   shift: a shift of T or more frames leaves zeros.
 * Outputs: the call writes every element; the caller need not initialize output. Elements are copied bit for bit,
 *   NaN with their payload. If output has no elements, no data are read: pointers may be null. MLU-OPS refuses
 *   tensors without elements, unless T is 0.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  input has elements and C is not a multiple of G
 *
 * Definition: MLU-OPS header, mluOpTinShiftForward; mmcv tin_shift; TIN, arXiv:2001.06499. */
mluOpStatus_t MLUOP_WIN_API mluOpTinShiftForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                                 const void* input, const mluOpTensorDescriptor_t shifts_desc,
                                                 const void* shifts, const mluOpTensorDescriptor_t output_desc,
                                                 void* output);

/* TIN shift backward: what MLU-OPS and mmcv use as the gradient of input of mluOpTinShiftForward.
 *
 *   With the letters of mluOpTinShiftForward:
 *   grad_input[n,t,c,l] = grad_output[n,t-d,c,l] if 0 <= t - d < T, else 0
 *   This is not the gradient, which is grad_output[n,t+d,c,l]: MLU-OPS and mmcv shift the gradient in the same
 *   direction as the input, and networks are trained with the result. mluOpTinShiftForward of grad_output with the
 *   negated shifts is the gradient.
 *
 * | tensor      | shape        | dtype                   | layout |
 * |-------------|--------------|-------------------------|--------|
 * | grad_output | [N, T, C, L] | FLOAT, HALF or BFLOAT16 | any    |
 * | shifts      | [N, G]       | INT32                   | any    |
 * | grad_input  | [N, T, C, L] | as grad_output          | any    |
 *
 * Units: as in mluOpTinShiftForward.
 * Outputs: the call writes every element; the caller need not initialize grad_input. Elements are copied bit for
 *   bit, NaN with their payload. If grad_input has no elements, no data are read: pointers may be null.
 * Determinism: the result is exact.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  grad_output has elements and C is not a multiple of G
 *
 * Definition: MLU-OPS header, mluOpTinShiftBackward; mmcv tin_shift. */
mluOpStatus_t MLUOP_WIN_API mluOpTinShiftBackward(mluOpHandle_t handle,
                                                  const mluOpTensorDescriptor_t grad_output_desc,
                                                  const void* grad_output,
                                                  const mluOpTensorDescriptor_t shifts_desc, const void* shifts,
                                                  const mluOpTensorDescriptor_t grad_input_desc, void* grad_input);

/* RoI crop forward (CoupleNet, Faster R-CNN): samples an image at the points of grids, by bilinear interpolation.
 *
 *   Grid k samples image b = k / (n / B) at (gy, gx) = grid[k,i,j]. In fp32, y = (gy + 1) (H - 1) / 2, and
 *   likewise x with W; the four pixels around (y, x) have the rows floor(y), floor(y) + 1 and the columns
 *   floor(x), floor(x) + 1. With their weights, 1 - (y - floor(y)) and y - floor(y) along y and likewise along x:
 *   output[k,i,j,c] = the sum of weight along y times weight along x times input[b, row, column, c], over the
 *   pixels that are in the image
 *
 * | tensor | shape          | dtype                   | layout |
 * |--------|----------------|-------------------------|--------|
 * | input  | [B, H, W, C]   | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | grid   | [n, oh, ow, 2] | as input                | any    |
 * | output | [n, oh, ow, C] | as input                | NHWC   |
 *
 * Units: grid holds y, then x; -1 is the middle of the first pixel of an axis, 1 of the last. n is a multiple of
 *   B. PyTorch's grid_sample with align_corners and zero padding samples the same points, given as x, y.
 * Outputs: the call writes every element; the caller need not initialize output. A point whose four pixels are
 *   outside of the image, or a coordinate of which is NaN or infinite, gives 0. If output has no elements, no data
 *   are read: pointers may be null. MLU-OPS refuses empty tensors. The serial code of the tests of MLU-OPS
 *   confuses pixels at the last row and column, for example of points at 1; this function follows the device.
 * Determinism: the same bits in every run, at every thread count and on every instruction set: the four products
 *   are added in fp32, in the order top left, top right, bottom left, bottom right, starting at +0. HALF and
 *   BFLOAT16 are an extension: they are computed in fp32 and rounded once, to nearest even. MLU-OPS has FLOAT.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      output has elements and n is not a multiple of B
 *   NOT_SUPPORTED  an image has 2^31 pixels or more
 *
 * Definition: MLU-OPS header, mluOpRoiCropForward; CoupleNet, arXiv:1708.02863. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiCropForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                                const void* input, const mluOpTensorDescriptor_t grid_desc,
                                                const void* grid, const mluOpTensorDescriptor_t output_desc,
                                                void* output);

/* RoI crop backward: the gradient of input of mluOpRoiCropForward.
 *
 *   grad_input[b,row,column,c] = the sum over the grids of image b and their points of grad_output[k,i,j,c] times
 *   the weights with which the pixel is sampled
 *
 * | tensor      | shape          | dtype                   | layout |
 * |-------------|----------------|-------------------------|--------|
 * | grad_output | [n, oh, ow, C] | FLOAT, HALF or BFLOAT16 | NHWC   |
 * | grid        | [n, oh, ow, 2] | as grad_output          | any    |
 * | grad_input  | [B, H, W, C]   | as grad_output          | NHWC   |
 *
 * Units: as in mluOpRoiCropForward.
 * Outputs: the call writes every element of grad_input, zeros for pixels that no point samples; the caller need
 *   not initialize it. Points with a NaN or infinite coordinate add nothing. If grad_input has no elements, no
 *   data are read: pointers may be null.
 * Determinism: the same bits in every run, at every thread count and on every instruction set: sums are in fp32,
 *   in the order of grids, rows and columns of a grid, and pixels as in mluOpRoiCropForward, starting at +0; HALF
 *   and BFLOAT16 are rounded once, to nearest even. MLU-OPS adds with atomics, in any order.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 4 bytes for each grid; for HALF and BFLOAT16 also, for each task, the
 *   sums of a part of the image in fp32.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      grad_input has elements and n is not a multiple of B
 *   NOT_SUPPORTED  an image has 2^31 pixels or more
 *
 * Definition: MLU-OPS header, mluOpRoiCropBackward; CoupleNet, arXiv:1708.02863. */
mluOpStatus_t MLUOP_WIN_API mluOpRoiCropBackward(mluOpHandle_t handle,
                                                 const mluOpTensorDescriptor_t grad_output_desc,
                                                 const void* grad_output, const mluOpTensorDescriptor_t grid_desc,
                                                 const void* grid, const mluOpTensorDescriptor_t grad_input_desc,
                                                 void* grad_input);

/* Mutual information, forward (k2 and fast_rnnt: pruned RNN-T and LF-MMI losses): the log-probability of all
 * monotone paths through a lattice of S symbols and T frames.
 *
 *   With L(u, v) = log(exp(u) + exp(v)) and the boundary (s_begin, t_begin, s_end, t_end) of sequence b, for its
 *   cells s_begin <= s <= s_end, t_begin <= t <= t_end:
 *     p[b,s_begin,t_begin] = 0
 *     p[b,s,t] = L(p[b,s-1,t] + px[b,s-1,t], p[b,s,t-1] + py[b,s,t-1])
 *     ans[b]   = p[b,s_end,t_end]
 *   A cell outside the boundary counts as -infinity.
 *
 * | tensor       | shape                               | dtype | layout |
 * |--------------|-------------------------------------|-------|--------|
 * | px           | [B, S, T + 1]                       | FLOAT | any    |
 * | py           | [B, S + 1, T]                       | FLOAT | any    |
 * | opt_boundary | [B, 4]; null for both, or [0]: none | INT64 | any    |
 * | p            | [B, S + 1, T + 1]                   | FLOAT | any    |
 * | ans          | [B]                                 | FLOAT | any    |
 *
 * Units: px[b,s,t] and py[b,s,t] are natural logarithms of the probabilities of a symbol and of a frame. A
 *   boundary includes its end; without opt_boundary, every boundary is (0, 0, S, T).
 * Outputs: the call writes ans, and the cells of p within the boundaries; the other cells keep their contents. The
 *   caller need not initialize ans or p. An empty boundary, whose begin is beyond its end, gives ans 0 and leaves
 *   p unchanged. If B is 0, data may be null; px may be null if S is 0, and py if T is 0.
 *   NaN: L(u, v) is u if u or v is NaN, as in MLU-OPS and in k2 on GPUs. NaN propagates along s only.
 * Determinism: the same bits at every thread count, in every run, on every instruction set and at every place in a
 *   batch. L is computed in fp32, with an error of about one rounding. If u and v differ by more than 15.94, L is
 *   the larger one.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. A sequence is processed by one thread.
 * Memory: no workspace is needed: the query writes 0. The handle keeps 16 (S + 2) bytes per thread.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      a boundary begins below 0 or ends above S or T; only one of opt_boundary_desc and opt_boundary
 *                  is null; workspace is null although workspace_size is not 0, or an output overlaps it; the
 *                  pointer workspace_size of the query is null
 *   NOT_SUPPORTED  px has the shape [B, S, T]: the modified recursion of k2
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS header, mluOpMutualInformationForward; k2 mutual_information_recursion. */
mluOpStatus_t MLUOP_WIN_API mluOpGetMutualInformationForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t px_desc, const mluOpTensorDescriptor_t py_desc,
    const mluOpTensorDescriptor_t opt_boundary_desc, const mluOpTensorDescriptor_t p_desc,
    const mluOpTensorDescriptor_t ans_desc, size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API mluOpMutualInformationForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t px_desc, const void* px,
    const mluOpTensorDescriptor_t py_desc, const void* py, const mluOpTensorDescriptor_t opt_boundary_desc,
    const void* opt_boundary, const mluOpTensorDescriptor_t p_desc, void* p, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t ans_desc, void* ans);

/* Mutual information, backward: the gradients of px and py of mluOpMutualInformationForward, from its p.
 *
 *   With q = max(p, -1e30) and E(z) = exp(z), but 0 if z or exp(z) is not finite, within the boundary of
 *   sequence b:
 *     P[s_end,t_end]   = ans_grad[b]
 *     px_grad[b,s,t]   = P[s+1,t] E(q[b,s,t] + px[b,s,t] - q[b,s+1,t])
 *     py_grad[b,s,t]   = P[s,t+1] E(q[b,s,t] + py[b,s,t] - q[b,s,t+1])
 *     P[s,t]           = px_grad[b,s,t] + py_grad[b,s,t]
 *   A step out of the boundary has the gradient 0.
 *
 * | tensor       | shape                               | dtype | layout |
 * |--------------|-------------------------------------|-------|--------|
 * | px           | [B, S, T + 1]                       | FLOAT | any    |
 * | py           | [B, S + 1, T]                       | FLOAT | any    |
 * | opt_boundary | [B, 4]; null for both, or [0]: none | INT64 | any    |
 * | p            | [B, S + 1, T + 1]                   | FLOAT | any    |
 * | ans_grad     | [B]                                 | FLOAT | any    |
 * | px_grad      | as px                               | FLOAT | any    |
 * | py_grad      | as py                               | FLOAT | any    |
 *
 * Units: as in mluOpMutualInformationForward, which wrote p for the same px, py and opt_boundary. ans_grad is the
 *   gradient of ans.
 * Outputs: the call writes every element of px_grad and py_grad; the caller need not initialize them. They are 0
 *   outside the boundaries, and for every sequence whose boundary is empty. With overwrite_ans_grad, ans_grad[b]
 *   becomes P[s_begin,t_begin], which equals the old ans_grad[b] in exact arithmetic; if the boundary is empty,
 *   ans_grad[b] keeps its value. A step that reads a NaN in p, px or py has the gradient 0; NaN in ans_grad
 *   propagates.
 * Determinism: the same bits at every thread count, in every run, on every instruction set and at every place in a
 *   batch. Computed in fp32. Where p is -700, its rounding error is up to 3e-5, which is also the relative error
 *   of E at each step. Values of E below 2^-126 count as 0.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. A sequence is processed by one thread.
 * Memory: no workspace is needed: the query writes 0. The handle keeps 16 (S + 2) bytes per thread.
 *
 * Returns, in addition to the statuses of every operator: as mluOpMutualInformationForward
 *
 * Definition: MLU-OPS header, mluOpMutualInformationBackward; k2 mutual_information_recursion. */
mluOpStatus_t MLUOP_WIN_API mluOpGetMutualInformationBackwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t px_desc, const mluOpTensorDescriptor_t py_desc,
    const mluOpTensorDescriptor_t opt_boundary_desc, const mluOpTensorDescriptor_t p_desc,
    const mluOpTensorDescriptor_t ans_grad_desc, const bool overwrite_ans_grad, size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API mluOpMutualInformationBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t px_desc, const void* px,
    const mluOpTensorDescriptor_t py_desc, const void* py, const mluOpTensorDescriptor_t opt_boundary_desc,
    const void* opt_boundary, const mluOpTensorDescriptor_t p_desc, const void* p,
    const mluOpTensorDescriptor_t ans_grad_desc, void* ans_grad, const bool overwrite_ans_grad, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t px_grad_desc, void* px_grad,
    const mluOpTensorDescriptor_t py_grad_desc, void* py_grad);

/* Synchronized batch normalization, statistics: the mean and the inverse standard deviation of each channel of the
 * batch of one process.
 *
 *   With M, the number of rows of x, i.e. the product of all dimensions but C:
 *     mean[c]   = (1 / M) sum over rows of x[row,c]
 *     invstd[c] = 1 / sqrt(var[c] + eps), var[c] = (1 / M) sum over rows of (x[row,c] - mean[c])^2
 *
 * | tensor | shape    | dtype                   | layout                 |
 * |--------|----------|-------------------------|------------------------|
 * | x      | [..., C] | FLOAT, HALF or BFLOAT16 | NHWC, NDHWC, NC or NLC |
 * | mean   | [C]      | FLOAT                   | any                    |
 * | invstd | [C]      | FLOAT                   | any                    |
 *
 * Units: mean is in the unit of x, invstd in its reciprocal; eps is added to a variance.
 * Outputs: the call writes every element of mean and invstd; the caller need not initialize them. Both are 0 if x
 *   has no elements. NaN in a channel makes both NaN; infinity makes mean infinite (NaN if both signs occur) and
 *   invstd NaN. If var + eps is negative, invstd is NaN.
 * Determinism: the same bits at every thread count, in every run and on every instruction set. Sums are in double,
 *   of x minus the channel's first element, so that a large mean does not cancel the variance: MLU-OPS's golden
 *   code computes mean(x^2) - mean(x)^2 in fp32, which gives a variance of 0 for numbers around 1e4 with a
 *   deviation of 1. The rows are divided into at most 64 chunks by M only.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace is needed: mluOpGetSyncBatchNormStatsWorkspaceSize writes 0. The handle keeps up to 1 KiB a
 *   channel. mluOpSyncBatchNormStats, deprecated by MLU-OPS, where it writes nothing, is the same function without
 *   workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  the layout of x is another one, or x has not the number of dimensions of its layout; workspace is
 *              null although workspace_size is not 0, or an output overlaps it; the query's workspace_size is null
 *
 * Definition: MLU-OPS header, mluOpSyncBatchNormStats_v2; batch normalization, arXiv:1502.03167. */
mluOpStatus_t MLUOP_WIN_API mluOpGetSyncBatchNormStatsWorkspaceSize(mluOpHandle_t handle,
                                                                    const mluOpTensorDescriptor_t x_desc,
                                                                    size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormStats_v2(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc,
                                                       const void* x, void* workspace, size_t workspace_size,
                                                       const float eps, const mluOpTensorDescriptor_t mean_desc,
                                                       void* mean, const mluOpTensorDescriptor_t invstd_desc,
                                                       void* invstd);
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormStats(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc,
                                                    const void* x, const float eps,
                                                    const mluOpTensorDescriptor_t mean_desc, void* mean,
                                                    const mluOpTensorDescriptor_t invstd_desc, void* invstd);

/* Synchronized batch normalization, statistics of all processes: combines what mluOpSyncBatchNormStats_v2 returned
 * in W processes, and updates the moving statistics.
 *
 *   With c_w = count_all[w], N = sum of c_w, and v_w = 1 / invstd_all[w,c]^2 - eps:
 *     mean[c]   = (1 / N) sum over w of c_w mean_all[w,c]
 *     var       = (1 / N) sum over w of c_w (v_w + (mean_all[w,c] - mean[c])^2), at least 0
 *     invstd[c] = 1 / sqrt(var + eps)
 *     moving_mean[c] = momentum mean[c] + (1 - momentum) moving_mean[c]
 *     moving_var[c]  = momentum var N / (N - 1) + (1 - momentum) moving_var[c]; var without the factor if N <= 1
 *   Processes whose count is 0 are skipped, whatever their statistics are.
 *
 * | tensor      | shape  | dtype                   | layout |
 * |-------------|--------|-------------------------|--------|
 * | mean_all    | [W, C] | FLOAT                   | any    |
 * | invstd_all  | [W, C] | FLOAT                   | any    |
 * | moving_mean | [C]    | as count_all            | any    |
 * | moving_var  | [C]    | as count_all            | any    |
 * | count_all   | [W]    | FLOAT, HALF or BFLOAT16 | any    |
 * | mean        | [C]    | FLOAT                   | any    |
 * | invstd      | [C]    | FLOAT                   | any    |
 *
 * Units: a count is a number of rows. moving_mean and moving_var are optional: both absent (null, or of shape [0])
 *   or both present.
 * Outputs: the call writes every element of mean and invstd, and updates moving_mean and moving_var in place,
 *   which the caller initializes. If N is 0, mean and invstd are 0, and the moving statistics are unchanged.
 *   MLU-OPS's header calls moving_var the average of invstd; its code computes the formula above.
 * Determinism: the same bits at every thread count, in every run and on every instruction set: in double,
 *   processes in order; each result is rounded to fp32, and moving statistics of 16 bits then to their type.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  one of moving_mean and moving_var is absent
 *
 * Definition: MLU-OPS header, mluOpSyncBatchNormGatherStatsWithCounts; PyTorch
 *   batch_norm_gather_stats_with_counts. */
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormGatherStatsWithCounts(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t mean_all_desc, const void* mean_all,
    const mluOpTensorDescriptor_t invstd_all_desc, const void* invstd_all,
    const mluOpTensorDescriptor_t moving_mean_desc, void* moving_mean,
    const mluOpTensorDescriptor_t moving_var_desc, void* moving_var, float momentum, float eps,
    const mluOpTensorDescriptor_t count_all_desc, const void* count_all, const mluOpTensorDescriptor_t mean_desc,
    void* mean, const mluOpTensorDescriptor_t invstd_desc, void* invstd);

/* Synchronized batch normalization, output: normalizes each element with the statistics of all processes.
 *
 *   y[row,c] = ((x[row,c] - mean[c]) invstd[c]) filter[c] + bias[c], each operation rounded to fp32 in this order
 *
 * | tensor | shape    | dtype                   | layout                 |
 * |--------|----------|-------------------------|------------------------|
 * | x      | [..., C] | FLOAT, HALF or BFLOAT16 | NHWC, NDHWC, NC or NLC |
 * | mean   | [C]      | FLOAT                   | any                    |
 * | invstd | [C]      | FLOAT                   | any                    |
 * | filter | [C]      | FLOAT                   | any                    |
 * | bias   | [C]      | FLOAT                   | any                    |
 * | y      | as x     | as x                    | as x                   |
 *
 * Units: as in mluOpSyncBatchNormStats_v2. filter and bias are optional: both absent (null, or of shape [0]),
 *   which means ones and zeros, or both present.
 * Outputs: the call writes every element of y; the caller need not initialize it. NaN and infinity propagate. If x
 *   has no elements, data may be null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set. HALF and BFLOAT16 are computed in fp32 and rounded once.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 16 bytes a channel.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  the layout of x is another one, or x has not the number of dimensions of its layout; one of filter
 *              and bias is absent
 *
 * Definition: MLU-OPS header, mluOpSyncBatchNormElemt; batch normalization, arXiv:1502.03167. */
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormElemt(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc,
                                                    const void* x, const mluOpTensorDescriptor_t mean_desc,
                                                    const void* mean, const mluOpTensorDescriptor_t invstd_desc,
                                                    const void* invstd, const mluOpTensorDescriptor_t filter_desc,
                                                    const void* filter, const mluOpTensorDescriptor_t bias_desc,
                                                    const void* bias, const mluOpTensorDescriptor_t y_desc,
                                                    void* y);

/* Synchronized batch normalization, sums of the gradient in one process.
 *
 *   sum_dy[c]     = sum over rows of dz[row,c]
 *   sum_dy_xmu[c] = sum over rows of (x[row,c] - mean[c]) dz[row,c]
 *   dfilter[c]    = sum_dy_xmu[c] invstd[c]
 *   dbias[c]      = sum_dy[c]
 *
 * | tensor     | shape    | dtype                   | layout                 | written if        |
 * |------------|----------|-------------------------|------------------------|-------------------|
 * | dz         | as x     | as x                    | as x                   |                   |
 * | x          | [..., C] | FLOAT, HALF or BFLOAT16 | NHWC, NDHWC, NC or NLC |                   |
 * | mean       | [C]      | FLOAT                   | any                    |                   |
 * | invstd     | [C]      | FLOAT                   | any                    |                   |
 * | dfilter    | [C]      | FLOAT                   | any                    | needs_input_grad1 |
 * | dbias      | [C]      | FLOAT                   | any                    | needs_input_grad2 |
 * | sum_dy     | [C]      | FLOAT                   | any                    | needs_input_grad0 |
 * | sum_dy_xmu | [C]      | FLOAT                   | any                    | needs_input_grad0 |
 *
 * Units: as in mluOpSyncBatchNormStats_v2.
 * Outputs: the call writes every element of the outputs whose flag is true; the caller need not initialize them.
 *   The others are not checked and may be null. If x has no elements, the outputs are 0, and the data of inputs
 *   may be null. NaN and infinity propagate through the sums of their channel.
 * Determinism: the same bits at every thread count, in every run and on every instruction set: sums in double,
 *   rounded once, with the rows in at most 64 chunks that depend on their number only.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace is needed: mluOpGetSyncBatchNormBackwardReduceWorkspaceSize writes 0. The handle keeps up
 *   to 1 KiB a channel. mluOpSyncBatchNormBackwardReduce, which MLU-OPS declares without defining it, is the same
 *   function without workspace. Deprecated: mluOpSyncBatchnormBackwardReduce_v2 and
 *   mluOpGetSyncBatchnormBackwardReduceWorkspaceSize are other names of the same functions;
 *   mluOpSyncBatchnormBackwardReduce returns NOT_SUPPORTED, as in MLU-OPS.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  the layout of x is another one, or x has not the number of dimensions of its layout; workspace is
 *              null although workspace_size is not 0, or an output overlaps it; the query's workspace_size is null
 *
 * Definition: MLU-OPS header, mluOpSyncBatchNormBackwardReduce_v2; PyTorch batch_norm_backward_reduce. */
mluOpStatus_t MLUOP_WIN_API mluOpGetSyncBatchNormBackwardReduceWorkspaceSize(mluOpHandle_t handle,
                                                                             const mluOpTensorDescriptor_t x_desc,
                                                                             size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API mluOpGetSyncBatchnormBackwardReduceWorkspaceSize(mluOpHandle_t handle,
                                                                             const mluOpTensorDescriptor_t x_desc,
                                                                             size_t* workspace_size);
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormBackwardReduce_v2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t dz_desc, const void* dz,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, void* workspace, size_t workspace_size,
    const mluOpTensorDescriptor_t dfilter_desc, void* dfilter, const mluOpTensorDescriptor_t dbias_desc,
    void* dbias, const mluOpTensorDescriptor_t sum_dy_desc, void* sum_dy,
    const mluOpTensorDescriptor_t sum_dy_xmu_desc, void* sum_dy_xmu, const bool needs_input_grad0,
    const bool needs_input_grad1, const bool needs_input_grad2);
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchnormBackwardReduce_v2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t dz_desc, const void* dz,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, void* workspace, size_t workspace_size,
    const mluOpTensorDescriptor_t dfilter_desc, void* dfilter, const mluOpTensorDescriptor_t dbias_desc,
    void* dbias, const mluOpTensorDescriptor_t sum_dy_desc, void* sum_dy,
    const mluOpTensorDescriptor_t sum_dy_xmu_desc, void* sum_dy_xmu, const bool needs_input_grad0,
    const bool needs_input_grad1, const bool needs_input_grad2);
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormBackwardReduce(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t dz_desc, const void* dz,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, const mluOpTensorDescriptor_t dfilter_desc,
    void* dfilter, const mluOpTensorDescriptor_t dbias_desc, void* dbias,
    const mluOpTensorDescriptor_t sum_dy_desc, void* sum_dy, const mluOpTensorDescriptor_t sum_dy_xmu_desc,
    void* sum_dy_xmu, const bool needs_input_grad0, const bool needs_input_grad1, const bool needs_input_grad2);
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchnormBackwardReduce(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t dz_desc, const void* dz,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, const mluOpTensorDescriptor_t dfilter_desc,
    void* dfilter, const mluOpTensorDescriptor_t dbias_desc, void* dbias,
    const mluOpTensorDescriptor_t sum_dy_desc, void* sum_dy, const mluOpTensorDescriptor_t sum_dy_xmu_desc,
    void* sum_dy_xmu, const bool needs_input_grad0, const bool needs_input_grad1, const bool needs_input_grad2);

/* Synchronized batch normalization, gradient of the input, from the sums of all processes.
 *
 *   diff_x[row,c] = ((diff_y[row,c] - u) - (x[row,c] - mean[c]) k) s, each operation rounded to fp32, with,
 *   computed in double and rounded to fp32,
 *     u = mean_dy[c], k = invstd[c]^2 mean_dy_xmu[c], s = invstd[c] filter[c]
 *   mluOpSyncBatchNormBackwardElemt takes the means; mluOpSyncBatchNormBackwardElemtV2 takes the sums, which it
 *   divides by the sum of all counts: mean_dy = sum_dy / sum of count, mean_dy_xmu = sum_dy_xmu / sum of count.
 *
 * | tensor                | shape    | dtype                   | layout                 |
 * |-----------------------|----------|-------------------------|------------------------|
 * | diff_y                | as x     | as x                    | as x                   |
 * | x                     | [..., C] | FLOAT, HALF or BFLOAT16 | NHWC, NDHWC, NC or NLC |
 * | mean, invstd          | [C]      | FLOAT                   | any                    |
 * | filter                | [C]      | FLOAT                   | any                    |
 * | mean_dy, mean_dy_xmu  | [C]      | FLOAT                   | any                    |
 * | sum_dy, sum_dy_xmu    | [C]      | FLOAT                   | any                    |
 * | count                 | [W]      | INT32                   | any                    |
 * | diff_x                | as x     | as x                    | as x                   |
 *
 * Units: a count is a number of rows. filter is optional: absent (null, or of shape [0]), it means ones.
 * Outputs: the call writes every element of diff_x; the caller need not initialize it. NaN and infinity propagate.
 *   If the sum of counts is 0, the means are NaN or infinite. If x has no elements, data may be null. MLU-OPS's
 *   golden code adds as many counts as x has batch items; this function adds all. The example in MLU-OPS's header
 *   (-8960) does not follow from the formula, which gives 2140.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set. HALF and BFLOAT16 are computed in fp32 and rounded once.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 16 bytes a channel.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  the layout of x is another one, or x has not the number of dimensions of its layout
 *
 * Definition: MLU-OPS header, mluOpSyncBatchNormBackwardElemt; PyTorch batch_norm_backward_elemt. */
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormBackwardElemt(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t diff_y_desc, const void* diff_y,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, const mluOpTensorDescriptor_t filter_desc,
    const void* filter, const mluOpTensorDescriptor_t mean_dy_desc, const void* mean_dy,
    const mluOpTensorDescriptor_t mean_dy_xmu_desc, const void* mean_dy_xmu,
    const mluOpTensorDescriptor_t diff_x_desc, void* diff_x);
mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormBackwardElemtV2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t diff_y_desc, const void* diff_y,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, const mluOpTensorDescriptor_t filter_desc,
    const void* filter, const mluOpTensorDescriptor_t sum_dy_desc, const void* sum_dy,
    const mluOpTensorDescriptor_t sum_dy_xmu_desc, const void* sum_dy_xmu,
    const mluOpTensorDescriptor_t count_desc, const void* count, const mluOpTensorDescriptor_t diff_x_desc,
    void* diff_x);

/* AdamW (BMTrain): one step of the optimizer, in place, on parameters in fp32 with a gradient in bfloat16.
 *
 *   Each operation is rounded to fp32, in the order written; m, v and p are elements of momentum, velocity and
 *   param, s and wd the attributes GRAD_SCALE and WEIGHT_DECAY of adamw_desc:
 *     g  = grad / s
 *     m' = m + (g - m) (1 - beta1)
 *     v' = v + (g g - v) (1 - beta2)
 *     u  = ((lr m') / bias1) / (sqrt(v' / bias2) + epsilon)
 *     p' = (p - u) - (lr wd) p
 *     paramh = p', rounded to bfloat16, to nearest even
 *   With the attribute NEED_REMOVE_NAN, paramh holds the step t:
 *     bias1 = 1 - beta1^t, bias2 = 1 - beta2^t, computed in double and rounded once; the arguments bias1 and bias2
 *     are ignored
 *     p' = p (1 - lr wd) - u
 *     An element whose m', v' and p' are all NaN or infinite keeps m, v and p.
 *     t' = t + 1, rounded to fp32; the largest float if the sum is infinite
 *
 * | tensor   | shape     | dtype    | dtype and shape with NEED_REMOVE_NAN | layout |
 * |----------|-----------|----------|--------------------------------------|--------|
 * | param    | any shape | FLOAT    | FLOAT                                | any    |
 * | paramh   | as param  | BFLOAT16 | FLOAT [1]: t, updated                | any    |
 * | momentum | as param  | FLOAT    | FLOAT                                | any    |
 * | velocity | as param  | FLOAT    | FLOAT                                | any    |
 * | grad     | as param  | BFLOAT16 | FLOAT                                | any    |
 *
 * Units: bias1 and bias2 are the bias corrections 1 - beta1^t and 1 - beta2^t of the step t; steps count from 1.
 *   lr, bias1, bias2, s and wd are unchecked: a bias correction or a scale of 0 gives infinity or NaN.
 *   USE_NESTEROV has no effect, as in MLU-OPS.
 * Outputs: the call updates param, momentum, velocity and t: the caller initializes them. Without NEED_REMOVE_NAN,
 *   it writes every element of paramh, which the caller need not initialize. grad is not written. NaN and infinity
 *   propagate, except that NEED_REMOVE_NAN keeps elements as stated.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set. The device multiplies by reciprocals and fuses products with sums, which changes the last bits.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  adamw_desc is null; beta1 or beta2 is not in [0, 1]; epsilon is not positive; param has no elements
 *
 * Definition: MLU-OPS design document adam_w; BMTrain adam_cuda; AdamW, arXiv:1711.05101. */
mluOpStatus_t MLUOP_WIN_API mluOpAdamW(mluOpHandle_t handle, mluOpAdamWDescriptor_t adamw_desc,
                                       const mluOpTensorDescriptor_t param_desc, void* param,
                                       const mluOpTensorDescriptor_t paramh_desc, void* paramh,
                                       const mluOpTensorDescriptor_t momentum_desc, void* momentum,
                                       const mluOpTensorDescriptor_t velocity_desc, void* velocity,
                                       const mluOpTensorDescriptor_t grad_desc, void* grad, const float lr,
                                       const float beta1, const float beta2, const float bias1, const float bias2,
                                       const float epsilon);

/* MoE dispatch forward (Tutel): multiplies each sample by its gate and writes it to the buffer of its expert.
 *
 *   With r(i) = indices[i] * capacity + locations[i], for each sample i with 0 <= indices[i] < num_experts and
 *   0 <= locations[i] < capacity; other samples are skipped:
 *     dispatch[r(i),j] = gates[i] * input[i,j]
 *   If several samples have the same row, the last one is written.
 *
 * | tensor    | shape                            | dtype | layout |
 * |-----------|----------------------------------|-------|--------|
 * | gates     | [samples]                        | FLOAT | any    |
 * | indices   | [samples]: expert of each sample | INT32 | any    |
 * | locations | [samples]: row in the buffer     | INT32 | any    |
 * | input     | [samples, hidden]                | FLOAT | any    |
 * | dispatch  | [num_experts * capacity, hidden] | FLOAT | any    |
 *
 * Units: indices and locations count from 0; every int32 is valid. MLU-OPS requires both in range.
 * Outputs: the call writes the rows of dispatch that a sample names, and leaves the other rows unchanged. NaN and
 *   infinity propagate. If input has no elements, dispatch is unchanged and inputs may be null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace. The handle keeps 4 bytes a row of dispatch.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      samples, capacity, hidden or num_experts is negative or does not match a shape; samples is more
 *                  than num_experts * capacity
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document moe_dispatch_forward; Tutel 0.2, jit_kernels/sparse.py. */
mluOpStatus_t MLUOP_WIN_API mluOpMoeDispatchForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t gates_desc, const void* gates,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t locations_desc,
    const void* locations, const mluOpTensorDescriptor_t input_desc, const void* input, const int samples,
    const int capacity, const int hidden, const int num_experts, const mluOpTensorDescriptor_t dispatch_desc,
    void* dispatch);

/* MoE dispatch, gradient of the gates.
 *
 *   With r(i) as in mluOpMoeDispatchForward; dispatch is the gradient of the tensor that mluOpMoeDispatchForward
 *   writes:
 *     grad_gates[i] = sum over j of dispatch[r(i),j] * input[i,j]; 0 if sample i is skipped
 *
 * | tensor             | shape                            | dtype | layout |
 * |--------------------|----------------------------------|-------|--------|
 * | indices, locations | [samples]                        | INT32 | any    |
 * | input              | [samples, hidden]                | FLOAT | any    |
 * | dispatch           | [num_experts * capacity, hidden] | FLOAT | any    |
 * | grad_gates         | [samples]                        | FLOAT | any    |
 *
 * Units: as in mluOpMoeDispatchForward. Every sample of a row receives the gradient of the row, also samples that
 *   mluOpMoeDispatchForward overwrites with a later one. There may be more samples than rows.
 * Outputs: the call writes every element; the caller need not initialize it. NaN and infinity propagate; the rows
 *   of skipped samples are not read. If input or dispatch has no elements, the result is 0 and inputs may be null.
 * Determinism: products and sums are rounded to fp32: 16 partial sums, added in pairs. The same bits at every
 *   thread count, in every run and on every instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: the query writes 0; workspace may be null.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      samples, capacity, hidden or num_experts is negative or does not match a shape; workspace is
 *                  null although workspace_size is not 0, or overlaps grad_gates
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document moe_dispatch_backward_gate; Tutel 0.2, jit_kernels/sparse.py. */
mluOpStatus_t MLUOP_WIN_API mluOpMoeDispatchBackwardGate(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t indices_desc, const void* indices,
    const mluOpTensorDescriptor_t locations_desc, const void* locations, const mluOpTensorDescriptor_t input_desc,
    const void* input, const mluOpTensorDescriptor_t dispatch_desc, const void* dispatch, const int samples,
    const int capacity, const int hidden, const int num_experts, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t grad_gates_desc, void* grad_gates);

/* Writes the bytes of workspace that mluOpMoeDispatchBackwardGate needs: 0.
 * Returns BAD_PARAM if an argument is null or input_desc is not as the operator requires; NOT_SUPPORTED if the
 * tensor is not contiguous; ARCH_MISMATCH as the operator. Nothing is then written. */
mluOpStatus_t MLUOP_WIN_API mluOpGetMoeDispatchBackwardGateWorkspaceSize(mluOpHandle_t handle,
                                                                         const mluOpTensorDescriptor_t input_desc,
                                                                         size_t* workspace_size);

/* MoE dispatch, gradient of the input.
 *
 *   With r(i) as in mluOpMoeDispatchForward; dispatch is the gradient of the tensor that mluOpMoeDispatchForward
 *   writes:
 *     grad_input[i,j] = gates[i] * dispatch[r(i),j]; 0 if sample i is skipped
 *
 * | tensor             | shape                            | dtype | layout |
 * |--------------------|----------------------------------|-------|--------|
 * | gates              | [samples]                        | FLOAT | any    |
 * | indices, locations | [samples]                        | INT32 | any    |
 * | dispatch           | [num_experts * capacity, hidden] | FLOAT | any    |
 * | grad_input         | [samples, hidden]                | FLOAT | any    |
 *
 * Units: as in mluOpMoeDispatchBackwardGate. With the outputs of the experts as dispatch, the function combines
 *   them: each sample receives its row, times its gate.
 * Outputs: the call writes every element; the caller need not initialize it. NaN and infinity propagate; the
 *   gates of skipped samples are not read. If dispatch has no elements, the result is 0 and inputs may be null.
 * Determinism: the result is exact: the same bits at every thread count, in every run and on every instruction
 *   set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      samples, capacity, hidden or num_experts is negative or does not match a shape
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *
 * Definition: MLU-OPS design document moe_dispatch_backward_data; Tutel 0.2, jit_kernels/sparse.py. */
mluOpStatus_t MLUOP_WIN_API mluOpMoeDispatchBackwardData(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t gates_desc, const void* gates,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t locations_desc,
    const void* locations, const mluOpTensorDescriptor_t dispatch_desc, const void* dispatch, const int samples,
    const int capacity, const int hidden, const int num_experts, const mluOpTensorDescriptor_t grad_input_desc,
    void* grad_input);

/* Magnitudes (PyTorch abs).
 *
 *   y = |x|; for a complex number, y = sqrt(real^2 + imaginary^2).
 *
 * | tensor | shape                     | dtype                                       | layout | strides |
 * |--------|---------------------------|---------------------------------------------|--------|---------|
 * | x      | any, of 1 to 8 dimensions | FLOAT, HALF, BFLOAT16, INT32, COMPLEX_FLOAT | any    | any     |
 * | y      | as x                      | as x; FLOAT for COMPLEX_FLOAT               | any    | any     |
 *
 * Outputs: the call writes every element; the caller need not initialize it. y may be the tensor x, with equal
 *   data and strides, except for COMPLEX_FLOAT. The elements of y must lie at distinct places; memory between them
 *   is not changed. |-0| is +0. NaN keeps its payload. The INT32 -2^31 is unchanged. A complex magnitude is
 *   infinity if a part is infinite, even if the other part is NaN; otherwise it overflows only if it exceeds
 *   FLT_MAX. If x has no elements, data may be null.
 * Determinism: the result is exact; complex magnitudes are computed in double and rounded once. The same bits at
 *   every thread count, in every run and on every instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   NOT_SUPPORTED  y has strides that do not nest as the strides of a part of a contiguous tensor do
 *
 * MLU-OPS forbids y in place of x, and computes INT32 in fp32.
 *
 * Definition: MLU-OPS design document abs; IEEE 754 abs. */
mluOpStatus_t MLUOP_WIN_API mluOpAbs(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc, const void* x,
                                     const mluOpTensorDescriptor_t y_desc, void* y);

/* Logarithms to the base e, 2 or 10 (PyTorch log, log2, log10).
 *
 *   y = log(x) to the base `base`
 *
 * prefer: without effect, every value is accepted.
 *
 * | tensor | shape                     | dtype                 | layout |
 * |--------|---------------------------|-----------------------|--------|
 * | x      | any, of 1 to 8 dimensions | FLOAT, HALF, BFLOAT16 | any    |
 * | y      | as x                      | as x                  | any    |
 *   x and y may have equal strides without gaps in any order of the dimensions, such as a transposed tensor.
 *
 * Outputs: the call writes every element; the caller need not initialize it. y may be the tensor x. log(0) is
 *   -infinity, log(infinity) infinity; negative numbers and NaN give NaN. Subnormal numbers have their logarithms.
 *   If x has no elements, data may be null.
 * Determinism: computed in double with a relative error below 2^-44, rounded to fp32, then to the type of y:
 *   within 0.501 units in the last place of fp32. Log2 of powers of 2 and log10 of powers of 10 are exact. The
 *   same bits at every thread count, in every run and on every instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      base is not a valid enumerator
 *   NOT_SUPPORTED  a tensor has gaps, or the strides of the tensors differ
 *
 * MLU-OPS multiplies an approximation of log2(x) by a rounded constant, and limits the accuracy to FLOAT from
 * 1e-20 to 2e5 and HALF from 1 to 60000; it lacks BFLOAT16.
 *
 * Definition: MLU-OPS design document log. */
mluOpStatus_t MLUOP_WIN_API mluOpLog(mluOpHandle_t handle, const mluOpComputationPreference_t prefer,
                                     const mluOpLogBase_t base, const mluOpTensorDescriptor_t x_desc,
                                     const void* x, const mluOpTensorDescriptor_t y_desc, void* y);

/* Square roots (PyTorch sqrt).
 *
 *   y = sqrt(x)
 *
 * prefer: FAST or HIGH_PRECISION, with the same results.
 *
 * | tensor | shape                     | dtype                        | layout |
 * |--------|---------------------------|------------------------------|--------|
 * | x      | any, of 1 to 8 dimensions | FLOAT, HALF, BFLOAT16, INT32 | any    |
 * | y      | as x                      | as x; FLOAT for INT32        | any    |
 *   Strides as in mluOpLog.
 *
 * Outputs: the call writes every element; the caller need not initialize it. y may be the tensor x. sqrt(-0) is
 *   -0; other negative numbers and NaN give NaN. If x has no elements, data may be null.
 * Determinism: the root is rounded once: the same bits at every thread count, in every run and on every
 *   instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      prefer is MLUOP_COMPUTATION_ULTRAHIGH_PRECISION or not a valid enumerator
 *   NOT_SUPPORTED  a tensor has gaps, or the strides of the tensors differ
 *
 * MLU-OPS limits the accuracy to FLOAT from 1e-10 to 1e10.
 *
 * Definition: MLU-OPS design document sqrt; IEEE 754 squareRoot. */
mluOpStatus_t MLUOP_WIN_API mluOpSqrt(mluOpHandle_t handle, const mluOpComputationPreference_t prefer,
                                      const mluOpTensorDescriptor_t x_desc, const void* x,
                                      const mluOpTensorDescriptor_t y_desc, void* y);

/* The gradient of mluOpSqrt with respect to its input.
 *
 *   diff_x = diff_y / (2 y), with y = sqrt(x)
 *
 * | tensor           | shape                     | dtype                 | layout |
 * |------------------|---------------------------|-----------------------|--------|
 * | y                | any, of 1 to 8 dimensions | FLOAT, HALF, BFLOAT16 | any    |
 * | diff_y (dy_desc) | as y                      | as y                  | any    |
 * | diff_x (dx_desc) | as y                      | as y                  | any    |
 *   Strides as in mluOpLog.
 *
 * Outputs: the call writes every element; the caller need not initialize it. diff_x may be the tensor y or diff_y.
 *   y = 0 gives infinity with the sign of the quotient, NaN if diff_y is 0. NaN propagates. If y has no elements,
 *   data may be null.
 * Determinism: the quotient is rounded once: the same bits at every thread count, in every run and on every
 *   instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   NOT_SUPPORTED  a tensor has gaps, or the strides of the tensors differ
 *
 * MLU-OPS limits the accuracy to y from 1e-10 to 1e6 for FLOAT and from 0.01 to 500 for HALF.
 *
 * Definition: MLU-OPS design document sqrt_backward. */
mluOpStatus_t MLUOP_WIN_API mluOpSqrtBackward(mluOpHandle_t handle, const mluOpTensorDescriptor_t y_desc,
                                              const void* y, const mluOpTensorDescriptor_t dy_desc,
                                              const void* diff_y, const mluOpTensorDescriptor_t dx_desc,
                                              void* diff_x);

/* Quotients (PyTorch div).
 *
 *   z = x / y. A dimension of x or y of size 1 is broadcast, as in NumPy; the ranks are equal.
 *
 * prefer: without effect, every value is accepted.
 *
 * | tensor | shape                                              | dtype                 | layout |
 * |--------|----------------------------------------------------|-----------------------|--------|
 * | x      | any, of 1 to 8 dimensions                          | FLOAT, HALF, BFLOAT16 | any    |
 * | y      | as x; x or y may have size 1 in any dimension      | as x                  | any    |
 * | z      | the shape after broadcasting                       | as x                  | any    |
 *   Tensors of one shape may have equal strides without gaps in any order of the dimensions; a tensor of one
 *   element may have any strides.
 *
 * Outputs: the call writes every element; the caller need not initialize it. z may be the tensor x or y, if the
 *   shapes are equal. Division by 0 gives infinity, or NaN for 0 / 0. NaN propagates. If z has no elements, data
 *   may be null.
 * Determinism: the quotient is rounded once: the same bits at every thread count, in every run and on every
 *   instruction set.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      x and y cannot be broadcast to one shape, or it is not the shape of z
 *   NOT_SUPPORTED  a tensor has gaps, or one is not contiguous and the shapes or strides of the tensors differ
 *
 * MLU-OPS documents equal shapes, accepts shapes to broadcast, and then reads past the smaller tensor.
 *
 * Definition: MLU-OPS design document div; IEEE 754 division. */
mluOpStatus_t MLUOP_WIN_API mluOpDiv(mluOpHandle_t handle, const mluOpComputationPreference_t prefer,
                                     const mluOpTensorDescriptor_t x_desc, const void* x,
                                     const mluOpTensorDescriptor_t y_desc, const void* y,
                                     const mluOpTensorDescriptor_t z_desc, void* z);

/* Logarithms of the absolute value of the gamma function (PyTorch lgamma).
 *
 *   y = log |gamma(x)|
 *
 * | tensor | shape                     | dtype                 | layout | strides |
 * |--------|---------------------------|-----------------------|--------|---------|
 * | x      | any, of 1 to 8 dimensions | FLOAT, HALF, BFLOAT16 | any    | any     |
 * | y      | as x                      | as x                  | any    | any     |
 *
 * Outputs: the call writes every element; the caller need not initialize it. y may be the tensor x: equal data and
 *   strides. Elements of y must lie at distinct places; memory between them is not changed. 0, -0, negative
 *   integers and both infinities give infinity, NaN gives NaN. If x has no elements, data may be null.
 * Determinism: computed in double by lgamma_r of the C library, rounded to fp32, then to the type of y. The same
 *   bits at every thread count and in every run; another C library may differ in the last bit.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   ARCH_MISMATCH  MLUOP_OMP_DEVICE is mlu270 or mlu290
 *   NOT_SUPPORTED  y has strides that do not nest as the strides of a part of a contiguous tensor do
 *
 * MLU-OPS has an absolute error of up to 7e-6 between 0.5 and 3, and ignores strides.
 *
 * Definition: MLU-OPS design document lgamma; C99 lgamma. */
mluOpStatus_t MLUOP_WIN_API mluOpLgamma(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc, const void* x,
                                        const mluOpTensorDescriptor_t y_desc, void* y);

/* Powers of a base whose exponents are evenly spaced (PyTorch logspace).
 *
 *   start and end are first converted to the type of res: rounded, for INT32 truncated. With
 *   step = (end - start) / (steps - 1):
 *     exponent(i) = start + step i                 for i < steps / 2 (integer division)
 *     exponent(i) = end - step (steps - 1 - i)     for the other i
 *     res[i]      = base ^ exponent(i)
 *   With one step, res[0] = base ^ start.
 *
 * | tensor | shape                     | dtype                        | layout |
 * |--------|---------------------------|------------------------------|--------|
 * | res    | any, of 1 to 8 dimensions | FLOAT, HALF, BFLOAT16, INT32 | any    |
 *
 * Outputs: the call writes the first `steps` elements; the others keep their contents. Powers follow IEEE 754 pow,
 *   also for a base, start or end that is 0, negative, infinity or NaN. INT32 drops fractions; numbers beyond
 *   INT32 become the nearest INT32, NaN becomes 0. With steps 0, nothing is written.
 * Determinism: exponents are computed in fp32, powers in double, rounded to fp32, then to the type of res. The
 *   same bits at every thread count and in every run; another C library may differ in the last bit.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm.
 * Memory: no workspace.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM  steps is negative or exceeds the elements of res
 *
 * MLU-OPS computes powers in fp32, truncates to HALF, and returns NaN for some bases.
 *
 * Definition: MLU-OPS design document logspace; PyTorch torch.logspace. */
mluOpStatus_t MLUOP_WIN_API mluOpLogspace(mluOpHandle_t handle, const float start, const float end,
                                          const int64_t steps, const float base,
                                          const mluOpTensorDescriptor_t res_desc, void* res);

/* Create and destroy a plan of a Fourier transform. mluOpExecFFT accepts the plan after mluOpMakeFFTPlanMany and
 * mluOpSetFFTReserveArea.
 * Return BAD_PARAM if the argument is null, ALLOC_FAILED if out of memory. */
mluOpStatus_t MLUOP_WIN_API mluOpCreateFFTPlan(mluOpFFTPlan_t* fft_plan);
mluOpStatus_t MLUOP_WIN_API mluOpDestroyFFTPlan(mluOpFFTPlan_t fft_plan);

/* Sets a plan: copies both descriptors and computes the constants of the transform, in time O(n log n).
 *
 *   rank                              1 or 2; n[0 .. rank): the lengths of the transform, n[rank - 1] of the last,
 *                                     innermost dimension
 *   input, output                     tensors of `rank` dimensions, or one more, the batch, before them
 *   FLOAT to COMPLEX_FLOAT            real to complex: the last dimension of output is n[rank - 1] / 2 + 1
 *   COMPLEX_FLOAT to FLOAT            complex to real: n[rank - 1] / 2 + 1 elements of the last dimension of input
 *                                     are read
 *   COMPLEX_FLOAT to COMPLEX_FLOAT    complex
 *   HALF and COMPLEX_HALF             as FLOAT and COMPLEX_FLOAT
 *
 * Shapes: all other dimensions of output equal n. Dimensions of input may be shorter than the transform,
 *   which adds zeros, or longer: further elements are ignored.
 * On-chip data type: of input (mluOpSetTensorDescriptorOnchipDataType), FLOAT or INT31; with half precision HALF
 *   or INT16. It has no effect on results.
 * reservespace_size: 1. The plan owns its constants: mluOpSetFFTReserveArea accepts any pointer except null, and
 *   no function reads or writes the area. A plan that is set again needs mluOpSetFFTReserveArea again.
 * workspace_size: 0 for rank 1 and for a batch of 0; for rank 2, 16 bytes for each complex number between the two
 *   passes, and room for alignment. The workspace holds all items of the batch that fit 8 MiB, and at least one.
 * Memory: the handle keeps, for each task, 32 bytes for each number of 1 to 8 signals, and for lengths with other
 *   prime factors than 2, 3 and 5 about 64 bytes more for each number of one signal.
 * Threads: no other call may use the plan while it is set. mluOpExecFFT only reads the plan: threads with handles
 *   of their own may share it, each with a workspace of its own.
 *
 * Returns:
 *   BAD_PARAM        an argument other than fft_plan is null; rank is not 1 to 3; a length is not positive; the
 *                    number of dimensions, the batch, the shape of output or the pair of data types is not as
 *                    stated above; the on-chip data type of input is not listed above
 *   NOT_INITIALIZED  fft_plan is null
 *   NOT_SUPPORTED    rank is 3; a length exceeds 2^26; with half precision, n[rank - 1] is not a power of two
 *   ALLOC_FAILED     out of memory
 * The plan and the sizes are then unchanged.
 *
 * MLU-OPS refuses real transforms, and transforms of rank 2, whose lengths have large prime factors.
 *
 * Definition: MLU-OPS header, mluOpMakeFFTPlanMany. */
mluOpStatus_t MLUOP_WIN_API mluOpMakeFFTPlanMany(mluOpHandle_t handle, mluOpFFTPlan_t fft_plan,
                                                 const mluOpTensorDescriptor_t input_desc,
                                                 const mluOpTensorDescriptor_t output_desc, const int rank,
                                                 const int n[], size_t* reservespace_size, size_t* workspace_size);

/* Declares that the caller has allocated the reserve area of a plan. The area is neither read nor written.
 * Returns BAD_PARAM if an argument is null or the plan is not made. */
mluOpStatus_t MLUOP_WIN_API mluOpSetFFTReserveArea(mluOpHandle_t handle, mluOpFFTPlan_t fft_plan,
                                                   void* reservespace);

/* Fourier transform (FFT) of one or two dimensions, of each item of a batch, as fft_plan describes.
 *
 *   rank 1:  output[b,k] = scale_factor * sum over j < n[0] of input[b,j] * exp(-+ 2 pi i j k / n[0])
 *   rank 2:  the same along both dimensions
 *   The exponent is negative (forward) for direction 0, positive (backward) for any other. Real to complex is
 *   always forward, complex to real always backward. Nothing is divided by n: forward and backward give n times
 *   the input. Complex to real takes the other half of the spectrum as the conjugate of the first; the imaginary
 *   parts at 0 and, for even n, at n / 2 have no effect: with rank 2, of the spectra after the transform along
 *   the first dimension.
 *
 * Tensors: input and output have the descriptors of the plan, with any layout and strides. Elements of output must
 *   lie at distinct places; memory between them is not changed. The call writes every element of output; the
 *   caller need not initialize it.
 * In place: input and output may be equal if the items of the batch of output are at most as far apart as the
 *   items of input; for complex to real, at least as far. Distances count real numbers: a complex number is two.
 *   The call copies the input to memory of the handle.
 * Empty: with a batch of 0, nothing is read or written, and data may be null. An input without elements counts as
 *   zeros.
 * NaN and infinity: if an item of the batch contains NaN or infinity that the transform reads, all numbers of its
 *   result are NaN; other items are unaffected.
 * Determinism: computed in double and rounded once, to nearest even: the same bits at every thread count, in every
 *   run and at every place in the batch. The error is below 1 unit in the last place of the largest result of the
 *   transform; a number that is 0 by cancellation may become about 1e-16 times the largest result. Another C
 *   library or compiler may change the last bit.
 * Algorithm: native in both settings of mluOpOmpSetAlgorithm. Lengths without prime factors above 5 use KissFFT,
 *   other lengths Bluestein's algorithm: time O(n log n) for every length.
 * Memory: `workspace`, at any address, of the size that mluOpMakeFFTPlanMany wrote; null if it is 0.
 *
 * Returns, in addition to the statuses of every operator:
 *   BAD_PARAM      fft_plan is null, is not made or has no reserve area; scale_factor is not finite; input and
 *                  output are equal and the items of the batch too close; workspace is null although its size is
 *                  not 0
 *   NOT_SUPPORTED  input or output has 2^31 elements or more; output has strides that do not nest as the strides
 *                  of a part of a contiguous tensor do
 *
 * MLU-OPS also works in place where the items are too close, and does not trim two-dimensional inputs.
 *
 * Definition: MLU-OPS header, mluOpExecFFT; FFTW manual, "What FFTW really computes". */
mluOpStatus_t MLUOP_WIN_API mluOpExecFFT(mluOpHandle_t handle, const mluOpFFTPlan_t fft_plan, const void* input,
                                         const float scale_factor, void* workspace, void* output, int direction);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* MLU_OP_H_ */
