// Ops that write event files themselves (tf.raw_ops.WriteScalarSummary and its siblings; what tf.summary of TensorFlow
// 2 is made of). A writer is a resource: CreateSummaryFileWriter opens what SummaryWriter names.
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "caudal/core/kernel.h"
#include "caudal/core/op_registry.h"
#include "caudal/core/shape_context.h"
#include "caudal/core/step_context.h"
#include "caudal/formats/events.h"
#include "caudal/ops/named_resource.h"
#include "caudal/ops/op_util.h"
#include "caudal/ops/summary_values.h"

namespace caudal::inline v0 {
namespace {

// ---- The resource

// Writes at once, and hands to the system when `most_waiting` events or the time ask for it.
class SummaryWriterResource final : public Resource {
 public:
  SummaryWriterResource(Env& env, const std::string& directory, const std::string& suffix, std::int32_t most_waiting,
                        std::int32_t flush_millis)
      : directory_(directory),
        events_(env, directory, {.suffix = suffix}),
        most_waiting_(most_waiting),
        flush_millis_(flush_millis) {}

  std::string describe() const override { return "summary writer of '" + directory_ + "'"; }

  void write_summary(const std::string& summary, std::int64_t step) {
    written([&] { events_.write_summary(summary, step); });
  }
  void write_graph(const std::string& graph, std::int64_t step) {
    written([&] { events_.write_graph(graph, step); });
  }
  void write(const Event& event) {
    written([&] { events_.write(event); });
  }
  void flush() {
    const std::lock_guard lock(mutex_);
    flush_locked();
  }

 private:
  using Clock = std::chrono::steady_clock;

  template <class Write>
  void written(const Write& write) {
    const std::lock_guard lock(mutex_);
    write();
    const bool late = Clock::now() - flushed_ >= std::chrono::milliseconds(flush_millis_);
    if (++waiting_ > most_waiting_ || late) flush_locked();
  }
  void flush_locked() {
    events_.flush();
    waiting_ = 0;
    flushed_ = Clock::now();
  }

  const std::string directory_;
  std::mutex mutex_;
  EventWriter events_;
  const std::int32_t most_waiting_, flush_millis_;
  std::int32_t waiting_ = 0;
  Clock::time_point flushed_ = Clock::now();
};

// ---- Kernels

std::unique_ptr<Kernel> prepare_writer(PrepareContext& c) {
  class WriterKernel final : public Kernel {
   public:
    explicit WriterKernel(internal::HandleOutput handle) : handle_(std::move(handle)) {}
    void run(RunContext& c) const override { handle_.set(c); }

   private:
    internal::HandleOutput handle_;
  };
  return std::make_unique<WriterKernel>(internal::HandleOutput(c, internal::resource_name(c.node()), "SummaryWriter"));
}

template <class T>
const T& scalar_input(RunContext& c, int i) {
  const Tensor& value = c.input(i);
  if (value.rank() != 0) {
    throw invalid_argument(c.node().op->def.inputs[i].name, " must be a scalar, not ", value.describe());
  }
  return *value.data<T>();
}

std::shared_ptr<SummaryWriterResource> writer_of(RunContext& c) {
  const internal::ResourceName id = internal::resource_name(c, 0);
  auto writer = c.step().resources->find<SummaryWriterResource>(id.container, id.name);
  if (writer == nullptr) {
    throw not_found("the summary writer '", id.name, "' is not open")
        .hint("Run its initialiser (tf.summary's writer.init()), and nothing after it is closed.");
  }
  return writer;
}

void run_create(RunContext& c) {
  const internal::ResourceName id = internal::resource_name(c, 0);
  c.step().resources->get_or_create<SummaryWriterResource>(id.container, id.name, [&] {
    return std::make_shared<SummaryWriterResource>(*c.step().env, scalar_input<std::string>(c, 1),
                                                   scalar_input<std::string>(c, 4), scalar_input<std::int32_t>(c, 2),
                                                   scalar_input<std::int32_t>(c, 3));
  });
}

void run_flush(RunContext& c) { writer_of(c)->flush(); }

void run_close(RunContext& c) {
  const auto writer = writer_of(c);
  writer->flush();
  const internal::ResourceName id = internal::resource_name(c, 0);
  c.step().resources->remove<SummaryWriterResource>(id.container, id.name);
}

// `add` puts the values of one step into a summary.
template <void (*add)(RunContext& c, SummaryBuilder* summary)>
void run_write(RunContext& c) {
  SummaryBuilder summary;
  add(c, &summary);
  writer_of(c)->write_summary(summary.encode(), scalar_input<std::int64_t>(c, 1));
}

void add_tensor(RunContext& c, SummaryBuilder* summary) {
  const std::string metadata = scalar_input<std::string>(c, 4);
  const auto given = metadata.empty() ? std::nullopt : std::optional<std::string_view>(metadata);
  summary->tensor(scalar_input<std::string>(c, 3), "", c.input(2), given);
}
void add_scalar(RunContext& c, SummaryBuilder* summary) {
  if (c.input(3).rank() != 0) throw invalid_argument("value must be a scalar, not ", c.input(3).describe());
  summary->scalar(scalar_input<std::string>(c, 2), static_cast<float>(summary_values::numbers(c.input(3))[0]));
}
void add_histogram(RunContext& c, SummaryBuilder* summary) {
  summary_values::add_histogram(scalar_input<std::string>(c, 2), c.input(3), summary);
}
void add_images(RunContext& c, SummaryBuilder* summary) {
  summary_values::add_images(scalar_input<std::string>(c, 2), c.input(3), c.input(4),
                             c.node().attr<std::int64_t>("max_images"), summary);
}
void add_audio(RunContext& c, SummaryBuilder* summary) {
  summary_values::add_audio(scalar_input<std::string>(c, 2), c.input(3),
                            summary_values::scalar(c.input(4), "sample_rate"),
                            c.node().attr<std::int64_t>("max_outputs"), summary);
}

void run_write_raw(RunContext& c) {
  const auto writer = writer_of(c);
  for (const std::string& summary : c.input(2).flat<std::string>()) {
    decode_summary(summary);  // DATA_LOSS for what is none
    writer->write_summary(summary, scalar_input<std::int64_t>(c, 1));
  }
}

void run_write_graph(RunContext& c) {
  writer_of(c)->write_graph(scalar_input<std::string>(c, 2), scalar_input<std::int64_t>(c, 1));
}

void run_import(RunContext& c) { writer_of(c)->write(Event::decode(scalar_input<std::string>(c, 1))); }

// ---- Registrations

CAUDAL_REGISTER_OP({
    .name = "SummaryWriter",
    .outputs = "writer: resource",
    .attrs = "shared_name: string = ''; container: string = ''",
    .stateful = true,
    .shape = scalar_shape,
    .gradient = not_differentiable,
    .cpu = prepare_writer,
});
CAUDAL_REGISTER_OP({
    .name = "CreateSummaryFileWriter",
    .inputs = "writer: resource; logdir: string; max_queue: int32; flush_millis: int32; filename_suffix: string",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_create>,
});
CAUDAL_REGISTER_OP({
    .name = "FlushSummaryWriter",
    .inputs = "writer: resource",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_flush>,
});
CAUDAL_REGISTER_OP({
    .name = "CloseSummaryWriter",
    .inputs = "writer: resource",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_close>,
});
CAUDAL_REGISTER_OP({
    .name = "WriteSummary",
    .inputs = "writer: resource; step: int64; tensor: T; tag: string; summary_metadata: string",
    .attrs = "T: type",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_write<add_tensor>>,
});
CAUDAL_REGISTER_OP({
    .name = "WriteRawProtoSummary",
    .inputs = "writer: resource; step: int64; tensor: string",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_write_raw>,
});
CAUDAL_REGISTER_OP({
    .name = "WriteScalarSummary",
    .inputs = "writer: resource; step: int64; tag: string; value: T",
    .attrs = "T: realnumbertype",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_write<add_scalar>>,
});
CAUDAL_REGISTER_OP({
    .name = "WriteHistogramSummary",
    .inputs = "writer: resource; step: int64; tag: string; values: T",
    .attrs =
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, bool} = DT_FLOAT",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_write<add_histogram>>,
});
CAUDAL_REGISTER_OP({
    .name = "WriteImageSummary",
    .inputs = "writer: resource; step: int64; tag: string; tensor: T; bad_color: uint8",
    .attrs = "max_images: int >= 1 = 3; T: {uint8, double, float, half} = DT_FLOAT",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_write<add_images>>,
});
CAUDAL_REGISTER_OP({
    .name = "WriteAudioSummary",
    .inputs = "writer: resource; step: int64; tag: string; tensor: float; sample_rate: float",
    .attrs = "max_outputs: int >= 1 = 3",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_write<add_audio>>,
});
CAUDAL_REGISTER_OP({
    .name = "WriteGraphSummary",
    .inputs = "writer: resource; step: int64; tensor: string",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_write_graph>,
});
CAUDAL_REGISTER_OP({
    .name = "ImportEvent",
    .inputs = "writer: resource; event: string",
    .stateful = true,
    .shape = no_outputs_shape,
    .gradient = not_differentiable,
    .cpu = kernel_of<run_import>,
});

}  // namespace
}  // namespace caudal::inline v0
