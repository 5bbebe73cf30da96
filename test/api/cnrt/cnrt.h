/* Stands for the header of the accelerator's runtime. Its cnrtQueue_t differs from the type in mlu_op.h. */
#ifndef TEST_API_CNRT_CNRT_H_
#define TEST_API_CNRT_CNRT_H_

typedef struct testQueue* cnrtQueue_t;

#endif /* TEST_API_CNRT_CNRT_H_ */
