// Reads cases. Only read.cpp, write.cpp and text_parser use protobuf.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "case/operators.h"

namespace mluop::cases {

enum class Format { kText, kBinary };

// Binary if the name of the file ends in .pb, otherwise text.
Format format_of(const std::string& file);

// Throw Problem; for a text, with line and field of the first error. Files and random elements are not read or
// drawn, and shapes are not trusted: memory is proportional to the contents.
Case parse_case(const std::string& contents, Format format, const std::string& file);
// Also reads case.json of a folder, with the elements of its files.
Case read_case(const std::string& file);

// The parameters of an operator from texts: numbers, names of enumerators, or for lists any number of them. Other
// parameters have the defaults of the schema. Throws Problem that names the parameter.
Parameters parse_parameters(const Operator& op, const std::map<std::string, std::vector<std::string>>& texts,
                            const Place& place);

// The canonical folder of an existing file.
std::filesystem::path folder_of(const std::string& file);

}  // namespace mluop::cases
