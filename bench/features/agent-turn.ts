import { randomUUID } from 'node:crypto';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { quartilesOf, quartilesText, spreadOf } from '#bench/measures/statistics';
import { rounded } from '#bench/page/comparison';
import {
  atMost,
  type Figure,
  type Findings,
  figure,
  type Part,
  type Quantity,
} from '#bench/page/part';
import { startStandalone } from '#bench/processes/service';
import { timed } from '#bench/scale/rates/latencies';
import { Agent, IdentityEngine, ToolPolicy } from '#clients/typescript/src/identity-engine';

/** Maximum median time that contract and observation add to a turn, in milliseconds. */
const ADDED_MS_MAX = 3;

/** Turns of one agent. Timestamps are 1 s apart and must stay less than 240 s ahead. */
const TURNS = 40;

const TOOLS = new ToolPolicy({ look_up: 'clarify', deploy: 'execute' });

/** Times of one turn in milliseconds, and its prompt. */
type Turn = { readonly beginMs: number; readonly endMs: number; readonly tokens: number };

/**
 * Makes the turns of one agent. `freshMs` 0 requests the contract at the beginning of each turn.
 */
async function turnsOf(client: IdentityEngine, freshMs: number): Promise<Turn[]> {
  const { data } = await client.instances.create({ name: 'agent' });
  const agent = new Agent(client.instance(data.id), { tools: TOOLS, freshMs });
  const turns: Turn[] = [];
  for (let number = 0; number < TURNS; number += 1) {
    const begun = await timed(() => agent.begin({ runId: data.id, turn: number }));
    const turn = begun.answer;
    const tokens = encode(turn.prompt).length;
    turn.used(number % 3 === 0 ? 'deploy' : 'look_up', number % 5 === 0 ? 'error' : 'ok');
    const { ms } = await timed(() => turn.end());
    turns.push({ beginMs: begun.ms, endMs: ms, tokens });
  }
  // The first turn of a process also opens connections and reads the set-point.
  return turns.slice(1);
}

/** Times of a bare request for the contract and of a bare observation, in milliseconds. */
async function bareTurns(base: string, key: string, client: IdentityEngine): Promise<Turn[]> {
  const { data } = await client.instances.create({ name: 'bare' });
  const address = `${base}/instances/${data.id}`;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const nowMs = Date.now();
  const turns: Turn[] = [];
  for (let number = 0; number < TURNS; number += 1) {
    const timestamp = new Date(nowMs + number * 1_000).toISOString();
    const observation = { mode_target: 'ORDER', signal_strength: 0.5, confidence: 0.3, timestamp };
    const begun = await timed(async () => (await fetch(`${address}/contract`, { headers })).json());
    const ended = await timed(async () => {
      const keyed = { ...headers, 'idempotency-key': randomUUID() };
      const init = { method: 'POST', headers: keyed, body: JSON.stringify(observation) };
      const answer = await fetch(`${address}/process`, init);
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      await answer.json();
    });
    turns.push({ beginMs: begun.ms, endMs: ended.ms, tokens: 0 });
  }
  return turns.slice(1);
}

async function measured(agents: number): Promise<Findings> {
  await using service = await startStandalone();
  const base = `${service.address}/v1`;
  const client = new IdentityEngine({ apiKey: service.key, baseUrl: base });
  const [kept, asked, bare]: [Turn[], Turn[], Turn[]] = [[], [], []];
  for (let agent = -2; agent < agents; agent += 1) {
    const round = [
      await turnsOf(client, 60_000),
      await turnsOf(client, 0),
      await bareTurns(base, service.key, client),
    ] as const;
    // Two agents warm up the processes.
    if (agent < 0) continue;
    for (const [index, turns] of [kept, asked, bare].entries()) turns.push(...(round[index] ?? []));
  }
  const row = (name: string, requests: number, turns: readonly Turn[]) => {
    const times = [
      turns.map(({ beginMs }) => beginMs),
      turns.map(({ endMs }) => endMs),
      turns.map(({ beginMs, endMs }) => beginMs + endMs),
    ];
    return { name, cells: [requests, ...times.map((each) => middleHalf(each))] };
  };
  const tokens = [...kept, ...asked].map((turn) => turn.tokens);
  return {
    figures: [
      turnFigure('agent with the contract of the last answer', kept),
      turnFigure('agent that requests the contract', asked),
      figure(
        'tokens of the prompt (o200k_base): quartiles; most',
        `${quartilesText(tokens, 0)}; ${Math.max(...tokens)}`,
      ),
    ],
    tables: [
      {
        name: '',
        columns: COLUMNS,
        rows: [
          row('agent with the contract of the last answer', 1, kept),
          row('agent that requests the contract', 2, asked),
          row('bare `fetch` of contract and observation', 2, bare),
        ],
      },
    ],
  };
}

const COLUMNS = [
  { name: 'requests' },
  ...['begin, ms', 'end, ms', 'turn, ms'].map((name) => ({ name, decimals: 2 })),
];

function turnFigure(what: string, turns: readonly Turn[]): Figure {
  const total = turns.map(({ beginMs, endMs }) => beginMs + endMs);
  return atMost(`median of a turn, ${what}`, spreadOf(total).median, ADDED_MS_MAX, 'ms', 2);
}

/** Median and quartiles. */
function middleHalf(times: readonly number[]): Quantity {
  const [min, median, max] = quartilesOf(times);
  return rounded({ median, min, max });
}

/** Time that an instance adds to a turn of an agent, and tokens that its prompt adds. */
export const agentTurn: Part = {
  name: 'agent-turn',
  group: 'features',
  title: 'A turn of an agent',
  about:
    `Agents make ${TURNS} turns each, one turn after the other, with a standalone service in memory ` +
    'on the same machine. The first turn of each agent is not counted: it costs three requests. A ' +
    'cell is the median of all turns, followed by the quartiles.',
  measure: ({ isQuick }) => measured(isQuick ? 4 : 50),
};
