// The sidecar of a checkpoint, "<prefix>.caudal-state": bytes by name, as TFRecords with checksums.
//
// First record "caudal-state 1 <number of entries>", then one record per entry: varint length of the name, name, value.
#pragma once

#include <map>
#include <string>

#include "caudal/base/env.h"

namespace caudal::inline v0::train {

std::string state_file_path(const std::string& prefix);
// Atomic and durable.
void write_state_file(Env& env, const std::string& path, const std::map<std::string, std::string>& entries);
// Throws NOT_FOUND, DATA_LOSS.
std::map<std::string, std::string> read_state_file(Env& env, const std::string& path);

}  // namespace caudal::inline v0::train
