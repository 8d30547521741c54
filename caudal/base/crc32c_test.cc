#include "caudal/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace caudal {
namespace {

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(masked_crc32c(std::string(8, '\0')), 0x07980329u);  // length field of an empty record
}

TEST(Crc32c, AllPathsAgreeAtAllLengths) {
  std::string data;
  uint32_t noise = 1;
  for (int i = 0; i < 3 * 4096 * 2 + 1000; ++i) data += static_cast<char>((noise = noise * 1664525 + 1013904223) >> 24);
  for (size_t size = 0; size <= data.size(); size = size < 2000 ? size + 1 : size + 997) {
    const size_t from = size % 8 <= data.size() - size ? size % 8 : 0;
    ASSERT_EQ(crc32c_extend(0, data.data() + from, size), internal::crc32c_extend_portable(0, data.data() + from, size))
        << size;
  }
}

TEST(Crc32c, ExtendJoinsPieces) {
  const std::string data(10'000, 'x');
  for (const size_t cut : {0, 1, 7, 768, 9999, 10'000})
    EXPECT_EQ(crc32c_extend(crc32c(data.substr(0, cut)), data.substr(cut)), crc32c(data));
}

TEST(Crc32c, UnmaskInvertsMask) {
  for (const uint32_t crc : {0u, 1u, 0xe3069283u, 0xffffffffu}) EXPECT_EQ(crc32c_unmask(crc32c_mask(crc)), crc);
}

}  // namespace
}  // namespace caudal
