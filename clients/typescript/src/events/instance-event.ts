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
 * An event of an instance (interface 6). Only `cycle` has an `id`, the ordinal of its observation.
 * Event types of later releases have their own `name` and `unknown` data.
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

/** Event of a block; undefined for a block without an event. Throws if the data is not JSON. */
export function eventOf(
  { event, id, data }: EventBlock,
  integers: Integers,
): InstanceEvent | undefined {
  if (event === undefined || data === undefined) return undefined;
  const value = fromJson(data, integers);
  if (!KNOWN.has(event)) return { type: 'unknown', name: event, id, data: value };
  return { type: event, id, data: value } as InstanceEvent;
}
