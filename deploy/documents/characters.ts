import type { KnownAction } from '#clients/typescript/src/actions';
import { contractPrompt } from '#clients/typescript/src/agent/contract-prompt';
import { ToolPolicy } from '#clients/typescript/src/agent/tool-policy';
import type { Contract } from '#clients/typescript/src/models';
import { tableLines } from '#deploy/documents/markdown-table';
import { wrapped } from '#deploy/documents/wrapped-text';
import { reportJson } from '#engine/json';
import { MODE_KEYS } from '#identity/modes';
import { PERSONA_PROFILES, type PersonaId, personaIndexOf } from '#identity/persona-profiles';
import { AppraisedAgent, FAILED, used } from '#test/simulation/agent/turns';

/* Worked characters of docs/agents.md, simulated on the real model with the default rules. */

/** A character: its persona, its tools, and the action of its ordinary work. */
type Character = {
  readonly name: string;
  readonly persona: PersonaId;
  readonly tools: Readonly<Record<string, KnownAction>>;
  readonly work: KnownAction;
};

const CHARACTERS: readonly Character[] = [
  {
    name: 'Release engineer',
    persona: 'persona_guardian',
    tools: { deploy: 'execute', roll_back: 'stabilize', run_tests: 'clarify', canary: 'explore' },
    work: 'execute',
  },
  {
    name: 'Support agent',
    persona: 'persona_supporter',
    tools: { look_up: 'clarify', apologize: 'comfort', refund: 'execute', escalate: 'defer' },
    work: 'comfort',
  },
  {
    name: 'Research companion',
    persona: 'persona_explorer',
    tools: { search: 'explore', ask: 'question', summarize: 'elaborate', new_topic: 'pivot' },
    work: 'explore',
  },
];

/** Turns of ordinary work, and failing turns after the ordinary work. Turns are 45 s apart. */
const WORKED = 20;
const FAILING = 8;
const GAP_S = 45;

const strengthsOf = (persona: PersonaId): readonly number[] =>
  PERSONA_PROFILES[personaIndexOf(persona)]?.strengths ?? [];

/** Contracts of a character at the start, after ordinary work, and after failing turns. */
function contractsOf({ persona, work }: Character): readonly Contract[] {
  const agent = new AppraisedAgent(strengthsOf(persona));
  const contract = (): Contract => JSON.parse(reportJson('inst', agent.report)).contract;
  const first = contract();
  for (let turn = 0; turn < WORKED; turn += 1) agent.turn([used(work)], GAP_S);
  const worked = contract();
  for (let turn = 0; turn < FAILING; turn += 1) agent.turn([FAILED, FAILED], GAP_S);
  return [first, worked, contract()];
}

/** Tools that a contract refuses. */
function refusedTools(tools: Character['tools'], contract: Contract): string {
  const policy = new ToolPolicy(tools);
  const refused = Object.keys(tools).filter((tool) => policy.refusalOf(tool, contract));
  return refused.map((tool) => `\`${tool}\``).join(', ') || 'none';
}

/** Table of the characters, and the last prompt of the first character. */
export function characterLines(): string[] {
  const contracts = CHARACTERS.map(contractsOf);
  const rows = CHARACTERS.map(({ name, persona, tools }, index) => {
    const strengths = strengthsOf(persona).map((value, mode) => [MODE_KEYS[mode], value] as const);
    const strongest = strengths.toSorted(([, one], [, other]) => other - one).slice(0, 2);
    return [
      `${name} (\`${persona}\`: ${strongest.map((pair) => pair.join(' ')).join(', ')})`,
      Object.entries(tools)
        .map(([tool, action]) => `\`${tool}\`: ${action}`)
        .join(', '),
      ...(contracts[index] ?? []).map((contract) => refusedTools(tools, contract)),
    ];
  });
  const strained = contracts[0]?.[2];
  return [
    ...tableLines(
      [
        'Character',
        'Tools and their actions',
        'Refused at the start',
        `Refused after ${WORKED} turns of work`,
        `Refused after ${FAILING} more turns that fail`,
      ],
      rows,
    ),
    '',
    'The prompt of the release engineer after the failing turns:',
    '',
    ...wrapped(strained === undefined ? '' : contractPrompt(strained))
      .split('\n')
      .map((line) => `> ${line}`),
  ];
}
