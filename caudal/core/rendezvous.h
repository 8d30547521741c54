// Rendezvous: where a tensor sent under a key meets the one who waits for it (feeds and fetches of partial runs, edges
// between devices and tasks).
//
// A key is used once per step. Neither side blocks: recv_async calls back, at once if the tensor is there. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/base/error.h"
#include "caudal/base/export.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

class CAUDAL_API Rendezvous {
 public:
  struct Item {
    Tensor tensor;
    bool is_dead = false;
  };
  // Exactly one of both: an item, or why there is none.
  using Done = std::function<void(const Error* error, Item item)>;

  virtual ~Rendezvous();
  // Throws ABORTED if the rendezvous was aborted, INTERNAL for a key sent twice.
  virtual void send(std::string_view key, Item item) = 0;
  virtual void recv_async(std::string_view key, Done done) = 0;
  // Ends every wait, present and future, with `reason`.
  virtual void abort(const Error& reason) = 0;
};

// Within one process.
class CAUDAL_API LocalRendezvous final : public Rendezvous {
 public:
  ~LocalRendezvous() override;
  void send(std::string_view key, Item item) override;
  void recv_async(std::string_view key, Done done) override;
  void abort(const Error& reason) override;

 private:
  struct Slot {
    std::optional<Item> item;
    Done waiting;
  };
  std::mutex mutex_;
  std::map<std::string, Slot, std::less<>> slots_;
  std::optional<Error> aborted_;
};

}  // namespace caudal::inline v0
