import random

from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_ontolink.llms.prefixes import OVERHEAD, Group, group_by_prefix


def cost(groups):
    return sum(
        sum(len(prompt) - group.shared for prompt in group.prompts) + (group.shared + OVERHEAD if group.shared else 0)
        for group in groups
    )


def made_of(*parts):
    return tuple(token for first, length in parts for token in range(first, first + length))


def test_candidates_of_one_mention_are_one_group():
    prompts = [made_of((0, 200), (1000 * n, 40 + n)) for n in range(1, 6)]
    (group,) = group_by_prefix(prompts)
    assert group.shared == 200
    assert sorted(group.prompts) == sorted(prompts)


def test_each_mention_has_a_group_though_all_share_the_instruction():
    prompts = [made_of((0, 80), (500 * m, 150), (10_000 * m + 100 * n, 50)) for m in (1, 2, 3) for n in range(1, 9)]
    random.Random(0).shuffle(prompts)
    groups = group_by_prefix(prompts)
    assert [(group.shared, len(group.prompts)) for group in groups] == [(230, 8)] * 3


def test_mentions_with_one_candidate_share_the_instruction():
    prompts = [made_of((0, 80), (500 * m, 50)) for m in (1, 2, 3)]
    (group,) = group_by_prefix(prompts)
    assert group.shared == 80


def test_a_mention_with_one_candidate_does_not_spoil_its_neighbour():
    lone = made_of((0, 80), (500, 150), (10_000, 50))
    others = [made_of((0, 80), (1000, 150), (20_000 + 100 * n, 50)) for n in range(8)]
    groups = {group.shared: group.prompts for group in group_by_prefix([lone, *others])}
    assert groups[0] == (lone,)
    assert sorted(groups[230]) == sorted(others)


def test_what_is_not_worth_a_pass_is_not_shared():
    prompts = [made_of((0, OVERHEAD), (1000 * n, 40)) for n in (1, 2)]
    assert [group.shared for group in group_by_prefix(prompts)] == [0, 0]


def test_something_is_left_of_each_prompt():
    short = made_of((0, 100))
    (group,) = group_by_prefix([short, made_of((0, 140)), made_of((0, 100), (500, 9))])
    assert group.shared == 99


def test_nothing_and_one():
    assert group_by_prefix([]) == []
    assert group_by_prefix([(1, 2)]) == [Group(0, ((1, 2),))]
    assert group_by_prefix([()]) == [Group(0, ((),))]


def test_prompts_that_grow_by_a_token_do_not_exhaust_the_stack():
    prompts = [tuple(range(n)) for n in range(1, 3000)]
    groups = group_by_prefix(prompts)
    assert sum(len(group.prompts) for group in groups) == len(prompts)


@settings(deadline=None, max_examples=200)
@given(
    st.sets(st.lists(st.integers(0, 1), max_size=12).map(lambda bits: tuple(bit for bit in bits for _ in range(20))))
)
def test_groups_hold_every_prompt_once_share_what_they_say_and_never_cost_more(prompts):
    groups = group_by_prefix(sorted(prompts))
    assert sorted(prompt for group in groups for prompt in group.prompts) == sorted(prompts)
    for group in groups:
        assert len({prompt[: group.shared] for prompt in group.prompts}) == 1
        assert group.shared == 0 or min(map(len, group.prompts)) > group.shared
    assert cost(groups) <= sum(map(len, prompts))
