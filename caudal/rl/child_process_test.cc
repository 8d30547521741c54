#include "caudal/rl/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "caudal/base/error.h"

namespace caudal::inline v0::rl {
namespace {

// The head of a program that answers: `link` and functions to receive and to answer.
const std::string kAnswering = R"python(
import socket, struct, sys, mmap, os, time, signal
link = socket.socket(fileno=int(sys.argv[1]))
def receive(size):
    parts = b""
    while len(parts) < size:
        part = link.recv(size - len(parts))
        if not part: os._exit(0)
        parts += part
    return parts
def request():
    kind, size = struct.unpack("<BI", receive(5))
    return kind, receive(size)
def answer(status, payload):
    link.sendall(struct.pack("<BI", status, len(payload)) + payload)
)python";

std::string program(const std::string& body) { return kAnswering + body; }

template <class Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(Code::kOk, "");
}

TEST(ChildProcess, AnswersAndSharesMemory) {
  const std::string text = program(R"python(
kind, payload = request()
memory = mmap.mmap(int(sys.argv[2]), 100)
memory[3] = memory[2] + 1
answer(0, payload[::-1] * 3)
answer(0, b"") if request() else 0
)python");
  ChildProcess child("python3", text.c_str());
  const auto memory = child.share(100);
  memory[2] = std::byte{41};
  EXPECT_EQ(child.ask(7, "abc", 60, 100), "cbacbacba");
  EXPECT_EQ(memory[3], std::byte{42});
  EXPECT_EQ(child.ask(7, std::string(100000, 'x'), 60, 100), "");
}

TEST(ChildProcess, TellsTheChildsErrors) {
  const std::string text = program("request()\nanswer(1, b'ValueError: no\\x01')\nrequest()");
  ChildProcess child("python3", text.c_str());
  const Error error = error_of([&] { child.ask(0, "", 60, 100); });
  EXPECT_EQ(error.code(), Code::kUnknown);
  EXPECT_EQ(error.detail(), "the Python process says ValueError: no\\x01");
}

TEST(ChildProcess, TellsThatTheChildEnded) {
  const std::string quits = program("request()\nos._exit(3)"), dies = program("request()\nos.kill(os.getpid(), 9)");
  ChildProcess first("python3", quits.c_str()), second("python3", dies.c_str());
  EXPECT_EQ(error_of([&] { first.ask(0, "", 60, 100); }).code(), Code::kUnavailable);
  const Error error = error_of([&] { second.ask(0, "", 60, 100); });
  EXPECT_EQ(error.detail(), "the Python process was ended by signal 9");
  EXPECT_EQ(error_of([&] { second.ask(0, "", 60, 100); }).code(), Code::kUnavailable) << "later calls say so too";
}

TEST(ChildProcess, EndsAnswersThatAreCutShort) {
  const std::string text = program("request()\nlink.sendall(b'\\0\\x10\\0\\0\\0abc')\nos._exit(0)");
  ChildProcess child("python3", text.c_str());
  EXPECT_EQ(error_of([&] { child.ask(0, "", 60, 100); }).code(), Code::kUnavailable);
}

TEST(ChildProcess, RefusesNonsense) {
  for (const char* bytes : {"b'\\0\\xff\\xff\\xff\\xff'", "b'\\x07\\0\\0\\0\\0'"}) {
    const std::string text = program(std::string("request()\nlink.sendall(") + bytes + ")\ntime.sleep(1000)");
    ChildProcess child("python3", text.c_str());
    EXPECT_EQ(error_of([&] { child.ask(0, "", 60, 100); }).code(), Code::kDataLoss);
  }
}

TEST(ChildProcess, DoesNotWaitForEver) {
  const std::string text = program("request()\ntime.sleep(1000)");
  ChildProcess child("python3", text.c_str());
  const pid_t pid = child.pid();
  EXPECT_EQ(error_of([&] { child.ask(0, "", 0.2, 100); }).code(), Code::kDeadlineExceeded);
  EXPECT_NE(kill(pid, 0), 0) << "the process is gone";
}

TEST(ChildProcess, NeedsAPython) {
  const Error error = error_of([] { ChildProcess("/nowhere/python", "1"); });
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_FALSE(error.advice().empty());
}

}  // namespace
}  // namespace caudal::inline v0::rl
