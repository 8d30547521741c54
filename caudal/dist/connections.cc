#include "caudal/dist/connections.h"

#include <arpa/inet.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "caudal/base/strings.h"

namespace caudal::inline v0 {
namespace {

constexpr int kEstablished = 1;
constexpr std::size_t kHexOfV4 = 8, kHexOfV6 = 32;

// The table has addresses as hexadecimal words in the machine's own order.
std::string address_text(const std::string& hex) {
  unsigned char bytes[16];
  for (std::size_t word = 0; word < hex.size() / 8; ++word) {
    const auto value = static_cast<std::uint32_t>(std::stoul(hex.substr(word * 8, 8), nullptr, 16));
    std::memcpy(bytes + word * 4, &value, 4);
  }
  char text[INET6_ADDRSTRLEN];
  if (hex.size() == kHexOfV4) {
    inet_ntop(AF_INET, bytes, text, sizeof text);
    return text;
  }
  inet_ntop(AF_INET6, bytes, text, sizeof text);
  constexpr std::string_view kMapped = "::ffff:";  // IPv4 that came to a socket of IPv6
  if (std::string_view(text).starts_with(kMapped)) return text + kMapped.size();
  return "[" + std::string(text) + "]";
}

void read_table(const std::string& table, int local_port, std::set<std::string>* remotes) {
  std::istringstream lines(table);
  std::string line;
  std::getline(lines, line);  // headings
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state;
    if (!(words >> number >> local >> remote >> state)) continue;
    const auto colon = remote.find(':'), local_colon = local.find(':');
    if (colon == std::string::npos || local_colon == std::string::npos) continue;
    if (colon != kHexOfV4 && colon != kHexOfV6) continue;
    if (std::stoi(state, nullptr, 16) != kEstablished) continue;
    if (std::stoi(local.substr(local_colon + 1), nullptr, 16) != local_port) continue;
    const int port = std::stoi(remote.substr(colon + 1), nullptr, 16);
    remotes->insert(address_text(remote.substr(0, colon)) + ":" + std::to_string(port));
  }
}

std::string content(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  if (const auto at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

}  // namespace

ConnectionTable::ConnectionTable(const std::string& tcp, const std::string& tcp6, int local_port) {
  known_ = !tcp.empty() || !tcp6.empty();
  read_table(tcp, local_port, &remotes_);
  read_table(tcp6, local_port, &remotes_);
}

ConnectionTable ConnectionTable::of_system(int local_port) {
  return {content("/proc/self/net/tcp"), content("/proc/self/net/tcp6"), local_port};
}

bool ConnectionTable::has(const std::string& peer) const {
  if (!known_) return true;
  if (peer.starts_with("ipv4:")) return remotes_.contains(peer.substr(5));
  if (!peer.starts_with("ipv6:")) return true;
  std::string address = peer.substr(5);
  replace(address, "%5B", "[");
  replace(address, "%5D", "]");
  return remotes_.contains(address);
}

}  // namespace caudal::inline v0
