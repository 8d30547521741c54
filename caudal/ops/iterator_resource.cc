#include "caudal/ops/iterator_resource.h"

#include <atomic>
#include <map>
#include <utility>

#include "caudal/base/error.h"

namespace caudal::inline v0::ops {
namespace {

// How a saved position begins: with bytes of a StateArchive, or with why there are none.
constexpr char kSaved = 'p', kNotSaved = '!';

}  // namespace

// One pass over a dataset. The iterator belongs to whoever holds the mutex.
struct IteratorResource::Pass {
  Pass(const StepContext& step, DatasetPtr passed)
      : host(std::make_shared<IteratorHost>(step)), dataset(std::move(passed)) {
    iterator = dataset->make_iterator({&step, host});
  }
  ~Pass() { host->end(); }

  const std::shared_ptr<IteratorHost> host;
  const DatasetPtr dataset;
  std::mutex mutex;
  std::unique_ptr<DatasetIterator> iterator;  // none when its session is over
};

// A thread for what may wait. Ends when the resource does, also if it is this thread that lets go of it.
struct IteratorResource::Worker {
  std::mutex mutex;
  std::condition_variable signal;
  std::deque<std::function<void()>> tasks;
  bool stop = false;
  std::thread thread;

  static void work(const std::shared_ptr<Worker>& self) {
    std::unique_lock lock(self->mutex);
    for (;;) {
      self->signal.wait(lock, [&] { return self->stop || !self->tasks.empty(); });
      if (self->tasks.empty()) return;
      auto task = std::move(self->tasks.front());
      self->tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }
};

IteratorResource::~IteratorResource() {
  if (worker_ == nullptr) return;
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->stop = true;
  }
  worker_->signal.notify_all();
  if (worker_->thread.get_id() == std::this_thread::get_id()) {
    worker_->thread.detach();
  } else {
    worker_->thread.join();
  }
}

std::string IteratorResource::describe() const {
  std::string text = "iterator '" + name_ + "' over elements of ";
  for (std::size_t i = 0; i < types_.size(); ++i) {
    text += internal::concat(i == 0 ? "" : ", ", types_[i], shapes_[i]);
  }
  return text;
}

void IteratorResource::check_types(const std::vector<DType>& types, const std::vector<PartialShape>& shapes) const {
  bool fits = types == types_ && shapes.size() == shapes_.size();
  for (std::size_t i = 0; fits && i < shapes.size(); ++i) fits = shapes[i].compatible(shapes_[i]);
  if (!fits) {
    throw invalid_argument(describe(), " is asked for elements of types ", AttrValue(types), " and shapes ",
                           AttrValue(shapes));
  }
}

void IteratorResource::set_once(const std::function<void()>& set) {
  const std::lock_guard lock(once_mutex_);
  if (!is_set()) set();
}

void IteratorResource::set_dataset(const StepContext& step, const DatasetPtr& dataset) {
  std::optional<std::string> position;
  {
    const std::lock_guard lock(mutex_);
    position.swap(position_);
  }
  begin(step, dataset, position);
}

void IteratorResource::begin(const StepContext& step, const DatasetPtr& dataset,
                             const std::optional<std::string>& position) {
  check_dataset(*dataset, types_, shapes_);
  if (step.functions != nullptr) {
    step.functions->add_user(std::shared_ptr<FunctionRuntime::User>(shared_from_this()));
  }
  auto pass = std::make_shared<Pass>(step, dataset);
  if (position) restore_pass(*pass, step, *position);
  const std::lock_guard lock(mutex_);
  pass_.swap(pass);
  left_.reset();
}

bool IteratorResource::is_set() const {
  const std::lock_guard lock(mutex_);
  return pass_ != nullptr || left_;
}

std::shared_ptr<IteratorResource::Pass> IteratorResource::pass(const StepContext& step) {
  {
    const std::lock_guard lock(mutex_);
    if (pass_ != nullptr) return pass_;
  }
  const std::lock_guard once(once_mutex_);
  std::optional<Left> left;
  {
    const std::lock_guard lock(mutex_);
    if (pass_ != nullptr) return pass_;
    left = left_;
  }
  if (!left) {
    throw failed_precondition(
        "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer "
        "operation for this iterator before getting the next element.");
  }
  begin(step, left->dataset, left->position);
  const std::lock_guard lock(mutex_);
  return pass_;
}

bool IteratorResource::next(const StepContext& step, Element& element) {
  const auto pass = this->pass(step);
  const std::lock_guard lock(pass->mutex);
  if (pass->iterator == nullptr) throw failed_precondition("iterator '", name_, "' belonged to a session that is over");
  const Iteration iteration{&step, pass->host};
  iteration.check();
  element.clear();
  if (!pass->iterator->next(iteration, element)) return false;
  check_element(element, types_, shapes_);
  return true;
}

void IteratorResource::next_async(const StepContext& step, Done done) {
  const auto work = [self = shared_from_this(), &step, done] {
    Element element;
    std::optional<Error> failure;
    bool got = false;
    try {
      got = self->next(step, element);
    } catch (const Error& error) {
      failure = error;
    } catch (const std::bad_alloc&) {
      failure = resource_exhausted("out of memory");
    }
    done(failure ? &*failure : nullptr, got, std::move(element));
  };
  std::shared_ptr<Pass> now;
  {
    const std::lock_guard lock(mutex_);
    now = pass_;
  }
  if (now == nullptr || !now->dataset->may_wait()) return work();
  std::shared_ptr<Worker> worker;
  {
    const std::lock_guard lock(mutex_);
    if (worker_ == nullptr) {
      worker_ = std::make_shared<Worker>();
      worker_->thread = std::thread([own = worker_] { Worker::work(own); });
    }
    worker = worker_;
  }
  const std::lock_guard lock(worker->mutex);
  worker->tasks.push_back(work);
  worker->signal.notify_all();
}

std::string IteratorResource::save() {
  std::shared_ptr<Pass> pass;
  {
    const std::lock_guard lock(mutex_);
    if (pass_ == nullptr) return left_ ? left_->position : position_.value_or("");
    pass = pass_;
  }
  const std::lock_guard lock(pass->mutex);
  if (pass->iterator == nullptr) throw failed_precondition("iterator '", name_, "' belonged to a session that is over");
  return position_of(*pass);
}

std::string IteratorResource::position_of(Pass& pass) {
  StateArchive archive;
  try {
    pass.iterator->transfer({&pass.host->background(), pass.host}, archive);
  } catch (const Error& error) {
    if (error.code() != Code::kUnimplemented) throw;
    return kNotSaved + error.detail();
  }
  auto states = pass.host->states().save();
  archive.count(states.size());
  for (auto& [name, bytes] : states) {
    std::string key = name;
    archive.text(key);
    archive.text(bytes);
  }
  return kSaved + archive.take();
}

void IteratorResource::restore_pass(Pass& pass, const StepContext& step, std::string_view position) {
  if (position.starts_with(kNotSaved)) {
    throw failed_precondition("the position of the iterator was not saved: ", position.substr(1))
        .hint("Run the initializer again to begin with the first element.");
  }
  if (!position.starts_with(kSaved)) throw data_loss("the saved position of an iterator is damaged");
  position.remove_prefix(1);
  StateArchive archive(position);
  pass.iterator->transfer({&step, pass.host}, archive);
  std::map<std::string, std::string> states;
  for (std::size_t left = archive.count(0); left > 0; --left) {
    std::string name;
    archive.text(name);
    archive.text(states[name]);
  }
  pass.host->states().restore(states);
  archive.check_end();
}

void IteratorResource::restore(std::string_view position) {
  std::shared_ptr<Pass> old;
  {
    const std::lock_guard lock(mutex_);
    if (pass_ == nullptr) {
      if (left_) {
        left_->position = std::string(position);
      } else {
        position_ = std::string(position);
      }
      return;
    }
    old = pass_;
  }
  const StepContext& step = old->host->background();
  auto pass = std::make_shared<Pass>(step, old->dataset);
  restore_pass(*pass, step, position);
  const std::lock_guard lock(mutex_);
  pass_.swap(pass);
}

std::int64_t IteratorResource::ignored_errors() const {
  const std::lock_guard lock(mutex_);
  return pass_ == nullptr ? 0 : pass_->host->ignored();
}

void IteratorResource::functions_end() noexcept {
  std::shared_ptr<Pass> pass;
  {
    const std::lock_guard lock(mutex_);
    pass_.swap(pass);
    if (pass == nullptr) return;
  }
  // What may wait for others would wait for ever now.
  if (pass->dataset->may_wait()) pass->host->end();
  const std::lock_guard lock(pass->mutex);
  std::string position;
  try {
    position = pass->dataset->may_wait() ? std::string(1, kNotSaved) + "its functions may wait for other sessions"
                                         : position_of(*pass);
  } catch (const std::exception& error) {
    position = std::string(1, kNotSaved) + error.what();
  }
  pass->host->end();
  pass->iterator.reset();
  const std::lock_guard own(mutex_);
  if (pass_ == nullptr) left_ = Left{pass->dataset, std::move(position)};
}

IteratorState::~IteratorState() {
  if (resources_ != nullptr) resources_->remove<IteratorResource>(id_.container, id_.name);
}

std::string IteratorState::save() const {
  std::shared_ptr<IteratorResource> iterator;
  {
    const std::lock_guard lock(mutex_);
    iterator = iterator_.lock();
    if (iterator == nullptr) return pending_.value_or("");
  }
  return iterator->save();
}

void IteratorState::restore(std::string_view bytes) {
  std::shared_ptr<IteratorResource> iterator;
  {
    const std::lock_guard lock(mutex_);
    pending_.reset();
    if (bytes.empty()) return;
    iterator = iterator_.lock();
    if (iterator == nullptr) pending_ = std::string(bytes);
  }
  if (iterator != nullptr) iterator->restore(bytes);
}

std::shared_ptr<IteratorResource> IteratorState::find_or_make(ResourceManager& resources, const NodeInfo& node,
                                                              internal::ResourceName& id) {
  static std::atomic<std::int64_t> count{0};
  const std::lock_guard lock(mutex_);
  if (id_.name.empty()) {
    id_ = internal::resource_name(node);
    if (node.attr<std::string>("shared_name").empty()) {
      id_.name = internal::concat('_', count++, id_.name);
      resources_ = &resources;
    }
  }
  id = id_;
  const Dataset::Spec spec = dataset_spec(node);
  auto iterator = resources.get_or_create<IteratorResource>(
      id.container, id.name, [&] { return std::make_shared<IteratorResource>(node.name, spec.types, spec.shapes); });
  iterator->check_types(spec.types, spec.shapes);
  iterator_ = iterator;
  if (pending_) iterator->restore(*pending_);
  pending_.reset();
  return iterator;
}

}  // namespace caudal::inline v0::ops
