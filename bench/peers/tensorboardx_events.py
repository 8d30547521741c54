"""tensorboardX's writer of event files."""
import os
import tempfile

from tensorboardX import SummaryWriter

import common


def run(case, settings):
    scalars = 2000 if settings.quick else 20000
    with tempfile.TemporaryDirectory(dir=settings.directory) as directory:
        runs = 0

        def window():
            nonlocal runs
            runs += 1
            writer = SummaryWriter(os.path.join(directory, str(runs)))
            writer.add_scalar("loss", 0, 0)

            def write():
                for i in range(scalars):
                    writer.add_scalar("loss", float(i), i)
                writer.flush()

            seconds = common.seconds_of(write)
            writer.close()
            return scalars / seconds

        return common.quietest(window, settings)


if __name__ == "__main__":
    common.main(run)
