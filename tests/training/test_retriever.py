"""The tasks of the retrievers, on a BERT that reads letters."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from spacy_ontolink.encoders.bi_encoder import make_bi_encoder  # noqa: E402
from spacy_ontolink.encoders.sentence import make_sentence_encoder  # noqa: E402
from spacy_ontolink.errors import ConfigError  # noqa: E402
from spacy_ontolink.indexes.exact import ExactIndex  # noqa: E402
from spacy_ontolink.models.folder import ModelFolder  # noqa: E402
from spacy_ontolink.space import EntitySpace, Pooling, Query, retrieve  # noqa: E402
from spacy_ontolink.training.annotations import Annotation, make_examples  # noqa: E402
from spacy_ontolink.training.batches import Example, Relatives, Sampler  # noqa: E402
from spacy_ontolink.training.loop import train  # noqa: E402
from spacy_ontolink.training.name_model import NameModel  # noqa: E402
from spacy_ontolink.training.retriever import Alignment, MentionsAndEntities, MentionsAndNames  # noqa: E402
from spacy_ontolink.training.settings import LoopSettings  # noqa: E402
from spacy_ontolink.types import Mention  # noqa: E402

SHORT = {"mention_tokens": 40, "entity_tokens": 40}


def names(base, **given):
    return NameModel(str(base), **{"pooling": None, "max_length": 40, "temperature": 0.1, **given})


def settings(**given):
    return LoopSettings(**{"batch_size": 32, "learning_rate": 5e-3, "device": "cpu", "checkpoint_minutes": 10, **given})


def recall(kb, encoder, mentions, gold, k=1):
    space = EntitySpace.build(kb, encoder, ExactIndex(), Pooling())
    hits = retrieve(space, [Query(mention) for mention in mentions], k)
    return np.mean([number in row for number, row in zip(gold, hits.entities.tolist(), strict=True)])


WORDS = {"arm": "brachium", "leg": "crus", "heart": "cor", "liver": "hepar", "kidney": "ren", "eye": "oculus"}


@pytest.fixture(scope="module")
def annotated(signs):
    """Mentions in another wording, with their ids; the last third of the signs is for tests."""
    ids = [id for id in signs if id.startswith("S")]
    found = []
    for number, id in enumerate(ids):
        sign, _, part = signs[id].name.partition(" of the ")
        text = f"{sign}, {part}"
        found.append(Annotation(Mention(text, "with a ", " since then"), (number,), (id,)))
    return found


@pytest.fixture(scope="module")
def examples(signs, annotated):
    return make_examples(signs, annotated, context=False).examples


def test_vectors_are_those_of_the_encoder(bert, tmp_path):
    model = names(bert)
    model.module.eval()
    texts = ["fat", "Milk  Yield", "fat", "milk yield", "α level"]
    vectors = model.vectors(texts).detach().numpy()
    model.save(tmp_path / "saved")
    encoder = make_sentence_encoder(str(tmp_path / "saved"), device="cpu")
    assert np.allclose(encoder.encode_mentions([Mention(text) for text in texts]).blocks[0], vectors, atol=1e-5)
    assert np.array_equal(vectors[0], vectors[2])
    assert np.array_equal(vectors[1], vectors[3])
    assert encoder.stored.settings == {"pooling": "mean", "max_length": 40}


def test_pooling_is_saved(bert, tmp_path):
    names(bert, pooling="cls").save(tmp_path / "saved")
    assert ModelFolder.open(tmp_path / "saved").pooling == "cls"
    assert str(bert) not in "".join(file.read_text() for file in (tmp_path / "saved").rglob("*.json"))


def test_names_are_paired_with_names_of_their_entity(signs, bert):
    task = Alignment(signs, names(bert), pairs_per_entity=2, seed=0)
    pairs = task.start_epoch(0)
    owner = signs.name_owner[pairs]
    assert len(pairs) == 2 * 60  # the parts of the body have one name only
    assert (owner[:, 0] == owner[:, 1]).all()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert len(Alignment(signs, names(bert), pairs_per_entity=9, seed=0).start_epoch(0)) == 3 * 60
    assert np.array_equal(pairs, task.start_epoch(0))
    assert not np.array_equal(pairs, task.start_epoch(1))


def test_alignment_by_hand(traits, bert):
    """Rows are all names of the batch; namesakes are neither pulled nor pushed."""
    task = Alignment(traits, names(bert), pairs_per_entity=8, seed=0)
    task.module.eval()
    texts = ["body fat percentage", "fat percentage", "milk yield", "MY", "breast feeding", "BF"]
    positions = [traits.name_texts().index(text) for text in texts[:5]]
    positions.append(next(place for place in range(traits.n_names) if traits.texts_of([place]) == ["BF"]
                          and traits.ids_of([traits.name_owner[place]]) == ["X:9"]))  # fmt: skip
    loss = task.loss(np.array(positions).reshape(3, 2)).item()
    vectors = task.model.vectors(texts).detach()
    s = (vectors @ vectors.T / 0.1).exp()
    entities, pushed = [0, 0, 1, 1, 2, 2], {0: [1], 1: [0, 2], 2: [1]}  # 0 and 2 are both called BF
    expected = []
    for row, entity in enumerate(entities):
        rest = sum(s[row, other] for other in range(6) if entities[other] in pushed[entity])
        partner = row ^ 1
        expected.append(-torch.log(s[row, partner] / (s[row, partner] + rest)))
    assert loss == pytest.approx(torch.stack(expected).mean().item(), rel=1e-4)


def test_alignment_learns(signs, bert, tmp_path):
    held_out = [Mention(signs[id].synonyms[1].text) for id in signs if id.startswith("S")]
    gold = [number for number, id in enumerate(signs) if id.startswith("S")]
    model = names(bert)
    log = train(Alignment(signs, model, 8, seed=0), settings(epochs=8), tmp_path / "out")
    assert log.steps[-1].loss < 0.5 * log.steps[0].loss
    plain = EntitySpace.build(signs, make_sentence_encoder(str(bert), device="cpu"), ExactIndex(), Pooling())
    tuned = EntitySpace.build(
        signs, make_sentence_encoder(str(tmp_path / "out"), device="cpu"), ExactIndex(), Pooling()
    )
    primary = signs.primary_names()

    def similarity(space):
        rows = space.plain.vectors.blocks[0].astype(np.float32)
        mentions = space.encoder.encode_mentions(held_out).blocks[0]
        scores = mentions @ rows[primary].T
        return np.mean(scores.argmax(1) == gold)

    assert similarity(tuned) > similarity(plain) + 0.2


def test_pairs_by_hand(signs, bert):
    """The loss is that of equations 16 and 17 over the best name of each candidate."""
    pain = [number for number, id in enumerate(signs) if id in ("S:00", "S:10", "S:20")]
    own = signs.texts_of([signs.primary_names()[pain[0]]])[0]  # a mention that is the entity's very name
    items = [Example(Mention(own), pain[0]), Example(Mention("sore leg"), pain[1], (pain[2],), 3.0),
             Example(Mention("sore heart"), pain[2])]  # fmt: skip
    sampler = Sampler(Relatives(signs), "RM-PCS", cap=4)
    task = MentionsAndNames(signs, names(bert), items, sampler, names=9, seed=0)
    task.module.eval()
    torch.manual_seed(7)
    loss = task.loss(items).item()
    torch.manual_seed(7)
    batch = sampler(items, np.random.default_rng(int(torch.randint(2**62, ()))))
    expected = []
    for row, item in enumerate(items):
        vector = task.model.vectors([item.mention.text])[0]
        scores = []
        for column, entity in enumerate(batch.columns.tolist()):
            texts = [t for t, o in zip(signs.name_texts(), signs.name_owner, strict=True) if o == entity]
            if batch.positive[row, column] and len(texts) > 1:
                texts = [text for text in texts if text != item.mention.text]
            scores.append((task.model.vectors(texts) @ vector / 0.1).max())
        scores = torch.stack(scores)
        right = scores[list(batch.columns).index(item.entity)]
        rest = scores[torch.from_numpy(batch.negative[row])]
        expected.append(torch.logsumexp(torch.cat([rest, right[None]]), 0) - right)
    assert pain[2] not in batch.columns[batch.negative[1]]
    assert loss == pytest.approx((expected[0] + 3 * expected[1] + expected[2]).item() / 5, rel=1e-4)


@pytest.mark.parametrize("strategy", ["BASE", "RM-PCS", "PC-POS"])
def test_pairs_are_learnt(signs, bert, annotated, examples, strategy, tmp_path):
    sampler = Sampler(Relatives(signs), strategy)
    task = MentionsAndNames(signs, names(bert), examples, sampler, names=2, seed=0)
    log = train(task, settings(epochs=12), tmp_path / "out")
    mentions = [annotation.mention for annotation in annotated]
    gold = [signs.number_of(annotation.ids[0]) for annotation in annotated]
    before, after = (recall(signs, make_sentence_encoder(str(path), device="cpu"), mentions, gold)
                     for path in (bert, tmp_path / "out"))  # fmt: skip
    assert log.steps[-1].loss < log.steps[0].loss
    assert after > before + 0.2


def towers(signs, base, examples, **given):
    return MentionsAndEntities(signs, str(base), examples, Sampler(Relatives(signs)), lengths=(40, 40), **given)


def test_towers_are_those_of_the_encoder(signs, bert, annotated, tmp_path):
    examples = make_examples(signs, annotated, context=True).examples[:4]
    task = towers(signs, bert, examples)
    task.module.eval()
    task.save(tmp_path / "out")
    encoder = make_bi_encoder(str(tmp_path / "out"), **SHORT, device="cpu")
    torch.manual_seed(3)
    batch = task.sampler(examples, np.random.default_rng(int(torch.randint(2**62, ()))))
    mentions = encoder.encode_mentions([example.mention for example in examples]).blocks[0]
    entities = encoder.encode_entities(signs).vectors.blocks[0][batch.columns]
    cosines = torch.from_numpy(mentions @ entities.T)
    task.temperature = 0.2
    torch.manual_seed(3)
    losses = []
    for row in range(4):
        right = cosines[row][torch.from_numpy(batch.positive[row])] / 0.2
        rest = cosines[row][torch.from_numpy(batch.negative[row])] / 0.2
        losses.append(torch.logsumexp(torch.cat([right, rest]), 0) - right[0])
    assert task.loss(examples).item() == pytest.approx(torch.stack(losses).mean().item(), rel=1e-3)


def test_dot_products_are_the_default(signs, bert, annotated):
    examples = make_examples(signs, annotated, context=True).examples[:4]
    task = towers(signs, bert, examples)
    task.module.eval()
    with torch.no_grad():
        for tower in task.module.values():
            tower.encoder.layer[-1].output.LayerNorm.weight.zero_()
            tower.encoder.layer[-1].output.LayerNorm.bias.fill_(2.0)
    torch.manual_seed(0)
    batch = task.sampler(examples, np.random.default_rng(int(torch.randint(2**62, ()))))
    torch.manual_seed(0)
    assert task.loss(examples).item() == pytest.approx(np.log(1 + batch.negative.sum(1)).mean(), rel=1e-5)


def test_towers_learn_and_go_on(signs, bert, annotated, tmp_path):
    found = make_examples(signs, annotated, context=True).examples[::4]
    plan = settings(epochs=40, batch_size=15, learning_rate=2e-3)
    log = train(towers(signs, bert, found, temperature=0.1), plan, tmp_path / "out")
    first, last = (np.mean([step.loss for step in steps]) for steps in (log.steps[:5], log.steps[-5:]))
    assert last < 0.9 * first
    mention, entity = (tmp_path / "out" / tower / "model.safetensors" for tower in ("mention", "entity"))
    assert mention.read_bytes() != entity.read_bytes()
    again = train(towers(signs, tmp_path / "out", found, temperature=0.1), settings(max_steps=1), tmp_path / "on")
    assert again.steps[0].loss < 0.9 * first  # it begins where the other ended


def test_towers_start_equal(signs, bert, annotated, tmp_path):
    task = towers(signs, bert, make_examples(signs, annotated, context=True).examples)
    one, other = (dict(task.module[tower].named_parameters()) for tower in ("mention", "entity"))
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    assert all(value.data_ptr() != other[name].data_ptr() for name, value in one.items())


@pytest.mark.parametrize("kind", ["alignment", "names", "towers"])
def test_resumed_after_a_stop(signs, bert, annotated, examples, kind, tmp_path):
    def task():
        if kind == "alignment":
            return Alignment(signs, names(bert), 8, seed=0)
        if kind == "names":
            return MentionsAndNames(signs, names(bert), examples, Sampler(Relatives(signs)), names=2, seed=0)
        return towers(signs, bert, make_examples(signs, annotated, context=True).examples)

    def stop(step):
        if step.step == 5:
            raise KeyboardInterrupt

    straight = train(task(), settings(epochs=4, max_steps=8, checkpoint_minutes=0), tmp_path / "straight")
    with pytest.raises(KeyboardInterrupt):
        train(task(), settings(epochs=4, max_steps=8, checkpoint_minutes=0), tmp_path / "stopped", report=stop)
    again = train(task(), settings(epochs=4, max_steps=8, checkpoint_minutes=0), tmp_path / "stopped")
    assert again.resumed_after == 4
    assert [step.loss for step in again.steps] == [step.loss for step in straight.steps]


def test_bfloat16_scores_in_float32(signs, bert, examples, tmp_path):
    task = MentionsAndNames(signs, names(bert), examples, Sampler(Relatives(signs)), names=2, seed=0)
    log = train(task, settings(dtype="bfloat16", max_steps=2), tmp_path / "out")
    assert np.isfinite(log.steps[-1].loss)


def test_base_that_is_none(tmp_path):
    with pytest.raises(ConfigError, match="No model folder"):
        names(tmp_path / "none")
