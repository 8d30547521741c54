"""One client of server_stress_test.py: PORT GRAPH SEED. Works until it is told to stop (end of its input) or killed; leaves with
a code other than 0 if anything is not as it must be. Imports no TensorFlow, so that it starts at once."""
import pathlib
import random
import select
import struct
import sys

import grpc

import master_protocol
from master_protocol import field, number, text

_FLOAT = 1


def floats(values):
    """A serialized float tensor."""
    shape = text(2, number(1, len(values)))
    return number(1, _FLOAT) + text(2, shape) + text(4, struct.pack(f"<{len(values)}f", *values))


def content(tensor):
    data = field(tensor, 4)
    return struct.unpack(f"<{len(data) // 4}f", data)


def asked_to_stop():
    return bool(select.select([sys.stdin], [], [], 0)[0])


def one_session(master, graph, pick):
    session = master.create(graph, number(15, 1))  # isolated
    master.run(session, targets=["init"])
    count = 0
    for _ in range(pick.randint(1, 60)):
        kind = pick.randrange(10)
        if kind < 6:
            [value] = content(master.run(session, fetches=["add:0"])["add:0"])
            count += 1
            assert value == count, (value, count)
        elif kind < 8:
            rows = [float(pick.randrange(100)) for _ in range(pick.choice([1, 10, 1000, 100000]))]
            got = content(master.run(session, feeds=[("x:0", floats(rows))], fetches=["y:0"])["y:0"])
            assert got[-1] == rows[-1] * 2, (got[-1], rows[-1])
        elif kind == 8:
            try:
                master.run(session, targets=["wait"], timeout_ms=pick.randint(1, 30))
                raise AssertionError("a wait for nothing has ended")
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, error
        else:
            call = master.channel.unary_unary("/tensorflow.MasterService/RunStep").future(
                master.step_request(session, targets=["wait"]))
            call.cancel()
    master.close(session)


def main():
    port, path, seed = sys.argv[1:]
    graph = pathlib.Path(path).read_bytes()
    pick = random.Random(int(seed))
    master = master_protocol.Master(int(port))
    while not asked_to_stop():
        one_session(master, graph, pick)


if __name__ == "__main__":
    main()
