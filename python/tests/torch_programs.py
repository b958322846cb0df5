"""Small programs, right ones and wrong ones: (name, what the gate says, a part of its message, what makes the parameters and the loss)."""
from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

PASS, FAIL, OPAQUE, REFUSED, CUT = "passes", "fails", "is undecided", "is refused", "is cut off"
PROGRAMS = []  # name, expected, part of the message, builder of (model or parameters, loss)


def program(name, expected=PASS, message=""):
    def add(build):
        PROGRAMS.append((name, expected, message, build))
        return build
    return add


def leaf(*shape, scale=1.0): return (torch.randn(shape) * scale).requires_grad_()


def formula(name, f, *shapes, expected=PASS, message=""):
    """A program of parameters a, b, ... of these shapes, whose loss is the weighted sum of f."""
    def build():
        given = {chr(ord("a") + i): leaf(*shape) for i, shape in enumerate(shapes)}
        def loss():
            y = f(*given.values())
            return (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum()
        return given, loss
    PROGRAMS.append((name, expected, message, build))


# Losses, reductions, batch sizes.

def classifier(batch, criterion, targets, width=4):
    def build():
        model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, width))
        x, y = torch.randn(batch, 3), targets(batch, width)
        return model, lambda: criterion(model(x), y)
    return build


def classes(batch, width): return torch.randint(0, width, (batch,))


for batch in range(1, 10):
    program(f"cross entropy, batch {batch}")(classifier(batch, F.cross_entropy, classes))
    program(f"mean of squares, batch {batch}")(classifier(batch, F.mse_loss, lambda b, w: torch.randn(b, w)))
    program(f"mean of absolute values, batch {batch}")(classifier(batch, F.l1_loss, lambda b, w: torch.randn(b, w)))
for reduction in ("sum", "none"):
    of = lambda loss, reduction=reduction: lambda y, t: (loss(y, t, reduction=reduction) * 0.7).sum()
    program(f"cross entropy, {reduction}")(classifier(5, of(F.cross_entropy), classes))
    program(f"mean of squares, {reduction}")(classifier(5, of(F.mse_loss), lambda b, w: torch.randn(b, w)))
    program(f"logits, {reduction}")(classifier(7, of(F.binary_cross_entropy_with_logits), lambda b, w: torch.rand(b, w)))
program("logits, mean")(classifier(7, F.binary_cross_entropy_with_logits, lambda b, w: torch.rand(b, w)))
program("weighted classes")(classifier(6, nn.CrossEntropyLoss(weight=torch.tensor([1.0, 0.3, 2.0, 0.7])), classes))
program("ignored rows")(classifier(6, nn.CrossEntropyLoss(ignore_index=2), lambda b, w: torch.tensor([0, 2, 1, 3, 2, 0])))
program("double precision")(lambda: (m := nn.Linear(3, 2).double(), lambda: F.cross_entropy(m(torch.randn(5, 3, dtype=torch.float64)), torch.tensor([0, 1, 1, 0, 1]))))


# Layers used twice, frozen and unused parameters.

@program("tied layer")
def tied():
    layer, x = nn.Linear(4, 4), torch.randn(3, 4)
    return layer, lambda: torch.tanh(layer(torch.tanh(layer(x)))).pow(2).sum()


@program("one weight as encoder and decoder")
def transposed():
    w, x = leaf(5, 3), torch.randn(4, 3)
    return {"w": w}, lambda: F.mse_loss(torch.relu(x @ w.t()) @ w, x)


@program("a weight under two names")
def two_names():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))
    model[2].weight = model[0].weight
    return model, lambda: model(torch.randn(2, 3)).square().mean()


@program("frozen layer")
def frozen():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    for one in model[0].parameters(): one.requires_grad_(False)
    return model, lambda: model(torch.randn(5, 3)).sum()


@program("frozen layer behind a trained one")
def frozen_last():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    model[2].requires_grad_(False)
    return model, lambda: model(torch.randn(5, 3)).square().sum()


@program("unused parameter")
def unused():
    model = nn.ModuleDict({"used": nn.Linear(3, 2), "unused": nn.Linear(3, 2)})
    return model, lambda: model["used"](torch.randn(4, 3)).sum()


@program("computed and not used")
def dead():
    model = nn.ModuleDict({"used": nn.Linear(3, 2), "dead": nn.Linear(3, 2)})
    def loss():
        x = torch.randn(4, 3)
        model["dead"](x).sum()
        return model["used"](x).sum()
    return model, loss


# torch.autograd.Function.

def function(forward, backward, save=lambda ctx, args, y: args):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            y = forward(*args)
            ctx.save_for_backward(*save(ctx, args, y))
            return y

        @staticmethod
        def backward(ctx, g): return backward(g, *ctx.saved_tensors)
    return Own.apply


def product_bar(g, x, w): return g @ w.t(), x.t() @ g


def with_function(name, apply, expected=PASS, shapes=((4, 3), (3, 2)), message=""):
    def build():
        given = {chr(ord("a") + i): leaf(*shape) for i, shape in enumerate(shapes)}
        return given, lambda: torch.tanh(apply(*[one * 1.5 for one in given.values()])).sum()
    PROGRAMS.append((name, expected, message, build))


with_function("Function of one operation", function(lambda x, w: x @ w, product_bar))
with_function("Function of several", function(lambda x, w: torch.tanh(x @ w) * 2, lambda g, x, w: product_bar(2 * g * (1 - torch.tanh(x @ w) ** 2), x, w)))
with_function("Function that saves its result", function(lambda x: torch.exp(-x * x), lambda g, x, y: -2 * g * x * y, lambda ctx, args, y: (*args, y)), shapes=[(3, 2)])
with_function("Function that hands its argument on", function(lambda x: x.view_as(x), lambda g, x: g), shapes=[(3, 2)])
with_function("Function with one argument twice", lambda x: function(lambda a, b: a * b * a, lambda g, a, b: (2 * g * a * b, g * a * a))(x, x), shapes=[(3, 2)])
with_function("Function with an argument it does not read", function(lambda x, w: x * 3, lambda g, x, w: (3 * g, None)))
with_function("Function, wrong: half", function(lambda x, w: x @ w, lambda g, x, w: (g @ w.t() / 2, x.t() @ g)), FAIL, message="half the derivative")
with_function("Function, wrong: twice", function(lambda x, w: x @ w, lambda g, x, w: (g @ w.t(), 2 * (x.t() @ g))), FAIL, message="twice the derivative")
with_function("Function, wrong: sign", function(lambda x, w: x @ w, lambda g, x, w: (g @ w.t(), -(x.t() @ g))), FAIL, message="minus the derivative")
with_function("Function, wrong: transposed", function(lambda x, w: x @ w, lambda g, x, w: (g @ w.t(), (x.t() @ g).t())), FAIL, ((4, 3), (3, 3)), "the derivative, transposed")
with_function("Function, wrong: one row of a broadcast operand", function(lambda x, b: x * b, lambda g, x, b: (g * b, (g * x)[0])), FAIL, ((4, 3), (3,)),
              "not summed over the broadcast axes")
with_function("Function, wrong: another's transpose left out", function(lambda x, w: x @ w, lambda g, x, w: (g @ w, x.t() @ g)), FAIL, ((4, 3), (3, 3)))
with_function("Function, wrong: no gradient", function(lambda x, w: x @ w, lambda g, x, w: (g @ w.t(), None)), FAIL)
with_function("Function, wrong: a factor left out", function(lambda x, w: torch.tanh(x @ w), product_bar), FAIL)
with_function("Function, wrong: a gradient of what it does not read", function(lambda x, w: x * 3, lambda g, x, w: (3 * g, w)), FAIL)
with_function("Function, wrong: straight through", function(torch.sign, lambda g, x: g), FAIL, [(3, 2)], "handed on as it is")
with_function("Function of a sign", lambda x: function(torch.sign, lambda g, x: torch.zeros_like(g))(x) * x, shapes=[(3, 2)])
with_function("Function of a sign without a gradient", function(torch.sign, lambda g, x: None), shapes=[(3, 2)])
with_function("Function, wrong: where the operand is negative", function(torch.relu, lambda g, x: g), FAIL, [(4, 4)])


class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h): return 2 * g + 3 * h


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.permute(0, 1)[1:]

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(x.permute(0, 1)[1:], x, g)[0]


class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * a * b

    @staticmethod
    def backward(ctx, g):
        a, b = [one.detach().requires_grad_() for one in ctx.saved_tensors]
        with torch.enable_grad():
            return torch.autograd.grad(a * a * b, (a, b), g)


formula("Function with two results", lambda a: (lambda x, y: x * y)(*Two.apply(a * 1.0)), (3,))
formula("Function with two results, one at a time", lambda a: Two.apply(a * 1.0)[0] * Two.apply(a)[1], (3,))


@program("Function inside a layer, twice")
def layers():
    own = function(lambda x, w: torch.sigmoid(x @ w), lambda g, x, w: product_bar(g * torch.sigmoid(x @ w) * (1 - torch.sigmoid(x @ w)), x, w))
    w, x = leaf(3, 3), torch.randn(2, 3)
    return {"w": w}, lambda: own(own(x, w), w).sum()


# Hooks that change a gradient on its way.

@program("a hook that doubles a gradient", FAIL)
def hooked():
    w = leaf(3, 3)
    def loss():
        h = torch.tanh(w)
        h.register_hook(lambda g: g * 2)
        return h.exp().sum()
    return {"w": w}, loss


# Views, broadcasts, strides, reuse.

def without(f):
    with torch.no_grad(): return f()


formula("reuse", lambda a: (lambda h: h * h + h.exp() + h)(torch.tanh(a)), (3, 2))
formula("the same factor twice", lambda a: a * a * a, (3,))
formula("broadcasts", lambda a, b, c: a * b + c, (3, 4), (4,), (3, 1))
formula("a scalar operand", lambda a, b: a * b, (3, 4), ())
formula("view of the same shape", lambda a: a.view(3, 2) * a.reshape(3, 2), (3, 2))
formula("transposed and strided", lambda a, b: a.t()[::2] @ b[1:, ::1].contiguous()[:, 1:], (4, 6), (5, 3))
formula("two transposes of one tensor", lambda a: a.t() + a.t().tanh() + a.t(), (3, 4))
formula("two transposes with one gradient", lambda a: a.t() + a.t(), (3, 4))
formula("there and back", lambda a: a.t().t() * a.t().t().sin() + a.view(12).view(3, 4) + a, (3, 4))
formula("there and back with one gradient", lambda a: a.t().t() + a.t().t() + a, (3, 4))
formula("a view that was made without gradients", lambda a: (lambda v: v * a.t())(without(lambda: a.t())), (3, 4))
formula("strided in the loss", lambda a: a.t() * 2 + a.t().exp(), (3, 4))
formula("permute and flatten", lambda a: torch.tanh(a.permute(2, 0, 1)).flatten(1), (2, 3, 4))
formula("expand", lambda a: a.expand(4, 3).sin(), (3,))
formula("select, slice, cat, stack", lambda a, b: torch.cat([torch.stack([a[0], a[:, 1][:3], b[-1]]), b[1:]]), (3, 3), (4, 3))
formula("chunks", lambda a: (lambda x, y, z: x * y - z.exp())(*a.chunk(3, 1)), (4, 6))
formula("one chunk of three", lambda a: a.chunk(3, 1)[1] ** 2, (4, 6))
formula("chunk with the same gradient twice", lambda a: (lambda x, y: x + y)(*a.chunk(2, 1)), (3, 4))
formula("unbind", lambda a: (lambda x, y: x * y)(*a.unbind(0)), (2, 3))
formula("gather", lambda a: a.gather(1, torch.tensor([[0, 0], [2, 1], [1, 1]])), (3, 3))
formula("one element each", lambda a: a.t() + 1, (1, 1))
formula("reductions", lambda a: a.sum(0) * a.mean(0) + a.mean() + a.logsumexp(0), (5, 3))
formula("softmaxes", lambda a: a.softmax(1) * a.log_softmax(0), (4, 5))
formula("quotients", lambda a, b: a / (b * b + 1) + 2 / (a.exp() + 1), (3, 4), (3, 4))
formula("powers", lambda a: (a * a + 1) ** 3 + a ** 2, (7,))
formula("roots", lambda a: (a * a + 1).sqrt(), (7,))
formula("constants", lambda a: 1 - a * 0.1 + 3 * a / 7, (5,))
formula("clamp", lambda a: a.clamp(-0.3, 0.7) * a.clamp(min=0.1), (20,))
formula("extrema", lambda a, b: torch.maximum(a, b) * torch.minimum(a, b), (9,), (9,))
formula("extrema with ties", lambda a: torch.maximum(a, a.detach()) + a.amax(0), (6,))
formula("signs", lambda a: a.sign() * a, (5,))
formula("abs and leaky relu", lambda a: a.abs() * F.leaky_relu(a, 0.1), (20,))
formula("where", lambda a, b: torch.where(a > b, a * 2, b.exp()), (9,), (9,))
formula("products in batches", lambda a, b: torch.bmm(a, b).tanh(), (2, 3, 4), (2, 4, 2))
formula("matrix and vector", lambda a, b: torch.mv(a, b) * torch.dot(b, b), (3, 4), (4,))

# Parts without gradients, dropout, in place.

formula("detach", lambda a: a * a.detach(), (3, 3))
formula("detached data", lambda a: a * a.data, (3, 3))
formula("a stopped target", lambda a, b: (a.tanh() - b.exp().detach()) ** 2 * b, (3,), (3,))
formula("a target all of whose gradient is stopped", lambda a, b: (a.tanh() - b.exp().detach()) ** 2, (3,), (3,), expected=CUT, message="'b' has no gradient")


formula("a part under no_grad", lambda a: a / without(lambda: a.abs().amax()), (4, 3))
formula("a mask as numbers", lambda a: a * (a > 0.1).float(), (4, 3))
formula("dropout", lambda a: F.dropout(a.tanh(), 0.3), (8, 5))
formula("noise", lambda a: a + torch.randn(4) * 0.1, (4,))
formula("relu in place", lambda a: F.relu(a * 2, inplace=True) * 3, (4, 3))
formula("add in place", lambda a, b: (a * 3).add_(b).mul_(2), (4, 3), (3,))
formula("in place on a view", lambda a: (lambda h: (h[0].mul_(2), h)[1])(a * 1), (4, 3))
formula("written behind the recorder's back", lambda a: (lambda h: (h.detach().numpy().__setitem__(0, 9.0), h * 2)[1])(a * 1), (4,), expected=REFUSED, message="written outside")
formula("an operation without a rule", lambda a: torch.lgamma(a + 5), (3, 3), expected=OPAQUE, message="aten.lgamma")
formula("a sum of -0 alone", lambda a: (a[0] * -0.0).abs().neg().sum() + a.sum(), (4,))
formula("running sums", lambda a: a.cumsum(0), (4,))
formula("a part without elements", lambda a: torch.cat((a[..., :0], 2 * a), -1) + a[:, 4:].sum(), (3, 4))
formula("rows of a table, one of them padding", lambda a: F.embedding(torch.tensor([[0, 1, 2], [3, 1, 0]]), a, padding_idx=0) * a[1], (5, 3))
formula("maxima between infinite ends", lambda a: F.pad(a, (1, 1), value=-float("inf")).exp() * 2, (5,))
formula("back to the order before a sort", lambda a: (lambda order: a[order][torch.empty_like(order).index_put((order,), torch.arange(5))] * a)(a.argsort()), (5,))
formula("running products", lambda a: a.cumprod(1), (3, 4))
formula("running products with zeros", lambda a: (a * torch.tensor([1.0, 0.0, 2.0, 0.0])).cumprod(0) + a, (4,))
formula("the opposite of a mask", lambda a: torch.where(~(a > 0) & ~torch.tensor([True, False, True]), a, 2 * a), (4, 3))
formula("the opposite of places", lambda a: a[~torch.tensor([-1, -3])] * 2, (4, 3))
formula("smoothed labels", lambda a: F.cross_entropy(a, torch.tensor([0, 2]), label_smoothing=0.1), (2, 4))
formula("random slopes in evaluation", lambda a: F.rrelu(a), (4, 3))
formula("random slopes in evaluation, of its own", lambda a: F.rrelu(a, 0.1, 0.3) * a, (4, 3))
formula("a number times another's conjugate", lambda a, b: torch.view_as_real(torch.view_as_complex(a) * torch.view_as_complex(b).conj()), (3, 2), (3, 2))
formula("a copy of a conjugate", lambda a, b: torch.view_as_real(torch.view_as_complex(a).conj().clone() * torch.view_as_complex(b)), (3, 2), (3, 2))
formula("a sum of conjugates", lambda a, b: torch.view_as_real(torch.view_as_complex(a).conj() + torch.view_as_complex(b).conj()), (3, 2), (3, 2))
formula("an expanded tensor times itself, transposed", lambda a: (lambda y: F.linear(y, y))(a.expand(2, 5)), (5,))
formula("a Function that gives a view, of a view of all", lambda a: Rows.apply(a[0:]), (3, 2))
formula("a Function of two tensors in one place", lambda a: (lambda y: Again.apply(y.transpose(0, 0), y))(a * 2), (3, 1))
formula("activations of zeros", lambda a: F.elu(a.relu()) + F.selu(a * 0.0), (6,))
formula("checkpointing", lambda a: torch.utils.checkpoint.checkpoint(lambda x: x.tanh().exp(), a * 1, use_reentrant=False), (4,))


@program("convolution")
def convolution():
    model = nn.Sequential(nn.Conv2d(2, 3, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(27, 4))
    return model, lambda: F.cross_entropy(model(torch.randn(5, 2, 6, 6)), torch.randint(0, 4, (5,)))


@program("embedding")
def embedding():
    model, ids = nn.Embedding(7, 3), torch.tensor([[0, 3, 3], [6, 1, 0]])
    return model, lambda: model(ids).tanh().sum()


@program("gradient of an input")
def of_an_input():
    x, w = leaf(3, 2), leaf(2, 2)
    return {"x": x, "w": w}, lambda: torch.tanh(x @ w).sum()


@program("a view from before the recording", OPAQUE, "TBackward0")
def before():
    w = leaf(3, 2)
    view = w.t()
    return {"w": w}, lambda: (view * 2).sum()
