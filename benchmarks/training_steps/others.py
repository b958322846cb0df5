"""Training steps of graph networks, Gaussian processes, differential equations, rotary embeddings and quantisers."""
from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

NODES, FEATURES = 7, 5


def graph_layer(kind: str, **options: Any) -> Any:
    """Two layers of PyTorch Geometric on a graph of seven nodes, with a loss over classes of nodes."""
    import torch_geometric.nn as layers
    made = getattr(layers, f"{kind}Conv")

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if kind == "GIN":
                self.first, self.second = (made(nn.Sequential(nn.Linear(i, 8), nn.ReLU(), nn.Linear(8, o))) for i, o in ((FEATURES, 8), (8, 3)))
            else:
                self.first, self.second = made(FEATURES, 8, **options), made(8, 3, **options)

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(x, edges).relu(), edges)

    model, x, classes = Network(), torch.randn(NODES, FEATURES), torch.randint(0, 3, (NODES,))
    edges = torch.tensor([[0, 1, 1, 2, 3, 4, 5, 6, 0, 2, 4, 6], [1, 0, 2, 1, 4, 3, 6, 5, 3, 5, 1, 0]])
    return model, lambda: F.cross_entropy(model(x, edges), classes)


def exact_process() -> Any:
    """The marginal likelihood of an exact Gaussian process."""
    import gpytorch

    class Process(gpytorch.models.ExactGP):
        def __init__(self, x: torch.Tensor, y: torch.Tensor, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: torch.Tensor) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 8)
    y = torch.sin(6 * x) + 0.1 * torch.randn(8)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Process(x, y, likelihood).train()
    likelihood.train()
    score = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    return model, lambda: -score(model(x), y)


def variational_process() -> Any:
    import gpytorch

    class Process(gpytorch.models.ApproximateGP):
        def __init__(self, points: torch.Tensor) -> None:
            chosen = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
            super().__init__(gpytorch.variational.VariationalStrategy(self, points, chosen, learn_inducing_locations=True))
            self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: torch.Tensor) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 8).unsqueeze(-1)
    y = torch.sin(6 * x[:, 0]) + 0.1 * torch.randn(8)
    model, likelihood = Process(x[::2].clone()).train(), gpytorch.likelihoods.GaussianLikelihood().train()
    score = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=8)
    return nn.ModuleList([model, likelihood]), lambda: -score(model(x), y)


def rotary() -> Any:
    """Attention whose queries and keys are turned by rotary-embedding-torch."""
    from rotary_embedding_torch import RotaryEmbedding

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project, self.turn = nn.Linear(16, 48), RotaryEmbedding(dim=8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = (one.unflatten(-1, (2, 8)).transpose(1, 2) for one in self.project(x).chunk(3, -1))
            return F.scaled_dot_product_attention(self.turn.rotate_queries_or_keys(q), self.turn.rotate_queries_or_keys(k), v)

    model, x = Attention(), torch.randn(2, 6, 16)
    return model, lambda: model(x).square().mean()


def equation(method: str) -> Any:
    """The end of a neural differential equation, with gradients by the adjoint equation or through the steps of Runge and Kutta."""
    import torchdiffeq

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(3, 8), nn.Linear(8, 3)

        def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.outer(torch.tanh(self.inner(y)))

    field, start, times, aim = Field(), torch.randn(4, 3), torch.linspace(0, 1, 3), torch.randn(4, 3)
    solve = torchdiffeq.odeint_adjoint if method == "adjoint" else torchdiffeq.odeint
    return field, lambda: F.mse_loss(solve(field, start, times, method="rk4")[-1], aim)


def quantiser(kind: str) -> Any:
    """An autoencoder with a quantiser of vector-quantize-pytorch in the middle."""
    import vector_quantize_pytorch as quantisers
    inner = quantisers.VectorQuantize(dim=4, codebook_size=6, decay=0.8, commitment_weight=1.0) if kind == "VectorQuantize" else quantisers.FSQ(levels=[5, 4, 3, 3])

    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.decode, self.inner = nn.Linear(6, 4), nn.Linear(4, 6), inner

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            quantised, *others = self.inner(self.encode(x))
            committed = others[1].sum() if kind == "VectorQuantize" else 0
            return F.mse_loss(self.decode(quantised), x) + committed

    model, x = Coder().train(), torch.randn(2, 7, 6)
    return model, lambda: model(x)


def rearranged() -> Any:
    """Patches by einops, a linear layer, a sum over patches."""
    import einops
    model, images = nn.Linear(12, 5), torch.randn(2, 3, 6, 6)
    return model, lambda: einops.reduce(model(einops.rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)).tanh(), "b n d -> b d", "mean").square().sum()


STEPS = {
    **{f"PyG: {name}Conv": lambda kind=name, options=options: graph_layer(kind, **options) for name, options in (
        ("GCN", {}), ("SAGE", {}), ("GIN", {}), ("GAT", {}), ("GATv2", {}), ("Transformer", {}))},
    "PyG: SAGEConv, maximum": lambda: graph_layer("SAGE", aggr="max"), "PyG: SAGEConv, deviation": lambda: graph_layer("SAGE", aggr="std"),
    "gpytorch: exact": exact_process, "gpytorch: variational": variational_process, "rotary-embedding-torch": rotary,
    "torchdiffeq: adjoint": lambda: equation("adjoint"), "torchdiffeq: Runge-Kutta": lambda: equation("rk4"),
    "vector-quantize-pytorch: VectorQuantize": lambda: quantiser("VectorQuantize"), "vector-quantize-pytorch: scalar": lambda: quantiser("scalar"), "einops": rearranged,
}
