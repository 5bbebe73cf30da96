// Memory that a call makes the process hold.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace mluop::perf {

// Bytes by which the resident memory of the process at the peak of `run` exceeds what it is before; what the
// allocator holds in reserve is released first. A few hundred KiB of error; nothing where Linux does not tell.
std::optional<int64_t> resident_growth(const std::function<void()>& run);

}  // namespace mluop::perf
