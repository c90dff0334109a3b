from collections.abc import Callable

import pytest
import torch

from node.model.config import ModelConfig, ModelConfigError
from node.model.transformer import Transformer, expected_value, normalize, rotary_table, rotate, squared_relu
from tests.node.model.tiny import tiny_model


def logits(model: Transformer, tokens: torch.Tensor) -> torch.Tensor:
    everywhere = torch.arange(tokens.numel())
    with torch.inference_mode():
        return model(tokens, everywhere, everywhere)[0].unflatten(0, tokens.shape)


def test_the_demo_network_has_about_a_million_parameters() -> None:
    assert 0.9e6 < Transformer(ModelConfig()).parameter_count() < 1.2e6


def test_fresh_weights_predict_nearly_uniformly() -> None:
    model = Transformer(ModelConfig())
    tokens = torch.randint(0, 1024, (2, 20), generator=torch.Generator().manual_seed(0))
    assert float(logits(model, tokens).log_softmax(-1).max()) < -6.5  # log 1024 is 6.93


@pytest.mark.parametrize("changes", [{}, {"kv_heads": 2}, {"kv_heads": 1}, {"tied": True}])
def test_nothing_to_the_right_changes_a_prediction(changes: dict[str, int]) -> None:
    model = tiny_model(**changes)
    tokens = torch.randint(5, 300, (3, 24), generator=torch.Generator().manual_seed(1))
    other = tokens.clone()
    other[:, 15:] = 0
    assert torch.allclose(logits(model, tokens)[:, :15], logits(model, other)[:, :15], atol=1e-5)
    assert not torch.allclose(logits(model, tokens)[:, 15:], logits(model, other)[:, 15:], atol=1e-2)


def test_grouped_heads_equal_full_heads_with_repeated_matrices() -> None:
    grouped, full = tiny_model(kv_heads=2), tiny_model()
    state = full.state_dict()
    for name, tensor in grouped.state_dict().items():
        repeat = name.endswith(("key.weight", "value.weight")) and "attention" in name
        state[name] = tensor.unflatten(0, (2, -1)).repeat_interleave(2, dim=0).flatten(0, 1) if repeat else tensor
    full.load_state_dict(state)
    tokens = torch.randint(5, 300, (2, 12), generator=torch.Generator().manual_seed(2))
    assert torch.allclose(logits(grouped, tokens), logits(full, tokens), atol=1e-5)


def test_logits_come_only_from_the_wanted_positions() -> None:
    model = tiny_model()
    tokens = torch.randint(5, 300, (2, 10), generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        policy, value = model(tokens, torch.tensor([3, 17]), torch.tensor([12]))
    assert policy.shape == (2, model.config.vocab_size) and value.shape == (1, 64)
    assert torch.allclose(policy, logits(model, tokens).flatten(0, 1)[[3, 17]], atol=1e-5)


def test_rotation_keeps_lengths_and_depends_on_distance_alone() -> None:
    table = rotary_table(ModelConfig(width=16, heads=2, kv_heads=2))
    x, y = torch.randn(2, 1, 2, 8, generator=torch.Generator().manual_seed(4))
    near = [(rotate(x, table[place : place + 1]) * rotate(y, table[place + 3 : place + 4])).sum() for place in (0, 50)]
    assert torch.allclose(rotate(x, table[7:8]).norm(), x.norm(), atol=1e-5)
    assert torch.allclose(near[0], near[1], atol=1e-4)


def test_normalisation_gives_unit_root_mean_square_and_survives_zeros() -> None:
    x = torch.tensor([[3.0, -4.0], [0.0, 0.0]])
    assert torch.allclose(normalize(x).square().mean(-1), torch.tensor([1.0, 0.0]))


@pytest.mark.parametrize("function", [normalize, squared_relu])
def test_gradients_written_by_hand_are_those_of_differences(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.randn(3, 2, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).requires_grad_()
    assert torch.autograd.gradcheck(function, (x,))


def test_at_its_floor_normalisation_divides_by_a_constant() -> None:
    x = torch.full((1, 4), 1e-9).requires_grad_()
    normalize(x).sum().backward()
    assert torch.allclose(x.grad, torch.full((1, 4), 1e6))  # type: ignore[arg-type]


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
