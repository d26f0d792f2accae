"""What requests and responses look like; the page at ``/docs`` is made of it."""

# No "from __future__ import annotations" here: FastAPI and pydantic read annotations at run time.
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

from ..errors import Errors

_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can hold half a character, a tokeniser cannot
Text = Annotated[StrictStr, AfterValidator(lambda text: _SURROGATE.sub("\ufffd", text))]
K = Annotated[StrictInt, Field(ge=1, description="Candidates to return for each mention.")]


class GivenMention(BaseModel):
    """A mention that is to be linked. Other keys of it are returned as they are."""

    model_config = ConfigDict(extra="allow")

    start: Annotated[StrictInt, Field(ge=0, description="First character (code points, from 0).")]
    end: Annotated[StrictInt, Field(description="Character after the last one.")]
    label: StrictStr | None = ""


class GivenDocument(BaseModel):
    """A document; without `mentions` the server finds some, as it was started with."""

    id: StrictStr | StrictInt = ""
    text: Text
    mentions: list[GivenMention] | None = None

    @model_validator(mode="after")
    def _inside(self) -> "GivenDocument":
        for mention in self.mentions or ():
            if not mention.start < mention.end <= len(self.text):
                message = Errors.MENTION_OUTSIDE.format(start=mention.start, end=mention.end, n=len(self.text))
                raise ValueError(message)
        return self


class LinkRequest(BaseModel):
    """Texts, or documents with ids and mentions."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {
                "documents": [
                    {"id": "1", "text": "Seizures since birth", "mentions": [{"start": 0, "end": 8}]},
                    {"id": "2", "text": "He has short stature."},
                ],
                "k": 3,
            }
        },
    )

    texts: list[Text] | None = Field(None, description="Texts, in which mentions are found.")
    documents: list[GivenDocument] | None = Field(None, description="Documents, as rows of JSONL.")
    k: K = 5

    @model_validator(mode="after")
    def _one_of_both(self) -> "LinkRequest":
        if not self.texts and not self.documents:
            raise ValueError(Errors.NOTHING_TO_LINK)
        if self.texts and self.documents:
            raise ValueError(Errors.TEXTS_AND_DOCUMENTS)
        return self


class SearchRequest(BaseModel):
    """Mentions without a text around them."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"mentions": ["nose bleeding"], "k": 3}})

    mentions: list[Text] = Field(min_length=1)
    k: K = 10

    @model_validator(mode="after")
    def _not_blank(self) -> "SearchRequest":
        if not all(text.strip() for text in self.mentions):
            raise ValueError(Errors.BLANK_MENTION)
        return self


class Candidate(BaseModel):
    """An entity that a mention may mean."""

    id: str
    name: str
    matched: str = Field(description="The name of it that is nearest.")
    scope: str = Field(description="What kind of a name that is.")
    score: float | None = Field(description="That of the last stage.")
    scores: dict[str, float | None] = Field(description="By stage.")
    rank: int
    probability: float | None = Field(description="That it is right; of the first one, from a calibrated pipeline.")
    part: str | None = Field(None, description="The part of a composite mention that it was found for.")


class LinkedPart(BaseModel):
    """A part of a composite mention and what it means."""

    text: str
    kb_id: str
    score: float | None = None


class LinkedMention(BaseModel):
    """A mention and what it means."""

    start: int
    end: int
    text: str
    label: str
    kb_id: str = Field(description='The answer: an id, "NIL" (looked up, none found) or "" (not looked up).')
    name: str | None = None
    matched: str | None = None
    score: float | None = None
    probability: float | None = None
    parts: list[LinkedPart] | None = Field(None, description="Of a composite mention that was linked by its parts.")
    candidates: list[Candidate]


class ProblemFields(BaseModel):
    """A problem (RFC 9457): one sentence in `detail`."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None


class LinkedDocument(BaseModel):
    """A document with its mentions, or with the problem that kept it from being linked."""

    id: str
    mentions: list[LinkedMention] | None = None
    error: ProblemFields | None = None


class LinkResponse(BaseModel):
    """The documents of the request, in its order."""

    documents: list[LinkedDocument]


class SearchedMention(BaseModel):
    """A mention with its candidates, best first."""

    text: str
    kb_id: str | None = None
    candidates: list[Candidate] | None = None
    error: ProblemFields | None = None


class SearchResponse(BaseModel):
    """The mentions of the request, in its order."""

    mentions: list[SearchedMention]
