/* Loads the library of the first argument, runs an operator on several threads and unloads the library, 100 times.
 */
#include <dlfcn.h>
#include <mlu_op.h>
#include <stdio.h>
#include <string.h>

enum { kPoints = 20000, kChannels = 2, kRounds = 100 };

static int geom_xyz[kPoints * 3], pos_memo[kPoints * 3];
static float features[kPoints * kChannels], output[kChannels];

/* ISO C has no conversion of an object pointer to a function pointer. */
static void find(void* library, const char* name, void* function) {
  void* const symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof(symbol));
}

static int run(const char* path) {
  mluOpStatus_t (*create)(mluOpHandle_t*);
  mluOpStatus_t (*destroy)(mluOpHandle_t);
  mluOpStatus_t (*create_desc)(mluOpTensorDescriptor_t*);
  mluOpStatus_t (*destroy_desc)(mluOpTensorDescriptor_t);
  mluOpStatus_t (*set_desc)(mluOpTensorDescriptor_t, mluOpTensorLayout_t, mluOpDataType_t, int, const int[]);
  mluOpStatus_t (*pool)(mluOpHandle_t, const int, const int, const int, const int, const int, const int,
                        const mluOpTensorDescriptor_t, const void*, const mluOpTensorDescriptor_t, const void*,
                        const mluOpTensorDescriptor_t, void*, const mluOpTensorDescriptor_t, void*);
  const int geom_dims[] = {1, kPoints, 3}, feature_dims[] = {1, kPoints, kChannels},
            output_dims[] = {1, 1, 1, kChannels};
  mluOpHandle_t handle;
  mluOpTensorDescriptor_t desc[3];
  int failures = 0, i;
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  find(library, "mluOpCreate", &create);
  find(library, "mluOpDestroy", &destroy);
  find(library, "mluOpCreateTensorDescriptor", &create_desc);
  find(library, "mluOpDestroyTensorDescriptor", &destroy_desc);
  find(library, "mluOpSetTensorDescriptor", &set_desc);
  find(library, "mluOpVoxelPoolingForward", &pool);
  failures += create(&handle) != MLUOP_STATUS_SUCCESS;
  for (i = 0; i < 3; ++i) failures += create_desc(&desc[i]) != MLUOP_STATUS_SUCCESS;
  set_desc(desc[0], MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, 3, geom_dims);
  set_desc(desc[1], MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 3, feature_dims);
  set_desc(desc[2], MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, 4, output_dims);
  output[0] = output[1] = -1;
  failures += pool(handle, 1, kPoints, kChannels, 1, 1, 1, desc[0], geom_xyz, desc[1], features, desc[2], output,
                   desc[0], pos_memo) != MLUOP_STATUS_SUCCESS;
  failures += output[0] != kPoints || output[1] != 2 * kPoints;
  for (i = 0; i < 3; ++i) destroy_desc(desc[i]);
  destroy(handle);
  failures += dlclose(library);
  return failures;
}

int main(int argc, char** argv) {
  int i;
  if (argc != 2) return 2;
  for (i = 0; i < kPoints; ++i) {
    features[i * kChannels] = 1;
    features[i * kChannels + 1] = 2;
  }
  for (i = 0; i < kRounds; ++i) {
    if (run(argv[1]) != 0) {
      fprintf(stderr, "round %d failed\n", i);
      return 1;
    }
  }
  return 0;
}
