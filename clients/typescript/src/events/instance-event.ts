import { fromJson, type Integers } from '../json.ts';
import type {
  CycleEventData,
  DeletedEventData,
  GapEventData,
  ResetEventData,
  StateEventData,
} from '../models.ts';
import type { EventBlock } from './event-block.ts';

/**
 * One event of an instance (interface 6). `cycle` alone has an `id`, the ordinal of its observation.
 * What a later release sends beside these is `unknown`, under its own `name`.
 */
export type InstanceEvent =
  | { readonly type: 'state'; readonly id: undefined; readonly data: StateEventData }
  | { readonly type: 'cycle'; readonly id: string | undefined; readonly data: CycleEventData }
  | { readonly type: 'reset'; readonly id: string | undefined; readonly data: ResetEventData }
  | { readonly type: 'gap'; readonly id: string | undefined; readonly data: GapEventData }
  | { readonly type: 'deleted'; readonly id: string | undefined; readonly data: DeletedEventData }
  | {
      readonly type: 'unknown';
      readonly name: string;
      readonly id: string | undefined;
      readonly data: unknown;
    };

const KNOWN: ReadonlySet<string> = new Set(['state', 'cycle', 'reset', 'gap', 'deleted']);

/** The event of a block; undefined for one that only says something of the stream. Throws for data that is no JSON. */
export function eventOf(
  { event, id, data }: EventBlock,
  integers: Integers,
): InstanceEvent | undefined {
  if (event === undefined || data === undefined) return undefined;
  const value = fromJson(data, integers);
  if (!KNOWN.has(event)) return { type: 'unknown', name: event, id, data: value };
  return { type: event, id, data: value } as InstanceEvent;
}
