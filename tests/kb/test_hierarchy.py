import numpy as np

from spacy_ontolink.kb import hierarchy
from spacy_ontolink.kb.columns import Csr


def link(pairs, size):
    child, parent = np.array(pairs, np.int32).reshape(-1, 2).T
    seen = []
    parents, children = hierarchy.link(child, parent, size, str, lambda kind, detail: seen.append((kind, detail)))
    return parents, children, seen


def test_pairs_become_sorted_distinct_rows():
    parents, children, seen = link([(2, 1), (2, 0), (2, 1), (1, 0)], 4)
    assert parents.indptr.tolist() == [0, 0, 1, 3, 3] and parents.indices.tolist() == [0, 0, 1]
    assert children.row(0).tolist() == [1, 2] and not seen


def test_expand_concatenates_rows():
    rows = Csr(np.array([0, 2, 2, 3], np.int32), np.array([5, 6, 7], np.int32))
    place, items = hierarchy.expand(rows, np.array([2, 1, 0, 2]))
    assert place.tolist() == [0, 2, 2, 3] and items.tolist() == [7, 5, 6, 7]
    assert [part.tolist() for part in hierarchy.expand(rows, np.array([], np.int32))] == [[], []]


def test_walks_end_on_cycles():
    parents, children, seen = link([(0, 1), (1, 2), (2, 0), (3, 3), (4, 2)], 5)
    assert [step.tolist() for step in hierarchy.reach(parents, np.array([4]))] == [[4], [2], [0], [1]]
    assert hierarchy.descendants(children, np.array([0])).tolist() == [True, True, True, False, True]
    assert seen == [("is_a self loop", "3"), ("is_a cycle", "0, 1, 2")]


def test_depth_counts_steps_on_the_shortest_way():
    parents, children, _ = link([(1, 0), (2, 1), (3, 2), (3, 0)], 5)
    assert hierarchy.depth(parents, children) == 2
    assert hierarchy.roots(parents).tolist() == [0, 4]


def test_depth_without_roots_or_edges():
    for pairs, size in (([(0, 1), (1, 0)], 2), ([], 3)):
        parents, children, _ = link(pairs, size)
        assert hierarchy.depth(parents, children) == 0


def test_neighbourhoods_are_parents_children_and_siblings():
    # 0 is above 1 and 2, 2 above 3 and 4, 3 also below 1; 5 is alone; 6 and 7 are above each other
    parents, children, _ = link([(1, 0), (2, 0), (3, 2), (4, 2), (3, 1), (6, 7), (7, 6)], 8)
    matrices = hierarchy.to_matrix(parents), hierarchy.to_matrix(children)
    entities = np.arange(8, dtype=np.int32)
    near = hierarchy.neighbourhoods(*matrices, entities)
    expected = [[1, 2], [0, 2, 3], [0, 1, 3, 4], [1, 2, 4], [2, 3], [], [7], [6]]
    assert [near.row(number).tolist() for number in range(8)] == expected
    some = hierarchy.neighbourhoods(*matrices, entities[[5, 3, 3]])
    assert [some.row(row).tolist() for row in range(3)] == [[], [1, 2, 4], [1, 2, 4]]
    assert len(hierarchy.neighbourhoods(*matrices, entities[:0]).indices) == 0
    sizes = hierarchy.neighbourhood_sizes(*matrices, entities)
    assert all(sizes >= [len(row) for row in expected]) and sizes[5] == 0
    assert hierarchy.neighbourhood_sizes(*matrices, entities[[5, 3]]).tolist() == [0, sizes[3]]
    assert hierarchy.neighbourhood_sizes(*matrices, entities[:0]).tolist() == []


def test_neighbourhoods_agree_with_the_knowledge_base(traits):
    numbers = np.arange(len(traits), dtype=np.int32)
    near = hierarchy.neighbourhoods(traits.parent_matrix, traits.child_matrix, numbers)
    for number, id in enumerate(traits):
        assert traits.ids_of(near.row(number)) == traits.neighbours(id)
