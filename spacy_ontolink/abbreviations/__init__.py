"""Abbreviations that a text defines, and mentions with these written out."""

from .definitions import Abbreviation, find_abbreviations
from .forms import expand, long_forms

__all__ = ["Abbreviation", "expand", "find_abbreviations", "long_forms"]
