// Dataset pipelines: sequences of elements, read, changed and put together step by step (tf.data).
//
//   auto lines = data::Dataset::text_lines({"train.csv"}).skip(1);
//   auto rows = lines.map([](const Output& line) { return parse(line); }).shuffle(1000, {.seed =
//   42}).batch(32).prefetch(1); for (const data::Element& row : rows) use(row[0], row[1]);                     // plain
//   C++: no session auto iterator = rows.repeat().make_one_shot_iterator();                        // in a graph
//   Outputs batch = iterator.get_next();                                           // sess.run(train) reads one batch
//
// A Dataset is a recipe: it makes TensorFlow's dataset nodes wherever an iterator needs them, in the user's graph, in a
// function of it, or in a graph of its own. An element is a list of components, each a tensor. Functions are traced:
// they get the components as Outputs and give Outputs, and are called once, not once per element.
// Seeds and orders are TensorFlow's. The position of an iterator of a session is part of its checkpoints, and a resumed
// session gets the very next element (docs/data.md).
// Errors: caudal::Error; an element that fails throws, and the pass goes on behind it. Ownership: values that share
// what they hold. Thread safety: a Dataset may be shared; an iterator or pass belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "caudal/base/export.h"
#include "caudal/graph/builder.h"
#include "caudal/ops/control_flow.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::data {

class Dataset;

using Element = std::vector<Tensor>;
using Where = std::source_location;

// As many elements, or calls, as seem good.
inline constexpr std::int64_t kAutotune = -1;
inline constexpr std::int64_t kInfinite = -1;
inline constexpr std::int64_t kUnknown = -2;

// Functions on elements; those with one Output are for elements of one component.
using MapFn = std::function<Output(const Output&)>;
using MapManyFn = std::function<Outputs(const Outputs&)>;
using DatasetFn = std::function<Dataset(const Outputs&)>;
// (state, element) -> what replaces them.
using FoldFn = std::function<Outputs(const Outputs& state, const Outputs& element)>;
struct ScanResult {
  Outputs state, element;
};
using ScanFn = std::function<ScanResult(const Outputs& state, const Outputs& element)>;
// Gives the next element; false at the end. A factory makes one for each pass.
using Generator = std::function<bool(Element& element)>;
using GeneratorFactory = std::function<Generator()>;

// What the components of elements are.
struct ComponentSpec {
  DType dtype;
  PartialShape shape = PartialShape::unknown();
};

struct MapOptions {
  std::int64_t num_parallel_calls = 1;  // at a time, or kAutotune; elements keep their order
  Where where = Where::current();
};
struct ShuffleOptions {
  std::optional<std::int64_t> seed = {};
  bool reshuffle_each_iteration = true;  // another order in each pass
  Where where = Where::current();
};
struct InterleaveOptions {
  std::int64_t cycle_length = 2;  // datasets that are open at a time
  std::int64_t block_length = 1;  // elements of each before it is the next one's turn
  Where where = Where::current();
};
struct PaddedBatchOptions {
  std::vector<PartialShape> padded_shapes = {};  // one per component; -1: the longest of the batch. Default: all -1
  std::vector<Tensor> padding_values = {};       // scalars, one per component. Default: zeros and empty strings
  bool drop_remainder = false;
  Where where = Where::current();
};
struct WindowOptions {
  std::int64_t shift = 0;  // between the beginnings of windows; 0: `size`
  std::int64_t stride = 1;
  bool drop_remainder = false;
  Where where = Where::current();
};
struct IgnoreErrorsOptions {
  std::int64_t max_count = -1;  // one error more is thrown; -1: any number
  bool log_warning = false;
  Where where = Where::current();
};
struct FileOptions {
  std::string compression_type = {};  // "", "ZLIB", "GZIP"
  Where where = Where::current();
};
struct FixedLengthOptions {
  std::int64_t header_bytes = 0, footer_bytes = 0;
  std::string compression_type = {};
  Where where = Where::current();
};
struct CsvOptions {
  bool header = false;  // the first line of each file is passed over
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value = {};
  std::vector<std::int64_t> select_cols = {};  // ascending; default: all
  std::string compression_type = {};
  Where where = Where::current();
};
struct ListFilesOptions {
  bool shuffle = true;
  std::optional<std::int64_t> seed = {};
  Where where = Where::current();
};

// An iterator in a graph.
class CAUDAL_API Iterator {
 public:
  // Begins a pass with the first element. Throws FAILED_PRECONDITION for a one-shot iterator, which begins by itself.
  Operation initializer() const;
  // The components of the next element: each run of them takes one. OUT_OF_RANGE at the end.
  Outputs get_next(const OpOptions& options = {}) const;
  // The iterator as a string, for feeding (Iterator::from_string_handle).
  Output string_handle(const OpOptions& options = {}) const;
  static Iterator from_string_handle(const Operand& handle, const std::vector<ComponentSpec>& spec,
                                     const OpOptions& options = {});
  const Output& resource() const { return resource_; }

 private:
  friend class Dataset;
  Output resource_;
  Operation initializer_;
  std::vector<ComponentSpec> spec_;
};

// One pass over a dataset outside of any session of the user's.
class CAUDAL_API Pass {
 public:
  // The next element; false at the end.
  bool next(Element& element);
  // The position as bytes, and going there in a pass over an equal dataset that has given nothing yet. restore() throws
  // DATA_LOSS for bytes of another pipeline.
  std::string save() const;
  void restore(const std::string& position);
  // Bad records that ignore_errors() passed over.
  std::int64_t ignored_errors() const;

 private:
  friend class Dataset;
  struct Engine;
  std::shared_ptr<const void> recipe_;
  std::shared_ptr<Engine> engine_;
  Tensor handle_;  // of the iterator, which it owns
};

class CAUDAL_API Dataset {
 public:
  // ---- Sources

  // One element of these components. `values` may be outputs of a graph (not for one-shot iterators or passes).
  static Dataset from_tensors(std::vector<Operand> values, Where where = Where::current());
  // One element per row; all values have as many rows. Throws INVALID_ARGUMENT for scalars.
  static Dataset from_tensor_slices(std::vector<Operand> values, Where where = Where::current());
  // int64 numbers start, start + step, ... before stop.
  static Dataset range(std::int64_t stop, Where where = Where::current());
  static Dataset range(std::int64_t start, std::int64_t stop, std::int64_t step = 1, Where where = Where::current());
  // What C++ code gives, in this process. A resumed pass calls a new generator as often as the saved one was called.
  static Dataset from_generator(GeneratorFactory generator, std::vector<ComponentSpec> spec,
                                Where where = Where::current());
  // Names of files that the patterns match ("data/*.csv"). INVALID_ARGUMENT in a run if there are none.
  static Dataset list_files(std::vector<std::string> patterns, const ListFilesOptions& options = {});
  // Lines without their ends; records; records of `record_bytes` bytes: one string each.
  static Dataset text_lines(const Operand& files, const FileOptions& options = {});
  static Dataset tf_record(const Operand& files, const FileOptions& options = {});
  static Dataset fixed_length(const Operand& files, std::int64_t record_bytes, const FixedLengthOptions& options = {});
  // Rows of typed columns. `defaults`: per column a vector of its type, with one element or, where the field is
  // required, none. A bad record is INVALID_ARGUMENT with file and record, and the next one follows.
  static Dataset csv(const Operand& files, std::vector<Tensor> defaults, const CsvOptions& options = {});
  // Components of one element of each, until the first of them ends.
  static Dataset zip(std::vector<Dataset> datasets, Where where = Where::current());

  // ---- Changes

  Dataset map(MapFn fn, const MapOptions& options = {}) const;
  Dataset map(MapManyFn fn, const MapOptions& options = {}) const;
  // Elements for which the predicate (a scalar bool) holds; until it does not hold.
  Dataset filter(MapFn predicate, Where where = Where::current()) const;
  Dataset filter(MapManyFn predicate, Where where = Where::current()) const;
  Dataset take_while(MapFn predicate, Where where = Where::current()) const;
  // The elements of the datasets that `fn` makes of the elements, one dataset after another or in turns.
  Dataset flat_map(DatasetFn fn, Where where = Where::current()) const;
  Dataset interleave(DatasetFn fn, const InterleaveOptions& options = {}) const;
  // Draws from a buffer of so many elements.
  Dataset shuffle(std::int64_t buffer_size, const ShuffleOptions& options = {}) const;
  // Stacks; the last batch may be smaller unless `drop_remainder`.
  Dataset batch(std::int64_t batch_size, bool drop_remainder = false, Where where = Where::current()) const;
  Dataset padded_batch(std::int64_t batch_size, const PaddedBatchOptions& options = {}) const;
  Dataset unbatch(Where where = Where::current()) const;
  // Passes one after another; -1: without end.
  Dataset repeat(std::int64_t count = -1, Where where = Where::current()) const;
  Dataset concatenate(const Dataset& other, Where where = Where::current()) const;
  // Keeps the first pass, in memory or in files that begin with `filename`.
  Dataset cache(std::string filename = {}, Where where = Where::current()) const;
  Dataset take(std::int64_t count, Where where = Where::current()) const;
  Dataset skip(std::int64_t count, Where where = Where::current()) const;
  // Every shards-th element, from number `index` on.
  Dataset shard(std::int64_t num_shards, std::int64_t index, Where where = Where::current()) const;
  // Elements whose components are datasets of `size` elements: give them to flat_map.
  Dataset window(std::int64_t size, const WindowOptions& options = {}) const;
  // Makes elements ahead in a thread.
  Dataset prefetch(std::int64_t buffer_size = kAutotune, Where where = Where::current()) const;
  // A counter (int64) before the components.
  Dataset enumerate(std::int64_t start = 0, Where where = Where::current()) const;
  Dataset scan(std::vector<Operand> initial_state, ScanFn fn, Where where = Where::current()) const;
  // Passes over elements that fail.
  Dataset ignore_errors(const IgnoreErrorsOptions& options = {}) const;

  // The dataset in a component of an element, as window() makes them.
  static Dataset from_variant(const Output& variant, std::vector<ComponentSpec> spec);

  // ---- Use

  // All elements folded into the state, as nodes of the graph.
  Outputs reduce(std::vector<Operand> initial_state, FoldFn fn, Where where = Where::current()) const;
  // In the default graph. A one-shot iterator needs no initialiser, and can use no tensors of the graph.
  Iterator make_one_shot_iterator(Where where = Where::current()) const;
  Iterator make_initializable_iterator(const std::string& shared_name = {}, Where where = Where::current()) const;
  // The dataset as a node of the default graph.
  Output variant() const;

  // A pass in plain C++.
  Pass pass() const;
  // All elements. Throws RESOURCE_EXHAUSTED if there are more than `limit`.
  std::vector<Element> to_vector(std::int64_t limit = 1'000'000) const;
  // What the elements are, and how many (kInfinite, kUnknown).
  std::vector<ComponentSpec> spec() const;
  std::int64_t cardinality() const;

  class CAUDAL_API Elements {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using pointer = const Element*;
    using reference = const Element&;
    Elements() = default;
    explicit Elements(Pass pass) : pass_(std::make_shared<Pass>(std::move(pass))) { ++*this; }
    const Element& operator*() const { return element_; }
    Elements& operator++() {
      if (!pass_->next(element_)) pass_ = nullptr;
      return *this;
    }
    bool operator!=(const Elements& other) const { return pass_ != other.pass_; }

   private:
    std::shared_ptr<Pass> pass_;
    Element element_;
  };
  Elements begin() const { return Elements(pass()); }
  Elements end() const { return {}; }

 private:
  struct Recipe;
  struct Built;
  friend class Pass;
  explicit Dataset(std::shared_ptr<const Recipe> recipe) : recipe_(std::move(recipe)) {}
  static Dataset make(std::function<Built()> build, Where where);
  static Dataset files(const char* op, const Operand& files, std::function<void(OpBuilder&)> arguments, Where where);
  // The op over this dataset: `arguments` adds inputs and attributes, and says what the elements are then.
  Dataset over(const char* op, std::function<void(OpBuilder&, std::vector<ComponentSpec>&)> arguments,
               Where where) const;
  std::shared_ptr<const Recipe> recipe_;
};

}  // namespace caudal::inline v0::data
