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
