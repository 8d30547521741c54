"""PyTorch, eager, with its fused Adam. With CAUDAL_BENCH_NHWC set, pictures have the channels last."""
import os

import torch

import common

F = torch.nn.functional
NHWC = bool(os.environ.get("CAUDAL_BENCH_NHWC"))


class Nature(torch.nn.Module):
    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.body = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                                  nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU())
        self.policy, self.value = nn.Linear(512, 6), nn.Linear(512, 1)

    def forward(self, x):
        features = self.body(x)
        return self.policy(features), self.value(features)[:, 0]


def build(model):
    nn = torch.nn
    if model == "mlp":
        return nn.Sequential(nn.Linear(784, 300), nn.ReLU(), nn.Linear(300, 100), nn.ReLU(), nn.Linear(100, 10))
    if model == "lenet":
        return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                             nn.Linear(84, 10))
    if model == "book":
        return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))
    return Nature()


def layout():
    return torch.channels_last if NHWC else torch.contiguous_format


def pictures_of(array):
    pictures = torch.from_numpy(array)
    return pictures.permute(0, 3, 1, 2).contiguous(memory_format=layout()) if pictures.ndim == 4 else pictures


def updater(model):
    net = build(model).to(memory_format=layout())
    adam = torch.optim.Adam(net.parameters(), 1e-3, fused=True)

    def step(x, labels, values=None):
        adam.zero_grad(set_to_none=True)
        outputs = net(x)
        if model == "nature":
            loss = F.cross_entropy(outputs[0], labels) + 0.5 * F.mse_loss(outputs[1], values)
        else:
            loss = F.cross_entropy(outputs, labels)
        loss.backward()
        adam.step()

    return step


def tensors(batch):
    return [pictures_of(batch[0]), torch.from_numpy(batch[1]).long(), *map(torch.from_numpy, batch[2:])]


def train(case, settings):
    model, size = common.training_case(case)
    step, batch = updater(model), tensors(common.batch_of(model, size))
    return common.rates(lambda: step(*batch), size, settings)


def lenet_epoch(settings):
    scale = 10 if settings.quick else 1
    step = updater("lenet")
    pictures, labels = tensors(common.random_pictures(common.EPOCH_ROWS // scale))

    def epoch():
        for rows in torch.randperm(len(pictures)).split(50):
            step(pictures[rows], labels[rows])

    step(pictures[:50], labels[:50])
    return common.quietest(lambda: common.seconds_of(epoch) * scale, settings, repeats=3)


def add_chain(shape, settings):
    """Eager operations called from TorchScript's interpreter, in C++, so that Python costs nothing."""
    torch._C._jit_set_profiling_executor(False)  # and nothing is fused
    torch._C._jit_override_can_fuse_on_cpu(False)

    @torch.jit.script
    def chain(x: torch.Tensor, one: torch.Tensor):
        for _ in range(1000):  # as common.CHAIN
            x = x + one
        return x

    x, one = torch.zeros(shape), torch.ones(())
    with torch.no_grad():
        return common.microseconds(lambda: chain(x, one), common.CHAIN, settings)


def first_inference(_):
    with torch.no_grad():
        return float(build("lenet")(pictures_of(common.batch_of("lenet", 1)[0])).max())


def run(case, settings):
    torch.set_num_threads(settings.threads)
    if case == "train/lenet_epoch":
        return lenet_epoch(settings)
    if case.startswith("train/"):
        return train(case, settings)
    return add_chain(() if case.endswith("scalar") else (64,), settings)


if __name__ == "__main__":
    common.main(run, first_inference)
