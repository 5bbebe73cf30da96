#include "core/arena.h"

#include <algorithm>
#include <optional>
#include <span>

#include "core/boundary.h"
#include "core/sizes.h"
#include "core/tensor.h"
#include "core/text.h"

namespace mluop {
namespace {

constexpr auto kAlignment = static_cast<int64_t>(kScratchAlignment);

std::optional<int64_t> exact_bytes(std::span<const int64_t> shape, size_t element_bytes) {
  std::optional<int64_t> bytes = static_cast<int64_t>(element_bytes);
  for (const int64_t extent : shape) {
    if (bytes) bytes = checked_product(*bytes, extent);
  }
  return bytes;
}

// Rounds up to whole cache lines, so that buffers never share one.
std::optional<int64_t> rounded_bytes(std::optional<int64_t> bytes) {
  if (bytes) bytes = checked_sum(*bytes, kAlignment - 1);
  return bytes ? std::optional(*bytes / kAlignment * kAlignment) : bytes;
}

}  // namespace

std::byte* Arena::take_bytes(const char* name, std::initializer_list<int64_t> shape, size_t element_bytes) {
  const std::span<const int64_t> extents(shape.begin(), shape.size());
  const auto exact = exact_bytes(extents, element_bytes);
  const auto bytes = rounded_bytes(exact);
  if (!bytes || !checked_sum(*bytes, static_cast<int64_t>(used_))) {
    throw Failure(MLUOP_STATUS_BAD_PARAM, text("the size in bytes of scratch buffer ", name, " ",
                                               shape_text(extents), " exceeds 2^63 - 1"));
  }
  const auto size = static_cast<size_t>(*bytes);
  if (size > capacity_ - used_) {
    throw Failure(MLUOP_STATUS_INTERNAL_ERROR, text("scratch buffer ", name, " ", shape_text(extents), " takes ",
                                                    size, " bytes, ", capacity_ - used_, " are left"));
  }
  if (measures_) {
    used_ += size;
    return nullptr;
  }
  std::byte* const buffer = memory_ + used_ + used_gap_bytes_;
  used_ += size;
  if (size > 0 && used_gap_bytes_ < gap_bytes_) used_gap_bytes_ += kScratchAlignment;
  unpoison(buffer, static_cast<size_t>(*exact));
  return buffer;
}

Arena workspace_arena(void* workspace, size_t bytes) {
  const size_t misalignment = reinterpret_cast<uintptr_t>(workspace) % kScratchAlignment;
  const size_t skipped = std::min(misalignment == 0 ? 0 : kScratchAlignment - misalignment, bytes);
  return {static_cast<std::byte*>(workspace) + skipped, bytes - skipped};
}

}  // namespace mluop
