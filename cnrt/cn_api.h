/*
 * cn_api.h: declares nothing. Programs include the driver's header beside cnrt.h; the published samples of MLU-OPS
 * call no function of the driver. Part of the cnrt of mluop-omp.
 */
#ifndef MLUOP_OMP_CN_API_H_
#define MLUOP_OMP_CN_API_H_
#endif /* MLUOP_OMP_CN_API_H_ */
