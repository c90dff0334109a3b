"""Our architecture in transformers gives our own numbers: at once, step by step, padded, in every form of attention."""

import pytest
import torch
from torch.testing import assert_close

from node.model.transformer import expected_value
from tests.node.model.hub.exported import VARIANTS, loaded, ours, written
from tests.node.model.tiny import tiny_loss, tiny_tokens

pytestmark = pytest.mark.compute

NOISE = {"rtol": 1e-4, "atol": 3e-5}
"""Of float32, where sums are taken in another order."""


def tokens(*shape: int) -> torch.Tensor:
    return torch.randint(5, 300, shape, generator=torch.Generator().manual_seed(1))


@pytest.fixture(params=["plain", "everything"])
def both(request, tmp_path):
    model, folder = written(tmp_path, **VARIANTS[request.param])
    return model, loaded(folder)


@torch.no_grad()
def test_logits_and_values_are_ours(both):
    model, theirs = both
    policy, value = ours(model, tokens(2, 40))
    found = theirs(tokens(2, 40))
    assert policy.std() > 0.05
    assert_close(found.logits, policy, **NOISE)
    assert_close(found.value_logits, value, **NOISE)
    assert_close(found.value, expected_value(value), **NOISE)


@torch.no_grad()
def test_with_a_cache_they_are_ours_step_by_step(both):
    model, theirs = both
    sequence = tokens(2, 30)
    policy, value = ours(model, sequence)
    found = theirs(sequence[:, :11], use_cache=True, logits_to_keep=1)
    for at in range(11, 30):
        assert found.logits.shape[1] == 1
        assert_close(found.logits[:, 0], policy[:, at - 1], **NOISE)
        assert_close(found.value_logits[:, 0], value[:, at - 1], **NOISE)
        found = theirs(sequence[:, at : at + 1], past_key_values=found.past_key_values, use_cache=True)


@torch.no_grad()
def test_padding_on_the_left_changes_nothing(both):
    model, theirs = both
    long, short = tokens(1, 30), tokens(1, 17)
    batch = torch.cat([long, torch.cat([torch.zeros(1, 13, dtype=torch.int64), short], dim=1)])
    mask = torch.ones_like(batch)
    mask[1, :13] = 0
    found = theirs(batch, attention_mask=mask)
    assert_close(found.logits[0], ours(model, long)[0][0], **NOISE)
    assert_close(found.logits[1, 13:], ours(model, short)[0][0], **NOISE)
    together = theirs.generate(batch, attention_mask=mask, max_new_tokens=8, do_sample=False)
    alone = theirs.generate(short, max_new_tokens=8, do_sample=False)
    assert together[1, 30 : 30 + alone.shape[1] - 17].tolist() == alone[0, 17:].tolist()


@pytest.mark.parametrize("recomputed", [False, True])
def test_gradients_are_ours(tmp_path, recomputed):
    model, folder = written(tmp_path, **VARIANTS["everything"])
    theirs = loaded(folder).train()
    if recomputed:
        theirs.activation_checkpointing_enable()
    tiny_loss(model).backward()
    found = theirs(tiny_tokens(), labels=tiny_tokens(), use_cache=False)
    (found.loss + torch.nn.functional.cross_entropy(found.value_logits[:, -1], torch.arange(4))).backward()
    assert_close(theirs.model.embed_tokens.weight.grad, model.embedding.weight.grad, **NOISE)
    assert_close(theirs.value_head.weight.grad, model.value.weight.grad, **NOISE)
    for layer, block in zip(theirs.model.layers, model.blocks, strict=True):
        assert_close(layer.self_attn.q_gain.grad, block.attention.gain.grad, **NOISE)
        assert_close(layer.mlp.up_proj.weight.grad, block.feed_forward.up.weight.grad, **NOISE)
