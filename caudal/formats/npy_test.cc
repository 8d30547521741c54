#include "caudal/formats/npy.h"

#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <string>

#include "caudal/formats/zip.h"

namespace caudal {
namespace {

using namespace std::string_literals;

Code code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

// A version 1 file with this header text.
std::string npy(const std::string& header, const std::string& data) {
  std::string out = "\x93NUMPY\x01\0"s;
  out += static_cast<char>(header.size() % 256);
  out += static_cast<char>(header.size() / 256);
  return out + header + data;
}

TEST(Npy, BytesOfNumPy) {
  // numpy 2.1: numpy.save(file, numpy.array([[1, 2, 3]], "int16"))
  const std::string expected = "\x93NUMPY\x01\0\x76\0{'descr': '<i2', 'fortran_order': False, 'shape': (1, 3), }"s +
                               std::string(58, ' ') + "\n\x01\0\x02\0\x03\0"s;
  EXPECT_EQ(npy_bytes(Tensor::from<int16_t>({1, 3}, {1, 2, 3})), expected);
}

TEST(Npy, RoundTripsEveryType) {
  const Tensor tensors[] = {
      Tensor::from<bool>({3}, {true, false, true}),
      Tensor::from<int8_t>({2}, {-128, 127}),
      Tensor::from<uint8_t>({2, 1}, {0, 255}),
      Tensor::from<int16_t>({1}, {-5}),
      Tensor::from<uint16_t>({1}, {65535}),
      Tensor::from<int32_t>({2, 2}, {1, 2, 3, INT32_MIN}),
      Tensor::from<uint32_t>({1}, {UINT32_MAX}),
      Tensor::from<int64_t>({}, {INT64_MIN}),
      Tensor::from<uint64_t>({1}, {UINT64_MAX}),
      Tensor::from<float>({2, 0, 3}, {}),
      Tensor::from<double>({1}, {1e300}),
      Tensor::from<std::complex<float>>({1}, {{1, -2}}),
      Tensor::from<std::complex<double>>({1}, {{1e300, -2}}),
      Tensor::from<std::string>({2, 2}, {"", "a", "long text", "b"}),
  };
  for (const Tensor& tensor : tensors)
    EXPECT_TRUE(identical(parse_npy(npy_bytes(tensor)), tensor)) << tensor.describe();
  Tensor half(float16, {1}), bfloat(bfloat16, {1});
  half.data<Half>()[0] = Half(1.5f);
  bfloat.data<BFloat16>()[0] = BFloat16(-2.5f);
  EXPECT_TRUE(identical(parse_npy(npy_bytes(half)), half));
  EXPECT_TRUE(identical(parse_npy(npy_bytes(bfloat)), Tensor::from<float>({1}, {-2.5f})));
}

TEST(Npy, ForeignLayouts) {
  const std::string big = npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", "\0\0\1\0\0\0\0\2"s);
  EXPECT_TRUE(identical(parse_npy(big), Tensor::from<int32_t>({2}, {256, 2})));
  const std::string fortran = npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\1\4\2\5\3\6"s);
  EXPECT_TRUE(identical(parse_npy(fortran), Tensor::from<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6})));
  const std::string text =
      npy("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }", "\xe9\0\0\0\x2d\x4e\0\0\x61\0\0\0\0\0\0\0"s);
  EXPECT_TRUE(identical(parse_npy(text), Tensor::from<std::string>({2}, {"\xc3\xa9\xe4\xb8\xad", "a"})));
  const std::string python2 = npy("{'shape': (1L,), 'fortran_order': False, 'descr': '|b1'}", "\7"s);
  EXPECT_TRUE(identical(parse_npy(python2), Tensor::from<bool>({1}, {true}))) << "any byte but 0 is true";
}

TEST(Npy, RefusesBadFiles) {
  const std::string start = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  const struct {
    std::string bytes;
    Code code;
  } kCases[] = {
      {"", Code::kDataLoss},
      {"not numpy at all", Code::kDataLoss},
      {npy(start + "(4,), }", "123"), Code::kDataLoss},
      {npy(start + "(1000000000000,), }", "1234"), Code::kDataLoss},
      {npy(start + "(9223372036854775807, 9223372036854775807), }", "1234"), Code::kDataLoss},
      {npy(start + "(-1,), }", "1234"), Code::kDataLoss},
      {npy(start + "(1,), ", "1234"), Code::kDataLoss},
      {npy("{'descr': '<f4', 'shape': (1,), }", "1234"), Code::kDataLoss},
      {npy("{'descr': '|O', 'fortran_order': False, 'shape': (), }", ""), Code::kDataLoss},
      {npy("{'descr': '|O8', 'fortran_order': False, 'shape': (), }", ""), Code::kInvalidArgument},
      {npy("{'descr': '<M8', 'fortran_order': False, 'shape': (), }", "12345678"), Code::kUnimplemented},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }", ""), Code::kUnimplemented},
      {npy("{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000,), }", ""), Code::kResourceExhausted},
  };
  for (const auto& item : kCases)
    EXPECT_EQ(code_of([&] { parse_npy(item.bytes); }), item.code) << item.bytes.substr(0, 120);
}

TEST(Npz, RoundTripsAndReadsDeflated) {
  const TempDir dir;
  const NamedTensors tensors = {{"a", Tensor::from<float>({2}, {1, 2})}, {"b/c", Tensor(int64_t{7})}};
  write_npz(default_env(), dir.file("x.npz"), tensors);
  const NamedTensors back = read_npz(default_env(), dir.file("x.npz"));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_TRUE(identical(back.at("a"), tensors.at("a")));
  EXPECT_TRUE(identical(back.at("b/c"), tensors.at("b/c")));
  const NamedTensors golden =
      read_npz(default_env(), std::string(CAUDAL_SOURCE_DIR) + "/testdata/golden/records/codecs/expected.npz");
  EXPECT_GT(golden.size(), 5u);
}

TEST(Zip, DamagedArchivesAreRefused) {
  ZipBuilder builder;
  builder.add("one", "content");
  const std::string archive = std::move(builder).finish();
  ASSERT_EQ(zip_extract(archive, zip_members(archive).at(0)), "content");
  for (size_t at = 0; at < archive.size(); ++at) {
    std::string bad = archive;
    bad[at] ^= 0x41;
    try {
      for (const ZipMember& member : zip_members(bad)) EXPECT_EQ(zip_extract(bad, member), "content") << at;
    } catch (const Error&) {
      // Refused: fine. What must not happen is wrong content.
    }
    EXPECT_THROW(zip_members(archive.substr(0, at)), Error);
  }
}

}  // namespace
}  // namespace caudal
