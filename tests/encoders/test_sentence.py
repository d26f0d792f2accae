import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.tokens import Span
from tiny_models import NEEDS_TORCH

from spacy_ontolink import errors
from spacy_ontolink.encoders.sentence import SentenceEncoder, make_sentence_encoder
from spacy_ontolink.errors import ConfigError, MissingExtraError, StateError
from spacy_ontolink.files import read_checked_json, write_checked_json
from spacy_ontolink.kb.readers import make_ontology_reader
from spacy_ontolink.models import devices
from spacy_ontolink.models import folder as model_folder
from spacy_ontolink.types import Encoder, Mention


@pytest.fixture
def encoder(plain_model):
    return make_sentence_encoder(str(plain_model), device="cpu")


def encode(encoder, *texts):
    (block,) = encoder.encode_mentions([Mention(text) for text in texts]).blocks
    return block


def by_hand(folder, text, pooling):
    torch = pytest.importorskip("torch")
    from transformers import AutoModel, AutoTokenizer

    with torch.no_grad():
        inputs = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
        tokens = AutoModel.from_pretrained(folder).eval()(**inputs).last_hidden_state[0]
    vector = (tokens[0] if pooling == "cls" else tokens.mean(0)).numpy()
    return vector / np.linalg.norm(vector)


def test_it_is_an_encoder_of_unit_vectors(encoder):
    assert isinstance(encoder, Encoder)
    block = encode(encoder, "milk yield", "bf", "egg")
    assert block.dtype == np.float32
    assert block.shape == (3, 16)
    np.testing.assert_allclose(np.linalg.norm(block, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls", None])
def test_pooling_as_set_or_mean(plain_model, pooling):
    encoder = make_sentence_encoder(str(plain_model), pooling=pooling, device="cpu")
    np.testing.assert_allclose(
        encode(encoder, "milk yield")[0], by_hand(plain_model, "milk yield", pooling or "mean"), atol=1e-5
    )


@pytest.mark.parametrize(("pooling", "expected"), [(None, "cls"), ("mean", "mean")])
def test_pooling_as_the_folder_says_unless_set(cls_model, pooling, expected):
    encoder = make_sentence_encoder(str(cls_model), pooling=pooling, device="cpu")
    np.testing.assert_allclose(encode(encoder, "egg")[0], by_hand(cls_model, "egg", expected), atol=1e-5)
    assert f":{expected}:20" in encoder.id


def test_both_sides_are_normalised(encoder):
    block = encode(encoder, "Milk\n\tYield", "milk-yield", "milk yield", "\u0066\u0069bre", "ﬁbre")
    assert (block[0] == block[1]).all()
    assert (block[0] == block[2]).all()
    assert (block[3] == block[4]).all()


def test_blank_text_is_a_zero_vector(encoder):
    block = encode(encoder, "", " \n ", "\u200b", "egg")
    assert not block[:3].any()
    assert block[3].any()
    assert encode(encoder, " ").shape == (1, 16)


def test_no_mentions(encoder):
    assert encode(encoder).shape == (0, 16)


def test_order_and_batch_size_change_nothing(plain_model, encoder):
    texts = ["egg", "a much longer name", "bf", "egg", "yield", ""]
    block = encode(encoder, *texts)
    np.testing.assert_allclose(encode(encoder, *texts[::-1])[::-1], block, atol=1e-5)
    one_by_one = make_sentence_encoder(str(plain_model), device="cpu", batch_size=1)
    np.testing.assert_allclose(encode(one_by_one, *texts), block, atol=1e-5)
    assert (block[0] == block[3]).all()


def test_one_row_per_name(encoder, traits):
    rows = encoder.encode_entities(traits)
    assert rows.vectors.dims == (16,)
    assert len(rows.vectors) == traits.n_names
    assert rows.owner.tolist() == np.asarray(traits.name_owner).tolist()
    assert rows.name.tolist() == list(range(traits.n_names))
    np.testing.assert_allclose(rows.vectors.blocks[0], encode(encoder, *traits.name_texts()), atol=1e-5)


def test_some_entities_get_the_rows_that_they_have_among_all(encoder, traits):
    everything = encoder.encode_entities(traits)
    some = encoder.encode_entities(traits, np.array([1, 4], np.int32))
    where = np.flatnonzero(np.isin(everything.owner, [1, 4]))
    assert some.owner.tolist() == everything.owner[where].tolist()
    assert some.name.tolist() == where.tolist()
    np.testing.assert_allclose(some.vectors.blocks[0], everything.vectors.blocks[0][where], atol=1e-5)
    assert len(encoder.encode_entities(traits, np.empty(0, np.int32)).vectors) == 0


def test_names_are_streamed_by_blocks_with_progress(encoder, traits, monkeypatch):
    expected = encoder.encode_entities(traits).vectors.blocks[0]
    monkeypatch.setattr("spacy_ontolink.encoders.sentence.BLOCK", 3)
    seen = []
    encoder.progress = lambda done, total: seen.append((done, total))
    np.testing.assert_allclose(encoder.encode_entities(traits).vectors.blocks[0], expected, atol=1e-5)
    assert seen == sorted(seen)
    assert seen[-1] == (traits.n_names, traits.n_names)


def test_the_id_tells_contents_apart_not_places(plain_model, other_model, tmp_path):
    shutil.copytree(plain_model, tmp_path / "copy")
    (tmp_path / "copy" / "README.md").write_text("not part of the model")
    ids = {
        name: make_sentence_encoder(str(folder), device="cpu", **settings).id
        for name, folder, settings in [
            ("plain", plain_model, {}),
            ("copy", tmp_path / "copy", {}),
            ("other weights", other_model, {}),
            ("pooling", plain_model, {"pooling": "cls"}),
            ("length", plain_model, {"max_length": 10}),
        ]
    }
    assert ids["plain"] == ids.pop("copy")
    assert len(set(ids.values())) == 4
    assert str(plain_model) not in ids["plain"]


def test_round_trip_without_the_first_folder(cls_model, tmp_path, monkeypatch):
    source = tmp_path / "source"
    shutil.copytree(cls_model, source)
    (source / "pytorch_model.bin").write_bytes(b"a pickle beside the safetensors")
    (source / "modeling.py").write_text("raise SystemExit")
    first = make_sentence_encoder(str(source), device="cpu")
    expected, name = encode(first, "milk yield", "egg"), first.id
    first.to_disk(tmp_path / "saved")
    shutil.rmtree(source)
    shutil.move(tmp_path / "saved", tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    second = make_sentence_encoder(str(source), device="cpu").from_disk(Path("moved"))
    assert second.id == name
    np.testing.assert_array_equal(encode(second, "milk yield", "egg"), expected)
    files = [file for file in (tmp_path / "moved").rglob("*") if file.is_file()]
    assert not [file for file in files if file.suffix in (".bin", ".py")]
    assert not [file for file in files if str(tmp_path).encode() in file.read_bytes()]
    second.to_disk(tmp_path / "moved")
    np.testing.assert_array_equal(
        encode(make_sentence_encoder("source").from_disk(tmp_path / "moved"), "egg"), expected[1:]
    )


def test_damage_is_named(encoder, tmp_path):
    encoder.to_disk(tmp_path / "saved")
    weights = tmp_path / "saved" / "model" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    opened = make_sentence_encoder("/gone/plain", device="cpu").from_disk(tmp_path / "saved")
    with pytest.raises(StateError, match=r"model\.safetensors is damaged"):
        encode(opened, "egg")
    weights.unlink()
    with pytest.raises(StateError, match=r"model\.safetensors is damaged \(missing"):
        make_sentence_encoder("/gone/plain", device="cpu").from_disk(tmp_path / "saved")
    (tmp_path / "saved" / "sentence.json").write_text("{}")
    with pytest.raises(StateError, match=r"sentence\.json is damaged"):
        make_sentence_encoder("/gone/plain", device="cpu").from_disk(tmp_path / "saved")


@pytest.mark.parametrize("name", ["../../evil.txt", "/tmp/evil.txt", "C:\\evil.txt", "a/../../evil.txt"])
def test_a_saved_name_cannot_lead_out_of_the_folder(encoder, tmp_path, name):
    encoder.to_disk(tmp_path / "saved")
    settings = read_checked_json(tmp_path / "saved" / "sentence.json")
    settings["files"][name] = "0" * 64
    write_checked_json(tmp_path / "saved" / "sentence.json", settings)
    (tmp_path / "evil.txt").write_text("outside")
    with pytest.raises(StateError, match="is not the name of a file in it"):
        make_sentence_encoder("/gone/plain", device="cpu").from_disk(tmp_path / "saved")


def test_a_module_cannot_lie_outside_the_folder(cls_model, tmp_path):
    shutil.copytree(cls_model, tmp_path / "model")
    modules = json.loads((tmp_path / "model" / "modules.json").read_text())
    modules[0]["path"] = "../other"
    (tmp_path / "model" / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(StateError, match=r"'\.\./other' is not the name of a file in it"):
        make_sentence_encoder(str(tmp_path / "model"), device="cpu").load()


def test_another_setting_than_the_saved_one_is_refused(encoder, tmp_path):
    encoder.to_disk(tmp_path)
    with pytest.raises(StateError, match="pooling = mean, but the config says cls"):
        make_sentence_encoder("/gone/plain", pooling="cls").from_disk(tmp_path)


def test_a_config_with_another_folder_than_the_saved_model_is_refused(encoder, other_model, plain_model, tmp_path):
    encoder.to_disk(tmp_path / "saved")
    other = make_sentence_encoder(str(other_model), device="cpu")
    with pytest.raises(StateError) as caught:
        make_sentence_encoder(str(other_model), device="cpu").from_disk(tmp_path / "saved")
    assert encoder.id in str(caught.value) and other.id in str(caught.value)
    assert other.id  # known before opening, it is compared all the same
    with pytest.raises(StateError, match="was built with the model"):
        other.from_disk(tmp_path / "saved")
    shutil.copytree(plain_model, tmp_path / "renamed")
    assert make_sentence_encoder(str(tmp_path / "renamed")).from_disk(tmp_path / "saved").id == encoder.id


@pytest.mark.parametrize(
    ("built", "given", "fine"),
    [
        ("some/model", "some/model", True),
        ("some/model", "model", True),
        ("some/model", "/left/behind", True),
        ("some/model", "some/other", False),
        ("some/model", "mirror/model", False),
        ("some/model", "other", False),
        ("FOLDER", "elsewhere/plain", True),
        ("FOLDER", "plain", True),
        ("FOLDER", "../moved", True),
        ("FOLDER", "C:\\models\\moved", True),
        ("FOLDER", "some/model", False),
    ],
)
def test_a_config_with_another_name_than_the_saved_model_is_refused(
    plain_model, tmp_path, monkeypatch, built, given, fine
):
    monkeypatch.setattr(model_folder, "_fetch", lambda model: plain_model)
    monkeypatch.chdir(tmp_path)
    first = make_sentence_encoder(str(plain_model) if built == "FOLDER" else built, device="cpu")
    first.to_disk(tmp_path / "saved")
    name = "plain" if built == "FOLDER" else built
    assert json.loads((tmp_path / "saved" / "sentence.json").read_text())["name"] == name
    second = make_sentence_encoder(given, device="cpu")
    if fine:
        assert second.from_disk(tmp_path / "saved").id == first.id
        second.to_disk(tmp_path / "again")
        assert json.loads((tmp_path / "again" / "sentence.json").read_text())["name"] == name
    else:
        with pytest.raises(StateError, match=rf"with the model {name}, but is opened with {given}\."):
            second.from_disk(tmp_path / "saved")


def test_a_folder_without_a_model_is_not_what_the_config_means(encoder, tmp_path, monkeypatch):
    encoder.to_disk(tmp_path / "saved")
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path)
    assert make_sentence_encoder("plain", device="cpu").from_disk(tmp_path / "saved").id == encoder.id


def test_pickled_weights_are_refused(plain_model, tmp_path):
    shutil.copytree(plain_model, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").rename(tmp_path / "model" / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="pickled weights are refused"):
        encode(make_sentence_encoder(str(tmp_path / "model"), device="cpu"), "egg")


@pytest.mark.parametrize("kind", ["evil.Module", "sentence_transformers.models.WordEmbeddings", "torch.hub", ""])
def test_code_in_a_folder_is_refused(cls_model, tmp_path, kind):
    folder = shutil.copytree(cls_model, tmp_path / "model")
    (folder / "evil.py").write_text("raise SystemExit('this ran')")
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "", "type": kind})
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ConfigError, match=rf"module '{kind}', which is code of its own"):
        encode(make_sentence_encoder(str(folder), device="cpu"), "egg")


def test_code_that_a_transformer_brings_along_is_not_run(plain_model, tmp_path):
    folder = shutil.copytree(plain_model, tmp_path / "model")
    (folder / "modeling_evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass")
    config = json.loads((folder / "config.json").read_text())
    code = {name: "modeling_evil.Evil" for name in ("AutoConfig", "AutoModel", "AutoTokenizer")}
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "evil", "auto_map": code}))
    with pytest.raises(ConfigError, match="cannot be loaded"):
        encode(make_sentence_encoder(str(folder), device="cpu"), "egg")
    assert not (tmp_path / "ran").exists()


def test_an_unreadable_folder_is_named(plain_model, tmp_path):
    shutil.copytree(plain_model, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ConfigError, match="model cannot be loaded"):
        encode(make_sentence_encoder(str(tmp_path / "model"), device="cpu"), "egg")


@NEEDS_TORCH
@pytest.mark.parametrize("name", ["/no/such/model", "./model", "../up", "a/b/c", "~/model", "model/", "a\\\\b"])
def test_a_path_never_leads_to_the_network(name, monkeypatch):
    monkeypatch.setattr(model_folder, "_fetch", lambda model: pytest.fail("a path was looked up"))
    encoder = make_sentence_encoder(name, device="cpu")  # a saved pipeline may name a folder that is gone
    with pytest.raises(ConfigError, match="No model folder"):
        encoder.load()


def test_a_hub_name_is_looked_up_in_the_cache_before_it_is_fetched(plain_model, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    calls = []

    def download(name, *, local_files_only=False, **_):
        calls.append((name, local_files_only))
        if local_files_only:
            raise FileNotFoundError("not cached")
        return str(plain_model)

    monkeypatch.setattr(hub, "snapshot_download", download)
    encoder = make_sentence_encoder("some/model", device="cpu")
    assert not calls
    assert encode(encoder, "egg").any()
    assert calls == [("some/model", True), ("some/model", False)]
    assert encoder.id == make_sentence_encoder(str(plain_model)).id


def test_a_hub_name_that_cannot_be_fetched(monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    def download(*_, **__):
        raise OSError("no route\nto host")

    monkeypatch.setattr(hub, "snapshot_download", download)
    with pytest.raises(ConfigError, match=r"^Cannot fetch the model 'some/model' \(OSError: no route\)\. Give"):
        make_sentence_encoder("some/model", device="cpu").load()


@pytest.mark.parametrize(
    "settings",
    [{"pooling": "max"}, {"device": "gpu"}, {"dtype": "float16"}, {"batch_size": 0}, {"max_length": 0}],
)
def test_senseless_settings(settings):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ConfigError, match=next(iter(settings))):
        make_sentence_encoder("any", **settings)


@pytest.mark.parametrize(("device", "there"), [("cuda", 0), ("cuda:3", 2), ("mps", 0)])
def test_an_absent_device_is_refused_when_the_encoder_is_made(device, there, monkeypatch):
    pytest.importorskip("sentence_transformers")
    monkeypatch.setattr(devices, "_count_devices", lambda kind: there)
    with pytest.raises(ConfigError, match=rf"device = '{device}' cannot be used.*\"auto\""):
        make_sentence_encoder("any", device=device)


def test_auto_without_a_gpu_says_so_once(plain_model, monkeypatch, caplog):
    monkeypatch.setattr(devices, "_count_devices", lambda kind: 0)
    devices.best_device.cache_clear()
    for _ in range(2):
        encode(make_sentence_encoder(str(plain_model)), "egg")
    assert caplog.text.count("No GPU found") == 1


def test_a_missing_extra_ends_with_the_install_line(monkeypatch):
    monkeypatch.setattr(errors.importlib.util, "find_spec", lambda package: None)
    with pytest.raises(
        MissingExtraError,
        match=r'pip install "spacy-ontolink\[transformers\]" \(in a checkout: ',
    ):
        make_sentence_encoder("any")


def test_making_and_opening_import_nothing_heavy(encoder, tmp_path):
    encoder.to_disk(tmp_path)
    script = (
        "import sys; from pathlib import Path; from spacy_ontolink.encoders.sentence import make_sentence_encoder as m;"
        f"print(m('plain').from_disk(Path({str(tmp_path)!r})).id);"
        "sys.exit(bool({'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == encoder.id


def test_long_text_is_cut_with_one_warning(encoder, traits, caplog):
    long = "egg " * 30
    block = encode(encoder, long, long + "yield", "egg")
    assert (block[0] == block[1]).all()  # both end within the first 40 tokens
    encode(encoder, long)
    assert caplog.text.count("2 text(s) were cut to 40 tokens") == 1
    assert caplog.text.count("cut to") == 1


def test_max_length(plain_model):
    encoder = make_sentence_encoder(str(plain_model), device="cpu", max_length=5)
    assert (encode(encoder, "eggs")[0] == encode(encoder, "eggplant")[0]).all()
    with pytest.raises(ConfigError, match="max_length = 41 is above the 40 tokens"):
        make_sentence_encoder(str(plain_model), device="cpu", max_length=41).load()


def test_own_length_of_a_model_whose_positions_begin_after_the_padding(tmp_path):
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1})
    )
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 1e30}))
    assert model_folder.ModelFolder.open(tmp_path).max_length == 512


def test_bfloat16_is_close(plain_model, encoder):
    low = make_sentence_encoder(str(plain_model), device="cpu", dtype="bfloat16")
    block = encode(low, "milk yield", "egg")
    assert block.dtype == np.float32
    assert (np.einsum("ij,ij->i", block, encode(encoder, "milk yield", "egg")) > 0.99).all()
    assert low.id == encoder.id


def test_pickle_carries_the_encoder_to_another_process(encoder):
    expected = encode(encoder, "egg")
    np.testing.assert_array_equal(encode(pickle.loads(pickle.dumps(encoder)), "egg"), expected)


FORKED = """
import os, sys, numpy as np
from spacy_ontolink.encoders.sentence import make_sentence_encoder
from spacy_ontolink.types import Mention
import torch; torch.set_num_threads(2)
encoder = make_sentence_encoder(sys.argv[1], device="cpu")
texts = [Mention(f"egg yield {n} " * 3) for n in range(500)]
expected = encoder.encode_mentions(texts).blocks[0]
child = os.fork()
if not child:
    os._exit(0 if np.allclose(encoder.encode_mentions(texts).blocks[0], expected, atol=1e-4) else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_encodes_after_its_parent_did(plain_model):
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(plain_model)]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0


@pytest.mark.weights
def test_minilm_knows_synonyms():
    folder = os.environ.get("ONTOLINK_MINILM")
    if not folder:
        pytest.skip("set ONTOLINK_MINILM to the folder that benchmarks/weights.py writes")
    encoder = SentenceEncoder(folder, device="cpu")
    assert encoder.id.endswith(":mean:256")
    attack, infarction, seizure = encode(encoder, "heart attack", "myocardial infarction", "seizure")
    assert attack @ infarction > 0.5 > attack @ seizure


def test_a_saved_pipeline_needs_no_model_folder_and_names_none(plain_model, tmp_path):
    folder = tmp_path / "MiniLM"
    shutil.copytree(plain_model, folder)
    (tmp_path / "toy.jsonl").write_text('{"id": "T:1", "name": "milk yield"}\n', "utf-8")
    nlp = spacy.blank("en")
    encoder = {"@ontolink_encoders": "spacy-ontolink.SentenceEncoder.v1", "model": str(folder)}
    component = nlp.add_pipe("ontolink_retriever", config={"encoder": encoder})
    component.initialize(list, nlp=nlp, kb_loader=make_ontology_reader(str(tmp_path / "toy.jsonl")))
    nlp.to_disk(tmp_path / "out")
    shutil.rmtree(folder)
    loaded = spacy.load(tmp_path / "out")
    assert loaded.config["components"]["ontolink_retriever"]["encoder"]["model"] == "./MiniLM"
    doc = loaded.make_doc("Milk yield")
    doc.ents = [Span(doc, 0, 2, label="X")]
    assert loaded(doc).ents[0].kb_id_ == "T:1"
    with pytest.raises(ConfigError, match="No model folder"):  # nothing is fetched under that name
        spacy.blank("en").from_config(loaded.config).get_pipe("ontolink_retriever").initialize(
            list, kb_loader=make_ontology_reader(str(tmp_path / "toy.jsonl"))
        )
