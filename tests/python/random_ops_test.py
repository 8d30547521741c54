"""Random calls of ops beside TensorFlow's (random_ops.py): some ops here, all of them with CAUDAL_RANDOM_OPS=all.

CAUDAL_RANDOM_OPS=all, or names of ops with commas, makes 20 calls of each op and type; CAUDAL_RANDOM_SEED=N makes others;
CAUDAL_RANDOM_REPORT=FILE takes a line of JSON for each op and type. The whole run takes about a quarter of an hour.
"""
import json
import os
import subprocess
import unittest

import random_op_lists
import random_ops
from server_process import ServerProcess

_WANTED = os.environ.get("CAUDAL_RANDOM_OPS", "")
_SEED = int(os.environ.get("CAUDAL_RANDOM_SEED", 0))
_REPORT = os.environ.get("CAUDAL_RANDOM_REPORT", os.devnull)
_SOME = """Add AddV2 Mul RealDiv FloorMod Maximum Pow SquaredDifference Exp Log1p Tanh Sigmoid Sqrt Relu Elu Softmax Sum Mean Max
Prod All MatMul BatchMatMulV2 Conv2D BiasAdd ConcatV2 Pack Unpack Tile Transpose Pad GatherNd GatherV2 OneHot SelectV2 Cast Equal Less
UnsortedSegmentSum SparseToDense StridedSlice ScatterAdd ResourceApplyAdam ApplyMomentum Squeeze ExpandDims""".split()


def _registered():
    shown = subprocess.run([os.environ["CAUDAL_BIN"], "ops", "--json"], stdout=subprocess.PIPE, check=True)
    return json.loads(shown.stdout)["ops"]


class RandomOpsTest(unittest.TestCase):
    def test_every_op_is_compared_or_has_a_reason(self):
        seeds = random_ops.read_seeds()
        self.assertEqual([op for op in _registered() if op not in seeds and random_op_lists.why_not_compared(op) is None], [])

    def test_same_as_tensorflow(self):
        seeds, registered = random_ops.read_seeds(), _registered()
        ops = [op for op in registered if op in seeds] if _WANTED == "all" else _WANTED.split(",") if _WANTED else _SOME
        count, types = (20, 99) if _WANTED else (10, 3)
        totals, wrong, compared, dead = {}, [], set(), []
        with open(_REPORT, "w", encoding="utf-8") as report:
            while ops:
                last = self._part(ops, count, types, report, totals, wrong, compared, dead)
                ops = ops[ops.index(last) + 1:]
        print(f"{len(compared)} ops, {totals}; TensorFlow dies of {dead}")
        self.assertEqual(wrong, [])
        self.assertGreaterEqual(totals["cases"], 10 * len(compared))

    def _part(self, ops, count, types, report, totals, wrong, compared, dead):
        """All ops, or those up to one that ended the server; returns the last."""
        last = None
        with ServerProcess() as server:
            for found in random_ops.compare_ops(ops, count, server, _SEED, types):
                last = found["op"]
                report.write(json.dumps(found) + "\n")
                report.flush()
                for name in ("cases", "errors", "gradients", "code", "more"):
                    totals[name] = totals.get(name, 0) + found[name]
                for name in ("deliberate", "differences"):
                    totals[name] = totals.get(name, 0) + len(found[name])
                if found["cases"]:
                    compared.add(last)
                if found.get("died"):
                    dead.append(f"{last}/{found['dtype']}")
                wrong += [f"{last}: {text}"[:600] for text in found["differences"][:2]]
            if not server.is_running():
                wrong.append(f"{last}: the server ended")
        return last


if __name__ == "__main__":
    unittest.main()
