#include "caudal/formats/idx.h"

#include <gtest/gtest.h>

#include <string>

#include "caudal/formats/compression.h"

namespace caudal {
namespace {

using namespace std::string_literals;

class Idx : public testing::Test {
 protected:
  std::string file(const std::string& bytes, Compression compression = Compression::kNone) {
    const auto out = deflate_file(default_env().create(dir_.file("x")), compression);
    out->append(bytes);
    out->close();
    return dir_.file("x");
  }
  Code code(const std::string& bytes, Compression compression = Compression::kNone) {
    try {
      read_idx(default_env(), file(bytes, compression));
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  }
  TempDir dir_;
};

TEST_F(Idx, ReadsAllTypes) {
  EXPECT_TRUE(identical(read_idx(default_env(), file("\0\0\x08\x02\0\0\0\2\0\0\0\3\1\2\3\4\5\6"s)),
                        Tensor::from<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(identical(read_idx(default_env(), file("\0\0\x09\x01\0\0\0\1\xff"s)), Tensor::from<int8_t>({1}, {-1})));
  EXPECT_TRUE(
      identical(read_idx(default_env(), file("\0\0\x0c\x01\0\0\0\1\0\0\1\2"s)), Tensor::from<int32_t>({1}, {258})));
  EXPECT_TRUE(
      identical(read_idx(default_env(), file("\0\0\x0d\x01\0\0\0\1\x3f\xc0\0\0"s)), Tensor::from<float>({1}, {1.5f})));
  EXPECT_TRUE(identical(read_idx(default_env(), file("\0\0\x08\0\7"s)), Tensor::from<uint8_t>({}, {7}))) << "rank 0";
}

TEST_F(Idx, RoundTripsAndReadsGzip) {
  const Tensor pictures = Tensor::from<int16_t>({3, 2}, {1, -2, 300, -400, 5, 6});
  write_idx(default_env(), dir_.file("p"), pictures);
  EXPECT_TRUE(identical(read_idx(default_env(), dir_.file("p")), pictures));
  const std::string bytes = read_file(default_env(), dir_.file("p"));
  EXPECT_TRUE(identical(read_idx(default_env(), file(bytes, Compression::kGzip)), pictures));
  EXPECT_TRUE(identical(read_idx(default_env(), dir_.file("p"), 2), pictures.rows(0, 2).clone()));
  EXPECT_TRUE(identical(read_idx(default_env(), dir_.file("p"), 9), pictures));
}

TEST_F(Idx, RefusesBadFiles) {
  for (const Compression compression : {Compression::kNone, Compression::kGzip}) {
    EXPECT_EQ(code("", compression), Code::kDataLoss);
    EXPECT_EQ(code("\0\0\x07\x01\0\0\0\1\1"s, compression), Code::kDataLoss) << "unknown type";
    EXPECT_EQ(code("\0\1\x08\x01\0\0\0\1\1"s, compression), Code::kDataLoss) << "magic";
    EXPECT_EQ(code("\0\0\x08\x01\0\0\0\4\1\2\3"s, compression), Code::kDataLoss) << "cut";
    EXPECT_EQ(code("\0\0\x08\x01\0\0\0\1\1\2"s, compression), Code::kDataLoss) << "too long";
    EXPECT_EQ(code("\0\0\x08\x02\0\0"s, compression), Code::kDataLoss) << "cut header";
    EXPECT_EQ(code("\0\0\x08\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s, compression),
              Code::kDataLoss)
        << "no memory is taken for it";
    EXPECT_EQ(code("\0\0\x0e\x02\0\1\0\0\0\1\0\0"s, compression), Code::kDataLoss) << "2^32 doubles";
  }
  EXPECT_THROW(write_idx(default_env(), dir_.file("y"), Tensor("text")), Error);
}

}  // namespace
}  // namespace caudal
