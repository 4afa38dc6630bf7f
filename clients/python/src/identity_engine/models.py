"""Data of the API, with the API's names.

Models keep unknown fields, and enumerations in answers accept unknown values. Times are aware
datetimes in UTC. Methods accept each model also as a dictionary, such as ``ObservationDict``.
"""

from identity_engine._core.dictionaries import *  # noqa: F403
from identity_engine._generated import *  # noqa: F403
