import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { invitationOf, type Step } from '#bench/fidelity/work';
import { WORDING } from '#clients/typescript/src/agent/contract-prompt';
import { SeededRandom } from '#test/simulation/seeded-random';

/*
 * Deterministic models behind a local server with the OpenAI chat protocol. The seed of a request
 * determines the answer. These models check the harness: an arm's prompt may change the answers of
 * a model that obeys, and must not change the answers of a model that ignores its prompt.
 */

/** Scripted models, and their probability to obey the prompt in a turn. */
export const OBEDIENCE = {
  'scripted-ignoring': 0,
  'scripted-half-obedient': 0.5,
  'scripted-obedient': 1,
} as const satisfies Record<string, number>;

/** Name of a scripted model. */
export type ScriptedModel = keyof typeof OBEDIENCE;

/** Whether a model is one of the scripted models. */
export const isScripted = (model: string): model is ScriptedModel =>
  Object.hasOwn(OBEDIENCE, model);

/** Probability of the action that the user invites to. Otherwise, the model takes a random action. */
const FOLLOWS = 0.6;

/** Number of words in a message, by the contract's expressiveness. */
const WORDS: Readonly<Record<string, number>> = { minimal: 8, low: 18, medium: 35, high: 60 };

/** Number of words in a message of a model that ignores the contract. */
const WORDS_IGNORING = 30;

const FILLERS = 'we look at this part of the work and note the next point then perhaps'.split(' ');

/** Characters of a token, on average. The scripted endpoint estimates its token counts. */
const CHARACTERS_PER_TOKEN = 4;

/** The parts of a request that a scripted model reads. */
export type ScriptedRequest = {
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[];
  readonly seed: number;
};

/** Tool and message of a turn. Depends on the model, the seed, the user's request and the prompt. */
export function decisionOf(
  model: ScriptedModel,
  { messages, seed }: ScriptedRequest,
): { readonly step: Step; readonly message: string } {
  const random = new SeededRandom(seed);
  const request = `${messages.findLast(({ role }) => role === 'user')?.content}`;
  const prompt = `${messages.find(({ role }) => role === 'system')?.content}`;
  const { steps, invited } = invitationOf(request);
  const wanted = random.unit() < FOLLOWS ? invited : undefined;
  const any = random.pick(steps);
  // Every model draws this number, also if its probability is 0 or 1. So all models use the same
  // random sequence.
  const isObedient = random.unit() < OBEDIENCE[model];
  const avoided = isObedient ? avoidedIn(prompt) : new Set<string>();
  const free = steps.filter(({ action }) => !avoided.has(action));
  const first = wanted ?? any;
  const step = avoided.has(first.action) && free.length > 0 ? random.pick(free) : first;
  const label = isObedient ? expressivenessIn(prompt) : undefined;
  const count = (WORDS[label ?? ''] ?? WORDS_IGNORING) + random.whole(-4, 4);
  const words = Array.from({ length: count }, () => random.pick(FILLERS)).join(' ');
  return { step, message: `${words}${step.action === 'question' ? '?' : '.'}` };
}

/** Actions that the prompt says to avoid. */
function avoidedIn(prompt: string): Set<string> {
  const [before = '', after = ''] = WORDING.avoided.split('{}');
  const from = prompt.indexOf(before);
  if (from < 0) return new Set();
  const list = prompt.slice(from + before.length, prompt.indexOf(after, from));
  const phrases = list.split(WORDING.separators.actions);
  const named = Object.entries(WORDING.actions).filter(([, phrase]) => phrases.includes(phrase));
  return new Set(named.map(([action]) => action));
}

function expressivenessIn(prompt: string): string | undefined {
  const [, manner = ''] = /^Manner: (.*)$/m.exec(prompt) ?? [];
  return Object.entries(WORDING.expressiveness).find(([, phrase]) => manner.includes(phrase))?.[0];
}

/** A started server. `baseUrl` ends with `/v1`. */
export type ScriptedServer = AsyncDisposable & { readonly baseUrl: string };

/** Starts the scripted models on a free port of loopback. */
export async function startScriptedModels(): Promise<ScriptedServer> {
  const server = createServer((incoming, outgoing) => {
    void json(incoming).then(
      (body) => {
        outgoing.setHeader('content-type', 'application/json');
        outgoing.end(JSON.stringify(answerOf(body as Parameters<typeof answerOf>[0])));
      },
      () => outgoing.writeHead(400).end(),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerOf({ model, ...request }: ScriptedRequest & { model: ScriptedModel }) {
  const { step, message } = decisionOf(model, request);
  const call = { name: step.tool, arguments: JSON.stringify({ message }) };
  const tool_calls = [{ id: 'call_1', type: 'function' as const, function: call }];
  const characters = JSON.stringify(request.messages).length;
  const choice = { index: 0, message: { role: 'assistant' as const, content: null, tool_calls } };
  return {
    choices: [choice],
    usage: { prompt_tokens: Math.ceil(characters / CHARACTERS_PER_TOKEN) },
  };
}
