"""The model: the same arithmetic as GluonNLP's, names that do not depend on history, files that are checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd

from trainer.model import build as model
from trainer.model import r_drop
from trainer.model.kernels import library, processor
from trainer.model.positions import PADDING
from trainer.model.reference_loss import ReferenceTransformer
from trainer.model.transformer import ModelError, TranslationModel
from trainer.settings.model import Architecture, ModelSettings
from trainer.settings.section import SettingsError, section_from

VOCABULARY = 50
SMALL = ModelSettings(layers=2, units=24, hidden=40, heads=3, dropout=0.0, max_length=40)
needs_kernels = pytest.mark.needs_tool("g++")


def batch(seed: int = 0, sentences: int = 5, source: int = 21, target: int = 19) -> tuple[Any, Any, Any, Any]:
    rng = np.random.RandomState(seed)
    src_len, tgt_len = rng.randint(1, source + 1, sentences), rng.randint(2, target + 1, sentences)
    src_len[0], tgt_len[-1] = source, target
    src = np.where(np.arange(source) < src_len[:, None], rng.randint(4, VOCABULARY, (sentences, source)), 0)
    tgt = np.where(np.arange(target) < tgt_len[:, None], rng.randint(4, VOCABULARY, (sentences, target)), 0)
    return (
        mx.nd.array(src, dtype="int32"),
        mx.nd.array(src_len, dtype="float32"),
        mx.nd.array(tgt, dtype="int32"),
        mx.nd.array(tgt_len, dtype="float32"),
    )


def loss_and_gradients(made: TranslationModel, *arrays: Any) -> tuple[float, dict[str, Any]]:
    with autograd.record():
        loss, _ = made.loss(*arrays)
    loss.backward()
    return float(loss.asscalar()), {name: p.grad().asnumpy() for name, p in made.parameters().items()}


def disturb(made: TranslationModel) -> None:
    """Moves every parameter away from its start, so that no zero bias or unit gamma hides a mistake."""
    mx.random.seed(3)
    for parameter in made.parameters().values():
        parameter.set_data(parameter.data() + 0.1 * mx.nd.random.normal(shape=parameter.shape))


@needs_kernels
@pytest.mark.parametrize(
    ("smoothing", "hybrid", "shape"),
    [
        *((smoothing, hybrid, {}) for smoothing in (0.0, 0.1) for hybrid in (False, True)),
        (0.1, True, {"layers": 3, "decoder_layers": 1}),
        (0.1, True, {"layers": 1, "decoder_layers": 2}),
        (0.1, False, {"norm": "pre"}),
        (0.1, True, {"norm": "pre", "layers": 3, "decoder_layers": 1}),
        (0.1, True, {"separate": (70, VOCABULARY)}),
        (0.1, False, {"separate": (VOCABULARY, 60), "norm": "pre"}),
    ],
)
def test_fused_loss_and_gradients_equal_those_of_gluonnlp(
    smoothing: float, hybrid: bool, shape: dict[str, Any]
) -> None:
    shape, separate = {k: v for k, v in shape.items() if k != "separate"}, shape.get("separate")
    target = VOCABULARY if separate is None else separate[1]
    settings = ModelSettings(**{**SMALL.model_dump(), "label_smoothing": smoothing, **shape})
    made = model.build(settings, max(separate or (VOCABULARY,)), separate=separate)
    disturb(made)
    made.hybridize(hybrid)
    reference = ReferenceTransformer(made.network, [smoothing], target)
    for seed, size in enumerate([(5, 21, 19), (1, 1, 2), (3, 40, 33)]):
        arrays = batch(seed, *size)
        loss, gradients = loss_and_gradients(made, *arrays)
        with autograd.record():
            expected = reference(arrays[0], arrays[1], arrays[2][:, :-1], arrays[3] - 1, arrays[2][:, 1:], None)
        expected.backward()
        assert loss == pytest.approx(float(expected.asscalar()), rel=1e-5)
        for name, parameter in made.parameters().items():
            gradient = parameter.grad().asnumpy()
            assert gradients[name] == pytest.approx(gradient, abs=2e-4 * max(np.abs(gradient).max(), 1e-2)), name


@needs_kernels
@pytest.mark.parametrize(("norm", "weight"), [("post", 0.0), ("pre", 0.0), ("post", 5.0), ("pre", 5.0)])
def test_gradients_with_dropout_are_those_of_the_loss_that_was_computed(norm: str, weight: float) -> None:
    options = {**SMALL.model_dump(), "dropout": 0.3, "norm": norm, "r_drop": weight}
    made = model.build(ModelSettings(**options), VOCABULARY)
    disturb(made)
    arrays = batch()
    start = {name: p.data().copy() for name, p in made.parameters().items()}
    mx.random.seed(11)
    _, gradients = loss_and_gradients(made, *arrays)
    norm = np.sqrt(sum(float((gradient**2).sum()) for gradient in gradients.values()))

    def loss_at(distance: float) -> float:
        for name, parameter in made.parameters().items():
            parameter.set_data(start[name] + mx.nd.array(gradients[name] * (distance / norm)))
        mx.random.seed(11)
        with autograd.record():
            return float(made.loss(*arrays)[0].asscalar())

    step = 2e-3
    assert (loss_at(step) - loss_at(-step)) / (2 * step) == pytest.approx(norm, rel=1e-2)


def test_r_drop_is_half_of_the_paper_s_loss() -> None:
    """Takes the two passes of the batch apart again, and computes the formula from their predictions."""
    rng = np.random.RandomState(2)
    scores = rng.randn(2, 3, 4, 6)  # (passes, sentences, length, vocabulary)
    labels, lengths = rng.randint(0, 6, (3, 4)), np.array([4, 1, 3])
    p = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    counts = np.arange(4) < lengths[:, None]  # (sentences, length)
    cross_entropies = -sum(np.log(np.take_along_axis(one, labels[..., None], -1))[..., 0][counts].sum() for one in p)
    divergences = [(one * np.log(one / other)).sum(axis=-1)[counts].sum() for one, other in (p, p[::-1])]
    paper = cross_entropies + 5.0 / 2 * sum(divergences)
    given = mx.nd.array([cross_entropies]), mx.nd.array(scores.reshape(6, 4, 6)), mx.nd.array(np.tile(lengths, 2))
    assert float(r_drop.loss(*given, 5.0).asscalar()) == pytest.approx(paper / 2, rel=1e-5)


@needs_kernels
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_r_drop_kernel_and_its_gradient_are_those_of_mxnet_s_operators(smoothing: float) -> None:
    assert library.load()
    rng = np.random.RandomState(4)
    scores = mx.nd.array(3 * rng.randn(2 * 3 * 5, 17))
    labels, lengths = mx.nd.array(rng.randint(0, 17, (3, 5)), dtype="int32"), mx.nd.array([5, 1, 3])
    both = mx.nd.tile(labels, (2, 1)), mx.nd.tile(lengths, 2)
    scores.attach_grad()
    with autograd.record():
        found = 3 * mx.nd.centavo_r_drop(scores, labels, lengths, smoothing=smoothing, weight=5.0)[0]
    found.backward()
    gradient = scores.grad.asnumpy().copy()
    with autograd.record():
        cross_entropy = mx.nd.centavo_cross_entropy(scores, *both, smoothing=smoothing)[0]
        expected = 3 * r_drop.loss(cross_entropy, scores.reshape((6, 5, 17)), both[1], 5.0)
    expected.backward()
    assert float(found.asscalar()) == pytest.approx(float(expected.asscalar()), rel=1e-5)
    assert gradient == pytest.approx(scores.grad.asnumpy(), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("on", ["on", "off"])
def test_r_drop_adds_to_the_loss_of_training_alone(monkeypatch: pytest.MonkeyPatch, on: str) -> None:
    if on == "off":
        monkeypatch.setattr(library, "load", lambda: False)
    options = {**SMALL.model_dump(), "dropout": 0.3}
    plain, both = (model.build(ModelSettings(**{**options, "r_drop": weight}), VOCABULARY) for weight in (0.0, 5.0))
    for made in (plain, both):
        disturb(made)
    arrays = batch()
    assert float(both.loss(*arrays)[0].asscalar()) == float(plain.loss(*arrays)[0].asscalar())
    mx.random.seed(3)
    loss, gradients = loss_and_gradients(both, *arrays)
    with autograd.record():
        assert both.loss(*arrays)[1] == plain.loss(*arrays)[1], "tokens are counted once"
    assert loss > loss_and_gradients(plain, *arrays)[0]
    assert all(np.isfinite(gradient).all() for gradient in gradients.values())


@needs_kernels
@pytest.mark.parametrize("of", ["y", "u", "both"])
def test_gradients_of_the_pre_norm_kernel_are_finite_differences(of: str) -> None:
    assert library.load()
    rng = np.random.RandomState(1)
    arrays = [mx.nd.array(rng.randn(*shape)) for shape in ((3, 8), (3, 8), (8,), (8,))]
    ways = [mx.nd.array(rng.randn(3, 8) * (of in (name, "both"))) for name in ("y", "u")]
    seed = mx.nd.array([7], dtype="int32")

    def value() -> Any:
        made = mx.nd.centavo_residual_pre_norm(*arrays, seed, dropout=0.4, salt=3, eps=1e-5)
        return (made[0] * ways[0]).sum() + (made[1] * ways[1]).sum()

    for array in arrays:
        array.attach_grad()
    with autograd.record():
        found = value()
    found.backward()
    for array in arrays:
        gradient, flat = array.grad.asnumpy().ravel().copy(), array.reshape(-1)
        for place in range(flat.size):
            before = float(flat[place].asscalar())
            at = []
            for step in (1e-2, -1e-2):
                flat[place] = before + step
                at.append(float(value().asscalar()))
            flat[place] = before
            assert (at[0] - at[1]) / 2e-2 == pytest.approx(gradient[place], abs=2e-2)


@needs_kernels
def test_dropout_keeps_its_share_and_the_mean() -> None:
    ones, zeros = mx.nd.ones((400, 500)), mx.nd.zeros((400, 500))
    gamma, beta = mx.nd.ones((500,)), mx.nd.zeros((500,))
    options = {"dropout": 0.3, "salt": 1, "eps": 1e-5}
    dropped = mx.nd.centavo_residual_norm(ones, zeros, gamma, beta, mx.nd.array([5], dtype="int32"), **options)[1]
    mean, deviation = dropped.asnumpy()[:, 0], 1 / dropped.asnumpy()[:, 1]
    assert mean.mean() == pytest.approx(1.0, abs=0.01)
    assert deviation.mean() == pytest.approx(np.sqrt(0.3 / 0.7), abs=0.01)
    again = mx.nd.centavo_residual_norm(ones, zeros, gamma, beta, mx.nd.array([6], dtype="int32"), **options)[1]
    assert not np.array_equal(again.asnumpy(), dropped.asnumpy())
    off = mx.nd.centavo_residual_norm(ones, zeros, gamma, beta, mx.nd.array([-1], dtype="int32"), **options)[1]
    assert off.asnumpy()[:, 0] == pytest.approx(1.0)


def test_the_same_random_seed_gives_the_same_dropout() -> None:
    made = model.build(ModelSettings(**{**SMALL.model_dump(), "dropout": 0.3}), VOCABULARY)
    losses = []
    for seed in (1, 1, 2):
        mx.random.seed(seed)
        losses.append(loss_and_gradients(made, *batch())[0])
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.parametrize("on", ["on", "off"])
@pytest.mark.parametrize(
    ("dropout", "attention_dropout", "differs"), [(0.0, 0.5, True), (0.0, 0.0, False), (0.3, 0.0, True)]
)
def test_attention_has_a_dropout_of_its_own(
    monkeypatch: pytest.MonkeyPatch, on: str, dropout: float, attention_dropout: float, differs: bool
) -> None:
    if on == "off":
        monkeypatch.setattr(library, "load", lambda: False)
    options = {**SMALL.model_dump(), "dropout": dropout, "attention_dropout": attention_dropout}
    made = model.build(ModelSettings(**options), VOCABULARY)
    losses = []
    for seed in (1, 2):
        mx.random.seed(seed)
        losses.append(loss_and_gradients(made, *batch())[0])
    assert (losses[0] != losses[1]) is differs


def test_attention_is_dropped_as_all_else_where_nothing_is_said() -> None:
    assert ModelSettings(dropout=0.2).architecture().dropout_of_attention == 0.2
    assert ModelSettings(dropout=0.2, attention_dropout=0.0).architecture().dropout_of_attention == 0.0


def test_there_is_no_dropout_outside_training() -> None:
    settings = {**SMALL.model_dump(), "dropout": 0.5}
    with_dropout = model.build(ModelSettings(**settings), VOCABULARY)
    without = model.build(SMALL, VOCABULARY)
    assert float(with_dropout.loss(*batch())[0].asscalar()) == float(without.loss(*batch())[0].asscalar())


@pytest.mark.parametrize("on", ["on", "off"])
def test_a_validation_has_the_loss_with_smoothing_and_without(monkeypatch: pytest.MonkeyPatch, on: str) -> None:
    if on == "off":
        monkeypatch.setattr(library, "load", lambda: False)
    options = {**SMALL.model_dump(), "dropout": 0.5}
    smooth, sharp = (
        model.build(ModelSettings(**{**options, "label_smoothing": one}), VOCABULARY) for one in (0.2, 0.0)
    )
    expected = [float(made.loss(*batch())[0].asscalar()) for made in (smooth, sharp)]
    assert smooth.losses(*batch()) == pytest.approx(expected, rel=1e-6)
    assert expected[0] != expected[1]


def test_the_loss_counts_target_tokens_without_the_first() -> None:
    arrays = batch()
    assert model.build(SMALL, VOCABULARY).loss(*arrays)[1] == float((arrays[3] - 1).sum().asscalar())


def test_padding_does_not_change_the_loss() -> None:
    made = model.build(SMALL, VOCABULARY)
    src, src_len, tgt, tgt_len = batch()
    wider = mx.nd.concat(src, mx.nd.zeros((5, 7), dtype="int32"), dim=1)
    longer = mx.nd.concat(tgt, mx.nd.zeros((5, 6), dtype="int32"), dim=1)
    narrow, wide = made.loss(src, src_len, tgt, tgt_len)[0], made.loss(wider, src_len, longer, tgt_len)[0]
    assert float(wide.asscalar()) == pytest.approx(float(narrow.asscalar()), rel=1e-6)


def test_a_diverged_model_has_a_loss_that_is_not_a_number() -> None:
    made = model.build(SMALL, VOCABULARY)
    weight = next(parameter for name, parameter in made.parameters().items() if name.endswith("ffn_1_weight"))
    weight.set_data(weight.data() * float("nan"))
    assert np.isnan(float(made.loss(*batch())[0].asscalar()))


@needs_kernels
@pytest.mark.parametrize("wrong", [VOCABULARY, -1])
@pytest.mark.parametrize("column", [3, 18])
def test_an_id_outside_the_vocabulary_is_an_error(wrong: int, column: int) -> None:
    made = model.build(SMALL, VOCABULARY)
    src, src_len, tgt, tgt_len = batch()
    tgt[4, column] = wrong
    with pytest.raises(mx.MXNetError, match="not in the vocabulary"):
        made.loss(src, src_len, tgt, tgt_len)[0].asscalar()


@needs_kernels
def test_sentences_longer_than_the_model_takes_are_an_error() -> None:
    model.build(SMALL, VOCABULARY).loss(*batch(0, 2, 40 + PADDING, 10))[0].asscalar()
    with pytest.raises(mx.MXNetError, match="longer than the encoded positions"):
        model.build(SMALL, VOCABULARY).loss(*batch(0, 2, 41 + PADDING, 10))[0].asscalar()


@needs_kernels
@pytest.mark.skipif(not processor.has("avx512bw"), reason="this processor has no AVX-512")
def test_bfloat16_comes_near_float32() -> None:
    exact = model.build(SMALL, VOCABULARY)
    lower = model.build(ModelSettings(**{**SMALL.model_dump(), "precision": "bfloat16"}), VOCABULARY)
    loss, gradients = loss_and_gradients(lower, *batch())
    expected, exact_gradients = loss_and_gradients(exact, *batch())
    assert loss != expected
    assert loss == pytest.approx(expected, rel=5e-3)
    name = next(name for name in gradients if name.endswith("dec_transformer0_ffn_1_weight") or "ffn_1_weight" in name)
    cosine = (gradients[name] * exact_gradients[name]).sum() / np.sqrt(
        (gradients[name] ** 2).sum() * (exact_gradients[name] ** 2).sum()
    )
    assert cosine > 0.99


def test_names_and_initial_values_do_not_depend_on_what_was_built_before() -> None:
    first = model.build(SMALL, VOCABULARY)
    model.build(ModelSettings(layers=1, units=8, hidden=8, heads=1), VOCABULARY)
    second = model.build(SMALL, VOCABULARY)
    assert list(first.parameters()) == list(second.parameters())
    for name, parameter in first.parameters().items():
        assert np.array_equal(parameter.data().asnumpy(), second.parameters()[name].data().asnumpy())


def test_embeddings_begin_as_large_as_the_positions_added_to_them() -> None:
    made = model.build(ModelSettings(layers=1, units=64, hidden=8, heads=2, max_length=40), 500)
    embedded = made.network.src_embed[0].weight.data().asnumpy() * 64**0.5
    assert embedded.std() == pytest.approx(1.0, rel=0.05)
    assert 0.5 < made.network.encoder.position_weight.data().asnumpy().std() / embedded.std() < 1


def test_embeddings_are_shared_and_tied() -> None:
    shapes = [parameter.shape for parameter in model.build(SMALL, VOCABULARY).parameters().values()]
    assert shapes.count((VOCABULARY, 24)) == 1


def test_presets_are_those_of_the_literature() -> None:
    sizes = ModelSettings(preset="tiny").architecture()
    assert (sizes.layers, sizes.units, sizes.hidden, sizes.heads) == (4, 128, 256, 4)
    sizes = ModelSettings(preset="base").architecture()
    assert (sizes.layers, sizes.units, sizes.hidden, sizes.heads) == (6, 512, 2048, 8)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_layers_of_encoder_and_decoder_are_counted_each_for_itself(norm: str) -> None:
    settings = ModelSettings(**{**SMALL.model_dump(), "layers": 3, "decoder_layers": 1, "norm": norm})
    names = list(model.build(settings, VOCABULARY).parameters())
    assert sum("enc_" in name and name.endswith("ffn_1_weight") for name in names) == 3
    assert sum("dec_" in name and name.endswith("ffn_1_weight") for name in names) == 1
    assert sum("final_norm" in name for name in names) == (4 if norm == "pre" else 0)


def test_every_part_of_a_preset_can_be_overridden() -> None:
    sizes = ModelSettings(preset="big", layers=1, units=6, hidden=7, heads=2, dropout=0.0).architecture()
    assert sizes == Architecture(1, 6, 7, 2, 0.0)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"preset": "huge"}, "unknown model preset 'huge'; there are tiny, base, big"),
        ({"units": 10, "heads": 4}, "10 units cannot be divided among 4 heads"),
        ({"layers": 0}, "1 or more"),
        ({"decoder_layers": 0}, "1 or more"),
        ({"r_drop": -1}, "r_drop: must be 0 or more"),
        ({"r_drop": 5, "dropout": 0.0}, "r_drop compares passes with different dropout, and there is none"),
        ({"norm": "sandwich"}, "norm: must be one of post, pre"),
        ({"dropout": 1.0}, "below 1"),
        ({"attention_dropout": 1.0}, "from 0 to below 1"),
    ],
)
def test_sizes_that_cannot_work_are_refused(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        section_from(ModelSettings, sizes)


def test_float16_is_refused_on_a_cpu() -> None:
    with pytest.raises(ModelError, match="float16 needs a GPU"):
        model.build(ModelSettings(precision="float16"), VOCABULARY)


def test_bfloat16_is_refused_where_the_processor_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "has", lambda _: False)
    with pytest.raises(ModelError, match="bfloat16 needs a processor with AVX-512"):
        model.build(ModelSettings(precision="bfloat16"), VOCABULARY)


def test_a_saved_model_comes_back_with_its_settings(tmp_path: Path) -> None:
    made = model.build(SMALL, VOCABULARY)
    disturb(made)
    made.save(tmp_path, {"vocabulary": "abc"})
    again = model.load(tmp_path)
    assert again.settings == SMALL
    assert float(again.loss(*batch())[0].asscalar()) == float(made.loss(*batch())[0].asscalar())
    assert json.loads((tmp_path / "model.json").read_text())["vocabulary"] == "abc"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "model.params"]


def test_a_saved_model_of_separate_vocabularies_comes_back(tmp_path: Path) -> None:
    made = model.build(SMALL, 70, separate=(70, VOCABULARY))
    disturb(made)
    made.save(tmp_path)
    again = model.load(tmp_path)
    assert (again.vocab_size, again.separate) == (70, (70, VOCABULARY))
    assert float(again.loss(*batch())[0].asscalar()) == float(made.loss(*batch())[0].asscalar())


def test_parameters_of_another_size_are_refused(tmp_path: Path) -> None:
    model.build(SMALL, VOCABULARY).save(tmp_path)
    with pytest.raises(ModelError, match=r"of another model: .* is "):
        model.build(SMALL, VOCABULARY + 1).load(tmp_path)


def test_parameters_of_another_depth_are_refused(tmp_path: Path) -> None:
    model.build(SMALL, VOCABULARY).save(tmp_path)
    with pytest.raises(ModelError, match="differ in transformer_"):
        model.build(ModelSettings(**{**SMALL.model_dump(), "layers": 1}), VOCABULARY).load(tmp_path)


def test_a_model_of_another_format_is_refused(tmp_path: Path) -> None:
    model.build(SMALL, VOCABULARY).save(tmp_path)
    description = json.loads((tmp_path / "model.json").read_text())
    del description["format"]  # as it was before there was one
    (tmp_path / "model.json").write_text(json.dumps(description))
    with pytest.raises(ModelError, match=r"is of format 1, and this Centavo reads 2: train the model again"):
        model.load(tmp_path)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.json"):
        model.load(tmp_path)
    made = model.build(SMALL, VOCABULARY)
    (tmp_path / "model.params").write_bytes(b"torn")
    with pytest.raises(ModelError, match=r"cannot read .*model\.params"):
        made.load(tmp_path)
