#include "caudal/base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace caudal {
namespace {

TEST(Interrupt, FirstSignalSetsTheFlag) {
  InterruptScope scope;
  EXPECT_FALSE(scope.interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(scope.interrupted());
  const InterruptScope inner;
  EXPECT_TRUE(inner.interrupted()) << "an inner scope keeps the request";
}

TEST(Interrupt, SecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        InterruptScope scope;
        std::raise(SIGTERM);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace caudal
