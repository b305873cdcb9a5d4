"""Conditions: when a rule finds something."""

from strandline.advice.conditions.condition import Condition, Match, Where, met
from strandline.advice.conditions.part import (
    CONVERTERS,
    KINDS,
    POST_PROCESSORS,
    PREDICATES,
    TRANSFORMS,
    Filtered,
    Kind,
    Part,
)
from strandline.advice.conditions.setting import (
    Above,
    Contains,
    Given,
    Is,
    IsClass,
    IsNot,
    IsNotMadeOf,
    Lacks,
    Missing,
    Named,
    Outside,
)
from strandline.advice.conditions.topic import RENAMERS, ROUTERS, SharedTopic, shared_topics, topics

__all__ = [
    "CONVERTERS",
    "KINDS",
    "POST_PROCESSORS",
    "PREDICATES",
    "RENAMERS",
    "ROUTERS",
    "TRANSFORMS",
    "Above",
    "Condition",
    "Contains",
    "Filtered",
    "Given",
    "Is",
    "IsClass",
    "IsNot",
    "IsNotMadeOf",
    "Kind",
    "Lacks",
    "Match",
    "Missing",
    "Named",
    "Outside",
    "Part",
    "SharedTopic",
    "Where",
    "met",
    "shared_topics",
    "topics",
]
