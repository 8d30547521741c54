#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "caudal/core/device.h"
#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/step_context.h"
#include "caudal/core/waiting_room.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/named_resource.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/stage_ops.h"
#include "caudal/ops/staging.h"

namespace caudal::inline v0 {
namespace {

using Tuple = std::vector<Tensor>;
using Indices = std::vector<std::int64_t>;

void key_and_values_shape(ShapeContext& c) {
  unknown_shape(c);
  c.set_output(0, PartialShape::unknown());
}

// ---- The resource

void check_order(const Indices& indices) {
  if (indices.empty()) throw invalid_argument("Indices are empty");
  for (std::size_t i = 1; i < indices.size(); ++i) {
    if (indices[i - 1] >= indices[i]) throw invalid_argument("Indices are not strictly ordered");
  }
}

// Tuples by key; complete ones can be taken, component by component if need be. An invalid tensor is one that has not
// come yet, or was taken.
class StagingMap : public Resource, public WaitingRoom {
 public:
  explicit StagingMap(const NodeInfo& node)
      : WaitingRoom(2, Order::kAny), name_(internal::area_name(node)), room_(node) {}

  std::string describe() const override { return "staging area '" + name_ + "'"; }

  // `components`: how many a complete tuple has.
  void put(CancellationToken* token, std::int64_t key, const Indices& indices, Tuple tuple, std::int64_t components,
           Done done) {
    check_order(indices);
    if (indices.size() != tuple.size()) {
      throw invalid_argument(indices.size(), " indices, but ", tuple.size(), " values");
    }
    const std::int64_t bytes = internal::bytes_of(tuple);
    room_.check(bytes);
    const bool complete = std::ssize(indices) == components;
    const auto attempt = [this, key, indices, tuple = std::move(tuple), components, bytes, complete]() mutable {
      if (!room_.has_memory(bytes)) return Outcome::kWait;
      if (complete && !room_.has_place(std::ssize(tuples_))) return Outcome::kWait;
      if (complete) {
        add(key, std::move(tuple));
      } else {
        add_parts(key, indices, std::move(tuple), components);
      }
      return Outcome::kDone;
    };
    wait(0, {.attempt = attempt,
             .done = std::move(done),
             .cancellation = token,
             .cancelled = "MapStage operation was cancelled"});
  }

  using TupleDone = std::function<void(const Error* error, std::int64_t key, Tuple tuple)>;
  enum class Take { kPeek, kPop };
  // Components of `key`, or of the smallest key if there is none given.
  void take(CancellationToken* token, std::optional<std::int64_t> key, const Indices& indices, Take how,
            TupleDone done) {
    check_order(indices);
    struct Result {
      std::int64_t key = 0;
      Tuple tuple;
    };
    const auto result = std::make_shared<Result>();
    const auto attempt = [this, key, indices, how, result] {
      const auto found = key ? tuples_.find(*key) : tuples_.begin();
      if (found == tuples_.end()) return Outcome::kWait;
      result->key = found->first;
      result->tuple = how == Take::kPeek ? parts_of(found->first, found->second, indices) : pop(found, indices);
      return Outcome::kDone;
    };
    auto finish = [result, done = std::move(done)](const Error* error) {
      done(error, result->key, std::move(result->tuple));
    };
    wait(1,
         {.attempt = attempt,
          .done = std::move(finish),
          .cancellation = token,
          .cancelled = how == Take::kPeek ? "MapPeek operation was cancelled" : "MapUnstage operation was cancelled"});
  }
  std::int64_t size() const {
    return look([this] { return std::ssize(tuples_); });
  }
  std::int64_t incomplete_size() const {
    return look([this] { return std::ssize(incomplete_); });
  }
  void clear() {
    change([this] {
      tuples_.clear();
      incomplete_.clear();
      room_.clear();
    });
  }

 private:
  using Map = std::map<std::int64_t, Tuple>;

  // As TensorFlow, the first tuple of a key stays.
  void add(std::int64_t key, Tuple tuple) {
    const std::int64_t bytes = internal::bytes_of(tuple);
    if (tuples_.emplace(key, std::move(tuple)).second) room_.add(bytes);
  }

  void add_parts(std::int64_t key, const Indices& indices, Tuple tuple, std::int64_t components) {
    const auto present = incomplete_.find(key);
    for (const std::int64_t index : indices) {
      if (index < 0 || index >= components) {
        throw invalid_argument("Index '", index, "' for key '", key, "' was out of bounds '", components, "'.");
      }
      if (present != incomplete_.end() && present->second[index].valid()) {
        throw invalid_argument("The tensor for index '", index, "' for key '", key, "' was already initialized '",
                               components, "'.");
      }
    }
    Tuple& parts = present != incomplete_.end() ? present->second : incomplete_[key];
    parts.resize(components);
    room_.add(internal::bytes_of(tuple));
    for (std::size_t i = 0; i < indices.size(); ++i) parts[indices[i]] = std::move(tuple[i]);
    if (!std::ranges::all_of(parts, &Tensor::valid)) return;
    room_.remove(internal::bytes_of(parts));  // add() counts them again
    Tuple complete = std::move(parts);
    incomplete_.erase(key);
    add(key, std::move(complete));
  }

  static Tuple parts_of(std::int64_t key, const Tuple& tuple, const Indices& indices) {
    Tuple parts;
    for (const std::int64_t index : indices) {
      if (index < 0 || index >= std::ssize(tuple)) {
        throw invalid_argument("Index '", index, "' for key '", key, "' was out of bounds '", tuple.size(), "'.");
      }
      if (!tuple[index].valid()) {
        throw invalid_argument("Tensor at index '", index, "' for key '", key, "' has already been removed.");
      }
      parts.push_back(tuple[index]);
    }
    return parts;
  }

  Tuple pop(Map::iterator entry, const Indices& indices) {
    Tuple parts = parts_of(entry->first, entry->second, indices);
    for (const std::int64_t index : indices) entry->second[index] = Tensor();
    if (std::ranges::none_of(entry->second, &Tensor::valid)) tuples_.erase(entry);
    room_.remove(internal::bytes_of(parts));
    return parts;
  }

  const std::string name_;
  internal::StagingRoom room_;
  Map tuples_, incomplete_;
};

// The two kinds live under different types, so that equal names do not meet. Both are ordered: the unordered one may
// be.
template <bool ordered>
class StagingMapOf final : public StagingMap {
  using StagingMap::StagingMap;
};

// ---- Kernels

template <bool ordered>
std::shared_ptr<StagingMap> map_of(const RunContext& c) {
  const NodeInfo& node = c.node();
  return c.step().resources->get_or_create<StagingMapOf<ordered>>(
      node.attr<std::string>("container"), internal::area_name(node),
      [&] { return std::make_shared<StagingMapOf<ordered>>(node); });
}

std::int64_t key_of(const RunContext& c) {
  const Tensor& key = c.input(0);
  if (key.num_elements() == 0) throw invalid_argument("key must not be empty");
  if (key.num_elements() != 1) {
    throw invalid_argument("key must be an int64 scalar, got tensor with shape: ", key.shape());
  }
  return key.item<std::int64_t>();
}

std::int64_t scalar_key_of(const RunContext& c) {
  if (c.input(0).rank() != 0) throw invalid_argument("key must be an int64 scalar: ", c.input(0).shape());
  return c.input(0).item<std::int64_t>();
}

template <bool ordered>
class MapStageKernel final : public WaitingKernel {
 public:
  explicit MapStageKernel(PrepareContext& c) : components_(std::ssize(c.attr<std::vector<DType>>("dtypes"))) {}
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto map = map_of<ordered>(c);
      const std::int64_t key = key_of(c);
      Tuple tuple;
      for (int i = 2; i < c.num_inputs(); ++i) tuple.push_back(c.take_input(i));
      map->put(c.step().cancellation, key, c.input(1).to_int64s(), std::move(tuple), components_,
               [map, done](const Error* error) { done(error); });
    });
  }

 private:
  std::int64_t components_;
};

enum class Get { kPop, kPeek, kPopAny };

template <bool ordered, Get get>
class MapUnstageKernel final : public WaitingKernel {
 public:
  explicit MapUnstageKernel(PrepareContext&) {}
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto map = map_of<ordered>(c);
      std::optional<std::int64_t> key;
      if (get != Get::kPopAny) key = scalar_key_of(c);
      const Tensor& indices = c.input(get == Get::kPopAny ? 0 : 1);
      map->take(c.step().cancellation, key, indices.to_int64s(),
                get == Get::kPeek ? StagingMap::Take::kPeek : StagingMap::Take::kPop,
                [map, &c, done](const Error* error, std::int64_t taken, Tuple tuple) {
                  if (error != nullptr) return done(error);
                  deliver(c, done, taken, tuple);
                });
    });
  }

 private:
  static void deliver(RunContext& c, const Done& done, std::int64_t key, Tuple& tuple) {
    constexpr int first = get == Get::kPopAny ? 1 : 0;
    bool fits = std::ssize(tuple) == c.num_outputs() - first;
    for (int i = first; fits && i < c.num_outputs(); ++i) {
      fits = tuple[i - first].dtype() == c.node().output_types[i];
    }
    if (!fits) {
      const Error mismatch = invalid_argument("output/indices size mismatch: ", c.num_outputs() - first, " vs. ",
                                              tuple.size(), ", or other types");
      return done(&mismatch);
    }
    if (first == 1) c.set_output(0, Tensor(key));
    for (int i = first; i < c.num_outputs(); ++i) c.set_output(i, std::move(tuple[i - first]));
    done(nullptr);
  }
};

template <class K>
std::unique_ptr<Kernel> prepare(PrepareContext& c) {
  return std::make_unique<K>(c);
}

template <bool ordered>
void run_map_size(RunContext& c) {
  c.allocate_output(0, {}).data<std::int32_t>()[0] = static_cast<std::int32_t>(map_of<ordered>(c)->size());
}
template <bool ordered>
void run_map_incomplete_size(RunContext& c) {
  c.allocate_output(0, {}).data<std::int32_t>()[0] = static_cast<std::int32_t>(map_of<ordered>(c)->incomplete_size());
}
template <bool ordered>
void run_map_clear(RunContext& c) {
  map_of<ordered>(c)->clear();
}

// ---- Registrations

#define CAUDAL_MAP_ATTRS(types)                                        \
  "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: " types \
  "; container: string = ''; shared_name: string = ''"

#define CAUDAL_REGISTER_MAP_OP(op, ins, outs, attributes, shape_fn, prepare_fn) \
  CAUDAL_REGISTER_OP({                                                          \
      .name = op,                                                               \
      .inputs = ins,                                                            \
      .outputs = outs,                                                          \
      .attrs = attributes,                                                      \
      .stateful = true,                                                         \
      .shape = shape_fn,                                                        \
      .gradient = not_differentiable,                                           \
      .cpu = prepare_fn,                                                        \
  })

#define CAUDAL_REGISTER_STAGING_MAP(prefix, ordered)                                                                  \
  CAUDAL_REGISTER_MAP_OP(prefix "MapStage", "key: int64; indices: int32; values: fake_dtypes", "",                    \
                         CAUDAL_MAP_ATTRS("list(type); fake_dtypes: list(type) >= 1"), no_outputs_shape,              \
                         prepare<MapStageKernel<ordered>>);                                                           \
  CAUDAL_REGISTER_MAP_OP(prefix "MapUnstage", "key: int64; indices: int32", "values: dtypes",                         \
                         CAUDAL_MAP_ATTRS("list(type) >= 1"), unknown_shape,                                          \
                         (prepare<MapUnstageKernel<ordered, Get::kPop>>));                                            \
  CAUDAL_REGISTER_MAP_OP(prefix "MapPeek", "key: int64; indices: int32", "values: dtypes",                            \
                         CAUDAL_MAP_ATTRS("list(type) >= 1"), unknown_shape,                                          \
                         (prepare<MapUnstageKernel<ordered, Get::kPeek>>));                                           \
  CAUDAL_REGISTER_MAP_OP(prefix "MapUnstageNoKey", "indices: int32", "key: int64; values: dtypes",                    \
                         CAUDAL_MAP_ATTRS("list(type) >= 1"), key_and_values_shape,                                   \
                         (prepare<MapUnstageKernel<ordered, Get::kPopAny>>));                                         \
  CAUDAL_REGISTER_MAP_OP(prefix "MapSize", "", "size: int32", CAUDAL_MAP_ATTRS("list(type)"), scalar_shape,           \
                         kernel_of<run_map_size<ordered>>);                                                           \
  CAUDAL_REGISTER_MAP_OP(prefix "MapIncompleteSize", "", "size: int32", CAUDAL_MAP_ATTRS("list(type)"), scalar_shape, \
                         kernel_of<run_map_incomplete_size<ordered>>);                                                \
  CAUDAL_REGISTER_MAP_OP(prefix "MapClear", "", "", CAUDAL_MAP_ATTRS("list(type)"), no_outputs_shape,                 \
                         kernel_of<run_map_clear<ordered>>)

CAUDAL_REGISTER_STAGING_MAP("", false);
CAUDAL_REGISTER_STAGING_MAP("Ordered", true);

std::vector<DType> chosen(const std::vector<DType>& dtypes, const std::vector<int>& indices) {
  std::vector<DType> types;
  for (const int index : indices) types.push_back(dtypes[index]);
  return types;
}

}  // namespace

// ---- The class

MapStagingArea::MapStagingArea(std::vector<DType> dtypes, const MapStagingAreaOptions& options)
    : name_(options.shared_name.empty() ? default_graph().unique_name("MapStagingArea") : options.shared_name),
      dtypes_(std::move(dtypes)),
      options_(options) {
  if (!options.shapes.empty() && options.shapes.size() != dtypes_.size()) {
    throw invalid_argument("StagingArea shapes must be the same length as dtypes");
  }
}

OpBuilder MapStagingArea::builder(const std::string& op, const std::string& suffix, const OpOptions& options) const {
  OpBuilder builder((options_.ordered ? "Ordered" : "") + op,
                    {.name = options.name.empty() ? name_ + suffix : options.name, .where = options.where});
  builder.attr("shared_name", name_);
  builder.attr("capacity", options_.capacity).attr("memory_limit", options_.memory_limit);
  return builder;
}

std::vector<int> MapStagingArea::checked_indices(const std::vector<int>& indices) const {
  std::vector<int> checked = indices;
  if (indices.empty()) {
    for (int i = 0; i < std::ssize(dtypes_); ++i) checked.push_back(i);
  }
  for (const int index : checked) {
    if (index < 0 || index >= std::ssize(dtypes_)) {
      throw invalid_argument("staging area '", name_, "' has ", dtypes_.size(), " components and none at ", index);
    }
  }
  return checked;
}

std::vector<Output> MapStagingArea::with_shapes(Node& node, const std::vector<int>& indices, int first) const {
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    outputs.push_back(node.output(static_cast<int>(i) + first));
    if (!options_.shapes.empty()) outputs.back().set_shape(options_.shapes[indices[i]]);
  }
  return outputs;
}

Operation MapStagingArea::put(const Operand& key, const OperandList& values, const std::vector<int>& indices,
                              const OpOptions& options) const {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? name_ + "_put" : options.name);
  const std::vector<int> chosen_indices = checked_indices(indices);
  return builder("MapStage", "", {.name = scope.prefix(), .where = options.where})
      .attr("dtypes", dtypes_)
      .input(key.to_output(int64))
      .input(Operand(chosen_indices), int32)
      .inputs(internal::staged_values(name_, values, chosen_indices, dtypes_, options_.shapes))
      .build_operation();
}

std::vector<Output> MapStagingArea::get(const Operand& key, const std::vector<int>& indices,
                                        const OpOptions& options) const {
  const LocationScope where(options.where);
  const std::vector<int> chosen_indices = checked_indices(indices);
  return with_shapes(builder("MapUnstage", "_get", options)
                         .attr("dtypes", chosen(dtypes_, chosen_indices))
                         .input(key, int64)
                         .input(Operand(chosen_indices), int32)
                         .build_node(),
                     chosen_indices, 0);
}

std::pair<Output, std::vector<Output>> MapStagingArea::get_any(const std::vector<int>& indices,
                                                               const OpOptions& options) const {
  const LocationScope where(options.where);
  const std::vector<int> chosen_indices = checked_indices(indices);
  Node& node = builder("MapUnstageNoKey", "_get_nokey", options)
                   .attr("dtypes", chosen(dtypes_, chosen_indices))
                   .input(Operand(chosen_indices), int32)
                   .build_node();
  return {node.output(0), with_shapes(node, chosen_indices, 1)};
}

std::vector<Output> MapStagingArea::peek(const Operand& key, const std::vector<int>& indices,
                                         const OpOptions& options) const {
  const LocationScope where(options.where);
  const std::vector<int> chosen_indices = checked_indices(indices);
  return with_shapes(builder("MapPeek", "_pop", options)  // TensorFlow's name of it
                         .attr("dtypes", chosen(dtypes_, chosen_indices))
                         .input(key, int64)
                         .input(Operand(chosen_indices), int32)
                         .build_node(),
                     chosen_indices, 0);
}

Output MapStagingArea::size(const OpOptions& options) const {
  return builder("MapSize", "_size", options).attr("dtypes", dtypes_).build();
}
Output MapStagingArea::incomplete_size(const OpOptions& options) const {
  return builder("MapIncompleteSize", "_incomplete_size", options).attr("dtypes", dtypes_).build();
}
Operation MapStagingArea::clear(const OpOptions& options) const {
  return builder("MapClear", "_clear", options).attr("dtypes", dtypes_).build_operation();
}

}  // namespace caudal::inline v0
