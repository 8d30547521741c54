#include "caudal/formats/coding.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/formats/ordered_code.h"
#include "caudal/formats/snappy.h"
#include "caudal/formats/tensor_slice.h"
#include "caudal/formats/wire.h"

namespace caudal {
namespace {

using namespace std::string_literals;

TEST(Coding, Varints) {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{300}, uint64_t{UINT32_MAX}, UINT64_MAX}) {
    std::string bytes;
    put_varint(&bytes, value);
    ByteReader reader(bytes);
    uint64_t back = 1;
    EXPECT_TRUE(reader.varint(&back));
    EXPECT_EQ(back, value);
    EXPECT_TRUE(reader.empty());
    ByteReader cut(std::string_view(bytes).substr(0, bytes.size() - 1));
    EXPECT_FALSE(cut.varint(&back));
  }
  uint64_t value;
  EXPECT_FALSE(ByteReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s).varint(&value)) << "beyond 64 bits";
  uint32_t small;
  EXPECT_FALSE(ByteReader("\x80\x80\x80\x80\x10"s).varint32(&small));
}

TEST(Coding, SizedBytesDoNotRunOver) {
  const std::string bytes =
      "\x05"
      "abcd";
  std::string_view out;
  ByteReader reader(bytes);
  EXPECT_FALSE(reader.sized_bytes(&out));
  EXPECT_EQ(reader.size(), 5u) << "a failed read takes nothing";
}

TEST(OrderedCode, KnownSigned) {
  const std::vector<std::pair<int64_t, std::string>> known = {{0, "\x80"s},
                                                              {1, "\x81"s},
                                                              {-1, "\x7f"s},
                                                              {63, "\xbf"s},
                                                              {64, "\xc0\x40"s},
                                                              {-64, "\x40"s},
                                                              {-65, "\x3f\xbf"s},
                                                              {8191, "\xdf\xff"s},
                                                              {8192, "\xe0\x20\x00"s},
                                                              {INT64_MAX, "\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff"s},
                                                              {INT64_MIN, "\x00\x3f\x80\x00\x00\x00\x00\x00\x00\x00"s}};
  for (const auto& [value, bytes] : known) {
    std::string out;
    ordered_put_int64(&out, value);
    EXPECT_EQ(out, bytes) << value;
  }
}

TEST(OrderedCode, RoundTripsAndKeepsOrder) {
  std::string last;
  bool first = true;
  for (int64_t value : {INT64_MIN, INT64_MIN + 1, -(int64_t{1} << 55), int64_t{-100000}, int64_t{-65}, int64_t{-64},
                        int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{63}, int64_t{64}, int64_t{100000},
                        int64_t{1} << 48, int64_t{1} << 55, int64_t{1} << 56, int64_t{1} << 62, INT64_MAX}) {
    std::string bytes;
    ordered_put_int64(&bytes, value);
    EXPECT_TRUE(first || last < bytes) << value;
    first = false;
    last = bytes;
    ByteReader reader(bytes);
    int64_t back = 0;
    ASSERT_TRUE(ordered_get_int64(&reader, &back)) << value;
    EXPECT_EQ(back, value);
    EXPECT_TRUE(reader.empty());
  }
  std::string bytes, text;
  ordered_put_string(&bytes, "a\0b\xff"s);
  EXPECT_EQ(bytes,
            "a\0\xff"
            "b\xff\0\0\x01"s);
  ByteReader reader(bytes);
  EXPECT_TRUE(ordered_get_string(&reader, &text));
  EXPECT_EQ(text, "a\0b\xff"s);
  uint64_t number;
  bytes.clear();
  ordered_put_uint64(&bytes, 0x1234);
  EXPECT_EQ(bytes, "\x02\x12\x34"s);
  ByteReader numbers(bytes);
  EXPECT_TRUE(ordered_get_uint64(&numbers, &number));
  EXPECT_EQ(number, 0x1234u);
}

TEST(Snappy, LiteralsAndCopies) {
  EXPECT_EQ(snappy_uncompress("\x05\x10hello"s, 100), "hello");
  EXPECT_EQ(snappy_uncompress("\x0a\x04"
                              "ab\x11\x02"s,
                              100),
            "ababababab");  // overlapping copy of 8
  for (const std::string& bad : {"\x05\x10hell"s, "\x06\x10hello"s,
                                 "\x0a\x04"
                                 "ab\x11\x03"s,
                                 "\xff\xff\xff\xff\x0f"s, ""s})
    EXPECT_THROW(snappy_uncompress(bad, 1 << 20), Error);
  EXPECT_THROW(snappy_uncompress("\x05\x10hello"s, 4), Error);
}

TEST(Wire, WritesAndReads) {
  WireWriter writer;
  writer.varint(1, 300);
  writer.real(2, 1.5f);
  writer.real(3, -2.5);
  writer.bytes(4, "text");
  writer.varint_unless_default(5, 0);
  writer.bytes_unless_default(6, "");
  writer.packed(7, std::vector<double>{1, 2});
  WireReader reader(writer.str(), "test");
  std::vector<double> reals;
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(reader.varint(), 300u);
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(reader.float32(), 1.5f);
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(reader.float64(), -2.5);
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(reader.bytes(), "text");
  EXPECT_THROW(reader.varint(), Error);
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 7);
  reader.append_reals(&reals);
  EXPECT_EQ(reals, (std::vector<double>{1, 2}));
  EXPECT_FALSE(reader.next());
  for (const std::string& bad : {"\x08"s,
                                 "\x0a\x05"
                                 "ab"s,
                                 "\x0b"s, "\x00\x01"s, "\x0d\x01"s})
    EXPECT_THROW(WireReader(bad, "test").next(), Error);
}

TEST(TensorSlice, ParsesAndPrints) {
  EXPECT_EQ(TensorSlice::parse("0,4:-").to_string(), "0,4:-");
  const ShapeAndSlice both = ShapeAndSlice::parse("10 4 4,3:-");
  EXPECT_EQ(both.full.to_string(), "[10,4]");
  EXPECT_EQ(both.slice.resolved(both.full).shape().to_string(), "[3,4]");
  for (const char* bad : {"10 4 8,3:-", "10 4 -", "10 x -:-", "10 4 1:-", "10 4 -1,2:-", "10 4 0,0:-"})
    EXPECT_THROW(ShapeAndSlice::parse(bad), Error) << bad;
}

}  // namespace
}  // namespace caudal
