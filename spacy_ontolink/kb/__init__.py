"""Knowledge bases: entities and their names as memory-mapped columns, and the readers that fill them."""

from .knowledge_base import KnowledgeBase

__all__ = ["KnowledgeBase"]
