// Tables that map keys to values while a graph runs, as tf.lookup has them.
//
//   tf::lookup::StaticHashTable ids(tf::lookup::KeyValueTensorInitializer(words, numbers), -1);
//   tf::Output found = ids.lookup(x);
//   sess.run(tf::tables_initializer());
//
// Tables live in the session's resource containers from step to step; two with one shared name are one.
// Ownership: small handles, valid as long as their graph. Thread safety: as building a graph; tables lock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"

namespace caudal::inline v0 {

// One node that fills all tables that are filled once. Running it again changes nothing.
CAUDAL_API Operation tables_initializer(const OpOptions& options = {.name = "init_all_tables",
                                                                    .where = std::source_location::current()});

namespace lookup {

struct TableOptions {
  std::string shared_name;  // name in the container; default: the table is the node's own
  std::string container;
  std::string name;
  std::source_location where = std::source_location::current();
};

// What fills a table: makes the node that does it.
struct TableInitializer {
  DType key_dtype;
  DType value_dtype;
  std::string shared_name;  // of a table of this content, if it has a name
  std::function<Operation(const Output& table)> initialize;
};
// keys and values: vectors of one length. FAILED_PRECONDITION, when run, for one key with two values.
CAUDAL_API TableInitializer KeyValueTensorInitializer(const Operand& keys, const Operand& values);

enum class TextFileIndex : std::int64_t { kWholeLine = -2, kLineNumber = -1 };
struct TextFileOptions {
  std::int64_t vocab_size = -1;  // how many lines to take; -1 for all
  char delimiter = '\t';
  std::int64_t value_index_offset = 0;  // added to line numbers
};
// Lines of a text file: each gives a key and a value, from a column (counted from 0), the line itself or its number.
CAUDAL_API TableInitializer TextFileInitializer(const std::string& filename, DType key_dtype, std::int64_t key_index,
                                                DType value_dtype, std::int64_t value_index,
                                                const TextFileOptions& options = {});
inline constexpr std::int64_t kWholeLine = static_cast<std::int64_t>(TextFileIndex::kWholeLine);
inline constexpr std::int64_t kLineNumber = static_cast<std::int64_t>(TextFileIndex::kLineNumber);

// What all tables can do.
class CAUDAL_API Table {
 public:
  const Output& handle() const { return handle_; }
  DType key_dtype() const { return key_dtype_; }
  DType value_dtype() const { return value_dtype_; }
  // The values of `keys`, the default value where there is none. Shape: that of keys, then that of a value.
  Output lookup(const Operand& keys, const OpOptions& options = {}) const;
  // How many entries: int64 scalar.
  Output size(const OpOptions& options = {}) const;
  struct Entries {
    Output keys, values;
  };
  Entries export_values(const OpOptions& options = {}) const;

 protected:
  Table(DType key_dtype, DType value_dtype, const Operand& default_value);
  Output handle_;
  DType key_dtype_, value_dtype_;
  Output default_value_;
};

// Filled once, by its initialiser; FAILED_PRECONDITION before.
class CAUDAL_API StaticHashTable : public Table {
 public:
  StaticHashTable(const TableInitializer& initializer, const Operand& default_value, const TableOptions& options = {});
  const Operation& initializer() const { return initializer_; }

 private:
  Operation initializer_;
};

// Tables that change while they are used.
class CAUDAL_API MutableTable : public Table {
 public:
  Operation insert(const Operand& keys, const Operand& values, const OpOptions& options = {}) const;
  Operation remove(const Operand& keys, const OpOptions& options = {}) const;
  // These entries in place of all others: what export_values() gave.
  Operation import_values(const Operand& keys, const Operand& values, const OpOptions& options = {}) const;

 protected:
  using Table::Table;
};

// Values are scalars, or vectors if the default value is one.
class CAUDAL_API MutableHashTable : public MutableTable {
 public:
  MutableHashTable(DType key_dtype, DType value_dtype, const Operand& default_value, const TableOptions& options = {});
};

// Keys and values are scalars or vectors, as empty_key and default_value. No entry may have empty_key or deleted_key.
class CAUDAL_API DenseHashTable : public MutableTable {
 public:
  struct Options {
    std::int64_t initial_num_buckets = 131072;  // a power of two, at least 4
    float max_load_factor = 0.8F;
    TableOptions table = {};
  };
  DenseHashTable(DType key_dtype, DType value_dtype, const Operand& default_value, const Operand& empty_key,
                 const Operand& deleted_key);
  DenseHashTable(DType key_dtype, DType value_dtype, const Operand& default_value, const Operand& empty_key,
                 const Operand& deleted_key, const Options& options);
};

}  // namespace lookup
}  // namespace caudal::inline v0
