// Arrays in NumPy's format .npy: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "case/model.h"

namespace mluop::cases {

// The type of little-endian elements, as the format writes it: "<f4", "|i1". kind: f floating-point, c complex,
// i integer, u unsigned, b Boolean, V bytes.
std::string npy_type(char kind, size_t size);
// NumPy has neither bfloat16 nor complex numbers of halves: they are bytes, "<V2" and "<V4".
std::string npy_type(mluOpDataType_t dtype);

// The header before the elements of a row-major array, in version 1.0 of the format.
std::string npy_header(std::string_view type, const Dims& shape);

struct NpyArray {
  std::string type;
  mluOpDataType_t dtype;
  Dims dims;
  Bytes bytes;
};

// Reads a row-major array of little-endian numbers. "<V2", which ml_dtypes writes, is bfloat16; "<V4" is a complex
// number of halves. Throws Problem if the file contains anything else, or has another size than its header states.
NpyArray read_npy(const std::string& file);

// Throws Problem if the file cannot be written.
void write_npy(const std::string& file, std::string_view type, const Dims& shape,
               std::span<const std::byte> bytes);

}  // namespace mluop::cases
