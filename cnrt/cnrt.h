/*
 * cnrt.h: the functions of the accelerator's runtime (CNRT) that the published samples of MLU-OPS call, on a CPU.
 * This is the cnrt of mluop-omp: MLUOP_OMP_INSTALL_CNRT installs it where the SDK of the accelerator is missing.
 *
 * It has the names, types and values of CNRT 6: a program compiles with it and with the SDK. Valid C99 and C++11.
 *
 * Conventions that hold for every function
 *   - There is one device, 0. Its memory is the memory of the process: the address that cnrtMalloc() returns is a
 *     host pointer, as the functions of mlu_op.h require.
 *   - Every call is synchronous. A queue holds no work.
 *   - A failing call returns an error and leaves its outputs unchanged. No function prints, throws or ends the
 *     process, except cnrtCheck().
 *   - Functions may be called from several threads.
 *   - A function that creates an object returns cnrtErrorSysNoMem if there is no memory for it.
 *   - Functions reject invalid and destroyed handles, and addresses that are not allocated. Exceptions: cnrtMemcpy
 *     and cnrtMemset accept any address of the process.
 */
#ifndef MLUOP_OMP_CNRT_H_
#define MLUOP_OMP_CNRT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Status of a call; the values of CNRT that the functions below return. */
typedef enum {
  cnrtSuccess = 0,                         /* the call succeeded */
  cnrtErrorDeviceInvalid = 100005,         /* the ordinal of a device is not 0 */
  cnrtErrorArgsInvalid = 100006,           /* a null argument, or an address that cnrtMalloc did not return */
  cnrtErrorSysNoMem = 100010,              /* no memory for the object of a handle */
  cnrtErrorInvalidResourceHandle = 100014, /* not a queue or notifier, or one that is destroyed */
  cnrtErrorIllegalState = 100015,          /* a notifier that has not been placed */
  cnrtErrorNoMem = 100100,                 /* no memory for cnrtMalloc */
  cnrtErrorMemcpyDirectionInvalid = 632013 /* not an enumerator of cnrtMemTransDir_t */
} cnrtRet_t;

/* Direction of a copy. It has no effect: host and device share their memory. */
typedef enum {
  cnrtMemcpyHostToDev = 0,
  cnrtMemcpyDevToDev = 1,
  cnrtMemcpyDevToHost = 2,
  cnrtMemcpyHostToHost = 3,
  cnrtMemcpyPeerToPeer = 4,
  cnrtMemcpyNoDirection = 5
} cnrtMemTransDir_t;

/* A queue: a handle for mluOpSetQueue(). The null pointer is the default queue. */
typedef struct CNqueue_st* cnrtQueue_t;

/* A notifier: holds the time at which it was placed. */
typedef struct CNnotifier_st* cnrtNotifier_t;

/* Writes 1, the number of devices.
 * Returns cnrtSuccess, or cnrtErrorArgsInvalid if count is null. */
cnrtRet_t cnrtGetDeviceCount(unsigned int* count);

/* Writes 0, the ordinal of the current device.
 * Returns cnrtSuccess, or cnrtErrorArgsInvalid if ordinal is null. */
cnrtRet_t cnrtGetDevice(int* ordinal);

/* Selects the device. Returns cnrtSuccess, or cnrtErrorDeviceInvalid if ordinal is not 0. */
cnrtRet_t cnrtSetDevice(int ordinal);

/* Creates a queue. Returns cnrtSuccess, or cnrtErrorArgsInvalid if queue is null. */
cnrtRet_t cnrtQueueCreate(cnrtQueue_t* queue);

/* Destroys a queue.
 * Returns cnrtSuccess, or cnrtErrorInvalidResourceHandle if queue is null or not a queue. */
cnrtRet_t cnrtQueueDestroy(cnrtQueue_t queue);

/* Waits for the work of a queue. All work is already complete.
 * Returns cnrtSuccess, or cnrtErrorInvalidResourceHandle if queue is neither null nor a queue. */
cnrtRet_t cnrtQueueSync(cnrtQueue_t queue);

/* Allocates `bytes` bytes, aligned to 64 bytes, with unspecified contents. With 0 bytes, the address is not null
 * and differs from the address of every other allocation.
 * Returns cnrtSuccess; cnrtErrorArgsInvalid if ptr is null; cnrtErrorNoMem or cnrtErrorSysNoMem if out of
 * memory. */
cnrtRet_t cnrtMalloc(void** ptr, size_t bytes);

/* Frees memory of cnrtMalloc(). A null pointer is ignored.
 * Returns cnrtSuccess, or cnrtErrorArgsInvalid if cnrtMalloc() did not return ptr, or ptr is freed already. */
cnrtRet_t cnrtFree(void* ptr);

/* Copies `bytes` bytes from src to dst; the two may overlap.
 * Returns cnrtSuccess; cnrtErrorMemcpyDirectionInvalid if dir is not an enumerator; cnrtErrorArgsInvalid if bytes
 * is not 0 and dst or src is null. */
cnrtRet_t cnrtMemcpy(void* dst, void* src, size_t bytes, cnrtMemTransDir_t dir);

/* Sets `bytes` bytes at ptr to the lowest byte of value.
 * Returns cnrtSuccess, or cnrtErrorArgsInvalid if bytes is not 0 and ptr is null. */
cnrtRet_t cnrtMemset(void* ptr, int value, size_t bytes);

/* Creates a notifier. Returns cnrtSuccess, or cnrtErrorArgsInvalid if notifier is null. */
cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t* notifier);

/* Destroys a notifier.
 * Returns cnrtSuccess, or cnrtErrorInvalidResourceHandle if notifier is null or not a notifier. */
cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t notifier);

/* Stores the present time of a monotonic clock in the notifier: all earlier work of the queue is complete.
 * Placing a notifier again replaces its time.
 * Returns cnrtSuccess, or cnrtErrorInvalidResourceHandle if notifier is not a notifier, or queue is neither null
 * nor a queue. */
cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue);

/* Writes the time from start to end in microseconds; negative if end was placed first.
 * Returns cnrtSuccess; cnrtErrorArgsInvalid if us is null; cnrtErrorInvalidResourceHandle if start or end is not a
 * notifier; cnrtErrorIllegalState if one of them has not been placed. */
cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end, float* us);

/* If result is not cnrtSuccess, prints call, result, file and line to stderr, and ends the process by exit(1). */
void cnrtCheck(cnrtRet_t result, const char* call, const char* file, int line);

/* Evaluates a call of a function above once, and passes its result to cnrtCheck(). */
#define CNRT_CHECK(call) cnrtCheck((call), #call, __FILE__, __LINE__)

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* MLUOP_OMP_CNRT_H_ */
