"""``client.instances``: create, read, rename, delete and list instances."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import overload

from identity_engine._async.caller import AsyncCaller
from identity_engine._async.page import AsyncPage, fetch_page, items_of
from identity_engine._core.call import Repeatable, get, path_of, send
from identity_engine._core.dictionaries import InitialConfigInput
from identity_engine._core.envelope import Many, One, conditional_of, refused_as, result_of
from identity_engine.errors import NotFoundError
from identity_engine.models import (
    CreatedInstance,
    DeletedInstance,
    DominantMode,
    DriftLevel,
    FleetCounts,
    Instance,
    InstancesSort,
    ListedInstance,
    SortOrder,
    StressState,
    UpdatedInstance,
)
from identity_engine.results import NotModified, Result

_CREATED = One[CreatedInstance]
_INSTANCE = One[Instance]
_UPDATED = One[UpdatedInstance]
_DELETED = One[DeletedInstance]
_LISTED = Many[ListedInstance]
_FLEET = One[FleetCounts]


class AsyncInstances:
    """The account's instances."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def create(
        self,
        name: str,
        *,
        description: str | None = None,
        tags: dict[str, str] | None = None,
        initial_config: InitialConfigInput | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[CreatedInstance]:
        """Creates an instance once; retries use the same idempotency key.

        Args:
            name: 1 to 100 code points.
            description: Up to 2,000 code points; default empty.
            tags: At most 16 tags. A key has 1 to 64 code points, a value up to 256. Keys are
                compared exactly.
            initial_config: ``mode_strengths`` (0 to 1 each, default 0) and ``energy_level`` (0 to
                1, default 0.8), such as the ``initial_config`` of a test result.
            idempotency_key: 1 to 255 printable ASCII characters; default a new UUIDv7.
            request_id: Caller's request id: 8 to 64 characters of ``A-Z a-z 0-9 . _ -``.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            InvalidRequestError: A field breaks a rule.
            ForbiddenError: The key is read-only, or the plan allows no further instance
                (``instance_limit``).
        """
        fields = {
            "name": name,
            "description": description,
            "tags": tags,
            "initial_config": initial_config,
        }
        call = send(
            "POST",
            "/instances",
            {field: value for field, value in fields.items() if value is not None},
            Repeatable.ALWAYS,
            is_keyed=True,
            idempotency_key=idempotency_key,
            request_id=request_id,
        )
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _CREATED)

    @overload
    async def get(
        self,
        id: str,
        *,
        if_none_match: None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Instance]: ...

    @overload
    async def get(
        self,
        id: str,
        *,
        if_none_match: str,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Instance] | NotModified: ...

    async def get(
        self,
        id: str,
        *,
        if_none_match: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[Instance] | NotModified:
        """Reads an instance.

        Args:
            id: ``inst_`` and 16 hexadecimal digits.
            if_none_match: An ``etag``; if it is the current version, the answer is ``NotModified``.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            NotFoundError: The account has no instance with this id.
        """
        call = get(path_of("instances", id), request_id=request_id, if_none_match=if_none_match)
        return conditional_of(await self._caller.send(call, timeout_s, attempts_max), _INSTANCE)

    async def update(
        self,
        id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        tags: dict[str, str] | None = None,
        if_match: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[UpdatedInstance]:
        """Changes name, description or tags. The state stays unchanged.

        The call is retried only if the failed attempt certainly changed nothing. Otherwise, a retry
        could overwrite a later change by another caller.

        Args:
            id: ``inst_`` and 16 hexadecimal digits.
            name: 1 to 100 code points; default unchanged.
            description: Up to 2,000 code points; default unchanged.
            tags: Replaces all tags, with the rules of ``create``; default unchanged.
            if_match: An ``etag``: the change applies only if this is the current version.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            ConflictError: The current version differs (``version_mismatch``).
            NotFoundError: The account has no instance with this id.
        """
        fields = {"name": name, "description": description, "tags": tags}
        call = send(
            "PATCH",
            path_of("instances", id),
            {field: value for field, value in fields.items() if value is not None},
            Repeatable.UNCHANGED,
            if_match=if_match,
            request_id=request_id,
        )
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _UPDATED)

    async def delete(
        self,
        id: str,
        *,
        if_match: str | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[DeletedInstance]:
        """Deletes an instance with all its data.

        If the service answers "not found" after an attempt with unknown outcome, the call succeeds.
        ``status`` is then 404.

        Args:
            id: ``inst_`` and 16 hexadecimal digits.
            if_match: An ``etag``: the deletion applies only if this is the current version.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.

        Raises:
            ConflictError: The current version differs (``version_mismatch``).
            NotFoundError: The account has no instance with this id.
        """
        call = send(
            "DELETE",
            path_of("instances", id),
            None,
            Repeatable.DELETE,
            if_match=if_match,
            request_id=request_id,
        )
        try:
            answer = await self._caller.send(call, timeout_s, attempts_max)
        except NotFoundError as error:
            if not error.may_have_happened:
                raise
            return refused_as(error, DeletedInstance(id=id, deleted=True))
        return result_of(answer, _DELETED)

    async def list(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        sort: InstancesSort | None = None,
        order: SortOrder | None = None,
        search: str | None = None,
        stress: Sequence[StressState] | None = None,
        drift: Sequence[DriftLevel] | None = None,
        dominant_mode: Sequence[DominantMode] | None = None,
        tags: Mapping[str, str] | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> AsyncPage[ListedInstance]:
        """Returns a page of the account's instances.

        With a filter or ``sort="changed_at"``, ``as_of`` of the page has the time and the position
        of the log up to which the page has all events.

        Args:
            limit: 1 to 100 entries; default 20.
            offset: Number of entries to skip; default 0.
            cursor: ``next_cursor`` from the previous page, instead of ``offset``.
            sort: ``created_at`` (default), ``name``, or ``changed_at``: the newest event.
            order: ``asc`` or ``desc`` (default).
            search: Part of the name, or of the id; 1 to 64 code points.
            stress: Wanted stress states; default all.
            drift: Wanted drift levels; default all.
            dominant_mode: Wanted first dominant modes; ``None``: all modes are weak. Default all.
            tags: Up to four tags, which an instance must all have.
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.
        """
        query = {
            "limit": limit,
            "offset": offset,
            "cursor": cursor,
            "sort": sort,
            "order": order,
            "search": search,
            **_filters(stress, drift, dominant_mode, tags),
        }
        return await fetch_page(
            self._caller,
            "/instances",
            query,
            _LISTED,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )

    def iterate(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        sort: InstancesSort | None = None,
        order: SortOrder | None = None,
        search: str | None = None,
        stress: Sequence[StressState] | None = None,
        drift: Sequence[DriftLevel] | None = None,
        dominant_mode: Sequence[DominantMode] | None = None,
        tags: Mapping[str, str] | None = None,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> AsyncGenerator[ListedInstance, None]:
        """Iterates over instances. Keeps one page in memory.

        Yields each instance exactly once if it exists during the whole iteration, despite
        concurrent creates, deletes and renames. Takes the arguments of ``list``; ``timeout_s`` and
        ``attempts_max`` apply to each page.
        """
        query = {
            "limit": limit,
            "offset": offset,
            "cursor": cursor,
            "sort": sort,
            "order": order,
            "search": search,
            **_filters(stress, drift, dominant_mode, tags),
        }
        return items_of(
            self._caller,
            "/instances",
            query,
            _LISTED,
            request_id=request_id,
            timeout_s=timeout_s,
            attempts_max=attempts_max,
        )

    async def fleet(
        self,
        *,
        request_id: str | None = None,
        timeout_s: float | None = None,
        attempts_max: int | None = None,
    ) -> Result[FleetCounts]:
        """Counts the account's instances by state, mode and tag, and returns its newest events.

        Args:
            request_id: Caller's request id.
            timeout_s: Deadline including retries, in seconds.
            attempts_max: Maximum requests; retries until the deadline by default.
        """
        call = get("/fleet", request_id=request_id)
        return result_of(await self._caller.send(call, timeout_s, attempts_max), _FLEET)


def _filters(
    stress: Sequence[StressState] | None,
    drift: Sequence[DriftLevel] | None,
    dominant_mode: Sequence[DominantMode] | None,
    tags: Mapping[str, str] | None,
) -> dict[str, str | None]:
    """Parameters of the filters: lists as text, and each tag as a parameter."""
    lists = {"stress": stress, "drift": drift, "dominant_mode": dominant_mode}
    joined = {
        name: values if values is None or isinstance(values, str) else ",".join(values)
        for name, values in lists.items()
    }
    return {**joined, **{f"tag.{key}": value for key, value in (tags or {}).items()}}
