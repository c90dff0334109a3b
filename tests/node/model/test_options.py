"""Options of the network: sliding window, prefix LM, soft cap, packing; presets."""

import pytest
import torch

from node.learner.settings import LearnerSettings
from node.model.config import OPTIONS, ModelConfig, config_from_dict
from node.model.transformer import Transformer, visible
from tests.node.model.tiny import tiny_model


def tokens(rows: int = 2, length: int = 24, seed: int = 1) -> torch.Tensor:
    return torch.randint(5, 300, (rows, length), generator=torch.Generator().manual_seed(seed))


@torch.inference_mode()
def logits(model: Transformer, ids: torch.Tensor, **options: torch.Tensor) -> torch.Tensor:
    return model.policy_logits(model.hidden(ids, **options))


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
    table = model.table[:24]
    mask = visible(24, window=4)
    with torch.inference_mode():
        states = []
        for ids in (x, other):
            hidden = model.embedding(ids)
            for block in list(model.blocks)[:2]:
                hidden = block(hidden, table, mask)
            states.append(hidden)
    assert changed(*states) == [3 <= place < 3 + 2 * 3 + 1 for place in range(24)]
    assert changed(logits(model, x), logits(model, other)) == [place >= 3 for place in range(24)]


def test_a_prefix_lm_sees_the_prompt_both_ways_and_the_tactic_one_way() -> None:
    model = tiny_model(prefix_lm=True)
    x, prefix = tokens(), torch.tensor([10, 10])
    before = logits(model, x, prefix=prefix)
    for place, seen_from in ((9, 0), (15, 15)):
        other = x.clone()
        other[:, place] = 7
        assert changed(before, logits(model, other, prefix=prefix)) == [at >= seen_from for at in range(24)]


def test_the_prompt_of_a_prefix_lm_ends_where_the_value_is_read() -> None:
    model = tiny_model(prefix_lm=True)
    x, at = tokens(), torch.arange(48)
    with torch.inference_mode():
        policy, _ = model(x, at, torch.tensor([6, 24 + 13]))
    assert torch.allclose(policy.unflatten(0, (2, 24)), logits(model, x, prefix=torch.tensor([7, 14])), atol=1e-5)
    with pytest.raises(ValueError, match="one prompt per row: 2 rows"):
        model(x, at, torch.tensor([6]))


def test_a_soft_cap_bounds_logits_and_keeps_their_order() -> None:
    capped, plain = tiny_model(softcap=2.0), tiny_model()
    ours, raw = logits(capped, tokens()), logits(plain, tokens())
    assert float(ours.abs().max()) < 2.0 < float(raw.abs().max())
    assert torch.allclose(ours, 2 * torch.tanh(raw / 2))


def test_a_configuration_without_options_is_written_as_before_there_were_any() -> None:
    plain = ModelConfig().as_dict()
    assert not OPTIONS.keys() & plain.keys() and config_from_dict(plain) == ModelConfig()
    used = ModelConfig(window=64, prefix_lm=True)
    assert config_from_dict(used.as_dict()) == used
    # Names of cached warm starts are made of this: it must not change with what a run does not use.
    assert plain == LearnerSettings().model.as_dict()
