// Reads cases. Only read.cpp, write.cpp and text_parser use protobuf.
#pragma once

#include <filesystem>
#include <string>

#include "case/model.h"

namespace mluop::cases {

enum class Format { kText, kBinary };

// Binary for files whose name ends in .pb, else text.
Format format_of(const std::string& file);

// Throw Problem: of a text with line and field of the first error. Elements of files and random elements are not
// read or drawn, and no shape is trusted: memory is proportional to the contents.
Case parse_case(const std::string& contents, Format format, const std::string& file);
Case read_case(const std::string& file);

// The canonical folder of an existing file.
std::filesystem::path folder_of(const std::string& file);

}  // namespace mluop::cases
