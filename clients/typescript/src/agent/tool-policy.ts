import { ACTIONS, isKnownAction, type KnownAction } from '../actions.ts';
import { IdentityEngineError } from '../errors.ts';
import type { Contract } from '../models.ts';
import { WORDING, type Wording } from './contract-prompt.ts';

/**
 * Treatment of tools whose actions the contract forbids.
 *
 * - `refuse`: the model sees every tool, and a forbidden call is answered with a sentence. The list
 *   of tools stays the same, so prompt caches stay valid.
 * - `hide`: the model sees only permitted tools. A forbidden call is refused too, because models
 *   call tools that they do not see.
 * - `observe`: every call runs.
 */
export type ToolMode = 'refuse' | 'hide' | 'observe';

/** Actions by tool name. A tool without actions is free. */
export type ToolActions<Tool extends string = string> = Readonly<
  Partial<Record<Tool, KnownAction | readonly KnownAction[] | undefined>>
>;

/** Options of a tool policy. */
export type ToolPolicyOptions<Tool extends string = string> = {
  /** Default: `refuse`. */
  readonly mode?: ToolMode | undefined;
  /** Treatment of tools that the map lacks. Default: `allow`. */
  readonly unmapped?: 'allow' | 'refuse' | undefined;
  /** Names of the agent's tools, to check the names in the map. Default: no check. */
  readonly tools?: readonly Tool[] | undefined;
  /** Wording of refusals. Default: `WORDING`. */
  readonly wording?: Wording | undefined;
};

/** A tool map names an unknown action or tool. The message suggests the nearest name. */
export class ToolMapError extends IdentityEngineError {}

/**
 * Decides which tools an agent may use under a contract. A tool with several actions is refused if
 * the contract forbids one of its actions. Actions in neither list of the contract are free. Without
 * a contract, every mapped tool is permitted.
 */
export class ToolPolicy<Tool extends string = string> {
  readonly mode: ToolMode;
  readonly #actions: ReadonlyMap<string, readonly KnownAction[]>;
  readonly #unmapped: 'allow' | 'refuse';
  readonly #wording: Wording;

  /** Throws `ToolMapError` for an unknown action, or for a tool that `options.tools` lacks. */
  constructor(
    actions: ToolActions<Tool> = {} as ToolActions<Tool>,
    options: ToolPolicyOptions<Tool> = {},
  ) {
    const { mode = 'refuse', unmapped = 'allow', tools, wording = WORDING } = options;
    this.mode = oneOf('mode', mode, ['refuse', 'hide', 'observe']);
    this.#unmapped = oneOf('unmapped', unmapped, ['allow', 'refuse']);
    this.#wording = wording;
    this.#actions = new Map(
      Object.entries<KnownAction | readonly KnownAction[] | undefined>(actions).map(
        ([tool, named]) => {
          if (tools !== undefined) assertKnown('tool', tool, tools);
          const list = named === undefined ? [] : [named].flat();
          for (const action of list) {
            if (!isKnownAction(action)) assertKnown('action', action, Object.values(ACTIONS));
          }
          return [tool, list];
        },
      ),
    );
  }

  /** Actions of a tool; empty for a free or an unmapped tool. */
  actionsOf(tool: string): readonly KnownAction[] {
    return this.#actions.get(tool) ?? [];
  }

  /** Tools that the model may see, in the given order. */
  offered<Name extends string>(tools: readonly Name[], contract: Contract | undefined): Name[] {
    if (this.mode !== 'hide') return [...tools];
    return tools.filter((tool) => this.#reasonAgainst(tool, contract) === undefined);
  }

  /**
   * Sentence that answers a call of a tool instead of running the tool. Undefined if the tool may
   * run. Contains no arguments of the call.
   */
  refusalOf(tool: string, contract: Contract | undefined): string | undefined {
    return this.mode === 'observe' ? undefined : this.#reasonAgainst(tool, contract);
  }

  #reasonAgainst(tool: string, contract: Contract | undefined): string | undefined {
    const actions = this.#actions.get(tool);
    const { refused, unmapped, separators, actions: phrases } = this.#wording;
    if (actions === undefined) {
      return this.#unmapped === 'allow' ? undefined : unmapped.replace('{tool}', () => tool);
    }
    const forbidden = actions.filter((action) => contract?.forbidden_actions.includes(action));
    if (forbidden.length === 0) return undefined;
    const list = forbidden.map((action) => phrases[action] ?? action).join(separators.actions);
    return refused.replace('{}', () => list).replace('{tool}', () => tool);
  }
}

function oneOf<Value extends string>(name: string, value: Value, known: readonly Value[]): Value {
  if (!known.includes(value)) {
    throw new ToolMapError(`${name} must be ${known.join(', ')}, not ${JSON.stringify(value)}`);
  }
  return value;
}

function assertKnown(kind: string, given: unknown, known: readonly string[]): void {
  if (typeof given === 'string' && known.includes(given)) return;
  const name = typeof given === 'string' ? JSON.stringify(given) : String(given);
  const nearest = typeof given === 'string' ? nearestOf(given, known) : undefined;
  const hint = nearest === undefined ? `known: ${known.join(', ')}` : `did you mean "${nearest}"?`;
  throw new ToolMapError(`unknown ${kind} ${name}; ${hint}`);
}

/** Maximum edit distance of a suggestion, as a share of the name's length. */
const DISTANCE_SHARE_MAX = 0.5;

/** The known name with the smallest edit distance; undefined if every name is far away. */
function nearestOf(given: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = DISTANCE_SHARE_MAX * given.length;
  for (const name of known) {
    const distance = distanceOf(given.toLowerCase(), name.toLowerCase());
    if (distance > least || (distance === least && nearest !== undefined)) continue;
    [nearest, least] = [name, distance];
  }
  return nearest;
}

/** Levenshtein distance of two names. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
