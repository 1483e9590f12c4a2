import numpy as np
import pytest
import torch

from kinhash.encoders import unit_length
from kinhash.training.networks import (
    CodNetwork,
    IstaNetwork,
    MultimodalNetwork,
    TanhNetwork,
    TopKNetwork,
)


def atoms(rng, m=12, d=20):
    return torch.from_numpy(unit_length(rng.normal(size=(m, d)).astype(np.float32)))


def test_ista_starts_as_ista_with_w_transposed_as_dictionary(rng):
    W = atoms(rng)
    network = IstaNetwork(W, beta=3.0, n_steps=1, signed=True)
    gram = W.numpy() @ W.numpy().T
    largest = np.linalg.norm(W.numpy(), 2) ** 2
    assert np.allclose(network.S.detach(), np.eye(12) - gram / largest, atol=1e-6)
    assert torch.equal(network.W.detach(), W)
    assert not network.tau.any()


def test_coordinate_descent_starts_with_a_zero_diagonal(rng):
    network = CodNetwork(atoms(rng), beta=3.0, n_steps=3, signed=False)
    assert torch.allclose(torch.diagonal(network.S), torch.zeros(12), atol=1e-6)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n_steps", [0, 1, 3])
def test_ista_equals_the_printed_recursion(rng, signed, n_steps):
    network = IstaNetwork(atoms(rng), beta=2.0, n_steps=n_steps, signed=signed)
    with torch.no_grad():
        network.tau += 0.1 * torch.rand(12)
    x = atoms(rng, m=5)
    W, S, tau = (p.detach().numpy() for p in (network.W, network.S, network.tau))
    for row, output in zip(x.numpy(), network(x).detach().numpy(), strict=True):
        v = W @ row
        shrink = (
            (lambda u: np.maximum(0, np.abs(u) - tau) * np.sign(u))
            if signed
            else (lambda u: np.maximum(0, u - tau))
        )
        z = shrink(v)
        for _ in range(n_steps):
            z = shrink(v + S @ z)
        assert np.allclose(output, np.tanh(2.0 * z), atol=1e-6)


@pytest.mark.parametrize("signed", [False, True])
def test_coordinate_descent_never_exceeds_its_active_bits(rng, signed):
    for n_active in (1, 2, 5):
        network = CodNetwork(atoms(rng), beta=50.0, n_steps=n_active, signed=signed)
        outputs = network(atoms(rng, m=30))
        assert int((outputs != 0).sum(dim=1).max()) <= n_active


def test_two_sided_thresholds_stay_non_negative(rng):
    network = IstaNetwork(atoms(rng), beta=3.0, n_steps=1, signed=True)
    with torch.no_grad():
        network.tau -= 1
    network.project()
    assert network.tau.min().item() == 0


@pytest.mark.parametrize("kind", [IstaNetwork, CodNetwork])
def test_every_parameter_gets_a_gradient(rng, kind):
    network = kind(atoms(rng), beta=3.0, n_steps=2, signed=False)
    network(atoms(rng, m=30)).sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.abs().sum() > 0), name


def test_of_a_sparse_network_only_w_decays(rng):
    network = IstaNetwork(atoms(rng), beta=3.0, n_steps=1, signed=False, weight_decay=2.0)
    (dictionary, rest) = network.parameter_groups()
    assert dictionary["weight_decay"] == 2.0
    assert dictionary["params"][0] is network.W
    assert rest["weight_decay"] == 0.0
    assert {id(p) for p in rest["params"]} == {id(network.S), id(network.tau)}


def test_of_a_dense_layer_both_parameters_decay(rng):
    network = TanhNetwork(atoms(rng), beta=3.0, weight_decay=3.0)
    (group,) = network.parameter_groups()
    assert group["weight_decay"] == 3.0
    assert {id(p) for p in group["params"]} == {id(network.W), id(network.bias)}


def test_several_networks_train_together(rng):
    branches = [
        IstaNetwork(atoms(rng, d=d), beta=3.0, n_steps=1, signed=True, weight_decay=decay)
        for d, decay in ((5, 2.0), (6, 0.5))
    ]
    network = MultimodalNetwork(branches)
    assert [g["weight_decay"] for g in network.parameter_groups()] == [2.0, 0.0, 0.5, 0.0]
    assert len(list(network.parameters())) == 6
    with torch.no_grad():
        branches[1].tau -= 1
    network.project()
    assert branches[1].tau.min().item() == 0
    outputs = network([atoms(rng, m=3, d=5), atoms(rng, m=2, d=6)])
    assert torch.equal(network.binary(outputs), torch.cat([o.round() for o in outputs]))


def test_the_largest_outputs_win_and_their_number_falls_in_a_line(rng):
    network = TopKNetwork(atoms(rng), beta=5.0, n_active=2, n_start=9)
    x = atoms(rng, m=30)
    v = (x @ network.W.T + network.bias).detach()
    numbers = []
    for done in (0.0, 0.1, 0.35, 0.6, 0.7, 0.9, 1.0):
        network.anneal(done)
        codes = network(x).detach()
        (n,) = set(codes.sum(dim=1).tolist())
        numbers.append(n)
        wanted = torch.zeros_like(v).scatter(1, v.topk(int(n), dim=1).indices, 1.0)
        assert torch.equal(codes, wanted)
    assert numbers == [9, 8, round(5.5), 3, 2, 2, 2]
    network.anneal(0.0)
    network.eval()
    assert network(x).sum(dim=1).tolist() == [2] * 30


def test_gradients_are_those_of_a_sigmoid_around_the_threshold_of_the_row():
    network = TopKNetwork(torch.eye(4), beta=3.0, n_active=2, n_start=2)
    x = torch.tensor([[4.0, 1.0, 3.0, 2.0]], requires_grad=True)
    weights = torch.tensor([1.0, 10.0, 100.0, 1000.0])
    (network(x)[0] @ weights).backward()
    for value, weight, found in zip(
        x[0].tolist(), weights.tolist(), x.grad[0].tolist(), strict=True
    ):
        p = 1 / (1 + np.exp(-3.0 * (value - 2.5)))  # between 3, which wins, and 2, which does not
        assert found == pytest.approx(weight * 3.0 * p * (1 - p), rel=1e-5)


def test_all_outputs_may_win(rng):
    network = TopKNetwork(atoms(rng), beta=5.0, n_active=1, n_start=12)
    assert network(atoms(rng, m=3)).sum().item() == 36


def test_several_networks_are_annealed_together(rng):
    branches = [TopKNetwork(atoms(rng), beta=5.0, n_active=2, n_start=9) for _ in range(2)]
    MultimodalNetwork(branches).anneal(1.0)
    assert [branch.n_winners for branch in branches] == [2, 2]
