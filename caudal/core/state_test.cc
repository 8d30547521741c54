// What lasts and what is shared: variables, resources, node states, rendezvous, cancellation.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "caudal/base/error.h"
#include "caudal/core/cancellation.h"
#include "caudal/core/node_state.h"
#include "caudal/core/rendezvous.h"
#include "caudal/core/resource_manager.h"
#include "caudal/core/variable_storage.h"
#include "caudal/core/variant_registry.h"

namespace caudal {
namespace {

template <class Action>
Code code_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(CancellationToken, CallsBackOnceAndKeepsTheFirstReason) {
  CancellationToken token;
  int calls = 0;
  const auto id = token.on_cancel([&] { ++calls; });
  const auto dropped = token.on_cancel([&] { calls += 100; });
  ASSERT_TRUE(id && dropped);
  EXPECT_TRUE(token.forget(*dropped));
  EXPECT_FALSE(token.forget(*dropped));  // and does not wait for what never comes
  EXPECT_NO_THROW(token.check());
  token.cancel(deadline_exceeded("late"));
  token.cancel(aborted("again"));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(token.is_cancelled());
  EXPECT_EQ(code_of([&] { token.check(); }), Code::kDeadlineExceeded);
  EXPECT_FALSE(token.forget(*id));
  EXPECT_FALSE(token.on_cancel([&] { ++calls; }));
  EXPECT_EQ(calls, 1);
}

TEST(CancellationToken, ReachesChildrenOfChildren) {
  CancellationToken top;
  CancellationToken middle(&top);
  CancellationToken bottom(&middle);
  bool called = false;
  const auto id = bottom.on_cancel([&] { called = true; });
  {
    CancellationToken gone(&middle);  // forgotten when it goes
  }
  top.cancel(cancelled("enough"));
  EXPECT_TRUE(called);
  EXPECT_FALSE(bottom.forget(*id));
  EXPECT_EQ(code_of([&] { bottom.check(); }), Code::kCancelled);
  CancellationToken late(&middle);
  EXPECT_TRUE(late.is_cancelled());
}

TEST(CancellationToken, AChildDoesNotCancelItsParent) {
  CancellationToken top;
  CancellationToken child(&top);
  child.cancel(cancelled("only here"));
  EXPECT_FALSE(top.is_cancelled());
}

TEST(CancellationToken, ManyThreadsCancelRegisterAndForget) {
  for (int round = 0; round < 50; ++round) {
    CancellationToken top;
    std::atomic<int> called{0};
    std::atomic<int> kept{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          CancellationToken child(&top);
          const auto id = child.on_cancel([&] { ++called; });
          if (id && !child.forget(*id)) ++kept;
        }
      });
    }
    threads.emplace_back([&] { top.cancel(cancelled("one")); });
    threads.emplace_back([&] { top.cancel(cancelled("two")); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(called, kept);  // forget() tells exactly those that ran
    EXPECT_EQ(code_of([&] { top.check(); }), Code::kCancelled);
  }
}

TEST(VariableStorage, ReadsBeforeAndAfterInitialisation) {
  VariableStorage variable("w", float32, {-1, 2});
  EXPECT_FALSE(variable.is_initialized());
  EXPECT_FALSE(variable.read_if_initialized().valid());
  EXPECT_EQ(code_of([&] { variable.read(); }), Code::kFailedPrecondition);
  EXPECT_EQ(code_of([&] { variable.update([](Tensor&) {}); }), Code::kFailedPrecondition);
  EXPECT_EQ(code_of([&] { variable.assign(Tensor(1)); }), Code::kInvalidArgument);
  EXPECT_EQ(code_of([&] { variable.assign(Tensor(1.0F)); }), Code::kInvalidArgument);
  EXPECT_EQ(variable.version(), 0U);
  variable.assign(Tensor::from<float>({1, 2}, {1, 2}));
  variable.assign(Tensor::from<float>({3}, {1, 2, 3}), false);
  EXPECT_EQ(variable.version(), 2U);
  EXPECT_EQ(variable.read().shape(), (Shape{3}));
}

TEST(VariableStorage, WritesInPlaceForASoleOwnerElseOnACopy) {
  VariableStorage variable("w", float32, {2});
  variable.assign(Tensor::from<float>({2}, {1, 2}));
  const char* before = variable.read().raw();
  variable.update([](Tensor& value) { value.data<float>()[0] = 10; });
  EXPECT_EQ(variable.read().raw(), before);
  const Tensor held = variable.read();
  variable.update([](Tensor& value) { value.data<float>()[0] = 20; });
  EXPECT_EQ(held.at<float>(0), 10);
  EXPECT_EQ(variable.read().at<float>(0), 20);
  EXPECT_NE(variable.read().raw(), before);
  EXPECT_EQ(variable.version(), 3U);
}

TEST(VariableStorage, AReadIsOldOrNewNeverTorn) {
  constexpr int kSize = 4096;
  VariableStorage variable("w", int32, {kSize});
  variable.assign(Tensor::zeros(int32, {kSize}));
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      int last = 0;
      while (!stop) {
        const Tensor value = variable.read();
        const auto all = value.flat<int>();
        const int first = all[0];
        for (const int x : all) torn += x != first;
        torn += first < last;  // and never goes back
        last = first;
      }
    });
  }
  std::vector<std::thread> writers;
  for (int t = 0; t < 2; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        variable.update([](Tensor& value) {
          for (int& x : value.flat<int>()) ++x;
        });
      }
    });
  }
  for (auto& thread : writers) thread.join();
  stop = true;
  for (auto& thread : readers) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(variable.read().at<int>(0), 1000);  // no update is lost
}

TEST(VariableStorage, LocksOfSeveralCannotDeadlock) {
  VariableStorage a("a", int32, {});
  VariableStorage b("b", int32, {});
  a.assign(Tensor(0));
  b.assign(Tensor(0));
  const auto add = [](VariableStorage& x, VariableStorage& y) {
    for (int i = 0; i < 500; ++i) {
      const VariableStorage::Lock lock({&x, &y, &x});  // one may come twice
      x.mutable_value_locked().data<int>()[0]++;
      y.mutable_value_locked().data<int>()[0]++;
    }
  };
  std::thread one([&] { add(a, b); });
  std::thread two([&] { add(b, a); });
  one.join();
  two.join();
  EXPECT_EQ(a.read().item<int>(), 1000);
  EXPECT_EQ(b.read().item<int>(), 1000);
}

TEST(ResourceManager, FindsByContainerTypeAndName) {
  class Counter final : public Resource {
   public:
    std::string describe() const override { return "counter"; }
  };
  ResourceManager manager;
  int made = 0;
  const std::function<std::shared_ptr<Counter>()> make = [&] {
    ++made;
    return std::make_shared<Counter>();
  };
  const auto first = manager.get_or_create<Counter>("", "c", make);
  EXPECT_EQ(manager.get_or_create<Counter>("", "c", make), first);
  EXPECT_NE(manager.get_or_create<Counter>("other", "c", make), first);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(manager.find<VariableStorage>("", "c"), nullptr);  // another type: another thing
  EXPECT_EQ(code_of([&] { manager.get<VariableStorage>("", "c"); }), Code::kNotFound);
  EXPECT_EQ(manager.describe().size(), 2U);
  manager.clear("other");
  EXPECT_EQ(manager.find<Counter>("other", "c"), nullptr);
  EXPECT_EQ(manager.find<Counter>("", "c"), first);
  EXPECT_TRUE(manager.remove<Counter>("", "c"));
  EXPECT_FALSE(manager.remove<Counter>("", "c"));
  EXPECT_EQ(first.use_count(), 1);
  const std::function<std::shared_ptr<Counter>()> fail = []() -> std::shared_ptr<Counter> { throw aborted("no"); };
  EXPECT_EQ(code_of([&] { manager.get_or_create<Counter>("", "x", fail); }), Code::kAborted);
  EXPECT_EQ(manager.find<Counter>("", "x"), nullptr);
  manager.get_or_create<Counter>("a", "c", make);
  manager.clear_all();
  EXPECT_TRUE(manager.describe().empty());
}

TEST(Rendezvous, TensorsMeetInEitherOrder) {
  LocalRendezvous rendezvous;
  int received = 0;
  const auto take = [&](const Error* error, Rendezvous::Item item) {
    ASSERT_EQ(error, nullptr);
    received = item.tensor.item<int>();
  };
  rendezvous.send("a", {Tensor(1)});
  EXPECT_EQ(code_of([&] { rendezvous.send("a", {Tensor(2)}); }), Code::kInternal);
  rendezvous.recv_async("a", take);
  EXPECT_EQ(received, 1);
  rendezvous.recv_async("b", take);
  EXPECT_EQ(received, 1);
  rendezvous.send("b", {Tensor(3)});
  EXPECT_EQ(received, 3);
}

TEST(Rendezvous, AbortEndsEveryWait) {
  Code first = Code::kOk;
  Code second = Code::kOk;
  Code third = Code::kOk;
  {
    LocalRendezvous rendezvous;
    const auto note = [](Code& code) {
      return [&code](const Error* error, Rendezvous::Item) { code = error == nullptr ? Code::kOk : error->code(); };
    };
    rendezvous.recv_async("a", note(first));
    Code twice = Code::kOk;
    rendezvous.recv_async("a", note(twice));
    EXPECT_EQ(twice, Code::kInternal);
    rendezvous.abort(deadline_exceeded("late"));
    EXPECT_EQ(first, Code::kDeadlineExceeded);
    rendezvous.recv_async("b", note(second));
    EXPECT_EQ(second, Code::kDeadlineExceeded);
    EXPECT_EQ(code_of([&] { rendezvous.send("c", {Tensor(1)}); }), Code::kDeadlineExceeded);
    LocalRendezvous short_lived;
    short_lived.recv_async("a", note(third));
  }
  EXPECT_EQ(third, Code::kCancelled);
}

class TestState final : public NodeState {
 public:
  std::string save() const override { return std::to_string(count); }
  void restore(std::string_view bytes) override {
    if (bytes.empty() || bytes.find_first_not_of("0123456789") != bytes.npos) throw data_loss("no count");
    count = std::stoi(std::string(bytes));
  }
  int count = 0;
};

TEST(NodeStates, SaveAndRestoreBeforeAndAfterUse) {
  OpSpec spec{.name = "Counting"};
  spec.state = [](const NodeInfo&) -> std::unique_ptr<NodeState> { return std::make_unique<TestState>(); };
  const Op op{&spec, parse_op_def("Counting", "", "", "")};
  const auto info = [&](const char* name) {
    NodeInfo node;
    node.name = name;
    node.op = &op;
    return node;
  };
  NodeStates states;
  auto& a = static_cast<TestState&>(states.get(info("a")));
  a.count = 5;
  EXPECT_EQ(&states.get(info("a")), &a);
  states.restore({{"a", "7"}, {"b", "9"}});
  EXPECT_EQ(a.count, 7);
  EXPECT_EQ(states.save(), (std::map<std::string, std::string>{{"a", "7"}, {"b", "9"}}));  // b is not used yet
  EXPECT_EQ(static_cast<TestState&>(states.get(info("b"))).count, 9);
  states.restore({{"c", "damaged"}});
  EXPECT_EQ(code_of([&] { states.get(info("c")); }), Code::kDataLoss);
  EXPECT_EQ(code_of([&] { states.get(info("c")); }), Code::kDataLoss);  // not a fresh state at the second attempt
  EXPECT_EQ(states.save().at("c"), "damaged");
}

TEST(NodeStates, AnOpWithoutStateLeavesNothingBehind) {
  const OpSpec spec{.name = "Stateless"};
  const Op op{&spec, parse_op_def("Stateless", "", "", "")};
  NodeInfo node;
  node.name = "a";
  node.op = &op;
  NodeStates states;
  EXPECT_EQ(code_of([&] { states.get(node); }), Code::kInternal);
  EXPECT_TRUE(states.save().empty());
}

TEST(VariantRegistry, AnUnknownTypeIsUnimplemented) {
  EXPECT_EQ(code_of([] { variant_ops("no such type"); }), Code::kUnimplemented);
}

}  // namespace
}  // namespace caudal
