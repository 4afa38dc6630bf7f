import type { StreamStatus } from '#pages/shell/live-stream';

const STATUS_TEXTS = {
  connecting: ['is-quiet', 'connecting'],
  live: ['is-good', 'live'],
  reconnecting: ['is-warning', 'reconnecting'],
  ended: ['is-off', 'ended'],
} as const;

/** Status of a stream. */
export function StreamSign({ status }: { readonly status: StreamStatus }) {
  const [style, text] = STATUS_TEXTS[status];
  return <span class={`badge ${style}`}>{text}</span>;
}
