import copy

import pytest
import torch

from node.model.optimizer import Muon, Optimizer, OptimizerSettings, orthogonalize, split_parameters
from tests.node.model.tiny import tiny_loss, tiny_model


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 8, 32), (2, 32, 8)])
def test_orthogonalised_updates_have_singular_values_near_one(shape: tuple[int, int, int]) -> None:
    update = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalize(update))
    assert float(values.min()) > 0.5 and float(values.max()) < 1.3


def test_muon_agrees_with_torch_up_to_bfloat16() -> None:
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this torch has no Muon")
    ours, theirs = (torch.nn.Parameter(torch.randn(24, 12, generator=torch.Generator().manual_seed(1))) for _ in "ab")
    rates = {"lr": 0.1, "momentum": 0.95, "weight_decay": 0.1}
    mine = Muon([ours], **rates)
    reference = torch.optim.Muon([theirs], **rates, nesterov=True, adjust_lr_fn="match_rms_adamw")
    before = ours.detach().clone()
    for seed in range(3):
        gradient = torch.randn(24, 12, generator=torch.Generator().manual_seed(seed))
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        mine.step()
        reference.step()
    moved = float((ours.detach() - before).norm())
    assert float((ours - theirs).detach().norm()) < 0.03 * moved


def test_matrices_of_blocks_go_to_muon_and_everything_else_to_adamw() -> None:
    model = tiny_model()
    matrices, others = split_parameters(model)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    heads = {f"{part}.weight" for part in ("embedding", "policy", "value")}
    assert {names[id(parameter)] for parameter in others} == {*heads, *(f"blocks.{n}.attention.gain" for n in (0, 1))}
    assert len(matrices) + len(others) == len(names)


def test_training_goes_on_exactly_from_a_saved_state() -> None:
    model = tiny_model().train()
    optimizer = Optimizer(model)

    def steps(model: torch.nn.Module, optimizer: Optimizer, count: int) -> list[float]:
        losses = []
        for _ in range(count):
            loss = tiny_loss(model)
            loss.backward()
            optimizer.clip()
            optimizer.update()
            losses.append(float(loss.detach()))
        return losses

    steps(model, optimizer, 3)
    resumed = copy.deepcopy(model)
    again = Optimizer(resumed)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert steps(model, optimizer, 3) == steps(resumed, again, 3)


def test_large_gradients_are_clipped_and_rates_warm_up() -> None:
    model = tiny_model().train()
    optimizer = Optimizer(model, OptimizerSettings(warmup=10, rate=0.01, clip=1.0))
    (1e6 * tiny_loss(model)).backward()
    before = model.policy.weight.detach().clone()
    assert optimizer.clip() > 1e3
    optimizer.update()
    assert float((model.policy.weight.detach() - before).abs().max()) <= 0.01 / 10 * 1.01
    assert model.policy.weight.grad is None
