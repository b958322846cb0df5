"""Programs as users write them, more than eighty: name -> what makes the parameters, and what is run while it is recorded.

Each body computes a loss and its gradients; some take an optimizer's step, or several.
"""
from __future__ import annotations

import math
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Body = Callable[[], None]
USERS: dict[str, Callable[[], tuple[Any, Body]]] = {}


def user(name: str) -> Callable[[Any], Any]:
    def add(build: Any) -> Any:
        assert name not in USERS
        USERS[name] = build
        return build
    return add


def loss(name: str, make: Callable[[], tuple[Any, Callable[[], Tensor]]]) -> None:
    """A program that computes one loss and its gradients."""
    def build() -> tuple[Any, Body]:
        model, compute = make()
        return model, lambda: compute().backward()  # type: ignore[no-untyped-call]
    user(name)(build)


def formula(name: str, f: Callable[..., Tensor], *shapes: tuple[int, ...]) -> None:
    """A loss of tensors a, b, ... of these shapes."""
    def make() -> tuple[Any, Callable[[], Tensor]]:
        given = {chr(ord("a") + i): torch.randn(shape).requires_grad_() for i, shape in enumerate(shapes)}
        return given, lambda: f(*given.values())
    loss(name, make)


def mlp(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


# Training loops and optimizers.

def trained(name: str, make_optimizer: Callable[[Any], torch.optim.Optimizer], steps: int = 2, clip: float = 0.0) -> None:
    def build() -> tuple[Any, Body]:
        model, x, y = mlp(4, 6, 3), torch.randn(8, 4), torch.randint(0, 3, (8,))
        optimizer = make_optimizer(model.parameters())
        def body() -> None:
            for i in range(steps):
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
                if clip:
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
        return model, body
    user(name)(build)


trained("a training loop with momentum", lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True))
trained("Adam with weight decay and clipped gradients", lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.1), clip=0.5)
trained("AdamW", lambda p: torch.optim.AdamW(p, 0.01))
trained("RMSprop", lambda p: torch.optim.RMSprop(p, 0.01))
trained("Adagrad", lambda p: torch.optim.Adagrad(p, 0.01), 1)


@user("gradient accumulation over micro batches")
def accumulation() -> tuple[Any, Body]:
    model, x, y = mlp(3, 4, 1), torch.randn(4, 5, 3), torch.randn(4, 5, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    def body() -> None:
        for part, target in zip(x, y):
            (F.mse_loss(model(part), target) / len(x)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model, body


@user("an average of weights beside a training step")
def averaged() -> tuple[Any, Body]:
    model, slow, x = mlp(3, 4, 2), mlp(3, 4, 2), torch.randn(6, 3)
    slow.load_state_dict(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    def body() -> None:
        (model(x) - slow(x).detach() + 1).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            for a, b in zip(slow.parameters(), model.parameters()):
                a.lerp_(b, 0.1)
    return model, body


@user("a step in a learning-rate schedule")
def scheduled() -> tuple[Any, Body]:
    model, x = mlp(3, 2), torch.randn(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    def body() -> None:
        for _ in range(2):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()
            schedule.step()
    return model, body


@user("mixed precision with a scaled loss")
def scaled() -> tuple[Any, Body]:
    model, x = nn.Linear(4, 3), torch.randn(5, 4)
    def body() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = model(x)
        (y.float().square().mean() * 128.0).backward()  # type: ignore[no-untyped-call]
    return model, body


# Adversaries.

def adversaries() -> tuple[nn.Module, nn.Module, Tensor, Tensor]:
    return mlp(2, 5, 3), mlp(3, 5, 1), torch.randn(6, 2), torch.randn(6, 3)


@user("a discriminator's step")
def discriminator() -> tuple[Any, Body]:
    g, d, z, real = adversaries()
    def body() -> None:
        fake = g(z).detach()
        (F.binary_cross_entropy_with_logits(d(real), torch.ones(6, 1)) + F.binary_cross_entropy_with_logits(d(fake), torch.zeros(6, 1))).backward()  # type: ignore[no-untyped-call]
    return d, body


@user("a generator's step")
def generator() -> tuple[Any, Body]:
    g, d, z, _ = adversaries()
    for one in d.parameters():
        one.requires_grad_(False)
    return g, lambda: F.binary_cross_entropy_with_logits(d(g(z)), torch.ones(6, 1)).backward()  # type: ignore[no-untyped-call]


@user("a critic whose weights are clipped")
def critic() -> tuple[Any, Body]:
    g, d, z, real = adversaries()
    optimizer = torch.optim.RMSprop(d.parameters(), 0.01)
    def body() -> None:
        (d(g(z).detach()).mean() - d(real).mean()).backward()
        optimizer.step()
        with torch.no_grad():
            for one in d.parameters():
                one.clamp_(-0.3, 0.3)
    return d, body


@user("a penalty on a critic's gradient")
def penalty() -> tuple[Any, Body]:
    _, d, _, real = adversaries()
    def body() -> None:
        x = real.clone().requires_grad_()
        slope, = torch.autograd.grad(d(x).sum(), x, create_graph=True)
        ((slope.square().sum(1) + 1e-6).sqrt() - 1).square().mean().backward()
    return d, body


formula("hinge losses of an adversary", lambda a, b: F.relu(1 - a).mean() + F.relu(1 + b).mean(), (7, 1), (5, 1))

# Contrasts and metrics.

formula("contrast within a batch", lambda a, b: F.cross_entropy(F.normalize(a, dim=1) @ F.normalize(b, dim=1).t() / 0.2, torch.arange(5)), (5, 4), (5, 4))
formula("contrast of two views, the diagonal masked", lambda a, b: (lambda z: F.cross_entropy((z @ z.t() / 0.5).masked_fill(torch.eye(6, dtype=torch.bool), -1e9), torch.tensor([3, 4, 5, 0, 1, 2])))(
    F.normalize(torch.cat((a, b)), dim=1)), (3, 4), (3, 4))
formula("triplets with the hardest negatives", lambda a, b, c: F.relu((a - b).square().sum(1) - (a[:, None] - c[None]).square().sum(2).amin(1) + 0.5).mean(), (5, 3), (5, 3), (4, 3))
formula("pairs with a margin", lambda a, b: (lambda d, same: (same * d.square() + (1 - same) * F.relu(1.5 - d).square()).mean())(
    ((a - b).square().sum(1) + 1e-6).sqrt(), torch.tensor([1.0, 0, 1, 0, 0])), (5, 3), (5, 3))
formula("redundancy of two embeddings", lambda a, b: (lambda c: (c.diagonal() - 1).square().sum() + 0.1 * (c - torch.diag(c.diagonal())).square().sum())(
    ((a - a.mean(0)) / a.std(0)).t() @ ((b - b.mean(0)) / b.std(0)) / 6), (6, 3), (6, 3))
formula("variance, invariance and covariance", lambda a, b: F.mse_loss(a, b) + F.relu(1 - (a.var(0) + 1e-4).sqrt()).mean() + ((a - a.mean(0)).t() @ (a - a.mean(0)) / 5).triu(1).square().sum(), (6, 3), (6, 3))
formula("a target of another network, stopped", lambda a, b: (2 - 2 * F.cosine_similarity(a, b.detach(), dim=1)).mean() + b.square().mean(), (5, 3), (5, 3))
formula("centres of classes", lambda a, b: (a - b[torch.tensor([0, 2, 1, 0, 2])]).square().sum(1).mean() / 2, (5, 3), (3, 3))
formula("angles with a margin", lambda a, b: (lambda c: F.cross_entropy(5 * torch.cos(torch.acos(c * 0.99) + 0.3 * F.one_hot(torch.tensor([0, 1, 2, 1]), 3)), torch.tensor([0, 1, 2, 1])))(
    F.normalize(a, dim=1) @ F.normalize(b, dim=1).t()), (4, 5), (3, 5))

# Losses.

formula("masked squares", lambda a: (lambda mask: ((a - 0.5).square() * mask).sum() / mask.sum().clamp(min=1))((torch.arange(20).reshape(4, 5) % 3 > 0).float()), (4, 5))
formula("focal loss", lambda a: (lambda p: (-(1 - p) ** 2 * p.log()).mean())(a.softmax(1).gather(1, torch.tensor([[0], [2], [1], [1]]))), (4, 3))
formula("dice loss", lambda a: (lambda p, t: 1 - (2 * (p * t).sum((1, 2)) + 1) / (p.sum((1, 2)) + t.sum((1, 2)) + 1))(a.sigmoid(), (torch.arange(24).reshape(2, 3, 4) % 2).float()).mean(), (2, 3, 4))
formula("quantiles", lambda a: torch.maximum(0.9 * (0.3 - a), -0.1 * (0.3 - a)).mean(), (9,))
formula("smoothed labels", lambda a: F.cross_entropy(a, torch.tensor([0, 2, 1]), label_smoothing=0.1), (3, 4))
formula("distillation", lambda a, b: F.kl_div(F.log_softmax(a / 2, 1), F.softmax(b.detach() / 2, 1), reduction="batchmean") * 4 + F.cross_entropy(a, torch.tensor([0, 1, 2])) + 0 * b.sum(), (3, 4), (3, 4))
formula("an evidence lower bound", lambda a, b: F.mse_loss(a + (b / 2).exp() * torch.randn(4, 3), torch.ones(4, 3)) - 0.5 * (1 + b - a.square() - b.exp()).sum(1).mean(), (4, 3), (4, 3))
formula("a mixture of densities", lambda a, b, c: -torch.logsumexp(a.log_softmax(1) - 0.5 * ((0.2 - b) / F.softplus(c)).square() - F.softplus(c).log(), 1).mean(), (5, 3), (5, 3), (5, 3))
formula("tasks weighted by their uncertainty", lambda a, b: (torch.exp(-b) * torch.stack((a.square().mean(), a.abs().mean(), (a - 1).square().mean())) + b).sum(), (6,), (3,))
formula("overlap of boxes", lambda a: (lambda low, high: 1 - ((torch.minimum(high, torch.tensor([1.0, 1.0])) - torch.maximum(low, torch.tensor([-0.5, -0.5]))).clamp(min=0).prod(1)
        / ((high - low).prod(1) + 2.25)).mean())(a[:, :2].tanh() - 1, a[:, 2:].tanh() + 1), (5, 4))
formula("risks of a proportional hazard", lambda a: (lambda e: -(a - e.flip(0).cumsum(0).flip(0).log()).mean())(a.exp()), (6,))
formula("a ranking of lists", lambda a: -(torch.tensor([[2.0, 0, 1], [0, 1, 3]]).softmax(1) * a.log_softmax(1)).sum(1).mean(), (2, 3))
formula("a linear machine with a hinge", lambda a, b: F.relu(1 - torch.tensor([1.0, -1, 1, 1, -1]) * (torch.arange(15.0).reshape(5, 3).sin() @ a + b)).mean() + 0.01 * a.square().sum(), (3,), ())
formula("earth movers along a line", lambda a: (a.softmax(1).cumsum(1) - torch.tensor([0.1, 0.4, 0.8, 1.0])).square().sum(1).mean(), (3, 4))
formula("total variation of images", lambda a: ((a[..., 1:, :] - a[..., :-1, :]).square() + 1e-4).sqrt().mean() + ((a[..., 1:] - a[..., :-1]).square() + 1e-4).sqrt().mean(), (2, 1, 4, 4))
formula("matrices of Gram", lambda a: (lambda f: F.mse_loss(f @ f.transpose(1, 2) / f.shape[2], torch.eye(3).expand(2, 3, 3)))(a.flatten(2)), (2, 3, 2, 2))
formula("structural similarity", lambda a, b: (lambda p, q, r: 1 - ((2 * p * q + 0.01) / (p.square() + q.square() + 0.01) * r).mean())(
    F.avg_pool2d(a, 2, 1), F.avg_pool2d(b, 2, 1), F.avg_pool2d(a * b, 2, 1)), (1, 1, 4, 4), (1, 1, 4, 4))
formula("weights that are near orthogonal", lambda a: (a @ a.t() - torch.eye(3)).square().sum(), (3, 5))
formula("elastic penalties", lambda a, b: (a @ b).square().mean() + 0.1 * b.abs().sum() + 0.01 * b.square().sum(), (6, 4), (4,))

# Sequences.

loss("a recurrent classifier of padded sequences", lambda: (lambda m, x, mask: (nn.ModuleList(m), lambda: F.cross_entropy(m[1]((m[0](x)[0] * mask).sum(1) / mask.sum(1)), torch.tensor([0, 2, 1]))))(
    [nn.GRU(3, 4, batch_first=True), nn.Linear(4, 3)], torch.randn(3, 5, 3), (torch.arange(5)[None, :, None] < torch.tensor([5, 3, 2])[:, None, None]).float()))
loss("a language model with a tied embedding", lambda: (lambda e, r, ids: (nn.ModuleList([e, r]), lambda: F.cross_entropy((r(e(ids[:, :-1]))[0] @ e.weight.t()).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)))(
    nn.Embedding(7, 4), nn.LSTM(4, 4, batch_first=True), torch.tensor([[1, 3, 2, 6, 0], [5, 5, 4, 0, 0]])))


@user("back-propagation through time, truncated")
def truncated() -> tuple[Any, Body]:
    cell, x = nn.RNNCell(3, 4), torch.randn(6, 2, 3)
    def body() -> None:
        h = torch.zeros(2, 4)
        for i, one in enumerate(x):
            h = cell(one, h)
            if i % 3 == 2:
                h.square().mean().backward()  # type: ignore[no-untyped-call]
                h = h.detach()
    return cell, body


formula("additive attention", lambda a, b, c: (lambda w: (w[..., None] * b).sum(1).square().sum())(((a[:, None] + b).tanh() @ c).softmax(1)), (2, 4), (2, 5, 4), (4,))
formula("causal attention with padding", lambda a, b, c: F.scaled_dot_product_attention(a, b, c, attn_mask=torch.ones(4, 4).tril().bool() & torch.tensor([True, True, True, False])).square().sum(), (2, 4, 3), (2, 4, 3), (2, 4, 3))
formula("rotary attention", lambda a, b: (lambda r: (r(a) @ r(b).transpose(1, 2)).softmax(-1).square().sum())(
    lambda x: x * torch.arange(4.0)[:, None].cos() + torch.cat((-x[..., 2:], x[..., :2]), -1) * torch.arange(4.0)[:, None].sin()), (2, 4, 4), (2, 4, 4))
formula("attention with linear biases", lambda a, b: ((a @ b.transpose(1, 2)) / 2 - 0.5 * (torch.arange(4)[:, None] - torch.arange(4)).abs()).masked_fill(torch.ones(4, 4).triu(1).bool(), -math.inf).softmax(-1).square().sum(), (2, 4, 4), (2, 4, 4))
formula("gated units after a root mean square", lambda a, b, c: (lambda x: (F.silu(x @ b) * (x @ c)).square().mean())(F.rms_norm(a, (4,))), (3, 4), (4, 5), (4, 5))
formula("a chain of conditional fields", lambda a, b: (lambda scores: scores.logsumexp(0) - a[0, 1] - b[1, 2] - a[1, 2] - b[2, 0] - a[2, 0])(
    torch.logsumexp((torch.logsumexp(a[0][:, None] + b, 0) + a[1])[:, None] + b, 0) + a[2]), (3, 3), (3, 3))
formula("warped time", lambda a, b: (lambda d: -torch.logsumexp(torch.stack((-d[0, 0] - d[0, 1] - d[1, 1], -d[0, 0] - d[1, 0] - d[1, 1], -d[0, 0] - d[1, 1])), 0))((a[:, None] - b[None]).square()), (2,), (2,))
loss("dilated causal convolutions", lambda: (lambda m, x: (m, lambda: m(F.pad(x, (4, 0))).square().mean()))(nn.Sequential(nn.Conv1d(2, 3, 3), nn.ReLU(), nn.Conv1d(3, 1, 2, dilation=2)), torch.randn(2, 2, 7)))

# Physics, and derivatives inside of losses.


@user("a differential equation as a loss")
def equation() -> tuple[Any, Body]:
    model = mlp(2, 6, 1)
    def body() -> None:
        x = torch.rand(7, 2).requires_grad_()
        u = model(x)
        first, = torch.autograd.grad(u.sum(), x, create_graph=True)
        second, = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)
        ((first[:, 1] - 0.1 * second[:, 0]).square().mean() + u.square().mean()).backward()
    return model, body


@user("a Hamiltonian's flow")
def hamiltonian() -> tuple[Any, Body]:
    model = mlp(2, 5, 1)
    def body() -> None:
        x = torch.randn(6, 2).requires_grad_()
        slope, = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        F.mse_loss(torch.stack((slope[:, 1], -slope[:, 0]), 1), torch.ones(6, 2)).backward()  # type: ignore[no-untyped-call]
    return model, body


@user("one inner step of meta-learning")
def inner() -> tuple[Any, Body]:
    w = torch.randn(3, 1).requires_grad_()
    x, y = torch.randn(5, 3), torch.randn(5, 1)
    def body() -> None:
        slope, = torch.autograd.grad(F.mse_loss(x @ w, y), w, create_graph=True)
        F.mse_loss(x.flip(0) @ (w - 0.1 * slope), y).backward()  # type: ignore[no-untyped-call]
    return {"w": w}, body


def runge_kutta(f: Callable[[Tensor], Tensor], x: Tensor, h: float) -> Tensor:
    a = f(x)
    b = f(x + h / 2 * a)
    c = f(x + h / 2 * b)
    return x + h / 6 * (a + 2 * b + 2 * c + f(x + h * c))


loss("steps of an integrator", lambda: (lambda m, x: (m, lambda: runge_kutta(m, runge_kutta(m, x, 0.1), 0.1).square().mean()))(mlp(2, 4, 2), torch.randn(3, 2)))
formula("energy and momentum that are kept", lambda a, b: (a.square().sum(1) / 2 - (a + 0.1 * b).square().sum(1) / 2).square().mean() + (a.sum(0) - b.sum(0)).square().sum(), (4, 2), (4, 2))
formula("volumes along rays", lambda a, b: (lambda alpha: ((torch.cat((torch.ones(3, 1), 1 - alpha + 1e-6), 1).cumprod(1)[:, :-1] * alpha)[..., None] * b.sigmoid()).sum(1).square().mean())(1 - torch.exp(-F.softplus(a) * 0.5)), (3, 5), (3, 5, 3))
formula("rotations by quaternions", lambda a: (lambda q: (q[:, :1] * 2 - q[:, 1:2] * q[:, 2:3] + torch.linalg.vector_norm(q[:, 1:], dim=1, keepdim=True)).square().mean())(F.normalize(a, dim=1)), (4, 4))

# Decisions.

formula("policy gradients with a baseline", lambda a, b: (lambda r: -(a.log_softmax(1).gather(1, torch.tensor([[0], [2], [1], [1]]))[:, 0] * (r - b).detach()).mean() + F.mse_loss(b, r))(torch.tensor([1.0, -1, 0.5, 2])), (4, 3), (4,))
formula("a clipped surrogate and an entropy", lambda a: (lambda logp, adv: (lambda ratio: -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean())((logp.gather(1, torch.tensor([[0], [2], [1], [1]]))[:, 0] + 1.1).exp())
        + 0.01 * (logp.exp() * logp).sum(1).mean())(a.log_softmax(1), torch.tensor([1.0, -1, 0.5, 2])), (4, 3))
formula("values of actions with a target", lambda a, b: F.smooth_l1_loss(a.gather(1, torch.tensor([[0], [2], [1], [1]]))[:, 0], 0.5 + 0.9 * b.detach().amax(1)) + 0 * b.sum(), (4, 3), (4, 3))
formula("squashed normal actions", lambda a, b: (lambda u: (-0.5 * ((u - a) / b.exp()).square() - b - 2 * (math.log(2) - u - F.softplus(-2 * u)) + u.tanh()).mean())(a + b.exp() * torch.randn(4, 2)), (4, 2), (4, 2))
formula("relaxed choices", lambda a: ((a + torch.rand(4, 3).log().neg().log().neg()) / 0.5).softmax(1).square().sum(), (4, 3))

# Models.

formula("a low-rank update of a frozen layer", lambda a, b: (torch.arange(12.0).reshape(3, 4).sin() @ (torch.arange(20.0).reshape(4, 5).cos() + 2 * a @ b)).square().mean(), (4, 2), (2, 5))
loss("an adapter behind a frozen block", lambda: (lambda base, m, x: ([one.requires_grad_(False) for one in base.parameters()], (m, lambda: (base(x) + m(base(x))).square().mean()))[1])(mlp(3, 4), mlp(4, 2, 4), torch.randn(5, 3)))
formula("experts and their gate", lambda a, b, c: (lambda top: (torch.einsum("bk,bko->bo", top.values.softmax(1), torch.einsum("bi,kio->bko", a, c).gather(1, top.indices[..., None].expand(-1, -1, 2)))).square().sum())((a @ b).topk(2, 1)), (5, 3), (3, 4), (4, 3, 2))
formula("a coupling of a flow", lambda a, b, c: (lambda s, t: (torch.cat((a[:, :2], a[:, 2:] * s.exp() + t), 1).square().sum(1) / 2 - s.sum(1)).mean())((a[:, :2] @ b).tanh(), a[:, :2] @ c), (4, 4), (2, 2), (2, 2))
loss("noise that a network predicts", lambda: (lambda m, x, e, t: (m, lambda: F.mse_loss(m(torch.cat((t.sqrt() * x + (1 - t).sqrt() * e, (10 * t).sin(), (10 * t).cos()), 1)), e)))(mlp(5, 8, 3), torch.randn(6, 3), torch.randn(6, 3), torch.rand(6, 1)))
formula("messages along edges", lambda a, b: (torch.zeros(4, 3).index_add(0, torch.tensor([0, 1, 1, 3, 2]), (a @ b)[torch.tensor([1, 0, 2, 2, 3])]) / torch.tensor([1.0, 2, 1, 1])[:, None]).relu().square().sum(), (4, 2), (2, 3))
formula("factors with biases", lambda a, b, c, d: (((a[torch.tensor([0, 2, 1])] * b[torch.tensor([1, 1, 3])]).sum(1) + c[torch.tensor([0, 2, 1])] + d[torch.tensor([1, 1, 3])] - 3.5).square()).mean(), (3, 4), (4, 4), (3,), (4,))
formula("interactions of factors", lambda a, b: (((a @ b).square() - a.square() @ b.square()).sum(1) / 2).sigmoid().log().neg().mean(), (4, 5), (5, 3))
formula("words with negative samples", lambda a, b: -(F.logsigmoid((a[torch.tensor([0, 3])] * b[torch.tensor([1, 2])]).sum(1)).mean() + F.logsigmoid(-(a[torch.tensor([0, 3])][:, None] * b[torch.tensor([[4, 0, 3], [1, 1, 4]])]).sum(2)).sum(1).mean()), (5, 3), (5, 3))
loss("a squeezed and excited block", lambda: (lambda m, g, x: (nn.ModuleList([m, g]), lambda: (lambda y: (y * g(y.mean((2, 3)))[..., None, None]).square().mean())(m(x))))(
    nn.Conv2d(2, 4, 3, padding=1), nn.Sequential(nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 4), nn.Sigmoid()), torch.randn(2, 2, 4, 4)))
loss("depthwise convolutions with a norm", lambda: (lambda m, x: (m, lambda: m(x).square().mean()))(nn.Sequential(nn.Conv2d(3, 3, 3, groups=3), nn.BatchNorm2d(3), nn.SiLU(), nn.Conv2d(3, 4, 1)), torch.randn(3, 3, 5, 5)))
loss("a norm in evaluation", lambda: (lambda m, x: (m.eval(), lambda: m(x).square().mean()))(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2)), torch.randn(5, 3)))
loss("blocks that are computed again", lambda: (lambda m, x: (m, lambda: checkpoint(m[1], checkpoint(m[0], x, use_reentrant=False), use_reentrant=False).square().mean()))(nn.ModuleList([mlp(3, 4, 3), mlp(3, 5, 2)]), torch.randn(4, 3)))
loss("a loss in double precision", lambda: (lambda m, x: (m, lambda: (m(x).double() - 0.1).square().mean()))(mlp(3, 4, 2), torch.randn(4, 3)))
formula("capsules", lambda a: (lambda n: (n / (1 + n) * a / (n + 1e-6).sqrt()).sum(1).square().sum())(a.square().sum(2, keepdim=True)), (2, 4, 3))
formula("a soft tree of decisions", lambda a, b, c: (lambda p: torch.stack((p[:, 0] * p[:, 1], p[:, 0] * (1 - p[:, 1]), (1 - p[:, 0]) * p[:, 2], (1 - p[:, 0]) * (1 - p[:, 2])), 1) @ c.softmax(1))((a @ b).sigmoid()).log().mean().neg(), (5, 3), (3, 3), (4, 2))
formula("sets", lambda a, b, c: ((a @ b).relu().sum(1) @ c).square().mean() + (a @ b).amax(1).mean(), (3, 4, 2), (2, 5), (5, 1))
formula("a network that makes another's weights", lambda a, b: torch.bmm(torch.arange(24.0).reshape(2, 4, 3).sin(), (a @ b).view(2, 3, 2)).tanh().square().mean(), (2, 5), (5, 6))
formula("iterations of soft thresholds", lambda a, b: (lambda x: F.mse_loss(F.softshrink(x + 0.1 * (torch.ones(3, 4) - x @ b.t()) @ b, 0.05), torch.zeros(3, 5)))(F.softshrink(a, 0.05)), (3, 5), (4, 5))
