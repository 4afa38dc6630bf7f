import {
  type AgentMiddleware,
  createMiddleware,
  SystemMessage,
  ToolInvocationError,
  ToolMessage,
} from 'langchain';
import type { AgentTurn } from '../agent/agent.ts';
import { turnIn, turnOrPass } from './run-turn.ts';

/** Options of `identityMiddleware`. */
export type IdentityMiddlewareOptions = {
  /** Without a turn, throw an error, or run as if the adapter were absent. Default: `throw`. */
  readonly withoutTurn?: 'throw' | 'pass' | undefined;
  /**
   * Treatment of a tool's error. `answer`: the model gets the message that LangChain sends if an
   * agent has no middleware for tools. `throw`: an outer middleware gets the error, such as
   * `toolRetryMiddleware`; without one, LangChain ends the run. Default: `answer`.
   */
  readonly toolErrors?: 'answer' | 'throw' | undefined;
};

const REMEDY = 'pass { context: { turn } } to invoke or stream, inside agent.turn(…)';

/**
 * Middleware for `createAgent` that gives the run the character of an instance: appends the prompt
 * to the system message, refuses forbidden tools, and notes the outcomes of tools. The run's
 * context has the turn. Put this middleware last, so that the prompt comes last.
 */
export function identityMiddleware(
  options: IdentityMiddlewareOptions = {},
): AgentMiddleware<undefined, undefined, unknown> {
  const { withoutTurn, toolErrors = 'answer' } = options;
  const turnOf = (context: unknown) => turnOrPass(turnIn(context), REMEDY, withoutTurn);
  return createMiddleware({
    name: 'identityMiddleware',
    wrapModelCall: (request, handler) => {
      const turn = turnOf(request.runtime.context);
      if (turn === undefined) return handler(request);
      const tools = request.tools.filter((tool) => isListed(turn, tool));
      const { toolChoice = 'auto' } = request;
      const isBlocked =
        typeof toolChoice === 'object'
          ? !turn.permits(toolChoice.function.name)
          : toolChoice === 'required' && !tools.some((tool) => turn.permits(nameOf(tool)));
      return handler({
        ...request,
        tools,
        ...(isBlocked && { toolChoice: 'auto' as const }),
        systemMessage: withPrompt(request.systemMessage, turn.prompt),
      });
    },
    wrapToolCall: async (request, handler) => {
      const turn = turnOf(request.runtime.context);
      if (turn === undefined) return await handler(request);
      const { name, id } = request.toolCall;
      const refusal = turn.refusalOf(name);
      if (refusal !== undefined) return errorMessage(refusal, name, id);
      try {
        const answer = await handler(request);
        turn.used(name, outcomeIn(answer));
        return answer;
      } catch (error) {
        if (isSignal(error)) throw error;
        turn.used(name, 'error');
        // LangChain answers a call with invalid input by itself.
        if (toolErrors === 'throw' || error instanceof ToolInvocationError) throw error;
        return errorMessage(`${error}\n Please fix your mistakes.`, name, id);
      }
    },
  });
}

type Listed = {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly function?: unknown;
  readonly invoke?: unknown;
};

/** A system message with the prompt as its last block. Earlier blocks keep cache breakpoints. */
function withPrompt(base: SystemMessage, prompt: string): SystemMessage {
  if (prompt === '') return base;
  const text = base.text === '' ? prompt : `\n\n${prompt}`;
  return base.concat(new SystemMessage({ content: [{ type: 'text', text }] }));
}

/** Name of a tool. Tools of a provider can be a function, or have a type only. */
function nameOf(tool: Listed): string {
  const { name } = (tool.function ?? tool) as Listed;
  return String(name ?? tool.type);
}

/**
 * Whether the model may see a tool. A forbidden tool of a provider is left out in each mode, because
 * nobody can refuse a call that the provider runs.
 */
function isListed(turn: AgentTurn, tool: Listed): boolean {
  const name = nameOf(tool);
  return turn.offered([name]).length > 0 && (tool.invoke !== undefined || turn.permits(name));
}

/** Outcome of a tool that answered. A command of LangGraph is a success. */
function outcomeIn(answer: object): 'ok' | 'error' {
  return answer instanceof ToolMessage && answer.status === 'error' ? 'error' : 'ok';
}

function errorMessage(content: string, name: string, id: string | undefined): ToolMessage {
  return new ToolMessage({ content, name, tool_call_id: id ?? '', status: 'error' });
}

/** Whether an error is a signal of LangGraph, such as an interrupt. */
function isSignal(error: unknown): boolean {
  return (error as { readonly is_bubble_up?: unknown } | undefined)?.is_bubble_up === true;
}
