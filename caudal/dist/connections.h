// Which clients are still connected, as the system's table of TCP connections tells.
#pragma once

#include <set>
#include <string>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// The state of one moment. Thread safety: a value.
class CAUDAL_API ConnectionTable {
 public:
  // Connections to the local port, from the text of /proc/net/tcp and /proc/net/tcp6.
  ConnectionTable(const std::string& tcp, const std::string& tcp6, int local_port);
  // The system's own; where there is none, everybody counts as connected.
  static ConnectionTable of_system(int local_port);

  // `peer` as gRPC names it: "ipv4:127.0.0.1:40000", "ipv6:%5B::1%5D:40000". Peers of another kind count as connected.
  bool has(const std::string& peer) const;

 private:
  bool known_ = true;
  std::set<std::string> remotes_;  // "127.0.0.1:40000", "[::1]:40000"
};

}  // namespace caudal::inline v0
