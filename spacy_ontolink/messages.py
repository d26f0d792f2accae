"""The messages of single subjects; ``errors.Errors`` has them with all others, and only it is to be imported."""

from __future__ import annotations


class FileMessages:
    """Message templates of ``files`` and ``atomic``."""

    FILE_MISSING = "No such file or folder: {path}"
    DISK_FULL = "{path} cannot be written: {reason}. What was there is as it was; make room, or give another place."
    NO_CONFIG = "{given} is no file, and no config of the library; those are: {names}"
    OTHER_KIND = "{path} is a {there}, and a {new} was to be written in its place: give another name."
    NO_CHECKSUMS = "{path} has no checksums to verify: give a saved pipeline, entity space or knowledge base."
    BAD_SAVED_CONFIG = "{path} cannot be used ({reason}). Mend it, or build again: {rebuild}"
    BAD_SAVED_BLOCK = "{error}. Mend it, or build again: {rebuild}"
    FILE_DAMAGED = "{path} is damaged ({reason}). Build it again: {rebuild}"


class CalibrationMessages:
    """Message templates of ``fusion``, ``calibration`` and ``ontolink tune``."""

    FEW_TO_CALIBRATE = (
        "{n} mention(s), {right} of them linked rightly, are too few to calibrate on: at least {least} are needed, "
        "{kind} right and {kind} wrong ones among them. Give more mentions, or hide more entities, so that more fail."
    )
    FEW_OTHERS = "of {n} mentions, {apart} are kept apart to check on, equal texts together: {reason}"
    NO_CANDIDATES = "None of {n} mention(s) gets a candidate from '{name}', so nothing can be tuned: see to its filters"
    NO_SCORES = "'{name}' gave none of {n} mention(s) a score, so nothing can be tuned with it: mend it, or take it out"
    PRECISION_OUT_OF_REACH = (
        "No threshold reaches a precision of {wanted:.0%} on these mentions; the best is {reached:.1%}, of the {n} "
        "most probable answers. Ask for less, or give more mentions."
    )


class TrainingMessages:
    """Message templates of ``training`` and ``ontolink train``."""

    NO_MEMORY = (
        "Out of memory with {block}.batch_size = {size}. Set {block}.batch_size = {half} and {block}.accumulate = "
        "{more}, or shorten the inputs (max_length, mention_tokens, entity_tokens), and run it again."
    )
    NO_MEMORY_AT_ALL = (
        "Out of memory with {block}.batch_size = 1. Shorten the inputs (max_length, mention_tokens, entity_tokens), "
        'set {block}.dtype = "bfloat16", or start from a smaller model.'
    )
    NO_MEMORY_TO_SCORE = (
        "Out of memory while hard negatives are chosen. Lower model.scoring_batch, shorten the inputs (max_length, "
        'mention_tokens, entity_tokens), or set negatives.scheme = "random".'
    )
    NO_LOSS = (
        "The loss at step {step} is {loss}, no number to train on (learning rate {rate:g}). Lower "
        '{block}.learning_rate, or set {block}.dtype = "float32".'
    )
    CHECKPOINT_OTHER = (
        "{path} is the checkpoint of another training ({differing}). Train with those settings to go on, or give "
        "--overwrite to begin anew."
    )
    CHECKPOINT_DAMAGED = "The checkpoint {path} cannot be used ({reason}). Give --overwrite to begin anew."
    NOTHING_TO_LEARN = "Nothing to learn from: give --pairs FILE, or a block [alignment] in the config."
    NO_SYNONYMS_TO_ALIGN = "{name}: no entity has a second name, so there is nothing to align. Leave [alignment] out."
    BAD_TRAINING_CONFIG = "{path} cannot be used: {reason}."
    BAD_OVERRIDE = "{option} is not understood: {reason}. Settings are given like --training.learning_rate 1e-5"
    NO_SETTING = "[{block}] has no setting '{name}'{guess}; it has: {known}"
    NO_BLOCK = "there is no block [{name}]{guess}; the blocks are: {known}"
    BAD_VALUE = "{block}.{name} = {given!r} must be {wanted}"
    NO_ALIAS_STORE = "{path} is no store of aliases; delete it, or give another name."
    OTHER_ALIASES = (
        "{path} holds aliases made with {what} {saved!r}, but now it is {given!r}: they are not mixed. Use the "
        "former, or give another file."
    )
    STORE_IN_USE = "{path} was changed by another run meanwhile. Let one run at a time write to it, then start again."
    ALIASES_UNKNOWN = (
        "{n} alias(es) belong to entities that are not in the knowledge base {kb}, such as {examples}. Update them to "
        "this release of the ontology first."
    )
    NO_TRAINING_ONTOLOGY = "{path} names no ontology: give --paths.ontology FILE, or set data.ontology in the config."
    NO_PAIR_FILES = "Nothing to learn from: give --pairs FILE."
    NO_SETS = (
        "None of the {n} mention(s) has a right entity and a wrong one to tell it from. Give mentions with kb_ids that "
        "the ontology knows, and a retriever that finds more than one candidate."
    )


class BulkMessages:
    """Message templates of ``bulk`` and ``ontolink bulk``."""

    BULK_FOREIGN = (
        "{path} exists, is not empty and holds no run of 'ontolink bulk', so it is left alone; give another name"
    )
    BULK_OTHER_RUN = (
        "{path} holds another run ({differing}): let that one go on as it was started, give another OUT, or "
        "--overwrite to begin anew"
    )
    BULK_IN_USE = "Another 'ontolink bulk' is writing to {path}; wait for it, or give another OUT"
    BULK_OUT_IN_INPUT = "{out} lies in the input folder {path}, so its parts would become input; give another OUT"
    BULK_INPUT_IN_OUT = (
        "The input {path} lies in the output folder {out}: give another OUT, or copy what is to be linked elsewhere"
    )
    BULK_NO_SHARDS = "{path}: no shard there; shards are files named .parquet, .jsonl (or .jsonl.gz) and .spacy"
    BULK_NOT_SHARD = (
        "{path} is no shard, which is named .parquet, .jsonl (or .jsonl.gz) or .spacy; 'ontolink convert' makes JSONL "
        "of other formats"
    )
    BULK_UNREADABLE = "{path} is not a Parquet file that can be read: {reason}"
    BULK_NO_COLUMN = "{path} has no column '{column}' for the {what}; give --{what}-column, one of: {columns}"
    BULK_TWICE = "{path} has {times} columns named '{column}'; rename all but one"
    BULK_SAME_COLUMN = (
        "'{column}' cannot be the column of two things: give --text-column and --id-column other names, neither of "
        "them 'mentions'"
    )
    BULK_ALL_FAILED = "Not one of {n} document(s) was linked; the first failed with {first} (all of them: {path})"
    BULK_NOT_TEXT = "{path}: column '{column}' holds {kind}, not strings; give --text-column"
    BULK_INPUT_CHANGED = (
        "{path} is not what it was when the run in {out} began ({reason}): put it back, give another OUT, or "
        "--overwrite to begin anew"
    )
    BULK_INPUT_GONE = (
        "{out} has results of {path}, which is not in the input: name it again, give another OUT, or --overwrite to "
        "begin anew"
    )
    BULK_RECEIPT = (
        "The receipt {path} cannot be trusted: {reason}. Delete it, so that its rows are done again, or give "
        "--overwrite to begin anew"
    )
    BULK_SHARD = (
        "{path}, which says how a shard was cut, cannot be trusted: {reason}. Delete it, so that it is made again, or "
        "give --overwrite to begin anew"
    )
    BULK_BAD_NAME = "{path!r}: the name of this input is not UTF-8, so that no table can hold it; rename it"
    BULK_LOCAL_GPUS = "--gpus-per-worker is for --engine ray; the workers of --engine local all see all GPUs"
    BULK_NO_ANSWER = (
        "The pipeline's language model has answered none of {n} prompts: see to its server, then run this again"
    )
    BULK_KILLED = "its worker died {times} times while it worked on this document alone"
    BULK_CHUNK_DIES = (
        "{where}: workers died {times} times while these were {what}; give them more memory, or --chunk-size a lower "
        "number (and another OUT), then run it again"
    )
    BULK_NO_MEMORY = (
        "A worker has no memory left: give fewer --workers, a lower --batch-size, or more memory, then run this again"
    )
    BULK_WORKERS_DIE = (
        "Workers died {times} times while they opened the pipeline (exit code {code}): give fewer --workers, or more "
        "memory"
    )


class ModelMessages:
    """Message templates of model folders."""

    MODULE_REFUSED = (
        "it names the module '{name}', which is code of its own; of sentence-transformers, it may have: {known}"
    )


class ServiceMessages:
    """Message templates of ``service`` and ``ontolink serve``."""

    CANNOT_LISTEN = "Cannot listen on {host}, port {port}: {reason}. Give another --host or --port."
    NOT_JSON = "The body is not JSON: {reason}."
    NOT_AN_OBJECT = "The body must be a JSON object, and the header Content-Type must say application/json."
    MORE_ERRORS = " (and {n} more)"
    MENTION_OUTSIDE = "mention {start}…{end} does not lie in a text of {n} characters"
    NOTHING_TO_LINK = "nothing to link: give texts, or documents"
    TEXTS_AND_DOCUMENTS = "give texts or documents, not both"
    BODY_TOO_LARGE = "The request has more than {most:,} bytes; send several smaller ones."
    BODY_TOO_SLOW = "The request did not arrive within {seconds:g} seconds."
    TOO_MANY = "{n:,} {what} in one request, at most {most:,}; send several smaller ones."
    K_TOO_HIGH = "k: {k} candidates were asked for, this pipeline finds at most {most}"
    BAD_DOCUMENT = "This document cannot be used: {reason}."
    NOT_OUR_NAME = "This server does not answer to the name '{host}'; start it with --allow-host for that."
    BUSY = "Too many documents wait already; ask again in {seconds} s."
    NOT_IN_TIME = "Not answered within {seconds:g} seconds; send fewer or shorter documents at once."
    NOT_BEGUN = "The server was too busy to begin within {seconds:g} seconds; ask again."
    DOCUMENT_FAILED = "The pipeline failed on this document ({kind})."
    SERVER_FAILED = "The server failed on this request ({kind})."


class ServiceWarnings:
    """Warnings of ``service``; none quotes a document."""

    EXPOSED = "{address} can be reached from other machines, and anyone who reaches it may ask: put a proxy before it"
    NOT_LINKED = "{n} document(s) could not be linked: {where}"
    REQUEST_FAILED = "A request failed: {where}"


class ReaderMessages:
    """Message templates of ``kb.readers``."""

    BAD_BLOCK = "{path}: {block} is wrong: {faults}"
    OPTION_UNKNOWN = "There is no option '{option}' for what is read here; the options are: {known}"
    BAD_FILTER = "--filter '{text}' is not of the form KIND=ID,… with one of these kinds: {kinds}"
    BAD_OPTION = "--option '{text}' is not of the form NAME=VALUE, such as languages=ENG,SPA"
    UNSORTED = (
        "{path}, line {line}: {cui} comes after {last}, but the file must be sorted by concept, as it was released: "
        "LC_ALL=C sort -o FILE FILE"
    )


class CorpusMessages:
    """Message templates of corpus formats and ``ontolink convert``."""

    BAD_PREFIX = (
        "--prefix {option} is not understood: give MESH, Gene=NCBIGene (for one label) or MeSH:=MESH (to rename)"
    )
    NOT_CORPUS = "{path} cannot be read as a corpus: {reason}. The formats are: {formats}"
    NOT_BIOC = "{path} is not {format} that can be read: {reason}"
    NO_TEXT_BESIDE = "{path}: no text beside it; an annotation file of BRAT needs {text}"
    NO_ANNOTATIONS_IN = "{path} is a folder without .ann files, so it is no BRAT corpus; give the file in it"
    NO_TEXTS_IN = (
        "{path} is a folder without .ann files (BRAT) and without .txt files; name the files in it: {path}/*.jsonl"
    )
    TO_UNKNOWN = "The name of {path} does not tell a format: give --to, one of {formats}"
    OUT_NOT_BRAT = (
        "{path} exists, is not empty and holds more than a BRAT corpus, so it is left alone; give another name"
    )
    LINK_OUTPUT = (
        "{path}: 'ontolink link' writes no {what}. Give --format, or a name that ends in .jsonl, .tsv, .spacy or "
        ".html; 'ontolink convert' makes other formats of .jsonl"
    )
    OUTPUT_IS_INPUT = "{path} is the input, too; give the output another name"
    NO_GROUPS_IN = "{path} is not a .spacy file, so it has no span groups to choose from; leave --spans-key out"
    SPACY_FROM_STDIN = "A .spacy file cannot come from standard input; give the name of the file"
    NEEDS_FILE = "--to {format} needs a file or folder to write to, not standard output"


class EvaluationMessages:
    """Message templates of ``evaluation`` and ``ontolink evaluate``."""

    NO_STDOUT = "{option} needs a file to write to, not standard output"
    OUTPUT_IN_FILE = "{path} cannot be written, since {parent} is a file; give {option} another name"
    SAME_OUTPUT = "{first} and {second} would both write {path}; give them different names"
    NO_RUN = (
        "{path} cannot be compared with: {reason}. Give the file that 'ontolink evaluate … --output FILE' wrote for "
        "the other run."
    )
    NO_GOLD_HINT = " Each mention needs 'kb_ids'."
    LINKED_NOT_GOLD = (
        " It looks like the output of 'ontolink link', whose 'kb_id' is an answer; gold ids stand in 'kb_ids' of each "
        "mention."
    )
    ANSWERS_NOT_GOLD = (
        "{path}: its ids are the answers of a pipeline, as 'ontolink link' writes them, and no gold ids. Give the "
        "annotated file; if someone has checked these, make them gold with: ontolink convert {path} gold.jsonl"
    )
    OTHER_MENTIONS = (
        "{path} was measured on other data, so the runs cannot be compared: {reason}. Measure both on one file."
    )


class StoreMessages:
    """Message templates of indexes in an external vector store."""

    NOT_INTRODUCED = "{index} was not told whose rows it holds: call introduce(kb, encoder_id) first."
    STORE_MISSING = (
        "{table} is not there. Put the store back, set the index's uri to where it is now, or build again: ontolink "
        "build ONTOLOGY OUT"
    )
    STORE_VERSION = "{table} has no version {version} any more: it was cleaned up. Build again, or update."
    STORE_REPLACED = (
        "{table} is not the one that this pipeline was built with, though it has the same name. Set the index's uri to "
        "that one, or build again."
    )
    STORE_FOREIGN = "{table} was not made by spacy-ontolink. Set the index's table to another name."
    STORE_DIMENSION = (
        "{table} holds vectors of {saved} dimensions, and those to be written have {given}. Set the index's table to "
        "another name, or use the encoder that it was made with."
    )
    STORE_ENCODER = (
        "{table} holds vectors of the encoder {saved}, and those to be written are of {given}. Set the index's table "
        "to another name, or, where an update fitted the encoder anew, give --keep-idf."
    )
    STORE_KB = (
        "{table} holds the knowledge base {saved}, which has no name in common with {given}. Set the index's table to "
        "another name."
    )
    STORE_CONFLICT = (
        "{table} was written to by another process at the same time; nothing is lost. Run the command again when that "
        "one is done."
    )
    STORE_FAILED = "{table} cannot be used ({reason}). See that it can be reached and written to."


class SubjectMessages(
    BulkMessages,
    CalibrationMessages,
    CorpusMessages,
    EvaluationMessages,
    FileMessages,
    ModelMessages,
    ReaderMessages,
    ServiceMessages,
    StoreMessages,
    TrainingMessages,
):
    """The messages of all subjects."""
