import { AgentTurn } from '../agent/agent.ts';
import { IdentityEngineError } from '../errors.ts';

/**
 * The turn that an adapter found. Without a turn, throws an `IdentityEngineError` that names the
 * `remedy`, or passes: returns undefined.
 */
export function turnOrPass(
  found: unknown,
  remedy: string,
  withoutTurn: 'throw' | 'pass' = 'throw',
): AgentTurn | undefined {
  if (found instanceof AgentTurn) return found;
  if (found === undefined && withoutTurn === 'pass') return undefined;
  throw new IdentityEngineError(`the run has no turn of an agent; ${remedy}`);
}

/** The property `turn` of a run's context. */
export function turnIn(context: unknown): unknown {
  return (context as { readonly turn?: unknown } | null | undefined)?.turn;
}

type Execute<Args extends unknown[], Output> = (...args: Args) => Output;

/**
 * The function of a tool that notes its outcomes. A forbidden call throws the sentence. The output
 * can be a value, a promise or an async iterable.
 */
export function guardedExecute<Args extends unknown[], Output>(
  turn: AgentTurn,
  tool: string,
  execute: Execute<Args, Output>,
): Execute<Args, Output> {
  const note = (outcome: 'ok' | 'error') => turn.used(tool, outcome);
  return (...args) => {
    const refusal = turn.refusalOf(tool);
    if (refusal !== undefined) throw new Error(refusal);
    try {
      const output = execute(...args);
      if (isAsyncIterable(output)) return notedStream(output, note) as Output;
      const noted = Promise.resolve(output);
      void noted.then(
        () => note('ok'),
        () => note('error'),
      );
      return noted as Output;
    } catch (error) {
      note('error');
      throw error;
    }
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function* notedStream(
  outputs: AsyncIterable<unknown>,
  note: (outcome: 'ok' | 'error') => void,
): AsyncGenerator {
  let outcome: 'ok' | 'error' = 'error';
  try {
    yield* outputs;
    outcome = 'ok';
  } finally {
    note(outcome);
  }
}
