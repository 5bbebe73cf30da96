#include "core/adamw.h"

#include <cstdint>
#include <cstring>

#include "core/checks.h"
#include "core/descriptor.h"

namespace mluop {
namespace {

// The value of an attribute of type T, at any address.
template <class T>
T read_attribute(const void* buf, size_t size_in_bytes) {
  require_not_null("buf", buf);
  require(size_in_bytes == sizeof(T), MLUOP_STATUS_BAD_PARAM, "size_in_bytes is ", size_in_bytes, ", expected ",
          sizeof(T));
  T value{};
  std::memcpy(&value, buf, sizeof(T));
  return value;
}

bool read_flag(const void* buf, size_t size_in_bytes) {
  static_assert(sizeof(bool) == sizeof(uint8_t));
  const int flag = read_attribute<uint8_t>(buf, size_in_bytes);
  require_flag("the value at buf", flag);
  return flag != 0;
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API mluOpCreateAdamWDescriptor(mluOpAdamWDescriptor_t* adamw_desc) {
  return mluop::create_descriptor("mluOpCreateAdamWDescriptor", "adamw_desc", adamw_desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyAdamWDescriptor(mluOpAdamWDescriptor_t adamw_desc) {
  return mluop::destroy_descriptor("mluOpDestroyAdamWDescriptor", "adamw_desc", adamw_desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetAdamWDescAttr(mluOpAdamWDescriptor_t adamw_desc,
                                                  mluOpAdamWDescAttribute_t attr, const void* buf,
                                                  const size_t size_in_bytes) {
  using namespace mluop;
  return run_guarded("mluOpSetAdamWDescAttr", [&] {
    require_not_null("adamw_desc", adamw_desc);
    switch (attr) {
      case MLUOP_ADAMW_WEIGHT_DECAY: adamw_desc->weight_decay = read_attribute<float>(buf, size_in_bytes); return;
      case MLUOP_ADAMW_GRAD_SCALE: adamw_desc->grad_scale = read_attribute<float>(buf, size_in_bytes); return;
      case MLUOP_ADAMW_USE_NESTEROV: adamw_desc->use_nesterov = read_flag(buf, size_in_bytes); return;
      case MLUOP_ADAMW_NEED_REMOVE_NAN: adamw_desc->need_remove_nan = read_flag(buf, size_in_bytes); return;
    }
    throw Failure(MLUOP_STATUS_BAD_PARAM, text("attr is ", static_cast<int>(attr), ", expected 0 to 3"));
  });
}
