import type { KnownAction } from '../actions.ts';
import { IdentityEngineError } from '../errors.ts';
import type { Contract, ModeStrengths, ModeTarget } from '../models.ts';

/** Result of a tool call in a turn. `refused`: the tool policy answered the call. */
export type ToolOutcome = 'ok' | 'error' | 'refused';

/** A tool call in a turn. */
export type ToolUse = {
  readonly tool: string;
  readonly outcome: ToolOutcome;
  /** Actions of the tool, from the tool policy. */
  readonly actions: readonly KnownAction[];
};

/**
 * End of a turn. `failed`: the agent's own run failed. `aborted`: a user or program stopped the
 * run. `unavailable`: a provider or network failed, which says nothing about the agent.
 */
export type TurnOutcome = 'completed' | 'failed' | 'aborted' | 'unavailable';

/** A finished turn of an agent, for an appraiser. */
export type Turn = {
  readonly outcome: TurnOutcome;
  readonly tools: readonly ToolUse[];
  /** The user's input and the agent's output, if the caller supplied them. Never sent. */
  readonly input?: string | undefined;
  readonly output?: string | undefined;
  /** Contract of the turn; undefined if the service was away. */
  readonly contract: Contract | undefined;
  /** Set-point of the instance; undefined if unknown. */
  readonly setPoint: ModeStrengths | undefined;
};

/** The observation that a turn gives. */
export type Appraisal = {
  readonly mode_target: ModeTarget;
  readonly signal_strength: number;
  readonly confidence: number;
};

/** Turns a finished turn into one observation, or into none. */
export type Appraiser = (turn: Turn) => Appraisal | undefined | Promise<Appraisal | undefined>;

/** A row of the rules: the first row whose condition holds gives the observation. */
export type AppraisalRule = {
  /** `failed`, `errors` (two failed tool calls), `error` (one), or actions of tools that ran. */
  readonly when: 'failed' | 'errors' | 'error' | readonly KnownAction[];
  readonly mode: ModeTarget;
  /** Strength towards which the observation points, from 0 to 1. */
  readonly strength: number;
  readonly confidence: number;
};

/**
 * Default rules. Stress rows send their strength: repeated readings approach this strength and
 * never exceed this strength. Other rows send a strength on the way from the set-point to the row,
 * so that an agent's ordinary work is no departure from its character. `make simulate-agent` shows
 * the effect.
 */
export const APPRAISAL_RULES = {
  /** Version of the table. A change of any row is a new version. */
  version: '1',
  /** Share of the way from the set-point to the strength of a row. */
  share_of_way: 0.4,
  rules: [
    { when: 'failed', mode: 'STRESS_RESPONSE', strength: 0.9, confidence: 0.6 },
    { when: 'errors', mode: 'STRESS_RESPONSE', strength: 0.7, confidence: 0.5 },
    { when: 'error', mode: 'STRESS_RESPONSE', strength: 0.5, confidence: 0.4 },
    { when: ['challenge'], mode: 'ASSERTION', strength: 0.75, confidence: 0.25 },
    { when: ['explore', 'pivot'], mode: 'EXPLORATION', strength: 0.75, confidence: 0.25 },
    { when: ['execute'], mode: 'ORDER', strength: 0.7, confidence: 0.25 },
    { when: ['stabilize'], mode: 'ORDER', strength: 0.6, confidence: 0.25 },
    { when: ['comfort'], mode: 'CONNECTION', strength: 0.6, confidence: 0.25 },
    { when: ['defer', 'withdraw'], mode: 'CONNECTION', strength: 0.5, confidence: 0.25 },
    { when: ['question', 'clarify'], mode: 'PERCEPTION', strength: 0.6, confidence: 0.25 },
    { when: ['suggest'], mode: 'ASSERTION', strength: 0.5, confidence: 0.25 },
    { when: ['elaborate'], mode: 'EXPLORATION', strength: 0.4, confidence: 0.25 },
  ],
} as const satisfies {
  version: string;
  share_of_way: number;
  rules: readonly AppraisalRule[];
};

/**
 * Stress states in which a single failed tool call sends nothing: a reading below the present
 * stress would relieve the agent.
 */
const STRESSED: readonly string[] = ['HIGH', 'OVER'];

/**
 * An appraiser that follows rules. An aborted turn, an unavailable provider and refused tools give
 * no observation, because they are not the agent's doing. A turn without tools gives none either:
 * rules cannot read a tone.
 */
export function ruleAppraiser(
  rules: readonly AppraisalRule[] = APPRAISAL_RULES.rules,
): (turn: Turn) => Appraisal | undefined {
  return (turn) => {
    if (turn.outcome === 'aborted' || turn.outcome === 'unavailable') return undefined;
    const rule = rules.find((one) => holds(one, turn));
    if (rule === undefined) return undefined;
    const { mode: mode_target, strength, confidence } = rule;
    const signal_strength =
      mode_target === 'STRESS_RESPONSE' ? strength : onTheWay(strength, mode_target, turn.setPoint);
    return { mode_target, signal_strength, confidence };
  };
}

function holds({ when }: AppraisalRule, { outcome, tools, contract }: Turn): boolean {
  if (when === 'failed') return outcome === 'failed';
  const errors = tools.filter((use) => use.outcome === 'error').length;
  if (when === 'errors') return errors > 1;
  if (when === 'error') return errors === 1 && !STRESSED.includes(contract?.stress_state ?? '');
  const done = tools.filter((use) => use.outcome === 'ok').flatMap(({ actions }) => actions);
  return when.some((action) => done.includes(action));
}

function onTheWay(strength: number, mode: ModeTarget, setPoint: ModeStrengths | undefined): number {
  const home = setPoint?.[mode.toLowerCase() as keyof ModeStrengths];
  if (typeof home !== 'number') return strength;
  return Math.round((home + APPRAISAL_RULES.share_of_way * (strength - home)) * 1e6) / 1e6;
}

const MODE_TARGETS: readonly string[] = [
  ...['PERCEPTION', 'EXPLORATION', 'ORDER', 'ASSERTION', 'CONNECTION', 'IDENTITY'],
  'STRESS_RESPONSE',
];

/** An appraiser returned something that is no observation. */
export class AppraisalError extends IdentityEngineError {}

/** Checks an appraisal, for example of a language model. Throws `AppraisalError`. */
export function checkedAppraisal(given: Appraisal): Appraisal {
  const { mode_target, signal_strength, confidence } = given;
  if (!MODE_TARGETS.includes(mode_target)) {
    throw new AppraisalError(`mode_target must be one of ${MODE_TARGETS.join(', ')}`);
  }
  for (const [name, value] of Object.entries({ signal_strength, confidence })) {
    if (typeof value === 'number' && value >= 0 && value <= 1) continue;
    throw new AppraisalError(`${name} must be a number from 0 to 1`);
  }
  return { mode_target, signal_strength, confidence };
}

/**
 * JSON schema of an appraisal, for the structured output of a language model that appraises turns.
 */
export const APPRAISAL_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['mode_target', 'signal_strength', 'confidence'],
  properties: {
    mode_target: { type: 'string', enum: MODE_TARGETS },
    signal_strength: { type: 'number', minimum: 0, maximum: 1 },
    confidence: { type: 'number', minimum: 0, maximum: 1 },
  },
} as const;

/** Instructions for a language model that appraises a turn, with `APPRAISAL_SCHEMA`. */
export const APPRAISAL_INSTRUCTIONS = [
  'Judge how an agent behaved in one turn. Answer with one observation.',
  'mode_target is the way of behaving that the turn showed most: PERCEPTION looks and asks,',
  'EXPLORATION tries something new, ORDER plans and carries out, ASSERTION takes a position,',
  'CONNECTION cares about people, IDENTITY acts by its own values, STRESS_RESPONSE struggles.',
  'signal_strength says how strongly the turn showed this way, from 0 (the opposite) to 1.',
  'confidence says how sure you are; use 0.6 at most. Judge the behaviour, never the topic.',
].join('\n');
