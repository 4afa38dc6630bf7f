import { percentText } from '#pages/parts/format';

/** Radius in picture units. */
const RADIUS = 42;

const LENGTH = 2 * Math.PI * RADIUS;

/**
 * Minimum shares at which the ring changes its style: `high` is a warning, `full` means nearly
 * full.
 */
const LEVELS = { high: 0.8, full: 0.95 } as const;

/** Ring chart of a share. `label` is the text alternative, with numbers. */
export function Ring({
  share,
  expected = 0,
  label,
}: {
  readonly share: number;
  /** Forecast of the share, drawn below the present share. */
  readonly expected?: number;
  readonly label: string;
}) {
  const filled = Math.min(1, Math.max(0, share));
  const later = Math.min(1, expected);
  const level = filled >= LEVELS.full ? 'is-full' : filled >= LEVELS.high ? 'is-high' : '';
  return (
    <svg class={`ring ${level}`} viewBox="0 0 100 100" role="img" aria-label={label}>
      <circle class="ring-track" cx="50" cy="50" r={RADIUS} />
      {later > filled ? <RingArc kind="ring-expected" share={later} /> : null}
      {filled === 0 ? null : <RingArc kind="ring-fill" share={filled} />}
      <text x="50" y="51" text-anchor="middle" dominant-baseline="middle">
        {percentText(filled)}
      </text>
    </svg>
  );
}

function RingArc({ kind, share }: { readonly kind: string; readonly share: number }) {
  return (
    <circle
      class={kind}
      cx="50"
      cy="50"
      r={RADIUS}
      stroke-dasharray={`${share * LENGTH} ${LENGTH}`}
      transform="rotate(-90 50 50)"
    />
  );
}
