// NpyFolder, against https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
#include "perf/support/npy_folder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

#include "support/temporary_folder.h"

namespace mluop::perf {
namespace {

struct Array {
  std::string dtype, shape, bytes;
};

// Version 1.0: magic, version, the header's length in two bytes, the header, the bytes of the array.
Array read_npy(const std::filesystem::path& path) {
  constexpr size_t kPrefixBytes = 10, kAlignment = 64;
  std::ifstream stream(path, std::ios::binary);
  const std::string file(std::istreambuf_iterator<char>(stream), {});
  if (file.size() < kPrefixBytes || file.compare(0, 8, "\x93NUMPY\x01\x00", 8) != 0) {
    throw std::runtime_error("no magic");
  }
  const size_t length = static_cast<unsigned char>(file[8]) + static_cast<unsigned char>(file[9]) * size_t{256};
  if ((kPrefixBytes + length) % kAlignment != 0) throw std::runtime_error("unaligned header");
  const std::string header = file.substr(kPrefixBytes, length);
  const std::regex dictionary(R"(\{'descr': '(.*)', 'fortran_order': False, 'shape': \((.*)\)\} *\n)");
  std::smatch parts;
  if (!std::regex_match(header, parts, dictionary)) throw std::runtime_error("header is " + header);
  return {parts[1], parts[2], file.substr(kPrefixBytes + length)};
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
void expect_round_trip(const std::string& dtype, const std::string& shape_text, const std::vector<int64_t>& shape,
                       const std::vector<T>& values) {
  SCOPED_TRACE(dtype + " (" + shape_text + ')');
  const test::TemporaryFolder folder;
  NpyFolder(folder.path()).write("name", shape, std::span(values));
  const Array array = read_npy(folder.path() / "name.npy");
  EXPECT_EQ(array.dtype, dtype);
  EXPECT_EQ(array.shape, shape_text);
  EXPECT_EQ(array.bytes, bytes_of(values));
}

TEST(PerfNpyFolder, RoundTrip) {
  expect_round_trip<float>("<f4", "2,3,", {2, 3}, {0.5F, -1, 2e30F, 3, 4, 5});
  expect_round_trip<test::Half>("<f2", "1,1,2,", {1, 1, 2}, {{0x3C00}, {0xFBFF}});
  expect_round_trip<int32_t>("<i4", "3,", {3}, {-1, 0x01020304, 10});
  expect_round_trip<uint32_t>("<u4", "1,", {1}, {0xFFC0FFEE});
  expect_round_trip<uint16_t>("<u2", "2,", {2}, {0x0D0A, 0x1A00});
  expect_round_trip<int64_t>("<i8", "1,1,", {1, 1}, {-5000000000});
}

TEST(PerfNpyFolder, NoElementsAndNoDimensions) {
  expect_round_trip<float>("<f4", "4,0,", {4, 0}, {});
  expect_round_trip<float>("<f4", "", {}, {7});
}

// Headers of all lengths modulo the alignment, and of more than 255 bytes.
TEST(PerfNpyFolder, LengthsOfTheHeader) {
  std::string text;
  for (std::vector<int64_t> shape; shape.size() < 140; shape.push_back(1), text += "1,") {
    expect_round_trip<float>("<f4", text, shape, {7});
  }
}

TEST(PerfNpyFolder, Numbers) {
  const test::TemporaryFolder folder;
  NpyFolder(folder.path()).write("kernel", {3, -1});
  const Array array = read_npy(folder.path() / "kernel.npy");
  EXPECT_EQ(array.dtype, "<i8");
  EXPECT_EQ(array.shape, "2,");
  EXPECT_EQ(array.bytes, bytes_of<int64_t>({3, -1}));
}

TEST(PerfNpyFolder, CreatesFoldersAndReplacesFiles) {
  const test::TemporaryFolder folder;
  const std::filesystem::path deep = folder.path() / "operator" / "case_float";
  NpyFolder(deep).write("M", {1, 2, 3});
  NpyFolder(deep).write("M", {4});
  EXPECT_EQ(read_npy(deep / "M.npy").bytes, bytes_of<int64_t>({4}));
}

TEST(PerfNpyFolder, ThrowsIfItCannotWrite) {
  const test::TemporaryFolder folder;
  const NpyFolder writer(folder.path());
  EXPECT_THROW(writer.write("no/such/folder", {1}), std::runtime_error);
  writer.write("file", {1});
  EXPECT_THROW(NpyFolder(folder.path() / "file.npy"), std::runtime_error);
  EXPECT_THROW(NpyFolder(folder.path() / "file.npy" / "below"), std::runtime_error);
}

}  // namespace
}  // namespace mluop::perf
