import type { DriftEvent, Report, Strengths } from '#pages/instances/answers';

/** A row of `GET /api/instances/:id/history`; the generation is there where all are asked for. */
export type HistoryRow = {
  readonly cycle: number;
  readonly mode_target: string;
  readonly signal_strength: number;
  readonly confidence: number;
  readonly context: Readonly<Record<string, unknown>>;
  readonly timestamp: string;
  readonly generation?: number;
};

/** The names of the events of a stream (decision 244). */
export const EVENT_NAMES = ['state', 'cycle', 'reset', 'gap', 'deleted'] as const;

/** One of them. */
export type EventName = (typeof EVENT_NAMES)[number];

/** A state as streams say it. Engines of an earlier build leave out what modes are compared with. */
export type FollowedState = Report & {
  readonly set_point?: Strengths;
  readonly last_stable?: Strengths;
};

/** What a stream says. `ordinal` counts the observations of the instance's whole life. */
export type InstanceEvent =
  /** A connection is there: the first one, or one that goes on behind the last event. */
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

/** An event as the stream wrote it: `lastId` is the newest id that came, with it or before it. */
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
