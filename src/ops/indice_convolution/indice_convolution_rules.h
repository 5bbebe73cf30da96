// Indice convolution: the rule shared by the operators beyond the rules for index pairs.
#pragma once

#include <cstdint>
#include <string_view>

namespace mluop::indice_convolution {

void check_filter_bytes(std::string_view name, int64_t bytes);

}  // namespace mluop::indice_convolution
