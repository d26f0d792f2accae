import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ontolink.prompts.cleaning import clean

TO_BFP = [
    "body fat percentage", " body fat percentage\n", "body fat percentage.", '"body fat percentage"',
    "'body fat percentage'.", "“body fat percentage”", "**body fat percentage**", "*body fat percentage*",
    "__body fat percentage__", "`body fat percentage`", "<answer>body fat percentage</answer>",
    "\\boxed{body fat percentage}", "body fat percentage<|im_end|>", "body fat percentage</s>",
    # lead-ins
    "The standard name is body fat percentage.", "The standard name for BF is: **body fat percentage**.",
    "The standardized biomedical term for \"BF\" is \"body fat percentage\".", "Standard name: body fat percentage",
    "Answer: body fat percentage", "**Answer:** body fat percentage",
    "Sure! The standard name is body fat percentage.", "Sure, here is the name:\nbody fat percentage",
    "Here is the standard name:\n\n**body fat percentage**", "BF stands for body fat percentage.",
    '"BF" refers to body fat percentage', "BF: body fat percentage", "BF -> body fat percentage",
    "BF → body fat percentage", "BF (abbr.) means the body fat percentage",
    "The term BF is an abbreviation for body fat percentage.", "In this context, BF stands for body fat percentage.",
    "The concept is listed as body fat percentage.",
    "Based on the sentence, the standard name would be body fat percentage.",
    "body fat percentage <think>sure?</think>", "body fat percentage is the standard name for this term.",
    "The term \"body fat percentage\"",
    # what follows
    "body fat percentage (BF)", "body fat percentage (also known as BFP)",
    "body fat percentage. It is the share of fat in a body.", "body fat percentage — the share of fat in the body",
    "body fat percentage - the share of fat in the body", "body fat percentage\n\nExplanation: BF is short for it.",
    "body fat percentage; percent body fat; fat percentage", "body fat percentage, which is the share of fat",
    "body fat percentage, also known as BFP", "body fat percentage: the share of fat",
    "body fat percentage (VT:0001234)", "VT:0001234 body fat percentage", "VT:0001234 - body fat percentage",
    '"body fat percentage" - because BF is short for it', "body fat percentage | percent fat",
    # lists
    "1. body fat percentage\n2. fat", "1) body fat percentage", "- body fat percentage\n- fat",
    "* body fat percentage", "• body fat percentage", "a) body fat percentage", "# body fat percentage",
    "> body fat percentage", "---\nbody fat percentage\n---", "1. **body fat percentage**: the share of fat",
    "Possible names:\n1. body fat percentage\n2. fat percentage",
    # fences and JSON
    "```\nbody fat percentage\n```", "```text\nbody fat percentage",
    '```json\n{"standard_name": "body fat percentage"}\n```', '{"standard_name": "body fat percentage"}',
    '{"id": 7, "names": ["body fat percentage", "x"]}', '["body fat percentage", "x"]',
    '[{"name": "body fat percentage"}]', 'Here is the JSON: {"name": "body fat percentage"} as asked',
    '{"name": "body fat percentage", "defi', '["body fat percentage", "fat per', '"body fat percentage"',
    '{"name":\n"body fat percentage"\n}', "Here: ```body fat percentage``` ok?",
    # reasoning
    "<think>BF may be breast feeding.\nNo.</think>\n\nbody fat percentage",
    "so it is breast feeding? no.\n</think>body fat percentage", "<thinking>hm</thinking> body fat percentage",
    "[THINK]hm[/THINK]body fat percentage", "body fat percentage <think>was that right",
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>body fat percentage",
]  # fmt: skip


@pytest.mark.parametrize("answer", TO_BFP)
def test_the_name_is_found(answer):
    assert clean(answer, "BF") == "body fat percentage"


@pytest.mark.parametrize(
    "answer",
    [
        "", " \n", "...", "---", "42", "1. 2. 3.", "{}", "[]", "{", '{"name": ', '{"name": "body fat perc',
        '{"name": null}', '{"n": 3}', "null", "None", "N/A", "Unknown", "unknown.", "no", "x", "<think>",
        "<think>it may be body fat", "<think></think>", "```\n```", "HP:0001250", "MESH:D003920", "C0011849",
        "I'm sorry, but I cannot determine the standard name.", "I cannot help with that",
        "As an AI language model, I can not", "I’m sorry, I don’t know.", "Please provide more context.",
        "I cannot tell.\nThe sentence is short.", "There is no standard name for this term.",
        "It is unclear what is meant", "The name cannot be determined from this sentence.", "Sorry", "\ud83d",
        "\U0001f600", "body " * 13, "x" * 400,
        "The sentence that was given speaks about many things, among them feeding and fat and also many more of them",
    ],
)  # fmt: skip
def test_an_answer_of_no_use_is_nothing(answer):
    assert clean(answer, "BF") == ""


@pytest.mark.parametrize(
    "name",
    [
        "Alzheimer's disease", "diabetes mellitus, type 2", "Type 2 diabetes mellitus", "β-carotene level",
        "1,25-dihydroxyvitamin D3", "2-[4-(dimethylamino)phenyl]ethanol", "p53", "BRCA1", "Anemia (disorder)",
        "non-small cell lung carcinoma", "E. coli infection", "St. John's wort", "21-hydroxylase deficiency",
        "5'-nucleotidase", "(2S)-2-aminopropanoic acid", "vitamin B12", "milk yield", "Ca2+", "IgG", "A-T",
        "HLA-B27 antigen", "Parkinson’s disease", "neoplasm of the lung", "Name-of-the-father complex",
        "class III malocclusion", "entry inhibitor", "drug-induced liver injury", "症状", "болезнь Паркинсона",
        "Sjögren's syndrome", "no-reflow phenomenon", "unknown primary tumour", "short-term memory",
        "hyperlipidaemia type IIb", "congenital absence of nose", "ring chromosome 14", "TNF-alpha",
        "X-linked agammaglobulinemia", "carcinoma in situ", "A/B testing", "p-value < 0.05 effect",
    ],
)  # fmt: skip
def test_a_plain_name_stays_as_it_is(name):
    assert clean(name, "BF") == name
    assert clean(f"{name}.", "BF") == name
    assert clean(f'"{name}"', "BF") == name
    assert clean(f"The standard name is {name}.", "BF") == name


def test_the_mention_itself_is_an_answer():
    assert clean("milk yield", "milk yield") == "milk yield"
    assert clean("The standard name is milk yield.", "milk yield") == "milk yield"
    assert clean("milk yield is a type of production trait", "milk yield") == "production trait"


def test_the_limit_of_words():
    assert clean("one two three", "x", max_words=3) == "one two three"
    assert clean("one two three", "x", max_words=2) == ""


@given(st.text(max_size=80), st.text(max_size=10))
def test_any_text_gives_a_line_that_stays(answer, mention):
    name = clean(answer, mention)
    assert "\n" not in name and len(name.split()) <= 12
    assert clean(name, mention) in (name, clean(clean(name, mention), mention))


PIECES = ["<think>", "</think>", "```", "{", '"', "[", "name", "is", "the", ":", "**", "BF", "\n", "1.", "(", ")", "'"]


@given(st.lists(st.sampled_from(PIECES)))
def test_any_mixture_of_what_is_cleaned_gives_a_line(parts):
    for answer in ("".join(parts), " ".join(parts)):
        assert "\n" not in clean(answer, "BF")


def test_long_answers_take_no_time():
    pieces = ["the name ", "[", "(", "a ", '{"', "<think>", "`", "*", "the term is ", "BF: ", "1. ", "\n"]
    for piece in pieces:
        clean(piece * 20_000, "BF")
