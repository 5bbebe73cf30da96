// NpyFolder, against https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
#include "perf/support/npy_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "support/element.h"
#include "support/temporary_folder.h"

namespace mluop::perf {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Version 1.0: magic, version, the header's length in two bytes, the header, the bytes of the array.
void expect_array(const std::filesystem::path& path, const std::string& dtype, const std::string& shape,
                  const std::string& bytes) {
  SCOPED_TRACE(dtype + " (" + shape + ')');
  constexpr size_t kPrefixBytes = 10, kAlignment = 64;
  std::ifstream stream(path, std::ios::binary);
  const std::string file(std::istreambuf_iterator<char>(stream), {});
  ASSERT_GE(file.size(), kPrefixBytes);
  EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t length = static_cast<unsigned char>(file[8]) + static_cast<unsigned char>(file[9]) * size_t{256};
  EXPECT_EQ((kPrefixBytes + length) % kAlignment, 0U);
  const std::string text = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" + shape + ")}";
  ASSERT_LT(text.size(), length);
  EXPECT_EQ(file.substr(kPrefixBytes), text + std::string(length - text.size() - 1, ' ') + '\n' + bytes);
}

template <class T>
void expect_round_trip(const std::string& dtype, const std::string& shape_text, const std::vector<int64_t>& shape,
                       const std::vector<T>& values) {
  const test::TemporaryFolder folder;
  NpyFolder(folder.path()).write("name", shape, std::span(values));
  expect_array(folder.path() / "name.npy", dtype, shape_text, bytes_of(values));
}

TEST(PerfNpyFolder, RoundTrip) {
  expect_round_trip<float>("<f4", "2,3,", {2, 3}, {0.5F, -1, 2e30F, 3, 4, 5});
  expect_round_trip<test::Half>("<f2", "1,1,2,", {1, 1, 2}, {{0x3C00}, {0xFBFF}});
  expect_round_trip<int32_t>("<i4", "3,", {3}, {-1, 0x01020304, 10});
  expect_round_trip<uint32_t>("<u4", "1,", {1}, {0xFFC0FFEE});
  expect_round_trip<uint16_t>("<u2", "2,", {2}, {0x0D0A, 0x1A00});
  expect_round_trip<int64_t>("<i8", "1,1,", {1, 1}, {-5000000000});
  expect_round_trip<float>("<f4", "4,0,", {4, 0}, {});
  expect_round_trip<float>("<f4", "", {}, {7});
  // Headers of all lengths modulo the alignment, and of more than 255 bytes.
  std::string text;
  for (std::vector<int64_t> shape; shape.size() < 140; shape.push_back(1), text += "1,") {
    expect_round_trip<float>("<f4", text, shape, {7});
  }
}

TEST(PerfNpyFolder, CreatesFoldersAndReplacesFiles) {
  const test::TemporaryFolder folder;
  const std::filesystem::path deep = folder.path() / "operator" / "case_float";
  NpyFolder(deep).write("M", {1, 2, 3});
  NpyFolder(deep).write("M", {4, -1});
  expect_array(deep / "M.npy", "<i8", "2,", bytes_of<int64_t>({4, -1}));
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
