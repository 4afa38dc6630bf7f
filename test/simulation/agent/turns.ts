import {
  ruleAppraiser,
  type ToolUse,
  type Turn,
  type TurnOutcome,
} from '#clients/typescript/src/agent/appraiser';
import { ACTIONS, type Action } from '#identity/contract';
import { MODELS, type Observation } from '#identity/model';
import { MODE_KEYS, MODE_TARGETS } from '#identity/modes';
import { newReport, type Report } from '#identity/report';
import { at, OFFSET, STRESS_STATES, type State } from '#identity/state';
import { type Agent, drawn } from '#test/simulation/model/work';
import { SeededRandom } from '#test/simulation/seeded-random';

/*
 * Simulates agents on the real model. The default rules of the clients appraise each turn of an
 * agent, and the resulting observation advances the model. `ordinaryWork` draws turns from a mix of
 * work. Tests script other turns, for example a streak of failures.
 */

/** Turns of one agent in ordinary work. */
export const TURNS = 200;

/** Simulated intervals between two turns, in seconds. */
export const PACES = [5, 45] as const;

const { newest } = MODELS;
const appraise = ruleAppraiser();

/** An agent with an instance of the newest model. The default rules appraise its turns. */
export class AppraisedAgent {
  #state: State;
  readonly report: Report = newReport();

  constructor(strengths: readonly number[], energyLevel = 0.8) {
    this.#state = newest.create({ modeStrengths: strengths, energyLevel });
    newest.readReport(this.#state, this.report);
  }

  /**
   * Appraises a turn. An observation advances the model by `gapSeconds`; without an observation,
   * the model does not change. Returns whether the rules gave an observation.
   */
  turn(tools: readonly ToolUse[], gapSeconds: number, outcome: TurnOutcome = 'completed'): boolean {
    const { setPoint } = newest.readReferencePoints(this.#state);
    const strengths = MODE_KEYS.map((key, mode) => [key, setPoint[mode] ?? 0]);
    const appraisal = appraise({
      ...{ outcome, tools, setPoint: Object.fromEntries(strengths) },
      contract: { stress_state: this.stress } as Turn['contract'],
    });
    if (appraisal === undefined) return false;
    const mode = (MODE_TARGETS as readonly string[]).indexOf(appraisal.mode_target);
    const { signal_strength: signal, confidence } = appraisal;
    this.#advance({ mode, signal, confidence }, gapSeconds);
    return true;
  }

  /** Advances the model by `gapSeconds` without a signal, so that the agent only recovers. */
  rest(gapSeconds: number): void {
    this.#advance({ mode: 0, signal: 0, confidence: 0 }, gapSeconds);
  }

  #advance(observation: Observation, gapSeconds: number): void {
    const next = new Float64Array(newest.stateLength);
    newest.advance(this.#state, observation, gapSeconds, next);
    this.#state = next;
    newest.readReport(next, this.report);
  }

  /** Acute stress, from 0 to 1. */
  get load(): number {
    return at(this.#state, OFFSET.stress);
  }

  get stress(): string {
    return STRESS_STATES[this.report.snapshot.stressLevel] ?? '';
  }

  /** Whether the current contract forbids an action. */
  forbids(action: Action): boolean {
    const { items, count } = this.report.contract.forbidden;
    return items.subarray(0, count).includes(ACTIONS.indexOf(action));
  }
}

/** Tool calls of a drawn turn: one successful call with the drawn action, or one failed call. */
function toolsOf(drawnTurn: Action | 'failure'): readonly ToolUse[] {
  return drawnTurn === 'failure' ? [FAILED] : [used(drawnTurn)];
}

/** A failed call of a tool. */
export const FAILED: ToolUse = { tool: 'tool', outcome: 'error', actions: [] };

/** A successful call of a tool with one action. */
export const used = (action: Action): ToolUse => ({
  ...{ tool: action, outcome: 'ok', actions: [action] },
});

/**
 * Simulates `TURNS` turns of an agent in ordinary work. Yields the same object after each turn, so
 * read its report before the next turn.
 */
function* ordinaryWork({ persona, mix, seed }: Agent, gapSeconds: number) {
  const random = new SeededRandom(seed);
  const agent = new AppraisedAgent(persona.strengths);
  for (let turn = 0; turn < TURNS; turn += 1) {
    agent.turn(toolsOf(drawn(mix, random.between(0, 100))), gapSeconds);
    yield agent;
  }
}

/** Share of ordinary turns of all `agents` that end at a drift level, from 0 to 1. */
export function shareAtLevel(agents: readonly Agent[], level: number, gapSeconds: number): number {
  let count = 0;
  for (const agent of agents) {
    for (const { report } of ordinaryWork(agent, gapSeconds)) {
      if (report.deviation.level === level) count += 1;
    }
  }
  return count / (agents.length * TURNS);
}
