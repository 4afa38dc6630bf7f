"""The data of the API: what calls take and answer, with the names of the API.

Every model keeps fields that this version does not know; enumerations that the service answers take
values that this version does not know. Times are aware datetimes in UTC.
"""

from identity_engine._generated import *  # noqa: F403
