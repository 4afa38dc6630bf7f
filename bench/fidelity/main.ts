/**
 * Does the engine help an agent? Runs equal dialogues without a contract in the prompt, with the
 * contract of the agent, and with the contract of another persona, against an OpenAI-compatible
 * endpoint. Without `--model`, scripted models check the harness itself. A run without `--quick`
 * replaces a section in docs/fidelity.md. Variables: OPENAI_API_KEY; OPENAI_BASE_URL for another
 * endpoint than OpenAI; JUDGE_API_KEY and JUDGE_BASE_URL for judges at another endpoint.
 *
 *   node bench/fidelity/main.ts [--model name] [--judge-model name …] [--quick]
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { APIError, OpenAI } from 'openai';
import { type Dialogue, runSetting, type Setting } from '#bench/fidelity/dialogue';
import { type JudgeFiles, JudgesMissing, judgeFiles } from '#bench/fidelity/judge-files';
import { Judge, type Judgement } from '#bench/fidelity/judges';
import { keepSection, reportSection } from '#bench/fidelity/page';
import { checkOf, pictureOf, type Run, tablesOf } from '#bench/fidelity/report';
import { isScripted, OBEDIENCE, startScriptedModels } from '#bench/fidelity/scripted-models';
import { WORKS } from '#bench/fidelity/work';
import { describeRun } from '#bench/measures/machine';
import { startStandalone } from '#bench/processes/service';
import { withProgress } from '#bench/progress';
import { IdentityEngine } from '#clients/typescript/src/identity-engine';

const { values } = parseArgs({
  options: {
    model: { type: 'string', multiple: true, default: Object.keys(OBEDIENCE) },
    'judge-model': { type: 'string', multiple: true, default: [] },
    // An orderly, a curious, a caring and an exact character.
    personas: { type: 'string', default: 'guardian,explorer,supporter,analytical' },
    turns: { type: 'string', default: '120' },
    seeds: { type: 'string', default: '3' },
    repeats: { type: 'string', default: '1' },
    /** Turns of each dialogue that the judges read. */
    judged: { type: 'string', default: '5' },
    mode: { type: 'string', default: 'observe' },
    concurrency: { type: 'string', default: '1' },
    quick: { type: 'boolean', default: false },
  },
});

const options = values.quick ? { ...values, turns: '24', seeds: '2' } : values;

/** Timeout of an attempt, in milliseconds. Long enough for a model that reasons. */
const TIMEOUT_MS = 180_000;

/** Maximum retries of a call, with growing pauses. Bridges a minute of rate limits. */
const RETRIES_MAX = 8;

function whole(name: 'turns' | 'seeds' | 'repeats' | 'judged' | 'concurrency', min = 1): number {
  const number = Number(options[name]);
  if (Number.isInteger(number) && number >= min) return number;
  throw new Error(`--${name} must be a whole number of at least ${min}, not ${options[name]}`);
}

function modeOf(mode: string): 'observe' | 'refuse' {
  if (mode === 'observe' || mode === 'refuse') return mode;
  throw new Error(`--mode must be observe or refuse, not ${mode}`);
}

const print = (line: string): void => void process.stderr.write(`${line}\n`);

/** Every persona in every kind of work, with all seeds and repeats. */
async function settingsOf(client: IdentityEngine): Promise<Setting[]> {
  const ids = options.personas.split(',');
  if (ids.length < 2) throw new Error('--personas needs at least two names, to shuffle contracts');
  const read = async (id: string) => (await client.personas.get(`persona_${id}`)).data;
  const personas = await Promise.all(ids.map(read));
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
  return personas.flatMap((persona, index) => {
    const other = personas[(index + Math.floor(ids.length / 2)) % ids.length] ?? persona;
    return (values.quick ? WORKS.slice(0, 1) : WORKS).flatMap((work) =>
      numbers(whole('seeds')).flatMap((seed) =>
        numbers(whole('repeats')).map((repeat) => ({ persona, other, work, seed, repeat })),
      ),
    );
  });
}

/** Runs a task for each item, at most `--concurrency` at the same time, and prints progress. */
async function forEach<Item, Result>(
  what: string,
  items: readonly Item[],
  task: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = [...items.entries()];
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      results[next[0]] = await task(next[1]);
    }
  };
  const line = () => `${what}: ${items.length - waiting.length} of ${items.length} started`;
  const workers = Array.from({ length: whole('concurrency') }, worker);
  await withProgress(line, print, async () => void (await Promise.all(workers)));
  return results;
}

/** An endpoint, by default that of the OPENAI variables. */
function endpointAt(baseUrl?: string, apiKey?: string): OpenAI {
  return new OpenAI({
    ...{ timeout: TIMEOUT_MS, maxRetries: RETRIES_MAX },
    baseURL: baseUrl ?? process.env['OPENAI_BASE_URL'] ?? null,
    // Local endpoints need no key, but the library does.
    apiKey: apiKey ?? process.env['OPENAI_API_KEY'] ?? 'none',
  });
}

/** Judges all dialogues with each judge model. Calls that fail cost the score of a dialogue. */
async function judgementsOf(model: string, dialogues: readonly Dialogue[], files?: JudgeFiles) {
  const judgements = new Map<string, Map<Dialogue, Judgement>>();
  if (files === undefined) return judgements;
  const endpoint = endpointAt(process.env['JUDGE_BASE_URL'], process.env['JUDGE_API_KEY']);
  for (const name of values['judge-model']) {
    const judge = new Judge(
      files,
      async ({ system, user }) => {
        const answer = await endpoint.chat.completions.create({
          ...{ model: name, temperature: 0 },
          messages: [
            ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
            { role: 'user', content: user },
          ],
        });
        return answer.choices[0]?.message.content ?? '';
      },
      whole('judged'),
    );
    const task = async (dialogue: Dialogue): Promise<Judgement> =>
      await judge.judge(dialogue).catch((error: unknown) => {
        if (!(error instanceof APIError)) throw error;
        print(`${name} did not judge a dialogue: ${error.message}`);
        return {};
      });
    const scores = await forEach(`${name} judges ${model}`, dialogues, task);
    judgements.set(name, new Map(dialogues.map((one, index) => [one, scores[index] ?? {}])));
  }
  return judgements;
}

/** The files of the judges, or the reason why nobody judges. */
async function judgesOf(): Promise<{ files?: JudgeFiles; note: string }> {
  const judges = values['judge-model'];
  if (judges.length === 0) return { note: 'No model judged: `--judge-model` was not given.' };
  const same = judges.find((judge) => values.model.includes(judge));
  if (same !== undefined) throw new Error(`${same} must not judge itself`);
  try {
    return { files: await judgeFiles(), note: `Judged by ${judges.join(' and ')}.` };
  } catch (error) {
    if (!(error instanceof JudgesMissing)) throw error;
    print(`no judges: ${error.message}`);
    return { note: `No model judged: ${error.message}.` };
  }
}

async function runOf(client: IdentityEngine, model: string, files?: JudgeFiles): Promise<Run> {
  await using scripted = isScripted(model) ? await startScriptedModels() : undefined;
  const endpoint = scripted ? endpointAt(scripted.baseUrl, 'none') : endpointAt();
  const turns = whole('turns', 6);
  const conditions = { client, endpoint, model, turns, mode: modeOf(options.mode) };
  const run = (setting: Setting) => runSetting(setting, conditions);
  const dialogues = (await forEach(model, await settingsOf(client), run)).flat();
  await mkdir('.cache/fidelity', { recursive: true });
  const file = `.cache/fidelity/${model.replaceAll(/[^\w.-]+/g, '-')}.json`;
  await writeFile(file, JSON.stringify(dialogues));
  return { model, dialogues, judgements: await judgementsOf(model, dialogues, files) };
}

const facts = await describeRun();
const circumstances = [
  { name: 'Date', value: facts.date },
  { name: 'Commit', value: facts.commit },
  { name: 'Machine', value: facts.machine },
  { name: 'Load before the run', value: facts.load },
  ...facts.versions,
];
const { files, note } = await judgesOf();
await using service = await startStandalone();
const client = new IdentityEngine({ apiKey: service.key, baseUrl: `${service.address}/v1` });
const runs: Run[] = [];
for (const model of values.model) runs.push(await runOf(client, model, files));

const isScriptedRun = runs.every(({ model }) => isScripted(model));
// Refused calls change the later contracts, so arms are comparable only without refusals.
const check = isScriptedRun && options.mode === 'observe' ? checkOf(runs) : undefined;
const names = isScriptedRun ? 'Scripted models' : values.model.join(', ');
const title = options.mode === 'observe' ? names : `${names}, with refusals`;
const picture = `docs/pictures/fidelity-${title.toLowerCase().replaceAll(/[^\w.]+/g, '-')}.svg`;
const purpose = isScriptedRun
  ? 'Scripted models check the harness. They do not show whether the engine helps a real model. '
  : '';
const effect = options.mode === 'observe' ? 'forbidden calls run' : 'forbidden calls do not run';
const about =
  `${purpose}The tools have the mode \`${options.mode}\`: ${effect}, and the harness counts them. ` +
  `The bootstrap resamples groups of dialogues; a group has the same persona and seed. ${note}`;
const command = ['node bench/fidelity/main.ts', ...process.argv.slice(2)].join(' ');
const text = reportSection({ title, about, command, circumstances }, [
  ...(check === undefined ? [] : [check.table]),
  `![Attempts and allowed share over the turns](${picture.replace('docs/', '')})`,
  ...runs.flatMap(tablesOf),
]);
process.stdout.write(`${text}\n`);
if (!values.quick) {
  await writeFile(picture, pictureOf(runs));
  await keepSection(text);
}
if (check?.isMet === false) throw new Error('the harness does not separate the scripted models');
