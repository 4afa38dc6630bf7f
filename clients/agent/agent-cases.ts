import type { KnownAction } from '../typescript/src/actions.ts';
import {
  ruleAppraiser,
  type ToolOutcome,
  type Turn,
  type TurnOutcome,
} from '../typescript/src/agent/appraiser.ts';
import {
  contractPrompt,
  type WordingChanges,
  wordingWith,
} from '../typescript/src/agent/contract-prompt.ts';
import { type ToolMode, ToolPolicy } from '../typescript/src/agent/tool-policy.ts';
import type { Contract, ModeStrengths } from '../typescript/src/models.ts';

/*
 * Golden cases of the agent parts of both clients: contracts with their prompts, tool calls with
 * their refusals, and turns with their observations. `clients/agent/write-agent.ts` records the
 * results of the TypeScript client; the tests of the Python client compare theirs.
 */

const CALM: Contract = {
  dominant_modes: ['Order'],
  suppressed_modes: [],
  allowed_actions: ['clarify', 'stabilize', 'suggest', 'question'],
  forbidden_actions: ['withdraw', 'explore', 'pivot'],
  decision_style: {
    tempo: 'measured',
    risk: 'cautious',
    expressiveness: 'low',
    commitment_threshold: 'high',
  },
  energy_level: 0.792772,
  stress_state: 'LOW',
  recovery_profile: { preferred_path: 'none', support_required: false, cooldown_required: false },
};

const STRAINED: Contract = {
  ...CALM,
  allowed_actions: ['stabilize', 'clarify', 'defer', 'withdraw'],
  forbidden_actions: ['execute', 'explore', 'pivot', 'challenge'],
  decision_style: { ...CALM.decision_style, tempo: 'paused', risk: 'avoidant' },
  energy_level: 0.2,
  stress_state: 'OVER',
  recovery_profile: {
    preferred_path: 'disengagement',
    support_required: true,
    cooldown_required: true,
  },
};

const STYLES = [
  ['slow', 'avoidant', 'minimal', 'low'],
  ['measured', 'cautious', 'low', 'medium'],
  ['brisk', 'balanced', 'medium', 'high'],
  ['rapid', 'bold', 'high', 'very_high'],
  ['glacial', 'bold', 'high', 'later'],
];

const PATHS = [
  ...['none', 'rest', 'disengagement', 'structuring', 'support_seeking', 'reappraisal'],
  ...['problem_solving', 'later'],
];

const CONTRACTS: readonly Contract[] = [
  CALM,
  STRAINED,
  { ...CALM, energy_level: 0.3 },
  { ...CALM, energy_level: 0.299999 },
  { ...CALM, energy_level: 0.15 },
  { ...CALM, energy_level: 0.149999 },
  { ...CALM, allowed_actions: ['clarify'], forbidden_actions: [] },
  { ...CALM, allowed_actions: ['ponder', 'toString', 'clarify'], forbidden_actions: ['dream'] },
  { ...CALM, allowed_actions: [...CALM.allowed_actions].reverse() },
  ...['LOW', 'MED', 'HIGH', 'MEH'].map((stress_state) => ({ ...CALM, stress_state })),
  ...STYLES.map(([tempo = '', risk = '', expressiveness = '', commitment_threshold = '']) => ({
    ...CALM,
    decision_style: { tempo, risk, expressiveness, commitment_threshold },
  })),
  ...PATHS.map((preferred_path) => ({
    ...STRAINED,
    recovery_profile: { ...STRAINED.recovery_profile, preferred_path },
  })),
] as readonly Contract[];

const CHANGES: WordingChanges = {
  opening: 'So arbeitest du gerade.',
  leaning: 'Am ehesten: {}.',
  actions: { clarify: 'Klarheit schaffen' },
  separators: { actions: ' / ' },
};

const TOOLS: Readonly<Record<string, KnownAction | readonly KnownAction[] | undefined>> = {
  send_email: 'execute',
  plan_trip: ['explore', 'suggest'],
  look_up: 'clarify',
  read_file: undefined,
};

const SET_POINT = {
  perception: 0.4,
  exploration: 0.1,
  order: 0.85,
  assertion: 0.2,
  connection: 0.123457,
  identity: 0.5,
  stress_response: 0,
} as const satisfies ModeStrengths;

type Use = readonly [tool: string, outcome: ToolOutcome, ...actions: KnownAction[]];

const TURNS: readonly (readonly [TurnOutcome, readonly Use[], Contract?])[] = [
  ['completed', []],
  ['failed', []],
  ['failed', [['look_up', 'ok', 'clarify']]],
  ['aborted', [['look_up', 'ok', 'clarify']]],
  ['unavailable', [['look_up', 'error', 'clarify']]],
  ['completed', [['look_up', 'error', 'clarify']]],
  ['completed', [['look_up', 'error', 'clarify']], STRAINED],
  [
    'completed',
    [
      ['look_up', 'error', 'clarify'],
      ['send_email', 'error', 'execute'],
    ],
  ],
  ['completed', [['send_email', 'refused', 'execute']]],
  [
    'completed',
    [
      ['look_up', 'ok', 'clarify'],
      ['send_email', 'ok', 'execute'],
    ],
  ],
  ...(
    [
      ...['explore', 'question', 'elaborate', 'suggest', 'execute', 'pivot'],
      ...['challenge', 'comfort', 'clarify', 'stabilize', 'defer', 'withdraw'],
    ] as KnownAction[]
  ).map((action) => ['completed', [['tool', 'ok', action] as const]] as const),
];

/** All cases, with the results of the TypeScript client. */
export function agentCases() {
  return {
    prompts: CONTRACTS.map((contract) => ({ contract, prompt: contractPrompt(contract) })),
    worded: [CALM, STRAINED].map((contract) => ({
      changes: CHANGES,
      contract,
      prompt: contractPrompt(contract, wordingWith(CHANGES)),
    })),
    refusals: (['refuse', 'hide', 'observe'] as ToolMode[]).flatMap((mode) =>
      (['allow', 'refuse'] as const).map((unmapped) => {
        const policy = new ToolPolicy(TOOLS, { mode, unmapped });
        const tools = [...Object.keys(TOOLS), 'other'];
        return {
          ...{ tools: Object.fromEntries(Object.entries(TOOLS).map(listed)), mode, unmapped },
          contract: STRAINED,
          offered: policy.offered(tools, STRAINED),
          refusals: tools.map((tool) => [tool, policy.refusalOf(tool, STRAINED) ?? null]),
        };
      }),
    ),
    appraisals: TURNS.flatMap(([outcome, uses, contract = CALM]) =>
      [SET_POINT, undefined].map((setPoint) => {
        const tools = uses.map(([tool, result, ...actions]) => ({
          tool,
          outcome: result,
          actions,
        }));
        const turn: Turn = { outcome, tools, contract, setPoint };
        const { stress_state } = contract;
        return {
          ...{ outcome, tools, stress_state, set_point: setPoint ?? null },
          appraisal: ruleAppraiser()(turn) ?? null,
        };
      }),
    ),
  };
}

/** A map's entry with its actions as a list; null for a free tool. */
function listed([tool, actions]: readonly [string, unknown]): readonly [string, unknown] {
  return [tool, actions === undefined ? null : [actions].flat()];
}
