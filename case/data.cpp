#include "case/data.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include "case/read.h"
#include "case/values.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;

// The arithmetic of std::uniform_real_distribution, which requires ascending bounds.
template <class T>
double uniform(std::default_random_engine& engine, T lower, T upper) {
  return std::generate_canonical<T, std::numeric_limits<T>::digits>(engine) * (upper - lower) + lower;
}

template <class T, class Put>
void draw(const Random& random, int64_t count, const Put& put) {
  std::default_random_engine engine(static_cast<std::default_random_engine::result_type>(random.seed));
  if (random.distribution == Distribution::kGaussian) {
    std::normal_distribution<T> normal(static_cast<T>(random.mu), static_cast<T>(random.sigma));
    for (int64_t i = 0; i < count; ++i) put(i, double{normal(engine)});
    return;
  }
  const auto lower = static_cast<T>(random.lower);
  const T upper = std::nexttoward(static_cast<T>(random.upper), -std::numeric_limits<long double>::infinity());
  for (int64_t i = 0; i < count; ++i) put(i, uniform(engine, lower, upper));
}

std::string resolved(const Tensor& tensor, const Elements& elements, const std::string& folder) {
  const std::string path = (fs::path(folder) / elements.path).string();
  if (fs::is_regular_file(path)) return path;
  const std::string compressed = ".zst";
  if (path.ends_with(compressed)) {
    const std::string plain = path.substr(0, path.size() - compressed.size());
    if (fs::is_regular_file(plain)) return plain;
  } else if (fs::is_regular_file(path + compressed)) {
    fail(elements.place, path + " is missing; decompress " + path + compressed + " with zstd -d");
  }
  fail(elements.place, "file " + path + " of tensor " + tensor.id + " is missing");
}

}  // namespace

Bytes random_elements(const Random& random, mluOpDataType_t dtype, int64_t count) {
  Bytes bytes(static_cast<size_t>(count) * element_size(dtype));
  const auto put = [&](int64_t i, double number) {
    put_bits(bytes.data(), dtype, static_cast<size_t>(i), bits_of_number(dtype, number));
  };
  if (dtype == MLUOP_DTYPE_DOUBLE) {
    draw<double>(random, count, put);
  } else {
    draw<float>(random, count, put);
  }
  return bytes;
}

Bytes load(const Tensor& tensor, const Elements& elements, const std::string& folder) {
  const size_t bytes = byte_count(tensor);
  switch (elements.source) {
    case Elements::Source::kInline: return elements.bytes;
    case Elements::Source::kNone: return random_elements({}, tensor.dtype, element_count(tensor));
    case Elements::Source::kRandom: return random_elements(elements.random, tensor.dtype, element_count(tensor));
    case Elements::Source::kFile: break;
  }
  const std::string path = resolved(tensor, elements, folder);
  const uintmax_t size = fs::file_size(path);
  if (size != bytes) {
    fail(elements.place, path + " has " + std::to_string(size) + " bytes, expected " + std::to_string(bytes) +
                             " for " + std::string(dtype_name(tensor.dtype)) + ' ' + text_of(tensor.dims));
  }
  const std::string contents = read_file(path, elements.place);
  Bytes result(bytes);
  if (bytes > 0) std::memcpy(result.data(), contents.data(), bytes);
  return result;
}

}  // namespace mluop::cases
