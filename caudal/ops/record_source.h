// Where readers get their records from: one file, or other unit of work, at a time.
//
// Not thread-safe: a reader uses its source from one run at a time.
#pragma once

#include <memory>
#include <string>

#include "caudal/base/env.h"
#include "caudal/core/node_info.h"

namespace caudal::inline v0::internal {

class RecordSource {
 public:
  struct Step {
    bool produced = false;  // key and value are set
    bool at_end = false;    // of the work
  };
  virtual ~RecordSource();
  // Begins a unit of work: the name of a file.
  virtual void open(Env& env, const std::string& work) = 0;
  virtual Step next(std::string* key, std::string* value) = 0;
  // Forgets the work.
  virtual void close() = 0;
  // Whether the reader's state can be saved: nothing to remember within a unit of work.
  virtual bool has_plain_state() const { return false; }
};

// For the node of a reader op ("TextLineReaderV2"). Throws INVALID_ARGUMENT for attributes that make no sense.
std::unique_ptr<RecordSource> make_record_source(const NodeInfo& node);

}  // namespace caudal::inline v0::internal
