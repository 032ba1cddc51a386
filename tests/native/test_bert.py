"""The kernel that reads texts as a BERT model does, against a forward pass in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimful.native import bert
from tests.neural.bert import forward

PATHS = range(bert.best_path() + 1)


def tensors(*, width, inner, layers=2, words=30, places=70, seed=1, spread=0.3):
    """A small model's numbers by name, of a size that leaves every step something to do."""
    chance = np.random.default_rng(seed)
    shapes = {f"embeddings.{name}_embeddings.weight": (words, width) for name in ("word", *bert.TABLES)}
    shapes["embeddings.position_embeddings.weight"] = (places, width)
    norms = ["embeddings.LayerNorm"]
    for layer in range(layers):
        name = f"encoder.layer.{layer}."
        sizes = [(width, width)] * 4 + [(inner, width), (width, inner)]
        for linear, shape in zip(bert.LINEARS, sizes, strict=True):
            shapes |= {f"{name}{linear}.weight": shape, f"{name}{linear}.bias": shape[:1]}
        norms += [name + norm for norm in bert.NORMS]
    found = {name: (chance.normal(size=shape) * spread).astype(np.float32) for name, shape in shapes.items()}
    for norm in norms:
        found[f"{norm}.weight"] = (1 + chance.normal(size=width) * spread).astype(np.float32)
        found[f"{norm}.bias"] = (chance.normal(size=width) * spread).astype(np.float32)
    return found


def encoder_of(numbers, layers, *, path=None):
    """A model of these numbers."""
    words = numbers["embeddings.word_embeddings.weight"]
    return bert.Encoder(numbers.__getitem__, words.__getitem__, layers, vocabulary=len(words), path=path)


def encoders(numbers, layers):
    """The same model by every way that this processor has."""
    return [encoder_of(numbers, layers, path=path) for path in PATHS]


@given(
    st.sampled_from([(1, 1), (2, 4), (3, 11), (4, 8), (2, 33), (1, 70)]),
    st.integers(1, 130),
    st.lists(st.integers(0, 29), min_size=1, max_size=70),
    st.booleans(),
    st.integers(0, 5),
)
def test_every_way_gives_the_same_bits(sizes, inner, tokens, is_first, seed):
    """Heads and layers of any width, one token to seventy: plain C and the widest instructions agree to the bit."""
    heads, size = sizes
    numbers = tensors(width=heads * size, inner=inner, seed=seed)
    layers = bert.Layers(2, heads, is_first=is_first)
    rows = [encoder.read(tokens) for encoder in encoders(numbers, layers)]
    assert np.isfinite(rows[0]).all()
    assert {row.tobytes() for row in rows} == {rows[0].tobytes()}


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize(("heads", "size", "inner"), [(4, 8, 64), (2, 32, 256), (3, 40, 200)])
def test_vectors_are_those_of_floats(heads, size, inner, is_first):
    """Rounding to bytes turns a vector by a few degrees at most from what float64 makes of the same weights."""
    numbers = tensors(width=heads * size, inner=inner, spread=0.1)
    encoder = encoder_of(numbers, bert.Layers(2, heads, is_first=is_first))
    for count in (1, 2, 11, 12, 13, 48, 49, 70):
        tokens = np.random.default_rng(count).integers(0, 30, count).tolist()
        wanted = forward(numbers, tokens, layers=2, heads=heads, first=is_first)
        found = encoder.read(tokens).astype(np.float64)
        assert found @ wanted / np.linalg.norm(found) / np.linalg.norm(wanted) > 0.999


def test_a_text_is_read_alike_after_any_other():
    """What a longer text left in the room where texts are worked on does not show."""
    encoder = encoder_of(tensors(width=24, inner=40), bert.Layers(2, 2))
    alone = encoder.read([3, 1, 2]).tobytes()
    encoder.read([9] * 70)
    assert encoder.read([3, 1, 2]).tobytes() == alone


def test_weights_of_zeros_are_read():
    """A model that says nothing gives every text the bias of its last norm."""
    numbers = {name: np.zeros_like(each) for name, each in tensors(width=8, inner=8).items()}
    numbers["encoder.layer.1.output.LayerNorm.bias"][:] = 2
    for encoder in encoders(numbers, bert.Layers(2, 2)):
        assert encoder.read([1, 2]).tolist() == [4.0] * 8


@pytest.mark.parametrize("tokens", [[], [0] * 71, [30], [-1], [1 << 40]])
def test_tokens_that_the_model_does_not_have_are_refused(tokens):
    """None, more than there are places, or one without a row."""
    encoder = encoder_of(tensors(width=8, inner=8), bert.Layers(2, 2))
    with pytest.raises(ValueError, match="token"):
        encoder.read(tokens)


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("encoder.layer.1.output.dense.weight", (8, 9), "not \\(8, 16\\)"),
        ("encoder.layer.0.attention.self.key.bias", (7,), "not \\(8,\\)"),
        ("encoder.layer.0.output.LayerNorm.bias", (9,), "not \\(8,\\)"),
        ("embeddings.position_embeddings.weight", (70, 10), "not \\(30, 10\\)"),
        ("embeddings.token_type_embeddings.weight", (0, 8), "shape \\(0, 8\\)"),
        ("embeddings.position_embeddings.weight", (1 << 15, 8), "places"),
    ],
)
def test_tensors_of_another_shape_are_refused(name, shape, words):
    """Nothing is read that is not there."""
    numbers = tensors(width=8, inner=16) | {name: np.zeros(shape, np.float32)}
    with pytest.raises(ValueError, match=words):
        encoder_of(numbers, bert.Layers(2, 2))


@pytest.mark.parametrize("layers", [bert.Layers(2, 3), bert.Layers(2, 0), bert.Layers(0, 2), bert.Layers(2, 16)])
def test_sizes_that_no_model_has_are_refused(layers):
    """Heads that do not share the width evenly, no layers."""
    with pytest.raises(ValueError, match=r"heads|layers"):
        encoder_of(tensors(width=8, inner=16), layers)
    with pytest.raises(ValueError, match="no way 9"):
        encoder_of(tensors(width=8, inner=16), bert.Layers(2, 2), path=9)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e30])
def test_weights_that_are_no_numbers_are_refused(number):
    """In a layer when the model is opened, in a table when a text meets it."""
    for name in ("encoder.layer.0.output.dense.weight", "encoder.layer.1.output.LayerNorm.weight"):
        numbers = tensors(width=8, inner=16)
        numbers[name].flat[3] = number
        with pytest.raises(ValueError, match="not finite"):
            encoder_of(numbers, bert.Layers(2, 2))
    numbers = tensors(width=8, inner=16)
    numbers["embeddings.word_embeddings.weight"][5, 3] = number
    for encoder in encoders(numbers, bert.Layers(2, 2)):
        assert np.isfinite(encoder.read([4, 6])).all()
        with pytest.raises(ValueError, match="not finite"):
            encoder.read([4, 5])


def test_rows_of_words_of_another_width_are_refused():
    """The table of words is looked at when a text meets it."""
    numbers = tensors(width=8, inner=16) | {"embeddings.word_embeddings.weight": np.zeros((30, 9), np.float32)}
    with pytest.raises(ValueError, match=r"word_embeddings has the shape \(2, 9\), not \(2, 8\)"):
        encoder_of(numbers, bert.Layers(2, 2)).read([1, 2])
