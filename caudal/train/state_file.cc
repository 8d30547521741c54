#include "caudal/train/state_file.h"

#include <string>

#include "caudal/base/error.h"
#include "caudal/formats/coding.h"
#include "caudal/formats/tfrecord.h"

namespace caudal::inline v0::train {
namespace {

constexpr char kMagic[] = "caudal-state 1 ";  // then the number of entries: a file cut between records is noticed

}  // namespace

std::string state_file_path(const std::string& prefix) { return prefix + ".caudal-state"; }

void write_state_file(Env& env, const std::string& path, const std::map<std::string, std::string>& entries) {
  std::string bytes = framed_record(kMagic + std::to_string(entries.size()));
  for (const auto& [name, value] : entries) {
    std::string record;
    put_varint(&record, name.size());
    record += name;
    record += value;
    bytes += framed_record(record);
  }
  write_file_atomically(env, path, bytes);
}

std::map<std::string, std::string> read_state_file(Env& env, const std::string& path) {
  RecordReader reader(env, path);
  std::string record;
  if (!reader.next(&record) || !record.starts_with(kMagic)) {
    throw data_loss("'", path, "' is no state file of a checkpoint");
  }
  const std::string count = record.substr(sizeof kMagic - 1);
  std::map<std::string, std::string> entries;
  while (reader.next(&record)) {
    ByteReader bytes(record);
    std::string_view name;
    if (!bytes.sized_bytes(&name)) throw data_loss("'", path, "': an entry has no name");
    entries.emplace(name, bytes.rest());
  }
  if (count != std::to_string(entries.size())) {
    throw data_loss("'", path, "' has ", entries.size(), " entries of ", count, ": it was cut");
  }
  return entries;
}

}  // namespace caudal::inline v0::train
