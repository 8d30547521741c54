// The resource behind an iterator handle: a dataset's iterator, and where it stands.
//
// Ownership: found by name in the session's containers, or owned by its handle (anonymous ones). It calls functions of
// the session that set its dataset. When that ends (a server's session gets a new one when its graph is extended), the
// position is kept, and the next session that asks goes on there with its own functions. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "caudal/core/function_runtime.h"
#include "caudal/core/node_state.h"
#include "caudal/ops/dataset.h"
#include "caudal/ops/named_resource.h"

namespace caudal::inline v0::ops {

class IteratorResource final : public Resource,
                               public FunctionRuntime::User,
                               public std::enable_shared_from_this<IteratorResource> {
 public:
  using Done = std::function<void(const Error* error, bool got, Element element)>;

  IteratorResource(std::string name, std::vector<DType> types, std::vector<PartialShape> shapes)
      : name_(std::move(name)), types_(std::move(types)), shapes_(std::move(shapes)) {}
  ~IteratorResource() override;
  std::string describe() const override;
  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }
  // Throws INVALID_ARGUMENT for another number of components, other types, shapes that contradict.
  void check_types(const std::vector<DType>& types, const std::vector<PartialShape>& shapes) const;

  // Starts at the dataset's first element, or at the position that restore() left behind. Throws INVALID_ARGUMENT if
  // the elements have other types or shapes.
  void set_dataset(const StepContext& step, const DatasetPtr& dataset);
  bool is_set() const;
  // Calls `set`, which sets the dataset, unless that was done; concurrent callers wait for the first one.
  void set_once(const std::function<void()>& set);
  // The next element, or false at the end. Works in this thread.
  bool next(const StepContext& step, Element& element);
  // The same without keeping the thread where the pipeline may wait for something. The step must live until `done`.
  void next_async(const StepContext& step, Done done);

  // The position, as bytes; where a pipeline's position has none (it buffers windows), why. Empty: no dataset.
  std::string save();
  // Goes to a saved position: now, or with the first dataset. Throws DATA_LOSS if it is another pipeline's.
  void restore(std::string_view position);

  // Errors that ignore_errors() passed over since the dataset was set.
  std::int64_t ignored_errors() const;

  void functions_end() noexcept override;

 private:
  struct Pass;
  struct Worker;
  struct Left {
    DatasetPtr dataset;
    std::string position;
  };
  std::shared_ptr<Pass> pass(const StepContext& step);
  // Goes on from here: a pass over `dataset` from `position`, or from its first element.
  void begin(const StepContext& step, const DatasetPtr& dataset, const std::optional<std::string>& position);
  static std::string position_of(Pass& pass);
  static void restore_pass(Pass& pass, const StepContext& step, std::string_view position);

  const std::string name_;
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  std::mutex once_mutex_;
  mutable std::mutex mutex_;
  std::shared_ptr<Pass> pass_;
  std::optional<std::string> position_;  // to go to when there is a dataset
  std::optional<Left> left_;             // what a session that is over left behind
  std::shared_ptr<Worker> worker_;
};

// The iterator that a node makes, as part of the session's state: it finds the resource, and saves its position.
// An iterator without a shared name belongs to the node and the session, and goes with them.
class IteratorState final : public NodeState {
 public:
  ~IteratorState() override;
  std::string save() const override;
  void restore(std::string_view bytes) override;
  // The node's iterator, made at the first call; it goes to the position that was restored before. `id` gets the name.
  std::shared_ptr<IteratorResource> find_or_make(ResourceManager& resources, const NodeInfo& node,
                                                 internal::ResourceName& id);

 private:
  mutable std::mutex mutex_;
  std::weak_ptr<IteratorResource> iterator_;
  std::optional<std::string> pending_;
  ResourceManager* resources_ = nullptr;  // of a private iterator
  internal::ResourceName id_;
};

}  // namespace caudal::inline v0::ops
