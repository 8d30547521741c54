#include "caudal/cli/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace caudal::cli {
namespace {

TEST(JsonObject, KeepsOrderAndEscapes) {
  EXPECT_EQ(JsonObject().str(), "{}");
  EXPECT_EQ(JsonObject().add("b", "x\"\n").add("a", std::int64_t{3}).add("c", true).str(),
            R"({"b": "x\"\n", "a": 3, "c": true})");
}

TEST(JsonObject, NumbersThatJsonDoesNotHaveAreNull) {
  EXPECT_EQ(JsonObject().add("x", std::nan("")).add("y", 0.5).str(), R"({"x": null, "y": 0.5})");
}

TEST(JsonObject, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(JsonObject().add("x", std::string_view("a\xff", 2)).str(), "{\"x\": \"a\xEF\xBF\xBD\"}");
}

}  // namespace
}  // namespace caudal::cli
