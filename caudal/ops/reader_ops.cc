#include "caudal/ops/reader_ops.h"

#include <memory>
#include <utility>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/named_resource.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/reader_resource.h"

namespace caudal::inline v0 {
namespace {

using internal::QueueResource;
using internal::ReaderResource;

// ---- Shape functions

void reference_handle_shape(ShapeContext& c) { c.set_output(0, {2}); }

void check_handles(ShapeContext& c, int handles) {
  for (int i = 0; i < handles; ++i) {
    const bool fits = c.node().input_types[i] == resource ? c.input(i).compatible(PartialShape::scalar())
                                                          : c.input(i).compatible(PartialShape{2});
    if (!fits) throw invalid_argument("input ", i, " is no handle: its shape is ", c.input(i));
  }
}

void query_shape(ShapeContext& c) {
  check_handles(c, 1);
  scalar_shape(c);
}

void read_shape(ShapeContext& c) {
  check_handles(c, 2);
  scalar_shape(c);
}

void read_up_to_shape(ShapeContext& c) {
  check_handles(c, 2);
  c.with_rank(2, 0);
  c.set_output(0, PartialShape::unknown_of_rank(1));
  c.set_output(1, PartialShape::unknown_of_rank(1));
}

void restore_shape(ShapeContext& c) {
  check_handles(c, 1);
  c.with_rank(1, 0);
}

// ---- Kernels

class ReaderKernel final : public Kernel {
 public:
  explicit ReaderKernel(PrepareContext& c)
      : id_(internal::resource_name(c.node())), handle_(c, id_, "tensorflow::ReaderInterface") {
    internal::make_record_source(c.node());  // tells what is wrong before anything runs
  }
  void run(RunContext& c) const override {
    c.step().resources->get_or_create<ReaderResource>(id_.container, id_.name, [&] {
      std::string kind = c.node().type();
      if (kind.ends_with("V2")) kind.resize(kind.size() - 2);
      return std::make_shared<ReaderResource>(kind + " '" + c.node().name + "'",
                                              internal::make_record_source(c.node()));
    });
    handle_.set(c);
  }

 private:
  internal::ResourceName id_;
  internal::HandleOutput handle_;
};

Tensor string_vector(std::vector<std::string> values) { return Tensor(std::move(values)); }

// ReaderRead and ReaderReadUpTo.
class ReadKernel final : public WaitingKernel {
 public:
  explicit ReadKernel(bool up_to) : up_to_(up_to) {}
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto reader = internal::resource_of<ReaderResource>(c, 0);
      const auto queue = internal::resource_of<QueueResource>(c, 1);
      const std::int64_t count = up_to_ ? scalar_int(c.input(2), "num_records") : 1;
      reader->read({c.step().cancellation, &c.step().device->allocator()}, *c.step().env, queue, count, up_to_,
                   [reader, &c, done, up_to = up_to_](const Error* error, ReaderResource::Records records) {
                     if (error != nullptr) return done(error);
                     if (up_to) {
                       c.set_output(0, string_vector(std::move(records.keys)));
                       c.set_output(1, string_vector(std::move(records.values)));
                     } else {
                       c.set_output(0, Tensor(std::move(records.keys[0])));
                       c.set_output(1, Tensor(std::move(records.values[0])));
                     }
                     done(nullptr);
                   });
    });
  }

 private:
  bool up_to_;
};

// What needs the reader for a moment.
template <void (*use)(RunContext&, ReaderResource&)>
class TurnKernel final : public WaitingKernel {
  void run_async(RunContext& c, Done done) const override {
    internal::start_wait(done, [&] {
      const auto reader = internal::resource_of<ReaderResource>(c, 0);
      reader->take_turn(
          c.step().cancellation, [reader, &c] { use(c, *reader); },
          [reader, done](const Error* error) { done(error); });
    });
  }
};

void use_produced(RunContext& c, ReaderResource& reader) { c.set_output(0, Tensor(reader.records_produced())); }
void use_finished(RunContext& c, ReaderResource& reader) { c.set_output(0, Tensor(reader.work_finished())); }
void use_save(RunContext& c, ReaderResource& reader) { c.set_output(0, Tensor(reader.save_state())); }
void use_reset(RunContext&, ReaderResource& reader) { reader.reset(); }
void use_restore(RunContext& c, ReaderResource& reader) {
  if (c.input(1).rank() != 0) {
    throw invalid_argument("Reader state must be scalar, but had shape: ", c.input(1).shape());
  }
  reader.restore_state(c.input(1).item<std::string>());
}

std::unique_ptr<Kernel> prepare_reader(PrepareContext& c) { return std::make_unique<ReaderKernel>(c); }
template <bool up_to>
std::unique_ptr<Kernel> prepare_read(PrepareContext&) {
  return std::make_unique<ReadKernel>(up_to);
}
template <void (*use)(RunContext&, ReaderResource&)>
std::unique_ptr<Kernel> prepare_turn(PrepareContext&) {
  return std::make_unique<TurnKernel<use>>();
}

// ---- Registrations

#define CAUDAL_NAME_ATTRS "container: string = ''; shared_name: string = ''"

// A kind of reader; `deprecated`: since when its older form is refused in new graphs.
#define CAUDAL_REGISTER_READER(op, deprecated, attributes, attributes_v2) \
  CAUDAL_REGISTER_OP({                                                    \
      .name = op,                                                         \
      .outputs = "reader_handle: Ref(string)",                            \
      .attrs = attributes,                                                \
      .stateful = true,                                                   \
      .deprecated_version = deprecated,                                   \
      .shape = reference_handle_shape,                                    \
      .gradient = not_differentiable,                                     \
      .cpu = prepare_reader,                                              \
  });                                                                     \
  CAUDAL_REGISTER_OP({                                                    \
      .name = op "V2",                                                    \
      .outputs = "reader_handle: resource",                               \
      .attrs = attributes_v2,                                             \
      .stateful = true,                                                   \
      .shape = scalar_shape,                                              \
      .gradient = not_differentiable,                                     \
      .cpu = prepare_reader,                                              \
  })
CAUDAL_REGISTER_READER("WholeFileReader", 0, CAUDAL_NAME_ATTRS, CAUDAL_NAME_ATTRS);
CAUDAL_REGISTER_READER("IdentityReader", 26, CAUDAL_NAME_ATTRS, CAUDAL_NAME_ATTRS);
CAUDAL_REGISTER_READER("TextLineReader", 26, "skip_header_lines: int = 0; " CAUDAL_NAME_ATTRS,
                       "skip_header_lines: int = 0; " CAUDAL_NAME_ATTRS);
CAUDAL_REGISTER_READER("TFRecordReader", 26, CAUDAL_NAME_ATTRS "; compression_type: string = ''",
                       CAUDAL_NAME_ATTRS "; compression_type: string = ''");
#define CAUDAL_FIXED_LENGTH_ATTRS \
  "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; " CAUDAL_NAME_ATTRS
CAUDAL_REGISTER_READER("FixedLengthRecordReader", 26, CAUDAL_FIXED_LENGTH_ATTRS,
                       CAUDAL_FIXED_LENGTH_ATTRS "; encoding: string = ''");

// An op on a reader, for both kinds of handles.
#define CAUDAL_REGISTER_READER_USE(op, ins, ins_v2, outs, shape_fn, prepare_fn) \
  CAUDAL_REGISTER_OP({                                                          \
      .name = op,                                                               \
      .inputs = "reader_handle: Ref(string)" ins,                               \
      .outputs = outs,                                                          \
      .shape = shape_fn,                                                        \
      .gradient = not_differentiable,                                           \
      .cpu = prepare_fn,                                                        \
  });                                                                           \
  CAUDAL_REGISTER_OP({                                                          \
      .name = op "V2",                                                          \
      .inputs = "reader_handle: resource" ins_v2,                               \
      .outputs = outs,                                                          \
      .stateful = true,                                                         \
      .shape = shape_fn,                                                        \
      .gradient = not_differentiable,                                           \
      .cpu = prepare_fn,                                                        \
  })
CAUDAL_REGISTER_READER_USE("ReaderRead", "; queue_handle: Ref(string)", "; queue_handle: resource",
                           "key: string; value: string", read_shape, prepare_read<false>);
CAUDAL_REGISTER_READER_USE("ReaderReadUpTo", "; queue_handle: Ref(string); num_records: int64",
                           "; queue_handle: resource; num_records: int64", "keys: string; values: string",
                           read_up_to_shape, prepare_read<true>);
CAUDAL_REGISTER_READER_USE("ReaderNumRecordsProduced", "", "", "records_produced: int64", query_shape,
                           prepare_turn<use_produced>);
CAUDAL_REGISTER_READER_USE("ReaderNumWorkUnitsCompleted", "", "", "units_completed: int64", query_shape,
                           prepare_turn<use_finished>);
CAUDAL_REGISTER_READER_USE("ReaderSerializeState", "", "", "state: string", query_shape, prepare_turn<use_save>);
CAUDAL_REGISTER_READER_USE("ReaderRestoreState", "; state: string", "; state: string", "", restore_shape,
                           prepare_turn<use_restore>);
CAUDAL_REGISTER_READER_USE("ReaderReset", "", "", "", query_shape, prepare_turn<use_reset>);

std::string form(const Output& ref, const char* op) { return ref.dtype() == resource ? std::string(op) + "V2" : op; }

}  // namespace

// ---- The classes

std::pair<Output, Output> ReaderBase::read(const QueueBase& queue, const OpOptions& options) const {
  Node& node = OpBuilder(form(ref_, "ReaderRead"), options).input(ref_).input(queue.queue_ref()).build_node();
  return {node.output(0), node.output(1)};
}

std::pair<Output, Output> ReaderBase::read_up_to(const QueueBase& queue, const Operand& num_records,
                                                 const OpOptions& options) const {
  const LocationScope where(options.where);
  Node& node = OpBuilder(form(ref_, "ReaderReadUpTo"), options)
                   .input(ref_)
                   .input(queue.queue_ref())
                   .input(num_records.to_output(int64))
                   .build_node();
  return {node.output(0), node.output(1)};
}

Output ReaderBase::num_records_produced(const OpOptions& options) const {
  return OpBuilder(form(ref_, "ReaderNumRecordsProduced"), options).input(ref_).build();
}
Output ReaderBase::num_work_units_completed(const OpOptions& options) const {
  return OpBuilder(form(ref_, "ReaderNumWorkUnitsCompleted"), options).input(ref_).build();
}
Output ReaderBase::serialize_state(const OpOptions& options) const {
  return OpBuilder(form(ref_, "ReaderSerializeState"), options).input(ref_).build();
}
Operation ReaderBase::restore_state(const Operand& state, const OpOptions& options) const {
  const LocationScope where(options.where);
  return OpBuilder(form(ref_, "ReaderRestoreState"), options).input(ref_).input(state).build_operation();
}
Operation ReaderBase::reset(const OpOptions& options) const {
  return OpBuilder(form(ref_, "ReaderReset"), options).input(ref_).build_operation();
}

WholeFileReader::WholeFileReader(const OpOptions& options)
    : ReaderBase(OpBuilder("WholeFileReaderV2", options).build()) {}
IdentityReader::IdentityReader(const OpOptions& options) : ReaderBase(OpBuilder("IdentityReaderV2", options).build()) {}
TextLineReader::TextLineReader(const Options& options)
    : ReaderBase(OpBuilder("TextLineReaderV2", {.name = options.name, .where = options.where})
                     .attr("skip_header_lines", options.skip_header_lines)
                     .build()) {}
FixedLengthRecordReader::FixedLengthRecordReader(std::int64_t record_bytes, const Options& options)
    : ReaderBase(OpBuilder("FixedLengthRecordReaderV2", {.name = options.name, .where = options.where})
                     .attr("record_bytes", record_bytes)
                     .attr("header_bytes", options.header_bytes)
                     .attr("footer_bytes", options.footer_bytes)
                     .attr("hop_bytes", options.hop_bytes)
                     .attr("encoding", options.encoding)
                     .build()) {}
TFRecordReader::TFRecordReader(const Options& options)
    : ReaderBase(OpBuilder("TFRecordReaderV2", {.name = options.name, .where = options.where})
                     .attr("compression_type", options.compression_type)
                     .build()) {}

}  // namespace caudal::inline v0
