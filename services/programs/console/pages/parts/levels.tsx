/** Classes of stress badges. */
const STRESS_STYLES: Readonly<Record<string, string>> = {
  LOW: 'is-good',
  MED: 'is-quiet',
  HIGH: 'is-warning',
  OVER: 'is-bad',
};

/** Classes of drift badges. */
const DRIFT_STYLES: Readonly<Record<string, string>> = {
  D0: 'is-good',
  D1: 'is-quiet',
  D2: 'is-warning',
  D3: 'is-bad',
};

/** Meanings of the drift levels, in words. */
const DRIFT_WORDS: Readonly<Record<string, string>> = {
  D0: 'within band',
  D1: 'situational',
  D2: 'sustained',
  D3: 'breach',
};

type BadgeProps = {
  /** Level, if known. Levels of later releases are shown without a color. */
  readonly value: string | undefined;
};

/** Badge of a stress state, in the color of the state. */
export function StressBadge({ value }: BadgeProps) {
  return <LevelBadge value={value} style={STRESS_STYLES[value ?? '']} />;
}

/** Badge of a drift level, in the color of the level. */
export function DriftBadge({
  value,
  isInWords = false,
}: BadgeProps & {
  /** Whether the badge also shows the meaning of the level. */
  readonly isInWords?: boolean;
}) {
  const words = isInWords ? DRIFT_WORDS[value ?? ''] : undefined;
  return <LevelBadge value={value} style={DRIFT_STYLES[value ?? '']} words={words} />;
}

function LevelBadge({
  value,
  style = 'is-quiet',
  words,
}: BadgeProps & { readonly style: string | undefined; readonly words?: string | undefined }) {
  if (value === undefined) return <span class="quiet">–</span>;
  return (
    <span class={`badge ${style}`}>
      {value}
      {words === undefined ? '' : ` ${words}`}
    </span>
  );
}
