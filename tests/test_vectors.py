import numpy as np
import pytest
import scipy.sparse as sp

from spacy_ontolink.vectors import Vectors, add, join, stack

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(4, 6)).astype(np.float32)
DENSE[2] = 0
SPARSE = sp.random(4, 9, 0.4, "csr", dtype=np.float32, rng=1)
KINDS = {"dense": (DENSE,), "sparse": (SPARSE,), "both": (SPARSE, DENSE)}


def flat(vectors):
    return np.hstack([block.toarray() if sp.issparse(block) else block.astype(np.float32) for block in vectors.blocks])


@pytest.fixture(params=KINDS)
def vectors(request):
    return Vectors(KINDS[request.param])


def test_every_operation_equals_that_on_one_flat_matrix(vectors):
    plain = flat(vectors)
    other = vectors.take(np.array([3, 0, 1, 2]))
    np.testing.assert_allclose(vectors.dot(other), plain @ flat(other).T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(vectors.row_dots(other), (plain * flat(other)).sum(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(vectors.norms(), np.linalg.norm(plain, axis=1), rtol=1e-5)
    np.testing.assert_allclose(flat(add([vectors, other], [0.7, 0.3])), 0.7 * plain + 0.3 * flat(other), rtol=1e-5)
    np.testing.assert_allclose(flat(add([vectors], [0.5])), 0.5 * plain, rtol=1e-6)
    np.testing.assert_allclose(flat(stack([vectors, other])), np.vstack([plain, flat(other)]))
    matrix = sp.random(3, 4, 0.5, "csr", dtype=np.float32, rng=2)
    np.testing.assert_allclose(flat(vectors.transform(matrix)), matrix.toarray() @ plain, rtol=1e-5, atol=1e-6)


def test_normalised_rows_have_unit_length_or_stay_zero(vectors):
    norms = vectors.normalised().norms()
    np.testing.assert_allclose(norms[vectors.norms() > 0], 1, rtol=1e-5)
    assert (norms[vectors.norms() == 0] == 0).all()


def test_joined_unit_vectors_mix_their_cosines():
    parts = [Vectors((SPARSE,)).normalised(), Vectors((DENSE,)).normalised()]
    both = join(parts, [0.25, 0.75])
    np.testing.assert_allclose(both.dot(both), 0.25 * parts[0].dot(parts[0]) + 0.75 * parts[1].dot(parts[1]), atol=1e-6)
    assert both.dims == (9, 6)


def test_round_trip_through_memory_maps(vectors, tmp_path):
    vectors.half().to_disk(tmp_path / "rows.safetensors")
    opened = Vectors.from_disk(tmp_path / "rows.safetensors")
    assert opened.dims == vectors.dims
    np.testing.assert_array_equal(flat(opened), flat(vectors.half()))
