import type {
  DriftEvent,
  ModeStrengths,
  Processed as Report,
} from '#clients/typescript/src/models';

/**
 * Row of `GET /api/instances/:id/history`. `generation` is present only if all generations are
 * requested.
 */
export type HistoryRow = {
  readonly cycle: number;
  readonly mode_target: string;
  readonly signal_strength: number;
  readonly confidence: number;
  readonly context: Readonly<Record<string, unknown>>;
  readonly timestamp: string;
  readonly generation?: number;
};

/** Event names of a stream (decision 244). */
export const EVENT_NAMES = ['state', 'cycle', 'reset', 'gap', 'deleted'] as const;

/** Name of a stream event. */
export type EventName = (typeof EVENT_NAMES)[number];

/** State in a stream. Older engines omit the two reference profiles. */
export type FollowedState = Report & {
  readonly set_point?: ModeStrengths;
  readonly last_stable?: ModeStrengths;
};

/** Event of a stream. `ordinal` counts observations since the instance was created. */
export type InstanceEvent =
  /** The connection was opened. A reopened connection continues after the last event. */
  | { readonly kind: 'opened' }
  | { readonly kind: 'state'; readonly ordinal: number; readonly report: FollowedState }
  | {
      readonly kind: 'cycle';
      readonly ordinal: number;
      readonly observation: HistoryRow;
      readonly drift: DriftEvent | null;
    }
  | { readonly kind: 'reset'; readonly generation: number }
  | { readonly kind: 'gap'; readonly from: number; readonly to: number }
  | { readonly kind: 'deleted' };

/** Parses a stream event. `lastId` is the newest event id received so far. */
export function eventOf(name: EventName, lastId: string, text: string): InstanceEvent {
  const data = JSON.parse(text);
  const ordinal = Number(lastId);
  switch (name) {
    case 'state':
      return { kind: 'state', ordinal, report: data };
    case 'cycle':
      return { kind: 'cycle', ordinal, observation: data.observation, drift: data.drift };
    case 'reset':
      return { kind: 'reset', generation: data.generation };
    case 'gap':
      return { kind: 'gap', from: data.from, to: data.to };
    case 'deleted':
      return { kind: 'deleted' };
  }
}
