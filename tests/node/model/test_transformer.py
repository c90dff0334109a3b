"""The network, its options (sliding window, soft cap, packing), and its optimizer."""

import copy
from collections.abc import Callable

import pytest
import torch

from node.learner.settings import LearnerSettings
from node.model.config import OPTIONS, FileMismatch, ModelConfig, ModelConfigError, config_from_dict
from node.model.optimizer import Muon, Optimizer, OptimizerSettings, orthogonalize, split_parameters
from node.model.transformer import Transformer, expected_value, normalize, rotary_table, rotate, squared_relu, visible
from tests.node.model.tiny import tiny_loss, tiny_model


def tokens(rows: int = 2, length: int = 24) -> torch.Tensor:
    return torch.randint(5, 300, (rows, length), generator=torch.Generator().manual_seed(1))


@torch.inference_mode()
def logits(model: Transformer, ids: torch.Tensor, **options: torch.Tensor) -> torch.Tensor:
    return model.policy_logits(model.hidden(ids, **options))


@pytest.mark.parametrize("changes", [{}, {"kv_heads": 2}, {"kv_heads": 1}, {"tied": True}])
def test_nothing_to_the_right_changes_a_prediction(changes: dict[str, int]) -> None:
    model, ids = tiny_model(**changes), tokens(3)
    other = ids.clone()
    other[:, 15:] = 0
    assert torch.allclose(logits(model, ids)[:, :15], logits(model, other)[:, :15], atol=1e-5)
    assert not torch.allclose(logits(model, ids)[:, 15:], logits(model, other)[:, 15:], atol=1e-2)


def test_grouped_heads_equal_full_heads_with_repeated_matrices() -> None:
    grouped, full = tiny_model(kv_heads=2), tiny_model()
    state = full.state_dict()
    for name, tensor in grouped.state_dict().items():
        repeat = name.endswith(("key.weight", "value.weight")) and "attention" in name
        state[name] = tensor.unflatten(0, (2, -1)).repeat_interleave(2, dim=0).flatten(0, 1) if repeat else tensor
    full.load_state_dict(state)
    assert torch.allclose(logits(grouped, tokens()), logits(full, tokens()), atol=1e-5)


@pytest.mark.parametrize("function", [normalize, squared_relu])
def test_gradients_written_by_hand_are_those_of_differences(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.randn(3, 2, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).requires_grad_()
    assert torch.autograd.gradcheck(function, (x,))
    short = (3e-7 * x.detach()).requires_grad_()  # below the floor of a norm
    assert torch.autograd.gradcheck(function, (short,), eps=1e-10, atol=1e-2)


def test_a_complex_rotation_is_the_real_one() -> None:
    table = rotary_table(ModelConfig(width=16, heads=2, kv_heads=2))[:5]
    x = torch.randn(3, 5, 2, 8, generator=torch.Generator().manual_seed(6))  # float64 takes the real formula
    assert torch.allclose(rotate(x, table), rotate(x.double(), table).float(), atol=1e-6)
    own = table[torch.tensor([[0, 1, 2, 0, 1]] * 3)]
    assert torch.allclose(rotate(x, own), rotate(x.double(), own).float(), atol=1e-6)


def test_value_is_minus_the_expected_number_of_steps() -> None:
    certain = torch.full((64,), -50.0)
    certain[7] = 50.0
    halves = torch.full((64,), -50.0)
    halves[[2, 4]] = 0.0
    assert expected_value(torch.stack([certain, halves])).tolist() == pytest.approx([-7.0, -3.0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 0}, "depth"),
        ({"width": 130}, "must be a multiple of heads, 4"),
        ({"kv_heads": 3}, "must be a multiple of kv_heads, 3"),
        ({"width": 12}, "must be even"),
        ({"value_bins": 1}, "value_bins"),
    ],
)
def test_impossible_shapes_are_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ModelConfigError, match=message):
        Transformer(ModelConfig(**changes))  # type: ignore[arg-type]


# --- options ----------------------------------------------------------------------------------------------------------
def changed(before: torch.Tensor, after: torch.Tensor) -> list[bool]:
    """For each position, whether its logits differ in any row."""
    return ((before - after).abs().amax(dim=(0, 2)) > 1e-3).tolist()


def test_a_window_hides_what_is_further_back() -> None:
    # One layer sees `window` tokens; every further layer as many again, less the token they share. The last layer of
    # a network sees all, so the two before it are looked at alone, too.
    model = tiny_model(depth=3, window=4, full_every=9)
    x = tokens()
    other = x.clone()
    other[:, 3] = 7
    states = []
    with torch.inference_mode():
        for ids in (x, other):
            states.append(model.embedding(ids))
            for block in list(model.blocks)[:2]:
                states[-1] = block(states[-1], model.table[:24], visible(24, window=4))
    assert changed(*states) == [3 <= place < 3 + 2 * 3 + 1 for place in range(24)]
    assert changed(logits(model, x), logits(model, other)) == [place >= 3 for place in range(24)]


def test_a_soft_cap_bounds_logits_and_keeps_their_order() -> None:
    capped, plain = tiny_model(softcap=2.0), tiny_model()
    ours, raw = logits(capped, tokens()), logits(plain, tokens())
    assert float(ours.abs().max()) < 2.0 < float(raw.abs().max())
    assert torch.allclose(ours, 2 * torch.tanh(raw / 2))


def test_a_configuration_without_options_is_written_as_before_there_were_any() -> None:
    plain = ModelConfig().as_dict()
    assert not OPTIONS.keys() & plain.keys() and config_from_dict(plain) == ModelConfig()
    used = ModelConfig(window=64, softcap=15.0)
    assert config_from_dict(used.as_dict()) == used
    assert config_from_dict(used.as_dict() | {"prefix_lm": False}) == used, "it was taken out"
    with pytest.raises(FileMismatch, match="does not know: prefix_lm"):
        config_from_dict(plain | {"prefix_lm": True})
    # Names of cached warm starts are made of this: it must not change with what a run does not use.
    assert plain == LearnerSettings().model.as_dict()


# --- the optimizer ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 8, 32), (2, 32, 8)])
def test_orthogonalised_updates_have_singular_values_near_one(shape: tuple[int, int, int]) -> None:
    update = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalize(update))
    assert float(values.min()) > 0.5 and float(values.max()) < 1.3


def test_matrices_of_blocks_go_to_muon_which_agrees_with_torch_up_to_bfloat16_and_the_rest_to_adamw() -> None:
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
