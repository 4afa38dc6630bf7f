"""Golden cases of agents that both client libraries share: clients/agent/agent-cases.json."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from identity_engine import ToolPolicy, ToolUse, Turn, contract_prompt, rule_appraiser, wording_with
from identity_engine.models import Contract, ModeStrengths

FILE = Path(__file__).resolve().parent.parent.parent / "agent" / "agent-cases.json"
CASES = json.loads(FILE.read_text("utf-8"))


def numbered(kind: str) -> list[Any]:
    """Cases of a kind, as pytest parameters."""
    return [pytest.param(case, id=f"{kind}-{at}") for at, case in enumerate(CASES[kind])]


@pytest.mark.parametrize("case", numbered("prompts"))
def test_prompt_equals_the_prompt_of_the_other_client(case: dict[str, Any]) -> None:
    contract = Contract.model_validate(case["contract"])
    assert contract.as_prompt() == case["prompt"]
    assert contract_prompt(contract) == case["prompt"]


@pytest.mark.parametrize("case", numbered("worded"))
def test_prompt_uses_the_changed_wording(case: dict[str, Any]) -> None:
    contract = Contract.model_validate(case["contract"])
    assert contract.as_prompt(wording_with(case["changes"])) == case["prompt"]


@pytest.mark.parametrize("case", numbered("refusals"))
def test_policy_refuses_the_same_tools_with_the_same_sentences(case: dict[str, Any]) -> None:
    policy = ToolPolicy(case["tools"], mode=case["mode"], unmapped=case["unmapped"])
    contract = Contract.model_validate(case["contract"])
    names = [tool for tool, _ in case["refusals"]]
    assert policy.offered(names, contract) == case["offered"]
    refusals = [[tool, policy.refusal_of(tool, contract)] for tool in names]
    assert refusals == case["refusals"]


@pytest.mark.parametrize("case", numbered("appraisals"))
def test_rules_give_the_same_observation(case: dict[str, Any]) -> None:
    contract = {**CASES["prompts"][0]["contract"], "stress_state": case["stress_state"]}
    set_point = case["set_point"]
    turn = Turn(
        case["outcome"],
        [ToolUse(**use) for use in case["tools"]],
        contract=Contract.model_validate(contract),
        set_point=None if set_point is None else ModeStrengths.model_validate(set_point),
    )
    appraisal = rule_appraiser()(turn)
    assert (None if appraisal is None else asdict(appraisal)) == case["appraisal"]


def test_cases_of_every_kind_exist() -> None:
    counts = {kind: len(cases) for kind, cases in CASES.items()}
    assert set(counts) == {"prompts", "worded", "refusals", "appraisals"}
    assert sum(counts.values()) >= 70
