"""Texts and rules that both client libraries share.

``clients/agent/write-agent.ts`` writes ``tables.json``.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

TABLES: dict[str, Any] = json.loads(
    resources.files("identity_engine._agent").joinpath("tables.json").read_text("utf-8")
)
