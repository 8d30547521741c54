"""The master service without TensorFlow's client: requests as the wire has them, over a channel of gRPC.

TensorFlow's package holds no messages of this service, so the few fields are written by hand.
"""
import itertools
import random

import grpc

_SERVICE = "/tensorflow.MasterService/"


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def fields(message):
    """(field, value) of a serialized message; numbers and byte strings."""
    at = 0

    def take():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = take()
        if tag & 7 == 0:
            yield tag >> 3, take()
        elif tag & 7 == 2:
            size = take()
            yield tag >> 3, message[at:at + size]
            at += size
        else:
            size = 8 if tag & 7 == 1 else 4
            yield tag >> 3, message[at:at + size]
            at += size


def field(message, wanted, default=None):
    return next((value for number_, value in fields(message) if number_ == wanted), default)


class Master:
    """Calls of one server. Errors are grpc.RpcError, those of steps too."""

    def __init__(self, port):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[
            ("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1),
            ("grpc.use_local_subchannel_pool", 1)])
        self._ids = itertools.count(random.getrandbits(48))

    def call(self, method, request, timeout=60):
        return self.channel.unary_unary(_SERVICE + method)(request, timeout=timeout)

    def create(self, graph=b"", config=b""):
        return field(self.call("CreateSession", text(1, graph) + text(2, config)), 1).decode()

    def extend(self, session, graph, version):
        return field(self.call("ExtendSession", text(1, session) + text(2, graph) + number(3, version)), 4)

    def step_request(self, session, feeds=(), fetches=(), targets=(), timeout_ms=0, request_id=None):
        request = text(1, session)
        for name, tensor in feeds:
            request += text(2, text(1, name) + text(2, tensor))
        request += b"".join(text(3, name) for name in fetches) + b"".join(text(4, name) for name in targets)
        request += text(5, number(2, timeout_ms))
        return request + number(8, next(self._ids) if request_id is None else request_id)

    def run(self, session, timeout=60, **options):
        """name -> serialized tensor."""
        answer = self.call("RunStep", self.step_request(session, **options), timeout)
        return {field(entry, 1).decode(): field(entry, 2) for number_, entry in fields(answer) if number_ == 1}

    def close(self, session):
        self.call("CloseSession", text(1, session))

    def reset(self):
        self.call("Reset", b"")
