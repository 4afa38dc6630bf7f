import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { APIConnectionError, APIError, type OpenAI } from 'openai';
import { resultOf, type ScriptedTurn, type Step, scriptOf, type Work } from '#bench/fidelity/work';
import { at } from '#bench/load/process-answer';
import {
  Agent,
  type AgentTurn,
  type IdentityEngine,
  type PersonaDetail,
  type ToolMode,
  ToolPolicy,
} from '#clients/typescript/src/identity-engine';
import { SeededRandom } from '#test/simulation/seeded-random';

/**
 * Variants of a dialogue. `without`: no contract in the prompt. `engine`: the contract of the own
 * instance. `shuffled`: the contract of an instance of another persona, after the same turns.
 */
export const ARMS = ['without', 'engine', 'shuffled'] as const;

/** Name of an arm. */
export type Arm = (typeof ARMS)[number];

/** Number of blocks of a dialogue. Consistency is measured in each block. */
export const BLOCKS = 6;

/** One turn of a dialogue. In all arms, the contract of the own instance judges the turn. */
export type TurnRecord = {
  /** Position of the turn's block, from 0 to `BLOCKS` - 1. */
  readonly block: number;
  readonly request: string;
  /** What the agent said to the user. */
  readonly message: string;
  /** Actions of the called tools, in order. */
  readonly actions: readonly string[];
  /** Facts of the own instance's contract at the begin of the turn. */
  readonly allowed: readonly string[];
  readonly forbidden: readonly string[];
  readonly expressiveness: string;
  /** False if the endpoint gave no answer. Measures skip the turn. */
  readonly isAnswered: boolean;
  /** Tokens of the request as the endpoint counts them; undefined if unknown. */
  readonly promptTokens: number | undefined;
  /** Tokens of the contract's text in the encoding o200k. */
  readonly contractTokens: number;
  /** Time of the engine's calls that the arm needs, in milliseconds. */
  readonly engineMs: number;
  /** Time of the model and of these calls, in milliseconds. */
  readonly turnMs: number;
};

/** Dialogues that differ only in their arm. */
export type Setting = {
  readonly persona: PersonaDetail;
  /** Persona of the contract in the arm `shuffled`. */
  readonly other: PersonaDetail;
  readonly work: Work;
  readonly seed: number;
  readonly repeat: number;
};

/** A finished dialogue. */
export type Dialogue = {
  readonly persona: string;
  readonly description: string;
  readonly work: string;
  readonly seed: number;
  readonly repeat: number;
  readonly arm: Arm;
  readonly turns: readonly TurnRecord[];
};

/** How dialogues run. */
export type Conditions = {
  readonly client: IdentityEngine;
  readonly endpoint: OpenAI;
  readonly model: string;
  readonly turns: number;
  /** Treatment of calls that the contract in the prompt forbids. */
  readonly mode: Exclude<ToolMode, 'hide'>;
};

/**
 * Runs one setting in all arms. The arms take turns with each turn, in changing order, so that the
 * load of the endpoint is the same for all. Throws if the engine loses an observation, or if the
 * endpoint refuses a first turn or the key.
 */
export async function runSetting(setting: Setting, conditions: Conditions): Promise<Dialogue[]> {
  const errors: unknown[] = [];
  await using opened = new AsyncDisposableStack();
  const arms: ArmDialogue[] = [];
  for (const arm of ARMS) {
    const agentOf = async ({ name, mode_profile }: PersonaDetail, mode: ToolMode) => {
      const { instances } = conditions.client;
      const config = { name, initial_config: { mode_strengths: mode_profile } };
      const { id } = (await instances.create(config)).data;
      opened.defer(async () => void (await instances.delete(id)));
      const tools = new ToolPolicy(actionsOf(setting.work), { mode });
      const onError = (error: unknown) => void errors.push(error);
      return new Agent(conditions.client.instance(id), { tools, onError, unavailable: 'raise' });
    };
    const own = await agentOf(setting.persona, arm === 'engine' ? conditions.mode : 'observe');
    const other = arm === 'shuffled' ? await agentOf(setting.other, conditions.mode) : undefined;
    const shown = arm === 'engine' ? own : other;
    arms.push(new ArmDialogue(arm, setting, conditions, { own, shown }));
  }
  const seeds = new SeededRandom(setting.seed);
  for (const [number, turn] of scriptOf(setting.work, setting.seed, conditions.turns).entries()) {
    const seed = seeds.whole(0, 2 ** 31 - 1);
    const first = number % arms.length;
    for (const arm of [...arms.slice(first), ...arms.slice(0, first)]) {
      await arm.take(turn, number, seed);
    }
  }
  if (errors.length > 0) throw new Error('the engine lost observations', { cause: errors[0] });
  const { persona, work, ...numbers } = setting;
  const description = descriptionOf(persona);
  return arms.map(({ arm, turns }) => ({
    ...{ persona: persona.id, description, work: work.name, arm, turns },
    ...{ seed: numbers.seed, repeat: numbers.repeat },
  }));
}

const actionsOf = ({ steps }: Work) =>
  Object.fromEntries(steps.map(({ tool, action }) => [tool, action]));

/** Description of a persona for the model and the judges. The same text in all arms. */
const descriptionOf = ({ name, long_description }: PersonaDetail): string =>
  `${name}. ${long_description}`;

/** Agent of the instance that judges, and agent whose contract is in the prompt. */
type Agents = { readonly own: Agent; readonly shown: Agent | undefined };

class ArmDialogue {
  readonly arm: Arm;
  readonly turns: TurnRecord[] = [];
  readonly #setting: Setting;
  readonly #conditions: Conditions;
  readonly #agents: Agents;
  /** All messages so far, without the system's. */
  readonly #messages: OpenAI.ChatCompletionMessageParam[] = [];

  constructor(arm: Arm, setting: Setting, conditions: Conditions, agents: Agents) {
    this.arm = arm;
    this.#setting = setting;
    this.#conditions = conditions;
    this.#agents = agents;
  }

  /** Takes one turn. `seed` is the seed of the model's answer. */
  async take(scripted: ScriptedTurn, number: number, seed: number): Promise<void> {
    const { own, shown } = this.#agents;
    const start = { runId: this.arm, turn: number };
    const beginMs = performance.now();
    const shownTurn = await shown?.begin(start);
    const prompt = shownTurn?.prompt ?? '';
    const askMs = performance.now();
    const ownTurn = own === shown && shownTurn ? shownTurn : await own.begin(start);
    const { contract } = ownTurn;
    if (contract === undefined) throw new Error('the contract is missing');
    const { request } = scripted;
    const answer = await this.#ask(request, prompt, seed);
    const actions = this.#perform(answer?.message, scripted, [ownTurn, shownTurn ?? ownTurn]);
    const endMs = performance.now();
    const outcome = answer === undefined ? 'unavailable' : 'completed';
    await shownTurn?.end({ outcome });
    const engineMs = shown === undefined ? 0 : askMs - beginMs + performance.now() - endMs;
    await ownTurn.end({ outcome });
    this.turns.push({
      ...{ block: Math.floor((number * BLOCKS) / this.#conditions.turns), request, actions },
      ...{ message: messageOf(answer?.message), isAnswered: answer !== undefined },
      ...{ allowed: contract.allowed_actions, forbidden: contract.forbidden_actions },
      ...{ expressiveness: contract.decision_style.expressiveness },
      ...{ promptTokens: answer?.promptTokens, contractTokens: countTokens(prompt) },
      ...{ engineMs, turnMs: engineMs + (answer?.ms ?? 0) },
    });
  }

  async #ask(request: string, prompt: string, seed: number) {
    const { persona, work } = this.#setting;
    const base =
      `You are ${work.role}. Your character: ${descriptionOf(persona)}\n` +
      'In every turn, call exactly one tool, the tool for what you decide to do. What you say to ' +
      'the user is the argument `message` of this tool.';
    this.#messages.push({ role: 'user', content: request });
    const content = prompt === '' ? base : `${base}\n\n${prompt}`;
    const messages = [{ role: 'system' as const, content }, ...this.#messages];
    const { endpoint, model } = this.#conditions;
    const tools = work.steps.map(definitionOf);
    const beganMs = performance.now();
    try {
      const completion = await endpoint.chat.completions.create({ model, messages, tools, seed });
      const message = completion.choices[0]?.message;
      const ms = performance.now() - beganMs;
      return message && { message, ms, promptTokens: completion.usage?.prompt_tokens };
    } catch (error) {
      const isFirst = this.turns.length === 0;
      const isRefused = error instanceof APIError && [401, 403, 404].includes(error.status ?? 0);
      if (!(error instanceof APIError) || isRefused || isFirst) throw withHint(error);
      return undefined;
    }
  }

  /** Runs the called tools. Returns their actions. Forgets the request if nobody answered. */
  #perform(
    message: OpenAI.ChatCompletionMessage | undefined,
    scripted: ScriptedTurn,
    turns: readonly [own: AgentTurn, shown: AgentTurn],
  ): string[] {
    if (message === undefined) {
      this.#messages.pop();
      return [];
    }
    this.#messages.push(message);
    return (message.tool_calls ?? []).flatMap((call) => {
      const name = call.type === 'function' ? call.function.name : '';
      const step = this.#setting.work.steps.find(({ tool }) => tool === name);
      const content =
        step === undefined ? 'There is no such tool.' : callTool(step, scripted, turns);
      this.#messages.push({ role: 'tool', tool_call_id: call.id, content });
      return step?.action ?? [];
    });
  }
}

/** Calls a tool, unless the contract in the prompt forbids it. Both turns note the outcome. */
function callTool(
  step: Step,
  scripted: ScriptedTurn,
  [own, shown]: readonly [AgentTurn, AgentTurn],
): string {
  const refusal = shown.refusalOf(step.tool);
  if (refusal !== undefined) return refusal;
  const { text, outcomes } = resultOf(step, scripted);
  for (const turn of new Set([own, shown])) {
    for (const outcome of outcomes) turn.used(step.tool, outcome);
  }
  return text;
}

/** Adds to a connection error where the harness looked for the endpoint. */
function withHint(error: unknown): unknown {
  if (!(error instanceof APIConnectionError)) return error;
  return new Error('the endpoint did not answer; check OPENAI_BASE_URL', { cause: error });
}

function definitionOf({ tool: name, does: description }: Step): OpenAI.ChatCompletionTool {
  const message = { type: 'string', description: 'What you say to the user.' };
  const parameters = { type: 'object', properties: { message }, required: ['message'] };
  return { type: 'function', function: { name, description, parameters } };
}

/** What the agent says to the user: its text, and the argument `message` of each call. */
function messageOf(message: OpenAI.ChatCompletionMessage | undefined): string {
  const texts = (message?.tool_calls ?? []).map((call) =>
    call.type === 'function' ? argumentOf(call.function.arguments) : '',
  );
  return [message?.content ?? '', ...texts].filter((text) => text !== '').join(' ');
}

function argumentOf(json: string): string {
  try {
    const text = at(JSON.parse(json), ['message']);
    return typeof text === 'string' ? text : '';
  } catch {
    return '';
  }
}
