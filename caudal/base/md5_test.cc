#include "caudal/base/md5.h"

#include <gtest/gtest.h>

namespace caudal {
namespace {

// The test suite of RFC 1321, A.5.
TEST(Md5, GivesTheSumsOfTheStandard) {
  EXPECT_EQ(md5_hex(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5_hex("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

}  // namespace
}  // namespace caudal
