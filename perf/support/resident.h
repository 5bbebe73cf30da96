// Resident memory of the process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace mluop::perf {

// Returns by how many bytes the peak of resident memory during `run` exceeds the resident memory before it.
// Releases unused memory of the allocator first. The error is a few hundred KiB. Returns nothing without Linux's
// /proc.
std::optional<int64_t> resident_growth(const std::function<void()>& run);

}  // namespace mluop::perf
