import numpy as np

from node.inference.engine.batch import uniforms


def test_noise_depends_on_seed_sample_and_position_alone() -> None:
    noise = uniforms(7, 6, 32)
    assert np.array_equal(noise[:3, :10], uniforms(7, 3, 10))
    assert not np.intersect1d(noise, uniforms(8, 6, 32)).size > 3
    assert len(np.unique(noise)) > 190, "nearly all of 192 numbers differ"


def test_noise_is_uniform_and_uncorrelated() -> None:
    noise = np.concatenate([uniforms(seed, 8, 32) for seed in range(400)]).astype(np.float64)
    counts = np.histogram(noise, bins=20, range=(0, 1))[0]
    expected = noise.size / 20
    assert ((counts - expected) ** 2 / expected).sum() < 50  # chi-square, 19 degrees of freedom: p of about 1e-4
    assert abs(np.corrcoef(noise[:, 0], noise[:, 1])[0, 1]) < 0.08
    assert abs(np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1]) < 0.02
    assert noise.min() >= 0 and noise.max() < 1
