#include "case/npy.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "case/files.h"
#include "case/values.h"

namespace mluop::cases {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
// Magic, version, and the length of the dictionary: two bytes, or four from version 2.0 on.
constexpr size_t kPrefixBytes = 10, kLongPrefixBytes = 12, kAlignment = 64;

struct Header {
  std::string type;
  bool fortran_order;
  Dims shape;
};

// Reads the dictionary, a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const Place& place) : rest_(text), place_(place) {}

  Header parse() {
    std::optional<std::string> type;
    std::optional<bool> fortran_order;
    std::optional<Dims> shape;
    std::set<std::string> keys;
    expect('{');
    while (!take('}')) {
      const std::string key = text();
      if (!keys.insert(key).second) invalid("the key '" + key + "' occurs twice");
      expect(':');
      if (key == "descr") {
        type = element_type();
      } else if (key == "fortran_order") {
        fortran_order = boolean();
      } else if (key == "shape") {
        shape = tuple();
      } else {
        invalid("unknown key '" + key + "'");
      }
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (!rest_.empty()) invalid("text past its end");
    if (!type || !fortran_order || !shape) invalid("expected descr, fortran_order and shape");
    return {*type, *fortran_order, *shape};
  }

 private:
  [[noreturn]] void invalid(const std::string& text) const { fail(place_, "invalid header of .npy: " + text); }

  void skip_spaces() {
    const size_t begin = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(begin == rest_.npos ? rest_.size() : begin);
  }

  bool take(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool take(char c) { return take(std::string_view(&c, 1)); }

  void expect(char c) {
    if (!take(c)) invalid(std::string("expected ") + c + " before '" + std::string(rest_.substr(0, 16)) + '\'');
  }

  std::string text() {
    const char quote = take('"') ? '"' : '\'';
    if (quote == '\'') expect(quote);
    const size_t end = rest_.find(quote);
    if (end == rest_.npos) invalid("a text does not end");
    const std::string result(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return result;
  }

  std::string element_type() {
    if (take('[') || take('{') || take('(')) fail(place_, "has a structured type, expected numbers");
    return text();
  }

  bool boolean() {
    if (take("True")) return true;
    if (!take("False")) invalid("expected True or False for fortran_order");
    return false;
  }

  Dims tuple() {
    Dims dims;
    expect('(');
    while (!take(')')) {
      skip_spaces();
      int64_t extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) invalid("expected a tuple of integers, 0 or more, for shape");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      take('L');  // suffix of Python 2
      dims.push_back(extent);
      if (take(',')) continue;
      expect(')');
      break;
    }
    return dims;
  }

  std::string_view rest_;
  const Place& place_;
};

mluOpDataType_t dtype_of(const std::string& type, const Place& place) {
  const std::string_view kind = std::string_view(type).substr(std::min<size_t>(type.size(), 1));
  if (kind.starts_with('O')) fail(place, "holds Python objects, expected numbers");
  if (type.starts_with('>') && kind.size() > 1 && kind[1] != '1') {
    fail(place, "holds big-endian elements, '" + type + "', expected '<" + std::string(kind) + "': array.astype");
  }
  for (const mluOpDataType_t dtype :
       {MLUOP_DTYPE_HALF, MLUOP_DTYPE_BFLOAT16, MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_DOUBLE, MLUOP_DTYPE_INT8,
        MLUOP_DTYPE_INT16, MLUOP_DTYPE_INT32, MLUOP_DTYPE_INT64, MLUOP_DTYPE_UINT8, MLUOP_DTYPE_UINT16,
        MLUOP_DTYPE_UINT32, MLUOP_DTYPE_UINT64, MLUOP_DTYPE_BOOL, MLUOP_DTYPE_COMPLEX_HALF,
        MLUOP_DTYPE_COMPLEX_FLOAT}) {
    if (npy_type(dtype).substr(1) == kind) return dtype;
  }
  fail(place, "holds elements of type '" + type + "', expected numbers of at most 8 bytes");
}

// Reads exactly the size of `to`.
template <class Bytes>
void read(std::ifstream& in, Bytes& to, const Place& place) {
  in.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
  if (!in || in.gcount() != static_cast<std::streamsize>(to.size())) fail(place, "is truncated");
}

size_t number(std::string_view bytes) {
  size_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value * 256 + static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

}  // namespace

std::string npy_type(char kind, size_t size) { return (size == 1 ? '|' : '<') + (kind + std::to_string(size)); }

std::string npy_type(mluOpDataType_t dtype) {
  const size_t size = element_size(dtype);
  switch (dtype) {
    case MLUOP_DTYPE_BOOL: return npy_type('b', size);
    case MLUOP_DTYPE_BFLOAT16: return npy_type('V', size);  // as numpy.save writes the arrays of ml_dtypes
    case MLUOP_DTYPE_COMPLEX_HALF: return npy_type('V', size);
    case MLUOP_DTYPE_COMPLEX_FLOAT: return npy_type('c', size);
    case MLUOP_DTYPE_HALF:
    case MLUOP_DTYPE_FLOAT:
    case MLUOP_DTYPE_DOUBLE: return npy_type('f', size);
    case MLUOP_DTYPE_INT8:
    case MLUOP_DTYPE_INT16:
    case MLUOP_DTYPE_INT32:
    case MLUOP_DTYPE_INT64: return npy_type('i', size);
    default: return npy_type('u', size);
  }
}

std::string npy_header(std::string_view type, const Dims& shape) {
  std::string text = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (";
  for (const int64_t extent : shape) text += std::to_string(extent) + ',';
  text += ")}";
  while ((kPrefixBytes + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  const std::string length = {static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return std::string(kMagic) + std::string("\x01\x00", 2) + length + text;
}

NpyArray read_npy(const std::string& file) {
  const Place place{file};
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) fail(place, "is missing");
  if (!std::filesystem::is_regular_file(status)) fail(place, "is not a regular file");
  const uintmax_t file_bytes = std::filesystem::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) fail(place, "cannot be read");

  std::string prefix(kPrefixBytes, '\0');
  read(in, prefix, place);
  const char version = prefix[kMagic.size()];
  if (!prefix.starts_with(kMagic) || version < 1 || version > 3) fail(place, "is not a file of numpy.save");
  if (version > 1) {
    std::string more(kLongPrefixBytes - kPrefixBytes, '\0');
    read(in, more, place);
    prefix += more;
  }
  const size_t length = number(std::string_view(prefix).substr(kMagic.size() + 2));
  if (length > file_bytes) fail(place, "is truncated");
  std::string dictionary(length, '\0');
  read(in, dictionary, place);
  const Header header = HeaderParser(dictionary, place).parse();

  NpyArray array{header.type, dtype_of(header.type, place), header.shape, {}};
  if (header.fortran_order && array.dims.size() > 1) {
    fail(place, "is in Fortran order, expected C order: numpy.ascontiguousarray");
  }
  const size_t bytes = byte_count({.dtype = array.dtype, .dims = array.dims, .place = place});
  if (const uintmax_t found = file_bytes - prefix.size() - length; found != bytes) {
    fail(place, "has " + std::to_string(found) + " bytes of elements, expected " + std::to_string(bytes) +
                    " for '" + array.type + "' " + text_of(array.dims));
  }
  array.bytes.resize(bytes);
  read(in, array.bytes, place);
  return array;
}

void write_npy(const std::string& file, std::string_view type, const Dims& shape,
               std::span<const std::byte> bytes) {
  OutputFile out(file);
  out.write(npy_header(type, shape));
  out.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  out.close();
  out.commit();
}

}  // namespace mluop::cases
