/**
 * Time that an instance adds to a turn of an agent, on one machine, and tokens that its prompt adds.
 * Turns with an instance take turns with two bare requests for the same contract and observation.
 * A run without `--quick` replaces the section "A turn of an agent" in bench/AGAINST.md.
 *
 *   node bench/agent.ts [--quick]
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describeRun } from '#bench/measures/machine';
import { quartilesOf, quartilesText } from '#bench/measures/statistics';
import { startStandalone } from '#bench/processes/service';
import { AGAINST_PAGE, keepSection, reportSection } from '#bench/report-page';
import { tableOf, verdict } from '#bench/report-table';
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

async function measured(agents: number): Promise<string[]> {
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
  const row = (name: string, requests: string, turns: readonly Turn[], isJudged: boolean) => {
    const total = turns.map(({ beginMs, endMs }) => beginMs + endMs);
    const isMet = quartilesOf(total)[1] <= ADDED_MS_MAX;
    const cells = [turns.map(({ beginMs }) => beginMs), turns.map(({ endMs }) => endMs), total];
    return [
      name,
      requests,
      ...cells.map((times) => quartilesText(times, 2)),
      isJudged ? verdict(isMet) : '',
    ];
  };
  const times = tableOf(
    ['ms', 'requests', 'begin', 'end', 'turn', `median of a turn ≤ ${ADDED_MS_MAX}`],
    [
      row('agent with the contract of the last answer', '1', kept, true),
      row('agent that requests the contract', '2', asked, true),
      row('bare `fetch` of contract and observation', '2', bare, false),
    ],
  );
  const tokens = [...kept, ...asked].map((turn) => turn.tokens);
  const most = Math.max(...tokens);
  const prompts = tableOf(
    ['tokens of the prompt (o200k_base)', 'quartiles', 'most'],
    [['all turns above', quartilesText(tokens, 0), `${most}`]],
  );
  return [times, prompts];
}

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const circumstances = await describeRun();
const tables = await measured(values.quick ? 4 : 50);
const about =
  `Agents make ${TURNS} turns each, one turn after the other, with a standalone service in memory ` +
  'on the same machine. The first turn of each agent is not counted: it costs three requests. ' +
  'Cells are quartiles of all turns.';
const command = 'node bench/agent.ts';
const text = reportSection({ title: 'A turn of an agent', about, command, circumstances }, tables);
process.stdout.write(`${text}\n`);
if (!values.quick) await keepSection(AGAINST_PAGE, text);
