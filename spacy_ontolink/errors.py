"""The error tree and every message: what happened, where, with which numbers, and the way out."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from . import messages

if TYPE_CHECKING:
    from .types import Prompt


class OntolinkError(Exception):
    """Any error this library raises on purpose. The command line prints it as one sentence and exits with 2."""


class OntologyError(OntolinkError, ValueError):
    """An ontology file that cannot be read, or holds nothing to link to."""


class ConfigError(OntolinkError, ValueError):
    """A setting that makes no sense, or does not fit another one."""


class DataError(OntolinkError, ValueError):
    """A document, mention or prediction file that cannot be used."""


class StateError(OntolinkError, ValueError):
    """A saved KB, space or pipeline that is damaged, incomplete, or made by another encoder."""


class WriteError(OntolinkError, OSError):
    """A file that cannot be written, such as on a full disk; what was there before is as it was."""


class LLMError(OntolinkError, RuntimeError):
    """A language model, or the server it runs on, that cannot do what it is asked.

    Attributes:
        answered: What the call had answers to by then, by prompt, so that a cache need not lose it.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.answered: dict[Prompt, Any] = {}


class UnknownIdError(OntolinkError, KeyError):
    """An id that a knowledge base does not hold."""

    __str__ = Exception.__str__  # KeyError would show the message in quotes


class MissingExtraError(OntolinkError, ImportError):
    """An optional dependency that is not installed."""


class Warnings(messages.ServiceWarnings):
    """Warnings are logged once per cause, with counts."""

    SKIPPED_CLAUSES = "{path}: {total} problem(s) passed over while reading ({counts}); first: {first}"
    NAMES_LOST = "{name}: {n} name(s) of annotated mentions are left out: no entity has their id, such as {examples}"
    STOP_SYNONYMS = "{name}: {total} stop synonym(s) dropped: {examples}"
    NO_REPLACEMENT = "{name}: obsolete entities without a live replacement: {total}; their ids and names lead nowhere"
    UNKNOWN_FILTER = "No entity of this knowledge base has the {kind} '{value}'; known ones: {known}"
    EXTENSION_TAKEN = (
        "span._.{name} belongs to another package and is left to it; the candidates are in span._.ontolink, "
        "or in the getters of spacy_ontolink.components.spans"
    )
    MENTION_CUT = "{name}: a mention of {n_tokens} tokens was cut to {limit}; so will be others, without a word"
    PROMPTS_FAILED = "{name}: {total} prompt(s) failed ({reason}); more failures of this kind are only counted"
    PROMPTS_CUT = "{name}: {total} prompt(s) were cut to {limit} tokens; this is said once"
    PREFIX_NOT_SHARED = "{name}: prompts are scored without sharing their beginnings, since {reason}"
    LOADER_GONE = "{name}: kept as it was built, since kb_loader names files that are not here: {missing}"
    LLM_FAILED = "{llm}: {failed} of {total} prompts have no answer ({kind}); the first: {reason}. This is said once."
    CACHE_UNWRITTEN = "{path} cannot be written to ({reason}): answers are not kept. This is said once."
    REFORMULATIONS_UNUSABLE = (
        "{unusable} of {total} answers ({share:.0%}) are no use as a {field}: there the mention stands alone. "
        "This is said once."
    )
    LLM_GAVE_UP = "{reason} What it answered before is used; another run asks for the rest."
    USAGE_LOST = "{path} is damaged ({reason}): calls and tokens are counted anew from this run on"
    READ_ONCE = "{path} can be read only once: mentions of generated aliases are not looked for, only those of names"
    NO_HIERARCHY = "{name}: without a hierarchy, aliases are judged by their likeness to the entity's name alone"
    NO_MENTIONS = "{name}: no mention in the first {n} document(s): {reason}"
    IDS_REPLACED = (
        "{name}: ids that '{other}' gave to the same mentions are replaced, since overwrite = true. Set overwrite = "
        "false here to fill in only what '{other}' left open, or labels or spans_key so that each links mentions of "
        "its own. This is said once."
    )
    UNKNOWN_LABELS = "{name}: no component assigns the label(s) {unknown}; the labels are: {known}"


class Errors(messages.SubjectMessages):
    """Message templates, by floor."""

    # floor 0
    NOT_A_PART = "'{setting}' must be a {wanted}, but the config gives a {got}; name a registered one with '@'."
    MISSING_EXTRA = (
        "{what} needs the package '{package}'; install it with: pip install \"spacy-ontolink[{extra}]\" "
        '(in a checkout: ".[{extra}]")'
    )

    # kb and readers
    FORMAT_UNKNOWN = "{path}: cannot tell the format ({reason}). Give one of: {formats}"
    NO_FILES = "No ontology file given; name at least one."
    UNREADABLE = "{path} cannot be read: {reason}"
    NOT_THIS_FORMAT = "{path} is not {format}: {reason}"
    STRICT_CLAUSE = "{path}, line {line}: {reason}"
    NO_ENTITIES = "{path}: no entity with a name in it ({detail})."
    MOSTLY_NAMELESS = "{path}: {nameless} of {total} entities have no name of their own; is this the right file?"
    COLUMN_MISSING = "{path}: no column '{column}' for {role}; the columns are: {columns}. {hint}"
    COLUMN_HINT = (
        "Name it, as in columns = {'id': 'CODE', 'name': 'TERM'}, or --columns id=CODE,name=TERM; in a file without a "
        "header line, give positions instead: id=1,name=2."
    )
    COLUMN_ROLE = "columns: unknown role '{role}'; the roles are: {roles}"
    UNKNOWN_ID = "No entity with id '{id}' in this knowledge base ({name})."
    UNKNOWN_BRANCH = "No branch '{branch}' in this knowledge base ({name}). Its roots are: {roots}"
    OUT_OF_RANGE = "{what} must be between 0 and {last}, but {value} was asked for."

    # encoders, indexes
    BAD_NGRAMS = (
        "n-grams need a size from 3 to 8 and beginnings of 1 to 8 letters, not size={size}, beginnings={beginnings}."
    )
    NOT_BUILT = "The index was not built yet."
    NO_NGRAMS = "{name}: none of its {n} name(s) has a letter or a digit, so there is nothing to compare mentions with."
    NOT_FITTED = "The lexical encoder has no vocabulary yet: fit it on a knowledge base, or load a saved one."
    MODEL_MISSING = "No model folder at {path}: give an existing folder, or the name of a model on a Hugging Face hub."
    MODEL_NOT_FETCHED = (
        "Cannot fetch the model '{model}' ({reason}). Give a folder with it, or go online once to fill the cache."
    )
    MODEL_PICKLED = (
        "{path} holds no safetensors weights{found}; pickled weights are refused. Save the model again with "
        "safe_serialization=True."
    )
    MODEL_UNLOADABLE = "The model in {path} cannot be loaded: {reason}"
    MODEL_SETTING = (
        "{path} was saved with {setting} = {saved}, but the config says {given}; use {saved} or build again."
    )
    MODEL_TOO_SHORT = (
        "{setting} = {given} is above the {own} tokens that the model in {path} reads; give {own} or less."
    )
    SETTING_VALUE = "{setting} = {given!r} makes no sense; give {wanted}."
    DEVICE_ABSENT = 'device = \'{device}\' cannot be used here: {reason}. Set device = "auto" or "cpu"{fix}.'
    ROWS_UNALIGNED = (
        "The parts of a hybrid encoder must give the same rows, but {first} gives {n_first} and {second} gives "
        "{n_second}; the first difference is at row {row}."
    )
    ADAPTER_MISSING = "No LoRA adapter in {path}: give a folder with {name} and safetensors weights."
    GGUF_MISSING = "No GGUF model at {path}: give the path of a .gguf file{reason}."
    LLM_TOO_SHORT = (
        "max_length = {max_length} and max_new_tokens = {new} are together above the {own} tokens that the model in "
        "{path} reads; lower one of them."
    )
    NOT_ONE_TOKEN = (
        "The answer '{answer}' is {n_tokens} tokens of the model {name}, but must be one; choose other answers or "
        "another model."
    )
    NO_LOGPROB = "{name} did not report a probability for the answer '{answer}'."
    PROMPT_TOO_LONG = "the parts of a prompt that are not cut take {given} tokens of the {limit} in max_length"
    ADAPTER_RANK = "The LoRA adapter in {path} has rank {rank}, but vLLM takes at most {most}."
    PROMPT_EMPTY = "the prompt is empty"
    NOT_A_NUMBER = "the model gave scores that are not numbers"
    CHAT_TEMPLATE = "The model's chat template does not work: {reason}"
    NO_DENSE_BLOCK = (
        "An index of dense vectors needs some, but the rows are sparse only (dimensions {dims}), as those of the "
        "default encoder are where few entities have synonyms. Use the auto index, or a sentence or hybrid encoder."
    )
    INDEX_SETTING = "{path} holds a {saved} index, but the config asks for {given}; change the config or build again."
    NO_SPARSE_BLOCK = (
        "An inverted index needs sparse rows, such as the lexical encoder's, but the rows are dense only (dimensions "
        "{dims}). Use the auto, exact or faiss index."
    )

    # language models behind a server, their cache
    NO_KEY = (
        "No key for {endpoint}: set the environment variable {variable} (to any word, if that server needs none), or "
        "name another one in api_key_env."
    )
    BAD_KEY = "The key in the environment variable {variable} has characters that no header may hold; set it again."
    LLM_REFUSED = "{endpoint} will not answer for '{model}': {reason}. {hint}"
    SERVER_NO_LOGPROBS = (
        "{endpoint} reports no log-probabilities for '{model}'. Use a server that does (vLLM; llama.cpp, with "
        "--logits_all true in Python), or a model in this process."
    )
    SERVER_NO_LOGPROB = (
        "{answer!r} is not among the {n} most probable next tokens that {endpoint} reports for '{model}': {tokens}. "
        "A missing answer never counts as an improbable one. Raise top_logprobs (= {asked}) as far as the server "
        "allows (vLLM: --max-logprobs), choose answers of one token each, or use a model in this process. Answers to "
        "other prompts stay in the cache, if there is one (spacy-ontolink.CachedLLM.v1)."
    )
    CACHE_DAMAGED = "{path} is no cache of answers that can be used ({reason}). Delete it, or give another path."
    CACHE_UNUSABLE = "The cache of answers {path} cannot be used: {reason}. Give another path, or set ONTOLINK_CACHE."

    # prompts
    PROMPT_UNREADABLE = "The prompt '{path}' cannot be read ({reason}). Give a file, or one of: {known}"
    BAD_PROMPT = "The prompt '{path}' cannot be used: {reason}."

    # rerankers
    NO_HEAD = (
        "The model in {path} is no reranker yet: {what} needs weights of its own on top (head.safetensors). Train it "
        "first, or give a folder with them{other}."
    )

    # space
    DIMENSIONS = "The queries have dimensions {queries}, the rows {rows}: they come from different encoders."
    MISMATCH = "{path} was built with {what} {saved}, but is opened with {given}. Use the former, or build it again."

    # documents and command line
    INPUT_MISSING = "No such input file: {path}"
    BAD_LINE = "{path}, line {line}: {reason}"
    NO_GROUP = "{path}: no span group '{spans_key}' in it; the groups are: {groups}"
    SAME_FILE = "{path} is the input, too; give --output another name"
    NOT_DOCBIN = "{path} is not a .spacy file that can be read: {reason}"
    NOT_GZIP = "{path} is not a whole gzip file: {reason}"
    NO_DOCUMENTS = "{path}: no document in it."
    NO_MENTIONS = "{path}: no mention in it to {verb}.{hint}"
    NO_SYNONYMS = "{name} has no synonyms to hold out: give a file of annotated mentions to tune on."
    NEEDS_OUTPUT = "--format {format} needs a file to write to: give --output FILE"
    LINK_PATTERN = "'{pattern}' is no pattern of web addresses: give one of {names}, or http(s)://… with {{id}} in it"
    NO_PIPELINE = "{path} is not a spaCy pipeline with an ontolink component: {reason}"
    SEVERAL_RETRIEVERS = "{path} links with several components; choose one with --component: {names}"
    NO_RETRIEVER = "{path} has no component '{component}' that links; it has: {names}"
    NO_FINDER = "{path} has no component that finds {what} (it has: {pipes}); use --mentions {others}"
    NO_NOUN_CHUNKS = "spaCy has no noun chunks in the language of {path}, '{lang}'; use --mentions {others}"
    BLANK_MENTION = "Nothing to search for: the text is blank."
    NO_MARK = 'No mention is marked: put [[ ]] around it, as in "It has a [[high fat percentage]]."'
    BAD_MARK = "Character {position} of the text: {reason}. Mark each mention with one pair of [[ ]]"
    OUTPUT_IS_FOLDER = "{path} is a folder; give {option} the name of a file"
    NO_BASE = "No pipeline to build on in '{name}': {reason}"
    BAD_CONFIG = "{path} is not a config to build from: {reason}"
    BAD_COLUMNS = "--columns '{text}' is not a list like id=ID,name=LABEL,synonyms=OTHERS"
    OUT_EXISTS = "{path} exists; give --overwrite to replace it, or another name"
    OUT_IS_FILE = "{path} exists and is a file; the last argument is the folder to write"
    OUT_FOREIGN = "{path} exists, is not empty and is no pipeline, so it is left alone; give another name"
    OUT_NO_MODEL = "{path} exists and holds no model of 'ontolink train', so it is left alone; give another name"
    OTHER_ONTOLOGY = (
        "{path} has none of the ids of '{name}' ({new} there, {old} here): it is another ontology, not another "
        "release. Give --component if the pipeline has several, or --force to go over to it all the same"
    )
    SAME_NAMES = "{one} and {other} would both be written to {path}; rename one"
    LLM_FORM = "--llm {given} is no language model; give one of: {forms}"
    LLM_CONFIG = "{given} does not describe a language model: {reason}"
    NEEDS_LLM = (
        "--setting {setting} needs generated aliases: name a language model with --llm ({forms}), or a file of aliases "
        "with --aliases; the settings that need neither are: {others}"
    )
    OUT_UNKNOWN = "{path} exists, is not empty and holds no pairs, so it is left alone; give another name"
    NO_PAIRS = "{path}: no pair came of {mentions}: {reasons}."
    ONE_OR_OTHER = "{one} and {other} exclude each other: {reason}"

    # components
    NO_UPSTREAM = (
        "'{name}' has no retriever{which} before it in the pipeline to take candidates from; the retrievers of the "
        "pipeline are: {known}. Put 'ontolink_retriever' before it, or set 'upstream' to the name of one."
    )
    AFTER_THE_LAST = (
        "'{name}' stands after '{last}', which decides: its scores would undo that decision. Put it before '{last}'."
    )
    NO_CALIBRATION = (
        "'{name}': threshold = {threshold} is a probability, but there is no calibration to make one of the scores. "
        "Run: ontolink tune PIPELINE DEV OUT"
    )
    SETTING = "{setting} = {value!r}: {reason}"
    NO_ONTOLOGY = (
        "'{name}' has no ontology{built_from}. Give it one in the setting 'ontology', or as 'kb_loader' in "
        "[initialize.components.{name}], or load a pipeline made with: ontolink build ONTOLOGY OUT"
    )


def require(package: str, extra: str, what: str) -> None:
    """Check that an optional package is importable, without importing it.

    Raises:
        MissingExtraError: It is not; the message ends with the install line.
    """
    if importlib.util.find_spec(package) is None:
        raise MissingExtraError(Errors.MISSING_EXTRA.format(what=what, package=package, extra=extra))


def check_setting(setting: str, given: object, fine: bool, wanted: str) -> None:
    """Refuse a senseless setting, saying what is wanted.

    Raises:
        ConfigError: It is not ``fine``.
    """
    if not fine:
        raise ConfigError(Errors.SETTING_VALUE.format(setting=setting, given=given, wanted=wanted))
