import {
  type Instructions,
  NoSuchToolError,
  type PrepareStepFunction,
  type ToolApprovalConfiguration,
  type ToolCallRepairFunction,
  type ToolChoice,
  type ToolSet,
} from 'ai';
import type { AgentTurn } from '../agent/agent.ts';
import { outcomeOf } from '../agent/outcome.ts';
import { guardedExecute, turnOrPass } from './run-turn.ts';

/** Settings of a call that `withTurn` reads. All other settings stay the same. */
export type TurnSettings<TOOLS extends ToolSet, CONTEXT extends Record<string, unknown>> = {
  readonly tools?: TOOLS | undefined;
  readonly activeTools?: readonly (keyof NoInfer<TOOLS> & string)[] | undefined;
  readonly toolChoice?: ToolChoice<NoInfer<TOOLS>> | undefined;
  readonly toolApproval?: ToolApprovalConfiguration<NoInfer<TOOLS>, NoInfer<CONTEXT>> | undefined;
  readonly prepareStep?: PrepareStepFunction<NoInfer<TOOLS>, NoInfer<CONTEXT>> | undefined;
  readonly repairToolCall?: ToolCallRepairFunction<NoInfer<TOOLS>> | undefined;
  readonly experimental_repairToolCall?: ToolCallRepairFunction<NoInfer<TOOLS>> | undefined;
  readonly runtimeContext?: CONTEXT | undefined;
};

/**
 * Settings for `generateText`, `streamText` or `prepareCall` of a `ToolLoopAgent` that append the
 * prompt to the instructions of each step, refuse forbidden tools and note the outcomes of tools.
 * Your own `prepareStep`, `activeTools`, `toolApproval` and `repairToolCall` apply too.
 */
export function withTurn<TOOLS extends ToolSet, CONTEXT extends Record<string, unknown>, SETTINGS>(
  turn: AgentTurn,
  settings: SETTINGS & TurnSettings<TOOLS, CONTEXT>,
): SETTINGS {
  turnOrPass(turn, 'pass the turn of agent.turn(…) to withTurn');
  const { tools, repairToolCall = settings.experimental_repairToolCall } = settings;
  return {
    ...settings,
    prepareStep: stepOf(turn, settings as TurnSettings<ToolSet, Context>),
    ...(tools !== undefined && {
      tools: Object.fromEntries(
        Object.entries(tools).map(([name, tool]) => {
          const execute = tool.execute && guardedExecute(turn, name, tool.execute.bind(tool));
          return [name, execute === undefined ? tool : { ...tool, execute }];
        }),
      ),
      toolApproval: approvalOf(turn, tools, settings.toolApproval as Approval | undefined),
      repairToolCall: async (call: Parameters<ToolCallRepairFunction<TOOLS>>[0]) => {
        // The SDK reports the call of a hidden tool as the call of an unknown tool.
        const { toolName } = call.toolCall;
        const isHidden = NoSuchToolError.isInstance(call.error) && Object.hasOwn(tools, toolName);
        const refusal = isHidden ? turn.refusalOf(toolName) : undefined;
        if (refusal !== undefined) throw new Error(refusal);
        return (await repairToolCall?.(call)) ?? null;
      },
    }),
  };
}

/**
 * Parts of a `fullStream`. Throws the error of an error part, and an `AbortError` for an abort part,
 * which the SDK does not throw.
 */
export async function* partsOf<PART extends { readonly type: string }>(
  fullStream: AsyncIterable<PART>,
): AsyncGenerator<PART> {
  for await (const part of fullStream) {
    if (part.type === 'error') throw (part as { readonly error?: unknown }).error;
    if (part.type === 'abort') throw new DOMException('the run was aborted', 'AbortError');
    yield part;
  }
}

/**
 * Callbacks for `streamText` that end a turn of `agent.begin`, for a stream that outlives the
 * function. Pass an `abortSignal`, because the SDK reports nothing if a reader leaves.
 */
export function endTurn(turn: AgentTurn) {
  return {
    onEnd: ({ text }: { readonly text: string }) => turn.end({ output: text }),
    onAbort: () => turn.end({ outcome: 'aborted' }),
    onError: ({ error }: { readonly error: unknown }) => turn.end({ outcome: outcomeOf(error) }),
  };
}

type Context = Record<string, unknown>;
type Approval = ToolApprovalConfiguration<ToolSet, Context>;

/** Prepares a step by the user's own function, then adds the prompt and removes tools. */
function stepOf(
  turn: AgentTurn,
  settings: TurnSettings<ToolSet, Context>,
): PrepareStepFunction<ToolSet, Context> {
  // Instructions of a step persist, so this map has the instructions of each call without prompt.
  const own = new WeakMap<object, Instructions>();
  return async (step) => {
    const isFirst = step.stepNumber === 0;
    const before = (!isFirst && own.get(step.initialMessages)) || step.initialInstructions;
    const result = await settings.prepareStep?.({ ...step, instructions: before });
    const after = result?.instructions ?? result?.system ?? before;
    if (after !== undefined) own.set(step.initialMessages, after);
    const active = result?.activeTools ?? settings.activeTools ?? Object.keys(settings.tools ?? {});
    // Tools without `execute` run elsewhere, where nobody can refuse the call.
    const activeTools = turn
      .offered(active)
      .filter((name) => settings.tools?.[name]?.execute !== undefined || turn.permits(name));
    const toolChoice = result?.toolChoice ?? settings.toolChoice;
    const isBlocked =
      toolChoice === 'required'
        ? !activeTools.some((name) => turn.permits(name))
        : typeof toolChoice === 'object' && !turn.permits(toolChoice.toolName);
    const instructions = withPrompt(after, turn.prompt);
    return {
      ...result,
      activeTools,
      ...(isBlocked && { toolChoice: 'auto' as const }),
      ...(instructions !== undefined && { instructions }),
    };
  };
}

/** Instructions with the prompt at the end. Messages keep their cache breakpoints. */
function withPrompt(base: Instructions | undefined, prompt: string): Instructions | undefined {
  if (prompt === '' || base === undefined || base === '') return base || prompt || undefined;
  if (typeof base === 'string') return `${base}\n\n${prompt}`;
  return [base, { role: 'system' as const, content: prompt }].flat();
}

/** Denies forbidden calls with the sentence. Other calls need the approval that the user set. */
function approvalOf(turn: AgentTurn, tools: ToolSet, own: Approval | undefined): Approval {
  const denied = (name: string) => {
    const reason = turn.refusalOf(name);
    return reason === undefined ? undefined : ({ type: 'denied', reason } as const);
  };
  if (typeof own === 'function') return (call) => denied(call.toolCall.toolName) ?? own(call);
  const approvals: Approval = {};
  for (const [name, { needsApproval: needs }] of Object.entries(tools)) {
    approvals[name] = async (input, call) => {
      const status = denied(name) ?? own?.[name];
      if (typeof status === 'function') return await status(input, call);
      if (status !== undefined) return status;
      const { toolCallId, messages, toolContext: context } = call;
      const options = { toolCallId, messages, context };
      const isNeeded = typeof needs === 'function' ? await needs(input, options) : needs;
      return isNeeded ? 'user-approval' : undefined;
    };
  }
  return approvals;
}
