#include "caudal/dist/connections.h"

#include <gtest/gtest.h>

namespace caudal {
namespace {

// Port 2222 is 08AE; 127.0.0.1:40000 is 0100007F:9C40.
constexpr const char* kTcp =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:08AE 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n"
    "   1: 0100007F:08AE 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 2\n"
    "   2: 0100007F:08AE 0100007F:9C41 08 00000000:00000000 00:00000000 00000000     0        0 3\n"
    "   3: 0100007F:1F90 0100007F:9C42 01 00000000:00000000 00:00000000 00000000     0        0 4\n"
    "broken line\n";
constexpr const char* kTcp6 =
    "  sl  local_address                         remote_address                        st\n"
    "   0: 00000000000000000000000001000000:08AE 00000000000000000000000001000000:9C43 01 0:0\n"
    "   1: 0000000000000000FFFF00000100007F:08AE 0000000000000000FFFF00000100007F:9C44 01 0:0\n";

TEST(Connections, KnowsWhoIsConnected) {
  const ConnectionTable table(kTcp, kTcp6, 2222);
  EXPECT_TRUE(table.has("ipv4:127.0.0.1:40000"));
  EXPECT_FALSE(table.has("ipv4:127.0.0.1:40001"));  // is closing
  EXPECT_FALSE(table.has("ipv4:127.0.0.1:40002"));  // another server's
  EXPECT_TRUE(table.has("ipv6:%5B::1%5D:40003"));
  EXPECT_TRUE(table.has("ipv6:[::1]:40003"));
  EXPECT_FALSE(table.has("ipv6:[::1]:40009"));
  EXPECT_TRUE(table.has("ipv4:127.0.0.1:40004"));  // IPv4 at a socket of IPv6
}

TEST(Connections, CountsUnknownPeersAsThere) {
  EXPECT_TRUE(ConnectionTable("", "", 2222).has("ipv4:127.0.0.1:1"));
  EXPECT_TRUE(ConnectionTable(kTcp, "", 2222).has("unix:/tmp/socket"));
}

}  // namespace
}  // namespace caudal
