#include "case/data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <string_view>

#include "case/files.h"
#include "case/strides.h"
#include "case/values.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;

using Engine = std::minstd_rand0;  // libstdc++'s default_random_engine

// A number in [0, 1): the bits of libstdc++'s std::generate_canonical, which clang compiles to two calls of logl
// for each number.
template <class T>
T canonical_number(Engine& engine) {
  constexpr auto kRange = static_cast<T>(Engine::max() - Engine::min() + 1.0L);
  T sum = static_cast<T>(engine() - Engine::min());
  T range = kRange;
  if constexpr (std::numeric_limits<T>::digits > 31) {
    sum += static_cast<T>(engine() - Engine::min()) * kRange;
    range *= kRange;
  }
  return std::min(sum / range, std::nextafter(T{1}, T{0}));
}

// The arithmetic of std::uniform_real_distribution, which requires ascending bounds.
template <class T>
double uniform(Engine& engine, T lower, T upper) {
  return canonical_number<T>(engine) * (upper - lower) + lower;
}

template <class T, class Put>
void draw(const Random& random, int64_t count, const Put& put) {
  Engine engine(static_cast<Engine::result_type>(random.seed));
  if (random.distribution == Distribution::kGaussian) {
    std::normal_distribution<T> normal(static_cast<T>(random.mu), static_cast<T>(random.sigma));
    for (int64_t i = 0; i < count; ++i) put(i, double{normal(engine)});
    return;
  }
  const auto lower = static_cast<T>(random.lower);
  const T upper = std::nexttoward(static_cast<T>(random.upper), -std::numeric_limits<long double>::infinity());
  for (int64_t i = 0; i < count; ++i) put(i, uniform(engine, lower, upper));
}

constexpr std::string_view kCompressed = ".zst";

// The path without the extension of a compressed file.
std::string decompressed(const std::string& path) {
  return path.substr(0, path.size() - (path.ends_with(kCompressed) ? kCompressed.size() : 0));
}

// Whether the path is a regular file, not a folder, pipe or device. Throws Problem if the path cannot be followed.
bool is_file(const std::string& path, const Elements& elements) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (!fs::status_known(status)) fail(elements.place, "file " + path + ": " + error.message());
  if (!fs::is_regular_file(status)) fail(elements.place, path + " is not a regular file");
  return true;
}

std::string resolved(const Tensor& tensor, const Elements& elements, const std::string& folder) {
  const std::string path = (fs::path(folder) / elements.path).string(), plain = decompressed(path);
  if (is_file(path, elements)) return path;
  if (plain != path && is_file(plain, elements)) return plain;
  std::error_code ignored;
  const std::string compressed = path + std::string(kCompressed);
  if (plain == path && fs::is_regular_file(compressed, ignored)) {
    fail(elements.place, path + " is missing; decompress " + compressed + " with zstd -d");
  }
  fail(elements.place, "file " + path + " of tensor " + tensor.id + " is missing");
}

// Parts that do not exist are kept as written.
fs::path canonical(const fs::path& path, const Place& place) {
  std::error_code error;
  const fs::path result = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) fail(place, "file " + path.string() + ": " + error.message());
  return result;
}

void require_own_file(const Elements& elements, const std::string& folder) {
  if (elements.source != Elements::Source::kFile) return;
  const fs::path own = canonical(folder.empty() ? "." : folder, elements.place);
  const std::string path = (fs::path(folder) / elements.path).string();
  for (const std::string& each : {path, decompressed(path)}) {
    const fs::path file = canonical(each, elements.place);
    if (std::mismatch(own.begin(), own.end(), file.begin(), file.end()).first == own.end()) continue;
    fail(elements.place, "file " + elements.path + " is outside the folder of the case");
  }
}

Bytes load_packed(const Tensor& tensor, const Elements& elements, const std::string& folder) {
  const size_t bytes = byte_count(tensor);
  switch (elements.source) {
    case Elements::Source::kInline: return elements.bytes;
    case Elements::Source::kNone: return random_elements({}, tensor.dtype, element_count(tensor));
    case Elements::Source::kRandom: return random_elements(elements.random, tensor.dtype, element_count(tensor));
    case Elements::Source::kFile: break;
  }
  const std::string path = resolved(tensor, elements, folder);
  const auto require_size = [&](uintmax_t size) {
    if (size == bytes) return;
    fail(elements.place, path + " has " + std::to_string(size) + " bytes, expected " + std::to_string(bytes) +
                             " for " + std::string(dtype_name(tensor.dtype)) + ' ' + text_of(tensor.dims));
  };
  require_size(fs::file_size(path));
  Bytes contents = read_bytes(path, elements.place);
  // The file may have changed in between.
  require_size(contents.size());
  return contents;
}

}  // namespace

Bytes random_elements(const Random& random, mluOpDataType_t dtype, int64_t count) {
  Bytes bytes(static_cast<size_t>(count) * element_size(dtype));
  const auto put = [&](int64_t i, double number) {
    put_bits(bytes.data(), dtype, static_cast<size_t>(i), bits_of_number(dtype, number));
  };
  const int64_t numbers = count * static_cast<int64_t>(parts_of(dtype));
  if (dtype == MLUOP_DTYPE_DOUBLE) {
    draw<double>(random, numbers, put);
  } else {
    draw<float>(random, numbers, put);
  }
  return bytes;
}

Bytes load(const Tensor& tensor, const Elements& elements, const std::string& folder) {
  Bytes packed = load_packed(tensor, elements, folder);
  if (is_strided(tensor)) {
    const StridedMemory memory(tensor);
    Bytes strided(memory.bytes());
    memory.scatter(packed.data(), strided.data());
    memory.gather(strided.data(), packed.data());
  }
  return packed;
}

void require_own_files(const Case& the_case) {
  const std::string folder = fs::path(the_case.file).parent_path().string();
  for (const auto* list : {&the_case.inputs, &the_case.outputs}) {
    for (const Tensor& tensor : *list) {
      require_own_file(tensor.elements, folder);
      if (tensor.initial) require_own_file(*tensor.initial, folder);
      if (tensor.result) require_own_file(*tensor.result, folder);
    }
  }
}

}  // namespace mluop::cases
