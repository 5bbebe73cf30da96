#include "ops/indice_convolution/indice_convolution_rules.h"

#include "core/checks.h"

namespace mluop::indice_convolution {
namespace {

constexpr int64_t kFilterBytesLimit = int64_t{1} << 56;

}  // namespace

void check_filter_bytes(std::string_view name, int64_t bytes) {
  require(bytes < kFilterBytesLimit, MLUOP_STATUS_BAD_PARAM, name, " has ", bytes,
          " bytes, expected fewer than 2^56");
}

}  // namespace mluop::indice_convolution
