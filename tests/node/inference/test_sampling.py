"""Drawing of tokens: against shares, against enumeration of what is in a nucleus."""

import numpy as np
import pytest
import torch

from node.inference.engine.batch import uniforms
from node.inference.engine.sampling import BLOCK, WIDE, Rules, draw, nucleus


def numbers(rows: int, width: int) -> torch.Tensor:
    return torch.from_numpy(uniforms(3, rows, width))


def random_logits(rows: int, vocabulary: int, scale: float = 3.0) -> torch.Tensor:
    return torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(1)) * scale


def test_tokens_of_probability_zero_are_never_drawn_also_at_the_edges_of_a_wide_distribution() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 1.0, -torch.inf]])
    drawn = draw(logits, torch.tensor([[0.0, 0.2, 0.5, 1 - 2**-23]]))
    assert drawn.tokens.tolist() == [[1, 1, 3, 3]]
    assert torch.allclose(drawn.policy.exp().unique().sum(), torch.tensor(1.0))
    logits = torch.full((1, WIDE), -torch.inf)
    logits[0, [BLOCK, 3 * BLOCK + 7, WIDE - BLOCK]] = torch.tensor([0.0, 1.0, 2.0])
    drawn = draw(logits.clone(), torch.tensor([[0.0, 0.5, 1 - 2**-23]]))
    assert drawn.tokens[0, 0] == BLOCK and drawn.tokens[0, 2] == WIDE - BLOCK
    assert torch.allclose(drawn.policy, logits.log_softmax(-1).gather(1, drawn.tokens), atol=1e-6)


@pytest.mark.parametrize("top_p", [0.01, 0.5, 0.9, 0.999, 1.0])
def test_the_nucleus_is_the_smallest_set_with_its_probability(top_p: float) -> None:
    weights = random_logits(6, 600, scale=1.0).softmax(-1)
    inside = nucleus(weights, torch.full((6,), top_p))
    for row, kept in zip(weights.tolist(), inside.tolist(), strict=True):
        order = sorted(range(600), key=lambda token: -row[token])
        chosen, total = [], 0.0
        for token in order:
            if total >= top_p:
                break
            chosen.append(token)
            total += row[token]
        assert {token for token in range(600) if kept[token] > 0} == set(chosen)
        assert all(kept[token] == row[token] for token in chosen)


def test_top_p_holds_for_the_rows_that_ask_for_it_and_its_shares_are_exact() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]]).repeat(2, 1)
    drawn = draw(logits, numbers(2, 4000), Rules(top_p=torch.tensor([0.8, 1.0])))
    shares = logits[0].softmax(-1)
    assert set(drawn.tokens[0].tolist()) == {0, 1} and set(drawn.tokens[1].tolist()) == {0, 1, 2, 3}
    expected = shares[:2] / shares[:2].sum()
    assert torch.allclose(drawn.policy.exp(), shares[drawn.tokens], atol=1e-6)
    found = float((drawn.tokens[0] == 0).float().mean())
    assert abs(found - float(expected[0])) < 5 * (0.25 / 4000) ** 0.5


def test_numbers_that_are_none_do_not_lead_outside_the_vocabulary() -> None:
    for width in (10, WIDE):
        drawn = draw(torch.full((2, width), torch.nan), numbers(2, 3))
        assert int(drawn.tokens.min()) >= 0 and int(drawn.tokens.max()) < width


def test_wide_distributions_are_drawn_as_narrow_ones_are() -> None:
    """The same tokens and log-probabilities, token by token in double precision, with and without a temperature."""
    logits = random_logits(7, WIDE)
    logits[:, -40:] = -torch.inf  # what fills a vocabulary up to whole blocks
    uniforms = numbers(7, 9)
    for temperatures in (None, torch.linspace(0.3, 2.0, 7)):
        scaled = logits.double() if temperatures is None else logits.double() / temperatures.double()[:, None]
        drawn = draw(logits.clone(), uniforms, Rules(temperatures=temperatures))
        cumulative = scaled.softmax(-1).cumsum(-1)
        expected = torch.searchsorted(cumulative, uniforms.double() * cumulative[:, -1:], right=True)
        assert torch.equal(drawn.tokens, expected)
        assert torch.allclose(drawn.policy.double(), logits.double().log_softmax(-1).gather(1, expected), atol=1e-5)


def test_noise_depends_on_seed_sample_and_position_alone_and_is_uniform_and_uncorrelated() -> None:
    noise = uniforms(7, 6, 32)
    assert np.array_equal(noise[:3, :10], uniforms(7, 3, 10))
    assert not np.intersect1d(noise, uniforms(8, 6, 32)).size > 3
    assert len(np.unique(noise)) > 190, "nearly all of 192 numbers differ"
    noise = np.concatenate([uniforms(seed, 8, 32) for seed in range(400)]).astype(np.float64)
    counts = np.histogram(noise, bins=20, range=(0, 1))[0]
    expected = noise.size / 20
    assert ((counts - expected) ** 2 / expected).sum() < 50  # chi-square, 19 degrees of freedom: p of about 1e-4
    assert abs(np.corrcoef(noise[:, 0], noise[:, 1])[0, 1]) < 0.08
    assert abs(np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1]) < 0.02
    assert noise.min() >= 0 and noise.max() < 1
