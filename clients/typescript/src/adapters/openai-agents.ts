import {
  type Agent,
  type AgentOutputType,
  type Tool,
  type ToolErrorFormatter,
  ToolGuardrailFunctionOutputFactory as Verdict,
} from '@openai/agents';
import type { AgentTurn } from '../agent/agent.ts';
import { turnIn, turnOrPass } from './run-turn.ts';

/** Options of `withIdentity`. */
export type IdentityOptions<Context = unknown> = {
  /**
   * Finds the turn of this agent in the context of a run. Default: the property `turn`. Agents that
   * hand off to each other need a turn each.
   */
  readonly turnOf?: ((context: Context) => AgentTurn | undefined) | undefined;
  /** Without a turn, throw an error, or run as if the adapter were absent. Default: `throw`. */
  readonly withoutTurn?: 'throw' | 'pass' | undefined;
  /**
   * Whether the output of a tool reports an error. Default: the texts by which the SDK reports an
   * error or a timeout. Needed for tools with an own `errorFunction`.
   */
  readonly isError?: ((output: unknown, tool: string) => boolean) | undefined;
};

const REMEDY = 'call run(agent, input, runOptions({ turn })), inside agent.turn(…)';

/** Texts by which the SDK reports a failed or late tool to the model. */
const ERROR_TEXT = /^An error occurred while running the tool|^Tool '.*' timed out after \d+ms/;

/** Contexts whose run survives the call of a hidden tool, with the turn of the newest model call. */
const tolerant = new WeakMap<object, AgentTurn | undefined>();

/** Answers the call of a hidden tool with the sentence of the policy. */
const toolErrorFormatter: ToolErrorFormatter = ({ kind, toolName, runContext }) => {
  const turn = tolerant.get(runContext.context as object);
  return kind === 'tool_not_found' ? turn?.refusalOf(toolName) : undefined;
};

/**
 * Options of `run`, with the context of the run. Without these options, mode `hide` refuses tools
 * instead, because the SDK ends a run whose model calls a hidden tool.
 */
export function runOptions<Context extends object>(context: Context) {
  tolerant.set(context, undefined);
  return { context, toolNotFoundBehavior: 'return_error_to_model' as const, toolErrorFormatter };
}

/** Events of a streamed run. Throws an `AbortError` after an abort, which the SDK does not throw. */
export async function* eventsOf<Event>(
  result: AsyncIterable<Event> & { readonly completed: Promise<void>; readonly cancelled: boolean },
): AsyncGenerator<Event> {
  yield* result;
  if (result.cancelled) throw new DOMException('the run was aborted', 'AbortError');
  await result.completed;
}

/**
 * A copy of an agent of the OpenAI Agents SDK that has the character of an instance: appends the
 * prompt to the instructions, refuses forbidden tools, also those of MCP servers, and notes the
 * outcomes of tools. The copy shares the listeners of the agent. The run's context has the turn.
 */
export function withIdentity<Context, Output extends AgentOutputType>(
  agent: Agent<Context, Output>,
  options: IdentityOptions<Context> = {},
): Agent<Context, Output> {
  const { turnOf = turnIn, withoutTurn } = options;
  const turnFor: TurnFor = ({ context }) =>
    turnOrPass(turnOf(context as Context), REMEDY, withoutTurn);
  const { instructions } = agent;
  const copy = agent.clone({
    instructions: async (run, self) => {
      const turn = turnFor(run);
      const context = run.context as object;
      if (tolerant.has(context)) tolerant.set(context, turn);
      const own = typeof instructions === 'string' ? instructions : await instructions(run, self);
      return [own, turn?.prompt ?? ''].filter((text) => text !== '').join('\n\n');
    },
  });
  const allTools = copy.getAllTools.bind(copy);
  return Object.assign(copy, {
    eventEmitter: (agent as unknown as { readonly eventEmitter: unknown }).eventEmitter,
    clone: (changes: Parameters<typeof agent.clone>[0]) =>
      withIdentity(agent.clone(changes), options),
    getAllTools: async (...call: Parameters<typeof allTools>) => {
      const tools = await allTools(...call);
      const turn = turnFor(call[0]);
      if (turn === undefined) return tools;
      const isHiding = tolerant.has(call[0].context as object);
      return listed(turn, tools, isHiding, copy.modelSettings.toolChoice).map((tool) =>
        tool.type === 'function' ? guarded(tool, turnFor, options.isError) : tool,
      );
    },
  });
}

type FunctionTool = Extract<Tool<never>, { type: 'function' }>;

type TurnFor = (run: { readonly context: unknown }) => AgentTurn | undefined;

/** Tools for the model. Forbidden tools that the SDK cannot refuse are left out in each mode. */
function listed(turn: AgentTurn, all: Tool<never>[], isHiding: boolean, choice = 'auto') {
  const tools = all.filter((tool) => isRefusable(tool) || turn.permits(tool.name));
  const names = tools.map(({ name }) => name);
  const offered = isHiding ? turn.offered(names) : names;
  // A provider rejects a demanded call without the tool, so the demand keeps the tools in the list.
  const isDemanded = choice === 'required' ? offered.length === 0 : names.includes(choice);
  if (isDemanded && !offered.includes(choice)) return tools;
  return tools.filter(({ name }) => offered.includes(name));
}

/** Whether the SDK can answer a call. A sentence does not match an output schema by itself. */
function isRefusable(tool: Tool<never>): boolean {
  return tool.type === 'function' && (tool.outputSchema === undefined || !!tool.errorFunction);
}

/** A copy of a tool that is refused or noted. The user's own guardrails run after this check. */
function guarded(
  tool: FunctionTool,
  turnFor: TurnFor,
  isError: IdentityOptions['isError'] = (output) => ERROR_TEXT.test(String(output)),
): FunctionTool {
  const { name, inputGuardrails = [], outputGuardrails = [] } = tool;
  const refuse: (typeof inputGuardrails)[number] = {
    type: 'tool_input',
    name: 'identity',
    run: async ({ context }) => {
      const refusal = turnFor(context)?.refusalOf(name);
      return refusal === undefined ? Verdict.allow() : Verdict.rejectContent(refusal);
    },
  };
  const note: (typeof outputGuardrails)[number] = {
    type: 'tool_output',
    name: 'identity',
    run: async ({ context, output }) => {
      turnFor(context)?.used(name, isError(output, name) ? 'error' : 'ok');
      return Verdict.allow();
    },
  };
  return {
    ...tool,
    inputGuardrails: [refuse, ...inputGuardrails],
    outputGuardrails: [note, ...outputGuardrails],
  };
}
