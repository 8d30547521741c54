// What `caudal show` says about files, as text or as one line of JSON.
#pragma once

#include <cstdint>
#include <string>

namespace caudal::inline v0::cli {

struct ShowOptions {
  bool json = false;
  bool nodes = false;       // a graph's nodes too
  std::int64_t limit = 12;  // rows of a list
};

// A GraphDef or MetaGraphDef.
std::string show_graph(const std::string& path, const ShowOptions& options);
// A checkpoint by its prefix.
std::string show_checkpoint(const std::string& prefix, const ShowOptions& options);
// An event file.
std::string show_events(const std::string& path, const ShowOptions& options);

}  // namespace caudal::inline v0::cli
