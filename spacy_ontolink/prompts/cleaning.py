"""The name in what a language model says: without reasoning, fences, JSON, lists, lead-ins and explanations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..text import normalise, one_line

MOST_WORDS = 12
_I = re.IGNORECASE
_MOST_LETTERS = 2000  # of an answer without its reasoning; what follows is no name
_THOUGHT = re.compile(r"[<\[](/?)(?:think|thinking|thought|reasoning|reflection|analysis)[>\]]", _I)
_FINAL = "<|message|>"  # the last part of an answer in gpt-oss's format follows it
_FENCE = re.compile(r"```(?:[\w-]*[ \t]*\n)?(.*?)(?:```|$)", re.DOTALL)
_BOXED = re.compile(r"\\(?:boxed|text|textbf)\{([^{}]*)\}")
TAG = re.compile(r"</?[A-Za-z][^<>]*>|<\|[^<>]*\|>")
_JSON = re.compile(r"[{\[]\s*[\"{\[].*", re.DOTALL)
_CUT_JSON = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*("(?:[^"\\]|\\.)*")|^\[\s*("(?:[^"\\]|\\.)*")')
_ITEM = re.compile(r"^(?:[-*\u2022\u2013\u2023\u25aa+>#]+\s+|\(?\d{1,2}[.)]\s+|\(?[a-zA-Z]\)\s+)+")
_BOLD = re.compile(r"(\*\*|__|`+)(.+?)\1|(?<!\w)([*_])(\S.*?)\3(?!\w)")
_RULE = re.compile(r"^[\W_]*$")

_NOUN = r"(?:name|term|hypernym|class|category|answer|label|concept|entry|output|response|result|assistant)s?"
_BE = r"(?:is|are|was|would be|should be|will be|could be|may be|can be)"
_SAYS = rf"(?:{_BE}|refers? to|stands? for|means|denotes|corresponds? to|represents|becomes)"
_HELLO = re.compile(r"^(?:sure|certainly|of course|okay|ok|great|yes|well|absolutely|here you go)\b\s*[,!.:]+\s*", _I)
_SETTING = re.compile(
    r"^(?:in this (?:sentence|context|case|text)|based on [^,]{1,80}|therefore|thus|so|hence)\s*,\s*", _I
)
_LABEL = re.compile(rf"^(?:[\w()/'-]+\s+){{0,4}}?{_NOUN}\b[^:.]{{0,60}}?:\s*", _I)
_LEAD = re.compile(
    r"^(?:the|a|an|its|their|my|one|this|that|here)\s+(?:\S+\s+){0,5}?"
    rf"(?:{_NOUN}|it)\b.{{0,80}}?\s{_SAYS}\b\s*:?\s*",
    _I,
)
_FILLER = re.compile(
    r"^(?:(?:also\s+)?(?:known as|called|listed (?:as|under))\s+|"
    r"(?:(?:a|an|the)\s+)?(?:kind|type|form|subtype|abbreviation|acronym|synonym|short form|class)\s+(?:of|for)\s+|"
    rf"(?:the\s+)?{_NOUN}\s+(?=[\"'\u201c\u2018\u00ab*]))",
    _I,
)
_TAIL = re.compile(rf"^(.{{2,}}?)\s+{_BE}\s+(?:the|a|an|its)\s+(?:[\w-]+\s+){{0,4}}?{_NOUN}\b.*$", _I)
_MORE = re.compile(
    r"(?<=\w\w\w\w)[.!?]\s+(?=[\"'\u201c(*]?[A-Z])|\s*;\s+|\s+[\u2014\u2013-]+\s+(?=\S+\s+\S+\s+\S)|\s*\|\s*|"
    r"\s*,\s+(?=(?:which|also|as|since|because|meaning|i\.e|e\.g|or|where|that)\b)|"
    r"\s+(?=(?:because|which is|since it|as it|also known as)\b)|:\s+(?=\S+\s+\S+\s+\S)",
)
_ASIDE = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]$")
_NOTE = re.compile(r"^(?:also|or|abbreviat|acronym|synonym|i\.e|e\.g|formerly|note|short for|see|not )", _I)
_ACRONYM = re.compile(r"[A-Z][A-Za-z0-9-]{0,5}[A-Z0-9]s?")
_ID = r"(?:[A-Za-z]{2,12}[:_]\w*\d{3,}|[A-Z]\d{5,})"
_LEADING_ID = re.compile(rf"^{_ID}\s*[:|\u2013\u2014-]?\s+")
ONLY_ID = re.compile(rf"{_ID}")
_QUOTES = {'"': '"', "\u201c": "\u201d", "\u00ab": "\u00bb", "'": "'", "\u2018": "\u2019", "\u201e": "\u201c", "`": "`"}

REFUSAL = re.compile(
    r"\b(?:i(?:['\u2019]m| am)? (?:sorry|unable|not (?:able|sure)|cannot|can['\u2019]t|don['\u2019]t|do not|need)"
    r"|i would need|i apologi[sz]e|as an ai|language model|please (?:provide|give|clarify)|could you"
    r"|not enough (?:context|information)|(?:cannot|can['\u2019]t) be determined|there (?:is|are) no"
    r"|no (?:standard|specific|suitable|such|broader) \w+|it is (?:not )?(?:possible|unclear|impossible))\b",
    _I,
)
_NOTHING = re.compile(
    r"(?:none|null|nil|n/?a|nothing|unknown|undefined|unclear|unspecified|no answer|no|yes|true|false|sorry"
    r"|not (?:applicable|specified|available|found|known|clear)|(?:the |standard |unknown )?(?:term|name)|hypernym)",
    _I,
)


def clean(answer: str, mention: str, max_words: int = MOST_WORDS) -> str:
    """Return the one name that an answer gives, or "" if it gives none: a refusal, an id, a number, an essay.

    Args:
        answer: What a language model said.
        mention: What it was asked about; an answer that repeats it before the name is freed from it.
        max_words: An answer that is still longer is no name.
    """
    text = bare(answer, _MOST_LETTERS)
    if (found := _from_json(text)) is not None:
        text = found
    text = TAG.sub("", text)
    name = ""
    for line in lines(text):
        if name or REFUSAL.search(line):
            break
        name = name_in(line, mention)
    name = one_line(name)
    return name if usable(name, max_words) else ""


def bare(answer: str, letters: int) -> str:
    """Return the first letters of an answer, without reasoning, fences and boxes."""
    text = _without_thought(answer)[:letters]
    if (fence := _FENCE.search(text)) and fence[1].strip():
        text = fence[1]
    return _BOXED.sub(r"\1", text).strip()


def _without_thought(answer: str) -> str:
    """Return what follows the reasoning, or else what stands before it; reasoning that was cut has no end."""
    answer = answer.rpartition(_FINAL)[2]
    tags = list(_THOUGHT.finditer(answer))
    ends = [tag.end() for tag in tags if tag[1]]
    if ends and answer[ends[-1] :].strip():
        opened = [tag.start() for tag in tags if tag.start() >= ends[-1]]
        return answer[ends[-1] : opened[0] if opened else None]
    return answer[: tags[0].start()] if tags else answer


def lines(text: str) -> Iterator[str]:
    """Yield lines that may hold the name; one that announces what follows holds none."""
    for line in text.splitlines():
        line = " ".join(line.split())
        if not _RULE.match(line) and not line.endswith((":", ":**")):
            yield line


def without_lead(line: str) -> str:
    """Take a bullet, a greeting, a label and "The names are" away from the start of a line."""
    before = None
    while line != before:
        before = line
        line = _SETTING.sub("", _HELLO.sub("", _ITEM.sub("", line).strip()))
        line = _LEAD.sub("", _LABEL.sub("", line))
    return line


def name_in(line: str, mention: str) -> str:
    """Return the name in a line that may say more."""
    before = None
    while line != before:  # each step may bare what another one takes away
        before = line
        line = _ITEM.sub("", line).strip()
        line = _BOLD.sub(lambda match: match[2] or match[4], line)
        line = _SETTING.sub("", _HELLO.sub("", line))
        line = _without_mention(line, mention)
        line = _LEADING_ID.sub("", _FILLER.sub("", _LEAD.sub("", _LABEL.sub("", line))))
        line = _unquoted(line)
        line = _TAIL.sub(r"\1", line)
        line = _MORE.split(line, maxsplit=1)[0]
        line = _without_aside(line, mention)
        line = line.strip(" \t,;:!?*_").rstrip(".")
    return line


def _without_mention(line: str, mention: str) -> str:
    """Take "BF stands for", "BF:" or "BF ->" away from a line."""
    own = re.escape(mention.strip())
    if not own:
        return line
    subject = rf"(?:the\s+)?(?:{_NOUN}\s+)?[\"'\u201c\u2018\u00ab*]*{own}[\"'\u201d\u2019\u00bb*]*(?:\s*\([^()]*\))?"
    says = rf"(?:\s+{_SAYS}\b\s*:?|\s*(?::|=|->|=>|\u2192))\s*(?:(?:a|an|the)\s+)?(?=\S)"
    return re.sub(f"^{subject}{says}", "", line, flags=_I)


def _unquoted(line: str) -> str:
    """Return what stands in quotes at the start of a line, if there are any."""
    close = _QUOTES.get(line[:1])
    if close is None:
        return line
    # An apostrophe is a quote only before the end, a space or a mark.
    match = re.match(rf".(.+?){close}(?=$|[\s.,;:!?()])", line)
    return match[1] if match and match[1].strip() else line[1:]


def _without_aside(line: str, mention: str) -> str:
    """Drop a last bracket that holds the mention, an abbreviation, an id or a note; "Anemia (disorder)" keeps its."""
    match = _ASIDE.search(line)
    if not match or not match.start():
        return line
    aside = match[1].strip()
    drop = _NOTE.match(aside) or _ACRONYM.fullmatch(aside) or ONLY_ID.fullmatch(aside)
    return line[: match.start()] if drop or normalise(aside) == normalise(mention) else line


def usable(name: str, max_words: int) -> bool:
    """Tell whether a text can be a name: with letters, not too long, neither an id nor a word like "none"."""
    letters = any(character.isalpha() for character in name) and sum(map(str.isalnum, name)) > 1
    long = len(name.split()) > max_words or len(name) > 20 * max_words
    return letters and not long and not _NOTHING.fullmatch(name) and not ONLY_ID.fullmatch(name)


def _from_json(text: str) -> str | None:
    """Return the first text in JSON, be it cut; "" for JSON without one, None where there is no JSON."""
    if text[:1] == '"' and text[-1:] == '"':
        found = text
    elif match := _JSON.search(text):
        found = match[0]
    else:
        return None
    try:
        return _first_text(json.JSONDecoder(strict=False).raw_decode(found)[0])
    except (ValueError, RecursionError):
        whole = _CUT_JSON.search(found)
        if whole is not None:
            return (whole[1] or whole[2])[1:-1]
        return "" if found == text and found.startswith("{") else None


def _first_text(value: Any) -> str:
    """Return the first text in a value, be it nested."""
    if isinstance(value, str):
        return value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((text for item in items if (text := _first_text(item))), "")
