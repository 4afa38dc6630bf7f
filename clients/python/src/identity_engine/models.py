"""Data of the API, with the API's names.

Models keep unknown fields, and enumerations in answers accept unknown values. Times are aware
datetimes in UTC.
"""

from identity_engine._generated import *  # noqa: F403
